"""Tapes of large tensors keep specs in place of the values that no gradient rule uses: gradients are the same."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from checks.cases import DTYPES, Case, cases_of, drawn_ops
from tracejit.frontend.recording import recorder

FAMILIES = [(op, [c for c in cases_of(op, DTYPES) if c.active]) for op in drawn_ops()]


@pytest.fixture
def all_are_large(monkeypatch):
    for limit in ("SMALL", "LARGE", "MANY"):
        monkeypatch.setattr(recorder, limit, -1)


def derivatives(case: Case) -> list[np.ndarray | None]:
    """Of first and second order, by nested tapes, by every argument that has one."""
    xs = [tf.constant(x) for x in case.arguments()]
    active = [xs[k] for k in case.active]
    with tf.GradientTape() as outer:
        outer.watch(active)
        with tf.GradientTape() as inner:
            inner.watch(active)
            ys = [tf.cast(tf.sin(y), y.dtype) for y in case(*xs) if y.dtype.kind in "fc"]
        first = inner.gradient(ys, active, unconnected_gradients="zero")
        bent = [tf.sin(g) * tf.reduce_sum(g) for g in first]
    second = outer.gradient(bent, active, unconnected_gradients="zero")
    return [np.asarray(g) for g in (*first, *second)]


@pytest.mark.parametrize(("op", "cases"), [f for f in FAMILIES if f[1]], ids=str)
def test_what_is_dropped_was_not_needed(op, cases, request):
    wanted = []
    for case in cases:
        try:
            wanted.append(derivatives(case))
        except tf.errors.GradientError:
            wanted.append(None)
    request.getfixturevalue("all_are_large")
    for case, values in zip(cases, wanted, strict=True):
        if values is None:
            with pytest.raises(tf.errors.GradientError):
                derivatives(case)
        else:
            for got, value in zip(derivatives(case), values, strict=True):
                np.testing.assert_array_equal(got, value)


@pytest.mark.parametrize("turned", [{}, {"transpose_a": True}, {"adjoint_b": True}])
def test_products_of_large_matrices(turned):
    a = tf.constant(np.arange(40_000.0).reshape(200, 200) % 7)
    product = lambda a: tf.reduce_sum(tf.sin(tf.matmul(a, a, **turned)))
    np.testing.assert_allclose(tf.grad(product)(a), tf.function(tf.grad(product))(a), rtol=1e-9, atol=1e-9)
