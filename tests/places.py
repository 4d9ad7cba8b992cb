"""The places that know an operation by its name: ``python -m places sin log2`` lists them.

A place is a file of the package that declares the operation, holds its name in a table or compares with it; code
generation, which has tables of its own, is one. Formulas that use it are none, nor are files that only give names.
"""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import tracejit
from tracejit.compiler.loopir.scalar_ops import SCALAR_OPS
from tracejit.core.op import OPS

NAMES = {*OPS, *SCALAR_OPS}
PACKAGE = Path(tracejit.__file__).parent
#: The engine; what is built on it says what users, Python and NumPy call things.
ENGINE = ("core/", "ops/", "compiler/", "runtime/", "frontend/")
PUBLIC = ("ops/tensor/operators.py", "ops/tensor/numpy_protocol.py", "frontend/autograph/builtins.py")
#: Code generation, which has tables of its own, is one place.
CODE = ("compiler/codegen", "compiler/codegen/math", "compiler/codegen/matmul", "compiler/codegen/linalg")
#: Calls and decorators that declare an operation.
DECLARING = {"defop", "vector_function", "Scalar", "ScalarOp"}


def places(name: str) -> dict[str, list[str]]:
    """The places that know `name`: each with its files and lines."""
    found: dict[str, list[str]] = {}
    for file, lines in _files():
        if name in lines:
            place = "code generation" if file.startswith(CODE) else file
            found.setdefault(place, []).append(f"{file}:{', '.join(map(str, sorted(lines[name])))}")
    return found


@cache
def _files() -> list[tuple[str, dict[str, set[int]]]]:
    """What each file knows, those apart that only give users names."""
    files = ((path.relative_to(PACKAGE).as_posix(), path) for path in sorted(PACKAGE.rglob("*.py")))
    gc.disable()  # looking for garbage among syntax trees takes longer than reading them
    try:
        return [
            (file, known_names(ast.parse(path.read_text(encoding="utf-8"))))
            for file, path in files
            if file.startswith(ENGINE) and not file.startswith(PUBLIC)
        ]
    finally:
        gc.enable()


def known_names(tree: ast.AST) -> dict[str, set[int]]:
    """The names that a piece of the package's text knows, with their lines."""
    found: dict[str, set[int]] = {}
    for node in ast.walk(tree):
        for name, line in _known(node):
            found.setdefault(name, set()).add(line)
    return found


def _known(node: ast.AST) -> Iterator[tuple[str, int]]:
    """The names that one piece of syntax knows."""
    match node:
        case ast.FunctionDef(name=name, decorator_list=decorators):
            if any(_called(d) in DECLARING for d in decorators):
                yield name.rstrip("_"), node.lineno
        case ast.Call(args=args) if _called(node) in DECLARING:
            yield from _strings(args)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts) | ast.Dict(keys=parts):
            yield from _strings(parts)
        case ast.Compare(left=left, comparators=rest):
            yield from _strings([left, *rest])
        case ast.Subscript(slice=index):
            yield from _strings([index])
        case ast.MatchValue(value=value):
            yield from _strings([value])
        case ast.Assign(value=value) | ast.AnnAssign(value=value):
            yield from _words(value)


def _called(node: ast.AST) -> str:
    end = node.func if isinstance(node, ast.Call) else node
    return getattr(end, "attr", getattr(end, "id", ""))


def _strings(parts: list) -> Iterator[tuple[str, int]]:
    for part in parts:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value, part.lineno


def _words(value: ast.AST | None) -> Iterator[tuple[str, int]]:
    """Of tables that are written as words in a string."""
    for part in ast.walk(value) if value is not None else ():
        for text, line in _strings([part]):
            words = [word for row in text.splitlines() for word in row.split()]
            if len(words) > 2 and sum(word in NAMES for word in words) * 3 >= len(words):
                yield from ((word, line) for word in words)


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        print(wanted)
        for found in places(wanted).values():
            print(*found, sep="\n  ")
