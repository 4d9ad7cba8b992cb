"""Rewrite rules: pattern, condition, replacement. Every rule keeps every bit, NaN, infinities and -0.0 included;
those that do not are marked `fast` and run under ``fastmath`` only.

A pattern is written as the expression is: ``p.negative[p.negative["x"]]``; a number matches that literal, a
string binds a value. Replacements get the bound values by name and a `make`, which builds nodes and knows numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.dataclass import dataclass
from ...core.op import OPS, Op, ops


@dataclass(frozen=True)
class Pattern:
    """An op applied to patterns: nested patterns, names that bind, or literal numbers."""

    op: Op
    args: tuple[Any, ...]


class _PatternOf:
    def __init__(self, op: Op):
        self.op = op

    def __getitem__(self, args: Any) -> Pattern:
        return Pattern(self.op, args if isinstance(args, tuple) else (args,))


class _Patterns:
    def __getattr__(self, name: str) -> _PatternOf:
        return _PatternOf(OPS[name])


p: _Patterns = _Patterns()


@dataclass(frozen=True)
class Rule:
    """One rewrite.

    Attributes
    ----------
    name : str
    pattern : Pattern
    replace : callable
        ``(make, node, **bound) -> Value`` or None when it does not apply; `make(op, *values, **attrs)` builds.
    fast : bool
        Changes NaN, infinities or signed zeros.
    final : bool
        Erases what only derivatives see: not for a graph that may still be differentiated.
    """

    name: str
    pattern: Pattern
    replace: Callable[..., Any]
    fast: bool = False
    final: bool = False


def _same_spec(make: Any, node: Any, x: Any, **others: Any) -> Any:
    return x if x.spec == node.outputs[0].spec else None


def _if_float(op: Op, *order: str) -> Callable[..., Any]:
    """Build `op` of the named values, for floats only."""
    return lambda make, node, **b: (
        make(op, *(b[n] for n in order), spec=node.outputs[0].spec)
        if node.outputs[0].spec.differentiable
        else None
    )


def _reshaped(make: Any, node: Any, x: Any) -> Any:
    spec = node.outputs[0].spec
    return x if x.spec.shape == spec.shape else make(ops.reshape, x, spec=spec, shape=spec.shape)


def _joined_transpose(make: Any, node: Any, x: Any) -> Any:
    inner = make.producer(node.inputs[0]).attrs["perm"]
    perm = tuple(inner[k] for k in node.attrs["perm"])
    return x if perm == tuple(range(len(perm))) else make(ops.transpose, x, perm=perm)


def _identity_transpose(make: Any, node: Any, x: Any) -> Any:
    perm = node.attrs["perm"]
    return x if perm == tuple(range(len(perm))) else None


def _known_choice(make: Any, node: Any, c: Any, a: Any, b: Any) -> Any:
    condition = make.number(c)
    if condition is None:
        return None
    chosen, spec = (a if condition else b), node.outputs[0].spec
    return chosen if chosen.spec == spec else make(ops.broadcast_to, chosen, spec=spec, shape=spec.shape)


def _whole_slice(make: Any, node: Any, x: Any) -> Any:
    whole = all(
        start == 0 and step == 1 and size == d
        for d, (start, size, step) in zip(x.spec.shape, node.attrs["slices"], strict=True)
    )
    return x if whole else None


def _is_real(node: Any, x: Any) -> bool:
    """Is it what the result is like, and no complex number, of which -1 changes signs of zeros in its own way?"""
    return x.spec == node.outputs[0].spec and x.spec.dtype.kind != "c"


def _power(exponent: float) -> Rule:
    def replace(make: Any, node: Any, x: Any) -> Any:
        if not node.outputs[0].spec.differentiable or x.spec != node.outputs[0].spec:
            return None
        if exponent == 1.0:
            return x
        if exponent == -1.0:
            return make(ops.divide, make.literal(1.0, x.spec.dtype), x)
        square = make(ops.multiply, x, x)
        return square if exponent == 2.0 else make(ops.multiply, square, x)

    return Rule(f"pow_{exponent:g}", p.pow["x", exponent], replace)


RULES: tuple[Rule, ...] = (
    Rule("neg_neg", p.negative[p.negative["x"]], lambda make, node, x: x),
    Rule("mul_one", p.multiply["x", 1.0], _same_spec),
    Rule("one_mul", p.multiply[1.0, "x"], _same_spec),
    Rule("div_one", p.divide["x", 1.0], _same_spec),
    Rule("sub_zero", p.subtract["x", 0.0], _same_spec),
    Rule(
        "mul_minus_one",
        p.multiply["x", -1.0],
        lambda make, node, x: make(ops.negative, x) if x.spec == node.outputs[0].spec else None,
    ),
    Rule(
        "minus_one_mul",
        p.multiply[-1.0, "x"],
        lambda make, node, x: make(ops.negative, x) if _is_real(node, x) else None,
    ),
    Rule(
        "minus_one_div",
        p.divide[-1.0, "x"],
        lambda make, node, x: (
            make(ops.negative, make(ops.divide, make.literal(1.0, x.spec.dtype), x)) if _is_real(node, x) else None
        ),
    ),
    Rule(
        "div_neg",
        p.divide["x", p.negative["y"]],
        lambda make, node, x, y: (
            make(ops.negative, make(ops.divide, x, y)) if x.spec.dtype == y.spec.dtype else None
        ),
        fast=True,  # exact, but what is negated once for a row would be so at each of its elements
    ),
    Rule("add_neg", p.add["x", p.negative["y"]], _if_float(ops.subtract, "x", "y")),
    Rule("sub_neg", p.subtract["x", p.negative["y"]], _if_float(ops.add, "x", "y")),
    Rule("neg_times_neg", p.multiply[p.negative["x"], p.negative["y"]], _if_float(ops.multiply, "x", "y")),
    _power(1.0),
    _power(2.0),
    _power(3.0),
    _power(-1.0),
    Rule("not_not", p.logical_not[p.logical_not["x"]], lambda make, node, x: x),
    Rule("same_choice", p.where["c", "x", "x"], _same_spec),
    Rule("known_choice", p.where["c", "a", "b"], _known_choice),
    Rule("reshape_reshape", p.reshape[p.reshape["x"]], _reshaped),
    Rule("reshape_same", p.reshape["x"], _same_spec),
    Rule("broadcast_same", p.broadcast_to["x"], _same_spec),
    Rule("cast_same", p.cast["x"], _same_spec),
    Rule("transpose_transpose", p.transpose[p.transpose["x"]], _joined_transpose),
    Rule("transpose_none", p.transpose["x"], _identity_transpose),
    Rule("slice_whole", p.slice["x"], _whole_slice),
    Rule("identity", p.identity["x"], lambda make, node, x: x),
    Rule("stop_gradient", p.stop_gradient["x"], lambda make, node, x: x, final=True),
    Rule("number", p.number["x"], lambda make, node, x: x, final=True),
    Rule("tied", p.tied["value", "to"], lambda make, node, value, to: value, final=True),
    Rule("read", p.read["now", "entry"], lambda make, node, now, entry: now, final=True),
    Rule("add_zero", p.add["x", 0.0], _same_spec, fast=True),
    Rule("zero_add", p.add[0.0, "x"], _same_spec, fast=True),
    Rule(
        "mul_zero",
        p.multiply["x", 0.0],
        lambda make, node, x: make.filled(0.0, node.outputs[0].spec),
        fast=True,
    ),
)


def by_root(fast: bool, final: bool) -> dict[Op, tuple[Rule, ...]]:
    """The rules in force, by the op at their root."""
    by_op: dict[Op, tuple[Rule, ...]] = {}
    for rule in RULES:
        if (fast or not rule.fast) and (final or not rule.final):
            by_op[rule.pattern.op] = (*by_op.get(rule.pattern.op, ()), rule)
    return by_op
