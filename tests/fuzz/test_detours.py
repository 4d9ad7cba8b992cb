"""Random functions that mix NumPy's calls with ours have right derivatives, or are refused."""

import pytest

from fuzz.detours import check


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_detours(first):
    for seed in range(first, first + 20):
        found = check(seed)
        assert found.kind != "wrong", f"seed {seed}: {found.reason}\n{found.program}"
