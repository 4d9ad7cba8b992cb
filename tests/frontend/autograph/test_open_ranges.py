"""Python's ``range`` of a size that a signature leaves open: one loop for every size, where the body admits one."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp

OPEN = [tf.TensorSpec([None], tf.float64)]


def pairs(x):
    energy = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            energy += 1.0 / (1.0 + (x[i] - x[j]) ** 2)
    return energy


def filled(x):
    out = np.zeros(x.shape[0])
    for i in range(1, x.shape[0]):
        out[i] = x[i] * x[i - 1]
    return out


def left_early(x):
    for i in range(x.shape[0]):
        if x[i] > 2.5:
            return x[i] * 10.0
    return x[0]


def skipping(x):
    total = 0.0
    for i in range(len(x) - 1, -1, -1):
        if i == 4:
            break
        if i % 2 == 0:
            continue
        total = total * 0.5 + x[i] * float(i)
    return total * x[0]


def written_out_since_it_reads_a_list(x):
    weights, total = [1.0, 2.0, 3.0, 4.0, 5.0], 0.0
    for i in range(len(x)):
        total += x[i] * weights[i]
    return total


def written_out_since_it_builds_a_list(x):
    rows = []
    for i in range(len(x)):
        rows.append(x[i] * 2.0)
    return tnp.stack(rows) * len(rows)


def what_else_ranges_do(x):
    r = range(len(x))
    items = [x[i] for i in r] + [x[k] for _, k in enumerate(reversed(r))]
    return sum(items) * (3 in r) + x[r[-1]] + len(r)


@pytest.mark.parametrize("f", [pairs, filled, left_early, skipping])
def test_one_trace_serves_every_size(f):
    compiled = tf.function(f, input_signature=OPEN)
    gradient = tf.function(tf.grad(lambda x: tnp.sum(f(x))), input_signature=OPEN)
    for n in (3, 5, 1):
        x = np.linspace(1.0, 3.0, n)
        np.testing.assert_allclose(compiled(x), f(x.copy()), rtol=1e-14)
        np.testing.assert_allclose(gradient(x), tf.grad(lambda x: tnp.sum(f(x)))(x), rtol=1e-13, atol=1e-14)
    assert compiled.experimental_get_tracing_count() == gradient.experimental_get_tracing_count() == 1


@pytest.mark.parametrize(
    "f",
    [written_out_since_it_reads_a_list, written_out_since_it_builds_a_list, what_else_ranges_do],
)
def test_what_no_loop_can_do_is_traced_for_each_size(f):
    compiled = tf.function(f, input_signature=OPEN)
    for n in (3, 5, 3):
        x = np.linspace(1.0, 3.0, n)
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-14)
    assert compiled.experimental_get_tracing_count() == 2


def test_such_a_function_leaves_python_for_every_size():
    art = tf.export(pairs, ["f64[n]"], name="pairs", targets=["host"])
    x = np.linspace(1.0, 3.0, 4)
    value, gradient = art(x)
    np.testing.assert_allclose(value, pairs(x), rtol=1e-14)
    np.testing.assert_allclose(gradient, tf.grad(pairs)(x), rtol=1e-13, atol=1e-14)


def test_arrays_of_computed_sizes_and_complex_numbers():
    def escape(rows, columns):
        steps = np.zeros((rows, columns))
        for i in range(rows):
            for j in range(columns):
                c, z, n = complex(3.0 * j / columns - 2.0, 3.0 * i / rows - 1.5), 0j, 0
                while abs(z) < 2.0 and n < 20:
                    z = z * z + c
                    n += 1
                steps[i, j] = n
        return steps

    compiled = tf.function(escape)
    for rows, columns in ((6, 8), (3, 2)):
        np.testing.assert_array_equal(
            compiled(tf.constant(rows), tf.constant(columns)), escape(rows, columns)
        )
    assert compiled.experimental_get_tracing_count() == 1
