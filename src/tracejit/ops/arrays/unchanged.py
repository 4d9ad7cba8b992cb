"""Ops whose result is what they are given: they differ in which gradients pass."""

from __future__ import annotations

from typing import Any

from ...core.op import defop, ops, sample
from ...core.spec import TensorSpec
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
