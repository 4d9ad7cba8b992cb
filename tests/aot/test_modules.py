"""Variables in exported functions: readable parameters, gradients by them, values at the time of the export."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from tracejit.aot import NotExportable

X = np.random.default_rng(5).normal(size=(6, 3))
Y = np.random.default_rng(6).normal(size=(6, 2))


class Part(tf.Module):
    def __init__(self, given: int, returned: int):
        super().__init__()
        self.w = tf.Variable(np.random.default_rng(given).normal(size=(given, returned)), dtype=tf.float64)
        self.b = tf.Variable(np.zeros(returned), dtype=tf.float64)

    def __call__(self, x):
        return tf.tanh(x @ self.w + self.b)


class Net(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.rest = Part(3, 4), [Part(4, 2)]

    def __call__(self, x):
        return self.rest[0](self.first(x))

    def loss(self, x, y):
        return tf.reduce_mean((self(x) - y) ** 2)

    @tf.function
    def compiled(self, x):
        return self(x)


NET = Net()
WEIGHTS = "first_w: float64[3,4], first_b: float64[4], rest_0_w: float64[4,2], rest_0_b: float64[2]"


def weights(net: Net) -> list[np.ndarray]:
    return [v.numpy() for v in (net.first.w, net.first.b, net.rest[0].w, net.rest[0].b)]


def names(artifact: tf.aot.Artifact) -> list[str]:
    return re.findall(r"(\w+):", artifact.signature.split(" -> ")[1])


@pytest.mark.parametrize("f", [NET, NET.compiled, NET.__call__], ids=["module", "compiled", "method"])
def test_variables_of_a_module_are_parameters_by_their_way(f: Any) -> None:
    art = tf.export(f, ["f64[n,3]"], name="net", outputs="value", constants="argument")
    assert art.signature == f"net(x: float64[n,3], {WEIGHTS}) -> (value: float64[n,2])"
    np.testing.assert_allclose(art(X, *weights(NET)), NET(tf.constant(X)), rtol=1e-13)
    np.testing.assert_allclose(art(X, *(0.5 * w for w in weights(NET))), _halved(X), rtol=1e-13)


def _halved(x: np.ndarray) -> Any:
    w, b, v, c = (0.5 * a for a in weights(NET))
    return np.tanh(np.tanh(x @ w + b) @ v + c)


def test_weights_are_a_part_of_the_code() -> None:
    net = Net()
    art = tf.export(net, ["f64[n,3]"], name="net", outputs=["value", "jvp"])
    assert (
        art.signature
        == "net(x: float64[n,3], tx: float64[n,3]) -> (value: float64[n,2], tvalue: float64[n,2])"
    )
    before = net(tf.constant(X))
    net.first.w.assign(net.first.w * 0.0)
    np.testing.assert_allclose(art(X, X)[0], before, rtol=1e-13)


def test_a_variable_that_a_function_sees_has_its_name_there() -> None:
    here = {"slope": tf.Variable(2.0, dtype=tf.float64)}
    offset = tf.Variable(1.0, dtype=tf.float64)
    art = tf.export(
        lambda x: x * here["slope"] + offset + NET.first.b[0], ["f64"], name="f", constants="argument"
    )
    assert "x: float64[], here_slope: float64[], offset: float64[], NET_first_b: float64[4]" in art.signature


def test_names_given_twice_are_told_apart() -> None:
    class Two(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = (tf.Variable(v, dtype=tf.float64, name="w") for v in (2.0, 3.0))

        def __call__(self, x):
            return x * self.left + self.right

    art = tf.export(Two(), ["f64"], name="two", constants="argument", outputs="value")
    assert art.signature.startswith("two(x: float64[], left: float64[], right: float64[]) ->")
    assert art(1.0, 2.0, 3.0) == 5.0


def test_a_step_of_training_gives_gradients_by_weights() -> None:
    """The gradients by the weights that wrt names, by Variable, by the way there, or by a beginning of it."""
    every = [NET.rest[0].b, NET.first.w]
    art = tf.export(NET.loss, ["f64[n,3]", "f64[n,2]"], name="net", constants="argument", wrt=every)
    assert names(art) == ["value", "grest_0_b", "gfirst_w"]
    with tf.GradientTape() as tape:
        loss = NET.loss(tf.constant(X), tf.constant(Y))
    found = art(X, Y, *weights(NET))
    for a, b in zip(found, [loss, *tape.gradient(loss, every)], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)
    assert art.verify().gradient < 1e-6
    for wrt in (["first", "rest[0].w", "x"], ["first.w", "first.b", "rest/0/w", 0]):
        art = tf.export(
            NET.loss, ["f64[n,3]", "f64[n,2]"], name="net", constants="argument", outputs=["grad"], wrt=wrt
        )
        assert names(art) == ["gfirst_w", "gfirst_b", "grest_0_w", "gx"]


def test_layers_name_their_weights() -> None:
    layers = tf.keras.layers
    model = tf.keras.models.Sequential(
        [layers.Dense(4, activation="tanh", name="hidden"), layers.Dense(2, name="last")]
    )
    model(np.zeros((1, 3), np.float32))

    def loss(x, y):
        return tf.reduce_mean((model(x) - y) ** 2)

    specs = ["f32[n,3]", "f32[n,2]"]
    for wrt in ("hidden.kernel", "hidden/kernel", "hidden_kernel", model.trainable_variables[0]):
        art = tf.export(loss, specs, name="step", constants="argument", wrt=wrt)
        assert (
            "hidden_kernel: float32[3,4], hidden_bias: float32[4], last_kernel: float32[4,2]" in art.signature
        )
        assert names(art) == ["value", "ghidden_kernel"]
    with tf.GradientTape() as tape:
        value = loss(tf.constant(X, tf.float32), tf.constant(Y, tf.float32))
    found = art(X.astype("f4"), Y.astype("f4"), *(v.numpy() for v in model.trainable_variables))
    np.testing.assert_allclose(found[0], value, rtol=1e-5)
    np.testing.assert_allclose(
        found[1], tape.gradient(value, model.trainable_variables[0]), rtol=1e-4, atol=1e-6
    )


def test_a_beginning_is_one_of_steps_not_of_letters() -> None:
    layers = [tf.keras.layers.Dense(2, name=name) for name in ("dense", "dense_1")]
    model = tf.keras.models.Sequential(layers)
    model(np.zeros((1, 2), np.float32))
    art = tf.export(
        lambda x: tf.reduce_sum(model(x)),
        ["f32[n,2]"],
        name="f",
        constants="argument",
        outputs="grad",
        wrt="dense",
    )
    assert names(art) == ["gdense_kernel", "gdense_bias"]


def test_what_wrt_cannot_name() -> None:
    def wrong(message: str, **more: Any) -> None:
        with pytest.raises(ValueError, match=message):
            tf.export(NET.loss, ["f64[n,3]", "f64[n,2]"], name="net", **more)

    wrong("wrt names first.w, which becomes a part of the code: pass constants='argument'", wrt="first.w")
    wrong(r"rest.0.w, rest.0.b: did you mean 'first.w'\?", wrt="frist.w", constants="argument")
    wrong("does not read other:0, which wrt names", wrt=tf.Variable(1.0, name="other"), constants="argument")


def test_optimizers_stay_here() -> None:
    optimizer = tf.keras.optimizers.SGD(0.1)
    net = Net()

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = net.loss(x, y)
        gradients = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables, strict=True))
        return loss

    with pytest.raises(NotExportable, match=r"step assigns .* return the new value, and take the old one"):
        tf.export(step, ["f64[n,3]", "f64[n,2]"], name="step", outputs="value")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_names_of_weights_are_valid_in_c_and_cpp(tmp_path: Path) -> None:
    def f(x, _y):
        odd = {"a-b": tf.constant(1.0), "for": tf.constant(2.0), "é": tf.constant(3.0), "0": tf.constant(4.0)}
        return {k: x * v + _y for k, v in odd.items()}

    slash = tf.Variable(2.0, name="block/attn-1/kernel")
    word = tf.Variable(3.0, name="class")

    def g(work, n, value, gvalue):
        return work * slash + word * n + value * gvalue

    for art in (
        tf.export(f, ["f32", "f32"], name="f", outputs=["value", "vjp"]),
        tf.export(g, ["f32[n]"] * 4, name="g", outputs=["value", "vjp", "jvp"], constants="argument"),
    ):
        every = re.findall(r"(\w+):", art.signature)
        assert len({*every}) == len(every)
        (tmp_path / "x.h").write_text(art.header())
        for command in (["cc", "-std=c99", "-x", "c"], ["c++", "-std=c++11", "-x", "c++"]):
            strict = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "x.h"]
            done = subprocess.run(
                [*command, *strict], cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
        for language in ("rust", "fortran", "julia", "python"):
            assert art.bindings(language)
