"""``tracejit.numpy`` against NumPy: functions that write, which return what they changed; numbers beyond the end."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp
from checks.numpy_expressions import MODES, VALUES, require_numpys_value, require_slopes

F, I, V, M = (VALUES[name] for name in "FIVM")

WRITTEN = {
    "put": ("put", F, ([1, -1, 3], [7.0, 8.0]), {}),
    "put, wrapped": ("put", I, ([[1, 15], [-9, 0]], 3.5), {"mode": "wrap"}),
    "put, clipped": ("put", F, ([-3, 15], [1, 2]), {"mode": "clip"}),
    "put none": ("put", F, ([], 3.0), {}),
    "the last of equal numbers": ("put", F, ([2, 2], [1.0, 5.0]), {}),
    "place": ("place", F, (F > 0, [7.0, 8.0, 9.0]), {}),
    "place few": ("place", I, (I % 2, [[7.5]]), {}),
    "place nowhere": ("place", F, (F > 99, 1.0), {}),
    "rows": ("put_along_axis", F, (np.array([[1, 2], [0, -1]]), [5.0, 6.0], 1), {}),
    "columns": ("put_along_axis", I, (np.array([[1, 0, -2]]), 9.5, 0), {}),
    "all in a row": ("put_along_axis", M, (np.array([11, 3]), [1.0, 2.0], None), {}),
    "diagonal": ("fill_diagonal", F, ([1.0, 2.0, 3.0],), {}),
    "tall": ("fill_diagonal", F.T, (5.0,), {}),
    "wrapped": ("fill_diagonal", np.zeros((7, 2)), ([[1.0], [2.0]],), {"wrap": True}),
    "cube": ("fill_diagonal", np.zeros((3, 3, 3), np.int8), ([3, 4],), {}),
}


@MODES
@pytest.mark.parametrize("case", WRITTEN)
def test_what_numpy_writes_is_in_the_copy(mode, case):
    name, x, args, options = WRITTEN[case]
    wanted = x.copy()
    getattr(np, name)(wanted, *args, **options)
    found = mode(lambda x: getattr(tnp, name)(x, *args, **options, inplace=False))(x)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ValueError, match="inplace=False"):
        getattr(tnp, name)(x, *args, **options)


@MODES
def test_masks_and_numbers_may_be_computed(mode):
    wanted = F.copy()
    np.place(wanted, F > 0.6, V)
    np.testing.assert_array_equal(mode(lambda x, v: tnp.place(x, x > 0.6, v, inplace=False))(F, V), wanted)
    np.put(wanted, [2, 0], [-1.0, -2.0])
    put = mode(lambda x, i: tnp.put(x, i, [-1.0, -2.0], inplace=False))
    np.testing.assert_array_equal(put(wanted * 1.0, np.array([2, 0])), wanted)


def test_along_an_axis_negative_numbers_count_from_the_end_in_any_mode():
    found = tnp.put_along_axis(F, [[-1, 7, -9]], 8.0, 1, mode="clip", inplace=False)
    np.testing.assert_array_equal(found, [[8.0, F[0, 1], 8.0], [8.0, F[1, 1], 8.0]])


TAKEN = """
np.take(F, [0, -1], axis=1, mode="clip")
np.take_along_axis(F, I % 2, 0)
"""


@MODES
@pytest.mark.parametrize("expression", TAKEN.strip().split("\n"))
def test_an_expression_has_the_value_it_has_in_numpy(expression, mode):
    require_numpys_value(expression, mode)


@MODES
def test_what_is_beyond_the_end_is_filled(mode):
    take = lambda x, i, **how: mode(lambda x: tnp.take(x, i, mode="fill", **how))(x).numpy().tolist()
    assert take(np.array([1.5, 2.5]), [0, -1, 9, -3], fill_value=7.0) == [1.5, 2.5, 7.0, 7.0]
    assert np.isnan(take(np.array([1.0]), [3])).all() and np.isnan(take(np.array([1j]), [3])).all()
    assert take(np.array([1], np.int8), [3]) == [-128] and take(np.array([1], np.uint8), [3]) == [255]
    assert take(np.array([False]), [3]) == [True] and take(np.zeros(0), [0], fill_value=2.0) == [2.0]
    along = lambda how: mode(lambda x: tnp.take_along_axis(x, [[0, 5, -1, -9]], 1, **how))(F[:1]).numpy()
    np.testing.assert_array_equal(along({"mode": "fill"}), [[F[0, 0], np.nan, F[0, 2], np.nan]])
    np.testing.assert_array_equal(along({"mode": "clip"}), F[:1, [0, 2, 2, 0]])
    np.testing.assert_array_equal(along({"fill_value": 1.0}), [[F[0, 0], 1.0, F[0, 2], 1.0]])
    with pytest.raises(ValueError, match="mode is"):
        tnp.take(F, 0, mode="drop")


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: tnp.put(F, [6], 1.0, inplace=False), IndexError),
        (lambda: tnp.put(F, [6], 1.0, mode="drop", inplace=False), ValueError),
        (lambda: tnp.place(F, V > 0, 1.0, inplace=False), ValueError),
        (lambda: tnp.place(F, F > 0, [], inplace=False), ValueError),
        (lambda: tnp.put_along_axis(F, [0], 1.0, 0, inplace=False), ValueError),
        (lambda: tnp.fill_diagonal(V, 1.0, inplace=False), ValueError),
        (lambda: tnp.fill_diagonal(np.zeros((2, 2, 3)), 1.0, inplace=False), ValueError),
    ],
)
def test_what_does_not_fit_is_refused_at_the_users_line(call, kind):
    with pytest.raises(kind) as error:
        call()
    assert "test_numpy_writing.py" in str(error.value)


def _with(np, name, x, *args):
    if np is tnp:
        return getattr(tnp, name)(x, *args, inplace=False)
    copy = x.copy()
    getattr(np, name)(copy, *args)
    return copy


SLOPES = [
    lambda np, x: _with(np, "put", x**2, [1, 4], x[2, :2] ** 3),
    lambda np, x: _with(np, "place", x**2, x > 0.5, x[0] ** 3),
    lambda np, x: _with(np, "put_along_axis", x**2, np.asarray([[2], [1], [3]]), x[:, :1] ** 3, 1),
    lambda np, x: _with(np, "fill_diagonal", x**2, x[1, :2] ** 3),
]


@MODES
@pytest.mark.parametrize("f", SLOPES, ids=range(len(SLOPES)))
def test_gradients_are_those_of_differences(f, mode):
    require_slopes(f, mode)


@MODES
def test_no_gradient_flows_from_what_is_filled(mode):
    loss = lambda x: tnp.sum(tnp.take(x**3, [0, 2, 2, 9], mode="fill", fill_value=1.0))
    np.testing.assert_allclose(mode(tf.grad(loss))(V), [3 * V[0] ** 2, 0.0, 6 * V[2] ** 2])
    second = mode(tf.grad(lambda x: tnp.sum(tf.grad(loss)(x))))(V)
    np.testing.assert_allclose(second, [6 * V[0], 0.0, 12 * V[2]])


def test_what_is_asked_for_as_a_copy_is_none_of_the_array_in_a_program_for_numpy():
    code = "import numpy as np\ndef f(xp, x):\n    y = xp.asarray(x, copy=True)\n    y[0] = 5.0\n    return x[0], y"
    names: dict[str, object] = {"__name__": "a_program"}
    exec(code, names)
    first, changed = names["f"](tnp, tnp.asarray([1.0, 2.0]))
    assert first == 1.0 and changed.numpy().tolist() == [5.0, 2.0]
