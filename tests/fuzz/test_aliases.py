"""Random programs for NumPy with several names for an array give NumPy's numbers on tensors, or say why not."""

import collections

import numpy as np
import pytest

from fuzz.aliases import check
from tracejit.ops.tensor.memory import shared
from tracejit.ops.tensor.memory.overlaps import Overlaps


def test_programs_with_aliases():
    kinds = collections.Counter()
    for seed in range(60):
        found = check(seed)
        assert found.kind != "wrong", f"seed {seed}: {found.reason}\n{found.program}"
        kinds[found.kind] += 1
    assert kinds["agree"] >= 10, kinds


@pytest.mark.parametrize(
    "owner, name", [(shared, "note_written_eagerly"), (Overlaps, "note")], ids=["eager", "traced"]
)
def test_an_alias_that_is_forgotten_is_found(monkeypatch, owner, name):
    monkeypatch.setattr(owner, name, lambda *args: None)
    assert any(check(seed).kind == "wrong" for seed in range(60))


def test_it_tells_differences_from_refusals(monkeypatch):
    right = next(seed for seed in range(60) if check(seed).kind == "agree")
    monkeypatch.setattr(np, "allclose", lambda *args, **kwargs: False)
    assert check(right).kind == "wrong"
