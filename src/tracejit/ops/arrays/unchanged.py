"""Ops that return their input and differ in which gradients pass."""

from __future__ import annotations

from typing import Any

from ...core.autodiff.batching import Batch
from ...core.autodiff.scattered import nothing
from ...core.op import defop, ops, sample
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ..lowering import Reindex
from ..symbolic_values import same_sizes
from .shape import VIEW


def same_view(v: Any, out: TensorSpec, **attrs: Any) -> Any:
    return v


_AS_GIVEN: dict[str, Any] = {
    "kernel": lambda x: x,
    "lower": Reindex(same_view),
    "samples": (sample((2,), complex=True),),
}


@defop(
    vjp=(lambda g, y, x: g,),
    linear=True,
    **_AS_GIVEN,
    batch=lambda batch, x: ops.identity(x),
    size_rule=same_sizes,
    traits=(*VIEW, "row_local"),
)
def identity(input: TensorSpec) -> TensorSpec:
    """`input` itself, as a new tensor.

    Returns
    -------
    Tensor
        Of the same shape and dtype.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.identity([1.0, 2.0]))
    tf.Tensor([1. 2.], shape=(2,), dtype=float32)
    """
    return input


@defop(
    vjp=(None,),
    **_AS_GIVEN,
    batch=lambda batch, x: ops.stop_gradient(x),
    traits=(*VIEW, "row_local"),
)
def stop_gradient(input: TensorSpec) -> TensorSpec:
    """`input` itself, through which no gradient flows.

    Returns
    -------
    Tensor
        Of the same shape and dtype.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.stop_gradient([1.0, 2.0]))
    tf.Tensor([1. 2.], shape=(2,), dtype=float32)
    """
    return input


@defop(
    vjp=(None,),
    **_AS_GIVEN,
    batch=lambda batch, x: ops.number(x),
    traits=(*VIEW, "row_local", "takes_out"),
)
def number(input: TensorSpec) -> TensorSpec:
    """`input` as the Python number that ``float()`` makes of it, through which no gradient flows.

    Unlike `stop_gradient` it is not written to stop gradients: transforms of functions refuse to lose them here.
    """
    return input


def _tied_tangent(record: Any, ts: list[Any]) -> list[Any]:
    value = record.outputs[0]
    return [ops.fill(shape=value.shape, value=0.0, dtype=value.dtype) if ts[0] is None else ts[0]]


def _batch_tied(batch: Batch, value: Tensor, to: Tensor) -> Tensor:
    value, to = batch.all_spread((value, to))
    return ops.tied(value, to)


@defop(
    vjp=(lambda g, y, value, to: ops.tied(g, to), lambda g, y, value, to: nothing(to.spec)),
    jvp=_tied_tangent,
    vanishes_where="the result is linear in it from one kink to the next",
    kernel=lambda value, to: value,
    lower=Reindex(lambda v, to, out: v),
    batch=_batch_tied,
    size_rule=lambda node, value, to: value,
    traits=(*VIEW, "internal"),
    samples=(sample((2,), (3,), complex=True), sample((), (2, 2))),
)
def tied(value: TensorSpec, to: TensorSpec) -> TensorSpec:
    """`value`, which depends on `to` as well, of any shape: by a derivative of zero, to any order.

    The derivative of what is linear piece by piece is chosen by a comparison, through which nothing flows, and yet it
    is a function of the argument. Tied to it, its own derivative is zero where it would be None.
    """
    return value
