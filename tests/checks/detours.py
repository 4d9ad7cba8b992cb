"""Calls of NumPy and SciPy on tensors, and every way to take a derivative through them: the cells of a table.

Each program is a smooth function of a vector of which a part goes through such a call. A cell of the table is right,
by finite differences of the plain values, or refused with the line of the call; on tapes the part may be lost, and
then `explain` says so, with the line.
"""

from __future__ import annotations

import collections
import importlib
import inspect
from collections.abc import Callable

import numpy as np
import scipy

import tracejit as tf
from tracejit.core.errors import GradientError

for (
    _part
) in "fft integrate interpolate linalg ndimage optimize signal spatial.distance special stats".split():
    importlib.import_module(f"scipy.{_part}")

START = np.array([0.7, 1.3, 0.4, 1.9])
UPPER = np.triu(np.ones((4, 4)))


def matrix(x):
    """A matrix without a special form, far from singular."""
    return tf.reshape(tf.concat([x, x * x, tf.sin(x), 1.0 / x], axis=0), (4, 4)) + 3.0 * tf.eye(
        4, dtype=tf.float64
    )


NUMPY = """
np.sum(x)
np.sum(x * x, axis=0)
np.sum(x, where=[True, False, True, True])
np.sum(x, initial=2.0)
np.mean(x)
np.mean(matrix(x), axis=1)
np.prod(x)
np.max(x)
np.min(x)
np.ptp(x)
np.std(x)
np.var(x, ddof=1)
np.median(x)
np.percentile(x, 40)
np.quantile(x, 0.3)
np.average(x, weights=[1.0, 2.0, 3.0, 4.0])
np.average([1.0, 2.0, 3.0, 4.0], weights=x)
np.cumsum(x)
np.cumprod(x)
np.nansum(x)
np.nanmean(x)
np.dot(x, x)
np.dot([1.0, 2.0, 3.0, 4.0], x)
np.inner(x, x)
np.outer(x, x)
np.vdot(x, x)
np.matmul(matrix(x), x)
np.tensordot(matrix(x), x, axes=1)
np.einsum("i,ij,j", x, matrix(x), x)
np.kron(x, x)
np.cross(x[:3], x[1:])
np.trace(matrix(x))
np.diag(x)
np.diagonal(matrix(x))
np.concatenate([x, x * x])
np.stack([x, 2.0 * x])
np.vstack([x, x])
np.hstack([x, x, x])
np.column_stack([x, x])
np.append(x, x * 2.0)
np.where(x > 1.0, x * x, 3.0)
np.select([x > 1.5, x > 0.5], [x, x * x], 1.0)
np.clip(x, 0.5, 1.5)
np.reshape(x, (2, 2))
np.ravel(matrix(x))
np.transpose(matrix(x))
np.flip(x) * [1.0, 2.0, 3.0, 4.0]
np.roll(x, 1) * [1.0, 2.0, 3.0, 4.0]
np.repeat(x, 2)
np.tile(x, 2)
np.take(x, [0, 0, 2])
np.sort(x) * [1.0, 2.0, 3.0, 4.0]
np.partition(x, 2)[0]
np.diff(x)
np.gradient(x)
np.trapezoid(x, dx=0.5)
np.interp(1.1, [0.0, 1.0, 2.0, 3.0], x)
np.interp(x, [0.0, 1.0, 2.0], [1.0, 3.0, 2.0])
np.convolve(x, x)
np.polyval(x, 0.7)
np.pad(x, 1)
np.squeeze(x[None])
np.expand_dims(x, 0)
np.broadcast_to(x, (3, 4))
np.triu(matrix(x))
np.cov(x)
np.linalg.norm(x)
np.linalg.det(matrix(x))
np.linalg.inv(matrix(x))
np.linalg.solve(matrix(x), x)
np.linalg.slogdet(matrix(x))[1]
np.linalg.svd(matrix(x))[1]
np.linalg.eigvalsh(matrix(x))
np.linalg.matrix_power(matrix(x), 2)
np.linalg.multi_dot([matrix(x), matrix(x), x])
np.fft.fft(x).real * [1.0, 2.0, 3.0, 4.0]
np.fft.rfft(x).imag
np.copy(x)
np.array(x)
np.asarray(x) * 2.0
np.array([x[0], x[1]])
np.asarray([x, x])
np.full(3, x[0])
np.full_like(x, x[1])
np.linspace(x[0], x[1], 5)
np.vander(x)
np.apply_along_axis(np.sum, 0, matrix(x))
np.vectorize(lambda t: t * t)(x)
np.piecewise(x, [x < 1.0], [lambda t: t, lambda t: t * t])
np.nan_to_num(x)
np.real(x)
np.sin(x)
np.hypot(x, 2.0)
np.logaddexp(x, 1.0)
np.cbrt(x)
np.add.reduce(x)
np.multiply.reduce(x)
np.add.accumulate(x)
np.multiply.outer(x, x)
np.maximum.reduce(x)
np.subtract.reduce(x)
np.logaddexp.reduce(x)
np.sin(x, out=np.empty(4))
np.add(x, x, out=np.empty(4))
np.sum(matrix(x), axis=0, out=np.empty(4))
np.sin(x, where=np.array([True, True, True, False]), out=np.zeros(4))
np.float64(x[0]) * 2.0
np.ones(4) * x
np.ones((4, 4)) @ x
UPPER @ x
x.numpy() * 2.0
x.sum() + x.std() + x.prod()
float(x[0])
complex(x[1]).real
x[0].item()
np.array(x.tolist())
sum(x.tolist())
float(f"{x[0]}") if False else float(x[2])
np.linalg.norm(matrix(x), axis=1)
np.sum(matrix(x), (0, 1), keepdims=True)
np.insert(x, 1, x[0])
np.delete(x, 1)
np.rot90(matrix(x))
np.unwrap(x)
np.nanmax(x)
np.fmax(x, 1.0)
np.copysign(x, -1.0)
np.modf(x)[0]
np.searchsorted([0.5, 1.0, 1.5], x) * x
np.argmax(x) * x
np.argsort(x) * x
np.shape(x)[0] * x
np.size(x) * x
np.digitize(x, [0.5, 1.0]) * x
np.histogram(x, bins=3)[0] * x[:3]
np.unique(x)
np.array_equal(x, x) * x
np.sign(x) * x
np.heaviside(x, 0.5) * x
"""

