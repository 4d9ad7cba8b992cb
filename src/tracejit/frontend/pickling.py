"""How compiled functions are pickled: by name where the name leads to them, else by what they are made of.

Functions of a program that is run, or of a notebook, have a name that means nothing elsewhere: cloudpickle, where it is
installed, pickles their Python function by value. Traces and code are not pickled: they are made again, or found on
disk.
"""

from __future__ import annotations

import io
import linecache
import pickle
import sys
import threading
from collections import ChainMap
from functools import cache
from importlib.util import find_spec
from types import CodeType
from typing import Any


class _Pickling(threading.local):
    """The functions that are being pickled by value: one that calls itself holds itself."""

    def __init__(self) -> None:
        self.now: set[int] = set()


_state = _Pickling()


def reduced(function: Any, kind: type) -> str | tuple[Any, ...]:
    """What ``__reduce__`` of a compiled function returns, which `kind` makes."""
    parts = (function.python_function, *function.options())
    by_value = function.__module__ == "__main__" and find_spec("cloudpickle") is not None
    if by_value and id(function) not in _state.now:
        _state.now.add(id(function))
        try:
            return _restored, (kind, _by_value((parts, _text_of(function.python_function))))
        finally:
            _state.now.discard(id(function))
    target: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        target = getattr(target, name, None)
    return function.__qualname__ if target is function and not by_value else (kind, parts)


def _by_value(parts: Any) -> bytes:
    """What cloudpickle writes of `parts`, whose code keeps the name of its file."""
    file = io.BytesIO()
    _pickler()(file).dump(parts)
    return file.getvalue()


@cache
def _pickler() -> Any:
    """cloudpickle's, which since 3.1.3 writes one name for the files of all code: its text is found by that name."""
    import cloudpickle

    of_code = cloudpickle.Pickler.dispatch_table[CodeType]
    in_file = {CodeType: lambda code: (_code_in_file, (code.co_filename, *of_code(code)))}
    table = ChainMap(in_file, cloudpickle.Pickler.dispatch_table)
    return type("Pickler", (cloudpickle.Pickler,), {"dispatch_table": table})


def _code_in_file(file: str, make: Any, args: tuple[Any, ...]) -> CodeType:
    code: CodeType = make(*args)
    return code.replace(co_filename=file)


def _text_of(f: Any) -> tuple[str, list[str]]:
    """The file that a function is in, and its lines: where it goes there may be none, and control flow is read."""
    file = getattr(getattr(f, "__code__", None), "co_filename", "")
    return file, linecache.getlines(file)


def _restored(kind: Any, data: bytes) -> Any:
    parts, (file, lines) = pickle.loads(data)
    if lines and not linecache.getlines(file):
        linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
    return kind(*parts)
