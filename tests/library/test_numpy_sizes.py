"""``tracejit.numpy``: axes that turn out to be empty, sizes that are asked for, and what joins and pads take."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp
from checks.numpy_expressions import MODES

OPEN = [tf.TensorSpec([None], tf.float64)]
SHUT = np.array([1.0, 0.0, 3.0])
EXTREMES = (tnp.max, tnp.min, tnp.ptp, tnp.nanmax, tnp.nanmin)


@pytest.mark.parametrize("reduce", (*EXTREMES, tnp.argmax), ids=lambda f: f.__name__)
def test_an_open_axis_without_elements_has_no_extreme(reduce):
    for f, empty in (
        (tf.function(reduce, input_signature=OPEN), np.zeros(0)),
        (tf.function(lambda x: reduce(x[x > 0])), -SHUT),
        (lambda x: reduce(x[x > 0]), -SHUT),
    ):
        assert np.isfinite(f(SHUT))
        with pytest.raises(ValueError, match=r"no elements|has no largest one|of an empty sequence"):
            f(empty)
        assert np.isfinite(f(SHUT))


def test_an_extreme_of_nothing_is_what_it_begins_with():
    smallest = tf.function(lambda x: tnp.min(x, initial=7.0), input_signature=OPEN)
    assert smallest(np.zeros(0)) == 7.0 and smallest(SHUT) == 0.0
    assert tf.function(lambda x: tnp.max(x[x > 9], initial=-1.0))(SHUT) == -1.0


@pytest.mark.parametrize("reduce", (tnp.median, tnp.nanmedian), ids=lambda f: f.__name__)
@pytest.mark.parametrize("axis", (None, 0))
def test_the_median_of_an_open_axis(reduce, axis):
    rows = [tf.TensorSpec([None, 2], tf.float64)]
    f = tf.function(lambda x: reduce(x, axis, keepdims=True), input_signature=rows)
    x = np.array([[1.0, 5.0], [4.0, 2.0], [3.0, 9.0], [8.0, 0.0]])
    lost = np.where(x == 9.0, np.nan, x)
    for given in (x, x[:3], x[:1], lost, x[:0]):
        with pytest.warns(RuntimeWarning) if not given.size else np.errstate():
            expected = getattr(np, reduce.__name__)(given, axis, keepdims=True)
        np.testing.assert_array_equal(f(given), expected)
        np.testing.assert_array_equal(reduce(given, axis, keepdims=True), expected)


def test_order_statistics_of_what_is_found_while_running():
    x = np.array([4.0, -1.0, 2.0, 9.0])
    for reduce in (tnp.median, tnp.nanmedian, lambda v: tnp.percentile(v, 50)):
        f = lambda x, reduce=reduce: reduce(x[x > 0])
        assert tf.function(f)(x) == f(x) == 4.0
        np.testing.assert_array_equal(tf.function(tf.grad(f))(x), [1.0, 0.0, 0.0, 0.0])
        np.testing.assert_array_equal(tf.function(tf.grad(lambda x, f=f: f(x) ** 2))(x), [8.0, 0.0, 0.0, 0.0])
    assert np.isnan(tf.function(lambda x: tnp.median(x[x > 10]))(x))
    with pytest.raises((ValueError, IndexError), match=r"no elements to order"):
        tf.function(lambda x: tnp.percentile(x[x > 10], 50))(x)


@MODES
@pytest.mark.parametrize("size", (0, 1, 2, 5))
def test_positions_in_a_number_that_is_told(size, mode):
    x = np.array([[1.0, 0.0, 3.0], [0.0, 5.0, 0.0]])
    rows, columns = np.nonzero(x)
    cut = lambda p, fill: np.concatenate([p, np.full(size, fill)])[:size]
    expected = cut(rows, -1), cut(columns, 9)
    options = {"size": size, "fill_value": (-1, 9)}
    for found in (
        mode(lambda x: tnp.nonzero(x, **options))(x),
        mode(lambda x: tnp.where(x, **options))(x),
        np.asarray(mode(lambda x: tnp.argwhere(x, **options))(x)).T,
    ):
        np.testing.assert_array_equal(found, expected)
    flat = mode(lambda x: tnp.flatnonzero(x, size=size))(x)
    np.testing.assert_array_equal(flat, cut(np.flatnonzero(x), 0))
    assert flat.shape == (size,) and flat.dtype == np.int64


@MODES
def test_elements_in_a_number_that_is_told(mode):
    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    some = np.array([True, False, True])
    three = mode(lambda c, x: tnp.compress(c, x, axis=1, size=3, fill_value=-7.0))(some, x)
    np.testing.assert_array_equal(three, [[1.0, 3.0, -7.0], [4.0, 6.0, -7.0]])
    two = lambda x: tnp.extract(x > 3.5, x, size=2)
    np.testing.assert_array_equal(mode(two)(x), [4.0, 5.0])
    slope = mode(tf.grad(lambda x: tf.reduce_sum(two(x) ** 2)))
    np.testing.assert_array_equal(slope(tf.constant(x)), [[0.0, 0.0, 0.0], [8.0, 10.0, 0.0]])


def test_sizes_belong_to_a_condition_alone():
    with pytest.raises(ValueError, match=r"of a condition alone"):
        tnp.where([True], 1.0, 2.0, size=3)


@MODES
@pytest.mark.parametrize(
    "join", (tnp.concatenate, tnp.stack, tnp.vstack, tnp.hstack), ids=lambda f: f.__name__
)
def test_what_is_joined_is_cast_by_a_rule(join, mode):
    x = np.array([1.5, -2.5])
    np.testing.assert_array_equal(
        mode(lambda x: join([x, x], dtype="int32", casting="unsafe"))(x),
        getattr(np, join.__name__)([x, x], dtype="int32", casting="unsafe"),
    )
    with pytest.raises(TypeError, match=r"does not become int32 by the rule 'same_kind'"):
        mode(lambda x: join([x, x], dtype="int32"))(x)
    with pytest.raises(TypeError, match=r"does not become float64 by the rule 'no'"):
        mode(lambda x: join([x, np.float32([0, 1])], casting="no"))(x)


@pytest.mark.parametrize(
    "mode, given",
    [("constant", {"end_values": 1}), ("edge", {"constant_values": 2}), ("mean", {"reflect_type": "odd"})],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_pads_refuse_what_their_mode_does_not_take(mode, given):
    with pytest.raises(ValueError, match=rf"unsupported keyword arguments for mode '{mode}': {next(iter(given))}"):
        tnp.pad([1, 2, 3], 1, mode, **given)


@pytest.mark.parametrize("cov", (True, "unscaled"))
@pytest.mark.parametrize("columns", ((), (2,)), ids=str)
@pytest.mark.parametrize("weighted", (False, True))
@MODES
def test_the_covariances_of_fitted_coefficients(mode, weighted, columns, cov):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=9), rng.normal(size=(9, *columns))
    w = rng.random(9) if weighted else None
    found = mode(lambda x, y: tnp.polyfit(x, y, 2, w=w, cov=cov))(x, y)
    for got, expected in zip(found, np.polyfit(x, y, 2, w=w, cov=cov), strict=True):
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_covariances_need_more_points_than_coefficients():
    with pytest.raises(ValueError, match=r"3 points leave nothing .* 3 coefficients.*unscaled"):
        tnp.polyfit([0.0, 1.0, 2.0], [1.0, 2.0, 5.0], 2, cov=True)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: tnp.expand_dims(tnp.ones(3), (1, 1)), r"repeated axis in \(1, 1\)"),
        (
            lambda: tnp.trace(tnp.ones((2, 2, 2)), axis1=1, axis2=-2),
            r"axis1 and axis2 can not be same: 1 and -2 are one",
        ),
        (lambda: tnp.argmin([]), r"argmin of an empty sequence: axis None of float64\[0\]"),
        (lambda: tnp.size(np.zeros((2, 3, 4)), (1, -2)), r"repeated axis in \(1, -2\)"),
        (lambda: tnp.nanargmax(np.zeros((2, 0)), axis=1), r"attempt to get argmax of an empty sequence"),
    ],
    ids=range(5),
)
def test_axes_that_make_no_sense_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@MODES
def test_a_repeated_array_of_a_size_that_is_told(mode):
    x, times = np.array([1.0, 2.0, 3.0]), np.array([1, 0, 2])
    repeated = lambda x, times: tnp.repeat(x, times, total_repeat_length=5)
    found = mode(repeated)(x, times)
    np.testing.assert_array_equal(found, [1.0, 3.0, 3.0, 3.0, 3.0])
    assert found.shape == (5,)
    np.testing.assert_array_equal(tnp.repeat(x[None], [1, 3, 2], axis=1, total_repeat_length=2), [[1.0, 2.0]])
    slope = mode(tf.grad(lambda x: tf.reduce_sum(repeated(x, times) ** 2)))
    np.testing.assert_array_equal(slope(tf.constant(x)), [2.0, 0.0, 24.0])


@MODES
@pytest.mark.parametrize("dtype", ("int16", "float64", "complex64", "bool", "uint8", "int64"))
def test_bytes_in_the_opposite_order(dtype, mode):
    x = (np.arange(6).reshape(2, 3) % 2 + 3).astype(dtype)
    found = mode(lambda x: tf.convert_to_tensor(x).byteswap())(x)
    np.testing.assert_array_equal(found, x.byteswap())
    assert found.dtype == x.dtype


def test_bytes_are_not_swapped_in_place():
    with pytest.raises(ValueError, match=r"no inplace=True"):
        tf.constant([1.0]).byteswap(inplace=True)


def test_what_only_hastens_others_is_accepted():
    x = np.array([3.0, 1.0, 2.0])
    assert tnp.searchsorted([1.0, 2.0, 3.0], 2.5, method="sort") == 2
    assert tnp.digitize([2.5], [1.0, 2.0, 3.0], method="scan") == 2
    np.testing.assert_array_equal(
        tnp.take(x, [0, 2], unique_indices=True, indices_are_sorted=True), [3.0, 2.0]
    )
    np.testing.assert_array_equal(tnp.delete(x, [0, 1], assume_unique_indices=True), [2.0])
    positions = tnp.argsort(x, dtype="float32")
    assert positions.dtype == np.float32 and positions.numpy().tolist() == [1.0, 2.0, 0.0]


def test_products_of_polynomials_from_their_degree_on():
    for a, b in (([0, 0, 1, 2], [0, 3]), ([0, 0], [0, 3]), ([1, 0], [2])):
        np.testing.assert_array_equal(tnp.polymul(a, b, trim_leading_zeros=True), np.polymul(a, b))
    np.testing.assert_array_equal(tnp.polymul([0, 1], [1, 1]), [0, 1, 1])
    with pytest.raises(tf.SymbolicValue):
        tf.function(lambda a: tnp.polymul(a, [1.0], trim_leading_zeros=True))(np.array([0.0, 1.0]))


def test_correlations_have_fractions():
    with pytest.raises(ValueError, match=r"must be a subclass of float or complex, got int64"):
        tnp.corrcoef([1.0, 2.0, 4.0], [1.0, 0.0, 2.0], dtype=int)


@pytest.mark.parametrize("count", (0, 1, 2, 5))
def test_deviations_of_what_is_chosen_while_running(count):
    x = np.array([[3.0, 1.0, 4.0, 1.5, 5.0], [2.0, 7.0, 1.0, 8.0, 2.5]]).T
    chosen = lambda x, keep: tnp.std(x[keep], axis=0)
    keep = np.arange(5) < count
    for f in (chosen, tf.grad(lambda x, keep: tnp.sum(chosen(x, keep) ** 2 + chosen(x, keep)))):
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(tf.function(f)(x, keep), f(x, keep), rtol=1e-12)
