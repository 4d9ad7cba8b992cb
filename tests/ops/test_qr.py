"""QR by the compiler's kernel: LAPACK's factors, signs included, for every shape, scale and layout."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import tracejit as tf
from checks.levels import by_loops, by_machine
from checks.modes import eager
from tracejit.compiler import cache
from tracejit.compiler.codegen import linalg
from tracejit.compiler.codegen.linalg.sizes import Sizes
from tracejit.core.op import ops
from tracejit.core.settings import settings
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
FACTORS = {
    complete: tf.function(lambda a, complete=complete: tf.linalg.qr(a, full_matrices=complete))
    for complete in (False, True)
}
# On both sides of vectors and panels, of few columns and of all.
ROWS, COLUMNS = (1, 2, 8, 31, 33, 70), (1, 3, 8, 20, 32, 40, 65)


def random(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def check(a, complete=False):
    """Orthonormal columns and a product that differs by rounding, and R as LAPACK has it."""
    q, r = (x.numpy() for x in FACTORS[complete](a))
    eps = float(np.finfo(a.dtype).eps)
    wanted = np.linalg.qr(a, "complete" if complete else "reduced")
    assert [x.shape for x in (q, r)] == [x.shape for x in wanted] and q.dtype == r.dtype == a.dtype
    size = np.abs(a).max(initial=1e-300).astype(np.float64)
    np.testing.assert_allclose(q.T.astype(float) @ q, np.eye(q.shape[1]), rtol=0, atol=50 * eps)
    product = q.astype(float) @ (r / size)
    np.testing.assert_allclose(product, a / size, rtol=0, atol=50 * eps * len(a))
    assert not np.tril(r, -1).any()
    return q, r, wanted


@pytest.mark.sampled(2)
@DTYPES
@pytest.mark.parametrize("complete", FACTORS)
@pytest.mark.parametrize("m", ROWS)
def test_factors_of_every_shape(m, complete, dtype):
    for n in COLUMNS:
        a = random(m, n).astype(dtype)
        _, r, wanted = check(a, complete)
        np.testing.assert_allclose(r, wanted[1], rtol=0, atol=2000 * np.finfo(dtype).eps)


@DTYPES
@pytest.mark.parametrize("complete, shape", [
    (False, (800, 64)), (False, (770, 150)), (False, (768, 900)), (True, (800, 130)), (False, (900, 63)),
])  # fmt: skip
def test_panels_in_groups(shape, complete, dtype):
    """Of large matrices: one group and nothing beside it, groups and panels behind them, and none."""
    a = random(*shape).astype(dtype)
    _, r, wanted = check(a, complete)
    np.testing.assert_allclose(r, wanted[1], rtol=0, atol=5000 * np.finfo(dtype).eps)


def test_what_is_beside_a_group_is_passed_over_once_for_all_its_panels():
    """No product with the few columns of a panel reaches beyond the group that the panel is in."""
    n, shapes, group = 800, [], Sizes.group
    pointer, word = ctypes.c_void_p, ctypes.c_int64

    def seen(address, rows, columns, row, column):
        memory = (ctypes.c_double * 1).from_address(address)
        return np.lib.stride_tricks.as_strided(np.asarray(memory), (rows, columns), (8 * row, 8 * column))

    @ctypes.CFUNCTYPE(None, *[word] * 3, *[pointer, word, word] * 2, pointer, word, word, pointer, pointer)
    def product(m, columns, k, a, a_row, a_col, b, b_row, b_col, c, c_row, again, *_):
        if m > 0 and columns > 0 and k > 0:
            shapes.append((m, columns, k))
            c, found = seen(c, m, columns, c_row, 1), seen(a, m, k, a_row, a_col) @ seen(b, k, columns, b_row, b_col)
            c[:] = c + found if again else found

    a = random(n, n)
    q, r, s = np.empty((n, n)), np.empty((n, n)), np.zeros((n, 32))
    work = np.empty(linalg.workspace_bytes("float64") + 64, np.uint8)
    kernel = ctypes.CFUNCTYPE(None, *[word] * 5, *[pointer, word, word], *[pointer, word] * 3, *[pointer] * 3)
    arrays = a.ctypes.data, n, 1, q.ctypes.data, n, r.ctypes.data, n, s.ctypes.data, 32
    kernel(cache.function_address("qr_f64"))(
        n, n, n, n, 32, *arrays, ctypes.cast(product, pointer), None, work.ctypes.data + -work.ctypes.data % 64
    )
    np.testing.assert_allclose(q @ r, a, rtol=0, atol=1e-12)
    assert any(min(m, k) == group and columns > group for m, columns, k in shapes)
    beyond = [(m, columns, k) for m, columns, k in shapes if min(m, k) < group and columns > group]
    assert all(max(m, k) <= n % group + group for m, _, k in beyond)  # panels behind all groups


@DTYPES
def test_columns_of_every_scale(dtype):
    a = random(40, 6).astype(dtype)
    least, tiny, huge = (1e-300, 1e-160, 1e160) if dtype == "float64" else (1e-33, 1e-25, 1e25)
    for scale in (tiny, huge, least, np.array([tiny, 1, huge, 1, tiny, 1])):
        check((a * scale).astype(dtype))
    a[:, 2] = 0
    _, r, (_, wanted) = check(a)
    assert r[0, 2] == wanted[0, 2] == 0
    same = np.repeat(random(9, 1), 4, 1).astype(dtype)
    check(same)
    diagonal = np.diag([1.0, -2.0, 3.0, -4.0]).astype(dtype)
    for found, wanted in zip(FACTORS[False](diagonal), np.linalg.qr(diagonal), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(5, 3), (40, 40), (3, 7)])
def test_what_is_not_finite(shape, value):
    a = random(*shape)
    a[-1, 1] = value
    assert all(np.isnan(x.numpy()).all() for x in FACTORS[False](a))


def test_nothing_to_factor():
    for shape in ((0, 3), (3, 0), (0, 0)):
        own = FACTORS[False](np.zeros(shape))
        assert [x.shape for x in own] == [x.shape for x in np.linalg.qr(np.zeros(shape))]


@pytest.mark.parametrize("turn", [lambda a: a.T, lambda a: a[::-1, ::2], lambda a: np.asfortranarray(a)])
def test_any_layout(turn):
    check(turn(random(50, 36)))


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (40, 35)])
@pytest.mark.parametrize("complete", [False, True])
def test_graphs_programs_and_machine_code_agree(shape, complete):
    specs = [TensorSpec(shape, np.dtype(float))]
    graph, arrays = trace(lambda a: [*ops.qr(a, complete=complete)], specs).graph, [random(*shape)]
    for run in (by_loops, by_machine):
        with settings(check=True, cache=False):
            found = run(graph, arrays)
        for own, wanted in zip(found, eager(graph, arrays), strict=True):
            np.testing.assert_allclose(own, wanted, rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", [(6, 4), (4, 4), (3, 5), (50, 34)])
def test_derivatives_are_those_of_eager_code(shape):
    def loss(a):
        q, r = tf.linalg.qr(a)
        return tf.reduce_sum(tf.sin(r)) + tf.reduce_sum(q**3)

    a, along = random(*shape), random(*shape, seed=1)
    gradient = tf.function(tf.grad(loss))(a)
    np.testing.assert_allclose(gradient, tf.grad(loss)(tf.constant(a)), rtol=0, atol=1e-10)
    h = 1e-6
    slope = (loss(tf.constant(a + h * along)).item() - loss(tf.constant(a - h * along)).item()) / (2 * h)
    assert np.sum(gradient.numpy() * along) == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_lanes_of_a_batch():
    a = random(3, 7, 4)
    own = tf.function(tf.vmap(lambda a: tf.linalg.qr(a)))(a)
    for found, wanted in zip(own, np.linalg.qr(a), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-14)


def test_complex_numbers_are_left_to_lapack():
    a = random(4, 3) + 1j * random(4, 3, seed=1)
    for found, wanted in zip(FACTORS[False](a), np.linalg.qr(a), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-14)


def test_machine_code_calls_no_python():
    assert "qr(" in FACTORS[False].loops(random(5, 5)) and not FACTORS[True].loops(random(5, 5)).count("host")
