"""A dense layer as a single op, which eager programs call instead of three: product, bias and activation.

Its derivative is written with ordinary ops, those that the parts have. Compiled, it is its parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.autodiff.batching import Batch
from ..core.autodiff.scattered import dense as whole
from ..core.autodiff.scattered import is_nothing, nothing
from ..core.dim import product, same
from ..core.errors import require
from ..core.op import OPS, Joint, Op, defop, ops, real, sample
from ..core.spec import TensorSpec, shape_text
from .linalg.products import turned
from .lowering import Compose

#: The activations that the op knows, by the names of their ops: their derivatives need no more than their results.
ACTIVATIONS = frozenset({"identity", "relu", "sigmoid", "tanh"})


def _kernel(x: np.ndarray, kernel: np.ndarray, bias: np.ndarray, *, activation: str) -> np.ndarray:
    if x.ndim < 2 or kernel.ndim != 2:  # NumPy would take vectors, and many kernels
        raise ValueError("takes rows of inputs, and one matrix")
    y = np.matmul(x, kernel)
    y += bias
    return y if activation == "identity" else np.asarray(getattr(ops, activation).kernel(y))


def _parts(x: Any, kernel: Any, bias: Any, *, activation: str) -> Any:
    y = ops.matmul(x, kernel) + bias
    return y if activation == "identity" else getattr(ops, activation)(y)


def _rows(x: Any) -> Any:
    """All but the last axis as one."""
    return x if len(x.shape) == 2 else ops.reshape(x, shape=(product(x.shape[:-1]), x.shape[-1]))


def _through(activation: Op, g: Any, y: Any) -> Any:
    """The cotangent of what an activation was given, from its result."""
    if activation.partial is not None:
        (rule,) = activation.partial
        assert rule is not None
        return g * rule(y, None)
    rules: Any = activation.vjp
    return rules[0](g, y, None)


def _vjp(record: Any, gs: list[Any], needs: list[bool]) -> list[Any]:
    if is_nothing(gs[0]):
        return [nothing(t.spec) if need else None for t, need in zip(record.inputs, needs, strict=True)]
    x, kernel, _ = record.inputs
    g = _through(OPS[record.attrs["activation"]], whole(gs[0]), record.outputs[0])
    return [
        ops.matmul(g, turned(kernel)) if needs[0] else None,
        ops.matmul(turned(_rows(x)), _rows(g)) if needs[1] else None,
        ops.reduce_sum(g, axis=tuple(range(len(g.shape) - 1))) if needs[2] else None,
    ]


def _vanishes(record: Any, position: int) -> str:
    activation, y = record.attrs["activation"], record.outputs[0]
    if activation == "relu" and not y.is_symbolic and not (y.array > 0).any():
        return "relu lets nothing through: no sum is positive"
    if OPS[activation].partial is not None:
        return f"the sums are so large that {activation} no longer changes, or what multiplies this argument is 0"
    return "what multiplies this argument is 0: {this}"


def _batch(batch: Batch, x: Any, kernel: Any, bias: Any, *, activation: str) -> Any:
    """More rows where one kernel and one bias serve all lanes; else the parts, many at once."""
    if batch.flags == (True, False, False):
        return ops.dense(x, kernel, bias, activation=activation)
    x, kernel, bias = batch.all_spread((x, kernel, bias))
    between = (1,) * (len(x.shape) - 3)
    kernel = ops.reshape(kernel, shape=(kernel.shape[0], *between, *kernel.shape[1:]))
    bias = ops.reshape(bias, shape=(bias.shape[0], 1, *between, bias.shape[1]))
    return _parts(x, kernel, bias, activation=activation)


@defop(
    vjp=Joint(_vjp),
    vanishes_where=_vanishes,
    kernel=_kernel,
    lower=Compose(_parts),
    batch=_batch,
    work=lambda inputs, outputs: outputs[0].array.size * (inputs[1].array.shape[0] + 2),
    traits=("expensive", "internal"),
    samples=(
        sample((3, 4), (4, 2), (2,), activation="identity"),
        sample((2, 3, 4), (4, 2), (2,), activation="relu"),
        sample((3, 4), (4, 2), (2,), activation="tanh"),
        sample((3, 2), (2, 5), (5,), activation="sigmoid"),
    ),
)
def dense(x: TensorSpec, kernel: TensorSpec, bias: TensorSpec, *, activation: str) -> TensorSpec:
    """``activation(x @ kernel + bias)`` over the last axis of `x`, of rank 2 or more, for a matrix and a vector.

    The dtype of all; ShapeError where sizes differ or ranks are others.
    """
    require(
        len(x.shape) >= 2 and len(kernel.shape) == 2 and len(bias.shape) == 1,
        "takes rows, a matrix and a vector",
    )
    fits = same(x.shape[-1], kernel.shape[0]) and same(kernel.shape[1], bias.shape[0])
    shapes = ", ".join(shape_text(s.shape) for s in (x, kernel, bias))
    require(fits and x.dtype is kernel.dtype is bias.dtype, f"sizes or dtypes do not go together: {shapes}")
    return real(x).with_shape((*x.shape[:-1], kernel.shape[1]))
