"""An op of one's own: declared once, outside of the package, and at home everywhere.

``sinc(x) = sin(πx) / (πx)`` by NumPy's kernel, with its derivative and a lowering to other ops. From the one
declaration it runs eagerly, is differentiated to any order, traced, and compiled. CONTRIBUTING.md tells how an
op becomes part of the package, where the registry's tests cover it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import tracejit as tj
from tracejit.core.op import real
from tracejit.ops.elementwise.arithmetic import ELEMENTARY
from tracejit.ops.lowering import Compose


def sinc_slope(y: tj.Tensor, x: tj.Tensor) -> tj.Tensor:
    """(cos πx - sinc x) / x, by its series near 0, where the difference cancels."""
    near, t = tj.abs(x) < 0.1, (np.pi * x) ** 2
    far = tj.where(near, 1.0, x)
    series = x * (np.pi**2 / -3) * (1.0 - t / 10 + t * t / 280 - t * t * t / 15120)
    return tj.where(near, series, (tj.cos(np.pi * far) - y) / far)


def sinc_by_other_ops(x: tj.Tensor) -> tj.Tensor:
    """What the compiler makes code of."""
    return tj.where(tj.equal(x, 0.0), 1.0, tj.sin(np.pi * x) / (np.pi * x))


@tj.defop(kernel=np.sinc, partial=(sinc_slope,), lower=Compose(sinc_by_other_ops), traits=ELEMENTARY)
def sinc(x):
    """``sin(pi x) / (pi x)``, and 1 at 0."""
    return real(x)


def total(x: tj.Tensor) -> tj.Tensor:
    """A function that uses the op like any other."""
    return tj.reduce_sum(sinc(x) * x)


def second(x: tj.Tensor) -> tj.Tensor:
    """Its second derivatives: the gradient of the sum of the gradient."""
    return tj.grad(lambda v: tj.reduce_sum(tj.grad(total)(v)))(x)


def main() -> None:
    """Show value, gradient and second derivative, eager and compiled."""
    x = tj.constant(np.array([-1.5, -0.05, 0.0, 0.3, 2.25]))
    by_hand: dict[str, tuple[Callable[..., tj.Tensor], np.ndarray]] = {  # x sinc(x) is sin(πx) / π
        "value": (total, np.sum(np.sin(np.pi * x.numpy()) / np.pi)),
        "gradient": (tj.grad(total), np.cos(np.pi * x.numpy())),
        "second": (second, -np.pi * np.sin(np.pi * x.numpy())),
    }
    for name, (f, expected) in by_hand.items():
        eager, compiled = f(x).numpy(), tj.function(f)(x).numpy()
        errors = [float(np.max(np.abs(found - expected))) for found in (eager, compiled)]
        print(f"{name:<9} {np.array2string(compiled, precision=6)}")
        print(f"{'':<9} off by {errors[0]:.1e} eagerly, {errors[1]:.1e} compiled")


if __name__ == "__main__":
    main()
