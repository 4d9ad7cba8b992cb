"""Products of a batch of matrices with one matrix: one product over all rows, in both directions."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

RNG = np.random.default_rng(5)


def value_and_gradients(a, b):
    """The sum of ``sin(a @ b)`` and its derivatives."""
    with tj.GradientTape() as tape:
        tape.watch((a, b))
        y = tj.reduce_sum(tj.sin(a @ b))
    return y, tape.gradient(y, (a, b))


@pytest.mark.parametrize("lead", [(), (5,), (2, 3), (1, 4), (0, 3)])
@pytest.mark.parametrize("sizes", [(1, 2, 3), (7, 16, 33), (16, 24, 8)])
def test_values_and_derivatives_are_those_of_matrices_one_by_one(lead, sizes):
    m, k, n = sizes
    a, b = RNG.normal(size=(*lead, m, k)), RNG.normal(size=(k, n))
    y, (by_a, by_b) = tj.function(value_and_gradients)(a, b)
    slope = np.cos(a @ b)
    np.testing.assert_allclose(y.numpy(), np.sin(a @ b).sum(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(by_a.numpy(), slope @ b.T, rtol=1e-12, atol=1e-12)
    one_by_one = np.swapaxes(a, -1, -2) @ slope
    np.testing.assert_allclose(by_b.numpy(), one_by_one.reshape(-1, k, n).sum(axis=0), rtol=1e-11, atol=1e-11)
    eager = value_and_gradients(tj.constant(a), tj.constant(b))
    np.testing.assert_allclose(eager[1][1].numpy(), by_b.numpy(), rtol=1e-11, atol=1e-11)


def test_it_is_one_call_of_the_library():
    a, b = RNG.normal(size=(5, 4, 16, 24)), RNG.normal(size=(24, 8))
    program = tj.function(lambda a, b: a @ b).loops(a, b)
    assert program.count("matmul(") == 1 and "sizes 320, 24, 8" in program and "loop" not in program
    gradient = tj.function(lambda a, b: value_and_gradients(a, b)[1][1]).loops(a, b)
    assert "sizes 24, 320, 8" in gradient and "loop" not in gradient


@pytest.mark.parametrize("perm", [(0, 1, 3, 2), (1, 0, 2, 3), (2, 0, 1, 3)])
def test_turned_operands(perm):
    a = np.transpose(RNG.normal(size=(6, 7, 8, 9)), perm)
    b = RNG.normal(size=(a.shape[-1], 33))

    x = np.ascontiguousarray(np.transpose(a, np.argsort(perm)))
    found = tj.function(lambda x, b: tj.transpose(x, perm) @ b)(x, b)
    np.testing.assert_allclose(found.numpy(), a @ b, rtol=1e-12, atol=1e-12)


def test_sizes_known_at_the_call_alone():
    f = tj.function(
        value_and_gradients,
        input_signature=[tj.TensorSpec([None, None, 16], "float64"), tj.TensorSpec([16, 33], "float64")],
    )
    b = RNG.normal(size=(16, 33))
    for lead in ((5, 4), (1, 1), (3, 0)):
        a = RNG.normal(size=(*lead, 16))
        _, (_, by_b) = f(a, b)
        slope = np.cos(a @ b)
        np.testing.assert_allclose(
            by_b.numpy(), (np.swapaxes(a, 1, 2) @ slope).sum(axis=0), rtol=1e-11, atol=1e-11
        )
