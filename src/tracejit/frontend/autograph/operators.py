"""What converted functions call: Python's control flow, over Python values and over traced tensors.

With Python values each of these does what the statement it stands for does. Only what is known when the
compiled function runs, and no sooner, becomes part of the graph.
"""

from __future__ import annotations

import builtins
import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any

from ...core.dispatch import as_tensor
from ...core.op import ops
from ...core.tensor import Tensor
from ...ops.indexing import get
from . import calls
from .branches import branch, select, truth
from .calls import callee
from .iteration import Range, looped, row_at
from .loops import Steps, run_loop
from .state import AttributePlace, Places
from .values import is_undefined, traced

attribute = AttributePlace
slice = builtins.slice

__all__ = [
    "and_",
    "assert_stmt",
    "attribute",
    "callee",
    "chain",
    "comprehension",
    "defined",
    "for_stmt",
    "if_exp",
    "if_stmt",
    "not_",
    "or_",
    "set_item",
    "set_item_of",
    "slice",
    "update_item",
    "update_item_of",
    "while_stmt",
]

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.iadd,
    "-": operator.isub,
    "*": operator.imul,
    "/": operator.itruediv,
    "//": operator.ifloordiv,
    "%": operator.imod,
    "**": operator.ipow,
    "@": operator.imatmul,
    "&": operator.iand,
    "|": operator.ior,
    "^": operator.ixor,
    "<<": operator.ilshift,
    ">>": operator.irshift,
}

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}


# ---- statements -----------------------------------------------------------------------------------------


def if_stmt(
    test: Any,
    then: FunctionType,
    orelse: FunctionType | None,
    names: Sequence[str],
    scratch: Sequence[str] = (),
    attributes: Sequence[AttributePlace] = (),
) -> None:
    """``if test: then() else: orelse()``; `names` are read later, `scratch` only inside."""
    if traced(test):
        both = (then, orelse)
        branch(test, then, orelse, Places(both, names, attributes), Places(both, scratch, ()))
    elif test:
        then()
    elif orelse is not None:
        orelse()


def while_stmt(
    test: FunctionType,
    body: FunctionType,
    names: Sequence[str],
    attributes: Sequence[AttributePlace] = (),
    lists: Sequence[str] = (),
) -> None:
    """``while test(): body()``; a loop op from the iteration on whose test is a traced tensor."""
    while True:
        going = test()
        if traced(going):
            steps = Steps(lambda i, rows: body(), test=lambda i: test(), what="`while`", surely_runs=False)
            run_loop(steps, Places((test, body), names, attributes), lists)
            return
        if not going:
            return
        body()


def for_stmt(
    iterable: Any,
    body: FunctionType,
    names: Sequence[str],
    going: FunctionType | None = None,
    attributes: Sequence[AttributePlace] = (),
    lists: Sequence[str] = (),
) -> None:
    """``for item in iterable: body(item)`` while ``going()`` holds."""
    over = looped(iterable)
    if over is None:
        _python_for(iterable, body, names, going, attributes, lists)
    else:
        _traced_for(over, body, Places((body, going), names, attributes), going, lists)


def _python_for(
    iterable: Iterable[Any],
    body: FunctionType,
    names: Sequence[str],
    going: FunctionType | None,
    attributes: Sequence[AttributePlace],
    lists: Sequence[str],
) -> None:
    """Over Python's values: unrolled. A `break` that is traced guards what follows, or makes a range a loop."""
    done = 0
    for item in iterable:
        goes = True if going is None else going()
        if traced(goes):
            if isinstance(iterable, range):
                rest = iterable[done:]
                over = Range(rest.start, rest.stop, rest.step)
                _traced_for(over, body, Places((body, going), names, attributes), going, lists)
                return
            places = Places((body, going), names, attributes)
            branch(goes, lambda item=item: body(item), None, places, Places((), (), ()))  # type: ignore[misc]
        elif not goes:
            return
        else:
            body(item)
        done += 1


