"""Compiled functions and models go to other processes."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tracejit as tf


@tf.function
def at_home(x):
    return x + 1.0


def test_functions_of_modules_go_by_name():
    assert pickle.loads(pickle.dumps(at_home)) is at_home


def run(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", textwrap.dedent(program), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_functions_of_a_program_go_by_value(tmp_path):
    pytest.importorskip("cloudpickle", reason="what is not in a module is pickled by cloudpickle")
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import pickle, sys
        import tracejit as tf
        scale = tf.constant(3.0)

        def helper(x):
            return x * scale

        @tf.function(reduce_retracing=True)
        def f(x):
            while x < 10.0:
                x = helper(x)
            return x

        @tf.function
        def factorial(n, x):
            return x if n == 0 else factorial(n - 1, x * n)

        f(tf.constant(1.0))
        with open(sys.argv[1], "wb") as file:
            pickle.dump((f, factorial), file)
        """)
    )
    subprocess.run([sys.executable, program, tmp_path / "f"], check=True, timeout=300)
    reader = """
        import pickle, sys
        import tracejit as tf
        with open(sys.argv[1], "rb") as file:
            f, factorial = pickle.load(file)
        print(float(f(tf.constant(2.0))), f.reduce_retracing, float(factorial(4, tf.constant(1.0))))
    """
    program.unlink()
    assert run(reader, str(tmp_path / "f")).split()[1:] == ["True", "24.0"]


def fitted():
    tf.random.set_seed(1)
    model = tf.keras.Sequential([tf.layers.Dense(4, activation="relu"), tf.layers.Dense(1)])
    model.compile(optimizer=tf.optimizers.Adam(0.01), loss="mse", metrics=["mae"])
    model.fit(X, Y, epochs=2, verbose=0)
    return model


X = np.random.default_rng(0).normal(size=(32, 3)).astype(np.float32)
Y = X[:, :1] * 2.0


@pytest.mark.parametrize("copied", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_models_that_were_fitted_go_on_where_they_were(copied):
    model = fitted()
    other = copied(model)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    first, second = (m.fit(X, Y, epochs=3, verbose=0, shuffle=False).history["loss"] for m in (model, other))
    np.testing.assert_allclose(first, second, rtol=1e-6)
    assert int(other.optimizer.iterations) == int(model.optimizer.iterations) == 5
    other.fit(X, -Y, epochs=1, verbose=0)
    assert not np.array_equal(other.predict(X), model.predict(X))


def test_errors_come_back_from_other_processes():
    def differentiated():
        images = tf.Variable(tf.ones([1, 2, 2, 3]))
        with tf.GradientTape() as tape:
            y = tf.image.adjust_contrast(images, 2.0)
        tape.gradient(y, images)

    for fails in (
        differentiated,
        lambda: tf.ones(2) + tf.ones(3),
        lambda: tf.function(lambda x: x.numpy()).get_concrete_function(tf.TensorSpec([], tf.float32)),
    ):
        with pytest.raises(tf.TracejitError) as caught:
            fails()
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(caught.value, protocol))
            assert type(again) is type(caught.value) and str(again) == str(caught.value)


def test_concrete_functions_say_what_to_pickle_instead():
    concrete = at_home.get_concrete_function(tf.TensorSpec([], tf.float32))
    assert copy.deepcopy([concrete])[0] is concrete
    with pytest.raises(TypeError, match="pickle the function 'at_home', or save its traces"):
        pickle.dumps(concrete)
