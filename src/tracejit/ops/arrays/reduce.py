"""Reductions and running sums over axes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.dim import Dim, Size, nonnegative, product, unknown
from ...core.errors import AxisError, DtypeError, ShapeError, SymbolicValue, at, require, user_location
from ...core.op import Attrs, defop, numeric, ops, sample
from ...core.spec import TensorSpec
from ...core.tracing.dispatch import apply, as_tensor
from ..batch import batch_size_value, inner
from ..lowering import Nests, Reduce


def whole(x: Any, what: str) -> int:
    """`x` as a Python integer, a scalar tensor of integers too; a fraction is an error that says `what` it is for."""
    try:
        return operator.index(x)
    except SymbolicValue:
        raise
    except TypeError:
        raise DtypeError(f"{what} is an integer, not {x!r}{at(user_location())}") from None


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """Canonical axes: None means all, negative ones count from the end."""
    if axis is None:
        return tuple(range(rank))
    if axis.__class__ is int or not hasattr(axis, "__iter__") or getattr(axis, "shape", None) == ():
        return (one_axis(axis, rank),)
    axes = tuple(sorted([one_axis(a, rank) for a in axis]))
    if len(set(axes)) != len(axes):
        raise ShapeError(f"repeated axis in {axis}{at(user_location())}")
    return axes


def one_axis(axis: Any, rank: int) -> int:
    """A canonical axis."""
    if axis.__class__ is not int:
        axis = whole(axis, "an axis")
    if not -rank <= axis < rank:
        raise AxisError(f"axis {axis} is out of range for rank {rank}{at(user_location())}")
    return axis % rank


def _reduction(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    x = as_tensor(inputs[0])
    axis = inputs[1] if len(inputs) > 1 else attrs.get("axis")
    axes = axes_of(axis, len(x.shape))
    return (x,), {"axis": axes}


def dropped(x: TensorSpec, axis: tuple[int, ...]) -> TensorSpec:
    """Shape rule of reductions: the axes in `axis` go."""
    return TensorSpec([d for i, d in enumerate(x.shape) if i not in axis], x.dtype)


def kept(shape: Sequence[Size], axis: tuple[int, ...]) -> tuple[Size, ...]:
    """`shape` with size 1 at the axes in `axis`."""
    return tuple(1 if i in axis else d for i, d in enumerate(shape))


def expand(g: Any, x: Any, axis: tuple[int, ...]) -> Any:
    """Repeat a reduced tensor along the axes it lost, to the shape of `x`."""
    return ops.broadcast_to(ops.reshape(g, shape=kept(x.shape, axis)), shape=x.shape)


_SHAPES = (
    sample((2, 3), axis=(1,), complex=True),
    sample((2, 3), axis=(0,), complex=True),
    sample((2, 3, 4), axis=(0, 2), complex=True),
    sample((4,), axis=(0,), complex=True),
    sample((), axis=(), complex=True),
)
_REAL_SHAPES = tuple(sample(*s.shapes, **s.attrs) for s in _SHAPES)


def _sum_kernel(x: np.ndarray, *, axis: tuple[int, ...]) -> np.ndarray:
    return np.asarray(np.add.reduce(x, axis=axis, dtype=x.dtype))


@defop(
    vjp=(lambda g, y, x, *, axis: expand(g, x, axis),),
    linear=True,
    kernel=_sum_kernel,
    lower=Reduce("add", lambda dtype: 0),
    canonicalize=_reduction,
    batch=lambda batch, x, *, axis: ops.reduce_sum(x, axis=inner(axis)),
    traits=("reduce", "expensive"),
    samples=_SHAPES,
)
def reduce_sum(x: TensorSpec, *, axis: tuple[int, ...]) -> TensorSpec:
    """Sum over the axes in `axis`, which are dropped; None is all of them."""
    return dropped(numeric(x), axis)


def _shares(y: Any, x: Any, axis: tuple[int, ...]) -> Any:
    """Each element's part in the extreme: ties share it. Divided per element, so that no elements give no NaN."""
    best = ops.cast(ops.equal(x, expand(y, x, axis)), dtype=x.np_dtype)
    return best / expand(ops.reduce_sum(best, axis=axis), x, axis)


def _share_ties(g: Any, y: Any, x: Any, *, axis: tuple[int, ...]) -> Any:
    return expand(g, x, axis) * _shares(y, x, axis)


def _extreme_jvp(record: Any, ts: list[Any]) -> list[Any]:
    (x,), y, axis = record.inputs, record.outputs[0], record.attrs["axis"]
    return [ops.reduce_sum(_shares(y, x, axis) * ts[0], axis=axis)]


def _lowest(dtype: np.dtype) -> Any:
    return -np.inf if dtype.kind in "fV" else False if dtype.kind == "b" else np.iinfo(dtype).min


def _highest(dtype: np.dtype) -> Any:
    return np.inf if dtype.kind in "fV" else True if dtype.kind == "b" else np.iinfo(dtype).max


def _extreme(word: str, function: np.ufunc, rule: str, initial: Callable[[np.dtype], Any]) -> dict[str, Any]:
    """What the largest and the smallest element have in common; `initial` is what they are of none."""

    def kernel(x: np.ndarray, *, axis: tuple[int, ...]) -> np.ndarray:
        return np.asarray(function.reduce(x, axis=axis, initial=initial(x.dtype)))

    return {
        "vjp": (_share_ties,),
        "jvp": _extreme_jvp,
        "vanishes_where": f"the {word} is at elements that do not depend on the source, in: {{this}}",
        "kernel": kernel,
        "lower": Reduce(rule, initial),
        "canonicalize": _reduction,
        "traits": ("reduce", "expensive"),
        "samples": _REAL_SHAPES,
    }


