"""Layers: values of the field, weights made once and in order, training mode, compiled as eager."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


def weight(*shape):
    """Small numbers that float32 holds exactly."""
    return (np.arange(np.prod(shape)).reshape(shape) * 7 % 11 - 5) / 8.0


def names(variables):
    return [v.name.split("/")[-1].removesuffix(":0") for v in variables]


# Computed by keras 3.15 with the TensorFlow backend in float64: the layer with weights `weight(*shape)`, on
# `weight(2, 3, 2)`, units 2, return_sequences=True.
RECURRENT = {
    "LSTM": [
        [
            [0.026187301613298908, -0.05541111217831081],
            [0.06340120963809787, -0.15247285160195337],
            [0.02706958913495541, -0.17770820926580227],
        ],
        [
            [0.035389670151751526, -0.14664366417362895],
            [0.04323433952192966, -0.15026755179776452],
            [-0.0010565963317401416, -0.13825082888157295],
        ],
    ],
    "GRU": [
        [
            [-0.010221589459564846, -0.29250361428396304],
            [-0.010668116624135134, -0.5033141574581328],
            [0.10073874820199645, -0.44835523236429414],
        ],
        [
            [0.09090158320358138, -0.3192378079451345],
            [0.044792066112584954, -0.4615103352523771],
            [0.1184683833800408, -0.3278247493978074],
        ],
    ],
}


@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent_layers_are_those_of_keras(name, run):
    layer = getattr(tf.layers, name)(2, return_sequences=True, return_state=True, dtype="float64")
    x = tf.constant(weight(2, 3, 2))
    layer.build(x.shape)
    layer.set_weights([weight(*v.shape) for v in layer.weights])
    assert names(layer.weights) == ["kernel", "recurrent_kernel", "bias"]
    outputs, state, *_ = run(layer)(x)
    np.testing.assert_allclose(outputs.numpy(), RECURRENT[name], rtol=1e-13)
    np.testing.assert_array_equal(state.numpy(), outputs.numpy()[:, -1])


@pytest.mark.parametrize("name", RECURRENT)
def test_gradients_of_recurrent_layers(name, run):
    layer = getattr(tf.layers, name)(2, dtype="float64")
    x = tf.constant(weight(2, 3, 2))
    layer.build(x.shape)
    layer.set_weights([weight(*v.shape) for v in layer.weights])

    def loss():
        return tf.reduce_sum(layer(x) ** 2)

    def gradients():
        with tf.GradientTape() as tape:
            value = loss()
        return tape.gradient(value, layer.trainable_variables)

    found, h = [g.numpy() for g in run(gradients)()], 1e-6
    for variable, gradient in zip(layer.trainable_variables, found, strict=True):
        before, direction = variable.numpy(), np.cos(np.arange(variable.numpy().size)).reshape(variable.shape)
        ends = []
        for sign in (1, -1):
            variable.assign(before + sign * h * direction)
            ends.append(loss().item())
        variable.assign(before)
        assert np.sum(gradient * direction) == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6)


def test_a_new_lstm_remembers():
    layer = tf.layers.LSTMCell(2)
    layer.build((1, 3))
    assert layer.bias.numpy().tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    plain = tf.layers.LSTMCell(2, unit_forget_bias=False)
    plain.build((1, 3))
    assert plain.bias.numpy().tolist() == [0] * 8


# ---- dense and the plain ones ---------------------------------------------------------------------------


def test_dense(run):
    layer = tf.layers.Dense(2, activation="tanh", dtype="float64")
    x = weight(4, 3)
    first = run(layer)(tf.constant(x)).numpy()
    np.testing.assert_allclose(first, np.tanh(x @ layer.kernel.numpy() + layer.bias.numpy()), rtol=1e-13)
    assert names(layer.variables) == ["kernel", "bias"] and layer.variables[0].shape == (3, 2)
    np.testing.assert_array_equal(run(layer)(tf.constant(x)).numpy(), first)
    assert len(layer.variables) == 2 and layer.count_params() == 8


def test_dense_without_bias_on_more_axes(run):
    layer = tf.layers.Dense(3, use_bias=False, kernel_initializer=tf.initializers.Ones())
    assert run(layer)(tf.ones((2, 4, 5))).numpy().tolist() == np.full((2, 4, 3), 5.0).tolist()
    assert len(layer.variables) == 1
    assert layer(tf.ones((5,))).shape == (3,), "a single example"


def test_dense_gradients(run):
    layer = tf.layers.Dense(2, activation="relu")
    layer.build((None, 3))
    layer.set_weights([weight(3, 2), weight(2)])

    def gradients(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x) ** 2)
        return tape.gradient(loss, layer.trainable_variables)

    x = weight(4, 3).astype("float32")
    kernel, bias = (g.numpy() for g in run(gradients)(tf.constant(x)))
    y = np.maximum(x @ weight(3, 2) + weight(2), 0)
    np.testing.assert_allclose(kernel, x.T @ (2 * y), rtol=1e-6)
    np.testing.assert_allclose(bias, (2 * y).sum(0), rtol=1e-6)


def test_plain_layers(run):
    x = tf.constant(weight(2, 3, 4))
    assert run(tf.layers.Flatten())(x).numpy().tolist() == x.numpy().reshape(2, 12).tolist()
    assert run(tf.layers.Flatten())(tf.constant([1.0, 2.0])).shape == (2, 1)
    assert run(tf.layers.Reshape((4, 3)))(x).shape == (2, 4, 3)
    assert run(tf.layers.Reshape((-1, 6)))(x).shape == (2, 2, 6)
    assert run(tf.layers.Activation("softplus"))(x).shape == x.shape
    np.testing.assert_allclose(run(tf.layers.Softmax(axis=1))(x).numpy().sum(1), 1.0)
    assert run(tf.layers.ReLU())(x).numpy().min() == 0.0
    assert run(tf.layers.Lambda(lambda v: v * 2.0))(x).numpy().tolist() == (x.numpy() * 2).tolist()


def test_an_unknown_batch_size():
    model = tf.Sequential([tf.layers.Flatten(), tf.layers.Dense(2)])
    f = tf.function(model, input_signature=[tf.TensorSpec([None, 3, 2], tf.float32)])
    for n in (1, 0, 5):
        assert f(np.ones((n, 3, 2), "float32")).shape == (n, 2)
    assert len(model.variables) == 2


def test_embedding(run):
    layer = tf.layers.Embedding(4, 2)
    layer.build(())
    layer.set_weights([weight(4, 2)])

    def gradient(i):
        with tf.GradientTape() as tape:
            y = layer(i)
        return y, tape.gradient(y, layer.trainable_variables[0])

    y, g = run(gradient)(tf.constant([[1, 3], [1, 1]]))
    assert y.numpy().tolist() == weight(4, 2)[[[1, 3], [1, 1]]].tolist()
    assert g.numpy().tolist() == [[0, 0], [3, 3], [0, 0], [1, 1]]
    with pytest.raises(TypeError, match="row numbers are integers"):
        layer(tf.constant([True]))
    assert (layer(tf.constant([1.0])).numpy() == weight(4, 2)[[1]]).all()
    with pytest.raises(IndexError):
        layer(tf.constant([4]))


def test_dropout(run):
    layer, x = tf.layers.Dropout(0.25), tf.ones((40, 50))
    assert run(layer)(x).numpy().min() == 1.0
    thinned = run(lambda v: layer(v, training=True))(x).numpy()
    assert set(np.unique(thinned).tolist()) == {0.0, np.float32(1 / 0.75)}
    assert (thinned == 0).mean() == pytest.approx(0.25, abs=0.03)
    rows = run(lambda v: tf.layers.Dropout(0.5, noise_shape=(40, 1))(v, training=True))(x).numpy()
    assert all(len(set(row)) == 1 for row in rows.tolist())
    draw = run(lambda: layer(x, training=True))
    assert not np.array_equal(draw().numpy(), draw().numpy()), "a new choice at each call"
    for wrong in (1.0, -0.1):
        with pytest.raises(ValueError, match="rate is in"):
            tf.layers.Dropout(wrong)


# ---- normalisation --------------------------------------------------------------------------------------

# Computed by keras 3.15 with the TensorFlow backend in float64, on `weight(4, 2)`, momentum 0.75.
NORMALISED = [
    [-1.337840769559318, 0.3417131333200686],
    [-0.44594692318643936, 1.3668525332802743],
    [0.44594692318643936, -1.3668525332802743],
    [1.337840769559318, -0.3417131333200686],
]
ITS_GRADIENT = [
    [0.3354061642968893, -0.31971764467659736],
    [-0.33414486842080954, 0.3229097337314323],
    [-0.33477551635884945, 0.31780239124369647],
    [0.3335142204827697, -0.3209944802985313],
]
MOVED_MEAN, MOVED_VARIANCE = [-0.015625, 0.03125], [0.7939453125, 0.783203125]
AFTERWARDS = [
    [-0.6834645707314513, 0.24702094419064102],
    [-0.26287098874286585, 0.6704854199460257],
    [0.15772259324571952, -0.4587531820683333],
    [0.5783161752343049, -0.03528870631294872],
]


def test_batch_normalization(run):
    layer, x = tf.layers.BatchNormalization(momentum=0.75, dtype="float64"), tf.constant(weight(4, 2))

    def train(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x, training=True)
            loss = tf.reduce_sum(y * weight(4, 2) ** 2)
        return y, tape.gradient(loss, x)

    y, gradient = run(train)(x)
    np.testing.assert_allclose(y.numpy(), NORMALISED, rtol=1e-12)
    np.testing.assert_allclose(gradient.numpy(), ITS_GRADIENT, rtol=1e-9)
    np.testing.assert_allclose(layer.moving_mean.numpy(), MOVED_MEAN, rtol=1e-13)
    np.testing.assert_allclose(layer.moving_variance.numpy(), MOVED_VARIANCE, rtol=1e-13)
    np.testing.assert_allclose(run(layer)(x).numpy(), AFTERWARDS, rtol=1e-12)
    np.testing.assert_allclose(
        layer.moving_mean.numpy(), MOVED_MEAN, rtol=1e-13, err_msg="inference moves nothing"
    )
    assert names(layer.trainable_variables) == ["gamma", "beta"]
    assert sorted(names(layer.non_trainable_variables)) == ["moving_mean", "moving_variance"]


def test_frozen_batch_normalization_is_inference():
    layer, x = tf.layers.BatchNormalization(), tf.constant(weight(4, 2))
    layer.trainable = False
    np.testing.assert_array_equal(layer(x, training=True).numpy(), layer(x).numpy())
    assert layer.moving_mean.numpy().tolist() == [0, 0] and layer.trainable_variables == []


def test_batch_normalization_of_another_axis(run):
    layer = tf.layers.BatchNormalization(axis=1, epsilon=0.0)
    y = run(lambda x: layer(x, training=True))(tf.constant(weight(3, 2, 4))).numpy()
    np.testing.assert_allclose(y.mean((0, 2)), 0, atol=1e-6)
    np.testing.assert_allclose(y.std((0, 2)), 1, rtol=1e-5)


def test_layer_normalization(run):
    # keras 3.15, as above
    layer = tf.layers.LayerNormalization(dtype="float64")
    expected = [
        [-1.1579783965859982, 1.2737762362445983, -0.1157978396585998],
        [1.2210870885945875, 0.0, -1.2210870885945875],
    ]
    np.testing.assert_allclose(
        run(layer)(tf.constant(weight(2, 3))).numpy(), expected, rtol=1e-12, atol=1e-15
    )
    over_two = tf.layers.LayerNormalization(axis=[1, 2], dtype="float64")
    expected = [
        [[-1.3101760890182281, 0.5240704356072913], [-0.5240704356072913, 1.3101760890182281]],
        [[0.19898379780694142, -1.3928865846485898], [1.3928865846485898, -0.19898379780694142]],
    ]
    np.testing.assert_allclose(run(over_two)(tf.constant(weight(2, 2, 2))).numpy(), expected, rtol=1e-12)
    assert over_two.gamma.shape == (2, 2)
    with pytest.raises(ValueError, match="has no axis 3 in rank 2"):
        tf.layers.LayerNormalization(axis=3)(tf.zeros((2, 2)))


# ---- networks -------------------------------------------------------------------------------------------


def network():
    return tf.Sequential(
        [
            tf.layers.Dense(4, "tanh"),
            tf.layers.BatchNormalization(),
            tf.layers.Dropout(0.5),
            tf.layers.Dense(1),
        ]
    )


def test_sequential():
    model = network()
    assert model(np.zeros((2, 3), "float32")).shape == (2, 1)
    assert names(model.variables) == [
        *("kernel", "bias", "gamma", "beta", "moving_mean", "moving_variance", "kernel", "bias")
    ]
    assert [type(m).__name__ for m in model.submodules] == ["Dense", "BatchNormalization", "Dropout", "Dense"]
    model.add(tf.layers.Dense(2))
    assert model(np.zeros((2, 3), "float32")).shape == (2, 2)
    assert model.pop().units == 2 and len(model.layers) == 4
    plain = tf.Sequential()
    plain.add(tf.layers.Dense(2))
    plain.add(lambda x: x * 0.0)
    assert plain(tf.ones((1, 3))).numpy().tolist() == [[0, 0]]
    with pytest.raises(TypeError, match="a layer is callable, got int"):
        tf.Sequential([3])


def test_weights_known_from_the_start():
    model = tf.Sequential([tf.layers.Dense(4, input_shape=(3,)), tf.layers.Dense(2)])
    assert [v.shape for v in model.variables] == [(3, 4), (4,), (4, 2), (2,)]
    other = tf.Sequential([tf.layers.Dense(4)])
    other.build((None, 5))
    assert other.layers[0].kernel.shape == (5, 4)


def test_training_is_said_once(run):
    said = []

    class Saying(tf.layers.Layer):
        def call(self, inputs, training=None):
            said.append(training)
            return inputs

    class Outer(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.inner = tf.Sequential([Saying()])

        def call(self, inputs):
            return self.inner(inputs) if len(said) != 1 else self.inner(inputs, training=False)

    model = Outer()
    for training in (True, True, False):
        run(lambda x, training=training: model(x, training=training))(tf.ones((1,)))
    assert said == [True, False, False]
    run(model)(tf.ones((1,)))
    assert said[-1] is None


def test_a_network_of_ones_own_with_python_control_flow(run):
    class Doubling(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.layers.Dense(1, kernel_initializer="ones")

        def call(self, inputs):
            y = self.dense(inputs)
            while tf.reduce_sum(y) < 100.0:
                y = y * 2.0
            return y

    model = Doubling()
    model.build((1, 2))
    model.dense.build((1, 2))
    assert run(model)(tf.constant([[1.0, 2.0]])).numpy().tolist() == [[192.0]]


def test_variables_are_made_on_the_first_call_of_a_compiled_function():
    model, optimizer = network(), tf.optimizers.Adam(0.01)
    x = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - 1.0) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    losses = [float(step(x)) for _ in range(150)]
    assert losses[-1] < losses[0] / 2
    assert len(model.trainable_variables) == 6 and len(model.variables) == 8
    assert optimizer.iterations.numpy() == 150
    assert model.layers[1].moving_mean.numpy().any()


def test_freezing():
    model = network()
    model(np.zeros((2, 3), "float32"))
    model.layers[0].trainable = False
    assert len(model.trainable_variables) == 4 and len(model.variables) == 8
    assert len(model.non_trainable_variables) == 4
    model.trainable = False
    assert model.trainable_variables == []


def test_weights_as_arrays():
    a, b = network(), network()
    x = np.ones((2, 3), "float32")
    a(x), b(x)
    b.set_weights(a.get_weights())
    np.testing.assert_array_equal(a(x).numpy(), b(x).numpy())
    with pytest.raises(ValueError, match="has 8 weights, got 1"):
        b.set_weights([x])


def test_weights_that_no_attribute_holds_are_found():
    class Odd(tf.layers.Layer):
        def build(self, input_shape):
            self.add_weight("lost", (2,), "ones")
            self.kept = self.add_weight(shape=(1,), initializer="zeros")
            self.add_weight((3,))

        def call(self, inputs):
            return inputs

    layer = Odd()
    layer(1.0)
    assert [v.shape for v in layer.variables] == [(1,), (2,), (3,)]


def test_several_inputs_and_outputs(run):
    class Both(tf.layers.Layer):
        def call(self, inputs):
            return {"sum": inputs["a"] + inputs["b"], "product": inputs["a"] * inputs["b"]}

    found = run(Both())({"a": tf.constant(2.0), "b": tf.constant(3.0)})
    assert {k: float(v) for k, v in found.items()} == {"sum": 5.0, "product": 6.0}


def test_errors_say_what_to_do():
    class Silent(tf.layers.Layer):
        def __init__(self):
            pass

    with pytest.raises(TypeError, match=r"Silent.__init__ has not called super\(\).__init__\(\)"):
        Silent()(1.0)
    with pytest.raises(ValueError, match="units is positive, got 0"):
        tf.layers.Dense(0)
    with pytest.raises(NotImplementedError, match="Layer defines no call"):
        tf.layers.Layer()(1.0)
    with pytest.raises(TypeError, match="training is True or False, not a tensor"):
        tf.layers.Dropout(0.5)([1.0], training=tf.constant(True))
    f = tf.function(tf.layers.Dense(2), input_signature=[tf.TensorSpec([None, None], tf.float32)])
    with pytest.raises(ValueError, match="axis -1 of its input, whose size must be known"):
        f(np.ones((2, 3), "float32"))
    dense = tf.layers.Dense(2)
    dense(tf.ones((1, 3)))
    with pytest.raises(ValueError, match="inner sizes differ: 4 and 3"):
        dense(tf.ones((1, 4)))


def test_names_are_numbered():
    class Unheard(tf.layers.Layer):
        pass

    assert [Unheard().name for _ in range(3)] == ["unheard", "unheard_1", "unheard_2"]
    assert Unheard(name="mine").name == "mine" and repr(Unheard(name="mine")) == "<Unheard 'mine'>"


def test_keras_names():
    assert tf.keras.layers.Dense is tf.layers.Dense and tf.keras.Sequential is tf.Sequential
    assert tf.keras.optimizers.Adam is tf.optimizers.Adam
    assert tf.keras.losses.Huber is tf.losses.Huber
    assert tf.keras.initializers.HeNormal is tf.initializers.HeNormal
    assert tf.keras.activations.relu is tf.nn.relu


# ---- beginnings and joints ------------------------------------------------------------------------------


def test_a_network_that_begins_with_its_input():
    layers = [tf.keras.Input(shape=(3,)), tf.layers.Dense(4), tf.layers.Dense(2)]
    model = tf.Sequential(layers)
    assert len(model.layers) == 2 and [v.shape for v in model.variables] == [(3, 4), (4,), (4, 2), (2,)]
    grown = tf.Sequential()
    for layer in (tf.layers.Input((3,)), tf.layers.Dense(1)):
        grown.add(layer)
    assert grown.layers[0].kernel.shape == (3, 1)
    with pytest.raises(TypeError, match="a network's Input, and what layers make of it, has no value yet"):
        tf.reduce_sum(tf.keras.Input(shape=(3,)))


def test_numbers_brought_to_one_scale():
    x = np.array([[1.0, 10.0, 5.0], [3.0, 30.0, 5.0]], "float32")
    layer = tf.layers.Normalization()
    with pytest.raises(ValueError, match="knows no statistics yet"):
        layer(x)
    layer.adapt(x)
    np.testing.assert_allclose(layer(x).numpy(), [[-1.0, -1.0, 0.0], [1.0, 1.0, 0.0]])
    assert layer.trainable_variables == [] and len(layer.variables) == 2
    batched = tf.layers.Normalization()
    batched.adapt(tf.data.Dataset.from_tensor_slices(x).batch(1))
    assert (batched.mean.numpy() == layer.mean.numpy()).all()
    assert tf.layers.Normalization(mean=1.0, variance=4.0)([[5.0]]).numpy().tolist() == [[2.0]]
    assert tf.layers.Rescaling(1 / 4, offset=1.0)(np.array([[8]], "uint8")).numpy().tolist() == [[3.0]]


@pytest.mark.parametrize("compiled", [False, True])
def test_inputs_joined(compiled):
    a, b = tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 5.0]])
    run = tf.function if compiled else lambda f: f
    assert run(lambda: tf.layers.Concatenate()([a, b]))().numpy().tolist() == [[1.0, 2.0, 3.0, 5.0]]
    assert run(lambda: tf.layers.Add()([a, b]))().numpy().tolist() == [[4.0, 7.0]]
    assert run(lambda: tf.layers.Multiply()([a, b]))().numpy().tolist() == [[3.0, 10.0]]
    rows = tf.constant([[[1.0, 2.0], [3.0, 8.0]]])
    assert run(lambda: tf.layers.GlobalAveragePooling1D()(rows))().numpy().tolist() == [[2.0, 5.0]]
    assert run(lambda: tf.layers.GlobalMaxPooling1D()(rows))().numpy().tolist() == [[3.0, 8.0]]


def test_leaky_activations():
    x = tf.constant([-1.0, 2.0])
    np.testing.assert_allclose(tf.layers.LeakyReLU()(x).numpy(), [-0.3, 2.0], rtol=1e-6)
    np.testing.assert_allclose(tf.layers.ELU(alpha=2.0)(x).numpy(), [2 * np.expm1(-1.0), 2.0], rtol=1e-6)


def test_the_input_says_of_which_dtype_examples_are():
    model = tf.Sequential([tf.keras.Input(shape=(5,), dtype="int32"), tf.layers.Embedding(10, 3)])
    assert model.layers[0].embeddings.shape == (10, 3)
    assert model(tf.zeros((2, 5), tf.int32)).shape == (2, 5, 3)


def test_statistics_taken_again_reach_compiled_functions():
    layer = tf.layers.Normalization()
    layer.adapt([[1.0], [3.0]])
    f = tf.function(lambda x: layer(x))
    assert f(tf.constant([[3.0]])).numpy().tolist() == [[1.0]]
    layer.adapt(tf.data.Dataset.from_tensors([[10.0], [30.0]]))
    assert f(tf.constant([[30.0]])).numpy().tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("kind", "name"),
    [("Conv2D", "conv2d"), ("Conv2DTranspose", "conv2d_transpose"), ("MaxPooling2D", "max_pooling2d")],
)  # fmt: skip
def test_names_of_layers_of_several_axes(kind, name):
    layer = getattr(tf.keras.layers, kind)(*{"Conv2D": (2, 3), "Conv2DTranspose": (2, 3)}.get(kind, ()))
    assert layer.name.rstrip("_0123456789") == name.rstrip("_0123456789") and name in layer.name


def test_functions_of_a_shape_and_a_dtype_are_initializers():
    tf.random.set_seed(2)
    layer = tf.keras.layers.Dense(50, kernel_initializer=tf.random.normal, bias_initializer=tf.zeros)
    layer(tf.ones((1, 40)))
    assert abs(layer.kernel.numpy().std() - 1.0) < 0.1 and not layer.bias.numpy().any()


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_errors_of_shapes_name_the_layer_and_what_it_was_made_for(mode):
    dense, recurrent = tf.layers.Dense(3, name="head"), tf.layers.LSTM(2)
    dense(tf.ones((2, 4)))
    model = tf.Sequential([tf.layers.Flatten(), dense])
    with pytest.raises(tf.ShapeError, match="inner sizes differ: 5 and 4") as error:
        mode(lambda x: model(x))(tf.ones((2, 5)))
    note = "in Dense 'head', called with float32[2,5]; its weights were made for float32[2,4]"
    assert error.value.__notes__ == [note]
    with pytest.raises(
        tf.ShapeError, match=r"LSTM takes sequences \(batch, steps, features\), got float32\[8,3\]"
    ):
        mode(lambda x: recurrent(x))(tf.ones((8, 3)))


def test_arguments_and_names_of_older_programs():
    assert tf.layers.Layer().add_variable("w", [2, 3]).shape == (2, 3)
    assert tf.layers.Dense(2, name="3_layers").name == "3_layers"
    assert tf.layers.LeakyReLU(alpha=0.2)([[-1.0]]).numpy() == np.float32(-0.2)
    assert tf.layers.Embedding(5, 2, input_length=3)([[1, 2, 3]]).shape == (1, 3, 2)
    net = tf.Sequential([tf.layers.LSTM(3, batch_input_shape=(2, 5, 1))])
    assert net.layers[0].input_shape == (5, 1) and net.output_shape == (None, 3)
    with pytest.raises(AttributeError, match="was not called yet"):
        _ = tf.layers.Dense(2).output_shape
    again = tf.layers.Dense.from_config(
        tf.layers.Dense(2, input_dim=3, activity_regularizer="l2").get_config()
    )
    assert again.input_shape == (3,) and again.activity_regularizer is not None
