"""Losses and cross entropies: the field's values and gradients, stable at the edges, reduced and weighted."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

LABELS = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
P = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
LOGITS = np.array([[1.0, -2.0, 0.5], [3.0, 0.0, -1.0]])
WEIGHTS = np.array([0.25, 2.0])

# Computed by keras 3.15 with the TensorFlow backend in float64: the loss, the loss with sample_weight=WEIGHTS, the
# gradient of the loss with respect to the predictions.
KERAS = {
    "MeanSquaredError": (
        {},
        LABELS,
        LOGITS,
        2.5416666666666665,
        2.09375,
        [[1 / 3, -1.0, 1 / 6], [2 / 3, 0.0, -1 / 3]],
    ),
    "MeanAbsoluteError": (
        {},
        LABELS,
        LOGITS,
        1.25,
        1.1875,
        [[1 / 6, -1 / 6, 1 / 6], [1 / 6, 0.0, -1 / 6]],
    ),
    "Huber": (
        {"delta": 1.5},
        LABELS,
        LOGITS,
        1.0625,
        0.9583333333333333,
        [[1 / 6, -0.25, 1 / 12], [0.25, 0.0, -1 / 6]],
    ),
    "BinaryCrossentropy": (
        {},
        LABELS,
        P,
        0.3743044598625729,
        0.37732726427972013,
        [
            [0.20833333333333331, -1 / 3, 0.23809523809523808],
            [-0.2777777777777778, 0.23809523809523808, 0.18518518518518517],
        ],
    ),
    "BinaryCrossentropy-logits": (
        {"from_logits": True, "label_smoothing": 0.1},
        LABELS,
        LOGITS,
        0.9157104837322021,
        0.594968184998191,
        [
            [0.11350976310500081, -0.13846617966298042, 0.09540988853364242],
            [0.00042902113707220073, 0.075, 0.03649023689499919],
        ],
    ),
    "CategoricalCrossentropy": (
        {},
        LABELS,
        1.7 * P,
        0.601986402162968,
        0.5974690213359839,
        [
            [0.29411764705882354, -0.29411764705882354, 0.29411764705882354],
            [-0.19607843137254904, 0.29411764705882354, 0.29411764705882354],
        ],
    ),
    "CategoricalCrossentropy-logits": (
        {"from_logits": True, "label_smoothing": 0.1},
        LABELS,
        LOGITS,
        1.8102404030498565,
        0.7143751832168812,
        [
            [0.28520778140764624, -0.4516372228818797, 0.16642944147423344],
            [0.001453109271586206, 0.006639644622320282, -0.00809275389390647],
        ],
    ),
    "SparseCategoricalCrossentropy-logits": (
        {"from_logits": True},
        np.array([1, 0]),
        LOGITS,
        1.7852404030498563,
        0.5039585165502145,
        [
            [0.3018744480743129, -0.484970556215213, 0.1830961081409001],
            [-0.03188022406174712, 0.02330631128898695, 0.008573912772760196],
        ],
    ),
}


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f, *xs: f(*xs)) if request.param == "eager" else (lambda f, *xs: tf.function(f)(*xs))


def loss_of(name):
    return getattr(tf.losses, name.split("-")[0])(**KERAS[name][0])


@pytest.mark.parametrize("name", KERAS)
def test_values_and_gradients_are_those_of_keras(name, run):
    _, y_true, y_pred, value, weighted, gradient = KERAS[name]
    loss, y_pred = loss_of(name), tf.constant(y_pred)
    assert run(lambda p: loss(y_true, p), y_pred).item() == pytest.approx(value, rel=1e-13)
    assert run(lambda p: loss(y_true, p, sample_weight=WEIGHTS), y_pred).item() == pytest.approx(
        weighted, rel=1e-13
    )
    found = run(tf.grad(lambda p: loss(y_true, p)), y_pred).numpy()
    np.testing.assert_allclose(found, gradient, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("name", KERAS)
def test_second_derivatives(name, run):
    _, y_true, y_pred, *_ = KERAS[name]
    loss, h = loss_of(name), 1e-6
    y_pred = y_pred + 0.01  # away from the kinks
    direction = np.array([[1.0, -0.5, 0.25], [2.0, -1.0, 0.5]])
    gradient = tf.grad(lambda p: loss(y_true, p))
    second = run(tf.grad(lambda p: tf.reduce_sum(gradient(p) * direction)), tf.constant(y_pred)).numpy()
    towards = [gradient(tf.constant(y_pred + s * h * direction)).numpy() for s in (1, -1)]
    np.testing.assert_allclose(second, (towards[0] - towards[1]) / (2 * h), rtol=1e-5, atol=1e-7)


def test_probabilities_of_class_numbers(run):
    loss = tf.losses.SparseCategoricalCrossentropy()
    found = run(lambda p: loss([1, 0], p), tf.constant(1.7 * P)).item()
    assert found == pytest.approx(-(np.log(0.5) + np.log(0.6)) / 2, rel=1e-13)
    column = run(lambda p: loss([[1], [0]], p), tf.constant(P)).item()
    assert column == pytest.approx(found, rel=1e-13)


def test_reductions():
    y_true, y_pred = [[0.0, 0.0], [0.0, 0.0]], [[1.0, 3.0], [0.0, 2.0]]
    for reduction in ("sum_over_batch_size", "mean", "auto"):
        assert tf.losses.MeanSquaredError(reduction)(y_true, y_pred).item() == 3.5
    assert tf.losses.MeanSquaredError("sum")(y_true, y_pred).item() == 7.0
    for reduction in ("none", None):
        assert tf.losses.MeanSquaredError(reduction)(y_true, y_pred).numpy().tolist() == [5.0, 2.0]
    weighted = tf.losses.MeanSquaredError("none")(y_true, y_pred, sample_weight=[[1.0], [0.5]])
    assert weighted.numpy().tolist() == [5.0, 1.0]
    with pytest.raises(ValueError, match=r"reduction is one of .* got 'average'"):
        tf.losses.Huber(reduction="average")


def test_a_column_of_targets_does_not_spread_over_a_row_of_predictions():
    y_true, y_pred = [[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0]
    assert tf.losses.MeanSquaredError()(y_true, y_pred).item() == 0.0
    assert tf.losses.MeanSquaredError()(y_pred, y_true).item() == 0.0


def test_integers_and_bools_as_targets():
    assert tf.losses.MeanSquaredError()(tf.constant([1, 2]), tf.constant([1.5, 2.5])).item() == 0.25
    assert tf.losses.BinaryCrossentropy()(np.array([True, False]), [0.5, 0.5]).item() == pytest.approx(
        np.log(2)
    )
    assert tf.losses.mse(1.0, 3.0).item() == 4.0


def test_huber_beyond_delta(run):
    x = tf.constant(np.array([-np.inf, -3.0, -1.0, 0.0, 0.5, 1.0, 1e200, np.inf]))
    gradient = run(tf.grad(lambda x: tf.reduce_sum(tf.losses.huber(0.0 * 0.0, tf.reshape(x, (8, 1))))), x)
    assert gradient.numpy().tolist() == [-1, -1, -1, 0, 0.5, 1, 1, 1]


def test_sigmoid_cross_entropy_is_exact_everywhere(run):
    x = np.array([-1000.0, -40.0, 0.0, 40.0, 1000.0])
    for z in (0.0, 1.0, 0.25):
        f = lambda v, z=z: tf.nn.sigmoid_cross_entropy_with_logits(z * np.ones(5), v)
        expected = np.maximum(x, 0) - x * z + np.log1p(np.exp(-np.abs(x)))
        np.testing.assert_allclose(run(f, tf.constant(x)).numpy(), expected, rtol=1e-13, atol=1e-16)
        gradient = run(tf.grad(lambda v, f=f: tf.reduce_sum(f(v))), tf.constant(x)).numpy()
        np.testing.assert_allclose(gradient, 1 / (1 + np.exp(-np.clip(x, -700, 700))) - z, atol=1e-16)
    tiny = run(
        lambda v: tf.nn.sigmoid_cross_entropy_with_logits([1.0], v), tf.constant(np.array([40.0]))
    ).item()
    assert tiny == pytest.approx(np.exp(-40.0), rel=1e-12)


def test_weighted_cross_entropy(run):
    # tf.nn.weighted_cross_entropy_with_logits(z, x, 3.0) is 3 z softplus(-x) + (1 - z) softplus(x)
    z, x = np.array([0.0, 1.0, 0.5]), np.array([0.3, -0.2, 2.0])
    found = run(lambda v: tf.nn.weighted_cross_entropy_with_logits(z, v, 3.0), tf.constant(x)).numpy()
    np.testing.assert_allclose(
        found, 3 * z * np.log1p(np.exp(-x)) + (1 - z) * np.log1p(np.exp(x)), rtol=1e-13
    )


def test_softmax_cross_entropy_of_extreme_logits(run):
    logits = tf.constant([[1e4, -1e4, 0.0], [0.0, 0.0, 1e30]])
    dense = run(
        lambda x: tf.nn.softmax_cross_entropy_with_logits([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], x), logits
    )
    sparse = run(lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits([1, 2], x), logits)
    assert dense.numpy().tolist() == sparse.numpy().tolist() == [2e4, 0.0]


def test_gradients_reach_the_labels_too(run):
    gradient = run(
        tf.grad(lambda z: tf.reduce_sum(tf.nn.softmax_cross_entropy_with_logits(z, LOGITS))),
        tf.constant(LABELS),
    )
    np.testing.assert_allclose(gradient.numpy(), -tf.nn.log_softmax(LOGITS).numpy(), rtol=1e-14)


def test_other_axes_and_more_axes(run):
    logits = np.random.default_rng(3).normal(size=(2, 3, 4))
    labels = np.array([[0, 1, 3], [2, 2, 0]])
    sparse = run(
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels, x), tf.constant(logits)
    ).numpy()
    hot = np.eye(4)[labels]
    dense = run(lambda x: tf.nn.softmax_cross_entropy_with_logits(hot, x), tf.constant(logits)).numpy()
    np.testing.assert_allclose(sparse, dense, rtol=1e-13)
    turned = run(
        lambda x: tf.nn.softmax_cross_entropy_with_logits(np.moveaxis(hot, -1, 1), x, axis=1),
        tf.constant(np.moveaxis(logits, -1, 1)),
    )
    np.testing.assert_allclose(turned.numpy(), dense, rtol=1e-13)


@pytest.mark.parametrize("label", [3, -1, 5])
def test_a_label_that_is_no_class_is_refused(label, run):
    with pytest.raises(IndexError):
        run(lambda z: tf.nn.sparse_softmax_cross_entropy_with_logits(z, LOGITS), tf.constant([0, label]))


def test_errors_name_both_shapes():
    with pytest.raises(ValueError, match=r"labels of int32\[3\] for scores of float64\[2,3\]"):
        tf.nn.sparse_softmax_cross_entropy_with_logits([0, 1, 2], LOGITS)
    with pytest.raises(TypeError, match="class numbers are integers, got float32"):
        tf.nn.sparse_softmax_cross_entropy_with_logits([0.0, 1.0], LOGITS)


def test_no_examples():
    empty = np.zeros((0, 3))
    assert tf.nn.softmax_cross_entropy_with_logits(empty, empty).shape == (0,)
    labels = np.zeros((0,), np.int32)
    assert tf.nn.sparse_softmax_cross_entropy_with_logits(labels, empty).shape == (0,)


def test_an_unknown_number_of_examples():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([None, 3], tf.float64)])
    def gradient(labels, logits):
        loss = lambda x: tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, x))
        return tf.grad(loss)(logits)

    for n in (0, 1, 2):
        labels, logits = np.array([1, 0], np.int32)[:n], LOGITS[:n]
        expected = tf.nn.softmax(logits).numpy() - np.eye(3)[labels]
        np.testing.assert_allclose(gradient(labels, logits).numpy(), expected, rtol=1e-13)
    assert gradient.experimental_get_tracing_count() == 1


# ---- the further losses ---------------------------------------------------------------------------------

Y = np.array([[0.0, 1.0], [1.0, 0.0], [0.3, 0.7]])
Q = np.array([[0.2, 0.8], [0.6, 0.4], [1.0, 0.0]])
THREE = np.array([1.0, 0.5, 2.0])

# Computed by keras 3.15 in float32: the loss, and the loss with sample_weight=THREE.
FURTHER = {
    "MeanAbsolutePercentageError": (1.0000007e8, 6.6666788e7),
    "MeanSquaredLogarithmicError": (0.11241478, 0.1766876),
    "LogCosh": (0.108363934, 0.17112845),
    "KLDivergence": (3.8019228, 7.274053),
    "Poisson": (2.5027726, 4.423981),
    "Hinge": (0.7166667, 0.8833334),
    "SquaredHinge": (0.61499995, 0.76666665),
    "CategoricalHinge": (0.8666666, 1.1999999),
    "CosineSimilarity": (-0.73203737, -0.72466874),
}


@pytest.mark.parametrize("name", FURTHER)
def test_further_losses_are_those_of_keras(name):
    loss = getattr(tf.losses, name)()
    assert float(loss(Y, Q)) == pytest.approx(FURTHER[name][0], rel=2e-6)
    assert float(loss(Y, Q, sample_weight=THREE)) == pytest.approx(FURTHER[name][1], rel=2e-6)
    compiled = tf.function(lambda a, b: loss(a, b))
    assert float(compiled(tf.constant(Y), tf.constant(Q))) == pytest.approx(FURTHER[name][0], rel=2e-6)


@pytest.mark.parametrize("name", FURTHER)
def test_first_and_second_derivatives_of_further_losses_are_differences(name, run):
    labels, predictions = np.array([[0.5, 2.0], [1.5, 0.25]]), np.array([[0.7, 1.1], [0.4, 1.9]])
    loss, h, way = getattr(tf.losses, name)(), 1e-6, np.array([[1.0, -0.5], [0.25, 2.0]])
    gradient = tf.grad(lambda p: loss(labels, p))
    second = tf.grad(lambda p: tf.reduce_sum(gradient(p) * way))

    def slope(f):
        return (f(tf.constant(predictions + h * way)) - f(tf.constant(predictions - h * way))).numpy() / (
            2 * h
        )

    p = tf.constant(predictions)
    found = (run(gradient, p).numpy() * way).sum()
    assert found == pytest.approx(slope(lambda p: loss(labels, p)), rel=1e-5, abs=1e-7)
    np.testing.assert_allclose(run(second, p).numpy(), slope(gradient), rtol=1e-5, atol=1e-7)


def test_labels_are_smoothed_over_a_number_of_classes_known_later():
    given = tf.TensorSpec([None, None], tf.float64)
    loss = tf.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)
    compiled = tf.function(lambda a, b: loss(a, b), input_signature=[given, given])
    for n in (2, 3):
        assert float(compiled(LABELS[:, :n], LOGITS[:, :n])) == pytest.approx(
            float(loss(LABELS[:, :n], LOGITS[:, :n])), rel=1e-13
        )


def test_a_mean_divided_by_the_weights():
    loss = tf.losses.MeanSquaredError(reduction="mean_with_sample_weight")
    each = np.mean((Y - Q) ** 2, axis=1)
    assert float(loss(Y, Q, sample_weight=THREE)) == pytest.approx(np.average(each, weights=THREE))
    assert float(loss(Y, Q)) == pytest.approx(each.mean())
    assert float(loss(Y, Q, sample_weight=0.0 * THREE)) == 0.0


def test_a_class_is_left_out():
    logits = np.array([[1.0, 2.0], [3.0, 0.5]])
    loss = tf.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0, reduction="none")
    assert loss([0, 1], logits).numpy() == pytest.approx([0.0, np.log1p(np.exp(2.5))])
    given = tf.losses.SparseCategoricalCrossentropy(from_logits=True, axis=0, reduction="none")
    np.testing.assert_allclose(given([0, 1], logits.T).numpy(), np.log1p(np.exp([1.0, 2.5])), rtol=1e-12)


def test_losses_by_name():
    assert tf.losses.get("mse") is tf.losses.mean_squared_error is tf.losses.get("mean_squared_error")
    assert tf.losses.get("MSE") is tf.losses.MSE and tf.losses.get("KLD") is tf.losses.kl_divergence
    assert isinstance(tf.losses.get("SparseCategoricalCrossentropy"), tf.losses.SparseCategoricalCrossentropy)
    assert tf.losses.get(None) is None and tf.losses.get(tf.losses.hinge) is tf.losses.hinge
    assert tf.losses.Reduction.NONE == "none"
    with pytest.raises(ValueError, match="no loss is called 'nonsense'"):
        tf.losses.get("nonsense")


def test_errors_of_shapes_name_the_loss_with_labels_and_predictions():
    labels, predictions = tf.ones((8, 5)), tf.ones((8, 3))
    for loss, name in (
        (tf.losses.MeanSquaredError(), "mean_squared_error"),
        (tf.losses.Huber(name="h"), "h"),
    ):
        with pytest.raises(tf.ShapeError) as error:
            loss(labels, predictions)
        assert error.value.__notes__ == [
            f"in the loss {name!r} of labels float32[8,5] and predictions float32[8,3]"
        ]


def test_labels_take_the_dtype_of_logits():
    logits = tf.constant([[3.0, 0.0]])
    for labels in ([[0, 1]], np.array([[0.0, 1.0]]), [0.0, 1.0]):
        loss = tf.nn.softmax_cross_entropy_with_logits(labels, logits)
        assert loss.dtype == tf.float32
        np.testing.assert_allclose(loss.numpy(), [np.log1p(np.exp(3.0))], rtol=1e-6)


@pytest.mark.parametrize(
    "name",
    [
        "binary_crossentropy",
        "categorical_crossentropy",
        "binary_focal_crossentropy",
        "categorical_focal_crossentropy",
    ],
)
def test_cross_entropies_do_not_spread_labels(name, run):
    loss, said = getattr(tf.losses, name), tf.constant([[0.6, 0.4], [0.1, 0.9]])
    for labels in ([[1.0], [0.0]], [[1.0, 0.0]], [1.0, 0.0]):
        with pytest.raises(ValueError, match=r"labels and predictions have the same shape here, got .*\(2, 2\)"):
            run(loss, tf.constant(labels), said)
    column = tf.constant([[0.6], [0.1]])
    row, whole = (loss(tf.constant(labels), column).numpy() for labels in ([1.0, 0.0], [[1.0], [0.0]]))
    np.testing.assert_array_equal(row, whole)
