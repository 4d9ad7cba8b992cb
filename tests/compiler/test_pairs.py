"""Nests over pairs of which one half says what the other is: who has half of the points left, and the same values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from checks import modes
from checks.levels import LEVELS, assert_levels_agree, complete, derived
from tracejit.compiler import pipeline
from tracejit.compiler.loopir import interpreter as loopinterp
from tracejit.compiler.loopir.ir import Compute, Load, Nest, walk
from tracejit.compiler.loopir.numbering.symmetry import Symmetry
from tracejit.compiler.loopir.operands import Buffer, Const, Index
from tracejit.compiler.loopir.passes.pairs import PairLoop
from tracejit.compiler.loopir.scalar_ops import SCALAR_OPS
from tracejit.core.dim import Assumptions
from tracejit.core.ir.graph import Graph
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.0, 1e150]
F64, BOOL = np.dtype(np.float64), np.dtype(bool)


def pairs(x):
    return x[:, None, :], x[None, :, :]


def energy(x):
    a, b = pairs(x)
    d = a[..., :2] - b[..., :2]
    return [tf.reduce_sum(a[..., 2] * b[..., 2] / tf.sqrt(tf.reduce_sum(d * d, -1) + 0.1))]


def kernel_means(x):
    a, b = pairs(x)
    k = tf.exp(-tf.reduce_sum((a - b) ** 2, -1))
    return [tf.reduce_mean(k, 1)]


def cutoff(x):
    """Each pair of different bodies that are close: masks of numbers of rows, and of distances."""
    a, b = pairs(x)
    number = tf.range(x.shape[0])
    r2 = tf.reduce_sum((a - b) ** 2, -1)
    other = tf.logical_and(number[:, None] != number[None, :], r2 < 4.0)
    inverse = 1.0 / tf.where(other, r2, 1.0) ** 3
    return [tf.reduce_sum(tf.where(other, inverse * inverse - inverse, 0.0))]


def along_and_down(x):
    a, b = pairs(x)
    p = tf.tanh(a[..., 0] - b[..., 0]) * tf.cos(a[..., 1] - b[..., 1])
    return [tf.reduce_sum(p, 1), tf.reduce_sum(p, 0), tf.reduce_sum(p * p)]


def numbered_rows(x):
    """The distance in numbers of rows counts, around no end."""
    a, b = pairs(x)
    number = tf.cast(tf.range(x.shape[0]), x.dtype)
    far = tf.abs(number[:, None] - number[None, :])
    return [tf.reduce_sum(tf.exp(-0.01 * far) * tf.sin(a[..., 0] * b[..., 0]), 1)]


def in_batches(x):
    y = tf.stack([x, 2.0 * x])
    d = y[:, :, None, :] - y[:, None, :, :]
    return [tf.reduce_sum(1.0 / tf.sqrt(tf.reduce_sum(d * d, -1) + 0.1), (1, 2))]


def poles(x):
    """Not that of the mirrored pair with another sign: 1 / (a - b) is infinity both times where a is b."""
    a, b = pairs(x)
    p = tf.exp(1.0 / (a[..., 0] - b[..., 0])) + 1.0 / (a[..., 1] - b[..., 1])
    return [tf.reduce_sum(p, 1), tf.reduce_sum(p, 0)]


def cheap(x):
    """Adding to two sums takes longer than what is added."""
    a, b = pairs(x)
    return [tf.reduce_sum(tf.abs(a[..., 0] - b[..., 0]), 1)]


def kernel_product(x):
    a, b = pairs(x)
    return [tf.reduce_sum(tf.exp(-((a[..., 0] - b[..., 0]) ** 2)) * b[..., 1], 1)]


def lopsided(x):
    a, b = pairs(x)
    p = tf.exp(a[..., 0] - 2.0 * b[..., 0])
    return [tf.reduce_sum(p, 1), tf.reduce_sum(p, 0)]


HALVED = (energy, kernel_means, cutoff, along_and_down, numbered_rows, in_batches)
WHOLE = (poles, lopsided, cheap, kernel_product)


def traced(f: Callable[..., Sequence[Any]], size: int, order: str) -> tuple[Graph, Graph | None]:
    source = trace(f, [TensorSpec((size, 3), "float64")], f.__name__, Assumptions({})).graph
    return source, derived(source, order)


def sizes(f: Callable[..., Sequence[Any]], size: int, order: str = "value") -> list[list[Any]]:
    """The sizes of the axes of all nests, by nest."""
    graph = traced(f, size, order)[1]
    assert graph is not None
    nests = [s for s in walk(pipeline.lower_graph(graph).body) if isinstance(s, Nest)]
    return [[a.size for a in s.axes] for s in nests]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", ["value", "gradient", "second", "jvp"])
@pytest.mark.parametrize("f", HALVED + WHOLE, ids=lambda f: f.__name__)
def test_levels_agree_at_every_size(f: Callable[..., Sequence[Any]], order: str):
    random = np.random.default_rng(0)
    # few rows, an even number, blocks of which the last one is shorter; of second derivatives, which take long, one
    for size in (65,) if order == "second" else (63, 64, 131):
        source, graph = traced(f, size, order)
        if graph is not None:
            arrays = complete(graph, [random.standard_normal((size, 3))], source, order)
            assert_levels_agree(graph, arrays, interpreted=size < 100 or order == "value")


def assert_same_but_for_order(graph: Graph, arrays: Sequence[np.ndarray]) -> None:
    """NaN and infinities as those of the kernels, numbers up to the order of sums: an infinity spoils their bound."""
    expected = modes.Reference(graph, arrays).expected
    for level, run in LEVELS.items():
        for found, want in zip(run(graph, arrays), expected, strict=True):
            np.testing.assert_allclose(found, want, rtol=1e-13, atol=1e-15, err_msg=level)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("f", HALVED + WHOLE, ids=lambda f: f.__name__)
def test_levels_agree_on_special_values(f: Callable[..., Sequence[Any]]):
    random = np.random.default_rng(1)
    source, graph = traced(f, 70, "gradient")
    for _ in range(2):
        normal, special = random.standard_normal((70, 3)), random.choice(SPECIAL, (70, 3))
        x = np.where(random.random((70, 3)) < 0.97, normal, special)
        for order, one in (("value", source), ("gradient", graph)):
            if one is not None:
                with np.errstate(all="ignore"):
                    assert_same_but_for_order(one, complete(one, [x], source, order))


def test_half_of_the_points_are_left():
    for f in HALVED:
        assert any((130 - 1) // 2 in axes for axes in sizes(f, 130)), f.__name__
        assert [130, 130] not in sizes(f, 130), f.__name__
    assert any((130 - 1) // 2 in axes for axes in sizes(energy, 130, "gradient"))
    for f in WHOLE:
        assert not any((130 - 1) // 2 in axes for axes in sizes(f, 130)), f.__name__
    assert not any((63 - 1) // 2 in axes for axes in sizes(energy, 63))


@pytest.mark.parametrize("size", [130, 131])
def test_roots_that_quotients_share_are_computed_first_and_leave_every_bit(size, monkeypatch):
    source, graph = traced(energy, size, "gradient")
    assert graph is not None
    x = np.random.default_rng(size).standard_normal((size, 3))

    def run() -> tuple[list[bool], list[np.ndarray]]:
        """Which of the loops over half of a row take roots, and what the program computes."""
        program = pipeline.lower_graph(graph)
        nests = [s for s in walk(program.body) if isinstance(s, Nest)]
        rows = [n for n in nests if [a.size for a in n.axes] == [(size - 1) // 2]]
        ops = [{s.op for s in n.body if isinstance(s, Compute)} for n in rows]
        roots = ["sqrt" in each for each in ops if each]  # the others only copy
        return roots, loopinterp.run(program, complete(graph, [x], source, "gradient"), {})[0]

    split, found = run()
    monkeypatch.setattr(PairLoop, "roots", lambda self, k, body: [])
    whole, expected = run()
    assert (split, whole) == ([True, False], [True])
    for a, b in zip(found, expected, strict=True):
        assert a.tobytes() == b.tobytes()


def test_sums_are_as_careful_as_others_and_the_same_on_any_number_of_threads():
    @tf.function
    def sums(x, y):
        p = tf.exp(0.0 * tf.sqrt(x[:, None] * x[None, :])) * (y[:, None] - y[None, :])
        return tf.reduce_sum(p, 0), tf.reduce_sum(p, 1)

    random = np.random.default_rng(2)
    y = random.standard_normal(1500) * 10.0 ** random.integers(-8, 8, 1500)
    x = np.ones(1500)
    found = {}
    for threads in (1, 2, 3):
        with tf.settings(num_threads=threads):
            found[threads] = [np.asarray(a) for a in sums(x, y)]
    down, along = found[1]
    differences = [[Fraction(float(a - b)) for b in y] for a in y[:20]]
    exact = np.array([float(sum(row)) for row in differences])
    size = np.array([float(sum(map(abs, row))) for row in differences])
    unit = np.finfo(np.float64).eps
    assert np.all(np.abs(along[:20] - exact) <= 8 * unit * size)
    assert np.all(np.abs(down[:20] + exact) <= 8 * unit * size)
    for other in (2, 3):
        np.testing.assert_array_equal(found[1], found[other])


# ---- what is known of numbers whose axes are exchanged ------------------------------------------------------


UNARY = ("neg", "sqrt", "abs", "exp", "tanh", "cos", "sin", "log", "floor", "sign", "expm1", "rsqrt", "round")
BINARY = ("add", "sub", "mul", "div", "min", "max")


def made_at_random(random: np.random.Generator) -> list[Any]:
    """Loads of both axes, and arithmetic on them."""
    buffers = [Buffer(name, F64, 12, "input", k) for k, name in enumerate("xy")]
    body: list[Any] = [
        Load(f"{b.name}{axis}", b, Index(0, ((axis, 1),))) for b in buffers for axis in ("i", "j")
    ]
    names: list[Any] = [s.out for s in body]
    for k in range(14):
        constants = [Const(float(random.choice([0.0, -0.0, 1.0, -1.0, 0.5])), F64)]
        pick = [[*names, *constants][random.integers(len(names) + 1)] for _ in range(3)]
        kind = random.integers(8)
        if kind < 2:
            body.append(Compute(f"v{k}", str(random.choice(UNARY)), (pick[0],), F64, F64))
        elif kind < 7:
            op = str(random.choice(BINARY))
            body.append(Compute(f"v{k}", op, (pick[0], pick[1]), F64, F64))
            if kind > 3 and not any(
                isinstance(x, Const) for x in pick[:2]
            ):  # and what it is the other way round
                other = {"i": "j", "j": "i"}
                turned = [x[0] + other[x[1]] if x[1] in other else x for x in pick[:2]]
                body.append(Compute(f"w{k}", op, tuple(turned), F64, F64))
                names.append(f"w{k}")
        else:
            body.append(
                Compute(f"c{k}", str(random.choice(["lt", "ge", "eq"])), (pick[0], pick[1]), BOOL, F64)
            )
            body.append(Compute(f"v{k}", "select", (f"c{k}", pick[1], pick[2]), F64, F64))
        names.append(f"v{k}")
    return body


def values(body: Sequence[Any], arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Every scalar at every point (i, j)."""
    found: dict[str, np.ndarray] = {}
    for s in body:
        if isinstance(s, Load):
            array = arrays[s.buffer.name]
            shape = (len(array), len(array))
            found[s.out] = np.broadcast_to(array[:, None] if s.index.terms[0][0] == "i" else array, shape)
        else:
            args = [np.float64(a.value) if isinstance(a, Const) else found[a] for a in s.args]
            shape = (len(arrays["x"]),) * 2
            found[s.out] = np.broadcast_to(SCALAR_OPS[s.op].meaning(*args), shape)
    return found


