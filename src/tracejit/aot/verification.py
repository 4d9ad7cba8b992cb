"""Verification of an artifact: its results against the stored sample, its gradients against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import TracejitError
from ..runtime.exported.interface import Interface

Function = Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]]


class NotVerified(TracejitError, AssertionError):
    """An artifact that does not compute what it was made for.

    Examples
    --------
    >>> import tracejit as tf
    >>> art = tf.export(lambda x: tf.sin(x), ["f64"], name="sine")
    >>> try:
    ...     report = art.verify()
    ... except tf.aot.NotVerified as error:
    ...     print("not to be used:", error)
    ... else:
    ...     print("computes what it was made for")
    computes what it was made for
    """


class Verification(NamedTuple):
    """How well an artifact does, as relative errors; None for what could not be tried. As text, it says why.

    Attributes
    ----------
    sample : float or None
        Against the results that were kept when it was made, computed without the compiler.
    gradient : float or None
        Of its gradients against differences of its values.
    reason : str
        Why something could not be tried; empty when all was.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.aot.Verification(sample=0.0, gradient=1e-9))
    results agree with those kept to 0; gradients agree with differences of values to 1e-09
    """

    sample: float | Any
    gradient: float | Any
    reason: str = ""

    def __str__(self) -> str:
        found = (
            ("results", "those kept", self.sample),
            ("gradients", "differences of values", self.gradient),
        )
        parts = [
            f"{what} agree with {other} to {error:.2g}" for what, other, error in found if error is not None
        ]
        return "; ".join([*parts, *([self.reason] if self.reason else [])])


#: How far results of narrow floats may be from those kept, which are rounded after every op.
_CLOSE = {"float32": 1e-4, "complex64": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}


def verified(
    function: Function,
    interface: Interface,
    sample: tuple[Sequence[np.ndarray], Sequence[np.ndarray]] | None,
    rtol: float | None,
) -> Verification:
    """Compare; NotVerified says which result is how far off."""
    if sample is None:
        reason = "nothing was tried: it was made without a sample, as nothing that was made up fits; export(sample=...)"
        return Verification(None, None, reason)
    inputs, wanted = sample
    outputs = function(inputs)
    errors = [_distance(y, z) for y, z in zip(outputs, wanted, strict=True)]
    for name, error, y in zip(interface.outputs, errors, wanted, strict=True):
        allowed = rtol if rtol is not None else _CLOSE.get(y.dtype.name, 1e-9)
        if not error <= allowed:
            raise NotVerified(f"{interface.name}: {name} is off by {error:.2g} of its size from the sample's")
    gradient = _gradient_error(function, interface, inputs, outputs)
    reason = "" if gradient is not None else "no gradient was tried: none is a result beside its value"
    return Verification(max(errors, default=0.0), gradient, reason)


def _gradient_error(
    function: Function, interface: Interface, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]
) -> float | None:
    """The largest error of a gradient along a direction, relative to its size."""
    random, worst = np.random.default_rng(1), None
    for place, index in interface.gradients:
        x, g = inputs[index], outputs[place]
        if x.dtype.kind != "f" or not x.size:
            continue
        step, allowed = (1e-6, 1e-4) if x.dtype.itemsize == 8 else (1e-2, 5e-2)
        direction = random.standard_normal(x.shape)
        direction /= np.linalg.norm(direction)
        moved = []
        for sign in (1, -1):
            changed = list(inputs)
            changed[index] = (x + sign * step * direction).astype(x.dtype)
            moved.append((float(function(changed)[0]), changed[index].astype(np.float64)))
        (high, above), (low, below) = moved
        along = float(np.sum(g.astype(np.float64) * (above - below)))
        size = float(np.linalg.norm(g.astype(np.float64)) * np.linalg.norm(above - below))
        noise = 8 * float(np.finfo(x.dtype).eps) * max(abs(high), abs(low))
        error = max(abs(high - low - along) - noise, 0.0) / max(size, 1e-300)
        if not error <= allowed:
            name = interface.outputs[place]
            raise NotVerified(f"{interface.name}: {name} is off by {error:.2g} of its size from differences")
        worst = max(error, worst or 0.0)
    return worst


def _distance(y: np.ndarray, wanted: np.ndarray) -> float:
    """The largest difference, relative to the largest number; what is not finite must be the same."""
    y, wanted = (a.astype(np.complex128) for a in (y, wanted))
    finite = np.isfinite(wanted)
    if not np.array_equal(y[~finite], wanted[~finite], equal_nan=True):
        return float("inf")
    size = float(np.max(np.abs(wanted[finite]), initial=0.0))
    found = float(np.max(np.abs(y[finite] - wanted[finite]), initial=0.0))
    return found / size if size else found
