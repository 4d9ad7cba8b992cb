"""Functions that differ in a few integers are one, with these as parameters, and compute what they did."""

import numpy as np
import pytest

import tracejit as tf
from tracejit.compiler.codegen import program
from tracejit.compiler.codegen.writing import alike
from tracejit.core.settings import settings


def _text(offset, length, last="ret void"):
    lines = [f"%t{i} = add i64 %a0, {offset}\n  store i64 {length}, ptr %t{i}" for i in range(60)]
    body = "\n  ".join([f"%e = icmp slt i64 %a0, {length}", *lines, last])
    return f"(ptr noalias %b0, i64 %a0) #0 {{\nentry:\n  {body}\n}}\n"


def _merged(texts):
    return alike.merged({("void", text): f"@.k{k}" for k, text in enumerate(texts)})


def test_integers_that_differ_are_parameters():
    one = _merged([_text(k, 10 * k) for k in range(5)])
    ((_, text),) = one.functions
    assert text.startswith("(ptr noalias %b0, i64 %a0, i64 %differs0, i64 %differs1) #0 {")
    assert "%e = icmp slt i64 %a0, %differs0" in text and "add i64 %a0, %differs1" in text
    entry = "  call void @.k3(ptr %p, i64 %n)\n  call void @.k12(ptr %p)\n"
    assert (
        one.redirected(entry)
        == "  call void @.k0(ptr %p, i64 %n, i64 30, i64 3)\n  call void @.k12(ptr %p)\n"
    )


def test_integers_that_are_equal_wherever_they_stand_are_one_parameter():
    ((_, text),) = _merged([_text(k, k) for k in range(5)]).functions
    assert "%differs1" not in text


@pytest.mark.parametrize(
    "texts",
    [
        [_text(k, 1) for k in range(alike.FEWEST - 1)],
        [f"() #0 {{\nentry:\n  %t = add i64 %a, {k}\n}}\n" for k in range(9)],
        [_text(1, 1, f"%v = extractelement <8 x double> %w, i64 {k}") for k in range(9)],
        [_text(1, 1, f"store double %x, ptr %y, align {8 << k}") for k in range(9)],
    ],
    ids=["few", "short", "a place in a vector", "an alignment"],
)
def test_others_stay_apart(texts):
    one = _merged(texts)
    assert [text for _, text in one.functions] == texts and not one.calls
    assert one.redirected("call void @.k0(ptr %p)") == "call void @.k0(ptr %p)"


def _runs(x, moves, rows):
    """A loop that is written out for each length."""
    total = 0.0
    for places in rows:
        a = x[:, places[0]]
        for i in places[1:]:
            a = tf.reduce_logsumexp(a[:, None] + moves, axis=0) + x[:, i]
        total = total + tf.reduce_logsumexp(a)
    return total


@pytest.fixture
def emitted(monkeypatch):
    texts, emit = [], program.emit

    def keeping(*given):
        made = emit(*given)
        texts.append(made.text)
        return made

    monkeypatch.setattr("tracejit.compiler.pipeline.emit", keeping)
    return texts


def test_loops_of_other_lengths_are_one_function(emitted):
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 27, n) for n in (21, 25, 28, 30, 33, 36)]
    given = rng.normal(size=(8, 27)), rng.normal(size=(8, 8))
    both = tf.value_and_grad(lambda x, moves: _runs(x, moves, rows), argnums=(0, 1))
    with settings(cache=False):
        value, gradients = tf.function(both)(*given)
    expected, eager = both(*map(tf.constant, given))
    np.testing.assert_allclose(value.numpy(), expected.numpy(), rtol=1e-12)
    for g, e in zip(gradients, eager, strict=True):
        np.testing.assert_allclose(g.numpy(), e.numpy(), rtol=1e-9, atol=1e-12)
    assert "%differs0" in max(emitted, key=len)
