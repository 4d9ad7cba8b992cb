"""Singular values, eigenvalues, QR factors, pseudoinverses, exponentials: values as NumPy has them, derivatives of both
orders, compiled and of lanes; what has no derivative is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp
from checks.levels import assert_levels_agree
from tracejit.aot import NotExportable
from tracejit.core.errors import GradientError
from tracejit.core.op import ops
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

RANDOM = np.random.default_rng(0)
MODES = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])


def drawn(shape, is_complex=False):
    a = RANDOM.normal(size=shape)
    return a + 1j * RANDOM.normal(size=shape) if is_complex else a


def weighed(y):
    """A real number that depends on every element of `y` in a way of its own."""
    weight = np.cos(np.arange(float(np.prod(y.shape)))).reshape(y.shape) + 1.5
    parts = [ops.real(y), ops.imag(y)] if y.dtype.kind == "c" else [y]
    return sum(tf.reduce_sum(weight * tf.sin(p * (k + 1.0))) for k, p in enumerate(parts))


def sizes(y):
    """What does not depend on the phases of the vectors in `y`."""
    return weighed(tf.abs(y) ** 2)


def svd(a):
    u, s, vh = ops.svd(a, full_matrices=False)
    loss = sizes if a.dtype.kind == "c" else weighed
    return loss(u) + weighed(s) + loss(vh) + weighed(tf.matmul(u, vh))


def eigh(a, lower=True):
    w, v = ops.eigh(a, lower=lower)
    return weighed(w) + (sizes if a.dtype.kind == "c" else weighed)(v)


def eig(a):
    w, v = ops.eig(a)
    return weighed(w) + sizes(v)


def qr(a):
    q, r = ops.qr(a)
    return weighed(q) + weighed(r)


LOSSES = {
    "svd": (svd, [(3, 3), (4, 2), (2, 3)]),
    "eigh": (eigh, [(3, 3)]),
    "eigh of the upper triangle": (lambda a: eigh(a, False), [(2, 2)]),
    "eig": (eig, [(3, 3), (2, 3, 3)]),
    "qr": (qr, [(3, 3), (4, 2), (2, 4)]),
    "lu": (lambda a: weighed(ops.lu(a)[0]), [(3, 3), (4, 2), (2, 4)]),
    "pinv": (lambda a: weighed(ops.pinv(a)), [(3, 2), (2, 3)]),
    "expm": (lambda a: weighed(ops.expm(a)), [(2, 2)]),
    "nuclear norm": (lambda a: tnp.linalg.norm(a, "nuc"), [(3, 2)]),
    "largest value": (lambda a: tnp.linalg.norm(a, 2), [(2, 3)]),
    "lstsq": (lambda a: weighed(tnp.linalg.lstsq(a, a[:, 0] ** 2).x), [(3, 2)]),
}
CASES = [(name, s, c) for name, (_, shapes) in LOSSES.items() for s in shapes for c in (False, True)]


def slope(f, a, direction):
    h = 1e-5
    ends = [f(tf.constant(a + k * h * direction)).item() for k in (-2, -1, 1, 2)]
    return (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)


@pytest.mark.parametrize(("name", "shape", "is_complex"), CASES, ids=str)
def test_derivatives_to_second_order(name, shape, is_complex):
    loss = LOSSES[name][0]
    a, direction = drawn(shape, is_complex), drawn(shape, is_complex)

    def first(a):
        return tf.reduce_sum(tf.sin(tf.abs(tf.grad(loss)(a)) ** 2))

    for f in (loss, first):
        g = tf.grad(f)(tf.constant(a)).numpy()
        wanted = slope(f, a, direction)
        np.testing.assert_allclose(np.sum(np.conj(g) * direction).real, wanted, rtol=2e-6, atol=1e-7)
    pushed = tf.jvp(loss, (tf.constant(a),), (tf.constant(direction),))[1]
    np.testing.assert_allclose(pushed, slope(loss, a, direction), rtol=1e-6)


@pytest.mark.parametrize("name", ["svd", "eigh", "eig", "qr", "lu", "pinv", "expm"])
def test_compiled_as_eagerly(name):
    loss, shapes = LOSSES[name]
    a = tf.constant(drawn(shapes[0], name == "eig"))
    value, gradient = tf.function(tf.value_and_grad(loss))(a)
    np.testing.assert_allclose(value, loss(a), rtol=1e-12)
    np.testing.assert_allclose(gradient, tf.grad(loss)(a), rtol=1e-10)


def test_loops_and_machine_code_agree():
    graph = trace(lambda a: [*ops.svd(a, full_matrices=False)], [TensorSpec((3, 2), np.dtype(float))]).graph
    assert_levels_agree(graph, [drawn((3, 2))])


M = drawn((2, 4, 3))
S = M @ np.swapaxes(M, -1, -2)
VALUES = {
    "svd": [(M,), (M, False)],
    "svdvals": [(M,), (M[:, :0],)],
    "qr": [(M,), (M, "complete"), (M, "r")],
    "pinv": [(M,), (M, 0.3), (M, np.array([0.1, 0.9]))],
    "matrix_rank": [(M,), (S,), (S, 1e3), (M[0, 0],), (np.ones((3, 3), int),)],
    "cond": [(M,), (S[0, :3, :3], 1), (S[0, :3, :3], "nuc")],
    "eigh": [(S,), (S, "U"), (S[:0],)],
    "eigvalsh": [(S,), (S.astype("float32"),), (S + 1j * np.triu(S),)],
    "lstsq": [(M[0], M[0, :, :2] + 1.0), (M[0], M[0, :, 0]), (M[0].T, M[0, :3])],
    "norm": [(M, o, (0, 2), k) for o in (2, -2, "nuc") for k in (False, True)],
}


@pytest.mark.parametrize(("name", "arguments"), [(n, a) for n, calls in VALUES.items() for a in calls])
def test_values_of_numpy(name, arguments):
    found, wanted = getattr(tnp.linalg, name)(*arguments), getattr(np.linalg, name)(*arguments)
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for a, b in pairs:
        assert a.shape == np.shape(b)
        tolerance = 1e-4 if np.asarray(b).dtype == np.float32 else 1e-10
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_eigenvalues_of_general_matrices():
    a = drawn((2, 3, 3))
    w, v = tnp.linalg.eig(a)
    np.testing.assert_allclose(a @ v.numpy(), v.numpy() * w.numpy()[:, None], atol=1e-12)
    np.testing.assert_allclose(tnp.linalg.eigvals(a), w)
    a[1, 0, 0] = np.nan
    assert np.isnan(tnp.linalg.eigvals(a)).any(1).tolist() == [False, True]
    assert tnp.linalg.eigvals(a[:0]).shape == (0, 3)


def test_exponentials():
    a = drawn((3, 3))
    w, v = np.linalg.eig(a)
    wanted = (v * np.exp(w)) @ np.linalg.inv(v)
    for scale in (1.0, 20.0):
        np.testing.assert_allclose(
            tf.linalg.expm(scale * a), np.linalg.matrix_power(wanted.real, int(scale)), rtol=1e-9
        )


@MODES
def test_an_element_that_is_no_number_makes_all_none(mode):
    a = tf.constant([[1.0, np.nan], [np.inf, 2.0]])
    assert np.isnan(mode(tf.linalg.eigvalsh)(a).numpy()).all()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name, traces", [("svd", 3), ("qr", 2)])
@pytest.mark.parametrize("open_shape", [(None, 3), (3, None), (None, None)])
def test_open_sizes_need_a_trace_for_each_order_of_the_two(name, traces, open_shape):
    def loss(a):
        return sum(tf.reduce_sum(tf.sin((k + 1.0) * x) + x**3) for k, x in enumerate(getattr(ops, name)(a)))

    def slopes(a):
        slope = tf.grad(loss)
        return slope(a), tf.grad(lambda b: tf.reduce_sum(slope(b) ** 2))(a), tf.jvp(loss, (a,), (tf.cos(a),))[1]

    compiled = tf.function(slopes, input_signature=[tf.TensorSpec(open_shape, tf.float64)])
    factors = tf.function(getattr(ops, name), input_signature=[tf.TensorSpec(open_shape, tf.float64)])
    for n in (5, 3, 2, 4, 1):
        a = drawn((n if open_shape[0] is None else 3, 3 if open_shape[0] is None else n))
        for own, right in zip(compiled(a), slopes(tf.constant(a)), strict=True):
            np.testing.assert_allclose(own, right, rtol=1e-6, atol=1e-6)
        for own, right in zip(factors(a), getattr(ops, name)(a), strict=True):
            np.testing.assert_allclose(own, right, rtol=1e-11, atol=1e-11)
    assert factors(np.ones([0 if n is None else n for n in open_shape]))[1].shape[-2 if name == "qr" else -1] == 0
    assert factors.experimental_get_tracing_count() == 1
    assert compiled.experimental_get_tracing_count() == traces


def test_lanes():
    a = drawn((3, 4, 2))
    for f in (lambda a: tf.linalg.svd(a)[0], lambda a: tf.linalg.qr(a)[1], tf.linalg.pinv):
        np.testing.assert_allclose(tf.vmap(f)(tf.constant(a)), f(tf.constant(a)), rtol=1e-12)


@MODES
def test_what_depends_on_phases_is_refused(mode):
    a = tf.constant(drawn((3, 3), True))
    for f in (lambda a: ops.svd(a)[0], lambda a: ops.eigh(a)[1], lambda a: ops.eig(a)[1]):
        with pytest.raises(RuntimeError, match="depends on these phases"):
            mode(tf.grad(lambda a, f=f: tf.reduce_sum(ops.real(f(a)))))(a)


def test_vectors_that_are_arbitrary_have_no_derivative():
    a = tf.constant(drawn((3, 2)))
    for f in (lambda a: tnp.linalg.svd(a).U, lambda a: tnp.linalg.qr(a, "complete").Q):
        with pytest.raises(GradientError, match="arbitrary and have no derivative"):
            tf.grad(lambda a, f=f: tf.reduce_sum(f(a)))(a)


def test_vectors_of_equal_values_have_no_derivative_and_the_values_have():
    a = tf.constant(np.eye(2))
    assert np.isfinite(tf.grad(lambda a: tf.reduce_sum(tf.linalg.svd(a)[0] ** 2))(a).numpy()).all()
    g = tf.grad(lambda a: weighed(ops.eigh(a)[1]))(a).numpy()
    assert not np.isfinite(g).all()


def test_what_calls_numpy_is_not_exported():
    with pytest.raises(NotExportable, match="computed by NumPy in Python"):
        tf.export(lambda a: tf.reduce_sum(tf.linalg.pinv(a)), ["f64[2,2]"], name="inverse")


@pytest.mark.parametrize("shape", ["f64[n,3]", "f64[n,n]"])
@pytest.mark.parametrize("name", ["svd", "eigh", "eig", "pinv", "expm"])
def test_with_open_sizes_the_op_is_what_is_named(name, shape):
    shape = "f64[n,n]" if name in ("eigh", "eig", "expm") else shape
    with pytest.raises(NotExportable, match=f"^{name} is computed by NumPy in Python.* compute it outside"):
        tf.export(getattr(tf.linalg, name), [shape], name="found", outputs="value")


def test_least_squares_of_so_many_rows_as_there_are():
    solved = tf.function(
        lambda a, b: tnp.linalg.lstsq(a, b)[0], input_signature=[tf.TensorSpec((None, 3)), tf.TensorSpec((None,))]
    )
    for n in (12, 5, 3, 2):
        a, b = drawn((n, 3)).astype("f4"), drawn(n).astype("f4")
        np.testing.assert_allclose(solved(a, b), np.linalg.lstsq(a, b)[0], rtol=1e-3, atol=1e-3)
