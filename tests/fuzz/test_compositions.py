"""Compositions of transforms do what they mean; the oracle is right; and a wrong rule would be found."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.op import OPS
from tracejit.ops.control import loop as loops

from . import compositions
from .compositions import exact, names
from .compositions.around import AROUND
from .compositions.programs import program

#: All that is refused: no derivative in forward mode is known; a rule does not say the gradient of a Variable that its
#: function reads; a budget does not hold what a gradient must keep.
REASONS = (
    "a function with a custom gradient has a vjp only; forward mode cannot go through it",
    "must accept the keyword argument 'variables'",
    "a memory budget of n bytes is too small",
)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 120, 40))
def test_compositions_agree_with_exact_derivatives_and_differences(first: int):
    outcomes = [compositions.check(seed) for seed in range(first, first + 40)]
    wrong = [f"{o.program}\n{o.reason}" for o in outcomes if o.kind == "wrong"]
    assert not wrong, "\n\n".join(wrong[:3])
    refused = [o.reason for o in outcomes if o.kind == "refused"]
    assert all(any(known in reason for known in REASONS) for reason in refused), refused
    assert Counter(o.kind for o in outcomes)["agree"] > 34


def test_programs_are_the_same_for_a_seed_and_use_every_transform():
    assert program(17).text == program(17).text
    used = {name for seed in range(600) for name in program(seed).used}
    assert used == {a.name for a in AROUND}


@pytest.mark.parametrize("seed", range(40))
def test_the_oracle_agrees_with_differences_of_its_values(seed: int):
    made = program(seed, depth=1)
    if not made.exact or "with" in made.text:
        return
    scope = {"tf": names.REFERENCE, "np": np}
    exec(made.text, scope)
    x = np.random.default_rng(seed).uniform(0.4, 1.0, made.given)
    v = np.ones_like(x)
    tangent = exact.push(scope["main"], [x], [v])[1]
    h = 1e-6
    ahead, behind = (scope["main"](x + s * h * v) for s in (1.0, -1.0))
    np.testing.assert_allclose(tangent, (ahead - behind) / (2.0 * h), rtol=1e-6, atol=1e-7)


def _first_wrong(limit: int = 100) -> int:
    """The number of programs until one is wrong."""
    return next((seed for seed in range(limit) if compositions.check(seed).kind == "wrong"), limit)


@pytest.mark.slow
def test_a_dropped_tangent_in_the_rule_of_loops_is_found(monkeypatch: pytest.MonkeyPatch):
    right = loops._loop_jvp
    op = OPS["loop"]

    def dropping(record, ts):
        captured = (
            len(ts) - len(record.attrs["body"].inputs) + 1 + record.attrs["carries"] + record.attrs["rows"]
        )
        return right(record, [None if k >= captured else t for k, t in enumerate(ts)])

    monkeypatch.setattr(op, "jvp", dropping)
    assert _first_wrong() < 100


@pytest.mark.slow
def test_a_wrong_batching_rule_is_found(monkeypatch: pytest.MonkeyPatch):
    op = OPS["reduce_sum"]
    right = op.batch

    def scaled(batch, x, **attrs):
        y = right(batch, x, **attrs)
        return tf.multiply(y, 1.01) if y.__class__ is tf.Tensor and y.dtype.kind == "f" else y

    monkeypatch.setattr(op, "batch", scaled)
    assert _first_wrong() < 100


@pytest.mark.slow
def test_a_swapped_sign_in_a_derivative_is_found(monkeypatch: pytest.MonkeyPatch):
    op = OPS["cos"]
    rule = op.partial[0]
    monkeypatch.setattr(op, "partial", (lambda y, x: tf.negative(rule(y, x)),))
    assert _first_wrong() < 100