SCIPY = """
scipy.special.erf(x)
scipy.special.expit(x)
scipy.special.gammaln(x)
scipy.special.jv(1, x)
scipy.special.xlogy(x, x)
scipy.special.logsumexp(x)
scipy.special.softmax(x) * [1.0, 2.0, 3.0, 4.0]
scipy.special.log1p(x)
scipy.linalg.det(matrix(x))
scipy.linalg.inv(matrix(x))
scipy.linalg.solve(matrix(x), x)
scipy.linalg.norm(x)
scipy.linalg.expm(matrix(x) * 0.1)
scipy.linalg.svdvals(matrix(x))
scipy.linalg.toeplitz(x)
scipy.linalg.block_diag(x, x)
scipy.integrate.trapezoid(x)
scipy.integrate.simpson(x)
scipy.integrate.quad(lambda t: t * float(x[0]), 0.0, 1.0)[0]
scipy.interpolate.interp1d([0.0, 1.0, 2.0, 3.0], x)(1.3)
scipy.interpolate.CubicSpline([0.0, 1.0, 2.0, 3.0], x)(1.3)
scipy.stats.norm.pdf(x)
scipy.stats.gmean(x)
scipy.stats.skew(x)
scipy.signal.convolve(x, x)
scipy.signal.lfilter([0.5], [1.0, -0.5], x)
scipy.fft.dct(x)
scipy.fft.fft(x).real * [1.0, 2.0, 3.0, 4.0]
scipy.ndimage.gaussian_filter1d(x, 1.0)
scipy.spatial.distance.pdist(x[:, None])
scipy.optimize.brentq(lambda t: t**3 - float(x[0]), 0.0, 3.0)
"""


def program(text: str) -> Callable:
    """A scalar function of a vector, of which a part goes through the call."""
    names = {"np": np, "scipy": scipy, "tf": tf, "matrix": matrix, "UPPER": UPPER}
    exec(compile(f"def call(x): return {text}", __file__ + "#" + text, "exec"), names)
    call = names["call"]

    def f(x):
        return tf.reduce_sum(tf.sin(x)) * tf.reduce_sum(tf.constant(0.0, tf.float64) + call(x))

    f.call = call
    f.text = text
    return f


def frozen(f: Callable, at: np.ndarray) -> Callable:
    """The same with the part that goes through the call a constant."""
    part = np.sum(np.asarray(f.call(tf.constant(at)), float))
    return lambda x: tf.reduce_sum(tf.sin(x)) * part


def value(f: Callable, x: np.ndarray) -> float:
    return float(np.asarray(f(tf.constant(x))))


