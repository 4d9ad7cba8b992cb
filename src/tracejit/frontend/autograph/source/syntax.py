"""From a function to the syntax tree of its definition, with the file's own line and column numbers.

Definitions are read through `linecache`, so notebooks and doctests work; lambdas that share a line are told
apart by the columns of their code. Knows nothing of what the tree is wanted for.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import tokenize
from collections.abc import Iterator
from itertools import islice
from types import CodeType, FunctionType
from typing import TypeVar

from .texts import source_lines
from .walking import below, moved_down

Definition = ast.FunctionDef | ast.Lambda


class MissingSource(Exception):
    """There is no source for a function, or what is there is another program."""


class Unsupported(Exception):
    """Syntax that stays plain Python."""


N = TypeVar("N", bound=ast.AST)


def definition(f: FunctionType) -> Definition:
    """The tree of the ``def`` or ``lambda`` that made `f`; MissingSource where it cannot be found."""
    code = f.__code__
    lines = source_lines(f)
    if len(lines) < code.co_firstlineno:
        raise MissingSource(f"the source of {f.__qualname__} is not available")
    node = _lambda(code, lines) if code.co_name == "<lambda>" else _def(code, lines)
    if node is None or not _same_parameters(node.args, code):
        raise MissingSource(f"the source of {f.__qualname__} has changed since it was loaded")
    return node


#: Lines at which a definition may end that are tried before it is read token by token.
_MOST_ENDS = 12


def _def(code: CodeType, lines: list[str]) -> ast.FunctionDef | None:
    first = code.co_firstlineno
    indented = lines[first - 1][:1].isspace()
    tree = _block(lines[first - 1 :], "if 1:\n" if indented else "")  # the columns stay as they are
    if tree is None:
        return None
    moved_down(tree, first - 2 if indented else first - 1)
    body = tree.body[0].body if indented else tree.body  # type: ignore[attr-defined]
    node = body[0] if body else None
    return node if isinstance(node, ast.FunctionDef) and node.name == code.co_name else None


def _block(lines: list[str], above: str) -> ast.Module | None:
    """The definition that begins in the first line.

    It ends before a line that is indented no more than its first: the first such line at which it is complete, for what
    is open there (a decorator without its function, a bracket, a string) does not parse.
    """
    for end in islice(_ends(lines), _MOST_ENDS):
        try:
            return ast.parse(above + "".join(lines[:end]))
        except SyntaxError:
            continue
    try:
        return ast.parse(above + "".join(inspect.getblock(lines)))
    except (SyntaxError, tokenize.TokenError):
        return None


def _ends(lines: list[str]) -> Iterator[int]:
    """The lines that are indented no more than the first, and where there are no more."""
    least = _indentation(lines[0])
    for number, line in enumerate(lines[1:], 1):
        if "\f" in line:
            return
        text = line.strip()
        if text and not text.startswith("#") and _indentation(line) <= least:
            yield number
    yield len(lines)


def _indentation(line: str) -> int:
    line = line.expandtabs()
    return len(line) - len(line.lstrip())


def _lambda(code: CodeType, lines: list[str]) -> ast.Lambda | None:
    try:
        tree = _parsed("".join(lines))
    except SyntaxError:
        return None
    places = [p for p in _positions(code) if p != (code.co_firstlineno, 0)]
    fitting = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda)
        and _same_parameters(node.args, code)
        and (all(_covers(node.body, p) for p in places) if places else node.lineno == code.co_firstlineno)
    ]
    innermost = max(fitting, key=lambda n: (n.lineno, n.col_offset), default=None)
    return copy.deepcopy(innermost)  # the tree of the file is shared


@functools.lru_cache(maxsize=8)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def _positions(code: CodeType) -> Iterator[tuple[int, int]]:
    for line, _, column, _ in code.co_positions():
        if line is not None and column is not None:
            yield line, column


def _covers(node: ast.expr, place: tuple[int, int]) -> bool:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return (node.lineno, node.col_offset) <= place < (node.end_lineno, node.end_col_offset)


def _same_parameters(arguments: ast.arguments, code: CodeType) -> bool:
    names = parameters(arguments)
    return tuple(_unmangled(n) for n in code.co_varnames[: len(names)]) == tuple(_unmangled(n) for n in names)


def _unmangled(name: str) -> str:
    """``_C__x`` and ``__x`` are one name inside the class C."""
    return name[name.index("__", 1) :] if name.startswith("_") and "__" in name[1:] else name


def parameters(arguments: ast.arguments) -> list[str]:
    """Names of the parameters in the order a code object lists them."""
    listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    starred = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [a.arg for a in (*listed, *starred)]


# ---- making trees ---------------------------------------------------------------------------------------


def load(name: str) -> ast.Name:
    """The name, read."""
    return ast.Name(name, ast.Load())


def store(name: str) -> ast.Name:
    """The name, assigned."""
    return ast.Name(name, ast.Store())


def assign(name: str, value: ast.expr) -> ast.Assign:
    """``name = value``."""
    return ast.Assign([store(name)], value)


def negated(test: ast.expr) -> ast.expr:
    """``not test``."""
    return ast.UnaryOp(ast.Not(), test)


def any_of(names: list[str]) -> ast.expr:
    """``a or b or …``."""
    return load(names[0]) if len(names) == 1 else ast.BoolOp(ast.Or(), [load(n) for n in names])


def no_arguments(*names: str) -> ast.arguments:
    """Parameters of a generated function: none, or plain ones."""
    return ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])


def thunk(body: ast.expr) -> ast.Lambda:
    """``lambda: body``."""
    return ast.Lambda(no_arguments(), body)


def texts(names: list[str]) -> ast.Tuple:
    """A tuple of string literals."""
    return ast.Tuple([ast.Constant(n) for n in names], ast.Load())


def at_line_of(node: N, model: ast.AST) -> N:
    """Give every new node below the line and columns of `model`; those that have theirs keep them."""
    position = {k: getattr(model, k) for k in ("lineno", "col_offset", "end_lineno", "end_col_offset")}
    for child in below(node):
        if child._attributes and getattr(child, "lineno", None) is None:
            for key, value in position.items():
                setattr(child, key, value)
    return node
