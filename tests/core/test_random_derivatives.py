"""Random chains of complex operations: reverse mode, forward mode and differences agree, and second derivatives in
every order of the two modes."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import tracejit as tf


def _square(z):
    """A matrix far from singular, made of `z`."""
    turned = tf.matmul(z, z, adjoint_b=True) * 0.2
    return turned + tf.cast(tf.eye(z.shape[0]), tf.complex128) * (1.5 + 0.5j)


STEPS = [
    lambda z: tf.exp(tf.tanh(z * 0.3)),
    lambda z: tf.math.log(z * tf.conj(z) + 0.5 + 0.1 * tf.tanh(z)),
    lambda z: tf.sqrt(z * tf.conj(z) + 0.4 + 0.1j),
    lambda z: tf.sin(tf.tanh(z * 0.3)) * z,
    lambda z: tf.complex(tf.abs(z + 3.0), tf.imag(z)),
    lambda z: z / (z * tf.conj(z) + 0.7),
    lambda z: (z * tf.conj(z) + 1.0) ** (0.5 - 0.2j),
    lambda z: tf.where(tf.real(z) > 0.0, z * 1j, tf.conj(z)),
    lambda z: tf.linalg.solve(_square(z), z),
    lambda z: tf.linalg.solve(_square(z), z)[1:, :1] * z,
    lambda z: tf.linalg.det(_square(z)) * z,
    lambda z: tf.gather(z, [1, 0, 1], axis=0)[::-1][:2],
    lambda z: z.at[0, ::-1].add(tf.reduce_sum(z) * 0.1),
    lambda z: tf.cumsum(z, axis=1, reverse=True) * 0.5,
    lambda z: tf.checkpoint(lambda u: tf.tanh(u) * 0.5 + tf.reduce_prod(u * 0.5))(z),
    lambda z: tf.fori_loop(0, 3, lambda i, c: tf.sin(c * 0.4) * z + c * 0.5, z),
    lambda z: tf.vmap(lambda row: row * tf.reduce_mean(row))(z),
]


def program(seed: int):
    steps = Random(seed).choices(STEPS, k=4)

    def loss(x, y):
        z = tf.complex(x, y)
        for step in steps:
            z = step(z)
        return tf.reduce_sum(tf.real(z) * [1.0, 0.5, -0.7] + tf.imag(z) * 0.3)

    return loss


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(40))
def test_all_orders_of_the_modes_agree(seed: int):
    random, f = np.random.default_rng(seed), program(seed)
    xs = [tf.constant(random.uniform(-1.2, 1.2, (2, 3))) for _ in range(2)]
    ts = [tf.constant(random.uniform(-1.0, 1.0, (2, 3))) for _ in range(2)]

    def gradient(*v):
        return tf.grad(f, argnums=(0, 1))(*v)

    def along(*v):
        return sum(tf.reduce_sum(g * t) for g, t in zip(gradient(*v), ts, strict=True))

    def tangent(*v):
        return tf.jvp(f, v, ts)[1]

    def difference(function):
        near = [[x + h * t for x, t in zip(xs, ts, strict=True)] for h in (1e-6, -1e-6)]
        after, before = (np.asarray(function(*v)) for v in near)
        return (after - before) / 2e-6

    first = float(along(*xs))
    assert float(tangent(*xs)) == pytest.approx(first, rel=1e-9, abs=1e-9)
    assert float(difference(f)) == pytest.approx(first, rel=1e-6, abs=1e-6)
    second = np.asarray(tf.jvp(gradient, xs, ts)[1])
    for other in (along, tangent):
        np.testing.assert_allclose(
            np.asarray(tf.grad(other, argnums=(0, 1))(*xs)), second, rtol=1e-8, atol=1e-8
        )
    np.testing.assert_allclose(difference(gradient), second, rtol=1e-5, atol=1e-5)
