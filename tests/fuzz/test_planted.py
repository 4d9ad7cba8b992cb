"""The generator finds what it is for: with one retry's rollback taken away, fewer than a hundred programs show it."""

import pytest

from fuzz.effects import check
from tracejit.core import seams
from tracejit.core.tracing.transaction import Attempt, TraceSnapshot


def _nodes_and_variables_stay(self, keeping_nodes=False):
    pass


def _only_nodes_and_variables(self, keeping_nodes=False):
    if self.trace is not None:
        self.trace.rollback(keeping_nodes)


@pytest.mark.parametrize(
    "owner, method, planted",
    [
        (TraceSnapshot, "rollback", _nodes_and_variables_stay),
        (Attempt, "_restore", _only_nodes_and_variables),
    ],
    ids=["Variables", "Python's objects"],
)
def test_a_retry_without_rollback_is_found(monkeypatch, owner, method, planted):
    for seed in range(100):
        with monkeypatch.context() as patch:
            patch.setattr(owner, method, planted)
            patch.setattr(seams.traced_again, "listeners", [])  # the hook of all tests would see it at once
            found = check(seed, shrink=False)
        if found.kind == "wrong" and check(seed, shrink=False).kind != "wrong":
            print(f"seed {seed}: {found.reason}\n{found.program}")
            return
    pytest.fail("a hundred programs, and none was wrong")
