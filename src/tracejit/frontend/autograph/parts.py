"""``x[i] = v`` in converted functions: containers change in place, a tensor is replaced by a changed copy.

A tensor may lie deep inside, as in ``cache["k"][i] = v``: then whatever holds it gets the changed one.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...core.errors import SymbolicValue, at, user_location
from ...core.spec import DIFFERENTIABLE
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ...ops.tensor.at import At
from ...ops.tensor.memory.holders import alone
from ...ops.tensor.memory.made import from_the_start, whole_of
from ...ops.tensor.memory.programs import in_its_place, is_program_for_numpy
from ...ops.tensor.memory.shared import note_written
from ...ops.tensor.memory.storage import are_arrays, array_written, begin_with_arrays, is_in_place, written
from ...ops.tensor.numpy_protocol import needing
from ...ops.tensor.writing import refuse_shared
from .arrays import fillable
from .flow.surroundings import change_of, uncertain
from .items import holds_traced, item_of
from .values.kinds import traced
from .values.weak import Weak

BINARY: dict[str, Callable[[Any, Any], Any]] = {
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

Change = Callable[[Any, Any], Any]


def set_item(value: Any, x: Any, indices: Sequence[Any]) -> Any:
    """``x[i][j]… = value``; returns what `x` is from here on."""
    if x.__class__ is np.ndarray and _would_leave(indices, value):
        x = (x,)[0]  # counted, also where a caller lends it
        if alone(sys.getrefcount(x), x, sys._getframe(1)):
            x = fillable(x, value)
    return set_item_shared(value, x, indices)


def set_item_shared(value: Any, x: Any, indices: Sequence[Any]) -> Any:
    """The same of what other names may know: an array stays one."""
    return _changed(x, indices, lambda part, index: _set(part, index, value))


def update_item(how: str, x: Any, indices: Sequence[Any], value: Any) -> Any:
    """``x[i][j]… += value`` and the like; returns what `x` is from here on."""
    if x.__class__ is np.ndarray and _would_leave(indices, value):
        x = (x,)[0]  # counted, also where a caller lends it
        if alone(sys.getrefcount(x), x, sys._getframe(1)):
            x = fillable(x, value)
    return update_item_shared(how, x, indices, value)


def update_item_shared(how: str, x: Any, indices: Sequence[Any], value: Any) -> Any:
    """The same of what other names may know: an array stays one."""
    return _changed(x, indices, lambda part, index: _update(part, index, how, value))


def set_item_of(value: Any, owner: Any, name: str, indices: Sequence[Any]) -> None:
    """``owner.name[i]… = value``."""
    _keep(owner, name, set_item(value, getattr(owner, name), indices))


def update_item_of(how: str, owner: Any, name: str, indices: Sequence[Any], value: Any) -> None:
    """``owner.name[i]… += value`` and the like."""
    _keep(owner, name, update_item(how, getattr(owner, name), indices, value))


def set_item_in(value: Any, x: Any, indices: Sequence[Any]) -> None:
    """``x[i]… = value`` where `x` is nothing that could be assigned."""
    _require_container(x)
    _require_container(x, set_item(value, x, indices))


def update_item_in(how: str, x: Any, indices: Sequence[Any], value: Any) -> None:
    """``x[i]… += value`` and the like where `x` is nothing that could be assigned."""
    _require_container(x)
    _require_container(x, update_item(how, x, indices, value))


def _would_leave(indices: Sequence[Any], value: Any) -> bool:
    """Would an array of NumPy's take the value of a tensor that has none, or a derivative?"""
    return needing(value) is not None or any(map(holds_traced, indices))


def _keep(owner: Any, name: str, new: Any) -> None:
    if isinstance(owner, (np.ndarray, Tensor)):
        return  # what ``a.T`` gives is written to, and no attribute of the array
    if new is not getattr(owner, name):
        setattr(owner, name, new)


def _require_container(x: Any, changed: Any = None) -> None:
    """Raise where `x` is no container that changes in place, but would have to be another one, or has `changed` to."""
    if is_in_place(x) or (isinstance(x, Tensor) and _is_array(x)):
        return  # whoever reads it sees what is written
    if isinstance(x, Tensor) or not (changed is None or changed is x):
        raise TypeError(
            "a tensor does not change, and this one has no name here that could be given the changed one: declare "
            f"its name nonlocal or global, or pass the tensor in and return it{at(user_location())}"
        )


def _changed(x: Any, indices: Sequence[Any], change: Change) -> Any:
    """`x` with ``change(part, index)`` done to what the last index applies to."""
    index, *inner = indices
    if not inner:
        return change(x, index)
    part = item_of(x, index)
    new = _changed(part, inner, change)
    if new is not part and isinstance(x, tuple) and isinstance(part, Tensor):
        if _is_array(part):
            return x
        raise TypeError(
            f"a tuple cannot be given the changed tensor: keep what is written to in a list{at(user_location())}"
        )
    return x if new is part else _set(x, index, new)


