"""Views against NumPy: what moves no memory gives the same elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tracejit.compiler.loopir.operands import Buffer
from tracejit.compiler.lowering.views import View, row_major

SHAPE = (4, 6, 5)
ARRAY = np.arange(120.0).reshape(SHAPE)
WHOLE = View.whole(Buffer("x", ARRAY.dtype, ARRAY.size, "input", 0), SHAPE, ARRAY.dtype)

SAME: dict[str, tuple[Callable[[View], View | None], np.ndarray]] = {
    "whole": (lambda v: v, ARRAY),
    "transposed": (lambda v: v.transposed((2, 0, 1)), ARRAY.transpose(2, 0, 1)),
    "sliced": (lambda v: v.sliced([(1, 2, 1), (0, 3, 2), (4, 5, -1)]), ARRAY[1:3, 0:5:2, ::-1]),
    "flipped": (lambda v: v.flipped(1), ARRAY[:, ::-1]),
    "broadcast": (lambda v: v.broadcast((2, *SHAPE)), np.broadcast_to(ARRAY, (2, *SHAPE))),
    "reshaped": (lambda v: v.reshaped((8, 15)), ARRAY.reshape(8, 15)),
    "rows reshaped": (lambda v: v.sliced([(1, 2, 1), (0, 6, 1), (0, 5, 1)]).reshaped((60,)), ARRAY[1:3].ravel()),
    "axis of a transpose split": (
        lambda v: v.transposed((1, 0, 2)).reshaped((2, 3, 4, 5)),
        ARRAY.transpose(1, 0, 2).reshape(2, 3, 4, 5),
    ),
    "with another axis": (lambda v: v.with_axis(1, 3), np.repeat(ARRAY[:, None], 3, axis=1)),
}  # fmt: skip


def elements(view: View) -> np.ndarray:
    """What the view holds, element by element."""
    found = np.empty([int(d) for d in view.shape])
    for ix in np.ndindex(*found.shape):
        index = view.index(ix)
        assert not index.terms
        found[ix] = ARRAY.ravel()[int(index.const)]
    return found


@pytest.mark.parametrize("name", SAME)
def test_views_hold_the_same_elements_as_numpy_arrays(name: str):
    look, wanted = SAME[name]
    view = look(WHOLE)
    assert view is not None
    np.testing.assert_array_equal(elements(view), wanted)


def test_a_shape_that_no_strides_express_is_no_view():
    assert WHOLE.transposed((1, 0, 2)).reshaped((24, 5)) is None


def test_rows_of_complex_numbers_step_over_pairs():
    assert row_major((2, 3), 2) == (6, 2)


def test_a_row_is_found_by_its_loop_index():
    assert str(WHOLE.row("n").index(("i", "j"))) == "(30)*n + (5)*i + j"
