"""Bytes of tensors as other dtypes; elements taken and left out at computed positions."""

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp

MODES = pytest.mark.parametrize("mode", (lambda f: f, tf.function), ids=("eager", "compiled"))
DTYPES = ("uint8", "int16", "float16", "float32", "int64", "float64", "complex64", "complex128", "bool")


def _bytes(x):
    return np.ascontiguousarray(x).view("u1")


@MODES
@pytest.mark.parametrize("dtype", (*DTYPES, "int8", None))
def test_views_have_the_bytes_of_numpys(dtype, mode):
    for given in DTYPES:
        x = (np.random.RandomState(0).randint(0, 2, (3, 16)) * 3).astype(given)
        want = x.view(dtype or given)
        found = mode(lambda x: x.view(dtype))(tf.convert_to_tensor(x)).numpy()
        assert found.dtype == want.dtype
        if want.dtype != bool:
            np.testing.assert_array_equal(_bytes(found), _bytes(want))
        else:  # of which bytes other than 0 and 1 are True
            np.testing.assert_array_equal(found, want.view("u1") != 0)


@MODES
def test_views_keep_what_no_number_is(mode):
    bits = np.array([0x7F800000, 0xFFC00000, 0x7F800001, 0xFF800001, 0x80000000, 1], "uint32")
    back = mode(lambda x: x.view("float32").view("uint32"))
    np.testing.assert_array_equal(back(tf.convert_to_tensor(bits)), bits)
    assert mode(lambda x: x.view("int64"))(tf.constant(1.0, tf.float64)) == np.float64(1.0).view("int64")


@MODES
def test_gradients_of_views_that_are_the_same_numbers(mode):
    x = np.array([1.0, 2.0, -3.0, 0.5])
    z = x[::2] + 1j * x[1::2]

    def of_pairs(x):
        return tnp.sum(tnp.abs(x.view("complex128")) ** 4)

    def the_same(x):
        return tnp.sum(tnp.abs(x[::2] + 1j * x[1::2]) ** 4)

    for d in (tf.grad, tf.hessian):
        np.testing.assert_allclose(mode(d(of_pairs))(x), d(the_same)(x), rtol=1e-13)
    np.testing.assert_allclose(mode(tf.grad(lambda x: tnp.sum(x.view() ** 3)))(x), 3 * x**2)
    found = mode(tf.grad(lambda z: tnp.sum(z.view("float64") ** 3)))(z)
    np.testing.assert_allclose(found, tf.grad(lambda z: tnp.sum(z.real**3 + z.imag**3))(z))
    np.testing.assert_array_equal(
        mode(tf.grad(lambda x: tnp.sum(x.view("int64")) * x[0]))(x)[1:], np.zeros(3)
    )


def sum_of_bits(x):
    y = x * 1.0
    bits = y.view(np.int64)
    y[0] = 5.0
    return np.sum(bits)


def test_bits_of_what_was_written_to_since():
    x = np.array([1.0, 2.0])
    assert tf.function(sum_of_bits)(x) == sum_of_bits(x)
    with pytest.raises(TypeError, match="bits shows in NumPy what was written"):
        sum_of_bits(tf.constant(x))


def test_views_of_open_sizes():
    narrow = tf.function(
        lambda x: (x.view("int16"), x.view("complex128")), [tf.TensorSpec([None, None], tf.float64)]
    )
    for n in (2, 4, 0):
        assert [v.shape for v in narrow(np.zeros((3, n)))] == [(3, 4 * n), (3, n // 2)]
    with pytest.raises(tf.errors.ShapeError, match=r"make no complex128"):
        narrow(np.zeros((3, 3)))


def test_views_that_are_none():
    x = tnp.arange(6)
    for wrong in ((2, 3), (-1,), ((2, 3),)):
        with pytest.raises(TypeError, match=r"write x\.reshape\(shape\)"):
            x.view(*wrong)
    for v, dtype in ((tnp.asarray(1.0), "int32"), (tnp.arange(3), "complex128")):
        with pytest.raises(tf.errors.ShapeError, match=r"along its last axis make no"):
            v.view(dtype)
    with pytest.raises(tf.errors.DtypeError, match=r"not strings"):
        tf.constant(["a"]).view("int8")


@pytest.mark.parametrize("unique", (False, True))
def test_delete_at_positions_that_a_function_computes(unique):
    delete = tf.function(lambda x, i: tnp.delete(x, i, assume_unique_indices=unique))
    x = np.arange(6.0)
    for positions in ([0, 3], [-1, 0], [5], [], [[0, 1], [4, 3]], [0, 1, 2, 3, 4, 5]):
        where = np.array(positions, int)
        np.testing.assert_array_equal(delete(x, where), np.delete(x, where))
    with pytest.raises(IndexError):
        delete(x, np.array([7, 1]))
    if unique:
        with pytest.raises(ValueError, match=r"two of the positions to delete are equal"):
            delete(x, np.array([2, 2]))
    else:
        np.testing.assert_array_equal(delete(x, np.array([2, 2, -4])), np.delete(x, 2))
    columns = tf.function(lambda m, i: tnp.delete(m, i, axis=1, assume_unique_indices=unique))
    m = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(columns(m, np.array([3, 1])), np.delete(m, [3, 1], axis=1))


@pytest.mark.parametrize("unique", (False, True))
def test_gradients_of_what_is_left(unique):
    def loss(x, i):
        return tnp.sum(tnp.delete(x, i, assume_unique_indices=unique) ** 3)

    x, where = np.arange(1.0, 6.0), np.array([3, 1])
    left = np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    np.testing.assert_allclose(tf.function(tf.grad(loss))(x, where), 3 * x**2 * left)
    second = tf.grad(lambda x, i: tnp.sum(tf.grad(loss)(x, i)))
    np.testing.assert_allclose(tf.function(second)(x, where), 6 * x * left)


def test_delete_by_a_mask_that_a_function_computes():
    delete = tf.function(lambda x: tnp.delete(x, x > 2.0))
    np.testing.assert_array_equal(delete(np.arange(5.0)), [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match=r"a mask of 3 elements"):
        tf.function(lambda x, y: tnp.delete(x, y > 2.0))(np.arange(3.0), np.arange(4.0))


@MODES
def test_negative_numbers_that_do_not_count_from_the_end(mode):
    x = np.array([10, 20, 30])

    def take(how, **options):
        return mode(lambda i: tnp.take_along_axis(x, i, 0, how, **options))(np.array([-1, 1, -3], "int8"))

    np.testing.assert_array_equal(take("clip"), [30, 20, 10])
    np.testing.assert_array_equal(take("clip", wrap_negative_indices=False), [10, 20, 10])
    np.testing.assert_array_equal(take("fill", fill_value=7, wrap_negative_indices=False), [7, 20, 7])
    np.testing.assert_array_equal(take("promise_in_bounds"), [30, 20, 10])
    np.testing.assert_array_equal(take("one_hot"), [30, 20, 10])
    with pytest.raises(IndexError):
        take("promise_in_bounds", wrap_negative_indices=False)
    with pytest.raises(
        ValueError, match=r"mode is raise, wrap, clip, fill or promise_in_bounds, got 'nearest'"
    ):
        take("nearest")
