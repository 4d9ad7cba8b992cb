"""``tracejit.keras.mixed_precision``: layers that compute in two bytes, weights in four, and a loss that is scaled."""

import pickle
from importlib.util import find_spec

import numpy as np
import pytest

import tracejit as tf
from tracejit.keras import layers, mixed_precision

with_bfloat16 = pytest.mark.skipif(find_spec("ml_dtypes") is None, reason="bfloat16 needs ml_dtypes")
SHORT = ("float16", pytest.param("bfloat16", marks=with_bfloat16))


@pytest.fixture(autouse=True)
def _afterwards():
    yield
    mixed_precision.set_global_policy(None)


def data():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((256, 8)).astype("float32")
    return x, (x @ rng.standard_normal((8, 3))).argmax(1)


def network(policy):
    mixed_precision.set_global_policy(policy)
    tf.random.set_seed(1)
    inputs = tf.keras.Input(shape=(8,), name="inputs")
    x = layers.Dense(16, activation="relu")(inputs)
    x = layers.Dropout(0.1, seed=1)(layers.BatchNormalization()(x))
    outputs = layers.Activation("softmax", dtype="float32")(layers.Dense(3)(x))
    model = tf.keras.Model(inputs, outputs)
    model.compile(
        tf.optimizers.SGD(0.1, momentum=0.9), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    return model


def test_policies():
    mixed = mixed_precision.Policy("mixed_float16")
    assert (mixed.name, mixed.compute_dtype, mixed.variable_dtype) == ("mixed_float16", "float16", "float32")
    assert mixed_precision.global_policy().name == "float32" and mixed == mixed_precision.Policy(
        "mixed_float16"
    )
    mixed_precision.set_global_policy(mixed)
    assert mixed_precision.global_policy() is mixed and repr(mixed) == '<DTypePolicy "mixed_float16">'
    layer = layers.Dense(2)
    assert (layer.dtype, layer.compute_dtype, layer.variable_dtype) == ("float32", "float16", "float32")
    assert layers.Dense(2, dtype="float32").compute_dtype == "float32"
    assert layers.Dense(2, dtype=mixed_precision.Policy("float64")).dtype == tf.float64
    with pytest.raises(ValueError, match="mixed_int8"):
        mixed_precision.Policy("mixed_int8")


@pytest.mark.parametrize("short", SHORT)
@pytest.mark.parametrize(
    "layer",
    [
        lambda: layers.Dense(3),
        lambda: layers.LSTM(3, return_sequences=True),
        lambda: layers.LayerNormalization(),
        lambda: layers.BatchNormalization(),
        lambda: layers.Conv1D(2, 2),
        lambda: layers.Rescaling(2.0),
    ],
)
def test_results_are_short_and_weights_are_not(layer, short):
    mixed_precision.set_global_policy(f"mixed_{short}")
    made = layer()
    assert made(tf.ones((2, 4, 5))).dtype == tf.function(made)(tf.ones((2, 4, 5))).dtype == short
    assert all(v.dtype == tf.float32 for v in made.weights)
    mixed_precision.set_global_policy(None)
    assert layers.Dense(3)(made(tf.ones((2, 4, 5)))).dtype == tf.float32


def test_rows_of_a_table_are_cast_and_their_gradient_stays_rows():
    mixed_precision.set_global_policy("mixed_float16")
    table = layers.Embedding(10, 4)
    with tf.GradientTape() as tape:
        rows = table(np.array([[1, 2]]))
    gradient = tape.gradient(rows, table.embeddings)
    assert (
        rows.dtype == tf.float16 and isinstance(gradient, tf.IndexedSlices) and gradient.dtype == tf.float32
    )


@with_bfloat16
def test_gradients_reach_the_weights_in_float32():
    mixed_precision.set_global_policy("mixed_bfloat16")
    layer, x = layers.Dense(3), tf.ones((2, 4))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.cast(layer(x), tf.float32) ** 2)
    kernel = tape.gradient(loss, layer.kernel)
    assert kernel.dtype == tf.float32
    short = tf.cast(layer.kernel, tf.bfloat16)
    expected = tf.grad(lambda k: tf.reduce_sum(tf.cast(tf.cast(x, k.dtype) @ k, tf.float32) ** 2))(short)
    assert kernel.numpy().tolist() == expected.numpy().astype(np.float32).tolist()


@pytest.mark.parametrize("short", SHORT)
def test_a_network_learns_is_saved_and_copied(short, tmp_path):
    x, y = data()
    model = network(f"mixed_{short}")
    assert isinstance(model.optimizer, mixed_precision.LossScaleOptimizer) == (short == "float16")
    losses = model.fit(x, y, epochs=4, batch_size=64, verbose=0).history["loss"]
    assert losses[-1] < 0.6 * losses[0]
    model.save(tmp_path / "model.keras")
    mixed_precision.set_global_policy(None)
    again = tf.keras.models.load_model(tmp_path / "model.keras")
    for other in (again, pickle.loads(pickle.dumps(model))):
        assert (
            other.layers[1].dtype_policy.name == f"mixed_{short}"
            and other.layers[-1].compute_dtype == "float32"
        )
        assert other(x[:5]).numpy().tolist() == model(x[:5]).numpy().tolist()
    first, second = (m.fit(x, y, epochs=1, batch_size=64, verbose=0, shuffle=False) for m in (model, again))
    assert type(again.optimizer) is type(model.optimizer)
    assert first.history["accuracy"][0] == pytest.approx(
        second.history["accuracy"][0], abs=0.1
    )  # dropout draws


