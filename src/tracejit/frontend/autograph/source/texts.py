"""Source text that is in no file: that of ``exec``, of ``python -c`` and of magics in notebooks.

Whoever runs a text has it in a variable, or in its own code: when a function of it is decorated, the callers are looked
through, and what Python was called with. A text counts only if it compiles to the very code that is to be read, by
every line and column.
"""

from __future__ import annotations

import dis
import inspect
import linecache
import sys
import textwrap
import warnings
from collections.abc import Hashable, Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any

from ....core.errors import is_internal, stack_level

#: Texts by the name of the file that their code claims to be of, latest last; old ones go.
_texts: dict[str, list[str]] = {}
_MOST = 100
#: The name of every text without one: what Python keeps under it is the program of ``-c``.
_ANY = "<string>"
#: Names of instructions that only control flow has.
_FLOW = ("FOR_ITER", "POP_JUMP", "JUMP_IF")


def note_source(f: Any) -> None:
    """Look for the text of a function that no file holds; warn where it is needed and not found."""
    f = getattr(f, "__func__", f)
    if not isinstance(f, FunctionType) or not f.__code__.co_filename.startswith("<"):
        return
    code = f.__code__
    if source_lines(f):
        return
    for text in _candidates(code):
        if _holds(text, code):
            texts = _texts.setdefault(code.co_filename, [])
            texts.append(text)
            del texts[:-_MOST]
            return
    if _has_flow(code):
        warnings.warn(
            f"the source of {code.co_qualname} is not available: its if, while and for stay Python's, which need "
            "values while tracing; define it in a file or a cell",
            SourceWarning,
            stacklevel=stack_level(),
        )


class SourceWarning(UserWarning):
    """A function is decorated whose control flow cannot be converted, for nobody has its source."""


def source_lines(f: FunctionType) -> list[str]:
    """The lines of the program that `f` is defined in; none where they are not known."""
    code = f.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, f.__globals__)
    if code.co_filename == _ANY and lines and not _holds("".join(lines), code):
        lines = []
    return lines or _typed_in(f) or _noted(code)


def _typed_in(f: FunctionType) -> list[str]:
    """The lines of an interactive session, which only `inspect` finds in some versions of Python."""
    if not f.__code__.co_filename.startswith("<") or f.__code__.co_filename == _ANY:
        return []
    try:
        return inspect.findsource(f)[0]
    except (OSError, TypeError):
        return []


def _noted(code: CodeType) -> list[str]:
    """The lines of the text that was found when a function of it was decorated."""
    for text in reversed(_texts.get(code.co_filename, ())):
        if _holds(text, code):
            return text.splitlines(keepends=True)
    return []


def _candidates(code: CodeType) -> Iterator[str]:
    """Strings that may be the program, of the callers: the nearest first."""
    word = "lambda" if code.co_name == "<lambda>" else f"def {code.co_name}"
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if not is_internal(frame.f_code):
            named = [frame.f_globals.get(name) for name in frame.f_code.co_names]
            held = [*frame.f_locals.values(), *frame.f_code.co_consts, *named]
            for text in held:
                if text.__class__ is str and word in text:
                    yield text
                    yield textwrap.dedent(text)
        frame = frame.f_back
    for text in sys.orig_argv:
        if word in text:
            yield text
            yield textwrap.dedent(text)


def _holds(text: str, code: CodeType) -> bool:
    """Does a text compile to a program with this very code in it?"""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = compile(text, code.co_filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return any(_look(part) == _look(code) for part in _all(whole))


def _all(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _all(part)


def _look(code: CodeType) -> Hashable:
    """What tells code from other code wherever it is nested: names, numbers, the place of each expression."""
    plain = tuple(repr(c) for c in code.co_consts if not isinstance(c, CodeType))
    places = frozenset(code.co_positions())
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return code.co_name, code.co_firstlineno, arguments, plain, places


def _has_flow(code: CodeType) -> bool:
    return any(word in instruction.opname for instruction in dis.get_instructions(code) for word in _FLOW)
