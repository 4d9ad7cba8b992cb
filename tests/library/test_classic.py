"""Programs of 2018: optimizers, losses, names and transforms of `tracejit.compat.v1`; values are TensorFlow's."""

import math

import numpy as np
import pytest

from tracejit.compat import v1 as tf

tfe = tf.contrib.eager


def three_steps(optimizer, compiled):
    v = tf.Variable([1.0, -2.0])

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v**2)
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])

    run = tf.function(step) if compiled else step
    for _ in range(3):
        run()
    return v.numpy()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "make, wanted",
    [
        (lambda: tf.train.GradientDescentOptimizer(0.1), [0.512, -1.024]),
        (lambda: tf.train.RMSPropOptimizer(0.1), [0.57452303, -1.4053718]),
        (lambda: tf.train.AdadeltaOptimizer(0.1), [0.99986434, -1.9998643]),
    ],
    ids=["descent", "rmsprop", "adadelta"],
)
def test_optimizers_of_their_time(make, wanted, compiled):
    np.testing.assert_allclose(three_steps(make(), compiled), wanted, rtol=1e-5)


def test_minimize_finds_the_variables_and_counts():
    v, step = tf.Variable(3.0), tf.Variable(0)
    optimizer = tf.train.GradientDescentOptimizer(learning_rate=0.1)
    for _ in range(5):
        optimizer.minimize(lambda: (v - 1.0) ** 2, global_step=step)
    np.testing.assert_allclose(v.numpy(), 1.65536, rtol=1e-6)
    ((gradient, variable),) = optimizer.compute_gradients(lambda: v * v)
    assert variable is v
    np.testing.assert_allclose(gradient, 3.31072, rtol=1e-6)
    optimizer.minimize(lambda: v * v, var_list=[v], global_step=step)
    np.testing.assert_allclose(v.numpy(), 1.324288, rtol=1e-6)
    assert int(step) == 6
    with pytest.raises(TypeError, match="function without arguments"):
        optimizer.minimize(v * v)
    with pytest.raises(ValueError, match="no trainable Variables"):
        optimizer.minimize(lambda: tf.constant(1.0))


Y, P = [1.0, 2.0, 3.0], [1.5, 2.0, 2.0]
Z = [[2.0, 1.0], [0.5, 0.2]]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "name, arguments, options, wanted",
    [
        ("mean_squared_error", (Y, P), {}, 1.25 / 3),
        ("mean_squared_error", (Y, P), {"weights": [1.0, 0.0, 3.0]}, (0.25 + 3.0) / 2),
        ("mean_squared_error", (Y, P), {"weights": 0.0}, 0.0),
        ("absolute_difference", (Y, P), {}, 0.5),
        ("huber_loss", (Y, P), {}, 0.20833333),
        ("log_loss", ([1.0, 0.0], [0.9, 0.1]), {}, 0.10536041),
        ("hinge_loss", ([[1.0, 0.0]], [[0.3, 0.2]]), {}, 0.95000005),
        ("sigmoid_cross_entropy", ([[1.0, 0.0]], [[2.0, 1.0]]), {}, 0.72009486),
        ("softmax_cross_entropy", ([[1.0, 0.0], [0.0, 1.0]], Z), {}, 0.5838085),
        ("softmax_cross_entropy", ([[1.0, 0.0], [0.0, 1.0]], Z), {"label_smoothing": 0.2}, 0.6188085),
        ("sparse_softmax_cross_entropy", ([0, 1], Z), {}, 0.5838085),
    ],
)
def test_losses_are_weighted_means(name, arguments, options, wanted, compiled):
    loss = getattr(tf.losses, name)
    run = tf.function(loss) if compiled else loss
    np.testing.assert_allclose(run(*map(tf.constant, arguments), **options), wanted, rtol=1e-5)


def test_losses_have_gradients():
    predictions = tf.constant(P)
    with tf.GradientTape() as tape:
        tape.watch(predictions)
        loss = tf.losses.mean_squared_error(Y, predictions, weights=[1.0, 0.0, 1.0])
    np.testing.assert_allclose(tape.gradient(loss, predictions), [0.5, 0.0, -1.0])


def test_parameters_by_name():
    f = lambda a, b: a * a * b
    (da,) = tfe.gradients_function(f, params=["a"])(2.0, 3.0)
    value, (db,) = tfe.value_and_gradients_function(f, params=["b"])(2.0, 3.0)
    assert (float(da), float(value), float(db)) == (12.0, 12.0, 4.0)
    with pytest.raises(ValueError, match="no argument 'c'"):
        tfe.gradients_function(f, params=["c"])
    second = tfe.gradients_function(lambda x: tfe.gradients_function(tf.sin)(x)[0])
    assert float(second(math.pi / 2)[0]) == -1.0


def test_names_that_moved_are_there():
    for name in tf._MOVED:
        assert callable(getattr(tf, name)), name
    np.testing.assert_array_equal(tf.matrix_inverse([[2.0, 0.0], [0.0, 4.0]]), [[0.5, 0.0], [0.0, 0.25]])
    np.testing.assert_array_equal(tf.reduce_sum([[1.0, 2.0], [3.0, 4.0]], reduction_indices=[1]), [3.0, 7.0])
    assert tf.reduce_mean([[1.0, 2.0]], axis=1, keep_dims=True).shape == (1, 1)
    assert (int(tf.div(7, 2)), float(tf.div(7.0, 2.0)), int(tf.div(-7, 2))) == (3, 3.5, -4)
    assert int(tf.arg_max([1, 3, 2], 0)) == int(tf.argmax([1, 3, 2], dimension=0)) == 1
    np.testing.assert_array_equal(tf.multinomial([[0.0, 100.0]], 3), [[1, 1, 1]])
    v = tf.Variable(1.0)
    assert float(tf.assign(v, 2.0)) == float(tf.assign_add(v, 0.0)) == 2.0
    assert (tf.to_int64([1.5]).dtype, tf.to_float(1).dtype) == (np.int64, np.float32)
    assert tf.global_variables_initializer() is None


def test_variables_by_name():
    with tf.variable_scope("a"), tf.variable_scope("b"):
        v = tf.get_variable("v", [2], initializer=tf.constant_initializer(2.0))
    assert v.name == "a/b/v:0"
    np.testing.assert_array_equal(v, [2.0, 2.0])
    assert float(tf.get_variable("c", initializer=tf.constant(3.0))) == 3.0
    assert tf.get_variable("w", shape=[3, 4]).shape == (3, 4)
    with pytest.raises(ValueError, match="needs a shape"):
        tf.get_variable("w")


def test_while_loop_of_one_variable_gives_it_alone():
    i = tf.while_loop(lambda i: tf.less(i, 10), lambda i: tf.add(i, 1), [tf.constant(0)])
    assert int(i) == 10
    i, x = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), [0, 1.0])
    assert float(x) == 8.0


def test_metrics_and_defun():
    accuracy, mean = tfe.metrics.Accuracy(), tfe.metrics.Mean()
    accuracy([0, 1, 1], [0, 1, 0])
    accuracy([1], [1])
    mean(2.0)
    mean(4.0)
    assert (float(accuracy.result()), float(mean.result())) == (0.75, 3.0)
    assert float(tfe.defun(lambda x: x * 2)(tf.constant(2.0))) == 4.0
    assert tfe.executing_eagerly()
