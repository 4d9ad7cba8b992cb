"""Python's own control flow, compiled with its gradient: what it costs, and what peers' compilers say to it.

The program is the tutorials': double until the norm reaches 1000, then take that or 100 times it. Shown: that
its gradient is exact, that a loop of as many iterations as the data ask costs nanoseconds each, and the error
with which JAX, TensorFlow and PyTorch refuse the same program where they are installed.

Run as ``python -m benchmarks.control_flow``.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import lorenz, timing
from benchmarks.timing import Candidate

ITERATIONS = 1_000_000
LIMIT = 2.25  # where y' = sqrt(y) from 1 is after a time of 1, in steps of a millionth
STEPS = lorenz.STEPS
EXACT = "gradients that are exactly 2^k, or 100 * 2^k"
LONG = f"a while loop of {ITERATIONS:,} iterations on one number, value and gradient"
LORENZ_VALUE = "Lorenz RK4 as a for loop over range(tensor), value"
LORENZ_GRADIENT = "Lorenz RK4 as a for loop over range(tensor), value and six derivatives"


def flagship() -> Callable[[Any], Any]:
    """Return the tutorials' program with its gradient, compiled."""
    import tracejit as tj

    @tj.function
    def gradient(a: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(a)
            b = a * 2
            while tj.norm(b) < 1000.0:
                b = b * 2
            if tj.reduce_sum(b) > 0:
                c = b
            else:
                c = 100 * b
        return tape.gradient(c, a)

    return gradient


def is_power_of_two(x: float) -> bool:
    return bool(np.isfinite(x)) and x > 0 and np.frexp(x)[0] == 0.5


def count_exact(count: int = 1000) -> tuple[int, int]:
    """Return how many of `count` gradients are exact, and how often the program was traced."""
    import tracejit as tj

    gradient, rng = flagship(), np.random.default_rng(0)
    exact = 0
    for _ in range(count):
        a = np.float32(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-30, 5))
        found = float(gradient(tj.constant(a)))
        exact += is_power_of_two(found if a > 0 else found / 100)
    return exact, gradient.experimental_get_tracing_count()  # type: ignore[attr-defined]


def long_loop() -> Candidate:
    """Return a loop that runs until its number passes a limit, with the gradient of where it ends."""
    import tracejit as tj

    @tj.function
    def run(x: Any, rate: Any) -> Any:
        with tj.GradientTape() as tape:
            tape.watch([x, rate])
            y = x
            while y < LIMIT:
                y = y + rate * tj.sqrt(y)
        return y, *tape.gradient(y, [x, rate])

    x, rate = np.float64(1.0), np.float64(1e-6)
    return lambda: [float(v) for v in run(x, rate)]


def lorenz_step(state: Any, parameters: Any, h: float) -> Any:
    """Return one Runge-Kutta step of the Lorenz system."""
    s, r, b = parameters

    def slope(x: Any, y: Any, z: Any) -> Any:
        return s * (y - x), x * (r - z) - y, x * y - b * z

    def moved(k: Any, by: float) -> Any:
        return tuple(v + by * d for v, d in zip(state, k))

    k1 = slope(*state)
    k2 = slope(*moved(k1, h / 2))
    k3 = slope(*moved(k2, h / 2))
    k4 = slope(*moved(k3, h))
    return tuple(v + h / 6 * (a + 2 * p + 2 * q + d) for v, a, p, q, d in zip(state, k1, k2, k3, k4))


def lorenz_loops() -> dict[str, Candidate]:
    """Return the Lorenz system as a plain ``for`` loop, alone and with its gradient."""
    import tracejit as tj

    def value(x: Any, y: Any, z: Any, s: Any, r: Any, b: Any, n: Any) -> Any:
        for _ in range(n):
            x, y, z = lorenz_step((x, y, z), (s, r, b), lorenz.H)
        return x + y + z

    start = [np.float64(v) for v in (1.0, 1.0, 1.0, 10.0, 28.0, 8.0 / 3.0)]
    n = np.int64(STEPS)
    alone = tj.function(value)
    both = tj.function(lambda *args: tj.value_and_grad(value, argnums=(0, 1, 2, 3, 4, 5))(*args))
    return {LORENZ_VALUE: lambda: alone(*start, n), LORENZ_GRADIENT: lambda: both(*start, n)}


# ---- what peers say -------------------------------------------------------------------------------------


def refusal_of_jax() -> None:
    jax, lax = importlib.import_module("jax"), importlib.import_module("jax.lax")
    jnp = importlib.import_module("jax.numpy")

    def f(a: Any) -> Any:
        b = lax.while_loop(lambda b: jnp.abs(b) < 1000.0, lambda b: b * 2, a * 2)
        return lax.cond(b > 0, lambda b: b, lambda b: 100 * b, b)

    jax.jit(jax.grad(f))(1.0)


def refusal_of_tensorflow() -> None:
    tf = importlib.import_module("tensorflow")

    @tf.function(jit_compile=True)
    def f(a: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(a)
            b = a * 2
            while tf.abs(b) < 1000.0:
                b = b * 2
            c = b if b > 0 else 100 * b
        return tape.gradient(c, a)

    f(tf.constant(1.0))


def refusal_of_torch() -> None:
    torch = importlib.import_module("torch")

    def f(a: Any) -> Any:
        b = a * 2
        while b.abs() < 1000.0:
            b = b * 2
        return b if b > 0 else 100 * b

    a = torch.tensor(1.0, requires_grad=True)
    torch.compile(f, fullgraph=True)(a).backward()


REFUSALS = {"jax": refusal_of_jax, "tensorflow": refusal_of_tensorflow, "torch": refusal_of_torch}


def main() -> None:
    exact, traces = count_exact()
    print(f"\n{EXACT}: {exact} of 1000, {traces} trace")
    for peer, refuse in REFUSALS.items():
        if importlib.util.find_spec(peer) is None:
            print(f"  {peer}: not installed")
            continue
        try:
            refuse()
            print(f"  {peer}: compiles it")
        except Exception as error:
            print(f"  {peer}: {type(error).__name__}: {str(error).splitlines()[0][:110]}")
    candidates = {LONG: long_loop(), **lorenz_loops()}
    print()
    for name, found in timing.measure(candidates).items():
        iterations = ITERATIONS if name == LONG else STEPS
        print(f"{name}: {1e9 * found.median / iterations:.1f} ns per iteration")


if __name__ == "__main__":
    main()
