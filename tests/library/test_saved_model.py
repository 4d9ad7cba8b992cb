"""Saved models: called, differentiated and assigned to in a process that never saw their source."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tracejit as tf
from tracejit.saved_model.saving import NotSaved


class Network(tf.Module):
    def __init__(self):
        super().__init__()
        self.dense = tf.layers.Dense(3, activation=tf.tanh, kernel_initializer="ones")
        self.scale = tf.Variable(2.0, name="scale")
        self.count = tf.Variable(0, trainable=False)
        self.offset = tf.constant([1.0, 2.0, 3.0])

    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def __call__(self, x):
        self.count.assign_add(1)
        return {"y": self.dense(x) * self.scale + self.offset, "n": (self.count.read_value(),)}

    @tf.function
    def power(self, x, n=2):
        return x**n

    @tf.function
    def collatz(self, n):
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps = steps + 1
        return steps


X = np.array([[1.0, 2.0], [0.5, -1.0]], "float32")


@pytest.fixture
def saved(tmp_path):
    net = Network()
    net(X)
    net.power(tf.constant(3.0))
    net.power(tf.constant(3.0), n=3)
    net.collatz(tf.constant(27))
    tf.saved_model.save(net, tmp_path / "model")
    return net, tmp_path / "model"


def gradients(net, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(net(x)["y"] ** 2)
    return tape.gradient(loss, {v.name: v for v in net.trainable_variables})


def test_values_gradients_and_state(saved):
    net, folder = saved
    loaded = tf.saved_model.load(folder)
    for rows in (X, X[:1], np.zeros((0, 2), "float32")):
        found, wanted = loaded(rows), net(rows)
        np.testing.assert_array_equal(found["y"].numpy(), wanted["y"].numpy())
        assert int(found["n"][0]) == int(wanted["n"][0])
    assert int(loaded.count) == int(net.count) == 4
    found, wanted = gradients(loaded, X), gradients(net, X)
    assert found.keys() == wanted.keys() and len(found) == 3
    for name in found:
        np.testing.assert_array_equal(found[name].numpy(), wanted[name].numpy())
    loaded.scale.assign(0.0)
    np.testing.assert_array_equal(loaded(X)["y"].numpy(), np.tile([1.0, 2.0, 3.0], (2, 1)))
    assert float(net.scale) == 2.0


def test_python_values_defaults_and_keywords(saved):
    loaded = tf.saved_model.load(saved[1])
    assert float(loaded.power(tf.constant(3.0))) == 9.0
    assert float(loaded.power(tf.constant(2.0), n=3)) == 8.0
    assert float(loaded.power(tf.constant(2.0), 3)) == 8.0
    assert int(loaded.collatz(tf.constant(27))) == 111
    with pytest.raises(NotSaved, match=r"power was saved for \(float32\[\].*called with \(float64\[\]\)"):
        loaded.power(np.float64(3.0))
    with pytest.raises(NotSaved, match="call it before saving"):
        loaded.power(tf.constant(3.0), n=4)


def test_derivatives_of_any_order_and_functions_around(saved):
    loaded = tf.saved_model.load(saved[1])
    assert float(tf.grad(tf.grad(lambda x: loaded.power(x, n=3)))(2.0)) == 12.0
    assert float(tf.function(lambda x: loaded.power(x) * 2.0)(tf.constant(3.0))) == 18.0
    np.testing.assert_array_equal(tf.vmap(loaded.power)(tf.constant([1.0, 2.0])).numpy(), [1.0, 4.0])
    tf.config.run_functions_eagerly(True)
    try:
        assert float(loaded.power(tf.constant(3.0))) == 9.0
    finally:
        tf.config.run_functions_eagerly(False)


def test_a_loaded_model_is_saved_again(saved, tmp_path):
    loaded = tf.saved_model.load(saved[1])
    before = loaded(X)["y"].numpy()
    tf.saved_model.save(loaded, tmp_path / "again")
    np.testing.assert_array_equal(tf.saved_model.load(tmp_path / "again")(X)["y"].numpy(), before)


def test_another_process(saved):
    net, folder = saved
    code = f"""
