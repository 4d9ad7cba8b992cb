"""How ops view arrays in programs for NumPy: which part of an array a result is, and how it is written to.

Whether a reshape gives a view or a copy depends on the order of elements in memory, which tensors do not have. It is
known of what NumPy makes in C order; arguments count as such, as tensors are. Knows nothing of who stands for an array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....core.ir.graph import Value
from ....core.op import Op, ops
from ....core.tensor import Tensor
from ....core.tracing.dispatch import apply, state
from ....core.tracing.trace import Trace

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
    op: Op, inputs: Sequence[Tensor], attrs: Mapping[str, Any], memory: np.ndarray | None
) -> Seen | bool:
    """The way that a view takes of its first input; False where NumPy makes a copy, True where that is not known.

    Parameters
    ----------
    op, inputs, attrs
        The call.
    memory : numpy.ndarray or None
        What the input would be in NumPy, which nobody looks into; None where its order is not known.
    """
    put = _PUT.get(op.name)
    if len(inputs) > 1 or (op.name == "imag" and inputs[0].np_dtype.kind != "c"):
        return len(inputs) > 1
    shown = None
    if op.name == "reshape":
        if memory is None and not _adds_axes_alone(inputs[0].shape, attrs["shape"]):
            return True
        if memory is not None:
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


def _adds_axes_alone(before: Sequence[Any], after: Sequence[Any]) -> bool:
    return [s for s in before if s.__class__ is not int or s != 1] == [
        s for s in after if s.__class__ is not int or s != 1
    ]


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


# ---- the order of elements in memory --------------------------------------------------------------------

_ENOUGH = 1000  # values that are looked at
_MAKES_IN_C_ORDER = frozenset(("matmul", "fill", "iota", "place", "concat", "stack", "reshape"))
_KEEPS_ORDER = frozenset(
    ("identity", "cast", "slice", "where", "scatter_set", "scatter_add", "dynamic_update_slice")
)


def memory_of(tensor: Tensor) -> np.ndarray | None:
    """What an array would be in NumPy that the program has as this tensor; None where its order is not known."""
    spec, payload = tensor.spec, tensor._payload
    if spec.symbolic or spec.dtype.kind == "O":
        return None
    ordered = payload.flags.c_contiguous if payload.__class__ is np.ndarray else _is_in_c_order(payload)
    return np.empty(spec.shape, spec.dtype) if ordered else None


def _is_in_c_order(value: Any) -> bool:
    """Has NumPy the elements of this value of a graph in C order?"""
    waiting, seen = [value], set[Any]()
    while waiting:
        v = waiting.pop()
        if v in seen or (v.__class__ is Value and len(v.spec.shape) <= 1):
            continue
        seen.add(v)
        if v.__class__ is not Value or len(seen) > _ENOUGH:
            return False
        node = v.node
        if node is None:
            if not _is_argument(v):
                return False  # what goes round a loop
        elif node.op.literal:
            held = node.attrs.get("value")
            if not getattr(held, "array", np.empty((2, 2)).T).flags.c_contiguous:
                return False
        elif node.op.elementwise or node.op.name in _KEEPS_ORDER or node.op.name in _MAKES_IN_C_ORDER:
            waiting += node.inputs
        else:
            return False
    return True


def _is_argument(value: Value) -> bool:
    """Is it an argument of what is traced, and of no part of that?"""
    trace = state.interpreter
    while isinstance(trace, Trace) and trace.parent is not None:
        trace = trace.parent
    return isinstance(trace, Trace) and trace.graph is value.graph
