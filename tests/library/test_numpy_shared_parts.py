"""Programs for NumPy whose arrays share memory through objects: what they compute is NumPy's, or they are refused."""

import operator
from collections import deque

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tracejit.core.errors import Untraceable

GIVEN = np.array([[0.3, 1.7], [2.2, 0.9], [1.1, 0.6]])


class Holder:
    """Something with attributes."""

    def __init__(self, a):
        self.data = a * 1.0
        self.inner = self.data[1:]

    def step(self, v):
        self.inner *= v


def scale(v, by):
    v *= by


def rows_in_a_list(a):
    y = a * 1.0
    rows = list(y)
    rows[0] -= 2.0 * y[1]
    return np.sum(y**2)


def views_in_a_dict(a):
    y = a * 1.0
    d = {"top": y[0], "rest": y[1:]}
    d["rest"][0] = d["top"] * 2.0
    return np.sum(y**2)


def a_view_as_an_attribute(a):
    holder = Holder(a)
    holder.step(3.0)
    return np.sum(holder.data**2)


def what_a_split_gives(a):
    y = a * 1.0
    first, second, _ = np.split(y, 3)
    first += 2.0 * second
    return np.sum(y**2)


def a_row_that_is_given_away(a):
    y = a * 1.0
    scale(y[0], 2.0)
    return np.sum(y**2)


def rows_that_a_generator_gives(a):
    y = a * 1.0
    for row in (y[i] for i in range(3)):
        row *= 2.0
    return np.sum(y**2)


def the_next_row(a):
    y = a * 1.0
    rows = iter(y)
    row = next(rows)
    row += next(rows)
    return np.sum(y**2)


def rows_in_a_queue(a):
    y = a * 1.0
    rows = deque(y)
    rows[0] += rows[1]
    return np.sum(y**2)


def the_same_memory_by_another_function(a):
    y = a * 1.0
    z = np.asarray(y)
    z[0] = y[1] * 2.0
    return np.sum(y**2)


def axes_that_are_moved(a):
    y = a * 1.0
    turned = np.moveaxis(y, 0, 1)
    turned *= y[2, 1]
    return np.sum(y**2)


def what_is_copied_into_a_row(a):
    y = a * 1.0
    np.copyto(y[0], y[1])
    return np.sum(y**2)


def an_operator_as_a_function(a):
    y = a * 1.0
    operator.iadd(y[0], y[1])
    return np.sum(y**2)


def a_row_that_is_sorted(a):
    y = a * 1.0
    y[0].sort()
    return np.sum(y[0] ** 2 * [1.0, 2.0])


def a_part_that_is_read_later(a):
    y = a * 1.0
    held = {"row": y[1]}
    y[1] = y[0] * 3.0
    return np.sum(held["row"] ** 2)


def an_attribute_that_is_added_to(a):
    holder = Holder(a)
    before = holder.data
    holder.data += 1.0
    return np.sum(before**2)


def rows_that_change_places(a):
    y = a * 1.0
    y[0], y[1] = y[1], y[0]
    return np.sum(y[0] ** 3) + 2.0 * np.sum(y[1] ** 2)


def one_of_two_rows(a):
    y = a * 1.0
    row = y[0] if y[0, 0] > 0.0 else y[1]
    row += y[2]
    return np.sum(y**2)


def a_view_that_a_loop_changes(a):
    y = a * 1.0
    held = [y[0]]
    while np.sum(held[0]) < 30.0:
        held[0] *= 1.5
    return np.sum(y**2)


def the_whole_that_a_loop_reads(a):
    y = a * 1.0
    held = [y[0]]
    while np.sum(y) < 30.0:
        held[0] += 1.0
        y = y + np.sum(y[0])
    return np.sum(y)


def one_that_a_branch_leaves_outdated(a):
    y = a * 1.0
    row, z = y[0], a * 2.0
    if np.sum(a) > 1.0:
        row += 1.0
        z = y
    return np.sum(z**2)


def parts_that_change_from_one_iteration_to_the_next(a):
    y, p, k = a * 1.0, a[0] * 1.0, 0
    while k < 3 and np.sum(a) > 0.0:
        p += 1.0
        total = np.sum(y)
        p = y[0]
        k += 1
    return total


