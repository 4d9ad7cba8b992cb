"""An op of one's own: one declaration, and tapes, second derivatives and compiled code know it.

The op is ``logaddexp``: log(exp(a) + exp(b)) without overflow. Nothing of tracejit is edited; inside of the
package the same declaration would stand in a file of ``tracejit/ops`` (see CONTRIBUTING.md).
"""

from __future__ import annotations

import numpy as np

import tracejit as tj
from tracejit.core.op import ops, real
from tracejit.ops.arithmetic import broadcast, matched, pairs
from tracejit.ops.lowering import Compose


def larger_and_rest(a: tj.Tensor, b: tj.Tensor) -> tj.Tensor:
    """The same with other ops: what machine code is made of. Equal infinities have no difference."""
    same = ops.equal(a, b)
    apart = ops.abs(ops.where(same, 0.0, a) - ops.where(same, 0.0, b))
    return ops.maximum(a, b) + ops.softplus(-apart)


@tj.defop(
    kernel=np.logaddexp,  # eager mode: arrays in, arrays out
    partial=(lambda y, a, b: ops.exp(a - y), lambda y, a, b: ops.exp(b - y)),  # the derivative by each input
    lower=Compose(larger_and_rest),
    prepare=matched,  # numbers and arrays of mixed dtypes become tensors of one
    traits=("elementwise", "elementary"),
    samples=pairs(complex=False),
)
def logaddexp(a: tj.TensorSpec, b: tj.TensorSpec) -> tj.TensorSpec:
    """``log(exp(a) + exp(b))``, element by element, without overflow."""
    return real(broadcast(a, b))  # the shape rule: the inputs broadcast, and must be floats


@tj.function
def soft_maximum(x: tj.Tensor) -> tj.Tensor:
    """The maximum of three columns, smoothed; compiled to one loop."""
    return logaddexp(logaddexp(x[:, 0], x[:, 1]), x[:, 2])


def main() -> None:
    """Use the op in every way there is."""
    print("eager:         ", logaddexp(1000.0, 1000.0 + np.log(3.0)), "(exp(1000) would overflow)")

    a = tj.Variable(1.0)
    with tj.GradientTape(persistent=True) as tape:
        first = logaddexp(a, [0.0, 1.0, 2.0])  # a broadcasts; its gradient is summed
    print("on a tape:     ", tape.gradient(first, a))

    second = tj.grad(tj.grad(lambda x: logaddexp(x, 0.0)))(0.3)
    s = 1.0 / (1.0 + np.exp(-0.3))
    print("twice:         ", second, f"by hand {s * (1 - s):.7f}")

    x = tj.constant(np.random.default_rng(0).normal(0.0, 3.0, (1000, 3)))
    compiled, expected = soft_maximum(x).numpy(), np.logaddexp.reduce(x.numpy(), axis=1)
    print("compiled:       differs from NumPy by at most", f"{np.abs(compiled - expected).max():.1e}")

    weights = tj.grad(lambda x: tj.reduce_sum(soft_maximum(x)))(x).numpy()
    print("its gradient:   softmax weights, each row sums to 1:", bool(np.allclose(weights.sum(axis=1), 1.0)))


if __name__ == "__main__":
    main()
