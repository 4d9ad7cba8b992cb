"""Metrics: the field's values over several batches, weighted, eagerly and compiled; reset, saved, on no tape."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

M = tf.metrics
LABELS, NUMBERS = (
    np.array([[0.0, 1.0], [0.0, 0.0]], np.float32),
    np.array([[1.0, 1.0], [0.5, 0.2]], np.float32),
)
SCORES = np.array([[0.05, 0.95, 0.0], [0.1, 0.8, 0.1]])

# Computed by keras 3.15 with the TensorFlow backend: metric, labels, predictions, result.
KERAS = [
    (M.Accuracy(), [[1], [2], [3], [4]], [[0], [2], [3], [4]], 0.75),
    (M.BinaryAccuracy(), [[1], [1], [0], [0]], [[0.98], [1.0], [0.0], [0.6]], 0.75),
    (M.BinaryAccuracy(threshold=0.7), [1, 1, 0, 0], [0.98, 1.0, 0.0, 0.6], 1.0),
    (M.CategoricalAccuracy(), [[0, 0, 1], [0, 1, 0]], [[0.1, 0.9, 0.8], [0.05, 0.95, 0.0]], 0.5),
    (M.SparseCategoricalAccuracy(), [[2], [1]], [[0.1, 0.6, 0.3], [0.05, 0.95, 0.0]], 0.5),
    (M.SparseTopKCategoricalAccuracy(k=2), [2, 1], [[0.1, 0.9, 0.8], [0.05, 0.95, 0.0]], 1.0),
    (M.TopKCategoricalAccuracy(k=1), [[0, 0, 1], [0, 1, 0]], [[0.1, 0.9, 0.8], [0.05, 0.95, 0.0]], 0.5),
    (M.MeanSquaredError(), LABELS, NUMBERS, 0.3225),
    (M.RootMeanSquaredError(), LABELS, NUMBERS, 0.5678908),
    (M.MeanAbsoluteError(), LABELS, NUMBERS, 0.425),
    (M.MeanAbsolutePercentageError(), LABELS, NUMBERS, 4.25e8),
    (M.BinaryCrossentropy(), LABELS, NUMBERS, 4.2146688),
    (M.CosineSimilarity(), LABELS, NUMBERS, 0.35355338),
    (M.CategoricalCrossentropy(), [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], SCORES, 1.1769392),
    (M.SparseCategoricalCrossentropy(), [1, 2], SCORES, 1.1769392),
    (M.Precision(), [0, 1, 1, 1], [1.0, 0.0, 1.0, 1.0], 2 / 3),
    (M.Recall(), [0, 1, 1, 1], [1.0, 0.0, 1.0, 1.0], 2 / 3),
    (M.TruePositives(), [0, 1, 1, 1], [1.0, 0.0, 1.0, 1.0], 2.0),
    (M.FalsePositives(), [0, 1, 1, 1], [1.0, 0.0, 1.0, 1.0], 1.0),
    (M.TrueNegatives(), [0, 1, 1, 1], [1.0, 0.0, 1.0, 1.0], 0.0),
    (M.FalseNegatives(), [0, 1, 1, 1], [1.0, 0.0, 1.0, 1.0], 1.0),
    (M.AUC(num_thresholds=3), [0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9], 0.75),
]


@pytest.mark.parametrize(
    ("metric", "labels", "predictions", "expected"), KERAS, ids=lambda x: getattr(x, "name", "")
)
def test_values_are_those_of_keras(metric, labels, predictions, expected):
    metric.reset_state()
    metric.update_state(labels, predictions)
    assert float(metric.result()) == pytest.approx(expected, rel=2e-6)
    for _ in range(2):  # as a mean over equal batches, it stays
        metric.update_state(labels, predictions)
    counts = ("TruePositives", "FalsePositives", "TrueNegatives", "FalseNegatives")
    times = 3.0 if type(metric).__name__ in counts else 1.0
    assert float(metric.result()) == pytest.approx(times * expected, rel=2e-6)


@pytest.mark.parametrize(
    ("metric", "labels", "predictions", "expected"), KERAS, ids=lambda x: getattr(x, "name", "")
)
def test_compiled_updates_are_eager_updates(metric, labels, predictions, expected):
    metric.reset_state()
    step = tf.function(lambda a, b: metric(a, b))
    assert float(step(tf.constant(labels), tf.constant(predictions))) == pytest.approx(expected, rel=2e-6)
    assert float(metric.result()) == pytest.approx(expected, rel=2e-6)


def test_a_mean_weighs_batches_by_their_examples():
    mean = M.Mean(name="loss")
    assert mean.name == "loss" and float(mean.result()) == 0.0 and mean.result().dtype == tf.float32
    mean.update_state([1, 3, 5, 7])
    assert float(mean.result()) == 4.0
    mean.update_state([2.0, 4.0], sample_weight=[1, 0])
    assert float(mean.result()) == pytest.approx(3.6)
    mean.reset_state()
    assert float(mean(3.0)) == 3.0 and float(mean(5.0)) == 4.0
    rows = M.Mean()
    rows.update_state([[1.0, 3.0], [5.0, 7.0]])  # two examples, each the mean of its row
    assert [float(v) for v in rows.variables] == [2.0, 8.0] or [float(v) for v in rows.variables] == [
        8.0,
        2.0,
    ]
    assert float(M.Sum()([1.0, 3.0], sample_weight=[1.0, 2.0])) == 7.0


def test_sample_weights():
    accuracy = M.Accuracy()
    accuracy.update_state([1, 2, 3, 4], [0, 2, 3, 4], sample_weight=[1, 1, 0, 0])
    assert float(accuracy.result()) == 0.5
    assert float(M.Precision()([0, 1], [1.0, 1.0], sample_weight=[0.5, 1.5])) == 0.75


def test_several_thresholds():
    precision = M.Precision(thresholds=[0.4, 0.8])
    precision.update_state([0, 1, 1], [0.5, 0.6, 0.9])
    np.testing.assert_allclose(precision.result().numpy(), [2 / 3, 1.0], rtol=1e-6)


def test_a_metric_of_ones_own_in_a_training_step():
    class Largest(tf.keras.metrics.Metric):
        def __init__(self, name="largest", **options):
            super().__init__(name=name, **options)
            self.seen = self.add_weight(name="seen", initializer="zeros")

        def update_state(self, values, sample_weight=None):
            self.seen.assign(tf.maximum(self.seen, tf.reduce_max(values)))

        def result(self):
            return self.seen

    largest, w = Largest(), tf.Variable(2.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * x)
            largest.update_state(loss)
        return tape.gradient(loss, w)

    assert float(step(tf.constant([1.0, 2.0]))) == 3.0 and float(largest.result()) == 6.0
    largest.reset_state()
    assert float(largest.result()) == 0.0 and len(largest.variables) == 1 and not largest.trainable_variables


def test_no_gradient_passes_through_a_metric():
    mean, x = M.Mean(), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = mean(x * x)
    assert float(y) == 4.0 and tape.gradient(y, x) is None


def test_metrics_are_saved(tmp_path):
    mean = M.Mean()
    mean.update_state([2.0, 4.0])
    path = tf.train.Checkpoint(mean=mean).save(tmp_path / "c")
    again = M.Mean()
    tf.train.Checkpoint(mean=again).restore(path).assert_consumed()
    assert float(again.result()) == 3.0


def test_batches_of_unknown_size():
    mean = M.Mean()
    step = tf.function(mean.update_state, input_signature=[tf.TensorSpec([None])])
    step(tf.constant([1.0, 2.0, 3.0]))
    step(tf.constant([6.0]))
    assert float(mean.result()) == 3.0 and step.experimental_get_tracing_count() == 1


def test_metrics_by_name():
    named = M.get("auc"), M.get("AUC"), M.get("mse"), M.get("hinge"), M.get("cosine_similarity")
    assert [m.name for m in named] == ["auc", "AUC", "mse", "hinge", "cosine_similarity"]
    assert isinstance(named[0], M.AUC) and isinstance(named[1], M.AUC)
    assert float(named[4]([[1.0, 1.0]], [[1.0, 1.0]])) == pytest.approx(1.0)  # the loss would be -1
    assert M.get(named[2]) is named[2] and isinstance(M.get(M.Recall), M.Recall)
    assert M.get(lambda a, b: a - b).name == "lambda"
    with pytest.raises(ValueError, match=r"no metric is called 'pair'; there are .*auc"):
        M.get("pair")


SAID = np.array([[0.9, 0.2, 0.4], [0.1, 0.8, 0.6], [0.7, 0.3, 0.2]], np.float32)
TRUE = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0]], np.float32)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TruePositives", 7.0),
        ("FalsePositives", 2.0),
        ("TrueNegatives", 7.0),
        ("FalseNegatives", 5.0),
        ("Precision", 7 / 9),
        ("Recall", 7 / 12),
    ],
)
def test_weights_of_examples_are_those_of_rows_also_of_square_batches(name, value):
    weights = np.array([1.0, 2.0, 4.0], np.float32)
    for given in (weights, weights[:, None], np.repeat(weights[:, None], 3, 1)):
        assert float(getattr(tf.metrics, name)()(TRUE, SAID, sample_weight=given)) == pytest.approx(value)


def test_area_under_precision_and_recall():
    labels, scores = [0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9]
    of = {"curve": "PR", "num_thresholds": 3}
    assert float(tf.metrics.AUC(**of)(labels, scores)) == pytest.approx(0.82069939, rel=1e-6)
    lower = tf.metrics.AUC(**of, summation_method="minoring")(labels, scores)
    upper = tf.metrics.AUC(**of, summation_method="majoring")(labels, scores)
    assert float(lower) < 0.8207 < float(upper)
    odds = tf.metrics.AUC(num_thresholds=3, from_logits=True)(labels, [-9.0, 0.0, -1.0, 3.0])
    assert float(odds) == 0.75
    assert float(tf.metrics.AUC(thresholds=[0.5])(labels, scores)) == 0.75
    with pytest.raises(ValueError, match="'ROC', 'PR'"):
        tf.metrics.AUC(curve="roc")


B, U = [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]], [[0.1, 0.8, 0.3], [0.6, 0.45, 0.2]]
H, P = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [[0.2, 0.7, 0.1], [0.5, 0.2, 0.3]]
Z = [[-1.0, 2.0, 0.3], [0.5, -0.2, 1.5]]
#: Computed by keras 3.15: metric, labels, predictions, weights, the result, and after the batch without weights.
OF_KERAS = [
    (M.MeanIoU(3), [0, 1, 2, 1], [0, 2, 2, 1], None, 2 / 3, 2 / 3),
    (M.IoU(3, [0, 2]), [0, 1, -1, 2, 0], [0, 2, 2, -1, 1], None, 0.25, 0.25),
    (M.IoU(3, [0, 2], ignore_class=1), [0, 1, 2, 0], [0, 2, 2, 1], None, 0.75, 0.75),
    (M.BinaryIoU([1], 0.4), B, U, None, 0.5, 0.5),
    (M.OneHotIoU(3, [0, 2]), H, P, None, 0.0, 0.0),
    (M.OneHotMeanIoU(3), H, P, None, 1 / 3, 1 / 3),
    (M.F1Score(), H, P, None, [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]),
    (M.F1Score("micro", 0.4), B, U, [0.5, 2.0], 2 / 3, 2 / 3),
    (M.F1Score("macro", 0.25), B, U, [0.5, 2.0], 0.777778, 0.833333),
    (M.F1Score("weighted", 0.25), B, U, None, 0.888889, 0.888889),
    (M.FBetaScore(beta=0.5, threshold=0.25), B, U, [0.5, 2.0], [1.0, 0.238095, 1.0], [1.0, 0.384615, 1.0]),
    (M.R2Score(), U, P, None, -2.781218, -2.781218),
    (M.R2Score("variance_weighted_average"), U, P, [0.5, 2.0], -0.274509, 0.117647),
    (M.R2Score(None), U, P, None, [0.84, -0.183673, -8.999981], [0.84, -0.183673, -8.999981]),
    (M.R2Score(num_regressors=1), [[1.0], [2.0], [4.0]], [[1.0], [2.5], [3.5]], None, 0.785714, 0.866071),
    (M.SensitivityAtSpecificity(0.6), B, U, None, 1.0, 1.0),
    (M.SpecificityAtSensitivity(0.7), B, U, None, 2 / 3, 2 / 3),
    (M.PrecisionAtRecall(0.6), B, U, None, 1.0, 1.0),
    (M.RecallAtPrecision(0.7), B, U, None, 1.0, 1.0),
    (M.RecallAtPrecision(0.7, num_thresholds=1), B, U, None, 2 / 3, 2 / 3),
    (M.Hinge(), B, Z, [0.5, 2.0], 1.06, 0.922222),
    (M.SquaredHinge(), B, Z, None, 1.271667, 1.271667),
    (M.CategoricalHinge(), H, P, None, 0.85, 0.85),
    (M.Poisson(), U, P, None, 0.752998, 0.752998),
    (M.LogCoshError(), U, P, [0.5, 2.0], 0.0129, 0.012409),
]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("metric", "labels", "said", "weight", "first", "second"),
    OF_KERAS,
    ids=[type(m).__name__ for m, *_ in OF_KERAS],
)
def test_overlaps_scores_and_operating_points(metric, labels, said, weight, first, second, compiled):
    update = tf.function(metric.update_state) if compiled else metric.update_state
    metric.reset_state()
    update(
        tf.constant(labels), tf.constant(said), sample_weight=None if weight is None else tf.constant(weight)
    )
    np.testing.assert_allclose(metric.result(), first, rtol=1e-4, atol=1e-6)
    update(tf.constant(labels), tf.constant(said))
    np.testing.assert_allclose(metric.result(), second, rtol=1e-4, atol=1e-6)
    metric.reset_state()
    assert not np.any([v.numpy() for v in metric.variables if v.shape == ()])


@pytest.mark.parametrize("metric", [M.F1Score(), M.R2Score(), M.MeanIoU(2), M.RecallAtPrecision(0.5)])
def test_before_the_first_batch_they_are_0(metric):
    assert float(metric.result()) == 0.0


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: M.FBetaScore("mean"), "average is one of"),
        (lambda: M.R2Score("mean"), "class_aggregation is one of"),
        (lambda: M.RecallAtPrecision(1.5), "a rate in"),
        (lambda: M.PrecisionAtRecall(0.5, num_thresholds=0), "num_thresholds"),
        (lambda: M.F1Score()([1.0], [1.0]), "examples, classes"),
    ],
)
def test_what_scores_do_not_take(make, what):
    with pytest.raises(ValueError, match=what):
        make()
