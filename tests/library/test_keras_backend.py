"""``keras.backend``: Keras 2's names for what layers and losses compute with."""

import numpy as np

import tracejit as tf
import tracejit.keras.backend as K


def test_a_loss_written_with_it():
    def loss(y_true, y_pred):
        return K.mean(K.sum(K.square(K.clip(y_true - y_pred, -1.0, 1.0)), axis=-1, keepdims=True))

    x = tf.constant([[0.5, 3.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = loss(tf.zeros_like(x), x)
    assert float(y) == 1.25
    np.testing.assert_array_equal(tape.gradient(y, x), [[1.0, 0.0]])


def test_facts_and_values():
    assert (K.floatx(), K.epsilon(), K.image_data_format()) == ("float32", 1e-7, "channels_last")
    v = K.variable([[1.0, 2.0]])
    K.set_value(v, [[3.0, 4.0]])
    assert K.get_value(v).tolist() == [[3.0, 4.0]] and K.ndim(v) == 2 and K.int_shape(v) == (1, 2)
    assert K.dot(v, K.transpose(v)).numpy().tolist() == [[25.0]]
    assert K.dot(v, tf.constant([1.0, 2.0])).numpy().tolist() == [11.0]
    assert K.flatten(K.concatenate([v, v], axis=0)).numpy().tolist() == [3.0, 4.0, 3.0, 4.0]


def test_names_of_layers_begin_again():
    tf.layers.Dense(1)
    K.clear_session()
    assert [tf.layers.Dense(1).name, tf.layers.Dense(1).name] == ["dense", "dense_1"]


def test_a_regularizer_of_ones_own():
    class Weighted(tf.keras.regularizers.Regularizer):
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x):
            return tf.reduce_sum(tf.abs(self.factor * x))

    layer = tf.layers.Dense(1, kernel_regularizer=Weighted(0.5), kernel_initializer="ones")
    layer(tf.ones((1, 4)))
    assert [float(x) for x in layer.losses] == [2.0]
    assert Weighted.from_config(Weighted(0.5).get_config()).factor == 0.5


def test_entropies_of_elements_and_random_signs():
    target, output = tf.constant([[1.0, 0.0]]), tf.constant([[0.25, 0.5]])
    np.testing.assert_allclose(K.binary_crossentropy(target, output), [[np.log(4.0), np.log(2.0)]], rtol=1e-6)
    np.testing.assert_allclose(
        K.binary_crossentropy(target, tf.zeros((1, 2)), from_logits=True),
        np.log(2.0) * np.ones((1, 2)),
        rtol=1e-6,
    )
    drawn = K.random_bernoulli((1000,), p=0.3, dtype="int32", seed=1).numpy()
    assert set(drawn) == {0, 1} and 250 < drawn.sum() < 350