def a_method_that_adds(a):
    y = a * 1.0
    y[0].__iadd__(y[1])
    return np.sum(y**2)


def the_imaginary_part(a):
    z = a * (1.0 + 2.0j)
    imaginary = z.imag
    imaginary[:] = a * a
    return np.sum(z.real**2 + z.imag**2)


SHARING = [
    rows_in_a_list, views_in_a_dict, a_view_as_an_attribute, what_a_split_gives, a_row_that_is_given_away,
    rows_that_a_generator_gives, the_next_row, rows_in_a_queue, the_same_memory_by_another_function,
    axes_that_are_moved, what_is_copied_into_a_row, an_operator_as_a_function, a_row_that_is_sorted,
    a_part_that_is_read_later, an_attribute_that_is_added_to, rows_that_change_places, one_of_two_rows,
    a_view_that_a_loop_changes, the_whole_that_a_loop_reads, the_imaginary_part, a_method_that_adds,
]  # fmt: skip


def places_and_speeds(a):
    state = a.ravel() * 1.0
    place, speed = state[:3], state[3:]
    for _ in range(3):
        place += speed * 0.1
        speed -= place * 0.2
    return np.sum(np.concatenate([place, speed]) ** 2)


def rows_of_their_own(a):
    y = a * 1.0
    rows = list(y)
    rows[0] -= rows[1]
    rows[2] += rows[0]
    return np.sum(rows[0] * rows[1] * rows[2])


def copies(a):
    y = a * 1.0
    held = {"before": y.copy(), "flat": y.flatten(), "made": np.array(y)}
    y[0] = 3.0
    y *= held["before"]
    held["made"] *= 2.0
    return np.sum(y**2) + np.sum(held["before"] * held["made"]) + np.sum(held["flat"] ** 2)


def numbers_are_copies(a):
    y = a[0] * 1.0
    held = [y[0], y[1]]
    y[0], y[1] = held[1] * 2.0, held[0]
    return np.sum(y**2) + held[0]


def an_array_that_is_sorted(a):
    y = a[:, 0].copy()
    y.sort()
    return y[0] * 2.0 + y[1]


def both_sides_of_a_branch(a):
    y = a * 1.0
    if np.sum(y) > 1.0:
        y[0] = 3.0 * y[1]
    else:
        y += 1.0
    return np.sum(y**2)


def a_loop_that_writes(a):
    y = a * 1.0
    while np.sum(y) < 50.0:
        y += 0.5 * y
        y[0] = y[1]
    return np.sum(y**2)


def rows_beside_what_is_written(a):
    y = a * 1.0
    held = [y[0], y[1]]
    y[2] = held[0] * 2.0
    if np.sum(y) > 1.0:
        y[2] += held[1]
    return np.sum(y**2) + np.sum(held[0] * held[1])


def a_helper_with_a_copy(a):
    def step(x, v):
        x = x.copy()
        x += v
        return x

    x = a[0]
    for _ in range(3):
        x = step(x, a[1])
    return np.sum(x**2) + np.sum(a)


APART = [
    places_and_speeds, rows_of_their_own, copies, numbers_are_copies, an_array_that_is_sorted, both_sides_of_a_branch,
    a_loop_that_writes, a_helper_with_a_copy, rows_beside_what_is_written,
]  # fmt: skip


def _differences(f):
    gradient = np.zeros_like(GIVEN)
    for i in np.ndindex(GIVEN.shape):
        step = np.zeros_like(GIVEN)
        step[i] = 1e-6
        gradient[i] = (f(GIVEN + step) - f(GIVEN - step)) / 2e-6
    return gradient


MODES = {
    "grad": (tj.grad, _differences),
    "grad in a function": (lambda f: tj.function(tj.grad(f)), _differences),
    "function": (tj.function, lambda f: f(GIVEN.copy())),
    "vmap": (lambda f: lambda a: tj.vmap(f)(tj.constant(np.stack([a, a])))[1], lambda f: f(GIVEN.copy())),
}


