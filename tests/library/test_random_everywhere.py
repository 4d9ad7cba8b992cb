"""Random numbers: compiled, the same seeds give the numbers that they give eagerly, wherever they are drawn.

In loops and branches, taken or not, unused, in nested functions, in what is differentiated, mapped, traced again or
computed again. After each call the states of all generators are the same too.
"""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from tracejit.random import uniform

from .drawing_programs import OWN, PROGRAMS

CALLS = [(0.25, 3), (0.75, 2), (1.5, 0), (0.6, 4)]


def leaves(y):
    return [np.asarray(tf.convert_to_tensor(t)) for t in tf.nest.flatten(y)]


def total(y):
    return sum(tf.reduce_sum(tf.cast(z, tf.float32)) for z in tf.nest.flatten(y))


def called(f, x, n):
    return leaves(f(x, n))


def differentiated(f, x, n):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, n)
        loss = total(y)
    return leaves(y) + leaves(tape.gradient(loss, x, unconnected_gradients="zero"))


def forward(f, x, n):
    return leaves(tf.jvp(lambda x: total(f(x, n)), (x,), (tf.constant(1.0),)))


def seen(f, drive, eager, memory=None):
    """Results and states after each of several calls."""
    tf.random.set_seed(7)
    OWN.reset_from_seed(1)
    found = []
    with tf.settings(eager=eager):
        g = tf.function(f, memory=memory)
        for x, n in CALLS:
            found.append(drive(g, tf.constant(x), tf.constant(n)))
            found.append([np.array(s.array) for s in (tf.random.get_global_generator().state, OWN.state)])
    return found


def same(wanted, found):
    for a, b in zip(wanted, found, strict=True):
        for p, q in zip(a, b, strict=True):
            np.testing.assert_allclose(q, p, rtol=1e-4, atol=1e-5)
            assert p.dtype == q.dtype


@pytest.mark.sampled(2)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__.strip("_"))
def test_compiled_draws_what_eager_draws(f):
    same(seen(f, called, True), seen(f, called, False))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__.strip("_"))
def test_what_is_differentiated_draws_once(f):
    wanted = seen(f, differentiated, True)
    same(wanted, seen(f, differentiated, False))
    same(wanted, seen(f, differentiated, False, memory="recompute"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("f", PROGRAMS[::5], ids=lambda f: f.__name__.strip("_"))
def test_forward_mode_draws_once(f):
    same(seen(f, forward, True), seen(f, forward, False))


class Keeps:
    generator = None

    def __call__(self, x):
        if self.generator is None:
            self.generator = tf.random.Generator.from_seed(3)
        return self.generator.uniform(()) + x


def test_a_generator_made_on_the_first_call_goes_on():
    eager, compiled = Keeps(), tf.function(Keeps())
    for x in (1.0, 2.0, 3.0):
        assert compiled(tf.constant(x)) == eager(tf.constant(x))


def test_a_seed_first_used_in_a_compiled_function_goes_on_outside():
    def drawn(f):
        tf.random.set_seed(3)
        return [float(v) for v in (f(), f(), uniform((), seed=987), f())]

    assert drawn(tf.function(lambda: uniform((), seed=987))) == drawn(lambda: uniform((), seed=987))


@pytest.mark.parametrize("condition", [True, False])
def test_what_cannot_draw_says_so(condition):
    @tf.function
    def while_test(x):
        while uniform(()) > 0.3:
            x = x + 1.0
        return x

    @tf.function
    def repeated(x):
        return tf.recompute_grad(lambda z: z * uniform(()))(x)

    with pytest.raises(tf.errors.TracejitError, match="assign"):
        (while_test if condition else repeated)(tf.constant(1.0))
