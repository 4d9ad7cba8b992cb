"""Random functions that mix NumPy's, SciPy's and our own calls, and lose values on the way: right, or refused.

A program is a sequence of assignments to vectors of three elements and scalars; its derivative by some transform,
eager or compiled, is compared with differences of its plain values, which NumPy computes. What is taken out for
nothing, printed, compared or stopped must not be refused.
"""

from __future__ import annotations

import linecache
import math

import numpy as np
import scipy
import scipy.linalg
import scipy.special

import tracejit as tf
from tracejit.core.errors import GradientError, TracejitError

from .outcome import Outcome

#: One program in so many is compiled too, which takes most of the time.
COMPILED = 5

#: Vectors from vectors {v}, {w} and scalars {s}; all smooth, and far from overflow for arguments of size 1.
VECTORS = """
tf.sin({v})
np.sin({v})
np.tanh({v} * {w})
tf.tanh({v} + {s})
{v} * {w}
{v} + np.cos({w})
{v} * {s}
np.multiply({v}, [1.0, 2.0, 0.5])
np.ones(3) * {v}
np.concatenate([{v}[1:], {w}[:1]])
np.where({v} > 0.1, {v}, {w} * 2.0)
tf.where({v} > 0.1, {v} * {s}, {w})
np.stack([{v}[0], {s}, {w}[2]])
np.outer({v}, {w})[1]
np.cumsum({v}) * 0.3
np.flip({v})
np.roll({v}, 1)
np.dot(M, {v})
M @ {v}
np.matmul({v}, M)
np.einsum("ij,j->i", M, {v})
np.clip({v}, -0.9, 0.9)
np.interp({v}, [-3.0, 0.0, 3.0], [0.0, 1.0, 3.0])
np.linalg.solve(M, {v})
np.reshape({v}, (3, 1))[:, 0]
np.squeeze({v}[None])
np.broadcast_to({s}, (3,)) * {v}
np.full(3, {s})
scipy.special.erf({v})
scipy.special.expit({v})
np.add.accumulate({v}) * 0.3
np.sort({v})
np.take({v}, [2, 0, 0])
np.diff({v}, append={s})
tf.scan(lambda c, e: c * 0.5 + e, {s}, {v})
tf.map_fn(lambda e: np.sin(e) * {s}, {v})
kept({v}, {w})
doubled({v})
inner({v}, {s})
""".strip().splitlines()
SCALARS = """
tf.reduce_sum({v}) * 0.3
np.sum({v}) * 0.3
np.mean({v})
np.prod({v})
np.max({v})
np.std({v})
np.linalg.norm({v} + 2.0) * 0.5
np.dot({v}, {w}) * 0.3
np.vdot({v}, {w}) * 0.3
np.inner({v}, {w}) * 0.3
np.trapezoid({v})
np.trace(np.outer({v}, {w})) * 0.3
np.linalg.det(np.outer({v}, {w}) + M) * 0.1
np.add.reduce({v}) * 0.3
np.average({v}, weights=[1.0, 2.0, 3.0])
np.median({v})
{v}[1]
{v}.sum() * 0.3
{v}.mean()
int({s} * 10.0) * 0.1
tf.sin({s})
np.sin({s})
{s} * {v}[0]
sum({v}) * 0.3
max({v}[0], {s})
tf.cond({s} > 0.0, lambda: np.sin({s}), lambda: {s} * 2.0)
if_positive({s}, {v})
""".strip().splitlines()
#: What takes values out of sight.
LOSSES = """
v np.array([{s}, 1.0, 2.0])
v np.asarray({v}) * 2.0
v {v}.numpy() + {w}
v tf.constant(np.sin({v}.numpy()))
v np.fft.fft({v}).real * 0.3
v scipy.linalg.solve(M, {v})
v np.add({v}, {w}, out=np.empty(3))
v {v}.tolist() * {w}
v np.copy({v})
s float({s})
s {s}.item()
s float({v}[2]) * {s}
s math.sin({s})
s np.float64({s})
s scipy.special.logsumexp({v})
s scipy.linalg.norm({v})
s taken({v})
""".strip().splitlines()
#: Done on the way, for nothing.
ASIDES = """
seen.append(repr({v}))
seen.append(f"{{{s}:.3f}}")
seen.append(bool({s} > 0.0))
seen.append(float(tf.stop_gradient({s})))
seen.append(np.shape({v}))
seen.append(np.argmax({v}))
state.assign({s})
""".strip().splitlines()
HEADER = """
def kept(v, w):
    y = np.asarray(v)
    return w * 2.0 + 0.0 * w

@tf.custom_gradient
def doubled(v):
    c = np.cos(v.numpy()) if not v.is_symbolic else tf.cos(v)
    return tf.sin(v), lambda g: g * c

def inner(v, s):
    @tf.function
    def g(v):
        return v * np.sin(s) + np.mean(v)
    return g(v)

def if_positive(s, v):
    if s > 0.0:
        return np.mean(v)
    return s * 0.5

@tf.function
def taken(v):
    return tf.reduce_sum(v) * float(v[0]) * 0.3
"""


