"""Random programs give the same when they are exported, with any outputs, as the transforms do eagerly."""

from __future__ import annotations

from collections import Counter

import pytest

from . import exports


def test_exported_programs_agree_with_eager_transforms() -> None:
    outcomes = [exports.check(seed) for seed in range(24)]
    wrong = [f"{o.program}\n{o.reason}" for o in outcomes if o.kind == "wrong"]
    assert not wrong, "\n\n".join(wrong[:3])
    assert Counter(o.kind for o in outcomes)["agree"] > 16  # the others are refused, each for a reason


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 140, 10))
def test_more_exported_programs_agree(first: int) -> None:
    outcomes = [exports.check(seed) for seed in range(first, first + 10)]
    wrong = [f"{o.program}\n{o.reason}" for o in outcomes if o.kind == "wrong"]
    assert not wrong, "\n\n".join(wrong[:3])
