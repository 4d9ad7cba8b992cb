"""Functions written for NumPy alone, differentiated and compiled as they are: right, or refused by name."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tracejit as tj
from checks.numpy_programs import PROGRAMS
from tracejit.core.errors import GradientError, SymbolicValue, TracejitError, Untraceable


def differences(f, x, step=1e-6):
    """The gradient of `f` at `x`, by central differences of NumPy alone."""
    slopes = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        ahead, behind = x.copy(), x.copy()
        ahead[i] += step
        behind[i] -= step
        slopes[i] = (f(ahead) - f(behind)) / (2 * step)
    return slopes


def direction(x):
    return np.cos(np.arange(x.size)).reshape(x.shape)


MODES = {
    "grad": lambda f, x: tj.grad(f)(x),
    "jvp": lambda f, x: tj.jvp(f, (x,), (direction(x),))[1],
    "function": lambda f, x: tj.function(f)(x),
    "both": lambda f, x: tj.function(tj.grad(f))(x),
}
TRUTH = {
    "grad": differences,
    "jvp": lambda f, x: np.sum(differences(f, x) * direction(x)),
    "function": lambda f, x: f(x),
    "both": differences,
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_for_numpy_runs_unchanged(name, mode):
    f, x = PROGRAMS[name]
    given = x.copy()
    found, truth = MODES[mode](f, given), TRUTH[mode](f, x.copy())
    np.testing.assert_array_equal(given, x)
    assert found.dtype == np.float64 and found.shape == np.shape(truth)
    np.testing.assert_allclose(found, truth, rtol=1e-6, atol=1e-6 * (1 + np.max(np.abs(truth))))


def test_there_are_many():
    assert len(PROGRAMS) == 61


# Arrays that are known elsewhere


def two_names(x):
    y = np.zeros(3)
    z = y
    y[0] = x
    return np.sum(z)


def a_row_before(x):
    y = np.zeros((3, 2))
    row = y[0]
    y[0] = x
    return np.sum(row)


def a_part_that_is_filled(x):
    y = np.zeros((3, 2))
    row = y[0]
    row[1] = x
    return np.sum(y)


def another_name_later(x):
    y = np.zeros(3)
    y[0] = x
    z = y
    z[1] = x
    return np.sum(y)


def a_row_that_is_filled_later(x):
    y = np.zeros((3, 3))
    y[0, 0] = x
    row = y[1]
    row[0] = x
    return np.sum(y)


def a_view_that_is_scaled(x):
    y = np.zeros((2, 3))
    y[0, 0] = x
    flat = y.ravel()
    flat *= 2.0
    return np.sum(y)


def rows_in_a_loop(x):
    y = np.zeros((2, 3))
    y[0, 0] = x
    for i, row in enumerate(y):
        row[i] += x
    return np.sum(y)


def kept_in_a_list(x):
    y, history = np.zeros(3), []
    for i in range(3):
        y[i] = x
        history.append(y)
    return np.sum(history[0])


def in_a_list(x):
    y = np.zeros(3)
    history = []
    for i in range(3):
        history.append(y)
        y[i] = x
    return np.sum(history[0])


def fill(y, x):
    y[0] = x


def by_another_function(x):
    y = np.zeros(3)
    fill(y, x)
    return np.sum(y)


BUFFER = np.zeros(3)


def by_a_function_under_another_name(x):
    def fill_other(y):
        z = y
        del y
        z[0] = x

    y = np.zeros(3)
    fill_other(y)
    return np.sum(y)


def by_a_function_that_is_handed_it(x):
    def hand_on(y):
        fill(y if y is not None else 0, (y := x))

    y = np.zeros(3)
    hand_on(y)
    return np.sum(y)


def of_the_module(x):
    BUFFER[0] = x
    return np.sum(BUFFER)


def in_a_dictionary(x):
    d = {"k": np.zeros(3)}
    d["k"][0] = x
    return np.sum(d["k"])


def memory_that_is_shared(x):
    y = np.arange(4.0).reshape(2, 2)
    flat = y.ravel()
    y[0, 1] = x
    return np.sum(flat)


KNOWN_ELSEWHERE = [
    two_names, a_row_before, a_part_that_is_filled, a_row_that_is_filled_later, in_a_list, by_another_function,
    in_a_dictionary, by_a_function_under_another_name, by_a_function_that_is_handed_it, memory_that_is_shared,
    rows_in_a_loop, a_view_that_is_scaled,
]  # fmt: skip
NEVER = [of_the_module]


@pytest.mark.parametrize("f", [*KNOWN_ELSEWHERE, *NEVER])
def test_an_array_that_is_known_elsewhere_holds_no_tensor_eagerly(f):
    with pytest.raises((SymbolicValue, GradientError, TypeError)):
        tj.grad(f)(np.float64(1.5))
    BUFFER[:] = 0


@pytest.mark.parametrize("f", NEVER)
def test_an_array_that_cannot_be_a_tensor_holds_none(f):
    for transform in (tj.function, lambda f: tj.function(tj.grad(f))):
        with pytest.raises((Untraceable, GradientError, TypeError)):
            transform(f)(np.float64(1.5))
    assert not BUFFER.any()


@pytest.mark.parametrize("f", KNOWN_ELSEWHERE)
def test_an_array_that_is_known_elsewhere_is_a_tensor_in_compiled_code(f):
    x = np.float64(1.5)
    assert float(tj.function(f)(x)) == f(x)
    np.testing.assert_allclose(tj.function(tj.grad(f))(x), (f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rtol=1e-8)


@pytest.mark.parametrize("f", [another_name_later, kept_in_a_list])
def test_names_and_lists_see_what_an_array_holds_that_was_filled_before(f):
    x = np.float64(1.5)
    slope = f(x) / x
    assert float(tj.function(f)(x)) == f(x)
    assert float(tj.grad(f)(x)) == float(tj.function(tj.grad(f))(x)) == slope
    assert float(tj.jvp(f, (x,), (np.float64(1.0),))[1]) == slope


# Arrays that are made of tensors and filled with them


def held_by_an_object(x):
    class State:
        pass

    s = State()
    s.y = np.zeros(3)
    s.y[0] = x
    s.y[1:] += x**2
    return np.sum(s.y**2)


def from_a_list(x):
    y = [0.0, 0.0, x]
    y = np.array(y)
    y[1] = x**2
    y[::2] *= 3
    return np.sum(y**2)


def rows_of_lists(x):
    y = np.zeros((2, 3))
    y[:, 1:] = [[x, 2 * x], [1.0, x**3]]
    return np.prod(y[:, 1:]) + np.sum(np.asarray([[x, 1.0], [2.0, x]], dtype=np.float64) ** 2)


def whole_numbers(x):
    y = np.zeros(3, dtype=int)
    y[0] = x * 2
    return y[0] * x


def seen_by_an_inner_function(x):
    y = np.zeros(3)

    def total():
        return np.sum(y**2)

    y[0] = x
    y[1] = total()
    return total()


MADE = [held_by_an_object, from_a_list, rows_of_lists, whole_numbers, seen_by_an_inner_function]


@pytest.mark.parametrize("f", MADE)
def test_arrays_hold_tensors(f):
    x = np.float64(1.6)
    slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
    curvature = (f(x + 1e-4) - 2 * f(x) + f(x - 1e-4)) / 1e-8
    for wrapped in (lambda g: g, tj.function):
        np.testing.assert_allclose(wrapped(f)(x), f(x), rtol=1e-12)
        np.testing.assert_allclose(wrapped(tj.grad(f))(x), slope, rtol=1e-6)
        np.testing.assert_allclose(wrapped(tj.grad(tj.grad(f)))(x), curvature, rtol=1e-4, atol=1e-5)


def test_a_helper_that_fills_is_found_through_calls():
    def filled(x):
        y = np.zeros(2)
        y[0] = x
        return y

    def outer(x):
        return np.sum(filled(x) ** 2)

    assert float(tj.grad(outer)(np.float64(3.0))) == 6.0
    assert [float(g) for g in tj.gradients_function(outer)(np.float64(3.0))] == [6.0]
    np.testing.assert_allclose(tj.vmap(outer)(np.array([1.0, 2.0])), [1.0, 4.0])


def test_complex_numbers_do_not_enter_an_array_of_floats():
    def f(x):
        y = np.zeros(2)
        y[0] = x * 1j
        return np.sum(y)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for transform in (tj.function, tj.grad):
            with pytest.raises((TypeError, ValueError, TracejitError, np.exceptions.ComplexWarning)):
                transform(f)(np.float64(1.0))


# Parts of what is a tensor, and other names of it


def rows_that_are_scaled(x):
    y = x * 1.0
    for row in y:
        row /= row.sum()
    return np.sum(y**2)


def a_row_that_is_subtracted_from(x):
    y = x.copy()
    row = y[1]
    row -= y[0]
    return np.sum(y**2)


def a_row_that_is_written_to(x):
    y = x.copy()
    row = y[1]
    row[0] = 5.0
    return np.sum(y**2)


def another_shape_that_is_written_to(x):
    y = np.concatenate([x[0], x[1]])
    folded = y.reshape(2, -1)
    folded[1] += x[0, 0] * x[2]
    return np.sum(y**2)


def a_block_that_is_added_to(x):
    y = x.copy()
    block = y[1:, 1:]
    block += x[:2, :2]
    return np.sum(y**2)


def the_transposed_that_is_scaled(x):
    y = x.copy()
    turned = y.T
    turned[0] *= 2.0
    return np.sum(y**2)


WRITTEN_AS_PARTS = [
    rows_that_are_scaled, a_row_that_is_subtracted_from, a_row_that_is_written_to, another_shape_that_is_written_to,
    a_block_that_is_added_to, the_transposed_that_is_scaled,
]  # fmt: skip
SQUARE = np.arange(1.0, 10.0).reshape(3, 3) / 5


def rows_of_a_tuple(x):
    y = x.copy()
    rows = tuple(y)
    rows[0][:] = rows[1] * rows[2]
    return np.sum(y**2)


def filled_and_put(x):
    y = x.copy()
    y[0].fill(x[1, 1])
    y[1].put([0, 2], [x[0, 0], 2.0])
    return np.sum(y**3)


def partitioned(x):
    y = np.sin(3.0 * x)
    y[1].partition(1)
    return np.sum(y[:, 1] ** 3)


def written_by_number(x):
    y = x.copy()
    for i, row in enumerate(y):
        row *= i + y[0, 0]
    return np.sum(y**2)


def columns_that_step(x):
    y = x.copy()
    place, speed = y[:, 0], y[:, 1]
    for _ in range(3):
        speed -= 0.1 * place
        place += 0.1 * speed
    return np.sum(y**2)


def neighbours(x):
    y = x.copy()
    middle, left, right = y[1:-1], y[:-2], y[2:]
    for _ in range(2):
        middle[...] = 0.5 * (left + right) * middle
    return np.sum(y**2)


WRITTEN_AS_PARTS += [
    rows_of_a_tuple,
    filled_and_put,
    partitioned,
    written_by_number,
    columns_that_step,
    neighbours,
]


@pytest.mark.parametrize("f", WRITTEN_AS_PARTS)
def test_who_reads_the_whole_after_a_part_was_written_to_sees_that(f):
    check_with_numpy(f)


def check_with_numpy(f, x=SQUARE):
    """Values and first derivatives are NumPy's, second ones differences of the first, in each mode."""
    want, slope = f(x.copy()), differences(f, x.copy())
    for value in (tj.function(f)(x), tj.value_and_grad(f)(x)[0], tj.vmap(f)(x[None])[0]):
        np.testing.assert_allclose(value, want, rtol=1e-12)
    for gradient in (tj.grad(f), tj.function(tj.grad(f))):
        np.testing.assert_allclose(gradient(x), slope, rtol=1e-5, atol=1e-7)

        def along(x, gradient=gradient):
            return float(tj.reduce_sum(gradient(x) * WEIGHTS[: x.shape[0], : x.shape[1]]))

        def scalar(x, gradient=gradient):
            return tj.reduce_sum(gradient(x) * WEIGHTS[: x.shape[0], : x.shape[1]])

        np.testing.assert_allclose(tj.grad(scalar)(x), differences(along, x.copy()), rtol=1e-5, atol=1e-6)


