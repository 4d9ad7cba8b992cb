"""How ops view arrays in programs for NumPy: which part of an array a result is, and how it is written to.

Whether a reshape gives a view or a copy depends on the order of elements in memory, which tensors do not have. It is
known of arrays that the program makes; of arguments it is not, nor of what is computed of them, as NumPy keeps their
order in results. Knows nothing of who stands for an array.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ....core.op import Op, ops
from ....core.tensor import Tensor
from ....core.tracing.dispatch import apply, state

#: How a tensor is made of the array that it is a part of: ``view(whole)``.
View = Callable[[Tensor], Tensor]
#: The whole with another part: ``put(whole, part)``.
Put = Callable[[Tensor, Any], Tensor]


class Seen(NamedTuple):
    """How an op gives a part of an array; without `put` nobody may write to that part."""

    view: View
    put: Put | None
    memory: np.ndarray | None


def seen_by(
    op: Op, inputs: Sequence[Tensor], attrs: Mapping[str, Any], memory: np.ndarray | None, row: bool = False
) -> Seen | bool:
    """The way that a view takes of its first input; False where NumPy makes a copy, True where that is not known.

    Parameters
    ----------
    op, inputs, attrs
        The call.
    memory : numpy.ndarray or None
        What the input would be in NumPy, which nobody looks into; None where its order is not known.
    row : bool
        It is a reshape that `ravel` makes.
    """
    put = _PUT.get(op.name)
    if len(inputs) > 1 or (op.name == "imag" and inputs[0].np_dtype.kind != "c"):
        return len(inputs) > 1
    shown = None
    if op.name == "reshape":
        if memory is None:
            if row or not _is_always_a_view(inputs[0].shape, attrs["shape"]):
                return True
        elif row and not memory.flags.c_contiguous:
            return False
        else:
            shown = memory.reshape(attrs["shape"])
            if shown.size and not np.may_share_memory(shown, memory):
                return False
    elif memory is not None and op.name in _MOVING:
        shown = op.kernel(memory, **attrs)
    return Seen(
        lambda whole: apply(op, (whole,), attrs),
        None if put is None else lambda whole, new: put(whole, new, **attrs),
        shown,
    )


def is_plain(entry: Any) -> bool:
    """Is a part of an index known, and one by which NumPy gives a view?"""
    ends = (entry.start, entry.stop, entry.step) if isinstance(entry, slice) else (entry,)
    return all(e is None or e is ... or e.__class__ is int for e in ends)


def _is_always_a_view(before: Sequence[Any], after: Sequence[Any]) -> bool:
    """Is a reshape one, whatever the order of elements?"""
    kept = [[s for s in sizes if s.__class__ is not int or s != 1] for sizes in (before, after)]
    return len(before) == 1 or kept[0] == kept[1]


def _put_slice(whole: Tensor, new: Any, *, slices: Any) -> Tensor:
    index = tuple(
        slice(start, start + size * step if start + size * step >= 0 else None, step)
        for start, size, step in slices
    )
    changed: Tensor = whole.at[index].set(new)
    return changed


def _put_real(whole: Tensor, new: Any) -> Tensor:
    changed: Tensor = ops.complex(new, ops.imag(whole)) if whole.np_dtype.kind == "c" else new
    return changed


_PUT: dict[str, Callable[..., Tensor]] = {
    "reshape": lambda whole, new, *, shape: ops.reshape(new, shape=whole.shape),
    "transpose": lambda whole, new, *, perm: ops.transpose(new, perm=tuple(np.argsort(perm).tolist())),
    "slice": _put_slice,
    "real": _put_real,
    "imag": lambda whole, new: ops.complex(ops.real(whole), new),
}
_MOVING = frozenset(("transpose", "slice", "broadcast_to"))


# ---- all elements in a row ------------------------------------------------------------------------------


class _Rows(threading.local):
    """What `ravel` has made while a program for NumPy ran, which may be looked at later."""

    def __init__(self) -> None:
        self.making = 0
        self.made: dict[int, weakref.ref[Tensor]] = {}


_rows = _Rows()


def in_a_row(make: Callable[[], Tensor]) -> Tensor:
    """What `ravel` makes by a reshape: NumPy's copies parts that are not in C order, which its reshape may show."""
    _rows.making += 1
    try:
        row = make()
    finally:
        _rows.making -= 1
    if state.guards:
        _rows.made[id(row)] = weakref.ref(row, partial(_forget, _rows.made, id(row)))
    return row


def _forget(made: dict[int, weakref.ref[Tensor]], key: int, gone: weakref.ref[Tensor]) -> None:
    if made.get(key) is gone:
        del made[key]


def is_a_row(tensor: Tensor) -> bool:
    """Is it what `ravel` makes, or has made?"""
    known = _rows.made.get(id(tensor))
    return bool(_rows.making) or (known is not None and known() is tensor)
