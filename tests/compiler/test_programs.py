"""Whole programs and their derivatives: kernels, loop IR and machine code agree."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from checks.levels import assert_levels_agree, complete, derived
from checks.loop_programs import PROGRAMS
from checks.programs import Program
from tracejit.core.tracing.trace import trace

CASES = [(p, order) for p in PROGRAMS.values() for order in p.orders]
IDS = [f"{p.name}-{order}" for p, order in CASES]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("program", "order"), CASES, ids=IDS)
def test_levels_agree(program: Program, order: str):
    source = trace(program.f, program.specs, program.name).graph
    graph = derived(source, order)
    assert graph is not None
    arrays = complete(graph, program.arguments(), source, order)
    assert_levels_agree(graph, arrays)


JOINED = [p for p in PROGRAMS.values() if "gradient" in p.orders][::3]


@pytest.mark.parametrize("program", JOINED, ids=lambda p: p.name)
def test_levels_agree_when_roundings_are_joined(program: Program):
    source = trace(program.f, program.specs, program.name).graph
    graph = derived(source, "gradient")
    assert graph is not None
    arrays = complete(graph, program.arguments(seed=3), source, "gradient")
    assert_levels_agree(graph, arrays, contract=True, each_pass=True)


def test_equal_constants_inside_and_outside_of_a_loop_are_one():
    def scaled(x):
        return x * tf.constant([2.0, 3.0], tf.float64)

    f = tf.function(lambda x: tf.while_loop(lambda x: x[0] < 10.0, scaled, scaled(x)))
    assert f(np.ones(2)).numpy().tolist() == [16.0, 81.0]
