"""Differential equations, solved with steps that the error decides (Dormand and Prince), in a loop that is compiled.

Derivatives are those of the steps that were made: how long a step is counts as given, but for the last one before a
time of `t`, which ends there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import DtypeError, ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend.autograph import operators as autograph
from ..frontend.control.reductions import reduce_mean
from ..frontend.control.scan import scan
from ..frontend.control.while_loop import while_loop
from ..numpy.conversion import floats

#: The method's stages: when each evaluates, and how it weighs the slopes before it. The last is the step itself.
_STAGES: tuple[tuple[float, tuple[float, ...]], ...] = (
    (1 / 5, (1 / 5,)),
    (3 / 10, (3 / 40, 9 / 40)),
    (4 / 5, (44 / 45, -56 / 15, 32 / 9)),
    (8 / 9, (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729)),
    (1.0, (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656)),
    (1.0, (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)),
)
#: By what the step of fifth order differs from that of fourth.
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
_TOO_MANY = (
    "odeint makes more than mxstep steps between two times: the equation is stiff or has no solution there"
)


class _State(NamedTuple):
    """Where the solution is: its value and slope, and the step to try."""

    y: Any
    slope: Any
    size: Any


class _Equation(NamedTuple):
    """``dy/dt = f(y, t)`` and how well to solve it."""

    f: Callable[[Any, Any], Any]
    relative: float
    absolute: float
    limit: int


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Sequence[Any] = (),
    *,
    rtol: float = 1.49012e-8,
    atol: float = 1.49012e-8,
    mxstep: int = 10_000,
    tfirst: bool = False,
) -> Tensor:
    """The solution of ``dy/dt = func(y, t, *args)`` from `y0` on, at the times `t`.

    Derivatives of any order, in reverse and forward mode, reach `y0`, `t`, `args` and what tensors `func` uses.

    Parameters
    ----------
    func : callable
        Returns the slope, of the shape of `y0`; with `tfirst` it takes ``(t, y, *args)``.
    y0 : tensor-like
        Real numbers of any shape, integers as float64: the value at the first of the times.
    t : tensor-like
        A vector of times, going up or down.
    args : sequence
        Passed on to `func`.
    rtol, atol : float
        The error of a step is kept below ``atol + rtol * abs(y)``.
    mxstep : int
        Most steps between two of the times.

    Returns
    -------
    Tensor
        ``(len(t), *y0.shape)``, of the dtype of `y0`.

    Raises
    ------
    RuntimeError
        Where `mxstep` steps do not suffice, as where the slope becomes NaN: eagerly and compiled.
    ShapeError, DtypeError
        `t` is no vector, or `y0` holds complex numbers.

    Examples
    --------
    >>> from tracejit.scipy.integrate import odeint
    >>> print(odeint(lambda y, t, rate: -rate * y, 1.0, [0.0, 1.0], (2.0,)).numpy().round(6))
    [1.       0.135335]
    """
    start, times = floats(y0), floats(t)
    if start.dtype.kind != "f" or times.dtype.kind != "f":
        raise DtypeError(f"odeint takes real numbers, got {start.spec} and {times.spec}{at(user_location())}")
    if len(times.shape) != 1:
        raise ShapeError(f"times are a vector, got {times.spec}{at(user_location())}")
    times = ops.cast(times, dtype=start.np_dtype)
    called = autograph.callee(func)

    def slope(y: Any, at_time: Any) -> Any:
        value = called(at_time, y, *args) if tfirst else called(y, at_time, *args)
        return ops.broadcast_to(ops.cast(floats(value), dtype=start.np_dtype), shape=start.shape)

    equation = _Equation(slope, float(rtol), float(atol), int(mxstep))
    first: Any = slope(start, times[0])
    begin = _State(start, first, _first_size(equation, start, first))
    _, rows = scan(lambda state, ends: _until(equation, state, *ends), begin, (times[:-1], times[1:]))
    return ops.concat(ops.reshape(start, shape=(1, *start.shape)), rows, axis=0)


def _norm(equation: _Equation, x: Any, y: Any) -> Any:
    """How large `x` is beside the error allowed at `y`, as a mean over the elements."""
    parts = x / (equation.absolute + equation.relative * ops.abs(y))
    return ops.sqrt(reduce_mean(ops.square(parts)))


def _first_size(equation: _Equation, y: Any, slope: Any) -> Any:
    """A step that changes `y` by a hundredth (Hairer, Norsett and Wanner)."""
    y, slope = ops.stop_gradient(y), ops.stop_gradient(slope)
    height, steepness = _norm(equation, y, y), _norm(equation, slope, y)
    flat = ops.logical_or(height < 1e-5, steepness < 1e-5)
    return ops.where(flat, 1e-6, 0.01 * height / ops.where(flat, 1.0, steepness))


def _until(equation: _Equation, state: _State, start: Any, end: Any) -> tuple[_State, Any]:
    """From one time to the next."""
    sign = ops.sign(ops.stop_gradient(end - start))

    def goes_on(k: Any, time: Any, arrived: Any, state: _State) -> Any:
        return ops.logical_and(k < equation.limit, ops.logical_not(arrived))

    def step(k: Any, time: Any, arrived: Any, state: _State) -> Any:
        last = ops.greater_equal(state.size, ops.abs(ops.stop_gradient(end - time)))
        size = ops.where(last, end - time, sign * state.size)
        new, slope, error = _step(equation, state, time, size)
        good = error <= 1.0  # not where it is NaN
        factor = ops.where(
            ops.is_nan(error),
            0.2,
            ops.minimum(ops.maximum(0.9 * ops.maximum(error, 1e-10) ** -0.2, 0.2), 10.0),
        )
        tried = ops.abs(ops.stop_gradient(size))
        proposed = factor * ops.where(ops.equal(tried, 0.0), state.size, tried)
        proposed = ops.where(ops.logical_and(last, good), ops.maximum(proposed, state.size), proposed)
        there = ops.logical_and(last, good)
        following = _State(ops.where(good, new, state.y), ops.where(good, slope, state.slope), proposed)
        return k + 1, ops.where(good, time + size, time), there, following

    begin = (as_tensor(0), start, as_tensor(False), state)
    _, _, arrived, state = while_loop(goes_on, step, begin)
    ops.check(ops.cast(arrived, dtype=np.dtype(np.float32)), message=_TOO_MANY, error="RuntimeError")
    return state, state.y


def _step(equation: _Equation, state: _State, time: Any, size: Any) -> tuple[Any, Any, Any]:
    """One step of `size`: the value and the slope behind it, and its error, 1 being what is allowed."""
    y = new = state.y
    slopes = [state.slope]
    for when, weights in _STAGES:
        new = y + size * _weighed(weights, slopes)
        slopes.append(equation.f(new, time + when * size))
    fixed = [ops.stop_gradient(s) for s in slopes]
    larger = ops.maximum(ops.abs(ops.stop_gradient(y)), ops.abs(ops.stop_gradient(new)))
    error = _norm(equation, ops.stop_gradient(size) * _weighed(_ERROR, fixed), larger)
    return new, slopes[-1], error


def _weighed(weights: Sequence[float], slopes: Sequence[Any]) -> Any:
    first, *others = [w * s for w, s in zip(weights, slopes, strict=True) if w]
    return sum(others, first)