#: Where only the running program knows, or nobody knows what is meant, as the module names both libraries.
TRACED = frozenset(MODES) - {"grad"}
REFUSED = {
    a_view_as_an_attribute: frozenset(MODES),
    rows_that_a_generator_gives: frozenset(MODES),
    a_method_that_adds: frozenset(MODES),
    a_row_that_is_given_away: frozenset(["grad"]),
    one_of_two_rows: TRACED,
    a_view_that_a_loop_changes: TRACED,
    the_whole_that_a_loop_reads: TRACED,
    parts_that_change_from_one_iteration_to_the_next: TRACED,
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [*SHARING, one_that_a_branch_leaves_outdated, *REFUSED])
def test_what_shares_memory_is_seen_or_refused(f, mode):
    transform, wanted = MODES[mode]
    if mode in REFUSED.get(f, ()):
        with pytest.raises(Untraceable, match=r"NumPy sh|NumPy would|in NumPy"):
            transform(f)(GIVEN.copy())
    else:
        np.testing.assert_allclose(transform(f)(GIVEN.copy()), wanted(f), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("f", [f for f in SHARING if f not in REFUSED and f is not a_row_that_is_sorted])
def test_second_derivatives_of_what_shares_memory(f):
    weights = np.cos(np.arange(6.0)).reshape(3, 2)
    for gradient in (tj.grad(f), tj.function(tj.grad(f))):
        found = tj.grad(lambda a, gradient=gradient: tj.reduce_sum(gradient(a) * weights))(GIVEN.copy())
        wanted = _differences(lambda a, gradient=gradient: np.sum(np.asarray(gradient(a)) * weights))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", APART)
def test_what_is_apart_is_computed(f, mode):
    transform, wanted = MODES[mode]
    np.testing.assert_allclose(transform(f)(GIVEN.copy()), wanted(f), rtol=1e-6, atol=1e-6)


def test_a_part_is_not_written_to_eagerly():
    def program(y):
        row = y[0]
        row[1] = 5.0
        return np.shape(row)

    def with_a_copy(y):
        row = y[0].copy()
        row[1] = 5.0
        return float(row[1]), np.shape(y)

    with pytest.raises(TypeError, match="a part of a tensor"):
        program(tj.constant(GIVEN))
    assert with_a_copy(tj.constant(GIVEN))[0] == 5.0


MADE = {
    "full": lambda lib, v: lib.full((2, 2), v[1]),
    "full_like": lambda lib, v: lib.full_like(v, v[1]),
    "tile": lambda lib, v: lib.tile(v, (2, 1)),
    "tile once": lambda lib, v: lib.tile(v, 1),
    "repeat": lambda lib, v: lib.repeat(v, 1),
    "roll": lambda lib, v: lib.roll(v, 0),
    "roll along": lambda lib, v: lib.roll(v, 0, 0),
    "meshgrid": lambda lib, v: lib.meshgrid(v, v)[1],
    "sparse meshgrid": lambda lib, v: lib.meshgrid(v, v, sparse=True)[0],
    "prod": lambda lib, v: lib.prod(v[None], axis=0),
    "linspace": lambda lib, v: lib.linspace(v, v, 1),
}


@pytest.mark.parametrize("name", MADE)
def test_arrays_that_numpy_makes_anew_are_written_to(name):
    def program(lib, v):  # names no library
        new = MADE[name](lib, v)
        new[0:1] = 5.0
        return np.asarray(new), np.asarray(v)

    for got, wanted in zip(program(tnp, tj.constant(GIVEN[0])), program(np, GIVEN[0].copy()), strict=True):
        np.testing.assert_array_equal(got, wanted)
    compiled = tj.function(lambda v: MADE[name](tnp, v))(GIVEN[0])
    np.testing.assert_array_equal(compiled, MADE[name](np, GIVEN[0]))
    slopes = tj.grad(lambda v: tnp.sum(MADE[name](tnp, v)))(np.ones(2))
    np.testing.assert_allclose(slopes.numpy().sum(), compiled.numpy().size)


def test_tensors_of_programs_for_this_package_are_values():
    @tj.grad
    def parts(x):
        y = tj.identity(x)
        rows = list(y)
        rows[0] -= y[1]
        return tj.reduce_sum(y**2)

    np.testing.assert_allclose(parts(GIVEN), 2.0 * GIVEN)
