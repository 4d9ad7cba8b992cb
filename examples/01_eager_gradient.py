"""Gradients of ordinary Python, run eagerly: record operations on a tape, then walk it backwards."""

from __future__ import annotations

import numpy as np

import tracejit as tj


def derivatives_of_a_number() -> None:
    """First and second derivative of x³ at 2, by a tape inside of a tape."""
    x = tj.Variable(2.0)
    with tj.GradientTape() as outer:
        with tj.GradientTape() as inner:
            y = x**3
        first = inner.gradient(y, x)
    second = outer.gradient(first, x)
    print(f"x³ at 2: {float(y):g}, first derivative {float(first):g}, second {float(second):g}")


def python_decides() -> None:
    """Eager code may branch, loop and print on values: the tape holds what did happen."""

    def power(x: tj.Tensor, n: int) -> tj.Tensor:
        result = tj.constant(1.0)
        for k in range(n):
            result = result * x
            print(f"  x^{k + 1} = {float(result):g}")
        return result

    print("a loop, stepped through:")
    print(f"  derivative of x^4 at 3: {float(tj.grad(power)(tj.constant(3.0), 4)):g}")


def fit_a_line() -> None:
    """Least squares by gradient descent: slope and intercept of noisy points."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-1.0, 1.0, 100).astype(np.float32)
    y = (3.0 * x + 0.5 + 0.1 * generator.standard_normal(100)).astype(np.float32)
    slope, intercept = tj.Variable(0.0, name="slope"), tj.Variable(0.0, name="intercept")
    for _ in range(200):
        with tj.GradientTape() as tape:
            loss = tj.reduce_mean((slope * x + intercept - y) ** 2)
        for variable, gradient in zip(
            (slope, intercept), tape.gradient(loss, [slope, intercept]), strict=True
        ):
            variable.assign_sub(0.2 * gradient)
    best = np.polyfit(x, y, 1)
    print(
        f"fitted {float(slope):.4f} x + {float(intercept):.4f}; in closed form {best[0]:.4f} x + {best[1]:.4f}"
    )


def main() -> None:
    """Run the three."""
    derivatives_of_a_number()
    python_decides()
    fit_a_line()


if __name__ == "__main__":
    main()
