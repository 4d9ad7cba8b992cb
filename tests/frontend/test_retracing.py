"""A function that is traced anew with every call says so, once, and names what kept changing."""

from __future__ import annotations

import contextlib
import warnings
import weakref

import numpy as np
import pytest

import tracejit as tf
from tracejit.frontend.function.retracing import PATIENCE, RetracingWarning


def calls(f, arguments):
    """Call with each of the arguments and return the one warning."""
    with pytest.warns(RetracingWarning) as caught:
        for a in arguments:
            f(*a)
    assert len(caught) == 1 and caught[0].filename == __file__
    return str(caught[0].message)


def test_shapes():
    f = tf.function(lambda scale, x: x * scale)
    text = calls(f, [(2.0, np.zeros(n)) for n in range(1, PATIENCE + 4)])
    assert "'x' changed from float64[7] to float64[8]" in text
    assert "TensorSpec([None], 'float64')" in text and "reduce_retracing" in text


def test_python_values():
    f = tf.function(lambda x, n: x * n)
    text = calls(f, [(tf.constant(1.0), n) for n in range(PATIENCE + 3)])
    assert "'n' changed from 6 to 7" in text and "tracejit.constant" in text


def test_dtypes_ranks_and_nests():
    kinds = ["float32", "float64", "int32", "int64", "int8", "int16", "uint8", "uint16", "uint32"]
    f = tf.function(lambda p: p["a"] + p["b"])
    text = calls(f, [({"a": np.zeros(2, k), "b": np.zeros(2, k)},) for k in kinds])
    assert "a part of 'p' changed from uint8[2] to uint16[2]" in text and "cast" in text
    g = tf.function(lambda *x: x[0] * 1)
    text = calls(g, [(np.zeros((1,) * n),) for n in range(PATIENCE + 1)])
    assert "bring it to one rank" in text


def test_objects():
    class Settings:
        pass

    kept = [Settings() for _ in range(PATIENCE)]
    text = calls(tf.function(lambda x, s: x), [(tf.constant(1.0), s) for s in kept])
    assert "'s' was another Settings" in text
    alive = weakref.ref(kept[-1])
    kept.clear()
    assert alive() is None


@pytest.mark.parametrize("taped", [True, False])
def test_calls_that_are_served_in_between_are_fine(taped):
    f = tf.function(lambda x: x * 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(1, 3 * PATIENCE):
            f(np.zeros(n))
            with tf.GradientTape() if taped else contextlib.nullcontext():
                f(np.zeros(n))


def test_reduced_retracing_has_nothing_to_say():
    f = tf.function(lambda x: x * 2.0, reduce_retracing=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(1, 3 * PATIENCE):
            f(np.zeros(n))
    assert f.experimental_get_tracing_count() == 2
