"""Images resized by each method, with and without antialiasing: values of TensorFlow 2.21, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tf

SMALLER = {
    ("bicubic", False): [[2.205, 6.25, 14.339], [56.833, 79.476, 106.163]],
    ("bicubic", True): [[4.219, 9.749, 18.573], [50.49, 70.488, 93.779]],
    ("area", False): [[6.25, 11.833, 20.417], [51.583, 70.5, 92.417]],
    ("lanczos3", False): [[0.096, 3.393, 11.369], [57.413, 80.553, 108.365]],
    ("lanczos3", True): [[2.447, 7.61, 16.367], [50.766, 71.502, 95.833]],
    ("lanczos5", False): [[-1.647, 0.685, 8.243], [59.43, 82.12, 110.037]],
    ("lanczos5", True): [[1.806, 6.726, 15.392], [51.126, 71.913, 96.447]],
    ("gaussian", False): [[4.96, 10.03, 18.266], [54.188, 74.364, 97.704]],
    ("gaussian", True): [[10.242, 16.76, 25.57], [48.077, 64.628, 83.471]],
    ("mitchellcubic", False): [[3.507, 8.098, 16.301], [55.322, 76.617, 101.523]],
    ("mitchellcubic", True): [[6.972, 13.054, 21.931], [49.156, 67.46, 88.559]],
    ("bilinear", True): [[7.2, 13.0, 21.6], [50.2, 68.0, 88.6]],
}
LARGER = {
    "bicubic": [0.787, 15.59, 54.609, 93.384],
    "area": [2.5, 21.167, 50.5, 90.5],
    "lanczos3": [1.29, 9.93, 58.738, 93.562],
    "lanczos5": [2.649, 6.635, 60.983, 92.186],
    "gaussian": [4.624, 21.231, 52.218, 85.949],
    "mitchellcubic": [2.533, 17.593, 54.266, 89.992],
    "bilinear": [2.5, 20.0, 53.0, 90.5],
}


def image() -> Any:
    return tf.reshape(tf.range(12.0) ** 2, (1, 3, 4, 1))


@pytest.mark.parametrize(("method", "antialias"), SMALLER)
def test_smaller_images(method: str, antialias: bool) -> None:
    y = tf.image.resize(image(), (2, 3), method, antialias=antialias)
    np.testing.assert_allclose(y[0, :, :, 0], SMALLER[method, antialias], rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize("method", LARGER)
def test_larger_images(method: str) -> None:
    for antialias in (False, True):
        y = tf.image.resize(image(), (4, 5), method, antialias=antialias)
        np.testing.assert_allclose(y[0, :, 2, 0], LARGER[method], rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize("method", LARGER)
def test_constant_images_stay_constant_and_gradients_sum_to_the_new_size(method: str) -> None:
    def total(x: Any) -> Any:
        return tf.reduce_sum(tf.image.resize(x, (2, 7), method, antialias=True))

    x = tf.fill((2, 5, 3, 2), np.float64(3.0))
    y, g = tf.function(tf.value_and_grad(total))(x)
    np.testing.assert_allclose(y, 3.0 * 2 * 2 * 7 * 2, rtol=1e-12)
    np.testing.assert_allclose(tf.reduce_sum(g), 2 * 2 * 7 * 2, rtol=1e-12)
    np.testing.assert_allclose(tf.value_and_grad(total)(x)[1], g, rtol=1e-12)


def test_an_unknown_method_is_told_the_known_ones() -> None:
    with pytest.raises(ValueError, match="bicubic"):
        tf.image.resize(image(), (2, 2), "cubic")


def test_layers_that_make_images_larger_may_interpolate() -> None:
    layer = tf.layers.UpSampling2D((2, 3), interpolation="bilinear")
    y = layer(tf.reshape(tf.range(4.0), (1, 2, 2, 1)))
    np.testing.assert_allclose(y[0, 1, :, 0], [0.5, 0.5, 5 / 6, 7 / 6, 1.5, 1.5], rtol=1e-6)
    first = tf.layers.UpSampling2D((2, 3), data_format="channels_first", interpolation="bilinear")
    np.testing.assert_array_equal(first(tf.reshape(tf.range(4.0), (1, 1, 2, 2)))[0, 0], y[0, :, :, 0])