def source(seed: int) -> str:
    """The program of a seed."""
    rng = np.random.default_rng(seed)
    vectors, scalars = ["x"], ["x[0]", "x[2]"]
    lines = []
    for k in range(rng.integers(2, 7)):
        pick = lambda names: str(rng.choice(names[-3:]))
        if rng.random() < 0.2:
            line = str(rng.choice(ASIDES)).format(v=pick(vectors), s=pick(scalars))
            lines.append(line)
        elif rng.random() < 0.1:
            kind, call = str(rng.choice(LOSSES)).split(" ", 1)
            names = vectors if kind == "v" else scalars
            lines.append(f"{kind}{k} = {_call(rng, [call], vectors, scalars)}")
            names.append(f"{kind}{k}")
        elif rng.random() < 0.5:
            lines.append(f"v{k} = {_call(rng, VECTORS, vectors, scalars)}")
            vectors.append(f"v{k}")
        else:
            lines.append(f"s{k} = {_call(rng, SCALARS, vectors, scalars)}")
            scalars.append(f"s{k}")
    terms = [f"tf.reduce_sum(tf.constant(0.0, tf.float64) + {v})" for v in vectors[1:]] + scalars[2:]
    lines.append(f"return tf.reduce_sum(tf.sin(x)) * ({' + '.join(terms) or '1.0'})")
    return HEADER + "\ndef f(x):\n" + "\n".join("    " + line for line in lines) + "\n"


def _call(rng: np.random.Generator, calls: list[str], vectors: list[str], scalars: list[str]) -> str:
    v, w = (str(rng.choice(vectors)) for _ in range(2))
    return str(rng.choice(calls)).format(v=v, w=w, s=str(rng.choice(scalars)))


M = np.array([[2.0, 0.3, -0.1], [0.2, 1.5, 0.4], [-0.3, 0.1, 1.8]])


def program(text: str, seed: int):
    """The function of a program's source."""
    state = tf.Variable(np.float64(0.0))
    names = {"tf": tf, "np": np, "scipy": scipy, "math": math, "M": M, "seen": [], "state": state}
    name = f"<detour {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), names)
    return names["f"]


def _plain(f, x: np.ndarray) -> float:
    return float(np.asarray(f(tf.constant(x))))


def check(seed: int) -> Outcome:
    """Compare the derivatives of one program, by every transform, with differences of its values."""
    text = source(seed)
    rng = np.random.default_rng(seed + 1)
    x = rng.uniform(0.2, 1.2, 3) * rng.choice([-1.0, 1.0], 3)
    f = program(text, seed)
    try:
        _plain(f, x)
    except Exception as error:  # the program itself is none
        return Outcome("refused", f"eager: {type(error).__name__}", text)
    h = 1e-5
    steps = np.eye(3) * h
    plain = program(text, seed)
    slope = np.array([(_plain(plain, x + s) - _plain(plain, x - s)) / (2 * h) for s in steps])
    other = np.array([(_plain(plain, x + 3 * s) - _plain(plain, x - 3 * s)) / (6 * h) for s in steps])
    if not np.allclose(slope, other, rtol=1e-4, atol=1e-5):
        return Outcome("refused", "a kink is near", text)
    refusals = []
    for name, wanted, run in _derivatives(f, text, seed, x, slope, rng):
        try:
            got = np.asarray(run(tf.constant(x)))
        except (GradientError, TracejitError, LookupError, TypeError) as error:
            if not _in_program(error, seed):
                return Outcome("wrong", f"{name}: no line: {error!r}", text)
            refusals.append(f"{name}: {type(error).__name__}")
            continue
        except Exception as error:
            return Outcome("wrong", f"{name}: {type(error).__name__} {error}", text)
        if not np.allclose(got, wanted, rtol=2e-4, atol=2e-5 * max(1.0, np.abs(wanted).max())):
            return Outcome("wrong", f"{name}: {got} for {wanted}", text)
    return Outcome("refused", refusals[0], text) if refusals else Outcome("agree", "", text)


def _in_program(error: BaseException, seed: int) -> bool:
    """Is the program's line in the message or in the traceback?"""
    found = f"<detour {seed}>" in str(error)
    place = error.__traceback__
    while place is not None:
        found = found or place.tb_frame.f_code.co_filename == f"<detour {seed}>"
        place = place.tb_next
    return found


def _derivatives(f, text, seed, x, slope, rng):
    """Some of the transforms with what they should give."""
    one = tf.ones(3, tf.float64)
    yield "grad", slope, tf.grad(f)
    yield "jvp", slope.sum(), lambda x: tf.jvp(f, [x], [one])[1]
    if seed % COMPILED == 0:
        yield "compiled grad", slope, tf.function(tf.grad(f))
        yield "grad of compiled", slope, tf.grad(tf.function(f))
    h = 1e-4
    try:
        g = tf.grad(f)
        slopes = [
            (np.asarray(g(tf.constant(x + s))) - np.asarray(g(tf.constant(x - s)))) / (2 * h)
            for s in np.eye(3) * h
        ]
        wider = [
            (np.asarray(g(tf.constant(x + 2 * s))) - np.asarray(g(tf.constant(x - 2 * s)))) / (4 * h)
            for s in np.eye(3) * h
        ]
    except TracejitError:
        return
    if np.allclose(slopes, wider, rtol=1e-3, atol=1e-4):
        yield "hessian", np.array(slopes), tf.hessian(f)
        yield "jacfwd of jacfwd", np.array(slopes), tf.jacfwd(tf.jacfwd(f))
        yield "grad of grad", np.array(slopes).sum(0), tf.grad(lambda x: tf.reduce_sum(tf.grad(f)(x)))
