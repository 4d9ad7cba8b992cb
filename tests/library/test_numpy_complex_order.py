"""Complex numbers are in NumPy's order: by real parts, and where those are equal by the imaginary ones."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp
from checks.numpy_expressions import MODES, require_slopes

PARTS = [0.0, -1.0, 1.0, np.inf, -np.inf, np.nan]
ALL = np.array([complex(a, b) for a in PARTS for b in PARTS])
MIXED = np.random.default_rng(0).permutation(ALL)
NUMBERS = np.array([[1 + 2j, 1 - 1j, 0.5], [2 - 3j, 2 - 4j, -1j]])


def require_same(found, wanted):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    for part in ("real", "imag"):
        np.testing.assert_array_equal(getattr(found, part), getattr(wanted, part))


@MODES
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", ["less", "less_equal", "greater", "greater_equal", "maximum", "minimum", "fmax", "fmin"]
)
def test_two_are_compared_as_in_numpy(mode, name):
    wanted = getattr(np, name)(ALL[:, None], ALL)
    require_same(mode(lambda a, b: getattr(tnp, name)(a, b))(ALL[:, None], ALL), wanted)
    wanted = getattr(np, name)(NUMBERS.astype(np.complex64), 1.0)
    require_same(mode(lambda a: getattr(tnp, name)(a, 1.0))(NUMBERS.astype(np.complex64)), wanted)


ARRAYS = {"any": MIXED.reshape(2, 3, 6), "numbers": NUMBERS}
FOLDS = {
    "sort": lambda np, x: np.sort(x, axis=0),
    "argsort": lambda np, x: np.argsort(x, axis=-1, kind="stable"),
    "max": lambda np, x: np.max(x, axis=(0, -1), keepdims=True),
    "min": lambda np, x: np.min(x),
    "some": lambda np, x: np.max(x, axis=1, where=x.real < 1.5, initial=-5.0),
    "argmax": lambda np, x: np.argmax(x, axis=1),
    "argmin": lambda np, x: np.argmin(x, axis=0, keepdims=True),
    "nanmax": lambda np, x: np.nanmax(np.where(np.isnan(x), np.nan, x)),
    "ptp": lambda np, x: np.ptp(x, axis=1),
    "clip": lambda np, x: np.clip(x, 1.0, 2 - 3.5j),
}


@MODES
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("values", ARRAYS)
@pytest.mark.parametrize("name", FOLDS)
def test_arrays_are_ordered_as_in_numpy(mode, name, values):
    f, x = FOLDS[name], ARRAYS[values]
    require_same(mode(lambda x: f(tnp, x))(x), f(np, x))


@MODES
def test_the_largest_come_first_where_that_is_asked_for(mode):
    found = mode(lambda x: tnp.sort(x, axis=None, descending=True))(NUMBERS)
    require_same(found, np.sort(NUMBERS, axis=None)[::-1])


def test_no_elements_have_no_extreme():
    with pytest.raises(ValueError, match="initial="):
        tnp.max(np.zeros((3, 0), complex), axis=1)
    assert tnp.max(np.zeros((3, 0), complex), axis=1, initial=1j).numpy().tolist() == [1j] * 3
    assert tnp.max(np.zeros((3, 0), complex), axis=0).shape == (0,)


SLOPES = [
    lambda np, x: np.max(x + 1j * x**2, axis=1).imag,
    lambda np, x: np.sort(np.round(x) + 1j * x**2, axis=0).imag,
    lambda np, x: np.minimum(x**2 + 1j * x, x[0] + 1j).real,
]


@MODES
@pytest.mark.parametrize("f", SLOPES, ids=range(len(SLOPES)))
def test_gradients_are_those_of_differences(f, mode):
    require_slopes(f, mode)


def test_tensors_themselves_have_no_order_of_complex_numbers():
    with pytest.raises(tf.DtypeError, match="no order"):
        tf.maximum(NUMBERS, NUMBERS)
