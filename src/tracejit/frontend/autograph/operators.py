"""What converted functions call: Python's control flow, over Python values and over traced tensors.

With Python values each of these does what the statement it stands for does. Only what is known when the
compiled function runs, and no sooner, becomes part of the graph.
"""

from __future__ import annotations

import builtins
import functools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import LeakedTensor, TracejitError, Untraceable, at, take, user_location
from ...core.lazy import Later
from ...core.op import ops
from ...core.seams import converted_calls
from ...core.tracing.dispatch import is_tracing
from ...core.tracing.transaction import Attempt, Unwinding
from ...ops.tensor.memory.storage import are_arrays
from ..structure import flatten_values
from .builtins import subject_of
from .calls import callee, eager_callee
from .changing import in_place_method
from .flat import set_flat, set_flat_shared, update_flat, update_flat_shared
from .flow.raised import raising, trying
from .flow.shared_lists import is_same
from .flow.surroundings import Surroundings
from .flow.unrolling import written_out
from .items import item_of
from .membership import contains
from .outside import refuse_taking
from .parts import (
    augmented,
    augmented_alone,
    augmented_in_place,
    set_item,
    set_item_in,
    set_item_of,
    set_item_shared,
    update_item,
    update_item_in,
    update_item_of,
    update_item_shared,
)
from .places.mutations import MutationLog, changing
from .places.place import AttributePlace, Carried, Places
from .properties import attribute_of, set_attribute, update_attribute
from .values.contents import ContainerSnapshot, held
from .values.iteration import Looped, OpenRange, as_range, is_size, looped
from .values.kinds import SetInLoop, TraceError, is_undefined, traced
from .values.stacked import Stacked

if TYPE_CHECKING:
    from .flow import branches, loops, peeling
    from .flow.peeling import Loop
else:  # many programs have neither
    branches, loops, peeling = (
        Later(f".flow.{name}", __package__) for name in ("branches", "loops", "peeling")
    )

attribute = AttributePlace
slice = builtins.slice

__all__ = [
    "and_",
    "assert_stmt",
    "attribute",
    "attribute_of",
    "augmented",
    "augmented_alone",
    "augmented_in_place",
    "callee",
    "chain",
    "changing",
    "comprehension",
    "defined",
    "eager_callee",
    "for_stmt",
    "handling",
    "if_exp",
    "if_stmt",
    "in_place_method",
    "item_of",
    "not_",
    "or_",
    "raising",
    "set_attribute",
    "set_flat",
    "set_flat_shared",
    "set_item",
    "set_item_in",
    "set_item_of",
    "set_item_shared",
    "slice",
    "subject_of",
    "trying",
    "update_attribute",
    "update_flat",
    "update_flat_shared",
    "update_item",
    "update_item_in",
    "update_item_of",
    "update_item_shared",
    "while_stmt",
]

_VALUE = "_ag_value"
Body = Callable[..., Any]  # a nested function of the converted code, or of ours

#: Sizes that are compared here are compared by the program.
COMPARES_FOR_PROGRAMS = True

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "is": is_same,
    "is not": lambda a, b: not is_same(a, b),
    "in": contains,
    "not in": lambda a, b: not_(contains(a, b)),
}


# ---- statements -----------------------------------------------------------------------------------------


def if_stmt(
    test: Any,
    then: Body,
    orelse: Body | None,
    names: Sequence[str],
    scratch: Sequence[str] = (),
    attributes: Sequence[AttributePlace] = (),
    unread: Sequence[str] = (),
) -> None:
    """``if test: then() else: orelse()``; `names` are handed on, but for those `unread`; `scratch` only inside."""
    if traced(test):
        both = (then, orelse)
        places = Places(both, names, attributes)
        with _refusing():
            branches.branch(test, then, orelse, places, Places(both, scratch, ()), unread=unread)
    elif test:
        then()
    elif orelse is not None:
        orelse()


@contextmanager
def _refusing() -> Iterator[None]:
    """What a traced branch or loop refuses passes the handlers of the program, which are about its own errors."""
    try:
        yield
    except TracejitError as error:
        raise TraceError(error) from error


def handling(named: Any = BaseException) -> None:
    """At the start of a handler: what the program itself would not raise passes it, unless it is `named` as ours."""
    error = sys.exception()
    if not isinstance(error, Untraceable | LeakedTensor) or not is_tracing():
        return
    kinds = named if isinstance(named, tuple) else (named,)
    if not all(isinstance(kind, type) and issubclass(kind, TracejitError) for kind in kinds):
        raise TraceError(error) from error
    take(error)