import numpy as np, tracejit as tf
net = tf.saved_model.load({str(folder)!r})
x = tf.constant(np.array({X.tolist()}, "float32"))
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.reduce_sum(net(x)["y"])
print(repr(tape.gradient(y, x).numpy().tolist()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(net(x)["y"])
    assert eval(done.stdout) == tape.gradient(y, x).numpy().tolist()


def test_functions_alone_and_signatures(tmp_path):
    captured = tf.constant([1.0, 2.0])

    @tf.function
    def f(x):
        return tf.reduce_sum(x * captured), [x.shape[0]]

    f(tf.constant([3.0, 4.0]))
    tf.saved_model.save(f, tmp_path / "f", signatures=f.get_concrete_function(tf.constant([3.0, 4.0])))
    loaded = tf.saved_model.load(tmp_path / "f")
    assert float(loaded(tf.constant([1.0, 1.0]))[0]) == 3.0
    named = loaded.signatures["serving_default"](tf.constant([2.0, 1.0]))
    assert list(named) == ["output_0", "output_1"] and float(named["output_0"]) == 4.0
    by_name = loaded.signatures["serving_default"](x=tf.constant([2.0, 1.0]))
    assert float(by_name["output_0"]) == 4.0


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(NotSaved, match="no compiled function with a trace"):
        tf.saved_model.save(tf.Module(), tmp_path / "a")

    class Key:
        pass

    @tf.function
    def f(x, key):
        return x

    key = Key()
    f(tf.constant(1.0), key)
    with pytest.raises(NotSaved, match="the function: it depends on a Python object"):
        tf.saved_model.save(f, tmp_path / "b")
    with pytest.raises(NotSaved, match="no saved model in"):
        tf.saved_model.load(tmp_path / "nothing")
    assert not list(tmp_path.glob("*/saved_model*"))


def test_a_failed_save_keeps_what_was_there(saved, monkeypatch):
    net, folder = saved
    before = (folder / "saved_model.tracejit").read_bytes()
    monkeypatch.setattr("os.fsync", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        tf.saved_model.save(net, folder)
    assert (folder / "saved_model.tracejit").read_bytes() == before
    assert len(list(folder.iterdir())) == 1


def test_variables_in_lists_and_dicts_are_found_again(tmp_path):
    class Scale(tf.Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = tf.Variable(factor)

    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.by_name = [Scale(2.0), Scale(3.0)], {"last": Scale(5.0)}
            self.itself = self
            self.by_key = {3: tf.Variable(1.5), "a/b": (tf.Variable(2.5), None)}

        @tf.function(input_signature=[tf.TensorSpec([])])
        def __call__(self, x):
            for layer in [*self.layers, self.by_name["last"]]:
                x = layer.factor * x
            return x

    tf.saved_model.save(Net(), tmp_path)
    net = tf.saved_model.load(tmp_path)
    assert float(net.by_key[3]) == 1.5 and float(net.by_key["a/b"][0]) == 2.5
    del net.by_key
    assert [float(v) for v in net.trainable_variables] == [5.0, 2.0, 3.0]
    assert float(net.layers[1].factor) == 3.0
    with tf.GradientTape() as tape:
        y = net(tf.constant(1.0))
    assert [float(g) for g in tape.gradient(y, net.trainable_variables)] == [6.0, 15.0, 10.0]
    net.by_name["last"].factor.assign(7.0)
    assert float(net(tf.constant(1.0))) == 42.0


def test_signatures_give_names_to_results(tmp_path):
    class Net(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([]), tf.TensorSpec([])])
        def ratio(self, x, y):
            return {"ratio": x / y}

    net = Net()
    tf.saved_model.save(net, tmp_path, signatures={"ratio": net.ratio.get_concrete_function()})
    infer = tf.saved_model.load(tmp_path).signatures["ratio"]
    assert float(infer(y=tf.constant(2.0), x=tf.constant(6.0))["ratio"]) == 3.0
    assert len(infer.inputs) == 2 and infer.structured_outputs["ratio"].dtype == tf.float32


class Clipped(tf.Module):
    """As a guide has it: nothing is called before saving, and the rank is open."""

    @tf.function(input_signature=[tf.TensorSpec(None)])
    def call_custom_grad(self, x):
        @tf.custom_gradient
        def clipped(y):
            return y, lambda dy: tf.clip_by_norm(dy, 0.5)

        return clipped(x)


def test_open_ranks_and_custom_gradients_are_saved(tmp_path):
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=True)
    tf.saved_model.save(Clipped(), tmp_path / "model", options=options)
    loaded = tf.saved_model.load(tmp_path / "model")
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        output = loaded.call_custom_grad(v * v)
    assert float(tape.gradient(output, v)) == 2.0
    for shape in ((3,), (2, 3), (1, 2, 3)):
        w = tf.Variable(np.ones(shape, "float32"))
        with tf.GradientTape() as tape:
            output = loaded.call_custom_grad(w)
        np.testing.assert_allclose(np.linalg.norm(tape.gradient(output, w)), 0.5, rtol=1e-6)


class Normed(tf.Module):
    def __init__(self):
        super().__init__()
        self.w, self.total = tf.Variable(tf.ones([6, 2])), tf.Variable(0.0)

    @tf.function(input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([None, None])])
    def __call__(self, x, y):
        for i in tf.range(tf.shape(x)[0]):  # a region, whose rows have the size that the product asks for
            self.total.assign_add(tf.reduce_sum(x[i]))
        return tf.concat([x + y, y[:, :2]], 1) @ tf.concat([self.w, self.w[:2]], 0)


@pytest.mark.parametrize("called", [False, True])
def test_open_sizes_that_the_program_takes_one_size_of(tmp_path, called):
    net, x = Normed(), np.arange(18, dtype="float32").reshape(3, 6)
    if called:
        net(x, x)
    tf.saved_model.save(net, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    for rows in 3, 1:
        np.testing.assert_array_equal(loaded(x[:rows], x[:rows]), net(x[:rows], x[:rows]))
    assert loaded.total.numpy() == net.total.numpy()
    np.testing.assert_array_equal(*(gradient_of_w(n, x) for n in (loaded, net)))
    for a, b in ((x[:, :5], x[:, :5]), (x, x[:2])):
        with pytest.raises(NotSaved, match="was saved for"):
            loaded(a, b)
    tf.saved_model.save(loaded, tmp_path / "again")
    np.testing.assert_array_equal(tf.saved_model.load(tmp_path / "again")(x, x), net(x, x))


def gradient_of_w(net, x):
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(net(x, x) ** 2)
    return tape.gradient(y, net.w)


def test_an_open_rank_that_no_rank_fits(tmp_path):
    class Wrong(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec(None)])
        def __call__(self, x):
            return tf.reshape(x, (2, 0, -1))

    with pytest.raises(ValueError, match="reshape"):
        tf.saved_model.save(Wrong(), tmp_path / "model")


def test_a_loaded_function_converts_its_arguments_as_the_saved_one_did(saved):
    loaded = tf.saved_model.load(saved[1])
    expected = saved[0](X)["y"]
    for given in (X.tolist(), tf.Variable(X), X.astype("float64").astype("float32"), tf.constant(X)):
        np.testing.assert_array_equal(loaded(given)["y"], expected)
    with pytest.raises((TypeError, ValueError), match="input_signature"):
        loaded(X[0])


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_networks_are_saved_by_their_call(policy, tmp_path):
    layers = tf.keras.layers
    numbers, more = tf.keras.Input((None,), dtype="int32"), tf.keras.Input((3,))
    steps = layers.Embedding(5, 4, mask_zero=True, dtype=policy)(numbers)
    means = layers.GlobalAveragePooling1D(dtype=policy)(layers.Dropout(0.5, dtype=policy)(steps))
    joined = layers.Concatenate(dtype=policy)([means, layers.Dense(2, dtype=policy)(more)])
    net = tf.keras.Model([numbers, more], {"sum": layers.Dense(1)(joined), "parts": [means, joined]})
    x = tf.constant([[1, 2, 0], [3, 0, 0]], dtype=tf.int32), tf.ones((2, 3))
    tf.saved_model.save(net, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    expected = net(list(x))
    for found in (loaded(list(x)), loaded(inputs=list(x))):
        for a, b in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
            np.testing.assert_allclose(a.numpy().astype("f8"), b.numpy().astype("f8"), rtol=1e-2, atol=1e-5)
    assert loaded([tf.ones((7, 2), dtype=tf.int32), tf.ones((7, 3))])["sum"].shape == (7, 1)
    assert "serving_default" in loaded.signatures


def test_networks_that_are_made_by_a_call_are_saved_after_it(tmp_path):
    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(2)

        def call(self, inputs, training=False):
            return {"y": self.dense(inputs["x"]) * (2.0 if training else 1.0)}

    net = Net()
    with pytest.raises(NotSaved, match="call it first"):
        tf.saved_model.save(net, tmp_path)
    expected = net({"x": tf.ones((1, 3))}, training=True)["y"] / 2
    tf.saved_model.save(net, tmp_path)
    found = tf.saved_model.load(tmp_path)({"x": tf.ones((4, 3))})["y"]
    np.testing.assert_allclose(found, np.repeat(expected, 4, 0), rtol=1e-6)
    sequence = tf.keras.Sequential([tf.keras.layers.SimpleRNN(2, input_shape=(None, 3))])
    tf.saved_model.save(sequence, tmp_path)
    assert tf.saved_model.load(tmp_path)(tf.ones((4, 6, 3))).shape == (4, 2)
