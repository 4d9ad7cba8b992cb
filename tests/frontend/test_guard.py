"""Values that leave a function whose derivative is taken: refused with the line if the result may depend on them."""

from __future__ import annotations

import copy
import inspect
import math
import pickle

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.errors import GradientError

X = np.array([1.0, 2.0, 3.0])
TRANSFORMS = {
    "grad": lambda f, x: tf.grad(f)(x),
    "value_and_grad": lambda f, x: tf.value_and_grad(f)(x)[1],
    "vjp": lambda f, x: tf.vjp(f, x)[1](tf.constant(1.0, tf.float64))[0],
    "jvp": lambda f, x: tf.jvp(f, [x], [tf.ones(3, tf.float64)])[1],
    "linearize": lambda f, x: tf.linearize(f, x)[1](tf.ones(3, tf.float64)),
    "jacfwd": lambda f, x: tf.jacfwd(f)(x),
    "jacrev": lambda f, x: tf.jacrev(f)(x),
    "hessian": lambda f, x: tf.hessian(f)(x),
    "hvp": lambda f, x: tf.hvp(f, [x], [tf.ones(3, tf.float64)]),
    "gradients_function": lambda f, x: tf.gradients_function(f)(x)[0],
}
EVERY = pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)


def refused(f, transform=TRANSFORMS["grad"]):
    """The line that is named, in this file."""
    with pytest.raises(GradientError, match="is taken out here") as error:
        transform(f, tf.constant(X))
    text = str(error.value)
    assert __file__ in text and "tracejit.stop_gradient(x)" in text
    return text


LEAVING = [
    lambda x: tf.reduce_sum(x) * float(x[0]),
    lambda x: tf.reduce_sum(x) * x[0].item(),
    lambda x: tf.reduce_sum(x) * complex(x[0]).real,
    lambda x: tf.reduce_sum(x) * math.sin(x[0]),
    lambda x: tf.reduce_sum(x * x.numpy()),
    lambda x: tf.reduce_sum(x * np.asarray(x)),
    lambda x: tf.reduce_sum(x * x.tolist()),
    lambda x: tf.reduce_sum(x * pickle.loads(pickle.dumps(x))),
    lambda x: tf.reduce_sum(x) * np.float64(x[1]),
    lambda x: tf.reduce_sum(x * tf.fill((3,), float(x[1]))),
    lambda x: tf.reduce_sum(tf.data.Dataset.from_tensor_slices(x).batch(3).get_single_element() * x),
    lambda x: tf.reduce_sum(tf.scan(lambda c, e: (c + e * float(x[1]), c), x[0], x)[1]),
    lambda x: tf.reduce_sum(tf.function(lambda y: y * x.numpy())(x)),
    lambda x: tf.grad(lambda y: y * y * float(x[0]))(x[1]),
    lambda x: tf.constant(float(x[0])),
    lambda x: float(x[0]),
]


