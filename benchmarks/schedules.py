"""Loops whose schedule decides: short axes, sums both ways, gathered rows, stencils on a torus.

Each value comes with its derivatives. By hand means C in ``by_hand.c``, compiled here with ``gcc -O3 -march=native
-ffast-math``, derivatives worked out on paper, arrays made once. Measured: whether what is short, piecewise or summed
over an outer axis passes through memory that a person would not use. C is allowed to divide inexactly, as the rows with
``fastmath`` are; the others divide as NumPy does. ``--only WORD`` picks cases by their name.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj
from benchmarks import timing
from benchmarks.peers import jax, jitted
from benchmarks.timing import Candidate, Case

BODIES = 1000
CAMERAS, POINTS, OBSERVATIONS = 49, 7776, 31843
VARIABLES = 100_000
ROWS, FEATURES = 10_000, 100
SIZE, STEPS, DIFFUSION, SINK = 256, 200, 0.2, 0.01

NBODY = f"n-body, {BODIES} bodies: energy and forces"
BUNDLE = f"bundle adjustment, {OBSERVATIONS} observations: value and gradient"
ROSENBROCK = f"Rosenbrock, {VARIABLES} variables: Hessian times vector"
LOGISTIC = f"logistic regression, {ROWS} rows of {FEATURES}: value and gradient"
TORUS = f"stencil with roll, {SIZE} by {SIZE}, {STEPS} steps, cubic sink: value and gradient"
NAMES = (NBODY, BUNDLE, ROSENBROCK, LOGISTIC, TORUS)

Arrays = tuple[np.ndarray, ...]


def bodies() -> Arrays:
    """Return positions ``[n, 3]`` and masses ``[n]``."""
    random = np.random.default_rng(0)
    return random.standard_normal((BODIES, 3)), random.uniform(0.5, 1.5, BODIES)


def scene() -> Arrays:
    """Return cameras ``[c, 9]``, points ``[p, 3]``, observations ``[o, 2]``, and camera and point of each ``[o]``."""
    random = np.random.default_rng(1)
    cameras = 0.1 * random.standard_normal((CAMERAS, 9)) + [0, 0, 0, 0, 0, -5.0, 400.0, 0, 0]
    cameras[:, 7:] *= 0.01
    points = random.standard_normal((POINTS, 3))
    which = random.integers(CAMERAS, size=OBSERVATIONS), np.sort(random.integers(POINTS, size=OBSERVATIONS))
    return cameras, points, 50 * random.standard_normal((OBSERVATIONS, 2)), *which


def valley() -> Arrays:
    """Return variables and a direction, ``[n]`` each."""
    random = np.random.default_rng(2)
    return random.standard_normal(VARIABLES), random.standard_normal(VARIABLES)


def samples() -> Arrays:
    """Return rows ``[n, d]``, signs ``[n]`` and weights ``[d]``."""
    random = np.random.default_rng(3)
    signs = random.integers(2, size=ROWS) * 2.0 - 1.0
    return random.standard_normal((ROWS, FEATURES)), signs, 0.1 * random.standard_normal(FEATURES)


def plate() -> Arrays:
    """Return a state ``[n, n]``."""
    return (np.random.default_rng(4).standard_normal((SIZE, SIZE)),)


# ---- by hand --------------------------------------------------------------------------------------------


def library() -> ctypes.CDLL | None:
    """Return the compiled C file, or None without a compiler."""
    source = Path(__file__).with_name("by_hand.c")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "by_hand.so"
        command = [
            "gcc",
            "-O3",
            "-march=native",
            "-ffast-math",
            "-shared",
            "-fPIC",
            "-o",
            target,
            source,
            "-lm",
        ]
        try:
            subprocess.run(command, check=True)
        except FileNotFoundError:
            return None
        return ctypes.CDLL(str(target))


def by_hand() -> dict[str, Candidate]:
    """Return the calls of hand-written C, arrays made once."""
    made = library()
    if made is None:
        return {}
    (x, m), (cameras, points, *seen), (at, v), (rows, signs, w), (first,) = (
        bodies(), scene(), valley(), samples(), plate(),
    )  # fmt: skip
    dx, dc, dp, hv, dw = (np.empty_like(a) for a in (x, cameras, points, at, w))
    states, du, other = np.empty((STEPS + 1, SIZE, SIZE)), np.empty((SIZE, SIZE)), np.empty((SIZE, SIZE))
    states[0] = first
    nbody = bound(made.nbody, BODIES, x, m, dx)
    bundle = bound(made.bundle, OBSERVATIONS, cameras, points, *seen, dc, dp)
    rosenbrock = bound(made.rosenbrock, VARIABLES, at, v, hv)
    logistic = bound(made.logistic, ROWS, FEATURES, rows, signs, w, dw)
    torus = bound(made.torus, SIZE, STEPS, DIFFUSION, SINK, states, du, other)

    def adjusted() -> Any:
        dc[:], dp[:] = 0, 0
        return bundle(), dc, dp

    return {
        NBODY: lambda: (nbody(), dx),
        BUNDLE: adjusted,
        ROSENBROCK: lambda: (rosenbrock(), hv)[1],
        LOGISTIC: lambda: (logistic(), dw),
        TORUS: lambda: (torus(), du),
    }


def bound(function: Any, *arguments: Any) -> Callable[[], float]:
    """Return a call of a C function; arrays go as pointers."""
    kinds = {int: ctypes.c_long, float: ctypes.c_double, np.ndarray: np.ctypeslib.as_ctypes}
    function.restype = ctypes.c_double
    made = [kinds[type(a)](a) for a in arguments]
    return lambda: function(*made)


# ---- the same lines for tracejit and JAX: `np` is tracejit.numpy or jax.numpy --------------------------------


def energy(np: Any, x: Any, m: Any) -> Any:
    """Return the softened energy of bodies ``x [n, 3]``, every pair once."""
    d = x[:, None, :] - x[None, :, :]
    return -0.5 * np.sum(m[:, None] * m[None, :] / np.sqrt(np.sum(d * d, -1) + 1e-2))


def reprojection(np: Any, cameras: Any, points: Any, seen: Any, camera: Any, point: Any) -> Any:
    """Return half the sum of squares of reprojection errors."""
    c, x = cameras[camera], points[point]
    theta = np.sqrt(np.sum(c[:, :3] * c[:, :3], -1))[:, None]
    k, cos = c[:, :3] / theta, np.cos(theta)
    turned = x * cos + np.cross(k, x) * np.sin(theta) + k * np.sum(k * x, -1)[:, None] * (1.0 - cos)
    p = turned + c[:, 3:6]
    image = -p[:, :2] / p[:, 2:]
    r2 = np.sum(image * image, -1)
    distorted = (c[:, 6] * (1.0 + r2 * (c[:, 7] + c[:, 8] * r2)))[:, None] * image
    return 0.5 * np.sum((distorted - seen) ** 2)


def valley_value(np: Any, x: Any) -> Any:
    """Return Rosenbrock's function."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def torus_step(np: Any, u: Any) -> Any:
    """Return the state after a step."""
    around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
    return u + DIFFUSION * (around - 4.0 * u) - SINK * u**3


