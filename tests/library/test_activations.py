"""Activations: values, gradients and second derivatives, at the edges and beyond, eager and compiled."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tracejit as tf
from tracejit.nn.activations import get

# Computed by keras 3.15 with the TensorFlow backend in float64: keras.activations.<name> at X, and the gradient of
# the sum of the values weighted by WEIGHTS.
X = [-3.0, -0.5, 0.0, 0.25, 2.0, 7.0]
WEIGHTS = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
KERAS = {
    "elu": (
        [-0.950212931632136, -0.3934693402873666, 0.0, 0.25, 2.0, 7.0],
        [0.04978706836786395, 1.2130613194252668, 3.0, 4.0, 5.0, 6.0],
    ),
    "selu": (
        [
            -1.670568728767112,
            -0.6917581878028713,
            0.0,
            0.2626752468388701,
            2.101401974710961,
            7.354906911488364,
        ],
        [
            0.0875306120802648,
            2.132682306089011,
            3.1521029620664414,
            4.202803949421922,
            5.253504936777402,
            6.304205924132883,
        ],
    ),
    "gelu": (
        [
            -0.004049694777521031,
            -0.1542687708693288,
            0.0,
            0.1496765810071345,
            1.9544997324075772,
            6.999999999991041,
        ],
        [
            -0.011945648796988968,
            0.2650097612320218,
            1.5,
            2.7814934067130546,
            5.426159023871305,
            6.000000000375979,
        ],
    ),
    "silu": (
        [
            -0.14227761953270035,
            -0.18877033439907273,
            0.0,
            0.14054412522144952,
            1.7615941559557649,
            6.993622641639195,
        ],
        [
            -0.08810410601516963,
            0.5200776253946965,
            1.5,
            2.494840086280791,
            5.453921243924478,
            6.032762982398711,
        ],
    ),
    "softsign": (
        [-0.75, -0.3333333333333333, 0.0, 0.2, 0.6666666666666666, 0.875],
        [0.0625, 0.8888888888888888, 3.0, 2.56, 0.5555555555555556, 0.09375],
    ),
    "relu6": (
        [0.0, 0.0, 0.0, 0.25, 2.0, 6.0],
        [0.0, 0.0, 0.0, 4.0, 5.0, 0.0],
    ),
    "mish": (
        [
            -0.14564746127562458,
            -0.22074377465173,
            0.0,
            0.16957240966381756,
            1.9439589595339946,
            6.999988379809741,
        ],
        [
            -0.09339311453232085,
            0.5790213558270244,
            1.8000000000000003,
            3.0166906708823706,
            5.346589671397449,
            6.000129354965335,
        ],
    ),
    "hard_sigmoid": (
        [0.0, 0.4166666666666667, 0.5, 0.5416666666666666, 0.8333333333333334, 1.0],
        [0.0, 0.3333333333333333, 0.5, 0.6666666666666666, 0.8333333333333334, 0.0],
    ),
    "softmax": (
        [
            4.497628941719733e-05,
            0.0005479233741998581,
            0.0009033729217570918,
            0.0011599537922835723,
            0.00667507319711804,
            0.9906687004252244,
        ],
        [
            -0.00022424630656703114,
            -0.0021839559012630586,
            -0.0026973616269263816,
            -0.002303527094688099,
            -0.0065808099862258,
            0.013989900915669724,
        ],
    ),
    "log_softmax": (
        [
            -10.009375108895568,
            -7.509375108895568,
            -7.009375108895568,
            -6.759375108895568,
            -5.009375108895568,
            -0.009375108895567863,
        ],
        [
            0.9990554979222389,
            1.988493609141803,
            2.981029168643101,
            3.975640970362045,
            4.859823462860521,
            -14.80404270892971,
        ],
    ),
}
NAMES = [*KERAS, "leaky_relu", "relu", "sigmoid", "tanh", "softplus", "linear", "exponential"]


def weighted(name):
    return lambda x: tf.reduce_sum(get(name)(x) * tf.constant(np.array(WEIGHTS)))


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f, *xs: f(*xs)) if request.param == "eager" else (lambda f, *xs: tf.function(f)(*xs))


@pytest.mark.parametrize("name", KERAS)
def test_values_and_gradients_are_those_of_keras(name, run):
    values, gradients = KERAS[name]
    rtol = 1e-6 if name == "gelu" else 1e-11  # keras computes gelu with constants of float32
    x = tf.constant(np.array(X))
    np.testing.assert_allclose(run(get(name), x).numpy(), values, rtol=rtol, atol=1e-15)
    np.testing.assert_allclose(run(tf.grad(weighted(name)), x).numpy(), gradients, rtol=rtol, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_second_derivatives(name, run):
    x, h = np.array([-2.5, -0.6, 0.3, 0.8, 1.7, 4.0]), 1e-5
    gradient = tf.grad(weighted(name))
    direction = np.array([1.0, -0.5, 0.25, 2.0, -1.0, 0.5])
    second = run(tf.grad(lambda v: tf.reduce_sum(gradient(v) * direction)), tf.constant(x)).numpy()
    towards = [gradient(tf.constant(x + s * h * direction)).numpy() for s in (1, -1)]
    np.testing.assert_allclose(second, (towards[0] - towards[1]) / (2 * h), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_edges(name, dtype, run):
    x = np.array([np.nan, 0.0, -0.0, 30.0, -1e4], dtype)
    y = run(lambda v: tf.stack([get(name)(tf.reshape(e, (1,)))[0] for e in v]), tf.constant(x)).numpy()
    assert y.dtype == dtype and y.shape == x.shape
    assert np.isnan(y[0]) and np.all(np.isfinite(y[1:]))
    shape = (0, 3)
    assert run(get(name), tf.constant(np.zeros(shape, dtype))).shape == shape


def test_softmax_of_large_and_infinite_numbers(run):
    softmax = lambda x: (tf.nn.softmax(x), tf.nn.log_softmax(x))
    p, logp = (t.numpy() for t in run(softmax, tf.constant([[1e30, -1e30, 0.0], [-np.inf, 0.0, 0.0]])))
    assert p.tolist() == [[1, 0, 0], [0, 0.5, 0.5]]
    np.testing.assert_allclose(logp, [[0, -2e30, -1e30], [-np.inf, -np.log(2), -np.log(2)]], rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_softmax_axes(axis, run):
    x = np.random.default_rng(0).normal(size=(3, 4))
    p = run(lambda v: tf.nn.softmax(v, axis=axis), tf.constant(x)).numpy()
    e = np.exp(x)
    np.testing.assert_allclose(p, e / e.sum(-1 if axis is None else axis, keepdims=True), rtol=1e-14)
    logp = run(lambda v: tf.nn.log_softmax(v, axis=axis), tf.constant(x)).numpy()
    np.testing.assert_allclose(np.exp(logp), p, rtol=1e-14)


def test_softmax_of_an_unknown_size():
    f = tf.function(tf.nn.softmax, input_signature=[tf.TensorSpec([None, None], tf.float64)])
    for shape in ((2, 3), (1, 1), (4, 1)):
        x = np.random.default_rng(1).normal(size=shape)
        np.testing.assert_allclose(f(x).numpy(), tf.nn.softmax(x).numpy(), rtol=1e-14)
    assert f.experimental_get_tracing_count() == 1


def test_gelu(run):
    exact = [0.5 * x * math.erfc(-x / math.sqrt(2.0)) for x in X]
    np.testing.assert_allclose(run(tf.nn.gelu, tf.constant(np.array(X))).numpy(), exact, rtol=1e-13)
    by_tanh = [0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) for x in X]
    found = run(lambda v: tf.nn.gelu(v, approximate=True), tf.constant(np.array(X)))
    np.testing.assert_allclose(found.numpy(), by_tanh, rtol=1e-12)


def test_options():
    assert tf.nn.leaky_relu([-2.0], alpha=0.5).numpy() == -1.0
    assert tf.nn.elu([-1e9], alpha=3.0).numpy() == -3.0
    assert float(tf.nn.silu(1.0, beta=0.0)) == 0.5


def test_finding_by_name():
    own = lambda x: x
    assert get(own) is own and get(None)(3.0).item() == 3.0 and get("swish") is get("silu")
    assert get("relu") is tf.nn.relu and tf.activations.get("exponential") is tf.exp
    with pytest.raises(ValueError, match="no activation is called 'rellu'; there are elu, exponential"):
        get("rellu")
    with pytest.raises(TypeError, match="a name or a callable, not int"):
        get(3)
    with pytest.raises(ValueError, match=r"softmax has no axis 2 in float32\[3\]"):
        tf.nn.softmax([1.0, 2.0, 3.0], axis=2)