def test_arrays_of_tensors_do_not_leave():
    g = tf.grad(lambda x: tf.reduce_sum(x * np.array([x[0], x[1], 1.0])))(tf.constant([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(g, [2.0, 4.0, 1.0])


@pytest.mark.parametrize("f", LEAVING, ids=range(len(LEAVING)))
def test_what_left_and_came_back_is_refused(f):
    first = inspect.getsourcelines(f)[1]
    assert f"test_guard.py:{first}" in refused(f)


@EVERY
def test_by_every_transform(transform):
    refused(lambda x: tf.reduce_sum(x) * float(x[0]), transform)
    with pytest.raises(tf.SymbolicValue, match=r"numpy\(\) need one(.|\n)*test_guard"):
        tf.function(lambda x: transform(lambda x: tf.reduce_sum(x * x.numpy()), x))(tf.constant(X))


@EVERY
@pytest.mark.parametrize("order", ["of a compiled one", "compiled"])
def test_a_number_that_a_compiled_function_takes_out(transform, order):
    """Where conversion makes float() an op, its derivative would be lost as quietly."""

    def f(x):
        s = tf.reduce_sum(x * x)
        while s < 100.0:
            s = s * float(x[1])
        return s

    if order == "compiled":
        refused(f, lambda f, x: tf.function(lambda x: transform(f, x))(x))
    else:
        refused(tf.function(f), transform)


HARMLESS = [
    lambda x: (repr(x), str(x), f"{x[0]:.3f}", tf.reduce_sum(x * x) * 2.0)[-1],
    lambda x: tf.reduce_sum(x * x) * (2.0 if x[0] > 0.5 and bool(x[1]) else 3.0),
    lambda x: tf.reduce_sum(x * x) * float(len(x) - 1),
    lambda x: tf.reduce_sum(x * x) * int(x[1]),
    lambda x: tf.reduce_sum(x * x) * float(tf.stop_gradient(x)[1]),
    lambda x: tf.reduce_sum(x * x) * np.mean(tf.stop_gradient(x)),
    lambda x: (SEEN.append(float(x[0])), tf.reduce_sum(x * x) + tf.reduce_sum(x * x))[-1],
    lambda x: (tf.reduce_sum(x * x) * 2.0, SEEN.append(x.numpy()))[0],
    lambda x: tf.reduce_sum(x * x) * X[tf.argmax(x * [1.0, 2.0, 0.0])],
    lambda x: tf.reduce_sum(x * x) * float(tf.round(x[1])),
    lambda x: tf.reduce_sum(copy.deepcopy(x) * x) * 2.0,
]
SEEN = []


@EVERY
@pytest.mark.parametrize("f", HARMLESS, ids=range(len(HARMLESS)))
def test_what_is_only_looked_at_does_no_harm(f, transform):
    found, wanted = (
        transform(f, tf.constant(X)),
        transform(lambda x: tf.reduce_sum(x * x) * 2.0, tf.constant(X)),
    )
    np.testing.assert_allclose(found, wanted)


def test_what_is_printed_while_the_rest_goes_on():
    def f(x):
        y = tf.reduce_sum(x * x)
        SEEN.append(float(y))
        return (y * y + x[0] if y > 3.0 else y), {"loss": float(y)}

    found, aux = tf.grad(f, has_aux=True)(tf.constant(X))
    np.testing.assert_allclose(found, 4 * 14.0 * X + [1.0, 0.0, 0.0])
    assert aux == {"loss": 14.0}


def test_the_line_is_that_of_the_user_and_not_of_a_library():
    linalg = pytest.importorskip("scipy.linalg")

    def f(x):
        return tf.reduce_sum(x) * linalg.norm(x)

    assert "return tf.reduce_sum(x) * linalg.norm(x)" in refused(f)


def test_an_outer_transform_answers_for_its_own():
    """The value that leaves depends on the outer argument alone, inside of an inner transform and of a trace."""
    inner = lambda x: tf.grad(lambda y: y * y * float(x[0]))(tf.constant(2.0, tf.float64))
    refused(inner)
    known = tf.constant(5.0, tf.float64)
    other = lambda x: tf.grad(lambda y: y * y * float(known))(x[0])
    assert tf.grad(other)(tf.constant(X)).numpy().tolist() == [10.0, 0.0, 0.0]


def with_a_rule():
    @tf.custom_gradient
    def sine(x):
        values = x.numpy()
        slope = np.cos(values)
        return tf.constant(np.sin(values)), lambda g: g * slope

    return sine


def test_a_rule_of_its_own_is_how_values_may_leave():
    sine = with_a_rule()
    x = tf.constant(X)
    np.testing.assert_allclose(tf.grad(lambda x: tf.reduce_sum(sine(x) * 2.0) * 3.0)(x), 6 * np.cos(X))


def test_and_its_slope_has_no_derivative():
    sine = with_a_rule()
    for second in (tf.grad(lambda x: tf.reduce_sum(tf.grad(lambda x: tf.reduce_sum(sine(x)))(x))),
                   tf.jacrev(tf.grad(lambda x: tf.reduce_sum(sine(x))))):  # fmt: skip
        with pytest.raises(GradientError, match=r"is taken out here(.|\n)*values = x\.numpy\(\)"):
            second(tf.constant(X))


def test_assigned_variables_start_a_new_history():
    v = tf.Variable(X)

    def f(x):
        v.assign(x * 2.0)
        return tf.reduce_sum(x * v)

    np.testing.assert_allclose(tf.grad(f)(tf.constant(X)), 2 * X)
    np.testing.assert_allclose(tf.grad(tf.function(f))(tf.constant(X)), 2 * X)


def test_numbers_met_before_are_known_when_they_come_back():
    """Equal Python numbers share a tensor; one that comes back is no old one."""
    x = tf.constant(2.0)
    assert float(x * 2.0) == 4.0
    with pytest.raises(GradientError, match="is taken out here"):
        tf.grad(lambda x: x * float(x))(x)