def while_stmt(
    test: Body,
    body: Body,
    names: Sequence[str],
    attributes: Sequence[AttributePlace] = (),
    lists: Sequence[str] = (),
    inner: Sequence[str] = (),
) -> None:
    """``while test(): body()``; a loop op where the test is a traced tensor, be it only after the first iteration."""
    carried = Carried(Places((test, body), names, attributes), lists, inner)
    loop = peeling.WhileLoop(test, body)
    going = _asked(test, carried)
    if not traced(going) and going and is_tracing():
        going = _after_first(loop, loop, body, test, carried)
        if going is _COMPILED:
            return
    while not traced(going):
        if not going:
            return
        body()
        going = _asked(test, carried)
    with _refusing():
        peeling.compile_loop(loop, carried)


def _asked(test: Callable[[], Any], carried: Carried) -> Any:
    """What the test says. Where that is traced it is taken back: the loop op asks again, before its first iteration."""
    if not is_tracing():
        return test()
    read, before = ContainerSnapshot([*held(test.__closure__)]), carried.places.get()
    with Attempt() as attempt, MutationLog() as log:
        going = test()
        if not traced(going):
            return going
        changed = ["a list or dict"] if read.changed(set()) else log.earlier()
        if changed:
            raise Untraceable(
                f"the condition of a `while` changes {', '.join(changed)} in place, and how often it is asked is known "
                f"only when the compiled function runs: do it in the body{at(user_location())}"
            )
        attempt.rollback()
    carried.places.set(before)
    return going


_COMPILED = object()


def _after_first(
    whole: Loop, rest: Loop, first: Callable[[], Any], test: Callable[[], Any], carried: Carried
) -> Any:
    """Run the first iteration of a loop in Python; returns whether it goes on.

    Where that turns out to be traced, the iteration is taken back and the loop compiled from its start, so that
    its body is there once; then it returns `_COMPILED`.
    """
    with Attempt() as attempt, Surroundings(carried.places, certain=True):
        first()
        going = test()
        if not traced(going):
            return going
        attempt.rollback()
    with Attempt() as attempt, Surroundings(carried.places, certain=True):
        try:
            loops.run_loop(replace(whole.steps(), surely_runs=True), carried.places, carried.lists)
            return _COMPILED
        except (Exception, Unwinding):
            attempt.rollback()
    first()  # what is Python in the first iteration only stays so
    peeling.compile_loop(rest, carried)
    return _COMPILED


def for_stmt(
    iterable: Any,
    body: Body,
    names: Sequence[str],
    going: Body | None = None,
    attributes: Sequence[AttributePlace] = (),
    lists: Sequence[str] = (),
    inner: Sequence[str] = (),
) -> None:
    """``for item in iterable: body(item)`` while ``going()`` holds; nobody reads those named `inner` after it."""
    carried = Carried(Places((body, going), names, attributes), lists, inner)
    if iterable.__class__ is OpenRange:
        if _is_compiled(peeling.ForLoop(iterable.counted(), body, going), carried):
            return
        iterable = iterable.plain()
    over = looped(iterable)
    if over is None:
        _python_for(iterable, body, going, carried)
    elif not is_size(over.length) or over.length > 0:
        with _refusing():
            _over_rows(over, body, going, carried)


_FEW = 64  # rows for which a loop that cannot be compiled is written out


def _over_rows(over: Looped, body: Body, going: Body | None, carried: Carried) -> None:
    """Compile the loop; where types forbid that, and the items are few, run it for one after the other, as Python does.

    Then its index is a number that lists and dicts take, and variables may change their types.
    """
    loop = peeling.ForLoop(over, body, going)
    with Attempt() as attempt, Surroundings(carried.places, certain=True):
        try:
            peeling.compile_loop(loop, carried)
            return
        except (TypeError, TraceError) as error:
            reason = error.error if type(error) is TraceError else error
            shared = isinstance(reason, Untraceable) and are_arrays()  # written out, each row is a view
            if over.length is None or not (isinstance(reason, TypeError) or shared):
                raise
            attempt.rollback()
            refused = error
    with Attempt() as attempt, Surroundings(carried.places, certain=True):
        try:
            if int(over.length) <= _FEW:
                _python_for(over, body, going, carried)
                return
        except (TracejitError, TraceError):
            pass
        attempt.rollback()
    raise refused  # what was wrong with the loop says more


def _is_compiled(loop: Loop, carried: Carried) -> bool:
    """Compile the loop; False, and nothing has happened, where it cannot be."""
    with Attempt() as attempt, Surroundings(carried.places, certain=True):
        try:
            peeling.compile_loop(loop, carried)
            if not any(x.__class__ is Stacked for x in flatten_values(carried.places.get())[0]):
                return True  # a list that a compiled loop has built can do less than one of known length
            attempt.rollback()
        except (Exception, Unwinding):
            attempt.rollback()
    return False


