"""Python operators, conversions, NumPy protocols and text of tensors and Variables."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest

import tracejit as tf

FLOATS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.pow,
    operator.floordiv,
    operator.mod,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
]
A, B = np.array([1.5, 2.0, 3.0]), np.array([2.0, 2.0, 0.5])


@pytest.mark.parametrize("op", FLOATS, ids=lambda f: f.__name__)
def test_operators_agree_with_numpy(op):
    expected = op(A, B)
    for a, b in (
        (tf.constant(A), tf.constant(B)),
        (tf.constant(A), B),
        (A, tf.constant(B)),
        (tf.Variable(A), B),
        (A, tf.Variable(B)),
        (tf.constant(A), tf.Variable(B)),
        (tf.constant(A), list(map(np.float64, B))),
    ):
        result = op(a, b)
        assert isinstance(result, tf.Tensor)
        np.testing.assert_allclose(result, expected, rtol=1e-15)
        assert result.dtype == expected.dtype
    np.testing.assert_allclose(op(tf.constant(A), 2.0), op(A, 2.0), rtol=1e-15)
    np.testing.assert_allclose(op(2.0, tf.constant(A)), op(2.0, A), rtol=1e-15)
    np.testing.assert_allclose(tf.function(op)(A, B), expected, rtol=1e-14)


def test_unary_operators_and_logic():
    x, flags = tf.constant(A), tf.constant([True, False])
    np.testing.assert_array_equal(-x, -A)
    np.testing.assert_array_equal(+x, A)
    np.testing.assert_array_equal(abs(-x), A)
    np.testing.assert_array_equal(~flags, [False, True])
    np.testing.assert_array_equal(flags & True, [True, False])
    np.testing.assert_array_equal(flags | [True, True], [True, True])
    np.testing.assert_array_equal(flags ^ tf.constant([True, True]), [False, True])
    np.testing.assert_array_equal(x @ B, A @ B)
    np.testing.assert_array_equal(A @ tf.constant(B), A @ B)
    assert [t.item() for t in divmod(tf.constant(7.0), 2.0)] == [3.0, 1.0]


def test_weak_numbers_take_the_dtype_they_meet():
    for dtype in ("float32", "float64", "complex64"):
        assert (
            (tf.constant([1.0], dtype) * 2.0).dtype
            == (2 * tf.constant([1.0], dtype)).dtype
            == np.dtype(dtype)
        )
    assert (tf.constant([1, 2]) * 2).dtype == np.dtype("int32")
    assert (tf.constant([1, 2]) * 2.0).dtype == np.result_type(np.int32, 0.0)
    assert (tf.constant([1.0]) * np.float64(2.0)).dtype == np.dtype("float64")
    assert (tf.constant(1.0) / 0.0).item() == np.inf and (tf.constant(1.0) / -0.0).item() == -np.inf


def test_comparing_with_strangers():
    x = tf.constant([1.0, 2.0])
    assert (x == None) is False and (x != None) is True  # noqa: E711
    assert (x == "text") is False
    with pytest.raises(TypeError):
        hash(x)
    with pytest.raises(TypeError):
        hash(tf.Variable(1.0))


def test_numbers_out_of_tensors():
    x = tf.constant([[2.5]])
    assert float(x) == 2.5 and int(x) == 2 and complex(x) == 2.5 and bool(x) and x.item() == 2.5
    assert [10, 20, 30][tf.constant(1)] == 20 and range(tf.constant(3)) == range(3)
    assert f"{tf.constant(3.14159):.3f}" == "3.142" and f"{tf.Variable(2.0):.1f}" == "2.0"
    assert len(tf.zeros((3, 2))) == 3 and [float(v) for v in tf.constant([1.0, 2.0])] == [1.0, 2.0]
    assert not tf.constant(0.0)
    for wrong, error in (
        (lambda: bool(tf.zeros(2)), ValueError),
        (lambda: float(tf.zeros(2)), ValueError),
        (lambda: len(tf.constant(1.0)), TypeError),
        (lambda: [0][tf.constant(0.0)], TypeError),
        (lambda: list(tf.constant(1.0)), TypeError),
    ):
        with pytest.raises(error, match=r"test_operators\.py"):
            wrong()


def test_arrays():
    x = tf.constant(A)
    view = x.numpy()
    assert np.shares_memory(view, np.asarray(x)) and not view.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[0] = 5.0
    copied = np.array(x)
    copied[0] = 9.0
    assert x[0].item() == 1.5
    assert np.asarray(x, dtype="float32").dtype == np.float32
    source = np.array([1.0, 2.0])
    t, alias = tf.constant(source), tf.asarray(source, copy=False)
    source[0] = 7.0
    assert t[0].item() == 1.0 and alias[0].item() == 7.0
    assert isinstance(tf.constant(1.0).numpy(), np.float32)


def test_numpy_functions():
    x = tf.constant(A)
    for result, expected in (
        (np.sin(x), np.sin(A)),
        (np.add(A, x), A + A),
        (np.power(x, 2.0), A**2),
        (np.less(x, B), A < B),
    ):
        assert isinstance(result, tf.Tensor)
        np.testing.assert_allclose(result, expected)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(np.exp(x) * B)
    np.testing.assert_allclose(tape.gradient(y, x), np.exp(A) * B)
    for result, expected in (
        (np.add.reduce(x), A.sum()),
        (np.mean(x), A.mean()),
        (np.concatenate([x, x]), [*A, *A]),
        (np.maximum(x, B, dtype=np.float64), np.maximum(A, B)),
    ):
        assert not isinstance(result, tf.Tensor)
        np.testing.assert_allclose(result, expected)
    np.testing.assert_array_equal(tf.function(lambda x: np.sin(x) + np.ones(3))(x), np.asarray(np.sin(x)) + 1)
    with pytest.raises(tf.SymbolicValue):
        tf.function(lambda x: np.subtract.reduce(x))(x)


def test_text():
    column = tf.constant([[0.0], [4.0]])
    assert str(tf.constant(4.0)) == "tf.Tensor(4.0, shape=(), dtype=float32)"
    assert str(column) == "tf.Tensor(\n[[0.]\n [4.]], shape=(2, 1), dtype=float32)"
    assert repr(tf.constant(4.0)) == "<tf.Tensor: shape=(), dtype=float32, numpy=4.0>"
    assert (
        repr(tf.constant([1, 2])) == "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>"
    )
    assert repr(column) == (
        "<tf.Tensor: shape=(2, 1), dtype=float32, numpy=\narray([[0.],\n       [4.]], dtype=float32)>"
    )
    assert repr(tf.Variable(3.0, name="x0")) == "<tf.Variable 'x0:0' shape=() dtype=float32, numpy=3.0>"
    seen = []
    tf.function(lambda x: (seen.append((str(x), repr(x))), x)[1])(column)
    assert seen == [
        ("tf.Tensor(shape=(2, 1), dtype=float32, traced)", "<tf.Tensor: shape=(2, 1), dtype=float32, traced>")
    ]


def test_copies_and_pickles():
    x = tf.constant(A)
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        np.testing.assert_array_equal(x, y)
        assert y.dtype == x.dtype
    v = tf.Variable(A, trainable=False, name="v")
    for w in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert w.name == "v:0" and not w.trainable
        w.assign_add([1.0, 1.0, 1.0])
        np.testing.assert_array_equal(w, A + 1)
        np.testing.assert_array_equal(v, A)


def test_methods():
    x = tf.constant(np.arange(6.0).reshape(2, 3))
    assert x.T.shape == (3, 2) and x.reshape(3, -1).shape == (3, 2) and x.transpose(1, 0).shape == (3, 2)
    assert x.sum().item() == 15.0 and x.mean(axis=0).numpy().tolist() == [1.5, 2.5, 3.5]
    assert x.max(axis=1, keepdims=True).shape == (2, 1) and x.min().item() == 0.0
    assert x.astype("int32").dtype == tf.int32 and x.ndim == 2
    z = tf.constant(1 + 2j)
    assert z.real.item() == 1.0 and z.imag.item() == 2.0


def test_constants():
    assert tf.constant(1.0).dtype == tf.float32 and tf.constant(np.float64(1.0)).dtype == tf.float64
    assert tf.constant([1, 2]).dtype == tf.int32 and tf.constant(True).dtype == np.dtype(bool)
    assert tf.constant(3.0, shape=(2, 2)).shape == (2, 2) and tf.constant(range(4), shape=(2, 2)).shape == (
        2,
        2,
    )
    assert tf.constant([1, 2], dtype=tf.float64).dtype == tf.float64
    with tf.settings(default_dtype="float64"):
        assert tf.constant(1.0).dtype == tf.float64
    stacked = tf.convert_to_tensor([tf.constant(1.0), 2.0, [tf.Variable(3.0), 4.0][0]])
    assert stacked.numpy().tolist() == [1.0, 2.0, 3.0] and stacked.dtype == tf.float32
    assert tf.convert_to_tensor([[tf.constant(1.0), 2.0], [3.0, 4.0]]).shape == (2, 2)
    big_endian = tf.constant(np.arange(3.0).astype(">f8"))
    assert big_endian.dtype.isnative and big_endian.numpy().tolist() == [0.0, 1.0, 2.0]
    for wrong in (np.array([object()]), [1.0, "text"], {1.0}):
        with pytest.raises(TypeError, match=r"test_operators\.py"):
            tf.constant(wrong)


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
@pytest.mark.parametrize(
    "exponent", [0.5, np.full(5, 0.5), np.full((1, 1), 0.5)], ids=["number", "array", "one"]
)
def test_the_power_one_half_is_that_of_any_exponent(exponent, mode):
    base = np.array([-np.inf, -0.0, 4.0, np.inf, np.nan])
    found = mode(tf.pow)(base, exponent).numpy().ravel()
    np.testing.assert_array_equal(found, [np.inf, 0.0, 2.0, np.inf, np.nan])
    assert not np.signbit(found[:4]).any()


INTEGERS = [np.array([6, -3, 0, 127], dtype) for dtype in ("int8", "int32", "int64")]
INTEGERS += [np.array([6, 253, 0, 127], dtype) for dtype in ("uint8", "uint64")]
ON_BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
@pytest.mark.parametrize("x", INTEGERS, ids=lambda x: x.dtype.name)
@pytest.mark.parametrize("op", ON_BITS, ids=lambda f: f.__name__)
def test_operators_of_bits(op, x, mode):
    other = np.array([1, 7, 3, 100], x.dtype)
    for a, b in ((x, other), (other, x), (x, 3), (3, x)):
        wanted = op(a, b)
        found = mode(lambda a, b: op(a, b))(
            *(tf.constant(v) if isinstance(v, np.ndarray) else v for v in (a, b))
        )
        assert isinstance(found, tf.Tensor) and found.dtype == wanted.dtype
        np.testing.assert_array_equal(found.numpy(), wanted)
    np.testing.assert_array_equal(mode(lambda a: ~a)(tf.constant(x)).numpy(), ~x)


def test_operators_of_bits_refuse_floats():
    x = tf.constant(A)
    for op in ON_BITS:
        with pytest.raises(TypeError, match=r"takes .*integers, got float64.*\n.*test_operators\.py"):
            op(x, x)
    with pytest.raises(TypeError, match=r"takes integers, got bool"):
        tf.constant([True]) << tf.constant([True])


def test_divmod_of_a_number_by_a_tensor():
    assert [t.item() for t in divmod(7, tf.constant(2.0))] == [3.0, 1.0]
    assert [t.item() for t in tf.function(lambda x: divmod(-7, x))(tf.constant(2))] == [-4, 1]


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
@pytest.mark.parametrize(
    ("dtype", "number"),
    [("int8", 300), ("int8", -129), ("uint8", -1), ("uint8", 256), ("int32", 2**40), ("int64", 2**70)]
    + [("uint64", -1), ("uint64", 2**64)],
)
def test_integers_that_a_dtype_does_not_hold_are_divided_and_compared(dtype, number, mode):
    """As NumPy does; an integer result would not be theirs, and is refused."""
    limits = np.iinfo(dtype)
    x = np.array([limits.min, 0, 1, limits.max], dtype)
    for op in (
        operator.truediv,
        operator.lt,
        operator.le,
        operator.gt,
        operator.ge,
        operator.eq,
        operator.ne,
    ):
        for f in (lambda a, op=op: op(a, number), lambda a, op=op: op(number, a)):
            with np.errstate(divide="ignore"):
                wanted = f(x)
            found = mode(f)(tf.constant(x))
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found.numpy(), wanted)
    with pytest.raises(TypeError, match=r"take a wider dtype(.|\n)*test_operators\.py"):
        mode(lambda a: a + number)(tf.constant(x))