def _stepped(optimizer, compiled):
    v = tf.Variable([4.0, 8.0])

    def step(factor):
        with tf.GradientTape() as tape:
            loss = optimizer.scale_loss(tf.reduce_sum(v * factor))
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])

    return v, tf.function(step) if compiled else step


@pytest.mark.parametrize("compiled", [False, True])
def test_the_scale_grows_and_steps_that_overflow_are_left_out(compiled):
    inner = tf.optimizers.SGD(1.0)
    optimizer = mixed_precision.LossScaleOptimizer(inner, initial_scale=8.0, dynamic_growth_steps=3)
    v, step = _stepped(optimizer, compiled)
    seen = []
    for factor in (1.0, 1.0, 1.0, np.inf, np.nan, 1.0):
        step(tf.constant(factor))
        seen.append((v.numpy()[0].item(), float(optimizer.loss_scale), int(optimizer.step_counter)))
    assert seen == [(3.0, 8.0, 1), (2.0, 8.0, 2), (1.0, 16.0, 0), (1.0, 8.0, 0), (1.0, 4.0, 0), (0.0, 4.0, 1)]
    assert int(inner.iterations) == int(optimizer.iterations) == 4


class Linear(layers.Layer):
    def build(self, input_shape):
        self.w = self.add_weight("w", (input_shape[-1], 2), "ones")

    @tf.function
    def product(self, x):
        total = x @ self.w
        for _ in tf.range(2):
            total = total + x @ self.w
        return total

    def call(self, x):
        return self.product(x)


def test_compiled_functions_read_weights_in_the_dtype_of_the_layer_that_calls_them():
    mixed_precision.set_global_policy("mixed_float16")
    layer, x = Linear(), tf.ones((1, 3), tf.float16)

    def results(x):
        return layer(x), layer.product(x), layer(x)

    for f in (results, tf.function(results)):
        assert [y.dtype.name for y in f(x)] == ["float16", "float32", "float16"]
    with tf.GradientTape() as tape:
        y = tf.function(layer)(x)
    assert tape.gradient(y, layer.w).numpy().tolist() == [[3.0, 3.0]] * 3


def test_gradients_that_a_program_unscales_itself():
    optimizer = mixed_precision.LossScaleOptimizer(tf.optimizers.SGD(1.0))
    v = tf.Variable(3.0)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            scaled = optimizer.get_scaled_loss(v * 2.0)
        gradients = optimizer.get_unscaled_gradients(tape.gradient(scaled, [v]))
        optimizer.apply_gradients(zip(gradients, [v], strict=True))
        return gradients[0]

    assert float(step()) == 2.0 and float(v) == 1.0
    optimizer.minimize(lambda: v * 0.5, [v])
    assert float(v) == 0.5
    fixed = mixed_precision.LossScaleOptimizer(tf.optimizers.SGD(1.0), dynamic=False, initial_scale=4.0)
    fixed.minimize(lambda: v * np.float32(np.inf), [v])
    assert float(fixed.loss_scale) == 4.0 and not np.isfinite(float(v))
    with pytest.raises(ValueError, match="initial_scale"):
        mixed_precision.LossScaleOptimizer(tf.optimizers.SGD(), dynamic=False)
    with pytest.raises(ValueError, match="no gradient"):
        optimizer.apply_gradients([(None, v)])


def test_a_scaled_loss_keeps_gradients_that_float16_would_lose():
    mixed_precision.set_global_policy("mixed_float16")
    layer, x = layers.Dense(1, use_bias=False, kernel_initializer="ones"), tf.fill((1, 1), 1e-3)
    optimizer = mixed_precision.LossScaleOptimizer(tf.optimizers.SGD(1.0))

    def gradient(scale):
        with tf.GradientTape() as tape:
            loss = scale(tf.reduce_sum(tf.cast(layer(x), tf.float32)) * 1e-5)
        return tape.gradient(loss, layer.kernel)

    assert float(gradient(lambda loss: loss)) == 0.0
    (kept,) = optimizer.get_unscaled_gradients([gradient(optimizer.get_scaled_loss)])
    assert float(kept) == pytest.approx(1e-8, rel=1e-2)


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_come_scaled_unless_somebody_says_that_they_do_not(compiled):
    optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.optimizers.SGD(0.5), initial_scale=256.0)
    v, g = tf.Variable([1.0, 2.0]), tf.constant([256.0, 512.0])

    def step(g):
        optimizer.apply([g], [v])

    (tf.function(step) if compiled else step)(g)
    assert v.numpy().tolist() == [0.5, 1.0]
    (whole,) = optimizer.get_unscaled_gradients([g])
    optimizer.apply_gradients([(whole, v)])
    assert v.numpy().tolist() == [0.0, 0.0]
