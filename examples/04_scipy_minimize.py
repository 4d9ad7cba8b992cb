"""SciPy's optimizers with exact derivatives: transformed functions are passed to them as they are.

A damped oscillation is fitted to noisy samples, first as a minimum by value and gradient, then by Newton's method with
products of the Hessian, then as least squares with the Jacobian. All are compiled once and called with NumPy
arrays of float64.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares, minimize

import tracejit as tj

TRUE = np.array([2.0, 0.4, 3.0])
TIMES = np.linspace(0.0, 4.0, 200)
SAMPLES = TRUE[0] * np.exp(-TRUE[1] * TIMES) * np.cos(TRUE[2] * TIMES)
SAMPLES += 0.01 * np.random.default_rng(0).normal(size=TIMES.size)


def residuals(p: tj.Tensor) -> tj.Tensor:
    """The model ``a exp(-b t) cos(c t)`` less the samples."""
    return p[0] * tj.exp(-p[1] * TIMES) * tj.cos(p[2] * TIMES) - SAMPLES


def loss(p: tj.Tensor) -> tj.Tensor:
    """Half of the sum of squares."""
    return 0.5 * tj.reduce_sum(residuals(p) ** 2)


def main() -> None:
    """Fit in three ways, and print what each finds."""
    start = np.array([1.0, 1.0, 2.8])
    value_and_grad = tj.function(tj.value_and_grad(loss))
    hessian_product = tj.function(lambda p, v: tj.hvp(loss, [p], [v]))
    jacobian = tj.function(tj.jacfwd(residuals))

    fits = {
        "L-BFGS-B": minimize(value_and_grad, start, jac=True, method="L-BFGS-B"),
        "Newton-CG": minimize(value_and_grad, start, jac=True, hessp=hessian_product, method="Newton-CG"),
        "least squares": least_squares(tj.function(residuals), start, jac=jacobian),
    }
    for name, fit in fits.items():
        print(f"{name:>14}: a {fit.x[0]:.5f}  b {fit.x[1]:.5f}  c {fit.x[2]:.5f}  in {fit.nfev} evaluations")


if __name__ == "__main__":
    main()
