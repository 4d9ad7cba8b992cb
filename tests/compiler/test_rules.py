"""Every rewrite rule keeps every bit on NaN, infinities, zeros of both signs, denormals, and sizes 0 and 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tracejit as tf
from checks.modes import differing, eager, grid
from tracejit.compiler.graph import rules
from tracejit.compiler.graph.rules import RULES, Rule, by_root
from tracejit.compiler.graph.simplify import Rewriter, simplify
from tracejit.core.ir.graph import Graph, verify
from tracejit.core.op import OPS, ops
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

F64 = np.dtype("float64")

#: An expression that each rule rewrites, by the rule's name.
EXAMPLES: dict[str, Callable] = {
    "neg_neg": lambda x: tf.negative(tf.negative(x)),
    "mul_one": lambda x: x * 1.0,
    "one_mul": lambda x: 1.0 * x,
    "div_one": lambda x: x / 1.0,
    "sub_zero": lambda x: x - 0.0,
    "mul_minus_one": lambda x: x * -1.0,
    "minus_one_mul": lambda x: -1.0 * x,
    "minus_one_div": lambda x: -1.0 / x,
    "add_neg": lambda x, y: x + -y,
    "sub_neg": lambda x, y: x - -y,
    "neg_times_neg": lambda x, y: -x * -y,
    "pow_1": lambda x: tf.pow(x, 1.0),
    "pow_2": lambda x: tf.pow(x, 2.0),
    "pow_3": lambda x: tf.pow(x, 3.0),
    "pow_-1": lambda x: tf.pow(x, -1.0),
    "not_not": lambda x: tf.logical_not(tf.logical_not(x < 1.0)),
    "same_choice": lambda x: tf.where(x < 1.0, x, x),
    "known_choice": lambda x, y: tf.where(tf.constant(False), x, y),
    "reshape_reshape": lambda x: tf.reshape(tf.reshape(x, (x.shape[0], 1)), (1, x.shape[0])),
    "reshape_same": lambda x: ops.reshape(x, shape=x.shape),
    "broadcast_same": lambda x: ops.broadcast_to(x, shape=x.shape),
    "cast_same": lambda x: ops.cast(x, dtype=F64),
    "transpose_transpose": lambda x: ops.transpose(ops.transpose(x[:, None], perm=(1, 0)), perm=(1, 0)),
    "transpose_none": lambda x: ops.transpose(x, perm=(0,)),
    "slice_whole": lambda x: ops.slice(x, slices=((0, x.shape[0], 1),)),
    "identity": lambda x: tf.identity(x),
    "stop_gradient": lambda x: tf.stop_gradient(x),
    "number": lambda x: ops.number(x),
    "read": lambda x, y: ops.read(x, y),
    "tied": lambda x, y: ops.tied(x, y),
}

#: Rules whose result may be rounded once more or less than the original's.
ROUNDED = {"pow_2", "pow_3", "pow_-1"}

SAFE = [r for r in RULES if not r.fast]


def example(rule: Rule, size: int | None = None) -> tuple[Graph, list[np.ndarray]]:
    f = EXAMPLES[rule.name]
    arrays = grid([F64] * f.__code__.co_argcount)
    if size is not None:
        arrays = [a[:size] for a in arrays]
    specs = [TensorSpec(a.shape, F64) for a in arrays]
    return trace(lambda *xs: [f(*xs)], specs).graph, arrays


def test_every_rule_has_an_example():
    assert {r.name for r in SAFE} == set(EXAMPLES)


@pytest.mark.parametrize("size", [None, 0, 1])
@pytest.mark.parametrize("rule", SAFE, ids=lambda r: r.name)
def test_keeps_every_bit(rule: Rule, size: int | None):
    graph, arrays = example(rule, size)
    rewriter = Rewriter(graph, {rule.pattern.op: (rule,)})
    found = verify(rewriter.run())
    assert rewriter.rewrites == 1
    (expected,), (got,) = eager(graph, arrays), eager(found, arrays)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    bound = (
        2 * np.finfo(F64).eps * np.abs(expected) + 5e-324
        if rule.name in ROUNDED
        else np.zeros(expected.shape)
    )
    wrong = differing(got, expected, bound, signs=True)
    assert not wrong.any(), (arrays[0][wrong], got[wrong], expected[wrong])


@pytest.mark.parametrize("rule", SAFE, ids=lambda r: r.name)
def test_is_in_force_by_default(rule: Rule):
    graph, _ = example(rule)
    rewriter = Rewriter(graph, by_root(False, True))
    rewriter.run()
    assert rewriter.rewrites >= 1


@pytest.mark.parametrize(
    "f", [lambda x: x + 0.0, lambda x: 0.0 + x, lambda x: x * 0.0], ids=["x+0", "0+x", "x*0"]
)
def test_what_changes_signs_or_nan_is_off_by_default(f: Callable):
    graph = trace(lambda x: [f(x)], [TensorSpec((4,), F64)]).graph
    rewriter = Rewriter(graph, by_root(False, True))
    rewriter.run()
    assert rewriter.rewrites == 0


def test_numbers_of_other_dtypes_are_not_taken_for_literals():
    def f(x, n):
        return [x * 1, n * 1, n - 0, n * -1, tf.cast(n, tf.float64) * x]

    graph = trace(f, [TensorSpec((2,), "float32"), TensorSpec((2,), "int64")]).graph
    arrays = [np.array([-0.0, np.nan], np.float32), np.array([np.iinfo(np.int64).min, 3])]
    for a, b in zip(eager(simplify(graph), arrays), eager(graph, arrays), strict=True):
        np.testing.assert_array_equal(a, b)


def test_zeros_of_both_signs_are_different_literals():
    def f(x):
        zeros = [ops.fill(shape=(2,), value=z, dtype=F64) for z in (0.0, -0.0)]
        return [*zeros, x - -0.0, x * tf.constant(-0.0), tf.constant(0.0), tf.constant(-0.0)]

    graph = trace(f, [TensorSpec((2,), F64)]).graph
    arrays = [np.array([-0.0, 0.0])]
    for a, b in zip(eager(simplify(graph), arrays), eager(graph, arrays), strict=True):
        np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


# ---- work done ------------------------------------------------------------------------------------------


def unrolled(steps: int) -> Graph:
    def f(x):
        y = x
        for _ in range(steps):
            y = tf.pow(tf.negative(tf.negative(tf.sin(y) * x * 1.0)), 2.0) + tf.constant(2.0) * tf.constant(
                3.0
            )
        return [y]

    return trace(f, [TensorSpec((), F64)]).graph


def test_work_grows_linearly():
    counts = []
    for steps in (50, 100, 200):
        rewriter = Rewriter(unrolled(steps), by_root(False, True))
        rewriter.run()
        counts.append((rewriter.visits, rewriter.rewrites))
    (v1, r1), (v2, r2), (v4, r4) = counts
    assert (v4 - v2, r4 - r2) == (2 * (v2 - v1), 2 * (r2 - r1))
    assert r1 == 3 * 50


def test_a_pattern_of_an_op_that_does_not_exist_cannot_be_written():
    with pytest.raises(KeyError):
        _ = rules.p.no_such_op
    assert {rule.pattern.op for rule in rules.RULES} <= set(OPS.values())


@pytest.mark.parametrize("f", [lambda x: -1.0 * x, lambda x: -1.0 / x], ids=["product", "quotient"])
def test_minus_one_times_complex_numbers_stays(f: Callable):
    x = np.array([complex(a, b) for a in (0.0, -0.0, np.inf, 2.0) for b in (0.0, -0.0, -np.inf, 3.0)])
    graph = trace(f, [TensorSpec(x.shape, x.dtype)], "f").graph
    with np.errstate(all="ignore"):
        found, exact = eager(simplify(graph), [x])[0], eager(graph, [x])[0]
    assert np.asarray(found).tobytes() == np.asarray(exact).tobytes()
