"""Whole networks in files: what comes back computes the same and trains on; what cannot be stored is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import tracejit as tf
from tracejit.models import NotDescribed, NotLoaded, clone_model, load_model, model_from_json, save_model

L = tf.layers
X = np.random.default_rng(0).normal(size=(16, 6)).astype("float32")
Y = X.sum(axis=1, keepdims=True)
IMAGES, STEPS, NUMBERS = X.reshape(2, 4, 4, 3), X.reshape(4, 4, 6), np.arange(12).reshape(3, 4)
VOLUMES = X.reshape(2, 2, 4, 2, 3)

#: Layers with arguments other than the usual, and what they are called with.
VOLUMES = np.linspace(-1.0, 1.0, 2 * 2 * 3 * 2 * 4, dtype=np.float32).reshape(2, 2, 3, 2, 4)
LAYERS = [
    (lambda: L.Activation("softmax"), X),
    (lambda: L.Activation(tf.nn.relu), X),
    (lambda: L.ActivityRegularization(l2=0.5), X),
    (lambda: L.AlphaDropout(0.25), X),
    (lambda: L.AveragePooling1D(2, padding="same"), STEPS),
    (lambda: L.AveragePooling2D(2, 1, data_format="channels_first"), IMAGES),
    (lambda: L.BatchNormalization(momentum=0.5, epsilon=0.1, scale=False), X),
    (lambda: L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode="sum"), STEPS),
    (lambda: L.Bidirectional(L.GRU(3), backward_layer=L.GRU(3, go_backwards=True)), STEPS),
    (lambda: L.Conv1D(4, 3, padding="causal", dilation_rate=2), STEPS),
    (lambda: L.Conv1DTranspose(4, 3, strides=2, output_padding=1), STEPS),
    (lambda: L.Conv2D(3, (2, 1), groups=3, use_bias=False, kernel_regularizer="l2"), IMAGES),
    (lambda: L.Conv2DTranspose(2, 3, 2, "same", activation="tanh"), IMAGES),
    (lambda: L.Conv3D(2, 2, kernel_regularizer=tf.keras.regularizers.L1(0.5)), VOLUMES),
    (lambda: L.Conv3DTranspose(2, 2, 2, use_bias=False), VOLUMES),
    (lambda: L.Cropping1D((1, 0)), STEPS),
    (lambda: L.Cropping3D((1, 0, (0, 1))), VOLUMES),
    (lambda: L.DepthwiseConv1D(2, padding="same", activation="relu"), STEPS),
    (lambda: L.EinsumDense("abc,cd->abd", (None, 3), "tanh", bias_axes="d", kernel_regularizer="l2"), STEPS),
    (lambda: L.GroupNormalization(1, epsilon=0.1, center=False), STEPS),
    (lambda: L.RMSNormalization(epsilon=0.1), STEPS),
    (lambda: L.SeparableConv1D(4, 2, pointwise_initializer="he_normal"), STEPS),
    (lambda: L.SpectralNormalization(L.Dense(3), power_iterations=2), X),
    (lambda: L.UnitNormalization([1, 2]), STEPS),
    (lambda: L.ZeroPadding3D((1, 0, (0, 1))), VOLUMES),
    (lambda: L.Cropping2D(((1, 0), 1)), IMAGES),
    (lambda: L.Dense(3, "gelu", bias_initializer=tf.initializers.Constant(2.0), trainable=False), X),
    (lambda: L.Dense(3, kernel_initializer=tf.initializers.GlorotNormal(seed=4), dtype="float64"), X),
    (lambda: L.DepthwiseConv2D(3, depth_multiplier=2, data_format="channels_last"), IMAGES),
    (lambda: L.Dropout(0.25, noise_shape=(1, 6), seed=3), X),
    (lambda: L.GaussianDropout(0.25), X),
    (lambda: L.GaussianNoise(0.25, seed=3), X),
    (lambda: L.Identity(), X),
    (lambda: L.PReLU("ones", shared_axes=[1]), STEPS),
    (lambda: L.SpatialDropout1D(0.5), STEPS),
    (lambda: L.SpatialDropout2D(0.5, data_format="channels_first"), IMAGES),
    (lambda: L.SpatialDropout3D(0.5), VOLUMES),
    (lambda: L.ELU(0.5), X),
    (lambda: L.Embedding(20, 3, mask_zero=True, embeddings_initializer="ones"), NUMBERS),
    (lambda: L.Flatten(), IMAGES),
    (lambda: L.GlobalAveragePooling1D(keepdims=True), STEPS),
    (lambda: L.GlobalAveragePooling2D(data_format="channels_first"), IMAGES),
    (lambda: L.GlobalMaxPooling1D(), STEPS),
    (lambda: L.GlobalMaxPooling2D(keepdims=True), IMAGES),
    (lambda: L.GRU(3, "relu", return_sequences=True, time_major=True), STEPS),
    (lambda: L.LayerNormalization((1, 2), center=False), STEPS),
    (lambda: L.LeakyReLU(0.1), X),
    (lambda: L.LSTM(3, return_state=True, unit_forget_bias=False, dropout=0.5), STEPS),
    (lambda: L.Masking(1.0), STEPS),
    (lambda: L.MaxPooling1D(2), STEPS),
    (lambda: L.MaxPooling2D((1, 2), padding="same"), IMAGES),
    (lambda: L.Normalization(mean=[1.0] * 6, variance=[4.0] * 6), X),
    (lambda: L.Permute((2, 1)), STEPS),
    (lambda: L.ReLU(), X),
    (lambda: L.RepeatVector(3), X),
    (lambda: L.Rescaling(2.0, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), X),
    (lambda: L.Reshape((3, -1)), X),
    (lambda: L.RNN([L.GRUCell(3), L.LSTMCell(4, "relu")], return_sequences=True, go_backwards=True), STEPS),
    (lambda: L.SeparableConv2D(4, 2, pointwise_initializer="he_normal"), IMAGES),
    (lambda: L.SimpleRNN(3, "relu"), STEPS),
    (lambda: L.Softmax(axis=0), X),
    (lambda: L.TimeDistributed(L.Dense(3)), STEPS),
    (lambda: L.UpSampling1D(3), STEPS),
    (lambda: L.UpSampling2D((1, 2), data_format="channels_first"), IMAGES),
    (lambda: L.ZeroPadding1D(2), STEPS),
    (lambda: L.ZeroPadding2D((1, 2)), IMAGES),
    (lambda: L.Attention(use_scale=True, dropout=0.5), [STEPS, STEPS]),
    (lambda: L.AdditiveAttention(), [STEPS, STEPS]),
    (lambda: L.Add(), [X, X]),
    (lambda: L.Average(), [X, X]),
    (lambda: L.Concatenate(0), [X, X]),
    (lambda: L.Dot((1, 1), normalize=True), [X, X]),
    (lambda: L.Maximum(), [X, -X]),
    (lambda: L.Minimum(), [X, -X]),
    (lambda: L.Multiply(), [X, X]),
    (lambda: L.Subtract(), [X, X]),
    (lambda: L.GlobalAveragePooling3D(), VOLUMES),
    (lambda: L.GlobalMaxPooling3D(keepdims=True), VOLUMES),
    (lambda: L.CategoryEncoding(4, output_mode="count"), [[3, 3], [0, 1]]),
    (lambda: L.StringLookup(vocabulary=["a", "b"], output_mode="multi_hot"), [["b", "c"]]),
    (lambda: L.IntegerLookup(vocabulary=[5, 7]), [[7, 9]]),
    (lambda: L.TextVectorization(vocabulary=["a", "b"], output_sequence_length=3), [["b a"], ["c"]]),
    (lambda: L.Resizing(2, 5), IMAGES),
    (lambda: L.CenterCrop(2, 2), IMAGES),
    # of bounds that leave no chance, for the loaded layer draws next numbers; a flip shows nothing of images that
    # are their own mirrors
    (lambda: L.RandomFlip("horizontal", seed=1), IMAGES + IMAGES[:, :, ::-1]),
    (lambda: L.RandomContrast((-0.5, 0.5), (0, 1), seed=1), IMAGES),
    (lambda: L.RandomBrightness((0.2, 0.2), seed=1), IMAGES),
    (lambda: L.RandomRotation((0.2, 0.2), "wrap", seed=1), IMAGES),
    (lambda: L.RandomTranslation((0.2, 0.2), (0.3, 0.3), interpolation="nearest", seed=1), IMAGES),
    (lambda: L.RandomZoom((-0.2, -0.2), (0.3, 0.3), fill_value=1.0, seed=1), IMAGES),
]


def arrays(nest):
    return [np.asarray(x.array) for x in tf.nest.flatten(nest)]


def assert_same(a, b):
    for x, y in zip(arrays(a), arrays(b), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(("make", "x"), LAYERS, ids=[f"{i}" for i in range(len(LAYERS))])
def test_every_layer_comes_back(make, x, tmp_path):
    class Alone(tf.keras.Model):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer

        def call(self, inputs):
            return self.layer(inputs)

    layer = make()
    model = Alone(layer)
    expected = model(x)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m", custom_objects={"Alone": Alone})
    assert type(again.layer) is type(layer)
    assert again.layer.get_config() == layer.get_config()
    assert [v.trainable for v in again.variables] == [v.trainable for v in model.variables]
    assert len(again.trainable_variables) == len(model.trainable_variables)
    assert_same(expected, again(x))
    assert type(layer).from_config(layer.get_config()).get_config() == layer.get_config()


def test_every_layer_is_in_the_list():
    tried = {type(make()).__name__ for make, _ in LAYERS}
    tried |= {type(part).__name__ for make, _ in LAYERS for part in make().submodules}
    public = {x.__name__ for x in (getattr(L, n) for n in L.__all__) if isinstance(x, type)}
    others = {"Layer", "Lambda", "InputLayer", "Sequential", "SimpleRNNCell", "StackedRNNCells"}
    assert public - tried <= others | {"MultiHeadAttention"}  # it takes two inputs: below


def test_training_goes_on_where_it_was(tmp_path):
    model = tf.Sequential([L.Dense(4, "relu", name="first"), L.BatchNormalization(), L.Dense(1)])
    rate = tf.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    model.compile(
        tf.optimizers.Adam(rate, clipnorm=1.0),
        tf.losses.Huber(2.0),
        ["mae", tf.metrics.RootMeanSquaredError()],
    )
    model.fit(X, Y, epochs=2, verbose=0, shuffle=False)
    model.save(tmp_path / "m.keras")
    again = load_model(tmp_path / "m.keras")
    assert again.name == model.name and again.layers[0].name == "first"
    assert int(again.optimizer.iterations) == 2 and again.optimizer.clipnorm == 1.0
    assert again.evaluate(X, Y, verbose=0) == model.evaluate(X, Y, verbose=0)
    histories = [m.fit(X, Y, epochs=2, verbose=0, shuffle=False).history for m in (model, again)]
    assert histories[0] == histories[1]
    assert sorted(histories[0]) == ["loss", "mae", "root_mean_squared_error"]
    assert_same(model(X), again(X))
    without = load_model(tmp_path / "m.keras", compile=False)
    assert without.optimizer is None
    model.save(tmp_path / "w", include_optimizer=False)
    assert load_model(tmp_path / "w").optimizer is None


def test_networks_between_inputs_and_outputs(tmp_path):
    a, b = tf.keras.Input((6,), name="a"), tf.keras.Input((4, 6))
    seen = L.MultiHeadAttention(2, 3)(query=b, value=b, use_causal_mask=True)
    shared = L.Dense(6, "tanh", name="shared")
    whole, last, _ = L.LSTM(6, return_sequences=True, return_state=True)(shared(b))
    mixed = L.Concatenate()([shared(a) * 2.0, 1.0 - last, seen[:, 1], whole[:, 0, ::2]])
    model = tf.keras.Model([a, b], {"out": L.Dense(1)(mixed) + np.float32(3.0), "all": whole}, name="two")
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    xs = [X[:4], STEPS]
    assert_same(model(xs), again(xs))
    assert again.name == "two" and again.get_layer("shared").units == 6
    assert len(again.variables) == len(model.variables)
    inner = tf.keras.Model(a, L.Dense(2)(a))
    outer = tf.Sequential([inner, inner.layers[1].__class__(3)])
    outer(X)
    outer.save(tmp_path / "o")
    assert_same(outer(X), load_model(tmp_path / "o")(X))


def test_what_is_one_object_stays_one(tmp_path):
    layer = L.Dense(6, "tanh")
    model = tf.Sequential([layer, layer])
    model(X)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.layers[0] is again.layers[1] and len(again.variables) == 2
    assert_same(model(X), again(X))


class Scaled(tf.layers.Layer):
    def __init__(self, factor, inner=None, **options):
        super().__init__(**options)
        self.inner, self.times = inner, factor

    def build(self, input_shape):
        self.w = self.add_weight("w", input_shape[-1:], "ones")

    def call(self, inputs):
        y = inputs * self.w * self.times
        return y if self.inner is None else self.inner(y)


class WithConfig(tf.layers.Layer):
    def __init__(self, rows, act="relu", **options):
        super().__init__(**options)
        self.inner, self.act = L.Dense(rows), tf.keras.activations.get(act)

    def call(self, inputs):
        return self.act(self.inner(inputs))

    def get_config(self):
        act = tf.keras.activations.serialize(self.act)
        return {**super().get_config(), "rows": self.inner.units, "act": act}


class Silent(tf.keras.Model):
    """Of arguments that say nothing of its name."""

    def __init__(self, *sizes):
        super().__init__()
        self.all = [L.Dense(n) for n in sizes]

    def call(self, inputs):
        for layer in self.all:
            inputs = layer(inputs)
        return inputs


class Net(tf.keras.Model):
    def __init__(self, width, table):
        super().__init__(name="net")
        self.parts = {"a": Scaled(2.0, L.Dense(width), name="mine"), "b": WithConfig(width, "tanh")}
        self.table = tf.constant(table)

    def call(self, inputs, other=None, training=None):
        y = self.parts["b"](self.parts["a"](inputs)) + self.table
        return y if other is None else y + tf.reduce_sum(other)


def test_classes_of_the_program(tmp_path):
    model = Net(3, np.array([1.0, 2.0, 3.0], "float32"))
    expected = model(X, tf.ones((2,)))
    model.parts["a"].trainable = False
    model.save(tmp_path / "m")
    with pytest.raises(
        NotDescribed, match=r"no class is called 'Net': give custom_objects=\{'Net': ...\}, or register"
    ):
        load_model(tmp_path / "m")
    known = {"Net": Net, "Scaled": Scaled, "WithConfig": WithConfig}
    again = load_model(tmp_path / "m", known)
    assert_same(expected, again(X, tf.ones((2,))))
    assert len(again.trainable_variables) == 2 and again.parts["a"].name == "mine"
    with tf.keras.utils.custom_object_scope(known):
        assert_same(model(X), load_model(tmp_path / "m")(X))
    assert len(clone_model(model).variables) == 0  # it was not called
    model.w = tf.Variable(1.0)
    model.save(tmp_path / "m")
    with pytest.raises(NotLoaded, match="has other Variables: w is only in the file"):
        load_model(tmp_path / "m", known)
    with pytest.raises(
        NotDescribed, match=r"what <Silent 'silent'> was made with is not known: define get_config in Sil"
    ):
        Silent(2, 3).save(tmp_path / "s")


def test_registered_classes_and_functions(tmp_path):
    @tf.keras.utils.register_keras_serializable("mine")
    class Twice(tf.layers.Layer):
        def call(self, inputs):
            return inputs * 2.0

    @tf.keras.utils.register_keras_serializable("mine", "wave")
    def waves(x):
        return tf.sin(x)

    @tf.keras.utils.register_keras_serializable("mine")
    def cost(y_true, y_pred):
        return tf.reduce_mean(tf.abs(y_true - y_pred), axis=-1)

    try:
        model = tf.Sequential([Twice(), L.Dense(1, activation=waves), L.Lambda(waves)])
        model.compile("sgd", cost, metrics=[cost])
        model.fit(X, Y, verbose=0)
        model.save(tmp_path / "m")
        again = load_model(tmp_path / "m")
        assert_same(model(X), again(X))
        assert again.loss is cost and again.evaluate(X, Y, verbose=0) == model.evaluate(X, Y, verbose=0)
        assert tf.keras.utils.get_registered_object("mine>wave") is waves
    finally:
        for name in ("mine>Twice", "mine>wave", "mine>cost"):
            tf.keras.utils.get_custom_objects().pop(name)
    with pytest.raises(NotDescribed, match="no class is called 'mine>Twice'"):
        load_model(tmp_path / "m")


def test_functions_are_kept_by_name_and_given_to_load(tmp_path):
    def waves(x):
        return tf.sin(3.0 * x)

    def cost(y_true, y_pred):
        return tf.reduce_mean(tf.abs(y_true - y_pred), axis=-1)

    model = tf.Sequential([L.Dense(1, activation=waves), L.Lambda(waves)])
    model.compile("sgd", cost, metrics=[cost])
    model.fit(X, Y, verbose=0)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m", custom_objects={"waves": waves, "cost": cost})
    assert_same(model(X), again(X))
    assert again.loss is cost and again.layers[0].activation is waves
    with pytest.raises(
        NotDescribed, match=r"no function is called 'waves': give custom_objects=\{'waves': ...\}"
    ):
        load_model(tmp_path / "m")

    def relu(x):  # would be read as the library's
        return x

    with pytest.raises(NotDescribed, match="under a name of its own"):
        tf.Sequential([L.Dense(1, activation=relu)]).to_json()


def test_functions_are_refused_by_their_line(tmp_path):
    with pytest.raises(
        NotDescribed, match=r"function of <Lambda 'lambda\w*'> is a Python function \(.*test_network_files"
    ):
        tf.Sequential([L.Lambda(lambda x: x)]).save(tmp_path / "m")
    model = tf.Sequential([L.Dense(1)])
    model.compile(loss=lambda a, b: (a - b) ** 2)
    with pytest.raises(NotDescribed, match=r"loss|compile\(\) of <Sequential"):
        model.save(tmp_path / "m")
    with pytest.raises(NotDescribed, match="activation of <Dense 'a'> is a Python function"):
        tf.Sequential([L.Dense(1, lambda x: x, name="a")]).to_json()
    assert not (tmp_path / "m").exists()
    with pytest.raises(NotDescribed, match=r"factor of <Scaled 's'> is <object"):
        Scaled(object(), name="s").get_config()


def test_a_compile_of_its_own_is_called_by_the_program(tmp_path):
    class Own(tf.keras.Model):
        def compile(self, weight, **options):
            super().compile(**options)
            self.weight = weight

    x = tf.keras.Input((6,))
    model = Own(x, L.Dense(1)(x))
    model.compile(2.0, loss="mse")
    model.fit(X, Y, verbose=0)
    model.save(tmp_path / "m")
    with pytest.warns(UserWarning, match=r"has a compile\(\) of its own: call it before training"):
        again = load_model(tmp_path / "m", {"Own": Own})
    assert_same(model(X), again(X))
    assert again.optimizer is None


def test_what_was_loaded_compiles(tmp_path):
    model = tf.Sequential([L.LSTM(3), L.Dense(2, "relu")])
    expected = tf.function(model)(STEPS)
    model.save(tmp_path / "m")
    assert_same(expected, tf.function(load_model(tmp_path / "m"))(STEPS))


def test_text_and_clones():
    model = tf.Sequential([tf.keras.Input((6,)), L.Dense(3, input_shape=(6,)), L.Dropout(0.5)])
    again = model_from_json(model.to_json())
    assert [v.shape for v in again.variables] == [(6, 3), (3,)]
    assert json.loads(model.to_json())["config"]["layers"][0]["class_name"] == "Dense"
    other = clone_model(model)
    assert not np.array_equal(other.layers[0].kernel.array, model.layers[0].kernel.array)
    with pytest.raises(ValueError, match="Expecting value"):
        model_from_json("no json")


def test_parts_as_data():
    K = tf.keras
    for module, thing in (
        (K.initializers, K.initializers.HeNormal(seed=1)),
        (K.regularizers, K.regularizers.L1L2(0.5, 0.25)),
        (K.losses, K.losses.MeanSquaredError("sum")),
        (K.metrics, K.metrics.MeanSquaredError("mine")),
        (K.optimizers, K.optimizers.SGD(K.optimizers.schedules.CosineDecay(0.1, 5), momentum=0.5)),
    ):
        data = json.loads(json.dumps(module.serialize(thing)))
        short = {"class_name": data["class_name"], "config": data["config"]}
        for again in (module.deserialize(data), module.get(data), module.get(short)):
            assert type(again) is type(thing) and module.serialize(again) == module.serialize(thing)
    assert K.layers.deserialize(K.layers.serialize(L.Dense(3))).units == 3
    assert K.activations.deserialize(K.activations.serialize(tf.nn.gelu)) is tf.nn.gelu


def test_other_files_are_refused(tmp_path):
    model = tf.Sequential([L.Dense(1, input_shape=(6,))])
    model.save(tmp_path / "m")
    with pytest.raises(FileExistsError, match="is there already"):
        model.save(tmp_path / "m", overwrite=False)
    with pytest.raises(IsADirectoryError, match="a network is one file"):
        save_model(model, tmp_path)
    model.save_weights(tmp_path / "w")
    with pytest.raises(NotLoaded, match=r"weights alone are for Model\.load_weights"):
        load_model(tmp_path / "w")
    (tmp_path / "z").write_bytes(b"PK\x03\x04 of another library")
    with pytest.raises(ValueError, match="files of Keras, HDF5 and TensorFlow are not read"):
        load_model(tmp_path / "z")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        load_model(tmp_path / "none")


def test_models_are_pickled_still():
    model = Scaled(2.0, L.Dense(3))
    expected = model(X)
    assert_same(expected, pickle.loads(pickle.dumps(model))(X))
    odd = Scaled((x for x in ()), L.Dense(3), name="scaled_1")
    odd.times = 1.0
    with pytest.raises(NotDescribed, match="what <Scaled 'scaled_1'> was made with is not known"):
        pickle.loads(pickle.dumps(odd)).get_config()


def test_checkpoints_of_whole_networks(tmp_path: Path):
    model = tf.Sequential([L.Dense(1)])
    model.compile("adam", "mse")
    model.fit(
        X,
        Y,
        epochs=2,
        verbose=0,
        callbacks=[tf.keras.callbacks.ModelCheckpoint(tmp_path / "d" / "{epoch}.keras")],
    )
    assert sorted(p.name for p in (tmp_path / "d").iterdir()) == ["1.keras", "2.keras"]
    again = load_model(tmp_path / "d" / "2.keras")
    assert_same(model(X), again(X))
    assert int(again.optimizer.iterations) == 2
