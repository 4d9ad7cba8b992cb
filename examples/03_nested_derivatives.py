"""Derivatives of functions that take derivatives themselves: two problems of Pearlmutter and Siskind.

*saddle* minimises over one point what is maximised over another: gradient descent on a function whose value
comes from gradient descent. *particle* looks for the strength of a charge that lets a particle land at the
origin: gradient descent on a function whose value comes from an orbit that follows the gradient of a potential
until it hits the ground. Each is one compiled function, loops, branches and inner derivatives included, in all
four mixes of forward and reverse mode for the outer and the inner derivative.

The problems are those of "Using Programming Language Theory to Make Automatic Differentiation Sound and
Efficient" (2008); the values printed beside ours were published with implementations in other languages.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import tracejit as tj

Function = Callable[[tj.Tensor], tj.Tensor]
Gradient = Callable[[Function], Function]

#: Where descent stops, and its first step.
PRECISION = 1e-5


def forward(f: Function) -> Function:
    """The gradient of `f`, one direction after the other in forward mode."""

    def gradient(x: tj.Tensor) -> tj.Tensor:
        directions = tj.eye(x.shape[0], dtype=x.dtype)
        return tj.stack([tj.jvp(f, [x], [directions[i]])[1] for i in range(x.shape[0])])

    return gradient


def argmin(f: Function, x: tj.Tensor, gradient: Gradient) -> tj.Tensor:
    """Where `f` is smallest: descent whose step doubles after ten successes and halves after a failure."""
    slope_of = gradient(f)
    value, slope = f(x), slope_of(x)
    step, successes = PRECISION, 0
    while tj.norm(slope) > PRECISION:
        if successes == 10:
            step, successes = 2.0 * step, 0
            continue
        candidate = x - step * slope
        if tj.norm(candidate - x) <= PRECISION:
            break
        candidate_value = f(candidate)
        if candidate_value < value:
            x, value, slope = candidate, candidate_value, slope_of(candidate)
            successes += 1
        else:
            step, successes = step / 2.0, 0
    return x


def saddle(start: tj.Tensor, outer: Gradient, inner: Gradient) -> tuple[tj.Tensor, tj.Tensor]:
    """The points a and b at which the least (over a) of the greatest (over b) of ``a·a - b·b`` is found."""

    def least_b(a: tj.Tensor) -> tj.Tensor:
        return argmin(lambda b: tj.reduce_sum(b * b) - tj.reduce_sum(a * a), start, inner)

    def greatest(a: tj.Tensor) -> tj.Tensor:
        b = least_b(a)
        return tj.reduce_sum(a * a) - tj.reduce_sum(b * b)

    a = argmin(greatest, start, outer)
    return a, least_b(a)


def landing(w: tj.Tensor, gradient: Gradient) -> tj.Tensor:
    """The square of where a particle hits the ground, repelled by charges at (10, 10 - w) and (10, 0)."""
    moved = tj.stack([tj.constant(10.0, w.dtype), 10.0 - w[0]])
    fixed = tj.constant([10.0, 0.0], w.dtype)
    push = gradient(lambda at: 1.0 / tj.norm(at - moved) + 1.0 / tj.norm(at - fixed))
    at, velocity, dt = tj.constant([0.0, 8.0], w.dtype), tj.constant([0.75, 0.0], w.dtype), 0.1
    while (at + dt * velocity)[1] > 0.0:
        at, velocity = at + dt * velocity, velocity - dt * push(at)
    rest = -at[1] / velocity[1]
    return tj.square((at + rest * velocity)[0])


def particle(start: tj.Tensor, outer: Gradient, inner: Gradient) -> tj.Tensor:
    """The w for which the particle lands at the origin."""
    return argmin(lambda w: landing(w, inner), start, outer)


#: Name to: the program, where it starts, the published result.
PROBLEMS: dict[str, tuple[Callable[..., Any], list[float], float]] = {
    "saddle": (saddle, [1.0, 1.0], 8.2463248261403561e-06),
    "particle": (particle, [0.0], 0.20719187464861194),
}
#: The two letters say how the outer and the inner derivative are taken.
MODES = {"F": forward, "R": tj.grad}


def main() -> None:
    """Compile and run all eight, print what they find and how long that takes."""
    print(f"{'':12} {'found':>24} {'published':>24} {'compile':>10} {'run':>10}")
    for name, (program, first, published) in PROBLEMS.items():
        start = tj.constant(first, tj.float64)
        for mix in ("FF", "FR", "RF", "RR"):
            compiled = tj.function(program)
            outer, inner = (MODES[letter] for letter in mix)
            began = time.perf_counter()
            compiled(start, outer, inner)
            ready = time.perf_counter()
            found = compiled(start, outer, inner)
            done = time.perf_counter()
            point = found[0] if name == "saddle" else found
            print(
                f"{name + '-' + mix:12} {float(point[0]):>24.17g} {published:>24.17g} "
                f"{1e3 * (ready - began):>7.0f} ms {1e3 * (done - ready):>7.1f} ms"
            )
            assert compiled.experimental_get_tracing_count() == 1


if __name__ == "__main__":
    main()
