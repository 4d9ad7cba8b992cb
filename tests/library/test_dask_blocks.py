"""`tracejit.dask.map_blocks`: the values, dtypes, shapes and chunks that the same function gives on NumPy's blocks."""

import math

import numpy as np
import pytest

import tracejit as tf

da = pytest.importorskip("dask.array")
td = pytest.importorskip("tracejit.dask")

X = np.random.default_rng(0).normal(size=(23, 5))


def cut(x, *chunks):
    return da.from_array(x, chunks=chunks)


def as_promised(y):
    """The computed array, whose blocks are as the lazy one says."""
    computed = y.compute(scheduler="synchronous")
    assert computed.dtype == y.dtype
    assert all(math.isnan(size) or size == real for size, real in zip(y.shape, computed.shape, strict=True))
    for index in np.ndindex(y.numblocks):
        said = [chunks[k] for chunks, k in zip(y.chunks, index, strict=True)]
        block = y.blocks[index].compute(scheduler="synchronous")
        assert all(math.isnan(size) or size == real for size, real in zip(said, block.shape, strict=True))
    return computed


@pytest.mark.parametrize("chunks", [(23, 5), (4, 2), (23, 1), ((1, 22), (2, 3)), ((7, 0, 16), 5)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "complex128"])
def test_elementwise_functions_keep_chunks(chunks, dtype):
    x = cut((10 * X).astype(dtype), *chunks)
    y = td.map_blocks(lambda b: b * b + b, x)
    assert y.chunks == x.chunks
    np.testing.assert_allclose(as_promised(y), x.compute() ** 2 + x.compute(), rtol=1e-6)


def test_arrays_broadcast_from_their_last_axes_and_are_cut_anew():
    row, column = np.arange(5.0), np.arange(23.0)[:, None]
    y = td.map_blocks(lambda a, b, c: a * b + c, cut(X, 4, 5), cut(row, 2), cut(column, 10, 1))
    np.testing.assert_allclose(as_promised(y), X * row + column)


def test_arguments_that_are_no_dask_arrays_are_the_same_for_every_block():
    weights = {"w": np.arange(5.0), "b": tf.Variable(2.0, dtype=tf.float64)}
    y = td.map_blocks(lambda x, p, k: x * p["w"] + p["b"] * k, cut(X, 4, 5), weights, 3)
    np.testing.assert_allclose(as_promised(y), X * np.arange(5.0) + 6.0)


def test_variables_have_their_present_values():
    v = tf.Variable(1.0, dtype=tf.float64)
    x = cut(X, 4, 5)
    first = td.map_blocks(lambda b: b * v, x)
    v.assign(2.0)
    second = td.map_blocks(lambda b: b * v, x)
    np.testing.assert_array_equal(as_promised(first), X)
    np.testing.assert_array_equal(as_promised(second), 2 * X)


def test_axes_are_dropped_and_added():
    x = cut(X, 4, 5)
    np.testing.assert_allclose(
        as_promised(td.map_blocks(lambda b: tf.reduce_sum(b, axis=1), x, drop_axis=-1)), X.sum(1)
    )
    y = td.map_blocks(lambda b: tf.stack([b, -b], axis=1), x, new_axis=1)
    np.testing.assert_array_equal(as_promised(y), np.stack([X, -X], axis=1))
    z = td.map_blocks(lambda b: b @ tf.transpose(b), cut(X, 23, 5))
    np.testing.assert_allclose(as_promised(z), X @ X.T, rtol=1e-12)


def test_results_may_be_nests():
    y = td.map_blocks(lambda b: {"twice": b * 2, "both": (b > 0, tf.cast(b, tf.float32))}, cut(X, 4, 2))
    np.testing.assert_array_equal(as_promised(y["twice"]), X * 2)
    np.testing.assert_array_equal(as_promised(y["both"][0]), X > 0)
    np.testing.assert_array_equal(as_promised(y["both"][1]), X.astype(np.float32))


def test_sizes_of_results_follow_those_of_blocks():
    y = td.map_blocks(lambda b: b[::2], cut(X[:, 0], 4))
    assert y.chunks == ((2, 2, 2, 2, 2, 2),)
    np.testing.assert_array_equal(as_promised(y), X[::2, 0])


def test_sizes_that_dask_does_not_know_stay_unknown():
    x = cut(X[:, 0], 4)
    positive = x[x > 0]
    y = td.map_blocks(tf.sqrt, positive)
    assert all(map(math.isnan, y.chunks[0]))
    np.testing.assert_allclose(as_promised(y), np.sqrt(X[X[:, 0] > 0, 0]))


def test_branches_and_loops_of_python_are_compiled():
    def newton(b):
        x = b
        while tf.reduce_max(tf.abs(x * x - b)) > 1e-12:
            x = (x + b / x) / 2
        return x

    x = np.abs(X) + 1
    np.testing.assert_allclose(as_promised(td.map_blocks(newton, cut(x, 5, 5))), np.sqrt(x), rtol=1e-12)


def test_failures_of_blocks_arrive():
    y = td.map_blocks(lambda b, i: tf.gather(b, i), cut(X, 23, 5), np.array([40]), drop_axis=())
    with pytest.raises(Exception, match="40"):
        y.compute(scheduler="synchronous")


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: td.map_blocks(lambda b: b, X), TypeError, "there is none"),
        (lambda x: td.map_blocks(lambda a, b: a + b, x, cut(X[:, :3], 4, 3)), tf.ShapeError, "5 and 3"),
        (lambda x: td.map_blocks(tf.reduce_sum, x), tf.ShapeError, "drop_axis"),
        (lambda x: td.map_blocks(lambda b: b[0], x, drop_axis=0), tf.ShapeError, "rechunk"),
        (lambda x: td.map_blocks(lambda b: b, x, drop_axis=2), tf.ShapeError, "no axis of 2"),
        (lambda x: td.map_blocks(lambda b: b @ tf.transpose(b), x), tf.ShapeError, "another axis"),
        (lambda x: td.map_blocks(lambda b: b + tf.random.normal(b.shape), x), tf.aot.NotExportable, "random"),
    ],
)
def test_what_cannot_be_is_said(call, error, text):
    with pytest.raises(error, match=text):
        call(cut(X, 4, 5))


def test_blocks_of_other_arrays_are_refused():
    masked = da.from_array(np.ma.masked_array(X), chunks=(4, 5), asarray=False)
    with pytest.raises(TypeError, match="MaskedArray"):
        td.map_blocks(lambda b: b, masked)
