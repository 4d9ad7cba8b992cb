"""Settings take effect at once, in their block and thread only."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.tracing.dispatch import state


@pytest.fixture
def process_settings():
    """Put the process's settings back afterwards."""
    yield
    tf.configure(check=False, eager=False, default_dtype="float32")


def test_a_block_takes_effect_inside_and_ends():
    slow = state.slow
    with tf.settings(check=True):
        assert state.slow
        assert tf.sin(0.0).item() == 0.0
        with tf.settings(default_dtype="float64"):
            assert tf.constant(1.0).dtype == tf.float64 and state.slow
    assert state.slow == slow and tf.constant(1.0).dtype == tf.float32


def test_the_process(process_settings):
    tf.configure(check=True)
    assert state.slow
    tf.set_default_dtype(tf.float64)
    assert tf.zeros(2).dtype == tf.float64


def test_compiled_functions_follow_settings():
    f = tf.function(lambda x: x * 2.0 + 1.0)
    x = np.array([0.1, 0.7])
    for contract in (True, False):
        with tf.settings(contract=contract):
            np.testing.assert_allclose(f(x), x * 2 + 1)
    with tf.settings(contract=False):
        np.testing.assert_array_equal(f(x), x * 2 + 1)
    assert f.experimental_get_tracing_count() == 1


def test_a_new_thread_starts_eager_with_nothing_recording():
    x = tf.Variable(2.0)
    found = []

    def work():
        found.append((state.interpreter, state.recorders, (x * x).item()))

    with tf.GradientTape() as tape:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        y = x * 3.0
    assert found == [(None, (), 4.0)]
    assert tape.gradient(y, x).item() == 3.0


def test_one_function_called_from_many_threads():
    f = tf.function(lambda x: tf.sin(x) * 2.0)
    results = {}

    def work(n):
        x = np.full(n + 1, 0.5)
        for _ in range(20):
            results[n] = f(x).numpy()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(4):
        np.testing.assert_allclose(results[n], np.full(n + 1, 2 * np.sin(0.5)), rtol=1e-15)
    assert f.experimental_get_tracing_count() == 4