def slope(f: Callable, x: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """The gradient by central differences."""
    steps = np.eye(len(x)) * h
    return np.array([(value(f, x + s) - value(f, x - s)) / (2 * h) for s in steps])


def curvature(f: Callable, x: np.ndarray, h: float = 1e-3) -> np.ndarray:
    """The Hessian by central differences."""
    steps = np.eye(len(x)) * h
    four = lambda s, t: value(f, x + s + t) - value(f, x + s - t) - value(f, x - s + t) + value(f, x - s - t)
    return np.array([[four(s, t) / (4 * h * h) for t in steps] for s in steps])


def by_tape(f: Callable, persistent: bool = False, asked: list | None = None) -> Callable:
    def gradient(x):
        with tf.GradientTape(persistent=persistent) as tape:
            tape.watch(x)
            y = f(x)
        found = tape.gradient(y, x)
        if asked is not None:
            asked[:] = [tape.explain(y, x)]
        return found

    return gradient


def transforms(f: Callable, asked: list) -> dict[str, Callable]:
    """Every way to take a derivative, by name; each gives a gradient, a slope along ones or a Hessian."""
    one = tf.ones(4, tf.float64)
    return {
        "grad": tf.grad(f),
        "value_and_grad": lambda x: tf.value_and_grad(f)(x)[1],
        "jvp": lambda x: tf.jvp(f, [x], [one])[1],
        "linearize": lambda x: tf.linearize(f, x)[1](one),
        "vjp": lambda x: tf.vjp(f, x)[1](tf.constant(1.0, tf.float64))[0],
        "jacfwd": tf.jacfwd(f),
        "jacrev": tf.jacrev(f),
        "hessian": tf.hessian(f),
        "hvp": lambda x: tf.hvp(f, [x], [one]),
        "tape": by_tape(f, asked=asked),
        "persistent tape": by_tape(f, True, asked),
    }


#: Columns that are asked of eager functions only, and those asked of compiled functions too.
EAGER_ONLY = ("linearize", "hvp", "persistent tape")
OF_COMPILED = {"grad": "grad", "jacfwd": "jacfwd", "tape": "tape outside"}


def cells(f: Callable, asked: list) -> dict[tuple[str, str], Callable]:
    """By transform and mode."""
    found: dict[tuple[str, str], Callable] = {}
    for name, run in transforms(f, asked).items():
        found[name, "eager"] = run
        if name not in EAGER_ONLY:
            found[name, "compiled"] = tf.function(run)
    of_compiled = transforms(tf.function(f), asked)
    found.update({(name, "of a compiled one"): of_compiled[k] for k, name in OF_COMPILED.items()})
    return found


def outcome(f: Callable, name: str, run: Callable, wanted: dict, asked: list) -> str:
    """``right``, ``refused``, ``lost`` (said by explain), else what is wrong."""
    asked.clear()
    try:
        got = run(tf.constant(START))
    except (GradientError, tf.SymbolicValue) as error:
        text = str(error)
        return "refused" if __file__ in text else f"refused without the line: {text}"
    except TypeError as error:
        return "refused" if __file__ in str(error) or _own_line(error) else f"no line: {error!r}"
    kind = (
        "hessian"
        if name == "hessian"
        else "hvp"
        if name == "hvp"
        else "jvp"
        if name in ("jvp", "linearize")
        else "grad"
    )
    if got is not None and np.allclose(
        np.asarray(got), wanted[kind], rtol=2e-5, atol=wanted[kind + " error"]
    ):
        return "right"
    if "tape" in name:
        part = got is None or np.allclose(np.asarray(got), wanted["part"], rtol=2e-5, atol=1e-6)
        said = (
            bool(asked) and asked[0].cause in ("numpy", "partly lost") and asked[0].file.startswith(__file__)
        )
        return (
            "lost"
            if part and said
            else f"tape: {got} where {wanted['grad']} is right; said {asked and asked[0].cause}"
        )
    return f"wrong: {np.asarray(got)} for {wanted[kind]}"


def _own_line(error: BaseException) -> bool:
    """Does the traceback pass the line of the call?"""
    return any(info.filename.startswith(__file__) for info in inspect.getinnerframes(error.__traceback__))


def expected(f: Callable) -> dict[str, np.ndarray | float]:
    g, h = slope(f, START), curvature(f, START)
    part = slope(frozen(f, START), START)
    scale = 1e-6 * max(1.0, abs(value(f, START)))
    return {
        "grad": g,
        "jvp": g.sum(),
        "hessian": h,
        "hvp": h.sum(axis=1),
        "part": part,
        "grad error": scale,
        "jvp error": scale,
        "hessian error": 30 * scale + 2e-5 * np.abs(h).max(),
        "hvp error": 100 * scale + 2e-5 * np.abs(h).max(),
    }


def row(text: str) -> dict[tuple[str, str], str]:
    """The outcome of every cell of a call."""
    f, asked = program(text), []
    wanted = expected(f)
    return {key: outcome(f, key[0], run, wanted, asked) for key, run in cells(f, asked).items()}


def main() -> None:
    """Print the counts of the whole table."""
    counts: collections.Counter[str] = collections.Counter()
    for text in (NUMPY + SCIPY).strip().splitlines():
        for key, said in (row(text) if text else {}).items():
            known = said in ("right", "refused", "lost")
            counts[said if known else "wrong"] += 1
            if not known:
                print(text, key, said)
    print(dict(counts))


if __name__ == "__main__":
    main()
