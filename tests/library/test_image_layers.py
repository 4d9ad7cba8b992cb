"""Layers for images and sequences: convolutions of all kinds, pooling, padding, and layers that join inputs."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

L = tf.keras.layers


def sines(*shape):
    return tf.constant(np.sin(np.arange(np.prod(shape)) * 0.7).reshape(shape).astype("float32"))


@pytest.mark.parametrize(("padding", "dtype"), [("SAME", "float32"), ("VALID", "float64")])
@pytest.mark.parametrize(("size", "window", "stride", "dilation"), [(7, 3, 2, 1), (6, 2, 3, 1), (8, 3, 1, 2)])
def test_a_transposed_convolution_is_the_gradient_of_one(size, window, stride, dilation, padding, dtype):
    x = tf.Variable(tf.cast(sines(2, size, size + 1, 3), dtype))
    w = tf.Variable(tf.cast(sines(window, window, 3, 4), dtype))
    with tf.GradientTape() as tape:
        y = tf.nn.conv2d(x, w, stride, padding, dilations=dilation)
        g = tf.cast(sines(*y.shape), dtype)
        loss = tf.reduce_sum(y * g)
    expected = tape.gradient(loss, x)
    found = tf.nn.conv2d_transpose(g, w, x.shape, stride, padding, dilations=dilation)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    compiled = tf.function(
        lambda g: tf.nn.conv2d_transpose(g, w, x.shape, stride, padding, dilations=dilation)
    )
    np.testing.assert_allclose(compiled(g), expected, rtol=1e-5, atol=1e-5)
    back = tf.grad(
        lambda g: tf.reduce_sum(tf.nn.conv_transpose(g, w, x.shape, stride, padding, None, dilation) * x)
    )
    np.testing.assert_allclose(back(g), y, rtol=1e-4, atol=1e-5)


def test_transposed_convolutions_refuse_what_does_not_fit():
    x, w = sines(1, 3, 3, 2), sines(3, 3, 4, 2)
    with pytest.raises(tf.ShapeError, match=r"a convolution of sizes \[8, 8\] gives sizes \[4, 4\]"):
        tf.nn.conv2d_transpose(x, w, (1, 8, 8, 4), 2)
    with pytest.raises(tf.ShapeError, match=r"has 2 channels, the filters .* are for 4"):
        tf.nn.conv2d_transpose(x, sines(3, 3, 2, 4), (1, 6, 6, 2), 2)
    first = tf.nn.conv2d_transpose(tf.transpose(x, (0, 3, 1, 2)), w, (1, 4, 6, 6), 2, data_format="NCHW")
    last = tf.nn.conv2d_transpose(x, w, (1, 6, 6, 4), 2)
    np.testing.assert_allclose(tf.transpose(first, (0, 2, 3, 1)), last, rtol=1e-6)


# Shapes and sums were computed by keras 3.15.
CASES = {
    "causal": (lambda: L.Conv1D(4, 3, padding="causal", dilation_rate=2, activation="relu"), (2, 9, 3)),
    "same": (lambda: L.Conv2D(4, 3, strides=2, padding="same"), (2, 7, 8, 3)),
    "groups": (lambda: L.Conv2D(4, (2, 3), dilation_rate=2, groups=2), (2, 9, 8, 4)),
    "volume": (lambda: L.Conv3D(2, 2, padding="same"), (1, 3, 4, 5, 2)),
    "larger": (lambda: L.Conv2DTranspose(3, 4, strides=2, padding="same"), (1, 5, 4, 2)),
    "gaps": (lambda: L.Conv2DTranspose(3, 2, strides=3), (1, 5, 4, 2)),
    "chosen": (lambda: L.Conv2DTranspose(3, 3, strides=2, padding="same", output_padding=1), (1, 5, 4, 2)),
    "depthwise": (lambda: L.DepthwiseConv2D(3, depth_multiplier=2, strides=2, padding="same"), (1, 7, 6, 3)),
    "separable": (lambda: L.SeparableConv2D(4, 3, depth_multiplier=2), (1, 7, 6, 3)),
}


EXPECTED = {
    "causal": ((2, 9, 4), 53.5058, 53.5058),
    "same": ((2, 4, 4, 4), 50.813, 165.179),
    "groups": ((2, 7, 4, 4), 95.6835, 156.546),
    "volume": ((1, 3, 4, 5, 2), 59.627, 99.1358),
    "larger": ((1, 10, 8, 3), 100.285, 184.838),
    "gaps": ((1, 15, 12, 3), 252.044, 274.137),
    "chosen": ((1, 10, 8, 3), 108.499, 144.129),
    "depthwise": ((1, 4, 3, 6), 33.5256, 72.2624),
    "separable": ((1, 5, 4, 4), 42.7008, 43.5258),
}


def called(name):
    make, shape = CASES[name]
    layer, x = make(), sines(*shape)
    layer(x)
    layer.set_weights([np.cos(np.arange(w.size) * 0.3).reshape(w.shape) * 0.5 for w in layer.get_weights()])
    return layer, x, layer(x)


@pytest.mark.parametrize("name", CASES)
def test_convolutions_as_in_keras(name):
    shape, total, magnitude = EXPECTED[name]
    _, _, y = called(name)
    assert y.shape == shape
    np.testing.assert_allclose(
        [float(tf.reduce_sum(y)), float(tf.reduce_sum(tf.abs(y)))], [total, magnitude], rtol=2e-4
    )


@pytest.mark.parametrize("name", ["groups", "larger"])
def test_gradients_eager_compiled_and_by_differences(name):
    layer, x, _ = called(name)

    def loss(x):
        return tf.reduce_sum(tf.tanh(layer(x)) ** 2)

    eager, compiled = tf.grad(loss)(x), tf.function(tf.grad(loss))(x)
    np.testing.assert_allclose(eager, compiled, rtol=1e-4, atol=1e-5)
    direction = tf.cast(tf.cos(tf.range(0.0, float(tf.size(x)))), "float32")
    direction = tf.reshape(direction, x.shape)
    step = 1e-2
    by_differences = (loss(x + step * direction) - loss(x - step * direction)) / (2 * step)
    np.testing.assert_allclose(tf.reduce_sum(eager * direction), by_differences, rtol=2e-2, atol=2e-2)


def test_channels_first_is_the_same_with_axes_moved():
    x = sines(2, 6, 5, 4)
    for make in (
        lambda order: L.Conv2D(4, 3, data_format=order, groups=2, bias_initializer="ones"),
        lambda order: L.MaxPool2D(2, data_format=order),
        lambda order: L.UpSampling2D(2, data_format=order),
        lambda order: L.ZeroPadding2D((1, 2), data_format=order),
    ):
        last, first = make("channels_last"), make("channels_first")
        expected, moved = last(x), tf.transpose(x, (0, 3, 1, 2))
        first(moved)
        first.set_weights(last.get_weights())
        np.testing.assert_allclose(tf.transpose(first(moved), (0, 2, 3, 1)), expected, rtol=1e-5, atol=1e-6)


def test_pooling_and_resizing():
    x = tf.reshape(tf.range(16.0), (1, 4, 4, 1))
    assert L.MaxPool2D()(x).numpy().ravel().tolist() == [5, 7, 13, 15]
    assert L.AveragePooling2D(3, strides=2, padding="same")(x).numpy().ravel().tolist() == [5, 6.5, 11, 12.5]
    assert L.MaxPooling1D(2)(tf.reshape(tf.range(6.0), (1, 6, 1))).numpy().ravel().tolist() == [1, 3, 5]
    assert L.GlobalAvgPool2D(keepdims=True)(x).numpy().tolist() == [[[[7.5]]]]
    assert L.GlobalMaxPool2D()(x).numpy().tolist() == [[15]]
    assert L.UpSampling2D((1, 2))(x)[0, 0, :, 0].numpy().tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert L.Cropping2D(((1, 0), (0, 2)))(x)[0, :, :, 0].numpy().tolist() == [[4, 5], [8, 9], [12, 13]]
    assert L.ZeroPadding1D((2, 0))(tf.ones((1, 1, 1))).numpy().ravel().tolist() == [0, 0, 1]
    assert L.Permute((2, 1))(tf.zeros((2, 3, 4))).shape == (2, 4, 3)
    assert L.RepeatVector(3)(tf.zeros((2, 4))).shape == (2, 3, 4)
    with pytest.raises(ValueError, match="pool_size is a positive number, or 2 of them"):
        L.MaxPool2D(0)
    with pytest.raises(ValueError, match="padding is one of valid, same"):
        L.Conv2D(3, 3, padding="causal")
    with pytest.raises(ValueError, match="data_format is"):
        L.Conv2D(3, 3, data_format="NHWC")


def test_joining():
    a, b = tf.constant([[1.0, 4.0]]), tf.constant([[3.0, 2.0]])
    expected = {"add": [4, 6], "subtract": [-2, 2], "multiply": [3, 8], "average": [2, 3], "maximum": [3, 4]}
    for name, numbers in {**expected, "minimum": [1, 2], "concatenate": [1, 4, 3, 2]}.items():
        assert getattr(L, name)([a, b]).numpy().tolist() == [numbers], name
    assert L.dot([a, b], axes=1).numpy().tolist() == [[11]]
    assert L.Dot(axes=(1, 2))([tf.ones((2, 3, 4)), tf.ones((2, 5, 3))]).shape == (2, 4, 5)
    assert float(L.Dot(axes=-1, normalize=True)([a, 2 * a])[0, 0]) == pytest.approx(1.0)


@pytest.mark.parametrize("compiled", [False, True])
def test_volumes_are_pooled_as_a_whole(compiled):
    x = np.random.default_rng(0).normal(size=(2, 2, 3, 4, 5)).astype(np.float32)
    for layer, expected in (
        (tf.layers.GlobalAveragePooling3D(), x.mean(axis=(1, 2, 3))),
        (tf.layers.GlobalMaxPooling3D(keepdims=True), x.max(axis=(1, 2, 3), keepdims=True)),
        (tf.layers.GlobalAvgPool3D("channels_first"), x.mean(axis=(2, 3, 4))),
    ):
        np.testing.assert_allclose(
            (tf.function(layer) if compiled else layer)(x), expected, rtol=1e-5, atol=1e-6
        )