def _is_array(x: Tensor) -> bool:
    """Does who reads this see what is written to it? It is traced again where that can be."""
    if is_in_place(x) or are_arrays():
        return True
    if is_program_for_numpy(surely=True):
        begin_with_arrays()
    return False


def _place(x: Tensor, index: Any) -> Any:
    refuse_shared(x)
    return At(x)[index]


def _set(x: Any, index: Any, value: Any) -> Any:
    if isinstance(x, Tensor):
        if is_in_place(x) and not _takes(x, value):
            raise TypeError(f"an array of {x.np_dtype} takes no complex numbers{at(user_location())}")
        return _written(x, _place(x, index).set(value), index)
    if not isinstance(x, np.ndarray):
        x[index] = value
        return x
    if holds_traced(index) or traced(value):
        _as_tensor_from_the_start(x, value)
        raise SymbolicValue(
            "an array of NumPy's cannot hold what a compiled function computes where other names know it, too: make it "
            "where it is filled, or with tracejit.numpy, or write x = tracejit.constant(x) first"
            f"{at(user_location())}"
        )
    if (around := uncertain()) is not None and around.reachable.knows(whole_of(x)):
        from_the_start(x)
        raise change_of(x, "a branch or loop")
    array_written(x)
    x[index] = value
    return x


def augmented(how: str, x: Any, value: Any) -> Any:
    """What `x` is after ``x += value`` and the like."""
    if isinstance(x, Tensor):
        if x.ndim and (is_in_place(x) or are_arrays()):
            return _update(x, ..., how, value)
        old = as_tensor(x)
        new = in_its_place(old, BINARY[how](x, value))
        note_written(old, new)
        return new
    if x.__class__ is np.ndarray and x.ndim:
        around = uncertain()
        if needing(value) is not None or (around is not None and around.reachable.knows(whole_of(x))):
            _as_tensor_from_the_start(x, value)
        array_written(x)
    return BINARY[how](x, value)


def augmented_in_place(how: str, x: Any, value: Any) -> Any:
    """The same in a program for NumPy alone, where another name stands for the same array and sees the change."""
    if isinstance(x, Tensor) and x.ndim and _same_dtype(x, value):
        return _update(x, ..., how, value)
    return augmented(how, x, value)


def augmented_alone(how: str, x: Any, value: Any) -> Any:
    """The same where functions run eagerly: an array of floats that one name alone holds may become a tensor."""
    if x.__class__ is np.ndarray and x.ndim and x.dtype.kind in DIFFERENTIABLE and needing(value) is not None:
        x = (x,)[0]  # counted, also where a caller lends it
        if alone(sys.getrefcount(x), x, sys._getframe(1)):
            x = fillable(x, value)
        if isinstance(x, Tensor):
            return _update(x, ..., how, value)
    return augmented(how, x, value)


def _written(x: Tensor, new: Tensor, index: Any) -> Tensor:
    """What stands for `new` from here on, which is `x` with another part."""
    old = as_tensor(x)
    result = written(x, new)
    note_written(old, result, index)
    return result


def _update(x: Any, index: Any, how: str, value: Any) -> Any:
    place = _place(x, index) if isinstance(x, Tensor) else None
    if isinstance(x, np.ndarray) and _would_leave((index,), value):
        _as_tensor_from_the_start(x, value)
    if place is not None and place.mask is not None:
        return _written(x, place.apply(lambda whole: in_its_place(whole, BINARY[how](whole, value))), index)
    if place is not None and how in ("+", "-") and _same_dtype(x, value):
        if place.is_distinct:  # then adding in place is the same to the bit, and its derivative is simpler
            return _written(x, place.add(value) if how == "+" else place.subtract(value), index)
    part = x[index]
    if isinstance(x, Tensor):
        new = BINARY[how](part, value)
        return _set(x, index, in_its_place(as_tensor(part), new) if isinstance(part, Tensor) else new)
    of_array = isinstance(x, np.ndarray)  # and not of a list, whose elements may be arrays
    return _set(x, index, (BINARY[how] if of_array else partial(augmented, how))(part, value))


def _as_tensor_from_the_start(x: np.ndarray, value: Any) -> None:
    """Trace again with a tensor for the array, if that can hold the value."""
    if x.flags.writeable and _takes(x, value):
        from_the_start(x)


def _takes(x: Any, value: Any) -> bool:
    return x.dtype.kind == "c" or getattr(value, "dtype", x.dtype).kind != "c"


def _same_dtype(x: Tensor, value: Any) -> bool:
    """Does ``x[i] + value`` have the dtype of `x`?"""
    if x.np_dtype.kind not in DIFFERENTIABLE:
        return False
    if value.__class__ is Weak:
        return value.weak_kind is not complex
    return value.__class__ in (bool, int, float) or getattr(value, "dtype", None) == x.np_dtype
