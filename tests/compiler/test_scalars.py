"""One record per scalar operation: what it says agrees with NumPy and with the tables of code generation."""

from __future__ import annotations

import numpy as np
import pytest

from tracejit.compiler.codegen import math
from tracejit.compiler.codegen.math.definition import ARITIES, WRITERS
from tracejit.compiler.codegen.writing import arithmetic, scalars
from tracejit.compiler.loopir.interpreter import compute
from tracejit.compiler.loopir.scalar_ops import ELEMENTARY, SCALAR_OPS, ScalarOp
from tracejit.core.op import OPS
from tracejit.ops.lowering import Scalar

DTYPES = [np.dtype(t) for t in ("bool", "int32", "uint64", "float64")]
every_scalar = pytest.mark.parametrize("op", SCALAR_OPS.values(), ids=list(SCALAR_OPS))
#: What complex numbers are taken apart by, before there are scalar statements.
ON_PAIRS = {"conj", "real", "imag", "complex"}


def has_code(op: ScalarOp, kind: str) -> bool:
    """Is there an instruction or a function for this kind of argument?"""
    tables = (scalars.BINARY, scalars.INTRINSICS, scalars._SAME)
    function = kind == "f" and op.name in math.NAMES
    return function or op.name in scalars.SPECIAL or any((op.name, kind) in t for t in tables)


@every_scalar
def test_there_is_code_for_every_kind_that_the_record_allows(op: ScalarOp):
    assert op.name == "index" or all(has_code(op, kind) for kind in op.kinds)


def test_code_generation_has_code_for_nothing_else():
    tables = (scalars.BINARY, scalars.INTRINSICS)
    coded = {name for table in tables for name, _ in table} | set(scalars.SPECIAL) | math.NAMES
    assert coded | {"index"} == set(SCALAR_OPS)
    for (name, kind), _ in (item for table in tables for item in table.items()):
        assert kind in SCALAR_OPS[name].kinds or kind == "b"  # sums and products of bools are never written


def test_elementary_operations_are_those_with_a_function():
    assert math.NAMES | set(arithmetic.NAMES) == ELEMENTARY


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_a_vector_function_takes_as_many_operands_as_the_record_says(name: str):
    assert ARITIES[name] == SCALAR_OPS[name].arity


@every_scalar
def test_the_meaning_takes_what_the_record_allows(op: ScalarOp):
    for dtype in (d for d in DTYPES if d.kind in op.kinds):
        args = [np.ones(3, dtype) for _ in range(op.arity)]
        if op.name == "select":
            args[0] = np.ones(3, bool)
        with np.errstate(all="ignore"):
            found = compute(op.name, args, np.dtype(bool) if op.result == "bool" else dtype)
        assert found.shape == (3,)
        assert op.result != "bool" or np.asarray(op.meaning(*args)).dtype == bool


def test_every_element_wise_op_names_a_scalar_operation():
    named = {op.lower.name for op in OPS.values() if isinstance(op.lower, Scalar)}
    assert named <= set(SCALAR_OPS) | ON_PAIRS


def test_tests_are_the_comparisons():
    assert scalars.COMPARISONS | {"isnan"} == {op.name for op in SCALAR_OPS.values() if op.result == "bool"}
