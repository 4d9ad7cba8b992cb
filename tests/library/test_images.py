"""Images: sizes, parts, turned and mirrored, and colours."""

from __future__ import annotations

import colorsys

import numpy as np
import pytest

import tracejit as tf

I = tf.image
X = np.random.default_rng(0).random((2, 5, 6, 3)).astype("float32")
BYTES = (X * 255).astype("uint8")


def test_colour_spaces():
    hsv = I.rgb_to_hsv(X).numpy()
    expected = [colorsys.rgb_to_hsv(*pixel) for pixel in X.reshape(-1, 3).tolist()]
    np.testing.assert_allclose(hsv, np.reshape(expected, X.shape), atol=1e-6)
    np.testing.assert_allclose(I.hsv_to_rgb(hsv), X, atol=1e-6)
    np.testing.assert_allclose(I.adjust_hue(X, 1.0), X, atol=1e-6)
    hue = I.rgb_to_hsv(I.adjust_hue(X, -0.3))[..., 0]
    np.testing.assert_allclose(hue, (hsv[..., 0] - 0.3) % 1.0, atol=1e-5)
    np.testing.assert_allclose(I.rgb_to_hsv(I.adjust_saturation(X, 0.5))[..., 1], hsv[..., 1] / 2, atol=1e-6)
    for gray in (np.zeros((1, 3), "float32"), np.full((1, 3), 0.25, "float32")):
        np.testing.assert_array_equal(I.adjust_hue(gray, 0.4), gray)
    assert I.adjust_hue(BYTES, 0.1).dtype == np.uint8
    with pytest.raises(tf.ShapeError, match="red, green and blue"):
        I.adjust_hue(X[..., :2], 0.1)


def test_gradients_of_colours_eager_and_compiled():
    def loss(x):
        return tf.reduce_sum(I.adjust_hue(x, 0.2) ** 2)

    eager, x = tf.grad(loss)(tf.constant(X)), tf.constant(X)
    assert np.isfinite(eager.numpy()).all()
    np.testing.assert_allclose(tf.function(tf.grad(loss))(x), eager, rtol=1e-4, atol=1e-5)
    direction = tf.cast(np.cos(np.arange(X.size)).reshape(X.shape), "float32")
    step = 1e-3
    differences = (loss(x + step * direction) - loss(x - step * direction)) / (2 * step)
    np.testing.assert_allclose(tf.reduce_sum(eager * direction), differences, rtol=2e-2, atol=2e-2)


def test_resizing():
    row = tf.reshape(tf.constant([0.0, 4.0]), (1, 2, 1))
    assert I.resize(row, (1, 4))[0, :, 0].numpy().tolist() == [0, 1, 3, 4]
    assert I.resize(row, (1, 3), method="nearest")[0, :, 0].numpy().tolist() == [0, 4, 4]
    assert (
        I.resize(BYTES, (9, 3)).dtype == np.float32 and I.resize(BYTES, (9, 3), "nearest").dtype == np.uint8
    )
    assert I.resize(X, (20, 20), preserve_aspect_ratio=True).shape == (2, 17, 20, 3)
    padded = I.resize_with_pad(tf.ones((2, 4, 1)), 4, 4).numpy()[:, :, 0]
    assert padded.sum(1).tolist() == [0, 4, 4, 0]
    v = tf.Variable(X)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(I.resize(v, (10, 12)))
    np.testing.assert_allclose(tape.gradient(total, v), np.full(X.shape, 4.0), rtol=1e-5)
    with pytest.raises(ValueError, match="method is one of bilinear, nearest"):
        I.resize(X, (3, 3), method="cubic")
    with pytest.raises(tf.ShapeError, match="an image is"):
        I.resize(X[0, 0], (3, 3))


def test_parts_and_turns():
    for k in range(4):
        np.testing.assert_array_equal(I.rot90(X[0], k), np.rot90(X[0], k))
    np.testing.assert_array_equal(I.flip_left_right(X), X[:, :, ::-1])
    np.testing.assert_array_equal(I.flip_up_down(X[0]), X[0, ::-1])
    np.testing.assert_array_equal(I.crop_to_bounding_box(X, 1, 2, 3, 4), X[:, 1:4, 2:6])
    assert I.central_crop(X, 0.5).shape == (2, 3, 4, 3)
    assert I.resize_with_crop_or_pad(X, 3, 9).shape == (2, 3, 9, 3)
    with pytest.raises(ValueError, match="is no part of"):
        I.crop_to_bounding_box(X, 3, 0, 3, 3)
    with pytest.raises(ValueError, match="does not fit"):
        I.pad_to_bounding_box(X, 0, 0, 3, 3)


def test_number_formats():
    assert int(tf.reduce_max(I.convert_image_dtype(X, "uint8"))) == int(X.max() * 255.5)
    np.testing.assert_allclose(I.convert_image_dtype(BYTES, "float64"), BYTES / 255.0)
    np.testing.assert_array_equal(I.convert_image_dtype(BYTES, "uint16"), BYTES.astype("uint16") * 256)
    np.testing.assert_allclose(I.rgb_to_grayscale(X)[..., 0], X @ [0.2989, 0.587, 0.114], rtol=1e-5)
    assert I.grayscale_to_rgb(X[..., :1]).shape == X.shape
    whole = I.per_image_standardization(BYTES).numpy()
    np.testing.assert_allclose([whole.mean(), whole.std()], [0, 1], atol=1e-5)
    np.testing.assert_allclose(I.adjust_brightness(X, 0.25), X + 0.25)
