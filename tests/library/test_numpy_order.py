"""Programs for NumPy that write to another shape of an array: whether that is a view hangs on the order in memory."""

import numpy as np
import pytest

import tracejit as tj
from tracejit.core.errors import Untraceable

GIVEN = np.array([[0.3, 1.7, 0.4], [2.2, 0.9, 1.6]])


def in_a_row(x):
    y = x * 1.0
    row = y.ravel()
    row[1] = 9.0
    return np.sum(y**3)


def in_a_row_by_a_function(x):
    row = np.ravel(x)
    row[1] = 9.0
    return np.sum(x**3)


def reshaped(x):
    y = x * 1.0
    row = y.reshape(-1)
    row[1] = 9.0
    return np.sum(y**3)


def turned_and_reshaped(x):
    y = x * 1.0
    row = y.T.reshape(3, 2)
    row[1] = 9.0
    return np.sum(y**3)


def every_second_in_a_row(x):
    y = x[0] * 1.0
    row = y[::2].ravel()
    row[1] = 9.0
    return np.sum(y**3)


def backwards_in_a_row(x):
    y = x[0] * 1.0
    row = y[::-1].ravel()
    row[1] = 9.0
    return np.sum(y**3)


def a_row_in_a_row(x):
    row = x[0].ravel()
    row[1] = 9.0
    return np.sum(x**3)


def a_column_in_a_row(x):
    y = np.zeros((2, 3))
    y[...] = x
    row = y[:, 0].ravel()
    row[1] = 9.0
    return np.sum(y**3)


def a_row_that_is_folded(x):
    y = x[0] * 1.0
    folded = y.reshape(3, 1)
    folded[1] = 9.0
    return np.sum(y**3)


def made_here(x):
    y = np.zeros((2, 3))
    y[...] = x
    row = y.ravel()
    row[1] = 9.0
    return np.sum(y**3)


CAPTURED = np.asfortranarray(GIVEN)


def computed_of_what_is_captured(x):
    y = CAPTURED * x[0]
    row = y.ravel()
    row[1] = 9.0
    return np.sum(y**3)


def made_in_another_order(x):
    y = np.zeros((2, 3), order="F")
    y[...] = x
    row = y.ravel()
    row[1] = 9.0
    return np.sum(y**3)


def made_and_turned(x):
    y = np.zeros((3, 2)).T
    y[...] = x
    row = y.ravel()
    row[1] = 9.0
    return np.sum(y**3)


def in_c_order(x):
    y = x * 1.0
    same = np.ascontiguousarray(y)
    same[0, 1] = 9.0
    return np.sum(y**3)


def in_fortran_order(x):
    y = x * 1.0
    same = np.asfortranarray(y)
    same[0, 1] = 9.0
    return np.sum(y**3)


def without_nan(x):
    y = np.where(x > 2.0, np.nan, x)
    np.nan_to_num(y, copy=False, nan=0.5)
    return np.sum(y**3)


def a_part_without_nan(x):
    y = np.where(x > 0.5, np.nan, x)
    part = y[0]
    part = np.nan_to_num(part, copy=False)
    return np.sum(np.where(y > 0.0, y, 2.0) ** 3) + np.sum(part)


ORDERS = {
    "C": lambda: GIVEN.copy(),
    "Fortran": lambda: np.asfortranarray(GIVEN),
    "every second": lambda: np.repeat(GIVEN, 2, axis=1)[:, ::2],
    "backwards": lambda: GIVEN[::-1, ::-1].copy()[::-1, ::-1],
}
MODES = {
    "function": lambda f: tj.function(f),
    "grad": lambda f: tj.grad(f),
    "compiled grad": lambda f: tj.function(tj.grad(f)),
    "vmap": lambda f: lambda x: tj.vmap(f)(x[None])[0],
}
ALL = [
    *(in_a_row, in_a_row_by_a_function, reshaped, turned_and_reshaped, every_second_in_a_row),
    *(backwards_in_a_row, a_row_in_a_row, a_column_in_a_row, a_row_that_is_folded, made_here),
    *(computed_of_what_is_captured, made_in_another_order, made_and_turned, without_nan, a_part_without_nan),
    *(in_c_order, in_fortran_order),
]
#: Whatever order the argument has, this is known, compiled.
RIGHT = [a_row_that_is_folded, made_here, without_nan, a_part_without_nan]


def expected(f, made, mode):
    if "grad" not in mode:
        return f(made())
    slope = np.zeros(GIVEN.shape)
    for place in np.ndindex(*GIVEN.shape):
        above, below = made(), made()
        above[place] += 1e-6
        below[place] -= 1e-6
        slope[place] = (f(above) - f(below)) / 2e-6
    return slope


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", ALL)
def test_another_shape_is_a_view_as_in_numpy_or_refused(f, mode, order):
    made = ORDERS[order]
    try:
        found = MODES[mode](f)(made())
    except (Untraceable, tj.errors.GradientError) as error:
        assert not (f in RIGHT and mode in ("function", "compiled grad")), error
        assert "copy" in str(error) or "is taken out here" in str(error)
        return
    np.testing.assert_allclose(found, expected(f, made, mode), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("f", RIGHT)
def test_a_trace_serves_arrays_of_every_order(f):
    compiled = tj.function(f)
    for made in ORDERS.values():
        np.testing.assert_allclose(compiled(made()), f(made()), rtol=1e-12)
    assert compiled.experimental_get_tracing_count() <= 3


@pytest.mark.parametrize("f", RIGHT)
def test_second_derivatives(f):
    slope = tj.function(tj.grad(f))
    weights = np.arange(1.0, 7.0).reshape(GIVEN.shape)
    second = tj.function(tj.grad(lambda x: tj.reduce_sum(tj.grad(f)(x) * weights)))(GIVEN)
    for place in np.ndindex(*GIVEN.shape):
        above, below = GIVEN.copy(), GIVEN.copy()
        above[place] += 1e-6
        below[place] -= 1e-6
        wanted = (np.sum(weights * slope(above)) - np.sum(weights * slope(below))) / 2e-6
        np.testing.assert_allclose(second.numpy()[place], wanted, rtol=1e-5, atol=1e-5)