def _python_for(iterable: Iterable[Any], body: Body, going: Body | None, carried: Carried) -> None:
    """Over Python's values: unrolled. A `break` that is traced guards what follows, or makes a range a loop."""
    refuse_taking(iterable)
    if isinstance(iterable, range) and going is not None:
        _python_range(iterable, body, going, carried)
        return
    for item in written_out(iterable) if is_tracing() else iterable:
        goes = True if going is None else going()
        if traced(goes):
            branches.branch(goes, lambda item=item: body(item), None, carried.places, Places((), (), ()))  # type: ignore[misc]
        elif not goes:
            return
        else:
            body(item)


def _python_range(items: range, body: Body, going: Body, carried: Carried) -> None:
    """A range that may be left early: unrolled until that depends on traced values, then a loop."""
    goes = bool(items) and going()
    for done, item in enumerate(written_out(items) if is_tracing() else items):
        if traced(goes):
            peeling.compile_loop(peeling.ForLoop(as_range(items[done:]), body, going), carried)
            return
        if not goes:
            return
        more = done + 1 < len(items)
        if done == 0 and more and is_tracing():
            whole, rest = (peeling.ForLoop(as_range(r), body, going) for r in (items, items[1:]))
            goes = _after_first(whole, rest, functools.partial(body, item), going, carried)
            if goes is _COMPILED:
                return
        else:
            body(item)
            goes = more and going()


def assert_stmt(test: Any, message: Callable[[], Any] | None) -> None:
    """``assert test, message()``."""
    if traced(test):
        holds = ops.cast(branches.truth(test), dtype=np.dtype(np.float32))
        ops.check(holds, message="assertion failed" if message is None else str(message()))
    elif not test:
        raise AssertionError(*([] if message is None else [message()]))


# ---- expressions ----------------------------------------------------------------------------------------


def and_(left: Any, *rest: Callable[[], Any]) -> Any:
    """``left and rest[0]() and …``: each operand once, and only if it is needed."""
    for k, operand in enumerate(rest):
        if traced(left):
            return _lazily(left, lambda k=k: and_(rest[k](), *rest[k + 1 :]), True)  # type: ignore[misc]
        if not left:
            return left
        left = operand()
    return left


def or_(left: Any, *rest: Callable[[], Any]) -> Any:
    """``left or rest[0]() or …``: each operand once, and only if it is needed."""
    for k, operand in enumerate(rest):
        if traced(left):
            return _lazily(left, lambda k=k: or_(rest[k](), *rest[k + 1 :]), False)  # type: ignore[misc]
        if left:
            return left
        left = operand()
    return left


def _lazily(left: Any, rest: Callable[[], Any], when: bool) -> Any:
    """``rest()`` where the truth of `left` is `when`, else `left`."""

    def known() -> Any:
        return left

    return _either(left, rest, known, "`and`") if when else _either(left, known, rest, "`or`")


def _either(test: Any, then: Callable[[], Any], orelse: Callable[[], Any], what: str) -> Any:
    """The value of one of two expressions, with what working it out changes."""
    _ag_value: Any = None

    def first() -> None:
        nonlocal _ag_value
        _ag_value = then()

    def second() -> None:
        nonlocal _ag_value
        _ag_value = orelse()

    both = (first, second)
    branches.branch(test, first, second, Places(both, (_VALUE,), ()), Places((), (), ()), what=what)
    return _ag_value


def not_(x: Any) -> Any:
    """``not x``."""
    return ops.logical_not(branches.truth(x)) if traced(x) else not x


def if_exp(test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """``then() if test else orelse()``."""
    if traced(test):
        return _either(test, then, orelse, "conditional expression")
    return then() if test else orelse()


def chain(left: Any, *steps: Any) -> Any:
    """``left < b() <= c() …``, given as pairs of an operator and an operand."""
    right = steps[1]()
    holds = _COMPARE[steps[0]](left, right)
    return holds if len(steps) == 2 else and_(holds, lambda: chain(right, *steps[2:]))


def comprehension(iterable: Any, each: Callable[[Any], Any], keep: Callable[[Any], Any] | None = None) -> Any:
    """``[each(item) for item in iterable if keep(item)]``."""
    over = looped(iterable)
    if over is None:
        refuse_taking(iterable)
        return [each(item) for item in iterable if keep is None or keep(item)]
    if is_size(over.length):
        items = list(over)
        kept = [True if keep is None else keep(item) for item in items]
        if not any(map(traced, kept)):
            return [each(item) for item, k in zip(items, kept, strict=True) if k]
    built: list[Any] = []

    def body(item: Any) -> None:
        nonlocal built

        def add() -> None:
            nonlocal built
            built.append(each(item))

        if_stmt(True if keep is None else keep(item), add, None, ("built",))

    for_stmt(over, body, ("built",), lists=("built",))
    return built


def defined(x: Any) -> Any:
    """`x`, which must have been set."""
    if x.__class__ is SetInLoop:
        return x.last()
    if is_undefined(x):
        raise x.error()
    return x


converted_calls.provide(lambda: sys.modules[__name__])
