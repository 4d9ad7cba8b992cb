"""Special functions whose formulas iterate, and their slopes along a parameter, beside SciPy and JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
from benchmarks import timing
from benchmarks.peers import jax, jitted, special
from benchmarks.timing import Candidate, Case

COUNT = 20_000


def arguments() -> dict[str, tuple[np.ndarray, ...]]:
    """The arrays that each function is called with, by its name in SciPy."""
    random = np.random.default_rng(0)
    a, b = random.uniform(0.1, 20.0, (2, COUNT))
    x, share = random.uniform(0.1, 30.0, COUNT), random.uniform(0.0, 1.0, COUNT)
    one = dict.fromkeys(("erfcx", "dawsn", "j0", "y1", "expi", "exp1", "sici", "fresnel", "spence"), (x,))
    several = {"betainc": (a, b, share), "voigt_profile": (x - 15.0, a, b)}
    return {"gammainc": (a, x), "gammaincc": (a, x), "zeta": (a + 1.0, x), **several, **one}


def slope(function: Callable[..., Any], grad: Any, total: Any) -> Callable[..., Any]:
    """The derivative along the first argument, element by element."""
    return grad(lambda *xs: total(function(*xs)))


def candidates() -> dict[str, dict[str, Candidate]]:
    """Calls by peer and by case; a case that a peer does not have is missing."""
    found: dict[str, dict[str, Candidate]] = {timing.REFERENCE: {}, "SciPy": {}, "JAX": {}}
    names = jax.scipy.special if jax else None
    for name, xs in arguments().items():
        ours = getattr(tj.scipy.special, name)
        tensors = [tj.constant(x) for x in xs]
        found[timing.REFERENCE][name] = _call(tj.function(ours), tensors)
        if special:
            found["SciPy"][name] = _call(getattr(special, name), list(xs))
        # JAX 0.10's erfcx is 0 around 26.6
        if theirs := None if name == "erfcx" else getattr(names, name, None):
            found["JAX"][name] = jitted(theirs, *xs)
        if name in ("gammainc", "betainc"):
            case = f"slope of {name} along its parameter"
            found[timing.REFERENCE][case] = _call(tj.function(slope(ours, tj.grad, tj.reduce_sum)), tensors)
            if theirs and name == "gammainc":  # JAX has no derivative along betainc's
                found["JAX"][case] = jitted(slope(theirs, jax.grad, jax.numpy.sum), *xs)
    return found


def _call(function: Callable[..., Any], xs: list[Any]) -> Candidate:
    return lambda: function(*xs)


def cases() -> list[Case]:
    """Return all cases."""
    by_peer = candidates()
    names = list(by_peer[timing.REFERENCE])
    return timing.cases(names, by_peer, per=COUNT, piece="number", unit="ns", tolerance=1e-9)


if __name__ == "__main__":
    timing.run(cases())
