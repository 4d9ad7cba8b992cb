"""Derivatives of programs that take derivatives inside of loops: the two problems of examples/03.

The results of the whole problems were published with implementations in other languages (2008, and again by
benchmarks since); that of one landing is checked by differences.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path

import pytest

import tracejit as tf

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "03_nested_derivatives.py"
MIXES = ["".join(pair) for pair in itertools.product("FR", repeat=2)]


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("nested_derivatives", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("problem", ["saddle", "particle"])
def test_one_compiled_function_finds_the_published_result(example, problem, mix):
    program, first, published = example.PROBLEMS[problem]
    outer, inner = (example.MODES[letter] for letter in mix)
    compiled = tf.function(program)
    for _ in range(2):
        found = compiled(tf.constant(first, tf.float64), outer, inner)
        points = found if problem == "saddle" else [found]
        for point in points:
            assert point.numpy() == pytest.approx(published, rel=1e-6)
    assert compiled.experimental_get_tracing_count() == 1


def test_eagerly_the_saddle_is_the_same(example, monkeypatch):
    """With a coarse precision, since a thousand descents of a thousand steps take Python half a minute."""
    monkeypatch.setattr(example, "PRECISION", 1e-2)
    start = tf.constant([1.0, 1.0], tf.float64)
    eager = example.saddle(start, tf.grad, tf.grad)
    compiled = tf.function(example.saddle)(start, tf.grad, tf.grad)
    for point, wanted in zip(compiled, eager, strict=True):
        assert 0.0 < abs(wanted.numpy()).max() < 0.1
        assert point.numpy() == pytest.approx(wanted.numpy(), rel=1e-10)


@pytest.mark.parametrize("mix", MIXES)
def test_the_slope_of_one_landing_eager_and_compiled(example, mix):
    outer, inner = (example.MODES[letter] for letter in mix)

    def value(w):
        return example.landing(tf.constant([w], tf.float64), inner).item()

    slope = outer(lambda w: example.landing(w, inner))
    eager = slope(tf.constant([0.3], tf.float64)).item()
    compiled = tf.function(slope)(tf.constant([0.3], tf.float64)).item()
    assert compiled == pytest.approx(eager, rel=1e-10)
    assert eager == pytest.approx((value(0.3 + 1e-6) - value(0.3 - 1e-6)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("inner", "FR")
def test_the_curvature_of_one_landing(example, inner):
    slope = tf.function(tf.grad(lambda w: example.landing(w, example.MODES[inner])))
    curvature = tf.function(tf.grad(lambda w: slope(w)[0]))

    def at(w):
        return tf.constant([w], tf.float64)

    differences = (slope(at(0.3 + 1e-6)) - slope(at(0.3 - 1e-6))) / 2e-6
    assert curvature(at(0.3)).item() == pytest.approx(differences.item(), rel=1e-5)