def torus_value(u: Any, steps: Any) -> Any:
    """Return the sum of squares of the last state; `steps` is a tensor, so the loop is one in compiled code too."""
    for _ in range(steps):
        u = torus_step(tj.numpy, u)
    return tj.reduce_sum(u * u)


def logistic_value(rows: Any, signs: Any, w: Any) -> Any:
    """Return the mean logistic loss."""
    return tj.reduce_mean(tj.nn.softplus(-signs * (rows @ w)))


def tracejit_candidates(fastmath: bool = False) -> dict[str, Candidate]:
    """Return tracejit's calls."""
    xp, compiled = tj.numpy, tj.function(fastmath=fastmath)

    def product(x: Any, v: Any) -> Any:
        return tj.jvp(tj.grad(lambda x: valley_value(xp, x)), (x,), (v,))[1]

    n_bodies = compiled(tj.value_and_grad(lambda x, m: energy(xp, x, m)))
    bundle = compiled(tj.value_and_grad(lambda *a: reprojection(xp, *a), (0, 1)))
    hvp = compiled(product)
    logistic = compiled(tj.value_and_grad(logistic_value, 2))
    torus = compiled(tj.value_and_grad(torus_value))
    return {
        NBODY: with_arguments(n_bodies, *bodies()),
        BUNDLE: with_arguments(bundle, *scene()),
        ROSENBROCK: with_arguments(hvp, *valley()),
        LOGISTIC: with_arguments(logistic, *samples()),
        TORUS: with_arguments(torus, *plate(), np.int64(STEPS)),
    }


def with_arguments(function: Callable[..., Any], *arguments: Any) -> Candidate:
    """Return a call of a function."""
    return lambda: function(*arguments)


def jax_candidates() -> dict[str, Candidate]:
    """Return the calls compiled by JAX."""
    if jax is None:
        return {}
    xp = jax.numpy

    def torus(u: Any) -> Any:
        u, _ = jax.lax.scan(lambda u, _: (torus_step(xp, u), None), u, None, STEPS)
        return xp.sum(u * u)

    def logistic(rows: Any, signs: Any, w: Any) -> Any:
        return xp.mean(jax.nn.softplus(-signs * (rows @ w)))

    def product(x: Any, v: Any) -> Any:
        return jax.jvp(jax.grad(lambda x: valley_value(xp, x)), (x,), (v,))[1]

    return {
        NBODY: jitted(jax.value_and_grad(lambda x, m: energy(xp, x, m)), *bodies()),
        BUNDLE: jitted(jax.value_and_grad(lambda *a: reprojection(xp, *a), (0, 1)), *scene()),
        ROSENBROCK: jitted(product, *valley()),
        LOGISTIC: jitted(jax.value_and_grad(logistic, 2), *samples()),
        TORUS: jitted(jax.value_and_grad(torus), *plate()),
    }


def cases(word: str = "") -> list[Case]:
    """Return what is measured: the cases whose name has `word`."""
    peers = {"C by hand": by_hand(), "JAX": jax_candidates(), "tracejit": tracejit_candidates()}
    peers["tracejit, fastmath"] = tracejit_candidates(fastmath=True)
    return timing.cases([name for name in NAMES if word in name], peers, tolerance=1e-9)


if __name__ == "__main__":
    timing.run(cases(sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""))
