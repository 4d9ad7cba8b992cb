"""Losses for classes of unequal size: values and gradients of Keras, eagerly and compiled."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

B, U = [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]], [[0.1, 0.8, 0.3], [0.6, 0.45, 0.2]]
H, P = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [[0.2, 0.7, 0.1], [0.5, 0.2, 0.3]]
Z = [[-1.0, 2.0, 0.3], [0.5, -0.2, 1.5]]
_MANY = {"alpha": 0.3, "gamma": 1.5, "from_logits": True, "label_smoothing": 0.1}
#: Computed by keras 3.15: loss, labels, predictions, value and the gradient by the predictions.
OF_CLASSES_OF_UNEQUAL_SIZE = [
    (
        tf.losses.BinaryFocalCrossentropy(),
        (B, U),
        0.135274,
        [[0.005364, -0.02321, -0.553149], [-0.112555, 0.151039, 0.02321]],
    ),
    (
        tf.losses.BinaryFocalCrossentropy(apply_class_balancing=True, **_MANY),
        (B, Z),
        0.171947,
        [[0.009822, -0.000911, -0.012301], [-0.009523, 0.029463, 0.093498]],
    ),
    (
        tf.losses.CategoricalFocalCrossentropy(),
        (H, P),
        0.077756,
        [[0.029975, -0.012847, 0.029975], [0.124459, 0.124459, -0.290403]],
    ),
    (
        tf.losses.CategoricalFocalCrossentropy(**_MANY),
        (H, Z),
        0.051628,
        [[-0.004098, 0.004284, -0.000186], [0.012584, 0.003096, -0.01568]],
    ),
    (
        tf.losses.Dice(),
        (B, U),
        0.376147,
        [[0.114468, -0.252504, -0.252504], [-0.252504, 0.114468, 0.114468]],
    ),
    (
        tf.losses.Dice(axis=1, reduction="none"),
        (B, U),
        [0.3125, 0.466667],
        [[0.214844, -0.410156, -0.410156], [-0.651852, 0.237037, 0.237037]],
    ),
    (
        tf.losses.Tversky(alpha=0.3, beta=0.8),
        (B, U),
        0.36803,
        [[0.187947, -0.207294, -0.207294], [-0.207294, 0.187947, 0.187947]],
    ),
    (
        tf.losses.Tversky(alpha=0.3, beta=0.8, axis=0, reduction="sum"),
        (B, U),
        1.146501,
        [[0.75, -0.443429, -1.024727], [-0.59375, 0.429992, 0.53464]],
    ),
]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("loss", "given", "value", "gradient"), OF_CLASSES_OF_UNEQUAL_SIZE)
def test_losses_for_classes_of_unequal_size(loss, given, value, gradient, compiled):
    def both(labels, said):
        with tf.GradientTape() as tape:
            tape.watch(said)
            y = loss(labels, said)
        return y, tape.gradient(y, said)

    found, slope = (tf.function(both) if compiled else both)(*map(tf.constant, given))
    np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(slope, gradient, rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize(
    "name", ["binary_focal_crossentropy", "categorical_focal_crossentropy", "dice", "tversky"]
)
def test_they_are_found_by_name(name):
    assert tf.losses.get(name) is getattr(tf.losses, name)
