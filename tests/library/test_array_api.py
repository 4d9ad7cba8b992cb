"""The Array API's names that are not NumPy's oldest: dtypes, sets, running sums, memory for other libraries."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp

X = np.array([[3.0, 1.0, 3.0], [2.0, 1.0, np.nan]])
I = np.array([3, 1, 3, 2], "int32")


def test_the_namespace_of_a_tensor_says_what_it_has():
    assert tf.constant(1.0).__array_namespace__(api_version="2024.12") is tnp
    with pytest.raises(ValueError, match=r"not 1999\.12"):
        tf.constant(1.0).__array_namespace__(api_version="1999.12")
    info = tnp.__array_namespace_info__()
    assert info.devices() == ["cpu"] == [info.default_device()] == [tf.constant(1.0).device]
    assert info.capabilities()["boolean indexing"] and info.default_dtypes()["indexing"] == np.dtype("int64")
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", "float32", "float64"}
    assert len(info.dtypes()) == 13
    with pytest.raises(ValueError, match="a kind of dtypes is one of"):
        info.dtypes(kind="float")


def test_other_devices_are_refused():
    assert tnp.zeros(2, device="cpu").to_device("cpu").shape == (2,)
    for make in (lambda: tnp.ones(2, device="gpu"), lambda: tf.constant(1.0).to_device("gpu")):
        with pytest.raises(ValueError, match="there is no 'gpu'"):
            make()


def test_questions_about_dtypes():
    assert tnp.isdtype(np.float32, "real floating") and not tnp.isdtype(np.int8, ("bool", "unsigned integer"))
    assert tnp.isdtype(np.int8, (np.float32, np.int8)) and tnp.isdtype("uint8", "integral")
    assert tnp.can_cast(tnp.asarray(I), "int64") and not tnp.can_cast("float64", "int64")
    assert tnp.result_type(tnp.asarray(I), np.float32, 1.0) == np.result_type(I, np.float32, 1.0)
    assert tnp.finfo(tnp.asarray(X)).eps == np.finfo(float).eps and type(tnp.finfo("float32").max) is float
    assert tnp.iinfo(tnp.asarray(I)).max == 2**31 - 1
    assert tnp.astype(X, "float32").dtype == np.float32
    with pytest.raises(ValueError, match="at least one"):
        tnp.result_type()


@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse", "unique_values"])
@pytest.mark.parametrize("x", [X, I], ids=["floats", "integers"])
def test_different_elements(name, x):
    found, wanted = getattr(tnp, name)(x), getattr(np, name)(x)
    if name == "unique_values":  # NumPy 2.3 gives them in no order
        found, wanted = np.sort(found), np.sort(wanted)
    pairs = zip(found, wanted, strict=True) if isinstance(found, tuple) else [(found, wanted)]
    for a, b in pairs:
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype


@pytest.mark.parametrize("name", ["intersect1d", "union1d", "setdiff1d", "setxor1d"])
def test_sets(name):
    np.testing.assert_array_equal(getattr(tnp, name)(I, [3, 4]), getattr(np, name)(I, [3, 4]))


def test_derivatives_reach_the_first_of_equal_elements():
    g = tf.grad(lambda x: tf.reduce_sum(tnp.unique_values(x) ** 2))(tf.constant([3.0, 1.0, 3.0]))
    np.testing.assert_array_equal(g, [6.0, 2.0, 0.0])


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("initial", [False, True])
def test_running_folds(name, initial):
    for x, axis in ((X, 1), (X, -2), (I, None)):
        found = getattr(tnp, name)(x, axis=axis, include_initial=initial)
        np.testing.assert_array_equal(found, getattr(np, name)(x, axis=axis, include_initial=initial))
    with pytest.raises(tf.errors.ShapeError, match="the axis must be named"):
        getattr(tnp, name)(X)


def test_the_largest_first():
    np.testing.assert_array_equal(tnp.sort(I, descending=True), [3, 3, 2, 1])
    np.testing.assert_array_equal(tnp.argsort(I, descending=True), [0, 2, 3, 1])


def test_unstacked():
    a, b = tnp.unstack(X)
    np.testing.assert_array_equal(np.stack([a, b]), X)


def test_an_operator_in_place_gives_another_tensor():
    x = y = tf.constant([1.0, 2.0])
    x += 1.0
    assert x.numpy().tolist() == [2.0, 3.0] and y.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex128"])
def test_other_libraries_read_the_same_memory(dtype):
    x = tnp.asarray(I, dtype)
    for shared in (np.from_dlpack(x), np.asarray(x)):
        np.testing.assert_array_equal(shared, I.astype(dtype))
        assert np.shares_memory(shared, x.array) and not shared.flags.writeable
    assert x.__array_interface__["typestr"] == x.dtype.str and x.__dlpack_device__() == (1, 0)
    assert np.shares_memory(tnp.from_dlpack(I, copy=False).array, I)
    for copied in (tnp.from_dlpack(I), tnp.from_dlpack(I, copy=True)):
        np.testing.assert_array_equal(copied, I)
        assert not np.shares_memory(copied.array, I)


class OldExchange:
    """What a library sees that speaks DLPack before its version 1, which cannot say that memory is read-only."""

    def __init__(self, x, copy):
        self.x, self.copy = x, copy

    def __dlpack__(self, **_):
        return self.x.__dlpack__(copy=self.copy)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


@pytest.mark.parametrize("make", [tnp.asarray, lambda v: tnp.zeros(v.shape), lambda v: tnp.asarray(v)[1:]])
def test_old_exchange_copies_unless_told_not_to(make):
    x = make(X)
    for copy in (None, True, False):
        shared = np.from_dlpack(OldExchange(x, copy))
        np.testing.assert_array_equal(shared, x)
        assert np.shares_memory(shared, x.array) == (copy is False)


def test_old_exchange_of_memory_that_nobody_may_write_to_is_refused():
    x = tnp.asarray(np.frombuffer(X.tobytes()), copy=False)
    with pytest.raises(BufferError, match="read"):
        x.__dlpack__(copy=False)
    np.testing.assert_array_equal(np.from_dlpack(OldExchange(x, None)), X.ravel())


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the buffer protocol of classes came with Python 3.12")
def test_the_buffer_protocol():
    assert memoryview(tnp.asarray(I)).tolist() == I.tolist()


def test_copies_are_made_when_asked_for_and_refused_when_not():
    x = np.array(I)
    assert np.shares_memory(tnp.asarray(x, copy=False).array, x)
    assert not np.shares_memory(tnp.asarray(x, copy=True).array, x)
    with pytest.raises(ValueError, match="without a copy"):
        tnp.asarray([1, 2], copy=False)


def test_memory_has_no_place_in_a_trace():
    with pytest.raises(tf.errors.SymbolicValue, match="has no value"):
        tf.function(lambda x: np.from_dlpack(x))(tf.constant(1.0))


@pytest.mark.parametrize(
    "name", ["arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "expm1", "log1p"]
)
def test_inverse_functions_of_complex_numbers(name):
    z, direction = np.array([0.3 + 0.4j, -2 + 0.1j, 0.5 - 3j]), np.array([1 + 0.5j, 2 - 1j, 0.3j])
    f, h = getattr(tnp, name), 1e-6
    np.testing.assert_array_equal(f(z), getattr(np, name)(z))
    g = tf.grad(lambda x: tf.reduce_sum(tf.abs(f(x)) ** 2))(tf.constant(z)).numpy()
    ends = [np.sum(np.abs(getattr(np, name)(z + k * h * direction)) ** 2) for k in (-1, 1)]
    np.testing.assert_allclose(np.sum(np.conj(g) * direction).real, (ends[1] - ends[0]) / (2 * h), rtol=1e-6)


def test_neighbours_and_complex_numbers_compiled():
    z = np.array([0.3 + 0.4j, -2 + 0.1j])
    f = tf.function(lambda z, x: (tnp.arccos(z), tnp.nextafter(x, 2.0)))
    found = f(tf.constant(z), tf.constant(np.array([1.0, 3.0])))
    np.testing.assert_array_equal(found[0], np.arccos(z))
    np.testing.assert_array_equal(found[1], np.nextafter([1.0, 3.0], 2.0))


HERMITIAN = np.array([[4.0, 1.0 - 2.0j, 0.5j], [1.0 + 2.0j, 5.0, -1.0], [-0.5j, -1.0, 3.0]])


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_factors_of_complex_matrices(mode):
    for upper in (False, True):
        factor = mode(lambda x, upper=upper: tnp.linalg.cholesky(x, upper=upper))(HERMITIAN)
        np.testing.assert_allclose(factor, np.linalg.cholesky(HERMITIAN, upper=upper), atol=1e-14)
    for x in (HERMITIAN - 1.0j, np.zeros((2, 2), complex), np.zeros((0, 0), complex)):
        for a, b in zip(mode(tnp.linalg.slogdet)(x), np.linalg.slogdet(x), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-14)


@pytest.mark.parametrize("f", ["cholesky", "slogdet"])
def test_gradients_of_factors_of_complex_matrices(f):
    def size(np, x):
        y = getattr(np.linalg, f)(x)
        return np.sum(np.abs(y) ** 3) if f == "cholesky" else y[1]

    along = np.array([[0.3, 0.1 + 0.2j, -0.4j], [0.1 - 0.2j, -0.5, 0.2], [0.4j, 0.2, 0.7]])
    gradient = tf.grad(lambda x: size(tnp, x))(HERMITIAN).numpy()
    ends = (size(np, HERMITIAN + h * along) for h in (1e-6, -1e-6))
    assert np.sum(np.conj(gradient) * along).real == pytest.approx(np.subtract(*ends) / 2e-6, rel=1e-7)


def test_expm1_of_what_is_not_finite_is_as_in_c():
    given = [complex(np.inf, 0), complex(-np.inf, np.inf), complex(-np.inf, np.nan), complex(np.nan, 0)]
    assert str(tnp.expm1(np.array(given)).numpy()) == "[inf+0.j -1+0.j -1+0.j nan+0.j]".replace("-1+", "-1.+")


def test_a_mask_without_axes_chooses_all_or_nothing():
    x = tnp.array([1.0, 2.0])
    assert x[tnp.array(True)].shape == (1, 2)
    assert x[np.array(False)].shape == (0, 2)
    assert tf.grad(lambda x: tnp.sum(x[tnp.array(True)] ** 2))(x).tolist() == [2.0, 4.0]


def test_an_axis_that_is_not_there_is_an_index_error_too():
    for error in (IndexError, ValueError):
        with pytest.raises(error, match="axis 5 is out of range for rank 2"):
            tnp.expand_dims([1.0], 5)


def test_the_sign_of_nan_is_its_bit():
    assert tnp.signbit(np.array([np.nan, -np.nan, -0.0, 1.0])).tolist() == [False, True, True, False]
