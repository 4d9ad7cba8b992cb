"""Random programs are made for other machines, or refused with a reason; nothing ends this process."""

from __future__ import annotations

from collections import Counter

import pytest

from . import foreign


def run(seeds: range, least: float) -> None:
    outcomes = [foreign.check(seed) for seed in seeds]
    wrong = [f"{o.program}\n{o.reason}" for o in outcomes if o.kind == "wrong"]
    assert not wrong, "\n\n".join(wrong[:3])
    assert Counter(o.kind for o in outcomes)["agree"] > least * len(seeds)


def test_random_programs_for_other_machines() -> None:
    run(range(14), 0.5)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1056, 28))
def test_more_random_programs_for_other_machines(first: int) -> None:
    run(range(first, first + 28), 0.5)
