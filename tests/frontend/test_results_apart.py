"""Results of functions are tensors of their own, whatever mode: a tape that watches one watches no argument."""

import numpy as np
import pytest

import tracejit as tf

OUTER = tf.constant(3.0)

FUNCTIONS = {
    "function": tf.function(lambda x: (x, x, OUTER)),
    "checkpoint": tf.checkpoint(lambda x: (x, x, OUTER)),
    "custom_gradient": tf.custom_gradient(lambda x: ((x, x), lambda a, b: a + b)),
    "grad_pass_through": tf.grad_pass_through(lambda x: x),
    "vmap": lambda x: tf.vmap(lambda z: z)(x[None])[0],
}


def derivatives(f, x):
    ys = tf.nest.flatten(f(x))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(ys[0])
        z = x * x
        for y in ys:
            z = z * y
        z = z * OUTER
    return [tape.gradient(z, s, unconnected_gradients="zero") for s in (ys[0], ys[-1], x, OUTER)]


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_eagerly_as_compiled_and_called_as_inside(f):
    x = tf.constant(1.5)
    found = []
    for eager in (True, False):
        with tf.settings(eager=eager):
            found.append([np.asarray(g) for g in derivatives(f, x)])
            found.append([np.asarray(g) for g in tf.function(lambda x: derivatives(f, x * 1.0))(x)])
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-6)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_what_a_tensor_array_gives_is_a_tensor_of_its_own(dynamic, compiled):
    def f(x):
        array = tf.TensorArray(tf.float32, size=0 if dynamic else 2, dynamic_size=dynamic)
        array = array.write(0, x)
        array = array.write(array.size() if dynamic else 1, 2.0 * x)
        y = array.read(0)
        with tf.GradientTape() as tape:
            tape.watch(y)
            z = x * y
        return tape.gradient(z, y)

    assert float((tf.function(f) if compiled else f)(tf.constant(3.0))) == 3.0
