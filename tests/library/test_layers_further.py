"""Layers that fewer networks have, against values of another library, in both modes, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

L = tf.layers
MODES = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
X = np.linspace(-1, 2, 24).reshape(2, 3, 4).astype("float32")
VALUES = {
    "unit": (lambda: L.UnitNormalization(), [-0.61165, -0.53187, -0.452089, -0.372309, -0.751945, -0.546869]),
    "unit of several axes": (
        lambda: L.UnitNormalization(axis=[1, 2]),
        [-0.543021, -0.472192, -0.401363, -0.330535, -0.259706, -0.188877],
    ),
    "mean square": (lambda: L.RMSNormalization(), [-1.2233, -1.063739, -0.904178, -0.744617, -1.503882, -1.093732]),
    "groups": (lambda: L.GroupNormalization(2), [-1.358317, -1.05647, -1.358317, -1.05647, -0.150924, 0.150924]),
    "each channel": (lambda: L.GroupNormalization(-1), [-1.221384, -1.221384, -1.221384, -1.221384, 0.0, 0.0]),
    "einsum": (
        lambda: L.EinsumDense(
            "abc,cd->abd", (None, 2), bias_axes="d", kernel_initializer="ones", bias_initializer="ones"
        ),
        [-2.217392, -2.217392, -0.130435, -0.130435, 1.956522, 1.956522],
    ),
    "depthwise over steps": (
        lambda: L.DepthwiseConv1D(2, depthwise_initializer="ones"),
        [-1.478261, -1.217391, -0.956522, -0.695652, -0.434783, -0.173913],
    ),
    "separable over steps": (
        lambda: L.SeparableConv1D(2, 2, depthwise_initializer="ones", pointwise_initializer="ones"),
        [-4.347826, -4.347826, -0.173913, -0.173913, 8.173913, 8.173913],
    ),
}


@MODES
@pytest.mark.parametrize("name", VALUES)
def test_values(name, mode):
    make, expected = VALUES[name]
    layer = make()
    layer.build(X.shape)
    result = mode(lambda x: layer(x))(X)
    np.testing.assert_allclose(result.numpy().ravel()[:6], expected, rtol=1e-5, atol=1e-6)


LAYERS = {
    **{name: make for name, (make, _) in VALUES.items()},
    "groups along axis 1": lambda: L.GroupNormalization(3, axis=1, center=False),
    "separable with strides": lambda: L.SeparableConv1D(2, 2, strides=2, padding="same", depth_multiplier=2),
    "separable with channels first": lambda: L.SeparableConv1D(2, 2, data_format="channels_first"),
    "einsum of the rest": lambda: L.EinsumDense("ab...,bc->ac...", output_shape=5, bias_axes="c", activation="tanh"),
    "einsum to more axes": lambda: L.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3), bias_axes="de"),
    "einsum without bias": lambda: L.EinsumDense("...x,xy->...y", output_shape=6, activation="sigmoid"),
    "spectral": lambda: L.SpectralNormalization(L.Dense(3, activation="tanh")),
}


@MODES
@pytest.mark.parametrize("name", LAYERS)
def test_derivatives(name, mode):
    layer = LAYERS[name]()
    layer = type(layer).from_config({**layer.get_config(), "dtype": "float64"})
    if name == "spectral":
        layer.layer = L.Dense(3, activation="tanh", dtype="float64")
    x = tf.constant(np.random.default_rng(0).normal(size=(2, 3, 4)))
    layer(x)
    random = np.random.default_rng(1)
    for weight in layer.weights:
        weight.assign(random.normal(size=weight.shape))

    def f(x):
        return tf.reduce_sum(tf.sin(1.3 * layer(x)))

    def squared_gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tf.reduce_sum(tape.gradient(y, x) ** 2)

    direction, h = random.normal(size=x.shape), 1e-5
    for g in (f, squared_gradient):
        slope = mode(lambda x, g=g: tf.grad(g)(x))(x)
        difference = (float(g(x + h * direction)) - float(g(x - h * direction))) / (2 * h)
        np.testing.assert_allclose(np.sum(slope.numpy() * direction), difference, rtol=1e-6, atol=1e-7)


def test_zeros_have_no_direction():
    layer = L.UnitNormalization()
    with tf.GradientTape() as tape:
        x = tf.Variable([[0.0, 0.0], [3.0, 4.0]])
        y = layer(x)
    assert y.numpy().tolist()[0] == [0.0, 0.0] and np.isfinite(tape.gradient(y, x).numpy()).all()


@MODES
def test_spectral_normalization_divides_in_training_alone(mode):
    first = np.arange(1.0, 9.0, dtype="float32").reshape(4, 2)
    layer = L.SpectralNormalization(L.Dense(2, kernel_initializer=tf.constant_initializer(first)), 20)
    call = mode(lambda x, training: layer(x, training=training))
    call(X, False)
    assert layer.layer.kernel.numpy().tolist() == first.tolist()
    call(X, True)
    np.testing.assert_allclose(layer.layer.kernel, first / np.linalg.svd(first)[1][0], rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(layer.vector_u), 1.0, rtol=1e-6)
    assert [w.shape for w in layer.trainable_weights] == [(4, 2), (2,)]
    volumes = L.SpectralNormalization(L.Conv2D(3, 2))
    volumes(tf.ones((1, 4, 4, 2)), training=True)
    assert volumes.layer.kernel.shape == (2, 2, 2, 3) and volumes.vector_u.shape == (1, 3)


def test_volumes():
    x = tf.reshape(tf.constant(X), (1, 2, 3, 4, 1))
    up = L.Conv3DTranspose(1, 2, strides=2, kernel_initializer="ones")
    assert up(x).shape == (1, 4, 6, 8, 1) and up(x).numpy()[0, :2, :2, :2].ravel().tolist() == [-1.0] * 8
    assert L.Conv3DTranspose(2, (2, 3, 1), padding="same")(x).shape == (1, 2, 3, 4, 2)
    padded = L.ZeroPadding3D((1, 2, (0, 3)))(x)
    assert padded.shape == (1, 4, 7, 7, 1) and float(tf.reduce_sum(padded)) == float(tf.reduce_sum(x))
    assert L.Cropping3D((1, 2, (0, 3)))(padded).numpy().tolist() == x.numpy().tolist()


@pytest.mark.parametrize("name", [name for name in LAYERS if name != "spectral"])
def test_they_are_made_again_from_data(name):
    layer = LAYERS[name]()
    layer(X)
    again = type(layer).from_config(layer.get_config())
    again(X)
    again.set_weights(layer.get_weights())
    np.testing.assert_array_equal(again(X), layer(X))


def test_what_is_refused():
    for layer, words in (
        (L.GroupNormalization(3), "4 channels are not divided into 3 groups"),
        (L.RMSNormalization(axis=3), "no axis 3 in rank 3"),
        (L.EinsumDense("abc,cd", 2), "an equation is as"),
        (L.EinsumDense("abc,cd->...d", 2), "an equation is as"),
        (L.EinsumDense("abc,cd->abd", 2), "has a result of 3 axes"),
        (L.EinsumDense("abc,cde->abd", (None, 2)), "for axis 'e'"),
        (L.EinsumDense("abc,cd->abd", (None, 2), bias_axes="c"), "bias_axes are letters of the result"),
    ):
        with pytest.raises(ValueError, match=words):
            layer(X)
    with pytest.raises(tf.ShapeError, match="are not those of"):
        L.EinsumDense("ab,bc->ac", 2)(X)
    with pytest.raises(ValueError, match="power_iterations is positive"):
        L.SpectralNormalization(L.Dense(1), 0)
    with pytest.raises(AttributeError, match="has no kernel"):
        L.SpectralNormalization(L.Flatten())(X)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("axis", [None, -1, 1, 2, (1, 3), [2, -1]])
def test_features_on_any_axes_are_normalised(axis, compiled):
    x = np.random.default_rng(0).normal(3.0, 2.0, size=(5, 2, 3, 4)).astype("float32")
    layer = tf.layers.Normalization(axis=axis)
    layer.adapt(tf.data.Dataset.from_tensor_slices(x).batch(2) if compiled else x)
    kept = [] if axis is None else [a % 4 for a in ([axis] if isinstance(axis, int) else axis)]
    over = tuple(a for a in range(4) if a not in kept)
    wanted = (x - x.mean(over, keepdims=True)) / x.std(over, keepdims=True)
    found = (tf.function(layer) if compiled else layer)(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    again = tf.layers.Normalization.from_config(layer.get_config())
    again.adapt(x)
    np.testing.assert_allclose(again(x[:2]), wanted[:2], rtol=1e-4, atol=1e-5)


def test_one_mean_for_all_numbers_of_a_column():
    layer = tf.layers.Normalization(input_shape=[1], axis=None)
    layer.adapt(np.array([1.0, 3.0, 5.0, 7.0], "float32"))
    model = tf.keras.Sequential([layer, tf.layers.Dense(1)])
    assert layer.mean.shape == () and model(np.array([[4.0]], "float32")).shape == (1, 1)
    for axis in (0, -1):
        with pytest.raises(ValueError, match="behind the first"):
            tf.layers.Normalization(axis=axis).adapt(np.ones(3))


def test_a_table_that_is_known_from_the_start():
    table = np.arange(6.0, dtype="float32").reshape(3, 2)
    for weights in (table, [table], tf.constant(table)):
        layer = tf.layers.Embedding(3, 2, weights=weights, trainable=False)
        assert layer(tf.constant([[2, 0]])).numpy().tolist() == [[[4.0, 5.0], [0.0, 1.0]]]
        assert "weights" not in layer.get_config() and not layer.trainable_weights
    with pytest.raises(ValueError):
        tf.layers.Embedding(4, 2, weights=[table])(tf.constant([1]))
