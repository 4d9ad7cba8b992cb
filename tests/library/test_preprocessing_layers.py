"""Layers that make numbers of words, categories and images. Expected numbers are those that Keras gives."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

L = tf.keras.layers
WORDS = ["a b", "c", "b", "c", "d", "d", "e"]


@pytest.mark.parametrize("mode", ["multi_hot", "one_hot", "count"])
@pytest.mark.parametrize("compiled", [False, True])
def test_categories_become_rows(mode, compiled):
    layer = L.CategoryEncoding(4, output_mode=mode)
    call = tf.function(layer) if compiled else layer
    expected = {
        "multi_hot": [[1, 1, 0, 0], [0, 0, 0, 1]],
        "one_hot": [[[1, 0, 0, 0], [0, 1, 0, 0]], [[0, 0, 0, 1], [0, 0, 0, 1]]],
        "count": [[1, 1, 0, 0], [0, 0, 0, 2]],
    }
    np.testing.assert_array_equal(call(np.array([[0, 1], [3, 3]])), expected[mode])
    assert call(np.array(3)).shape == ((1, 4) if mode == "one_hot" else (4,))
    assert call(np.array([[0], [2]])).shape == (2, 4)
    np.testing.assert_array_equal(call(np.array([[9, -1]]))[0], np.zeros((2, 4) if mode == "one_hot" else 4))


def test_weights_of_categories():
    layer = L.CategoryEncoding(4, output_mode="count")
    found = layer(np.array([[0, 1], [3, 3]]), count_weights=np.array([[0.5, 1.0], [2.0, 3.0]]))
    np.testing.assert_array_equal(found, [[0.5, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 5.0]])
    with pytest.raises(ValueError, match="count_weights go with output_mode='count'"):
        L.CategoryEncoding(4)([[1]], count_weights=[[1.0]])


@pytest.mark.parametrize(
    "options, words, numbers",
    [
        ({}, ["[UNK]", "d", "c", "e", "b", "a b"], [[2, 1], [3, 0]]),
        ({"max_tokens": 3}, ["[UNK]", "d", "c"], [[2, 1], [0, 0]]),
        ({"mask_token": "[M]"}, ["[M]", "[UNK]", "d", "c", "e", "b", "a b"], [[3, 2], [4, 1]]),
    ],
)
def test_words_are_numbered_by_how_often_they_are(options, words, numbers):
    layer = L.StringLookup(**options)
    layer.adapt(WORDS)
    assert layer.get_vocabulary() == words and layer.vocabulary_size() == len(words)
    text = tf.constant([["c", "d"], ["e", "?"]])
    np.testing.assert_array_equal(layer(text), numbers)
    assert layer(text).dtype == tf.int64
    np.testing.assert_array_equal(tf.function(layer)(text), numbers)
    back = L.StringLookup(vocabulary=layer.get_vocabulary(), invert=True, **options)
    assert back(layer(text)).numpy()[0].tolist() == [b"c", b"d"]
    assert back(tf.constant([99])).numpy().tolist() == [b"[UNK]"]


def test_words_of_a_dataset_and_of_a_copy():
    layer = L.StringLookup(output_mode="count")
    layer.adapt(tf.data.Dataset.from_tensor_slices(WORDS).batch(3))
    again = L.StringLookup.from_config(layer.get_config())
    assert again.get_vocabulary() == layer.get_vocabulary()
    np.testing.assert_array_equal(again([["d", "d", "?"]]), [[1, 2, 0, 0, 0, 0]])


def test_what_is_not_known_is_refused_where_it_has_no_number():
    layer = L.StringLookup(num_oov_indices=0, vocabulary=["a"])
    assert layer(["a"]).numpy().tolist() == [0]
    with pytest.raises(ValueError, match="does not know"):
        layer(["b"])
    with pytest.raises(ValueError, match="knows no tokens yet"):
        L.StringLookup()(["a"])
    with pytest.raises(ValueError, match="stand in it twice"):
        L.StringLookup(vocabulary=["a", "a"])
    with pytest.raises(ValueError, match="num_oov_indices is 1 or 0"):
        L.StringLookup(num_oov_indices=2)
    with pytest.raises(ValueError, match="does not know"):
        L.IntegerLookup(num_oov_indices=0, vocabulary=[4])([5])


def test_weights_of_words_by_documents():
    layer = L.StringLookup(output_mode="tf_idf")
    layer.adapt(np.array([["a", "b"], ["b", "b"]], object))
    weights = {"b": np.log(1 + 2 / 3), "a": np.log(1 + 2 / 2)}
    mean = sum(weights.values()) / 2
    np.testing.assert_allclose(layer([["b", "b", "?"]]), [[mean, 2 * weights["b"], 0.0]], rtol=1e-6)


@pytest.mark.parametrize("compiled", [False, True])
def test_whole_numbers_are_numbered(compiled):
    layer = L.IntegerLookup()
    layer.adapt(np.array([[1, 5, 5], [7, 7, 7]]))
    assert layer.get_vocabulary() == [-1, 7, 5, 1]
    call = tf.function(layer) if compiled else layer
    np.testing.assert_array_equal(call(np.array([[7, 5, 99], [1, 1, 7]])), [[1, 2, 0], [3, 3, 1]])
    masked = L.IntegerLookup(vocabulary=[3, 9, 4], mask_token=0)
    np.testing.assert_array_equal((tf.function(masked) if compiled else masked)([3, 9, 0, 8]), [2, 3, 0, 1])
    back = L.IntegerLookup(vocabulary=[7, 8], invert=True)
    np.testing.assert_array_equal((tf.function(back) if compiled else back)([0, 1, 2, 5]), [-1, 7, 8, -1])


TEXTS = ["The cat, sat!", "the DOG sat on sat", "", "a-b é"]


@pytest.mark.parametrize(
    "options, words, numbers",
    [
        ({}, ["", "[UNK]", "sat", "the", "é", "on", "dog", "cat", "ab"], [[3, 7, 2], [6, 0, 0]]),
        (
            {"output_sequence_length": 2},
            ["", "[UNK]", "sat", "the", "é", "on", "dog", "cat", "ab"],
            [[3, 7], [6, 0]],
        ),
        ({"max_tokens": 4}, ["", "[UNK]", "sat", "the"], [[3, 1, 2], [1, 0, 0]]),
        ({"ngrams": (2,), "max_tokens": 3}, ["", "[UNK]", "the dog"], [[1, 1], [0, 0]]),
        ({"split": None, "max_tokens": 3}, ["", "[UNK]", "the dog sat on sat"], [1, 1]),
    ],
)
def test_texts_become_numbers(options, words, numbers):
    layer = L.TextVectorization(**options)
    layer.adapt(TEXTS)
    assert layer.get_vocabulary() == words
    np.testing.assert_array_equal(layer(["the cat sat", "dog"]), numbers)
    np.testing.assert_array_equal(layer([["the cat sat"], ["dog"]]), numbers)
    again = L.TextVectorization.from_config(layer.get_config())
    np.testing.assert_array_equal(again(["the cat sat", "dog"]), numbers)


def test_texts_in_a_compiled_function_and_in_a_dataset():
    layer = L.TextVectorization(output_sequence_length=3)
    layer.adapt(tf.data.Dataset.from_tensor_slices(TEXTS).batch(2))
    np.testing.assert_array_equal(tf.function(layer)(tf.constant(["sat the"])), layer(["sat the"]))
    rows = list(tf.data.Dataset.from_tensor_slices(["the", "sat sat"]).batch(2).map(layer))
    np.testing.assert_array_equal(rows[0], [[3, 0, 0], [2, 2, 0]])
    endless = L.TextVectorization(vocabulary=["a"])
    with pytest.raises(ValueError, match="say output_sequence_length"):
        tf.function(endless)(tf.constant(["a"]))
    with pytest.raises(tf.ShapeError, match="takes texts"):
        layer(tf.constant([["a", "b"]]))


def test_texts_are_tidied_and_cut_by_functions():
    layer = L.TextVectorization(
        standardize=lambda text: tf.strings.regex_replace(text, "x", " "),
        split=tf.strings.split,
        vocabulary=["a", "b"],
    )
    np.testing.assert_array_equal(layer(["axb", "b"]), [[2, 3], [3, 0]])
    counted = L.TextVectorization(output_mode="count", vocabulary=["a", "b"])
    np.testing.assert_array_equal(counted(["a b B c", ""]), [[1, 1, 2], [0, 0, 0]])


def image(seed=0, shape=(2, 5, 6, 3)):
    return tf.constant(np.random.default_rng(seed).uniform(0, 255, shape).astype(np.float32))


CHANGES = [
    L.RandomFlip(seed=3),
    L.RandomContrast(0.5, seed=3),
    L.RandomBrightness(0.5, seed=3),
    L.RandomRotation(0.2, seed=3),
    L.RandomTranslation(0.3, 0.2, seed=3),
    L.RandomZoom(0.3, 0.2, seed=3),
]


def drawn_first(f, *args):
    """What `f` gives with the numbers that a seed of 0 draws first."""
    tf.random.set_seed(0)
    return f(*args)


@pytest.mark.parametrize("layer", CHANGES, ids=lambda layer: type(layer).__name__)
def test_what_changes_by_chance_does_so_while_training(layer):
    x = image()
    np.testing.assert_array_equal(layer(x, training=False), x)
    changed = drawn_first(layer, x)
    assert not np.array_equal(changed, x)
    np.testing.assert_array_equal(drawn_first(lambda x: layer(x, training=True), x), changed)
    np.testing.assert_allclose(drawn_first(tf.function(lambda x: layer(x)), x), changed, rtol=1e-4, atol=1e-3)
    assert layer(x[0]).shape == (5, 6, 3)
    model = tf.Sequential([layer])
    np.testing.assert_array_equal(model.predict(x, verbose=0), x)
    again = type(layer).from_config(layer.get_config())
    np.testing.assert_array_equal(drawn_first(again, x), changed)


@pytest.mark.parametrize("layer", CHANGES[3:], ids=lambda layer: type(layer).__name__)
@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_go_back_to_the_pixels_that_are_read(layer, compiled):
    x = image(shape=(1, 3, 4, 1))
    weight = tf.constant(np.random.default_rng(1).normal(size=(1, 3, 4, 1)).astype(np.float32))
    gradient_of = tf.grad(lambda x: tf.reduce_sum(layer(x, training=True) * weight))
    gradient = drawn_first(tf.function(gradient_of) if compiled else gradient_of, x)
    units = np.eye(12, dtype=np.float32)
    matrix = np.array([np.ravel(drawn_first(layer, tf.reshape(row, x.shape))) for row in units])
    np.testing.assert_allclose(np.ravel(gradient), matrix @ np.ravel(weight), rtol=1e-4, atol=1e-5)


ROW = tf.reshape(tf.range(1.0, 5.0), (1, 1, 4, 1))


@pytest.mark.parametrize(
    "mode, seen",
    [
        ("constant", [9, 9, 1, 2, 3, 4, 9, 9]),
        ("nearest", [1, 1, 1, 2, 3, 4, 4, 4]),
        ("reflect", [2, 1, 1, 2, 3, 4, 4, 3]),
        ("wrap", [3, 4, 1, 2, 3, 4, 1, 2]),
    ],
)
def test_what_is_seen_beyond_the_edges(mode, seen):
    for steps in (-2, -1, 0, 1, 2):
        layer = L.RandomTranslation(0.0, (steps / 4, steps / 4), mode, fill_value=9.0)
        np.testing.assert_allclose(np.ravel(layer(ROW)), seen[2 - steps : 6 - steps], rtol=1e-5)


def test_turns_and_sizes():
    x = tf.reshape(tf.range(1.0, 10.0), (1, 3, 3, 1))
    turned = L.RandomRotation((0.25, 0.25))(x)
    np.testing.assert_allclose(np.reshape(turned, (3, 3)), np.rot90(np.reshape(x, (3, 3))), atol=1e-4)
    halves = L.RandomTranslation(0.0, (0.125, 0.125), "nearest")(ROW)
    np.testing.assert_allclose(np.ravel(halves), [1.0, 1.5, 2.5, 3.5], rtol=1e-6)
    smaller = L.RandomZoom((1.0, 1.0), fill_mode="constant", interpolation="nearest")(x)
    np.testing.assert_array_equal(np.reshape(smaller, (3, 3)), [[0, 0, 0], [0, 5, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match="fill_mode is one of"):
        L.RandomZoom(0.1, fill_mode="mirror")
    with pytest.raises(tf.ShapeError, match="takes images"):
        L.RandomFlip()(tf.ones((2, 2)))


def test_sizes_of_images():
    x = image()
    np.testing.assert_array_equal(L.CenterCrop(3, 3)(x), x[:, 1:4, 1:4])
    assert L.CenterCrop(7, 4)(x).shape == (2, 7, 4, 3)
    assert L.CenterCrop(2, 3)(tf.cast(x, "uint8")).dtype == tf.float32
    small = L.Resizing(3, 4)(tf.cast(x, "uint8"))
    assert small.shape == (2, 3, 4, 3) and small.dtype == tf.uint8
    exact = tf.image.resize(tf.cast(x, "uint8"), (3, 4))
    np.testing.assert_array_equal(small, tf.cast(tf.round(exact), "uint8"))
    square = L.Resizing(5, 5, crop_to_aspect_ratio=True)(x)
    np.testing.assert_array_equal(square, x[:, :, :5])