WEIGHTS = np.random.RandomState(0).rand(8, 8)


def another_name(x):
    y = x.copy()
    z = y
    y += 1.0
    return np.sum(z**2)


def a_part_alone(x):
    row = x[1]
    row -= x[0]
    return np.sum(row**2)


def scaled_in_a_function(x):
    def scale(v):
        v *= np.float64(2.0)

    y = x.copy()
    scale(y)
    return np.sum(y**2)


def a_part_that_is_computed_anew(x):
    total = 0.0
    for row in x:
        row = row - row.mean()
        row /= 2.0
        total += np.sum(row**2)
    return total + np.sum(x)


@pytest.mark.parametrize(
    "f", [another_name, a_part_alone, scaled_in_a_function, a_part_that_is_computed_anew]
)
def test_other_names_see_what_is_added_in_place(f):
    slope = differences(f, SQUARE.copy())
    np.testing.assert_allclose(tj.function(f)(SQUARE), f(SQUARE.copy()))
    for gradient in (tj.grad(f), tj.function(tj.grad(f))):
        np.testing.assert_allclose(gradient(SQUARE), slope, rtol=1e-6, atol=1e-8)


def test_tensors_of_programs_for_other_libraries_are_values():
    def program(x):
        y = z = x * 2.0
        row = y[0]
        y += tj.constant(1.0, y.dtype)
        row += 5.0
        return tj.reduce_sum(z)

    for transform in (lambda f: f, tj.function):
        assert float(transform(program)(tj.constant(SQUARE))) == pytest.approx(18.0)