@defop(
    **_extreme("maximum", np.maximum, "max", _lowest),
    batch=lambda batch, x, *, axis: ops.reduce_max(x, axis=inner(axis)),
)
def reduce_max(x: TensorSpec, *, axis: tuple[int, ...]) -> TensorSpec:
    """Largest element over the axes in `axis`; NaN wins; -inf when there is none. Ties share the gradient."""
    require(x.dtype.kind != "c", "complex numbers have no order")
    return dropped(x, axis)


@defop(
    **_extreme("minimum", np.minimum, "min", _highest),
    batch=lambda batch, x, *, axis: ops.reduce_min(x, axis=inner(axis)),
)
def reduce_min(x: TensorSpec, *, axis: tuple[int, ...]) -> TensorSpec:
    """Smallest element over the axes in `axis`; NaN wins; inf when there is none. Ties share the gradient."""
    require(x.dtype.kind != "c", "complex numbers have no order")
    return dropped(x, axis)


def reduce_mean(x: Any, axis: Any = None) -> Any:
    """Mean over the axes in `axis` (None: all), which are dropped; of integers and bools in float64.

    That of float16 is one, added up and divided in float32, which holds larger sums.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.reduce_mean([1.0, 3.0]))
    2.0
    """
    x = as_tensor(x)
    if x.dtype.kind not in "fc":
        x = ops.cast(x, dtype=np.dtype(np.float64))
    if x.dtype == np.float16:
        return ops.cast(reduce_mean(ops.cast(x, dtype=np.dtype(np.float32)), axis), dtype=x.dtype)
    axes, shape = axes_of(axis, len(x.shape)), x.shape
    count = product([shape[a] for a in axes])
    return apply(reduce_sum, (x,), {"axis": axes}) / (
        count if isinstance(count, int) else ops.cast(size_tensor(count), dtype=x.dtype)
    )


def size_tensor(size: Size) -> Any:
    """A size as an int64 scalar tensor, also when it is known only at run time."""
    return ops.size_value(size=size)


@defop(
    vjp=(),
    kernel=lambda *, size: np.asarray(size, dtype=np.int64),
    lower=Nests(lambda b, out, *, size: b.map(out, lambda ix: b.size(size))),
    batch=batch_size_value,
    size_rule=lambda node, inputs: (node.attrs["size"],),
    traits=("ragged_ok",),
    samples=(sample(size=3),),
)
def size_value(*, size: Size) -> TensorSpec:
    """The value of a size."""
    return TensorSpec((), np.dtype(np.int64))


def _argument(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    x = as_tensor(inputs[0])
    axis = one_axis(inputs[1] if len(inputs) > 1 else attrs.get("axis", 0), len(x.shape))
    refuse_nothing(x.shape[axis], f"argmax: {_NOTHING}")
    return (x,), {"axis": axis}


def refuse_nothing(size: Any, message: str) -> None:
    """ValueError in a call in which an open size is 0."""
    if isinstance(size, Dim) and not nonnegative(size - 1) and (unknown(size) or not 0 < size):
        some = ops.cast(ops.greater(size_tensor(size), 0), dtype=np.dtype(np.float32))
        ops.check(some, message=message, error="ValueError")


_NOTHING = "an axis without elements has no largest one"


@defop(
    vjp=(None,),
    kernel=lambda x, *, axis: np.asarray(np.argmax(x, axis=axis), dtype=np.int64),
    lower=Reduce("argmax", _lowest),
    canonicalize=_argument,
    batch=lambda batch, x, *, axis: ops.argmax(x, axis=inner(axis)),
    traits=("reduce", "expensive"),
    samples=(sample((2, 3), axis=1), sample((2, 3), axis=0), sample((5,), axis=0)),
)
def argmax(x: TensorSpec, *, axis: int) -> TensorSpec:
    """Position (int64) of the largest element along `axis`: the first on ties, the first NaN if there is one."""
    require(x.dtype.kind != "c", "complex numbers have no order")
    require(x.shape[axis] != 0, _NOTHING)
    return dropped(x, (axis,)).with_dtype(np.dtype(np.int64))


def _running(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    x = as_tensor(inputs[0])
    axis = inputs[1] if len(inputs) > 1 else attrs.get("axis", 0)
    return (x,), {"axis": one_axis(axis, len(x.shape)), "reverse": bool(attrs.get("reverse", False))}


def _cumsum_kernel(x: np.ndarray, *, axis: int, reverse: bool) -> np.ndarray:
    if reverse:
        return np.flip(np.cumsum(np.flip(x, axis), axis=axis, dtype=x.dtype), axis)
    return np.cumsum(x, axis=axis, dtype=x.dtype)


def _cumsum_nests(b: Any, out: TensorSpec, x: Any, *, axis: int, reverse: bool) -> Any:
    result = b.empty(out)
    source, target = (x.flipped(axis), result.flipped(axis)) if reverse else (x, result)
    b.scan(source, target, axis, "add", -0.0 if x.dtype.kind in "fc" else 0)  # -0.0 + x is x, -0.0 included
    return result


@defop(
    vjp=(lambda g, y, x, *, axis, reverse: ops.cumsum(g, axis=axis, reverse=not reverse),),
    linear=True,
    kernel=_cumsum_kernel,
    lower=Nests(_cumsum_nests),
    canonicalize=_running,
    batch=lambda batch, x, *, axis, reverse: ops.cumsum(x, axis=inner(axis), reverse=reverse),
    traits=("expensive",),
    samples=(
        sample((2, 3), axis=1, reverse=False, complex=True),
        sample((4, 2), axis=0, reverse=True, complex=True),
    ),
)
def cumsum(x: TensorSpec, *, axis: int, reverse: bool) -> TensorSpec:
    """Running sums along `axis`, from the end with `reverse`."""
    return numeric(x)
