"""Attempts: what is rolled back, what waits, and what leaves in spite of handlers."""

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.op import ops
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.dispatch import interpreting
from tracejit.core.tracing.trace import Trace
from tracejit.core.tracing.transaction import (
    Attempt,
    Unwinding,
    Whole,
    handled,
    remember,
    tracing_body,
    when_kept,
)

V = tf.Variable(1.0)


@pytest.fixture
def trace():
    now = Trace("t")
    with interpreting(now):
        yield now


def test_nodes_constants_and_variables_are_as_before(trace):
    x = trace.add_input(TensorSpec((), np.dtype("float32")))
    V.assign_add(x)
    nodes, value = list(trace.graph.nodes), V.current()
    with Attempt() as attempt:
        y = ops.sin(x + 2.0)
        V.assign(y)
        attempt.rollback()
    assert trace.graph.nodes == nodes and V.current() is value
    with pytest.raises(tf.errors.TracejitError, match="was taken back"):
        ops.cos(y)


def test_inputs_that_came_meanwhile_go(trace):
    with interpreting(None):
        outside = tf.constant(3.0)
    with Attempt() as attempt:
        trace.value(outside), V.current()
        assert len(trace.graph.inputs) == 2
        attempt.rollback()
    assert not trace.graph.inputs and not trace.held and not trace.captures


def test_what_stays_is_undone_by_the_attempt_around(trace):
    found = []

    def save():
        found.append("saved")
        return lambda: found.append("undone")

    with Attempt() as around:
        with Attempt():
            remember("key", save)
            remember("key", save)
        remember("key", save)
        assert found == ["saved"]
        around.rollback()
    assert found == ["saved", "undone"]


def test_actions_wait_until_all_around_is_kept():
    done = []
    with Attempt():
        with Attempt() as inner:
            when_kept(lambda: done.append("never"))
            inner.rollback()
        with Attempt(), Whole():
            when_kept(lambda: done.append("kept"))
        assert not done
    assert done == ["kept"]
    when_kept(lambda: done.append("now"))
    assert done == ["kept", "now"]


def test_what_an_error_ends_has_happened():
    done, undone = [], []
    with pytest.raises(KeyError), Attempt(), Attempt():
        remember("key", lambda: lambda: undone.append(1))
        when_kept(lambda: done.append(1))
        raise KeyError
    assert (done, undone) == ([1], [1])


@pytest.mark.parametrize("context", [Attempt, Whole])
def test_handlers_only_delay_what_leaves(context):
    with pytest.raises(Unwinding, match="left"), context():
        try:
            raise Unwinding("left")
        except BaseException:
            pass


def test_an_error_after_a_swallowed_one_is_its_consequence():
    with pytest.raises(Unwinding, match="left"), Attempt():
        try:
            raise Unwinding("left")
        except BaseException:
            pass
        raise ValueError("a consequence")


def test_who_knows_it_handles_it():
    with Attempt() as attempt:
        try:
            raise Unwinding("left")
        except Unwinding:
            attempt.rollback()
    with Whole():
        try:
            with Attempt():
                raise Unwinding("left")
        except Unwinding as left:
            handled(left)


def test_interrupts_pass():
    with pytest.raises(KeyboardInterrupt), Attempt():
        try:
            raise Unwinding("left")
        except BaseException:
            raise KeyboardInterrupt from None


def test_a_body_traced_twice_is_reported(trace, monkeypatch):
    found = []
    monkeypatch.setattr("tracejit.core.seams.traced_again.listeners", [found.append])
    body = object()
    with Attempt() as attempt:
        tracing_body(body, "body")
        attempt.rollback()
    tracing_body(body, "body")
    assert not found
    tracing_body(body, "body")
    assert len(found) == 1
