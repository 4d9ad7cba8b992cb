"""What an exported function must give: each kind of output by the transforms, run eagerly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracejit as tf
from tracejit.aot import Artifact
from tracejit.frontend.structure import flatten

Arrays = list[np.ndarray]
KINDS = ("value", "grad", "jvp", "vjp", "hvp", "jacobian", "hessian")


class Expected:
    """The results of an exported function, by transforms.

    Parameters
    ----------
    f : callable
        Of arrays, one by one; returns a nest of tensors.
    arrays : list of ndarray
    chosen : sequence of int
        What to differentiate by.
    """

    def __init__(self, f: Callable[..., Any], arrays: Arrays, chosen: Sequence[int]):
        self.f, self.arrays, self.chosen = f, arrays, list(chosen)
        self.xs = [tf.constant(arrays[k], arrays[k].dtype) for k in chosen]
        self.values = self._values(*self.xs)

    def _values(self, *xs: Any) -> list[Any]:
        given = [tf.constant(a, a.dtype) for a in self.arrays]
        for k, x in zip(self.chosen, xs, strict=True):
            given[k] = x
        return [tf.convert_to_tensor(y) for y in flatten(self.f(*given))[0]]

    def floats(self, *xs: Any) -> list[Any]:
        return [y for y in self._values(*xs) if y.dtype.kind in "fc"]

    def scalar(self, *xs: Any) -> Any:
        return self.floats(*xs)[0]

    def further(self, kind: str, random: np.random.Generator) -> Arrays:
        """The further inputs of a kind of output."""
        like = {"jvp": self.xs, "hvp": self.xs, "vjp": [y for y in self.values if y.dtype.kind in "fc"]}
        return [drawn(random, x.shape, x.dtype) for x in like.get(kind, [])]

    def of(self, kind: str, further: Arrays) -> Arrays:
        """The results of a kind."""
        more = [tf.constant(a, a.dtype) for a in further]
        every = tuple(range(len(self.xs)))
        made = {
            "value": lambda: self.values,
            "grad": lambda: tf.value_and_grad(self.scalar, every)(*self.xs)[1],
            "jvp": lambda: tf.jvp(self.floats, self.xs, more)[1],
            "vjp": lambda: tf.vjp(self.floats, *self.xs)[1](more),
            "hvp": lambda: tf.hvp(self.scalar, self.xs, more),
            "jacobian": lambda: tf.jacrev(self.floats, every)(*self.xs),
            "hessian": lambda: tf.hessian(self.scalar, every)(*self.xs),
        }
        return [np.asarray(y) for y in flatten(made[kind]())[0]]


def drawn(random: np.random.Generator, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """Random numbers."""
    values = random.standard_normal(tuple(shape))
    return np.asarray(
        values + 1j * random.standard_normal(tuple(shape)) if dtype.kind == "c" else values, dtype
    )


def compare(
    art: Artifact, expected: Expected, kinds: Sequence[str], rtol: float = 1e-9, seed: int = 0
) -> Arrays:
    """Call an artifact, and assert that its results are those of the transforms; returns them."""
    random = np.random.default_rng(seed)
    kinds = [k for k in KINDS if k in kinds]
    further = {k: expected.further(k, random) for k in kinds}
    found = art(*expected.arrays, *(a for k in kinds for a in further[k]))
    found = list(found) if isinstance(found, tuple) else [found]
    wanted = [(k, y) for k in kinds for y in expected.of(k, further[k])]
    assert len(found) == len(wanted), (art.signature, len(wanted))
    for y, (kind, z) in zip(found, wanted, strict=True):
        assert y.shape == z.shape and y.dtype == z.dtype, (kind, art.signature)
        size = max(1.0, float(np.max(np.abs(z), initial=0.0))) if z.dtype.kind in "fc" else 1.0
        np.testing.assert_allclose(y, z, rtol=rtol, atol=rtol * size, err_msg=f"{kind} of {art.signature}")
    return found
