"""Layers that change or cost something while a network is trained."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

L = tf.keras.layers


@pytest.mark.parametrize("layer", [L.GaussianNoise(0.5), L.GaussianDropout(0.2), L.AlphaDropout(0.3)])
def test_noise_is_there_while_training_and_keeps_mean_and_deviation(layer):
    x = tf.random.stateless_normal((400, 100), seed=[3, 4])
    assert layer(x) is x or bool(tf.reduce_all(layer(x) == x))
    y = layer(x, training=True)
    added = {"GaussianNoise": 0.25, "GaussianDropout": 0.25, "AlphaDropout": 0.0}[type(layer).__name__]
    assert abs(float(tf.reduce_mean(y))) < 0.03
    np.testing.assert_allclose(float(tf.math.reduce_variance(y)), 1.0 + added, rtol=0.05)
    compiled = tf.function(lambda x: layer(x, training=True))
    assert not np.array_equal(compiled(x), compiled(x))
    again = type(layer).from_config(layer.get_config())
    assert again.get_config()["name"] == layer.name
    again.seed = 5
    np.testing.assert_array_equal(again(x[:2]), x[:2])


@pytest.mark.parametrize(
    "layer, shape, axes",
    [
        (L.SpatialDropout1D(0.5), (4, 5, 16), 1),
        (L.SpatialDropout2D(0.5), (4, 3, 2, 16), (1, 2)),
        (L.SpatialDropout2D(0.5, data_format="channels_first"), (4, 16, 3, 2), (2, 3)),
        (L.SpatialDropout3D(0.5), (4, 2, 2, 2, 16), (1, 2, 3)),
    ],
)
def test_whole_features_are_dropped(layer, shape, axes):
    y = layer(tf.ones(shape), training=True).numpy()
    kept = y.mean(axis=axes)
    assert set(np.unique(y)) == set(np.unique(kept)) == {0.0, 2.0}
    np.testing.assert_array_equal(layer(tf.ones(shape)), 1.0)
    assert "noise_shape" not in layer.get_config()
    assert type(layer).from_config(layer.get_config()).data_format == layer.data_format


def test_units_with_weights_and_costs():
    images = tf.reshape(tf.range(-12.0, 12.0), (1, 2, 3, 4))
    layer = L.PReLU("ones", shared_axes=[1, 2])
    np.testing.assert_array_equal(layer(images), images)
    assert layer.alpha.shape == (1, 1, 4) and L.PReLU.from_config(layer.get_config()).shared_axes == [1, 2]
    np.testing.assert_array_equal(L.PReLU()(images), np.maximum(images, 0.0))

    penalty = L.ActivityRegularization(l1=0.5, l2=0.25)
    penalty(tf.constant([[1.0, -2.0], [0.0, 2.0]]))
    np.testing.assert_allclose(penalty.losses, [(0.5 * 5.0 + 0.25 * 9.0) / 2])
    assert L.ActivityRegularization.from_config(penalty.get_config()).l2 == 0.25
    assert L.Identity()(images).shape == images.shape
    for kind in (L.GaussianDropout, L.AlphaDropout, L.SpatialDropout1D):
        with pytest.raises(ValueError, match=r"rate is in \[0, 1\)"):
            kind(1.0)
