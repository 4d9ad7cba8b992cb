"""Random programs with effects do compiled what they do eagerly, or are refused for a stated reason."""

import pytest

from fuzz.effects import check


@pytest.mark.sampled(2)
@pytest.mark.parametrize("first", range(0, 120, 20))
def test_programs_with_effects(first):
    for seed in range(first, first + 20):
        found = check(seed)
        assert found.kind != "wrong", f"seed {seed}: {found.reason}\n{found.program}"
