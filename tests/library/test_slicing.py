"""Parts of tensors by position: the values of NumPy's indexing, gradients, repeats, what is out of range."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tracejit as tf

X = np.arange(24.0).reshape(2, 3, 4) / 7.0


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


READS = {
    "slice": (lambda x: tf.slice(x, [0, 1, 2], [2, 2, -1]), lambda x: x[:, 1:, 2:]),
    "slice of nothing": (lambda x: tf.slice(x, [2, 0, 0], [0, 3, 4]), lambda x: x[2:]),
    "strided": (lambda x: tf.strided_slice(x, [0, 2, 0], [2, 0, 4], [1, -1, 3]), lambda x: x[:, 2:0:-1, ::3]),
    "strided, few axes": (lambda x: tf.strided_slice(x, [1], [2]), lambda x: x[1:2]),
    "strided, masks": (
        lambda x: tf.strided_slice(
            x, [0, 0, 1], [9, 9, 9], begin_mask=4, end_mask=4, shrink_axis_mask=1, new_axis_mask=2
        ),
        lambda x: x[0, None, :],
    ),
    "strided, the rest": (
        lambda x: tf.strided_slice(x, [0, 1], [0, 3], ellipsis_mask=1),
        lambda x: x[..., 1:3],
    ),
    "gather_nd elements": (
        lambda x: tf.gather_nd(x, [[0, 1, 2], [1, 2, 3], [0, 1, 2]]),
        lambda x: x[[0, 1, 0], [1, 2, 1], [2, 3, 2]],
    ),
    "gather_nd rows": (lambda x: tf.gather_nd(x, [[[1]], [[0]]]), lambda x: x[[[1], [0]]]),
    "gather_nd one": (lambda x: tf.gather_nd(x, [1, 2]), lambda x: x[1, 2]),
    "gather_nd whole": (
        lambda x: tf.gather_nd(x, np.zeros((2, 0), np.int32)),
        lambda x: np.broadcast_to(x, (2, *x.shape)),
    ),
    "gather_nd batch": (
        lambda x: tf.gather_nd(x, [[[2], [0]], [[1], [1]]], batch_dims=1),
        lambda x: np.stack([x[0][[2, 0]], x[1][[1, 1]]]),
    ),
    "mask": (
        lambda x: tf.boolean_mask(x, [[True, False, True], [False, False, True]]),
        lambda x: x[[0, 0, 1], [0, 2, 2]],
    ),
    "mask of an axis": (lambda x: tf.boolean_mask(x, [True, False, True], axis=1), lambda x: x[:, [0, 2]]),
}


@pytest.mark.parametrize("name", READS)
def test_parts_are_those_of_numpy_and_gradients_go_back_to_where_they_came_from(name, run):
    function, reference = READS[name]
    x = tf.constant(X)
    np.testing.assert_array_equal(run(function)(x).numpy(), reference(X))

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
            weights = np.arange(1.0, 1.0 + np.prod(y.shape)).reshape(y.shape)
            total = tf.reduce_sum(y * weights)
        return tape.gradient(total, x)

    places = reference(np.arange(24).reshape(2, 3, 4)).ravel()
    wanted = np.zeros(24)
    np.add.at(wanted, places, 1.0 + np.arange(places.size))
    found = run(gradient)(x)
    np.testing.assert_array_equal(np.zeros(24) if found is None else found.numpy().ravel(), wanted)


def test_a_slice_may_begin_where_only_a_run_knows():
    f = tf.function(lambda x, i: tf.slice(x, [0, i, 0], [2, 2, 3]))
    x = tf.constant(X)
    np.testing.assert_array_equal(f(x, tf.constant(1)).numpy(), X[:, 1:3, :3])
    np.testing.assert_array_equal(f(x, tf.constant(0)).numpy(), X[:, :2, :3])
    with pytest.raises(IndexError, match="out of range for an axis of size 3"):
        f(x, tf.constant(2))
    g = tf.function(lambda x, begin: tf.slice(x, begin, [1, 1, 1]))
    assert g(x, tf.constant([1, 2, 3])).numpy().item() == X[1, 2, 3]


def test_parts_of_no_elements_have_the_shapes_of_others():
    """Also where another shape would not fit: as what a loop carries."""

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float64)])
    def products(x):
        return tf.reduce_prod(x, axis=0), tf.fori_loop(0, 3, lambda i, y: 0.5 * y + x[i, 1:], x[0, 1:])

    for shape in ((3, 4), (3, 1), (5, 2)):
        x = np.cos(np.arange(shape[0] * shape[1])).reshape(shape)
        product, total = products(x)
        np.testing.assert_allclose(product, x.prod(0), rtol=1e-14)
        np.testing.assert_allclose(total, x[2, 1:] + 0.5 * x[1, 1:] + 0.375 * x[0, 1:], atol=1e-15)
    assert products.experimental_get_tracing_count() == 1
    alone = tf.function(lambda x: tf.reduce_prod(x, axis=0), input_signature=[tf.TensorSpec([None, None])])
    for shape in ((3, 4), (8, 0), (0, 5), (0, 0)):
        np.testing.assert_array_equal(alone(np.ones(shape, "f4")), np.ones(shape[1]))
    assert alone.experimental_get_tracing_count() == 1


def test_a_slice_that_leaves_the_tensor_is_refused(run):
    with pytest.raises(IndexError, match="from 1 to 4 leaves axis 1"):
        run(lambda x: tf.slice(x, [0, 1, 0], [1, 3, 1]))(tf.constant(X))
    with pytest.raises(ValueError, match="one number per axis"):
        run(lambda x: tf.slice(x, [0], [1]))(tf.constant(X))


def test_a_position_out_of_range_is_refused(run):
    with pytest.raises(IndexError, match="out of range"):
        run(lambda x, i: tf.gather_nd(x, i))(tf.constant(X), tf.constant([[0, 3]]))
    with pytest.raises(IndexError, match="out of range"):
        run(lambda x, i: tf.tensor_scatter_nd_add(x, i, [1.0]))(tf.constant([1.0, 2.0]), tf.constant([[2]]))
    with pytest.raises(ValueError, match="one of the same sizes"):
        run(lambda x: tf.boolean_mask(x, [True, False, True]))(tf.constant(X))


WHERE = np.array([[0, 1], [1, 2], [0, 1]])
WRITES = {
    "update": (tf.tensor_scatter_nd_update, lambda x, u: _each(x, u, lambda a, b: b)),
    "add": (tf.tensor_scatter_nd_add, lambda x, u: _each(x, u, np.add)),
    "sub": (tf.tensor_scatter_nd_sub, lambda x, u: _each(x, u, np.subtract)),
    "max": (tf.tensor_scatter_nd_max, lambda x, u: _each(x, u, np.maximum)),
    "min": (tf.tensor_scatter_nd_min, lambda x, u: _each(x, u, np.minimum)),
}


def _each(x, updates, change):
    found = x.copy()
    for (i, j), u in zip(WHERE, updates, strict=True):
        found[i, j] = change(found[i, j], u)
    return found


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_updates_one_after_the_other_where_positions_repeat(name, dtype, run):
    function, reference = WRITES[name]
    x = (np.random.default_rng(1).normal(size=X.shape) * 9).astype(dtype)
    u = (np.random.default_rng(2).normal(size=(3, 4)) * 9).astype(dtype)
    found = run(lambda x, i, u: function(x, i, u))(tf.constant(x), tf.constant(WHERE), tf.constant(u))
    assert found.dtype == dtype
    np.testing.assert_allclose(found.numpy(), reference(x, u), rtol=1e-6)


@pytest.mark.parametrize("name", WRITES)
def test_derivatives_of_updates(name, run):
    function, reference = WRITES[name]
    x = np.random.default_rng(1).normal(size=X.shape)
    u = np.random.default_rng(2).normal(size=(3, 4))
    weights = np.random.default_rng(3).normal(size=X.shape)

    def gradient(x, u):
        with tf.GradientTape() as tape:
            tape.watch([x, u])
            total = tf.reduce_sum(weights * function(x, tf.constant(WHERE), u))
        return tape.gradient(total, [x, u])

    gx, gu = run(gradient)(tf.constant(x), tf.constant(u))
    step = 1e-6
    for given, found, at_point in ((x, gx, lambda v: reference(v, u)), (u, gu, lambda v: reference(x, v))):
        wanted = np.zeros_like(given)
        for place in np.ndindex(given.shape):
            up, down = given.copy(), given.copy()
            up[place] += step
            down[place] -= step
            wanted[place] = ((at_point(up) - at_point(down)) * weights).sum() / (2 * step)
        np.testing.assert_allclose(found.numpy(), wanted, atol=1e-8)


def test_the_largest_of_repeats_keeps_nan(run):
    f = run(lambda x, u: tf.tensor_scatter_nd_max(x, [[0], [0], [1]], u))
    found = f(tf.constant([1.0, 2.0]), tf.constant([np.nan, 5.0, -1.0], tf.float32)).numpy()
    assert np.isnan(found[0]) and found[1] == 2.0


def test_scatter_nd_adds_up_and_fills_with_zeros(run):
    f = run(lambda u: tf.scatter_nd([[4], [3], [4]], u, [6]))
    assert f(tf.constant([9, 10, 11])).numpy().tolist() == [0, 0, 0, 10, 20, 0]
    g = run(lambda u: tf.scatter_nd([[0], [2]], u, (3, 2)))
    assert g(tf.constant([[1.0, 2.0], [3.0, 4.0]])).numpy().tolist() == [[1, 2], [0, 0], [3, 4]]


def test_where_without_choices_gives_positions():
    assert tf.where([[True, False], [False, True]]).numpy().tolist() == [[0, 0], [1, 1]]
    found = tf.where(tf.constant([0.0, 2.0, 0.0, 3.0]))
    assert found.numpy().tolist() == [[1], [3]] and found.dtype == np.int64
    assert tf.where(tf.constant([False])).shape == (0, 1)
    assert tf.where(True).shape == (1, 0)
    with pytest.raises(ValueError, match="with both x and y"):
        tf.where([True], 1.0)


def test_where_takes_its_choices_by_name(run):
    f = run(lambda c: tf.where(condition=c, x=[1.0, 2.0], y=0.0))
    assert f(tf.constant([False, True])).numpy().tolist() == [0.0, 2.0]


def test_text_is_cut_and_joined_too():
    words = tf.constant(["a", "b", "c"])
    assert words[1].numpy() == b"b" and [w.numpy() for w in words] == [b"a", b"b", b"c"]
    assert tf.gather(words, [2, 0]).numpy().tolist() == [b"c", b"a"]
    assert tf.boolean_mask(words, [True, False, True]).numpy().tolist() == [b"a", b"c"]
    assert tf.reshape(words, (3, 1)).shape == (3, 1)
    assert tf.concat([words, words], 0).shape == (6,)
    assert tf.repeat(words, [1, 0, 2]).numpy().tolist() == [b"a", b"c", b"c"]
    assert tf.where([True, False, True], words, words[::-1]).numpy().tolist() == [b"a", b"b", b"c"]
    assert tf.fill([2], "x").numpy().tolist() == [b"x", b"x"]
    assert tf.zeros([2], tf.string).numpy().tolist() == [b"", b""]
    with pytest.raises(TypeError, match="not strings"):
        tf.transpose(words) + 1


def test_a_mask_of_numbers():
    guesses, labels = tf.constant([[0.1, 0.3, 0.6], [0.3, 0.2, 0.5]]), tf.constant([0, 2])
    with tf.GradientTape() as tape:
        tape.watch(guesses)
        chosen = tf.boolean_mask(guesses, tf.one_hot(labels, 3))
    assert chosen.numpy().tolist() == np.float32([0.1, 0.5]).tolist()
    assert tape.gradient(chosen, guesses).numpy().tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


def test_a_program_may_begin_with_where():
    code = "import tracejit as tf; print(int(tf.where(True, 1, 2)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "1\n", done.stderr
