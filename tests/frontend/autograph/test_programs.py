"""Every way of writing control flow: compiled = eager, gradient = eager gradient, forward mode = reverse mode."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import tracejit as tf
from checks.python_programs import PROGRAMS

IDS = [p[0] for p in PROGRAMS]


def arguments(given):
    """Tensors from floats and lists; integers become int32 tensors, which ranges take at run time."""
    return [tf.constant(x) for x in given]


def flat(y):
    leaves = y if isinstance(y, (tuple, list)) else [y]
    return [np.asarray(v) for v in leaves]


def gradients(f, xs):
    with tf.GradientTape() as tape:
        sources = [x for x in xs if x.dtype.kind == "f"]
        for s in sources:
            tape.watch(s)
        y = f(*xs)
        y = y if isinstance(y, tuple) else (y,)
        total = sum(tf.reduce_sum(v) for v in y)
    found = tape.gradient(total, sources, unconnected_gradients="zero")
    return [np.asarray(g) for g in found]


@pytest.mark.parametrize(("name", "f", "given", "gradient"), PROGRAMS, ids=IDS)
def test_compiled_equals_eager(name, f, given, gradient):
    xs = arguments(given)
    compiled = tf.function(f)
    wanted, found = flat(f(*xs)), flat(compiled(*copy.copy(xs)))
    assert len(wanted) == len(found)
    for a, b in zip(wanted, found):
        np.testing.assert_allclose(a, b, rtol=2e-6)
    assert compiled.experimental_get_tracing_count() == 1


@pytest.mark.parametrize(("name", "f", "given", "gradient"), [p for p in PROGRAMS if p[3]])
def test_gradient_equals_eager_gradient(name, f, given, gradient):
    xs = arguments(given)
    for a, b in zip(gradients(f, xs), gradients(tf.function(f), xs)):
        np.testing.assert_allclose(a, b, rtol=5e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "f", "given", "gradient"), [p for p in PROGRAMS if p[3]])
def test_forward_mode_equals_reverse_mode(name, f, given, gradient):
    xs = arguments(given)
    compiled = tf.function(f)
    sources = [x for x in xs if x.dtype.kind == "f"]

    def of_floats(*floats):
        take = iter(floats)
        y = compiled(*[next(take) if x.dtype.kind == "f" else x for x in xs])
        y = y if isinstance(y, tuple) else (y,)
        return sum(tf.reduce_sum(v) for v in y)

    tangents = [tf.ones_like(s) for s in sources]
    _, found = tf.jvp(of_floats, sources, tangents)
    wanted = sum(np.sum(g) for g in gradients(f, xs))
    np.testing.assert_allclose(0.0 if found is None else np.asarray(found), wanted, rtol=1e-5, atol=1e-6)
