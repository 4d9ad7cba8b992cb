"""``x.at[index]`` with positions that an axis does not have: the nearest one, none, or an element of its own."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

X = np.arange(12.0).reshape(3, 4) + 0.5
MODES = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])

I, J = np.array([-9, -3, -1, 0, 2, 3, 7]), np.array([0, 5, -4, -5, 3, 1, 9])
ROWS = np.where(I < 0, I + 3, I)
COLUMNS = np.where(J < 0, J + 4, J)
THERE = (ROWS >= 0) & (ROWS < 3)
BOTH = THERE & (COLUMNS >= 0) & (COLUMNS < 4)


def called(mode, f, given):
    """`f` of X and the positions, which a compiled function knows or computes."""
    if given == "computed":
        return mode(lambda x, i, j: f(x, i, j))(*map(tf.constant, (X, I, J)))
    return mode(lambda x: f(x, I, J))(tf.constant(X))


@MODES
@pytest.mark.parametrize("given", ["known", "computed"])
def test_what_is_not_there_is_the_nearest_or_filled(mode, given):
    of = lambda f: called(mode, f, given)
    nearest = X[np.clip(ROWS, 0, 2)]
    np.testing.assert_array_equal(of(lambda x, i, j: x.at[i].get(mode="clip")), nearest)
    wanted = np.where(THERE[:, None], nearest, np.nan)
    np.testing.assert_array_equal(of(lambda x, i, j: x.at[i].get(mode="fill")), wanted)
    pairs = np.where(BOTH, X[np.clip(ROWS, 0, 2), np.clip(COLUMNS, 0, 3)], -1.0)
    np.testing.assert_array_equal(of(lambda x, i, j: x.at[i, j].get(fill_value=-1.0)), pairs)
    np.testing.assert_array_equal(
        of(lambda x, i, j: x.at[1:, j].get(mode="clip")), X[1:, np.clip(COLUMNS, 0, 3)]
    )


@MODES
@pytest.mark.parametrize("given", ["known", "computed"])
def test_what_is_not_there_is_not_written_to(mode, given):
    of = lambda f: called(mode, f, given)
    values = np.arange(7.0)
    wanted = X.copy()
    np.add.at(wanted, (ROWS[BOTH], COLUMNS[BOTH]), values[BOTH])
    np.testing.assert_array_equal(of(lambda x, i, j: x.at[i, j].add(values, mode="drop")), wanted)
    wanted = X.copy()
    wanted[ROWS[THERE]] = values[THERE, None]
    np.testing.assert_array_equal(of(lambda x, i, j: x.at[i].set(values[:, None], mode="fill")), wanted)
    wanted = X.copy()
    np.maximum.at(wanted, np.clip(ROWS, 0, 2), 6.0)
    np.testing.assert_array_equal(of(lambda x, i, j: x.at[i].max(6.0, mode="clip")), wanted)


@MODES
def test_a_plain_integer_drops_its_axis(mode):
    of = lambda f: mode(f)(tf.constant(X)).numpy().tolist()
    assert of(lambda x: x.at[9].get(mode="clip")) == X[2].tolist()
    assert np.isnan(of(lambda x: x.at[-4].get(mode="fill"))).tolist() == [True] * 4
    assert of(lambda x: x.at[9, 1].set(0.0, mode="drop")) == X.tolist()
    assert of(lambda x: x.at[1, -9].multiply(2.0, mode="clip")) == (X * np.where(X == 4.5, 2, 1)).tolist()
    assert of(lambda x: x.at[..., 9].apply(lambda v: -v, mode="drop")) == X.tolist()
    assert of(lambda x: x.at[None, 1].get(mode="promise_in_bounds")) == X[None, 1].tolist()


def test_fills_of_each_dtype():
    filled = lambda dtype: tf.constant([1], dtype).at[[5]].get(mode="fill").numpy().tolist()[0]
    assert (filled("int8"), filled("uint8"), filled("bool")) == (-128, 255, True)
    assert np.isnan(filled("float32"))


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: tf.constant(X).at[3].get(), IndexError),
        (lambda: tf.constant(X).at[[3]].set(1.0), IndexError),
        (lambda: tf.constant(X).at[[3]].add(1.0, mode="promise_in_bounds"), IndexError),
        (lambda: tf.constant(X).at[0].set(1.0, mode="wrap"), ValueError),
        (lambda: tf.constant(X).at[0].get(mode="nearest"), ValueError),
    ],
    ids=range(5),
)
def test_other_modes_and_no_mode_are_refused_at_the_users_line(call, kind):
    with pytest.raises(kind) as error:
        call()
    assert "test_positions_beyond.py" in str(error.value)


@MODES
def test_gradients_leave_out_what_is_not_there(mode):
    loss = lambda x: tf.reduce_sum(x.at[I].get(mode="fill", fill_value=2.0) ** 3)
    counts = np.bincount(ROWS[THERE], minlength=3)[:, None]
    np.testing.assert_allclose(mode(tf.grad(loss))(tf.constant(X)), 3 * X**2 * counts)
    second = mode(tf.grad(lambda x: tf.reduce_sum(tf.grad(loss)(x))))(tf.constant(X))
    np.testing.assert_allclose(second, 6 * X * counts)
    written = lambda v: tf.reduce_sum(tf.constant(X).at[I].add(v[:, None] ** 2, mode="drop") ** 2)
    v = np.linspace(0.1, 0.7, 7)
    total = X.copy()
    np.add.at(total, ROWS[THERE], (v[THERE] ** 2)[:, None])
    slope = np.zeros(7)
    slope[THERE] = 2 * v[THERE] * (2 * total[ROWS[THERE]]).sum(axis=1)
    np.testing.assert_allclose(mode(tf.grad(written))(tf.constant(v)), slope)
