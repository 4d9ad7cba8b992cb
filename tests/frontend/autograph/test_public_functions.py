"""Every public function of the package under ``function(lambda x: vmap(f)(x))``, as it is eagerly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp
from tracejit.core.op import OPS
from tracejit.core.tensor import Tensor

ROWS = np.array([[0.3, 0.9, 0.5], [0.2, 0.7, 0.4]])
#: Two examples each: vectors, matrices far from singular, integers, bools.
EXAMPLES = [
    ROWS,
    np.stack([row[:, None] * row + np.eye(3) for row in ROWS]),
    np.array([[1, 2, 3], [2, 1, 0]]),
    np.array([[True, False, True], [False, True, True]]),
]
SPACES = [tf, tnp, tf.math, tf.nn, tf.linalg, tf.activations, tf.bitwise]


def functions_of(space: ModuleType) -> Iterator[tuple[str, Callable]]:
    """The functions of a module, those apart that are in one before it in SPACES, which take long once."""
    before = {id(getattr(other, name)) for other in SPACES[: SPACES.index(space)] for name in dir(other)}
    for name in dir(space):
        f = getattr(space, name)
        if name.startswith(("_", "set_", "print", "random_")) or id(f) in before:
            continue
        if callable(f) and not isinstance(f, type):
            yield f"{space.__name__}.{name}", f


def eagerly(f: Callable) -> tuple[Callable, list[tf.Tensor], list[tf.Tensor]] | None:
    """What f takes of one or two arguments, examples of these, and what it makes of them; None if it takes others."""
    for count in (1, 2):
        for example in EXAMPLES:
            xs = [tf.constant(example)] * count
            try:
                found = tf.nest.flatten(tf.vmap(lambda *rows: f(*rows))(*xs))
            except Exception:
                continue
            if found and all(isinstance(y, Tensor) for y in found):
                return f, xs, found
    return None


def assert_compiled_alike(f: Callable, xs: list[tf.Tensor], expected: list[tf.Tensor], name: str) -> None:
    found = tf.nest.flatten(tf.function(lambda *xs: tf.vmap(f)(*xs))(*xs))
    for a, b in zip(found, expected, strict=True):
        if b.dtype == tf.string:
            np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=name)
        else:
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.__name__)
def test_public_functions_under_vmap_in_a_function(space: ModuleType):
    asked = 0
    for name, f in functions_of(space):
        known = eagerly(f)
        if known is not None:
            assert_compiled_alike(*known, name)
            asked += 1
    assert asked > 3


@pytest.mark.slow
def test_ops_with_samples_under_vmap_in_a_function():
    asked = 0
    public = {id(f) for space in SPACES for _, f in functions_of(space)}
    for op in OPS.values():
        if id(op) in public:
            continue
        known = eagerly(op)
        if known is not None:
            assert_compiled_alike(*known, op.name)
            asked += 1
    assert asked > 30
