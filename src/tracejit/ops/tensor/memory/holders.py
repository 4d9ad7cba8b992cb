"""Reference counts: how many names, items and attributes hold an object that is about to change.

CPython counts references, and up to 3.13 every name is one. From 3.14 on a caller lends what its own names hold: its
stack, the parameters of what it calls, and other names of these refer to it uncounted. Who lends waits for who has been
lent to, so that one counted name remains, further out in the same thread: then the names that running functions have
are looked up, too. Where that leaves a doubt there are taken to be more holders.
"""

from __future__ import annotations

import dis
import functools
import sys
from types import CodeType, FrameType
from typing import Any


def _counts_in_set_item() -> tuple[int, int]:
    """How often something is counted in its ``__setitem__``: with one name, and with none."""
    counts: list[int] = []

    class Counted:
        def __setitem__(self, index: Any, value: Any) -> None:
            self = (self,)[0]
            counts.append(sys.getrefcount(self))

    named = Counted()
    named[0] = 0
    Counted()[0] = 0
    return counts[0], counts[1]


_ONE_NAME, _NO_NAME = _counts_in_set_item()


def _lends() -> bool:
    def called(x: Any) -> bool:
        return sys.getrefcount(x) == before

    local = object()
    before = sys.getrefcount(local)
    return called(local)


def _counted_of_local() -> int:
    local = object()
    return sys.getrefcount(local)


def _counted_of_own_parameter(x: Any) -> int:
    x = (x,)[0]
    return sys.getrefcount(x)


#: Of what class the names of a running function are.
_NAMES = (lambda: sys._getframe().f_locals.__class__)()
#: What ``sys.getrefcount`` gives for what one name alone holds, in the function that has this name.
ONE_LOCAL = _counted_of_local()
#: Does a caller lend what it calls a function with?
LENDS = _lends()
#: Can be told who holds an object? Free-threaded interpreters count otherwise, later ones may lend in more places.
KNOWN = (
    sys.implementation.name == "cpython"
    and "t" not in getattr(sys, "abiflags", "")
    and (sys.version_info[:2] == (3, 14) if LENDS else _ONE_NAME > _NO_NAME)
)


def alone(counted: int, x: Any, caller: FrameType) -> bool:
    """Does only one name, attribute or item hold `x`?

    Parameters
    ----------
    counted : int
        What ``sys.getrefcount(x)`` gives in the function that `caller` called with it, after ``x = (x,)[0]``, by which
        this function's own name is counted.
    x : object
    caller : frame
        That of the function which called.
    """
    if not KNOWN or counted > _counted_of_one():
        return False
    return not LENDS or _names(x, caller) <= 1


@functools.cache
def _counted_of_one() -> int:
    x = object()
    return _counted_of_own_parameter(x)


def in_set_item(counted: int, x: Any, caller: FrameType) -> int:
    """How many hold `x` in its ``__setitem__``: 0, 1, or 2 for more.

    Parameters
    ----------
    counted, x, caller
        As for `alone`.
    """
    holders = counted - _NO_NAME
    if LENDS and holders <= 1:
        own = _names_in(caller, x)
        if own and (len(own) > 1 or _names(x, caller.f_back)):
            return 2
        holders += bool(own) and not _is_counted_on_stack(caller.f_code, caller.f_lasti, own[0])
    return min(holders, 2)


def is_part_written_back(counted: int, of_one: int, x: Any, frame: FrameType) -> bool:
    """Is `x` the ``y[i]`` of ``y[i] += v``, which nothing else holds? With one name it is counted `of_one` times."""
    if frame.f_code.co_code[frame.f_lasti] != dis.opmap["BINARY_OP"]:
        return False
    return counted <= of_one and not _names_in(frame, x) if LENDS else counted < of_one


def named_twice(x: Any, frame: FrameType) -> bool:
    """Do functions that run have several names for `x`, of which some may not be counted?"""
    return LENDS and _names(x, frame) > 1


def _names(x: Any, frame: FrameType | None) -> int:
    """How many names for `x` a function and its callers have, without those that closures hold."""
    found = 0
    while frame is not None:
        found += len(_names_in(frame, x))
        frame = frame.f_back
    return found


def _names_in(frame: FrameType, x: Any) -> list[str]:
    names = frame.f_locals
    if names.__class__ is not _NAMES or not any(value is x for value in names.values()):
        return []  # the names of modules and classes are counted
    code = frame.f_code
    return [n for n in code.co_varnames if n not in code.co_cellvars and names.get(n) is x]


@functools.lru_cache(maxsize=256)
def _is_counted_on_stack(code: CodeType, at: int, name: str) -> bool:
    """Did an expression, in which an instruction stands, count what it read from a name? No where parts did not."""
    instructions = list(dis.get_instructions(code))
    here = next((i.positions for i in instructions if i.offset == at), None)
    lent = [i for i in instructions if "BORROW" in i.opname]
    return not any(name in _names_read(i) and _may_be_in(i, name, here) for i in lent)


@functools.lru_cache(maxsize=256)
def is_thrown_away(code: CodeType, at: int) -> bool:
    """Does nobody take the result of the call that an instruction is?"""
    after = [i.opname for i in dis.get_instructions(code) if i.offset > at and i.opname != "CACHE"]
    return after[:1] == ["POP_TOP"]


def _names_read(i: dis.Instruction) -> tuple[str, ...]:
    return i.argval if i.argval.__class__ is tuple else (i.argval,)


def _may_be_in(i: dis.Instruction, name: str, outer: dis.Positions | None) -> bool:
    """May an instruction read the name in an expression? Yes where nothing says where both are."""
    inner: Any = i.positions
    around: Any = outer
    if inner is None or around is None or None in (*inner, *around):
        return True
    if name in _names_read(i)[1:]:  # of two that are read at once only the first is known by its place
        return bool(around.lineno <= inner.lineno <= around.end_lineno)
    begins, ends = (around.lineno, around.col_offset), (around.end_lineno, around.end_col_offset)
    return begins <= (inner.lineno, inner.col_offset) < ends