def _traced_for(
    over: Any, body: FunctionType, places: Places, going: FunctionType | None, lists: Sequence[str]
) -> None:
    if over.length.__class__ is int and over.length == 0:
        return
    surely = over.length.__class__ is int
    if going is None:
        steps = Steps(
            lambda i, rows: body(over.item(i, rows)),
            rows=list(over.rows),
            count=over.count,
            length=over.length,
            surely_runs=surely,
            what="`for`",
        )
    else:
        end = over.count if over.count is not None else _size(over.length)
        steps = Steps(
            lambda i, rows: body(over.item(i, row_at(over.rows, i))),
            test=lambda i: and_(i < end, going),
            count=end,
            surely_runs=surely,
            what="`for`",
        )
    run_loop(steps, places, lists)


def _size(length: Any) -> Tensor:
    return as_tensor(length, "int64") if length.__class__ is int else ops.size_value(size=length)


def assert_stmt(test: Any, message: Callable[[], Any] | None) -> None:
    """``assert test, message()``."""
    if not traced(test) and not test:
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
    sides: list[Callable[[], list[Any]]] = [lambda: [rest()], lambda: [left]]
    return select(left, *(sides if when else sides[::-1]), [""], "`and`" if when else "`or`")[0]


def not_(x: Any) -> Any:
    """``not x``."""
    return ops.logical_not(truth(x)) if traced(x) else not x


def if_exp(test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """``then() if test else orelse()``."""
    if traced(test):
        return select(test, lambda: [then()], lambda: [orelse()], ["_ag_value"], "conditional expression")[0]
    return then() if test else orelse()


def chain(left: Any, *steps: Any) -> Any:
    """``left < b() <= c() …``, given as pairs of an operator and an operand."""
    right = steps[1]()
    found = _COMPARE[steps[0]](left, right)
    return found if len(steps) == 2 else and_(found, lambda: chain(right, *steps[2:]))


def comprehension(iterable: Any, each: Callable[[Any], Any]) -> Any:
    """``[each(item) for item in iterable]``."""
    over = looped(iterable)
    if over is None or over.length.__class__ is int:
        return [each(item) for item in (iterable if over is None else _items(over, iterable))]
    built: list[Any] = []

    def body(item: Any) -> None:
        nonlocal built
        built.append(each(item))

    for_stmt(over, body, ("built",), lists=("built",))  # type: ignore[arg-type]
    return built


def _items(over: Any, iterable: Any) -> Iterable[Any]:
    for k in range(over.length):
        i = as_tensor(k, "int64")
        yield over.item(i, [get(r, k) for r in over.rows])


def defined(x: Any) -> Any:
    """`x`, which must have been set."""
    if is_undefined(x):
        raise x.error()
    return x


# ---- assignment to parts --------------------------------------------------------------------------------


def set_item(value: Any, x: Any, index: Any) -> Any:
    """``x[index] = value``; returns `x`, or where it is a tensor the changed copy."""
    if x.__class__ is Tensor or (traced(x) and hasattr(x, "at")):
        return x.at[index].set(value)
    x[index] = value
    return x


def update_item(x: Any, index: Any, how: str, value: Any) -> Any:
    """``x[index] += value`` and the like; returns `x` or the changed copy."""
    return set_item(_BINARY[how](x[index], value), x, index)


def set_item_of(value: Any, owner: Any, name: str, index: Any) -> None:
    """``owner.name[index] = value``."""
    x = getattr(owner, name)
    new = set_item(value, x, index)
    if new is not x:
        setattr(owner, name, new)


def update_item_of(owner: Any, name: str, index: Any, how: str, value: Any) -> None:
    """``owner.name[index] += value`` and the like."""
    x = getattr(owner, name)
    new = update_item(x, index, how, value)
    if new is not x:
        setattr(owner, name, new)


calls.operators.append(sys.modules[__name__])
