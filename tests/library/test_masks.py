"""Which steps of sequences count: what layers say of it goes through layers that join, to losses and to metrics."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from tracejit.losses.steps import mask_of

L = tf.keras.layers
FIRST, SECOND = np.array([[1, 1, 0, 0]], bool), np.array([[1, 0, 1, 0]], bool)
X = np.sin(np.arange(12.0)).reshape(1, 4, 3).astype("float32")


class Marks(L.Layer):
    """Says which steps count."""

    def __init__(self, mask):
        super().__init__()
        self.mask = mask

    def compute_mask(self, inputs, mask=None):
        return tf.constant(self.mask)

    def call(self, inputs):
        return inputs + 0.0


def steps_of(y):
    mask = mask_of(y)
    return None if mask is None else mask.numpy().astype(int).tolist()


# As keras 3.15 has them.
@pytest.mark.parametrize("layer", [L.Add, L.Subtract, L.Multiply, L.Average, L.Maximum, L.Minimum])
def test_a_step_counts_in_what_is_joined_where_it_does_in_one(layer):
    x = tf.constant(X)
    assert steps_of(layer()([Marks(FIRST)(x), Marks(SECOND)(x)])) == [[1, 1, 1, 0]]
    assert steps_of(layer()([Marks(FIRST)(x), x])) is None


def test_steps_one_after_the_other():
    a, b = Marks(FIRST)(tf.constant(X)), Marks(SECOND)(tf.constant(X))
    x = tf.constant(X)
    assert steps_of(L.Concatenate(1)([a, b])) == [[1, 1, 0, 0, 1, 0, 1, 0]]
    assert steps_of(L.Concatenate(1)([x, a])) == [[1, 1, 1, 1, 1, 1, 0, 0]]
    assert steps_of(L.Concatenate(-1)([a, b])) == [[1, 1, 1, 0]]
    assert steps_of(L.Concatenate(2)([a, x])) == [[1, 1, 1, 1]]
    assert steps_of(L.Dot(1)([a, b])) is None


def test_steps_that_do_not_count_are_no_factors():
    y = L.Multiply()([Marks(FIRST)(tf.constant(X)), tf.constant(X)])
    np.testing.assert_allclose(y, np.where(FIRST[..., None], X * X, X), rtol=1e-6)
    y = L.Multiply()([Marks(FIRST)(tf.constant(X)), Marks(SECOND)(tf.constant(X))])
    power = (FIRST.astype(int) + SECOND)[..., None]
    np.testing.assert_allclose(y, np.where(power == 0, 0.0, np.where(power == 1, X, X * X)), rtol=1e-6)


# As keras 3.15 has them.
@pytest.mark.parametrize(("layer", "choose"), [(L.Maximum, np.maximum), (L.Minimum, np.minimum)])
def test_steps_that_do_not_count_are_not_chosen(layer, choose):
    first, second = X, np.cos(X)
    a, b = Marks(FIRST)(tf.constant(first)), Marks(SECOND)(tf.constant(second))
    both, mask, other = choose(first, second), FIRST[..., None], SECOND[..., None]
    np.testing.assert_array_equal(layer()([a, tf.constant(second)]), np.where(mask, both, second))
    np.testing.assert_array_equal(layer()([tf.constant(first), b]), np.where(other, both, first))
    known = np.where(mask & other, both, np.where(mask, first, second))
    np.testing.assert_array_equal(layer()([a, b])[:, :3], known[:, :3])
    three = layer()([a, b, tf.constant(first * 0.5)])
    np.testing.assert_array_equal(three[:, :3], choose(known, first * np.float32(0.5))[:, :3])
    x = tf.Variable(first)
    with tf.GradientTape() as tape:
        y = layer()([Marks(FIRST)(x + 0.0), tf.constant(second)])
    chosen = mask & (both == first)
    np.testing.assert_array_equal(tape.gradient(y, x), chosen.astype("float32"))


@pytest.mark.parametrize(
    "layer",
    [L.ReLU(), L.LeakyReLU(), L.ELU(), L.Softmax(), L.Rescaling(2.0), L.LSTM(2, return_sequences=True)],
)
def test_layers_that_hand_masks_on(layer):
    assert layer.supports_masking
    assert steps_of(layer(Marks(FIRST)(tf.constant(X)))) == [[1, 1, 0, 0]]


def test_layers_of_several_inputs_are_given_the_masks_of_each():
    class Counted(L.Layer):
        def call(self, inputs, mask=None):
            counts = [0.0 if m is None else tf.reduce_sum(tf.cast(m, tf.float32)) for m in mask]
            return tf.stack(counts)

    x = tf.constant(X)
    np.testing.assert_array_equal(Counted()([Marks(FIRST)(x), x, Marks(SECOND[:, :3])(x)]), [2.0, 0.0, 2.0])


@pytest.mark.parametrize("keepdims", [False, True])
def test_means_over_steps_are_those_of_steps_that_count(keepdims):
    layer = L.GlobalAveragePooling1D(keepdims=keepdims)
    x = np.concatenate([X, X + 1])
    x[0, 2] = np.nan
    mask = np.concatenate([FIRST, SECOND])
    expected = np.stack([x[0, :2].mean(0), x[1, ::2].mean(0)])
    found = layer(Marks(mask)(tf.constant(x))).numpy()
    np.testing.assert_allclose(found.reshape(2, 3), expected, rtol=1e-6)
    assert found.ndim == 2 + keepdims
    first = L.GlobalAveragePooling1D("channels_first")(
        tf.constant(x.transpose(0, 2, 1)), mask=tf.constant(mask)
    )
    np.testing.assert_allclose(first, expected, rtol=1e-6)


def test_means_over_steps_of_open_sizes_are_compiled():
    net = tf.Sequential([L.Embedding(5, 2, mask_zero=True), L.GlobalAveragePooling1D()])
    numbers = np.array([[1, 2, 0], [3, 0, 0]], "int32")
    eager = net(numbers)
    compiled = tf.function(net, input_signature=[tf.TensorSpec([None, None], tf.int32)])
    np.testing.assert_allclose(compiled(tf.constant(numbers)), eager, rtol=1e-6)
    rows = net.get_weights()[0]
    np.testing.assert_allclose(eager, [(rows[1] + rows[2]) / 2, rows[3]], rtol=1e-6)
    assert tf.reduce_any(tf.math.is_nan(net(np.zeros((1, 3), "int32"))))


def test_short_floats_keep_the_masks_of_all_arguments():
    policy = "mixed_bfloat16"
    x = tf.constant(X)
    joined = L.Add(dtype=policy)([Marks(FIRST)(x), Marks(SECOND)(x)])
    assert steps_of(joined) == [[1, 1, 1, 0]]
    layer = L.MultiHeadAttention(1, 2, dtype=policy)
    _, weights = layer(x, Marks(FIRST)(x), return_attention_scores=True)
    assert not weights.numpy().astype("float32")[..., 2:].any()


def test_both_directions_give_zeros_where_a_step_does_not_count():
    for mode in ("concat", "sum", "mul", "ave"):
        y = L.Bidirectional(L.GRU(2, return_sequences=True), merge_mode=mode)(Marks(SECOND)(tf.constant(X)))
        np.testing.assert_array_equal(y.numpy().any(-1), SECOND)
    each = L.Bidirectional(L.GRU(2, return_sequences=True), merge_mode=None)(Marks(SECOND)(tf.constant(X)))
    assert [steps_of(y) for y in each] == [[[1, 0, 1, 0]]] * 2


@pytest.mark.parametrize("run_eagerly", [False, True])
def test_metrics_that_are_means_leave_steps_out_too(run_eagerly):
    net = tf.Sequential([L.Embedding(4, 3, mask_zero=True), L.Dense(3, activation="softmax")])
    numbers = np.array([[1, 2, 0, 0], [3, 0, 1, 2]])
    labels = np.array([[0, 1, 2, 0], [1, 2, 0, 2]])
    each = np.array([[1.0, 2.0, 3.0, 4.0], [0.5, 1.0, 2.0, 1.0]], "float32")
    net.compile(
        "sgd",
        "sparse_categorical_crossentropy",
        metrics=["accuracy", tf.metrics.SparseCategoricalCrossentropy(name="ce")],
        weighted_metrics=[tf.metrics.SparseCategoricalAccuracy(name="weighted")],
        run_eagerly=run_eagerly,
    )
    found = net.evaluate(numbers, labels, sample_weight=each, verbose=0, return_dict=True)
    scores, counts = net(numbers).numpy(), numbers != 0
    right = scores.argmax(-1) == labels
    entropies = -np.log(np.take_along_axis(scores, labels[..., None], -1))[..., 0]
    np.testing.assert_allclose(found["accuracy"], right[counts].mean(), rtol=1e-6)
    np.testing.assert_allclose(found["ce"], entropies[counts].mean(), rtol=1e-5)
    np.testing.assert_allclose(
        found["weighted"], (right * each)[counts].sum() / each[counts].sum(), rtol=1e-5
    )


def masked_predictions():
    """Predictions of 2 x 4 steps with a mask, and what they are."""
    embedding = L.Embedding(4, 3, mask_zero=True)
    numbers = np.array([[1, 2, 0, 0], [3, 0, 1, 2]])
    return embedding(numbers), numbers != 0


LABELS = np.array([[0, 1, 2, 0], [1, 2, 0, 2]])
OF_STEPS = np.array([[1.0, 2.0, 3.0, 4.0], [0.5, 1.0, 2.0, 1.0]], "float32")


# As keras 3.15 has them: a loss that a program calls itself leaves steps out as that of fit() does.
@pytest.mark.parametrize("weights", [None, OF_STEPS])
@pytest.mark.parametrize("run", [tf.function, lambda f: f])
def test_losses_that_are_called_leave_steps_out(weights, run):
    embedding, numbers = L.Embedding(4, 3, mask_zero=True), tf.constant([[1, 2, 0, 0], [3, 0, 1, 2]])

    @run
    def value(reduction):
        loss = tf.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=reduction)
        return loss(LABELS, embedding(numbers), weights)

    scores, counts = embedding(numbers).numpy(), numbers.numpy() != 0
    each = np.log(np.exp(scores).sum(-1)) - np.take_along_axis(scores, LABELS[..., None], -1)[..., 0]
    weight = counts * (1.0 if weights is None else weights)
    weighted = each * weight
    np.testing.assert_allclose(value("none"), weighted, rtol=1e-5)
    np.testing.assert_allclose(value("sum"), weighted.sum(), rtol=1e-5)
    np.testing.assert_allclose(value("sum_over_batch_size"), weighted.sum() / counts.sum(), rtol=1e-5)
    np.testing.assert_allclose(value("mean_with_sample_weight"), weighted.sum() / weight.sum(), rtol=1e-5)


def test_a_sum_in_training_does_not_make_the_steps_that_count_weigh_more():
    net = tf.Sequential([L.Embedding(4, 3, mask_zero=True), L.Dense(2)])
    numbers, labels = np.array([[1, 2, 0, 0], [3, 0, 1, 2]]), np.ones((2, 4, 2), "float32")
    net.compile("sgd", tf.losses.MeanSquaredError(reduction="sum"))
    found = net.evaluate(numbers, labels, verbose=0)
    each = ((net(numbers).numpy() - labels) ** 2).mean(-1)
    np.testing.assert_allclose(found, each[numbers != 0].sum(), rtol=1e-5)


@pytest.mark.parametrize("compiled", [False, True])
def test_an_ignored_class_is_left_out_of_the_mean(compiled):
    scores, labels = np.sin(np.arange(12.0)).reshape(4, 3).astype("float32"), np.array([0, -1, 2, -1])
    loss = tf.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1)
    value = (tf.function(loss) if compiled else loss)(labels, scores)
    kept = labels >= 0
    each = np.log(np.exp(scores).sum(-1))[kept] - scores[kept, labels[kept]]
    np.testing.assert_allclose(value, each.mean(), rtol=1e-5)


def test_attention_leaves_the_masks_of_what_it_is_given():
    x, counts = masked_predictions()
    layer = L.MultiHeadAttention(2, 3)
    first, second = layer(x, x), layer(x, x)
    np.testing.assert_array_equal(first, second)
    assert steps_of(x) == steps_of(first) == steps_of(L.Add()([x, first])) == counts.astype(int).tolist()


@pytest.mark.parametrize("compiled", [False, True])
def test_statistics_of_batches_are_of_steps_that_count(compiled):
    layer = L.BatchNormalization(momentum=0.0, epsilon=0.0)
    x, counts = (
        np.sin(np.arange(24.0)).reshape(2, 4, 3).astype("float32"),
        np.array([[1, 1, 0, 0], [1, 0, 1, 1]], bool),
    )
    call = tf.function(layer) if compiled else layer
    y = call(tf.constant(x), training=True, mask=counts)
    mean, variance = x[counts].mean(0), x[counts].var(0)
    np.testing.assert_allclose(layer.moving_mean, mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(layer.moving_variance, variance, rtol=1e-5)
    np.testing.assert_allclose(y, (x - mean) / np.sqrt(variance), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="takes a mask of the inputs without their last axis"):
        layer(x, mask=counts[..., None], training=True)


def test_functions_as_layers_are_given_masks_and_say_them():
    x, counts = masked_predictions()
    assert steps_of(L.Lambda(lambda v: v * 2.0)(x)) is None
    assert (
        steps_of(L.Lambda(lambda v: v + 0.0, mask=lambda v, mask: tf.logical_not(mask))(x))
        == (1 - counts).tolist()
    )
    assert (
        steps_of(L.Lambda(lambda v: v * 1.0, mask=tf.constant(counts))(tf.zeros((2, 4))))
        == counts.astype(int).tolist()
    )
    weigh = L.Lambda(lambda v, mask=None: v * tf.cast(mask, v.dtype)[..., tf.newaxis])
    np.testing.assert_array_equal(weigh(x), x.numpy() * counts[..., None])
    scale = L.Lambda(lambda v, k, training=None: v * (k if training else 1.0), arguments={"k": 3.0})
    np.testing.assert_array_equal(scale(x, training=True), x.numpy() * np.float32(3.0))


def test_a_softmax_of_the_entries_that_count():
    counts = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]], bool)[np.newaxis]
    y = L.Softmax()(tf.constant(X), mask=counts)
    powers = np.exp(X) * counts
    np.testing.assert_allclose(y, powers / np.maximum(powers.sum(-1, keepdims=True), 1e-30), rtol=1e-6)
    np.testing.assert_array_equal(L.Softmax()(Marks(FIRST)(tf.constant(X))), L.Softmax()(tf.constant(X)))


@pytest.mark.parametrize("compiled", [False, True])
def test_a_mask_of_fewer_axes_broadcasts_to_what_a_softmax_is_given(compiled):
    softmax, x = L.Softmax(), tf.constant(X)
    f = tf.function(lambda x, m: softmax(x, mask=m)) if compiled else (lambda x, m: softmax(x, mask=m))
    for counts in (np.array([1, 0, 1]), np.array([[1, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 1]], bool)):
        whole = np.broadcast_to(counts, X.shape)
        np.testing.assert_allclose(f(x, tf.constant(counts)), softmax(x, mask=whole), rtol=1e-6)
        assert not f(x, tf.constant(counts)).numpy()[whole == 0].any()
    with pytest.raises(ValueError, match="broadcast"):
        softmax(x, mask=np.ones(2, bool))
