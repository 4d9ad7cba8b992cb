"""Factors and solutions in exported libraries: without Python, for processors with registers of any width."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from tracejit.runtime import cpu

LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4"] if cpu.host().arch == "x86_64" else ["host"]


def factored(a, b):
    y = tf.linalg.cholesky(a)
    return (y, tf.linalg.triangular_solve(y, b), tf.linalg.solve(a, b, adjoint=True), tf.linalg.inv(a))


def further(a, b):
    return (*factored(a, b), *tf.linalg.qr(a[:8, :5]), tf.linalg.inv(tf.reshape(a[:8, :8], (4, 4, 4))))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("target", LEVELS)
def test_a_library_factors_and_solves(target, dtype):
    kind = {"f32": "f4", "f64": "f8"}[dtype]
    if target != "host" and not cpu.baseline(target).runs_on(cpu.host()):
        pytest.skip(f"this processor runs no code for {target}")
    art = tf.export(
        factored, [f"{dtype}[n,n]", f"{dtype}[n,k]"], name="factored", outputs="value", targets=(target,)
    )
    random = np.random.default_rng(0)
    for n in (1, 5, 40, 130):
        a, b = random.normal(size=(n, n)), random.normal(size=(n, 3)).astype(kind)
        p = (a @ a.T + n * np.eye(n)).astype(kind)
        lower = np.linalg.cholesky(p)
        wanted = (lower, np.linalg.solve(lower, b), np.linalg.solve(p.T, b), np.linalg.inv(p))
        close = 1e-4 if kind == "f4" else 1e-11
        for own, right in zip(art(p, b), wanted, strict=True):
            np.testing.assert_allclose(own, right, rtol=close, atol=close)
    with pytest.raises(RuntimeError, match="the matrix is not positive definite"):
        art(-p, b)


def test_a_library_finds_factors_of_stacks():
    def stacks(a, b):
        gram = a @ tf.transpose(a, [0, 2, 1]) + 9 * tf.eye(6, dtype=a.dtype)
        return tf.linalg.cholesky(gram), tf.linalg.solve(gram, b), tf.linalg.det(gram), *tf.linalg.qr(a[0])

    art = tf.export(stacks, ["f64[k,6,6]", "f64[k,6,2]"], name="stacks", outputs="value")
    random = np.random.default_rng(0)
    for count in (1, 5, 20):
        a, b = random.normal(size=(count, 6, 6)), random.normal(size=(count, 6, 2))
        gram = a @ np.swapaxes(a, 1, 2) + 9 * np.eye(6)
        wanted = np.linalg.cholesky(gram), np.linalg.solve(gram, b), np.linalg.det(gram), *np.linalg.qr(a[0])
        for own, right in zip(art(a, b), wanted, strict=True):
            np.testing.assert_allclose(own, right, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("complete", [False, True])
def test_a_library_finds_the_factors_of_so_many_rows_as_there_are(complete):
    both = tf.export(
        lambda a: tf.linalg.qr(a, full_matrices=complete), ["f64[n,3]"], name="factors", outputs="value"
    )
    for n in (0, 1, 2, 3, 4, 40):
        a = np.random.default_rng(n).normal(size=(n, 3))
        for own, right in zip(both(a), np.linalg.qr(a, "complete" if complete else "reduced"), strict=True):
            assert own.shape == right.shape
            np.testing.assert_allclose(own, right, rtol=1e-11, atol=1e-11)


def test_the_gradient_of_factors_holds_for_tall_matrices():
    def loss(a):
        q, r = tf.linalg.qr(a)
        return tf.reduce_sum(q**3) + tf.reduce_sum(tf.sin(r))

    art = tf.export(loss, ["f64[n,3]"], name="loss")
    for n in (3, 4, 40):
        a = np.random.default_rng(n).normal(size=(n, 3))
        np.testing.assert_allclose(art(a)[1], tf.grad(loss)(tf.constant(a)), rtol=1e-9, atol=1e-9)
    with pytest.raises(tf.errors.ShapeError, match="was made for 3 <= n"):
        art(np.ones((2, 3)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["aarch64", "riscv64", "wasm32", "wasm32+simd128", "thumbv7em+fp64"])
def test_code_is_made_for_other_machines(target):
    art = tf.export(further, ["f64[9,9]", "f64[9,k]"], name="further", outputs="value", targets=(target,))
    assert str(art.signature).startswith("further(a: float64[9,9], b: float64[9,k])")
