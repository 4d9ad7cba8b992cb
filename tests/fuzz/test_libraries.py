"""Random programs of many dtypes and sizes give in C libraries what they give eagerly."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from . import libraries


def require_right(first: int, count: int) -> None:
    outcomes = [libraries.check(seed) for seed in range(first, first + count)]
    wrong = [f"{o.program}\n{o.reason}" for o in outcomes if o.kind == "wrong"]
    assert not wrong, "\n\n".join(wrong[:3])
    assert Counter(o.kind for o in outcomes)["agree"] > 0.8 * count  # the others are refused, each for a reason


def test_libraries_agree_with_eager_code() -> None:
    require_right(0, 24)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 140, 20))
def test_more_libraries_agree_with_eager_code(first: int) -> None:
    require_right(first, 20)


def test_a_wrong_number_is_found() -> None:
    """In the twelfth digit, by the sign of an infinity, by a NaN, by its dtype."""
    x = np.array([1.0, np.inf, 2.0])
    assert not libraries.differs(x, x, [x, x])
    for wrong in ([1.0 + 1e-12, np.inf, 2.0], [1.0, -np.inf, 2.0], [1.0, np.nan, 2.0]):
        assert libraries.differs(np.array(wrong), x, [x, x])
    assert libraries.differs(x.astype("float32"), x, [x, x])
