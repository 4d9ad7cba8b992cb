"""Products and norms over any axes: NumPy's values, gradients, what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

RANDOM = np.random.default_rng(0)


def drawn(*shape):
    return RANDOM.normal(size=shape)


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


EQUATIONS = {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "ij,jk": [(2, 3), (3, 4)],
    "bij,bjk->bik": [(5, 2, 3), (5, 3, 4)],
    "ij,ij->": [(2, 3), (2, 3)],
    "ij,kl->ijkl": [(2, 3), (4, 2)],
    "ij->ji": [(2, 3)],
    "ji": [(2, 3)],
    "ij->": [(2, 3)],
    "ijk->k": [(2, 3, 4)],
    "ii->i": [(3, 3)],
    "ii": [(3, 3)],
    "iij,jk->ik": [(3, 3, 2), (2, 4)],
    "ij,jk,kl->il": [(2, 3), (3, 4), (4, 5)],
    "ij,jk,ki->": [(2, 3), (3, 4), (4, 2)],
    "bi,bi->b": [(4, 3), (4, 3)],
    "i,j->ij": [(2,), (3,)],
    "i,i": [(3,), (3,)],
    "ij,i->j": [(2, 3), (2,)],
    "ab,cb->ac": [(2, 3), (4, 3)],
    "...ij,...jk->...ik": [(5, 2, 3), (5, 3, 4)],
    "...i->...": [(2, 3, 4)],
    "i...,i->...": [(2, 3, 4), (2,)],
    "...ij,jk->...ik": [(6, 5, 2, 3), (3, 4)],
    " a b , b c -> a c ": [(2, 3), (3, 4)],
    "ik,ijk->j": [(2, 4), (2, 3, 4)],
    ",ij->ij": [(), (2, 3)],
}


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation, run):
    arrays = [drawn(*shape) for shape in EQUATIONS[equation]]
    found = run(lambda *xs: tf.einsum(equation, *xs))(*map(tf.constant, arrays))
    np.testing.assert_allclose(found.numpy(), np.einsum(equation, *arrays), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_gradients_of_einsum(equation, run):
    arrays = [drawn(*shape) for shape in EQUATIONS[equation]]
    directions = [drawn(*shape) for shape in EQUATIONS[equation]]

    def loss(*xs):
        return tf.reduce_sum(tf.sin(tf.einsum(equation, *xs)))

    gradients = run(tf.grad(loss, argnums=tuple(range(len(arrays)))))(*map(tf.constant, arrays))
    slope = sum(np.sum(g.numpy() * d) for g, d in zip(gradients, directions, strict=True))
    ends = [
        loss(*(tf.constant(a + s * 1e-6 * d) for a, d in zip(arrays, directions, strict=True))).item()
        for s in (1, -1)
    ]
    assert slope == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-7)


def test_einsum_of_unknown_sizes():
    f = tf.function(
        lambda a, b: tf.einsum("bij,bjk->bik", a, b),
        input_signature=[
            tf.TensorSpec([None, 2, None], tf.float64),
            tf.TensorSpec([None, None, 3], tf.float64),
        ],
    )
    a, b = drawn(4, 2, 5), drawn(4, 5, 3)
    np.testing.assert_allclose(f(a, b).numpy(), a @ b, rtol=1e-13)


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->ik", [(2, 3), (4, 5)], "'j' is 3 and 4"),
        ("ij->ik", [(2, 3)], "letters twice, or of no operand"),
        ("ij->ii", [(2, 3)], "letters twice, or of no operand"),
        ("ij,jk->ik", [(2, 3)], "is for 2 operands, got 1"),
        ("ijk->i", [(2, 3)], r"'ijk' of 'ijk->i' does not name the 2 axes of float64\[2,3\]"),
        ("i->i", [(2, 3)], "does not name the 2 axes"),
        ("i1->i", [(2, 3)], "is no equation"),
        ("ii->i", [(2, 3)], "'i' is 2 and 3"),
    ],
)
def test_what_einsum_refuses(equation, shapes, message):
    with pytest.raises(ValueError, match=message):
        tf.einsum(equation, *(drawn(*s) for s in shapes))


@pytest.mark.parametrize("axes", [0, 1, 2, [[1], [0]], [[0, 2], [1, 0]], (2, 1), [[-1], [1]]], ids=str)
def test_tensordot(axes, run):
    shapes = {0: [(2, 3), (4,)], 1: [(2, 3), (3, 4)], 2: [(5, 2, 3), (2, 3, 4)]}
    other = {
        "[[1], [0]]": [(2, 3), (3, 4)],
        "[[0, 2], [1, 0]]": [(2, 3, 4), (4, 2, 5)],
        "(2, 1)": [(2, 3, 4), (5, 4)],
        "[[-1], [1]]": [(2, 3), (4, 3)],
    }
    a, b = (drawn(*s) for s in (shapes[axes] if isinstance(axes, int) else other[str(axes)]))
    found = run(lambda a, b: tf.tensordot(a, b, axes))(tf.constant(a), tf.constant(b))
    np.testing.assert_allclose(found.numpy(), np.tensordot(a, b, axes), rtol=1e-12)


def test_what_tensordot_refuses():
    with pytest.raises(
        ValueError, match=r"axis 1 of float64\[2,3\] and axis 0 of float64\[2,3\] differ in size"
    ):
        tf.tensordot(drawn(2, 3), drawn(2, 3), 1)
    with pytest.raises(ValueError, match="3 axes are asked of ranks 2 and 2"):
        tf.tensordot(drawn(2, 3), drawn(2, 3), 3)
    with pytest.raises(ValueError, match="1 axes of one and 2 of the other"):
        tf.tensordot(drawn(2, 3), drawn(2, 3), [[0], [0, 1]])


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_matmul_of_turned_matrices(dtype, run):
    a, b = (drawn(2, 3, 4).astype(dtype) for _ in range(2))
    if dtype is np.complex128:
        a, b = a + 1j * drawn(2, 3, 4), b + 1j * drawn(2, 3, 4)
    turn = lambda x: np.swapaxes(x, -1, -2)
    for flags, expected in (
        ({"transpose_b": True}, a @ turn(b)),
        ({"transpose_a": True, "name": "product"}, turn(a) @ b),
        ({"adjoint_a": True}, turn(a).conj() @ b),
        ({"transpose_a": True, "transpose_b": True}, None),
    ):
        other = turn(b) if expected is None else b
        expected = turn(a) @ turn(turn(b)) if expected is None else expected
        x, y = (tf.constant(a), tf.constant(other)) if expected is not None else (None, None)
        found = run(lambda x, y, flags=flags: tf.matmul(x, y, **flags))(x, y)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(tf.matmul(a, b, False, True).numpy(), a @ turn(b), rtol=1e-12)
    with pytest.raises(TypeError, match=r"matmul\(\) has no argument 'transpose': it takes the tensors a, b"):
        tf.matmul(a, b, transpose=True)


def test_norms(run):
    x = drawn(3, 4)
    for ord, axis, keepdims in (
        *[(o, a, k) for o in (1, 2, 3.5, np.inf) for a in (0, 1, -1) for k in (False, True)],
        *[(2, None, False), (2, None, True)],
    ):
        found = run(lambda v, o=ord, a=axis, k=keepdims: tf.norm(v, ord=o, axis=a, keepdims=k))(
            tf.constant(x)
        )
        wanted = np.linalg.norm(x, ord if axis is not None else None, axis, keepdims)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)
    assert tf.norm([3.0, 4.0], ord=np.int64(1)).item() == 7.0
    assert tf.norm([3.0, 4.0]).item() == 5.0 and tf.linalg.norm([[3.0, 4.0]], axis=[0, 1]).item() == 5.0
    assert tf.norm(np.array([3.0 + 4.0j, 0.0])).item() == 5.0
    assert np.isnan(tf.grad(tf.norm)(tf.zeros((2,))).numpy()).all(), "as the field has it"
    with pytest.raises(ValueError, match="ord is 'euclidean', inf or a positive number, got 'nuc'"):
        tf.norm(x, ord="nuc")


def test_parts_of_matrices(run):
    x = drawn(2, 3, 4)
    np.testing.assert_array_equal(
        run(tf.linalg.diag_part)(tf.constant(x)).numpy(), np.diagonal(x, axis1=1, axis2=2)
    )
    square = drawn(2, 3, 3)
    np.testing.assert_allclose(
        run(tf.linalg.trace)(tf.constant(square)).numpy(), np.trace(square, axis1=1, axis2=2), rtol=1e-14
    )
    assert run(tf.linalg.diag)(tf.constant([1.0, 2.0])).numpy().tolist() == [[1, 0], [0, 2]]
    np.testing.assert_array_equal(
        run(tf.linalg.matrix_transpose)(tf.constant(x)).numpy(), np.swapaxes(x, 1, 2)
    )
    np.testing.assert_allclose(
        run(tf.linalg.matvec)(tf.constant(x), tf.constant(np.ones((2, 4)))).numpy(), x.sum(-1), rtol=1e-13
    )