def bits(x: np.ndarray) -> np.ndarray:
    """The numbers bit by bit; one NaN is as good as another."""
    return np.where(np.isnan(x), np.float64(np.nan), x).view(np.int64) if x.dtype == F64 else x


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_said_of_exchanged_axes_is_so(seed: int):
    random = np.random.default_rng(seed)
    body = made_at_random(random)
    symmetry = Symmetry(body, "i", "j")
    data = {
        name: np.concatenate([random.choice(SPECIAL, 9), random.standard_normal(4), [0.5]]) for name in "xy"
    }
    found = values(body, data)
    told = 0
    for name in symmetry.here:
        mirror = symmetry.mirror(name)
        if mirror is not None and found[name].dtype == F64:
            told += 1
            other, sign = mirror
            wanted = sign * found[other]
            np.testing.assert_array_equal(found[name].T + 0.0, wanted + 0.0, err_msg=f"{name}: {mirror}")
        for other in symmetry.here:
            if symmetry.there[name].exact == symmetry.here[other].exact:
                turned = np.ascontiguousarray(found[name].T)
                np.testing.assert_array_equal(bits(turned), bits(np.ascontiguousarray(found[other])))
    assert told >= 4  # the loads at least


def test_exchanged_axes_of_arithmetic():
    x = Buffer("x", F64, 12, "input", 0)
    body: list[Any] = [Load(f"x{axis}", x, Index(0, ((axis, 1),))) for axis in "ij"]
    body += [
        Compute("d", "sub", ("xi", "xj"), F64, F64),
        Compute("square", "mul", ("d", "d"), F64, F64),
        Compute("r", "sqrt", ("square",), F64, F64),
        Compute("unit", "div", ("d", "r"), F64, F64),
        Compute("pole", "div", (Const(1.0, F64), "d"), F64, F64),
        Compute("other", "sub", ("xj", "xi"), F64, F64),
    ]
    symmetry = Symmetry(body, "i", "j")
    assert symmetry.mirror("xi") == ("xj", 1)
    assert symmetry.mirror("d") == ("d", -1) and symmetry.same("other") == ("d", -1)
    assert symmetry.mirror("r") == ("r", 1) and symmetry.mirror("unit") == ("unit", -1)
    assert symmetry.mirror("pole") is None  # +infinity both times where both are the same
