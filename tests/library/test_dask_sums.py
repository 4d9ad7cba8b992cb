"""`tracejit.dask.value_and_grad`: the sum over blocks is the function of the whole, whatever the blocks."""

import numpy as np
import pytest

import tracejit as tf

da = pytest.importorskip("dask.array")
td = pytest.importorskip("tracejit.dask")
dask = pytest.importorskip("dask")

RNG = np.random.default_rng(1)
X, Y = RNG.normal(size=(41, 3)), RNG.normal(size=41)
PARAMETERS = {"w": RNG.normal(size=3), "b": np.array(0.3)}


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def squares(p, x, y):
    return tf.reduce_sum((x @ p["w"] + p["b"] - y) ** 2)


def mean_square(p, x, y):
    return tf.reduce_mean((x @ p["w"] + p["b"] - y) ** 2)


def assert_same(got, expected):
    value, gradient = expected
    np.testing.assert_allclose(got[0], np.asarray(value), rtol=1e-12)
    assert gradient.keys() == got[1].keys()
    for name, g in gradient.items():
        assert got[1][name].shape == g.shape
        np.testing.assert_allclose(got[1][name], np.asarray(g), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("rows", [41, 7, 1, (1, 40), (0, 20, 21), (10, 10, 10, 11)])
@pytest.mark.parametrize("split_every", [2, 8])
def test_sums_and_means_are_those_of_the_whole(rows, split_every):
    x, y = da.from_array(X, chunks=(rows, 2)), da.from_array(Y, chunks=(rows,))
    total = td.value_and_grad(squares, split_every=split_every)
    assert_same(total(PARAMETERS, x, y), tf.value_and_grad(squares)(PARAMETERS, X, Y))
    mean = td.value_and_grad(mean_square, reduction="mean", split_every=split_every)
    assert_same(mean(PARAMETERS, x, y), tf.value_and_grad(mean_square)(PARAMETERS, X, Y))


def test_several_arguments_and_numbers():
    x = da.from_array(Y, chunks=9)
    total = td.value_and_grad(lambda a, x, b: tf.reduce_sum(tf.sin(a * x) * b), argnums=(0, 2))
    value, (ga, gb) = total(np.array(1.5), x, 2.0)
    np.testing.assert_allclose(value, np.sum(np.sin(1.5 * Y) * 2), rtol=1e-6)
    np.testing.assert_allclose(ga, np.sum(np.cos(1.5 * Y) * Y * 2), rtol=1e-6)
    np.testing.assert_allclose(gb, np.sum(np.sin(1.5 * Y)), rtol=1e-6)


def test_variables_are_read_when_it_is_called_and_compiled_once():
    v = tf.Variable(1.0, dtype=tf.float64)
    traces = []

    def f(x):
        traces.append(x.shape)
        return tf.reduce_sum((v * x) ** 2)

    total, x = td.value_and_grad(f, [v]), da.from_array(Y, chunks=10)
    for number in (1.0, -2.0, 0.5):
        v.assign(number)
        value, (gradient,) = total(x)
        np.testing.assert_allclose(value, number**2 * np.sum(Y**2), rtol=1e-12)
        np.testing.assert_allclose(gradient, 2 * number * np.sum(Y**2), rtol=1e-12)
    assert len(traces) == 1


def test_the_tree_of_additions_depends_on_the_blocks_alone():
    x, y = da.from_array(X, chunks=(3, 3)), da.from_array(Y, chunks=3)
    total = td.value_and_grad(squares)
    value, gradient = total(PARAMETERS, x, y)
    with dask.config.set(scheduler="threads", num_workers=4):
        again, other = total(PARAMETERS, x, y)
    assert value.tobytes() == again.tobytes()
    assert gradient["w"].tobytes() == other["w"].tobytes()


def test_equal_calls_are_equal_tasks():
    x, y = da.from_array(X, chunks=(3, 3)), da.from_array(Y, chunks=3)
    total = td.value_and_grad(squares)
    assert total.delayed(PARAMETERS, x, y).key == total.delayed(PARAMETERS, x, y).key
    assert total.delayed(PARAMETERS, x, y).key != total.delayed(PARAMETERS, x, 2 * y).key


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: td.value_and_grad(squares, reduction="max"), ValueError, "'max'"),
        (lambda x: td.value_and_grad(squares, split_every=1), ValueError, "at least 2"),
        (lambda x: td.value_and_grad(squares, argnums=()), ValueError, "empty"),
        (lambda x: td.value_and_grad(squares, argnums=5)(PARAMETERS, x, x), ValueError, "argnums=5 of 3"),
        (lambda x: td.value_and_grad(squares, argnums=1)(PARAMETERS, x, Y), ValueError, "Dask array"),
        (lambda x: td.value_and_grad(squares)(PARAMETERS, X, Y), ValueError, "need Dask arrays"),
        (lambda x: td.value_and_grad(squares)(PARAMETERS, x, x[:5, 0]), tf.ShapeError, "41 and 5"),
        (lambda x: td.value_and_grad(lambda w, x: w * x)(np.array(1.0), x), tf.TracejitError, "scalar"),
    ],
)
def test_what_cannot_be_is_said(call, error, text):
    with pytest.raises(error, match=text):
        call(da.from_array(X, chunks=(10, 3)))
