"""The error functions of complex numbers, by Faddeeva's function ``w(z) = exp(-z**2) erfc(-i z)``. Knows NumPy alone.

Al Azah and Chandler-Wilde, Computation of the complex error function using modified trapezoidal rules, 2021.
"""

from __future__ import annotations

import math

import numpy as np

_COUNT = 12
_STEP = math.sqrt(math.pi / _COUNT)
_MIDDLES = (np.arange(_COUNT) + 0.5) * _STEP
_ENDS = np.arange(1, _COUNT) * _STEP


def faddeeva(z: np.ndarray) -> np.ndarray:
    """w in the first quadrant: the midpoint rule for its integral, or near its points the trapezoidal one.

    Where the line of integration is near, either needs a term for the pole that lies between them.
    """
    phase = z.real / _STEP % 1.0
    high = z.imag >= np.maximum(z.real, math.pi / _STEP)
    by_ends = ~high & (z.imag < z.real) & (phase >= 0.25) & (phase <= 0.75)
    square, scale = z * z, 2j * _STEP / math.pi * z
    turn = np.exp(2j * math.pi / _STEP * z)
    pole = 2.0 * np.exp(2j * math.pi / _STEP * z - square) / np.where(by_ends, turn - 1.0, turn + 1.0)
    middles = scale * _weighed(_MIDDLES, square) + np.where(high, 0.0, pole)
    ends = scale * (_weighed(_ENDS, square) + 0.5 / square) + pole
    return np.where(by_ends, ends, middles)


def _weighed(points: np.ndarray, square: np.ndarray) -> np.ndarray:
    return np.sum(np.exp(-(points**2)) / (square[..., None] - points**2), axis=-1)


def _erfc_on_the_right(z: np.ndarray) -> np.ndarray:
    """erfc of numbers whose real part is not negative; what is too large is infinite."""
    x, y = z.real, z.imag
    w = faddeeva(np.abs(y) + 1j * x)
    turned = np.where(np.signbit(y), w, np.conj(w)) * np.exp(-2j * x * y)
    size = np.exp((y - x) * (y + x))
    result = np.empty_like(z)
    result.real = np.where(turned.real == 0.0, 0.0, turned.real * size)
    result.imag = np.where(turned.imag == 0.0, turned.imag, turned.imag * size)
    return np.where(np.isposinf(x) & np.isfinite(y), 0.0, result)


def _series(z: np.ndarray) -> np.ndarray:
    """erf by its power series, exact to rounding up to the unit circle."""
    square = z * z
    term = total = z
    for n in range(1, 25):
        term = -term * square / n
        total = total + term / (2 * n + 1)
    return total * (2.0 / math.sqrt(math.pi))


def erf_of_complex(z: np.ndarray) -> np.ndarray:
    """The error function of complex numbers, to about 13 digits."""
    with np.errstate(all="ignore"):
        left = z.real < 0
        right = np.where(left, -z, z).astype(np.complex128)
        near = np.abs(right) < 1.0
        far = 1.0 - _erfc_on_the_right(np.where(near, 1.0, right))
        result = np.where(near, _series(np.where(near, right, 0.0)), far)
        return np.where(left, -result, result).astype(z.dtype)


def erfc_of_complex(z: np.ndarray) -> np.ndarray:
    """What `erf_of_complex` lacks to 1, as accurate where it is small."""
    with np.errstate(all="ignore"):
        left = z.real < 0
        rest = _erfc_on_the_right(np.where(left, -z, z).astype(np.complex128))
        return np.where(left, 2.0 - rest, rest).astype(z.dtype)
