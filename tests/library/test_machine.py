"""Questions about the machine and blocks that order or lift what is done."""

import tracejit as tf


def test_what_is_written_first_happens_first():
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        done = v.assign_add(x)
        with tf.control_dependencies([done, tf.group(done)]):
            return v * 10.0

    assert float(f(tf.constant(2.0))) == 30.0
    assert float(v) == 3.0


def test_a_lifted_block_runs_once_outside_of_the_trace():
    v, seen = tf.Variable(5.0), []

    @tf.function
    def f(x):
        v.assign(7.0)
        with tf.init_scope():
            seen.append((tf.executing_eagerly(), tf.inside_function(), float(v)))
        seen.append((tf.executing_eagerly(), tf.inside_function()))
        return x + v

    assert not tf.inside_function()
    assert [float(f(tf.constant(1.0))), float(f(tf.constant(2.0)))] == [8.0, 9.0]
    assert seen == [(True, False, 5.0), (False, True)]
