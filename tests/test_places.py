"""A fact about an operation stands on it: no scalar operation is known by name in more than three places."""

from __future__ import annotations

import ast
import re

import pytest

from places import known_names, places
from tracejit.compiler.loopir.scalar_ops import SCALAR_OPS
from tracejit.core.op import OPS
from tracejit.ops.elementwise.formulas.families import ITERATED
from tracejit.ops.lowering import Scalar

#: Its declaration, its record, its code.
MOST = 3
ARITHMETIC = "compiler/loopir/passes/arithmetic"
#: Names with a further meaning, with files that count for it.
FURTHER = {
    "add": (
        *("compiler/lowering/builder.py", "compiler/loopir/passes/schedule.py"),  # a rule of Combine
        *("compiler/loopir/passes/sums_both_ways.py", "compiler/graph/watch_numerics.py"),
        *(
            "compiler/loopir/passes/pairs.py",
            "compiler/loopir/numbering/symmetry.py",
            f"{ARITHMETIC}/factors.py",
        ),
    ),
    # what signs do to arithmetic, and literals to products
    "sub": ("compiler/loopir/numbering/symmetry.py",),
    "mul": ("compiler/loopir/numbering/symmetry.py", f"{ARITHMETIC}/factors.py"),
    # that too; what is divided by a root, or by a number with another sign, is multiplied; roots come before quotients
    "div": (
        *(
            "compiler/loopir/numbering/symmetry.py",
            f"{ARITHMETIC}/reciprocals.py",
            "compiler/loopir/passes/pairs.py",
        ),
    ),
    "neg": (
        *(
            "compiler/loopir/numbering/symmetry.py",
            f"{ARITHMETIC}/factors.py",
            f"{ARITHMETIC}/reciprocals.py",
        ),
        "compiler/loopir/passes/pairs.py",
    ),
    "sqrt": (f"{ARITHMETIC}/reciprocals.py", "compiler/loopir/passes/pairs.py"),
    "min": ("compiler/lowering/nodes.py",),
    # so is this, and a recipe of sizes, which every language writes its own way
    "max": ("compiler/lowering/nodes.py", "core/dim.py", "runtime/exported/rust.py"),
    "floordiv": ("core/dim.py", "runtime/exported/rust.py", "runtime/exported/julia.py"),
    # forms of statements, which have a dtype or a test
    "cast": ("compiler/lowering/builder.py",),
    "select": (
        *("compiler/lowering/builder.py", "compiler/loopir/verifier.py", "compiler/loopir/text.py"),
        *("compiler/loopir/parser.py", "frontend/autograph/flow/branches.py"),
        "compiler/loopir/numbering/symmetry.py",
    ),
    "index": (
        *("compiler/loopir/accesses.py", "compiler/loopir/verifier.py", "compiler/loopir/text.py"),
        *("compiler/loopir/parser.py", "ops/tensor/at.py"),
        *("compiler/loopir/passes/pieces.py", "compiler/loopir/passes/short_axes.py"),
        *("compiler/loopir/passes/pairs.py", "compiler/loopir/numbering/symmetry.py"),
    ),
    # attributes of arrays that show a part of them, and what writing to that part means
    **dict.fromkeys(
        ("real", "imag"), ("frontend/autograph/source/sharing.py", "ops/tensor/memory/views.py")
    ),
    # a function that other formulas call
    "lgamma": ("code generation",),
    # activations that a dense layer takes
    "sigmoid": ("ops/dense_layer.py",),
    "tanh": ("ops/dense_layer.py",),
    "bitcast": ("compiler/loopir/interpreter.py", "compiler/loopir/verifier.py"),
    "and": (
        "frontend/tape/gradient_tape.py",
        "ops/elementwise/bits.py",
    ),  # words; and two ops are one scalar operation
    "or": ("ops/elementwise/bits.py",),
    "not": (
        "core/autodiff/straightline.py",
        "frontend/autograph/values/kinds.py",
        "frontend/tape/gradient_tape.py",
        "ops/elementwise/bits.py",
    ),
}
ELEMENT_WISE = [name for name, op in OPS.items() if isinstance(op.lower, Scalar)]


def test_a_scalar_operation_is_known_in_few_places():
    wrong = {}
    made = {name for name in ITERATED if re.search(r"_\d+$", name)}  # of a family's name and orders
    for name in sorted({*SCALAR_OPS, *ELEMENT_WISE} - made):
        found = {place: lines for place, lines in places(name).items() if place not in FURTHER.get(name, ())}
        if not 0 < len(found) <= MOST:
            wrong[name] = found
    assert not wrong


def test_further_meanings_are_there():
    assert all(file in places(name) for name, files in FURTHER.items() for file in files)


@pytest.mark.parametrize(
    "text",
    [
        'T = {"sin": 5.0}',
        'T = frozenset("exp log sin cos".split())',
        'T = dict.fromkeys(("sin", "cos"), 1)',
        'if op.name == "sin": pass',
        'lower = RULES["sin"]',
        '@defop(lower=Scalar("other"))\ndef sin(x): pass',
        'match op.name:\n    case "sin": pass',
    ],
)
def test_tables_and_comparisons_are_found(text: str):
    assert "sin" in known_names(ast.parse(text))


@pytest.mark.parametrize(
    "text", ['y = c("mul", c("sin", x), z)', "y = ops.sin(x)", 'say = "mortal sin is one of seven"']
)
def test_formulas_and_prose_are_not(text: str):
    assert "sin" not in known_names(ast.parse(text))
