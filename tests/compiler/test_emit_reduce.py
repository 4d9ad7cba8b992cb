"""Reductions, scans and row programs as machine code, against the interpreter: every rule, order and size."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.native import (
    B1,
    F4,
    F8,
    HOST,
    I4,
    I8,
    RNG,
    U1,
    M,
    N,
    Native,
    agree,
    agree_at_each,
    at,
    given,
    loopinterp_nests,
    op,
    result,
    softmax_program,
)
from tracejit.compiler.loopir.ir import Combine, Load, Nest, Program, Size_, Store
from tracejit.compiler.loopir.operands import Acc, Axis, Const
from tracejit.core.dim import Size

# ---- reductions -----------------------------------------------------------------------------------------


def reduce_program(
    rule: str, dtype: np.dtype, rows: Size, columns: Size, axes: str, atoms: tuple[str, ...] = ()
) -> Program:
    """`axes` says which of i (rows) and j (columns) are reduced."""
    init = {"add": 0, "mul": 1, "or": 0, "and": 1}.get(rule)
    if init is None:
        init = (
            (-np.inf if rule == "max" else np.inf)
            if dtype.kind == "f"
            else (np.iinfo(dtype).min if rule == "max" else np.iinfo(dtype).max)
            if dtype.kind in "iu"
            else rule == "min"
        )
    x = given("x", dtype, rows * columns, 0)
    kept = [(("i", rows), ("j", columns))[p] for p in range(2) if "ij"[p] not in axes]
    z = result("z", dtype, kept[0][1] if kept else 1)
    nest = Nest(
        [
            Axis("i", rows, "reduce" if "i" in axes else "parallel"),
            Axis("j", columns, "reduce" if "j" in axes else "parallel"),
        ],
        [Load("a", x, at(("i", columns), ("j", 1))), Combine(rule, ("s",), ("a",))],
        [Acc("s", dtype, Const(init, dtype))],
        [Store(z, at(*[(name, 1) for name, _ in kept]), "s")],
    )
    return Program("reduce", [x, z], [nest], atoms)


SHAPES = [(0, 5), (1, 1), (3, 4), (7, 65), (40, 3), (130, 129), (5, 0)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("axes", ["i", "j", "ij"])
@pytest.mark.parametrize(
    ("rule", "dtype"), [("add", F4), ("add", F8), ("add", I8), ("max", F8), ("min", I4), ("or", B1)]
)
def test_reductions(axes: str, rule: str, dtype: np.dtype) -> None:
    """Of each shape by a program of its own, and of all by one of unknown sizes."""
    calls = []
    for n, m in SHAPES:
        x = (RNG.random(n * m) < 0.1) if dtype.kind == "b" else RNG.integers(-9, 9, n * m).astype(dtype)
        calls.append(([x], {"n": n, "m": m}))
        agree(reduce_program(rule, dtype, n, m, axes), *calls[-1])
    agree_at_each(reduce_program(rule, dtype, N, M, axes, ("n", "m")), calls)


@pytest.mark.parametrize(
    ("rule", "dtype"),
    [
        ("mul", F8),
        ("mul", I4),
        ("max", F4),
        ("min", F8),
        ("and", B1),
        ("and", I4),
        ("or", U1),
        ("max", U1),
        ("max", B1),
        ("min", B1),
    ],
)
@pytest.mark.parametrize("axes", ["i", "j", "ij"])
def test_rules(rule: str, dtype: np.dtype, axes: str) -> None:
    x = (
        RNG.random(12 * 37) < 0.9
        if dtype.kind == "b"
        else (RNG.integers(1, 5, 12 * 37) - 2 * (rule != "mul")).astype(dtype)
    )
    x = np.where(RNG.random(x.size) < 0.03, 2, 1).astype(dtype) if rule == "mul" else x
    agree(reduce_program(rule, dtype, 12, 37, axes), [x])


@pytest.mark.parametrize("special", [[np.nan], [np.inf], [np.inf, -np.inf], [np.inf, np.nan], [3e38] * 9])
@pytest.mark.parametrize("rule", ["add", "max", "min"])
@pytest.mark.parametrize("axes", ["i", "j", "ij"])
def test_special_values_in_reductions(special: list[float], rule: str, axes: str) -> None:
    x = RNG.random(70 * 90).astype(F4)
    x[RNG.choice(x.size, len(special), replace=False)] = special
    agree(reduce_program(rule, F4, 70, 90, axes), [x], tolerance=1e-5, targets=(HOST,))


def test_negative_zero_sums() -> None:
    found = agree(reduce_program("add", F8, 3, 50, "j"), [np.full(150, -0.0)])
    assert not np.signbit(found[0]).any()  # the initial value is +0


@pytest.mark.parametrize("values", ["random", "constant", "signed"])
@pytest.mark.parametrize("axes", ["i", "j", "ij"])
def test_float32_sums_stay_accurate(values: str, axes: str) -> None:
    """Within 8 units in the last place of the sum of magnitudes, however long."""
    count = 3_000_000
    x = np.full(count, 0.1, F4) if values == "constant" else RNG.random(count).astype(F4)
    if values == "signed":
        x -= F4.type(0.5)
    shape = {"i": (count // 3, 3), "j": (3, count // 3), "ij": (3, count // 3)}[axes]
    _, (found,), _ = Native(reduce_program("add", F4, N, M, axes, ("n", "m")))(
        [x], dict(zip("nm", shape, strict=True))
    )
    over = {"i": 0, "j": 1, "ij": (0, 1)}[axes]
    wide = x.reshape(shape).astype(F8)
    bound = 8 * np.spacing(np.abs(wide).sum(over).astype(F4))
    assert (np.abs(found - wide.sum(over)) <= bound).all()


def argmax_program(rule: str, dtype: np.dtype, rows: int, columns: int, axes: str) -> Program:
    x = given("x", dtype, rows * columns, 0)
    kept = [p for p in range(2) if "ij"[p] not in axes]
    z, w = (
        result("z", I8, ((rows, columns)[kept[0]] if kept else 1), 0),
        result("w", dtype, ((rows, columns)[kept[0]] if kept else 1), 1),
    )
    lowest = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min
    highest = np.inf if dtype.kind == "f" else np.iinfo(dtype).max
    place = [op("pi", "index", "i", dtype=I8), op("pj", "index", "j", dtype=I8),
             op("pm", "mul", "pi", Const(columns, I8), dtype=I8),
             op("p", "add", "pm", "pj", dtype=I8)]  # fmt: skip
    nest = Nest(
        [
            Axis("i", rows, "reduce" if "i" in axes else "parallel"),
            Axis("j", columns, "reduce" if "j" in axes else "parallel"),
        ],
        [Load("a", x, at(("i", columns), ("j", 1))), *place, Combine(rule, ("s", "at"), ("a", "p"))],
        [Acc("s", dtype, Const(lowest if rule == "argmax" else highest, dtype)), Acc("at", I8, Const(0, I8))],
        [Store(z, at(*[("ij"[p], 1) for p in kept]), "at"), Store(w, at(*[("ij"[p], 1) for p in kept]), "s")],
    )
    return Program("arg", [x, z, w], [nest])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rule", ["argmax", "argmin"])
@pytest.mark.parametrize("axes", ["i", "j", "ij"])
@pytest.mark.parametrize("dtype", [F8, F4, I4, U1])
def test_argmax(rule: str, axes: str, dtype: np.dtype) -> None:
    for rows, columns in ((1, 1), (5, 7), (33, 40)):
        x = RNG.integers(0, 6, rows * columns).astype(dtype)
        calls = [([x.copy()], {})]
        if dtype.kind == "f":
            x[RNG.random(x.size) < 0.05] = np.nan
            calls.append(([x], {}))
        agree_at_each(argmax_program(rule, dtype, rows, columns, axes), calls)
    assert np.isnan(x).any() or dtype.kind != "f"


@pytest.mark.parametrize("axis", [0, 1])
def test_cumulative_sum(axis: int) -> None:
    n, m = 9, 21
    x, z, t = given("x", F8, n * m, 0), result("z", F8, n * m, 0), result("t", F8, (m, n)[axis], 1)
    nest = Nest(
        [
            Axis("i", n, "scan" if axis == 0 else "parallel"),
            Axis("j", m, "scan" if axis == 1 else "parallel"),
        ],
        [
            Load("a", x, at(("i", m), ("j", 1))),
            Combine("add", ("s",), ("a",)),
            Store(z, at(("i", m), ("j", 1)), "s"),
        ],
        [Acc("s", F8, Const(0.0, F8))],
        [Store(t, at(("ji"[axis], 1)), "s")],
    )
    agree(Program("cumsum", [x, z, t], [nest]), [RNG.integers(0, 9, n * m).astype(F8)])


def test_softmax_in_one_nest() -> None:
    calls = []
    for n, m in ((1, 1), (4, 9), (10, 128), (3, 1000)):
        calls.append(([RNG.normal(size=n * m)], {"n": n, "m": m}))
        agree(softmax_program(n, m, ()), *calls[-1], tolerance=1e-13)
    agree_at_each(softmax_program(N, M, ("n", "m")), calls, tolerance=1e-13)


def test_accumulator_fed_by_an_inner_nest() -> None:
    x, z = given("x", F8, 60, 0), result("z", F8, 4)
    inner = Nest(
        [Axis("j", 15, "reduce")], [Load("a", x, at(("i", 15), ("j", 1))), Combine("add", ("s",), ("a",))]
    )
    outer = Nest([Axis("i", 4)], [inner], [Acc("s", F8, Const(0.0, F8))], [Store(z, at(("i", 1)), "s")])
    agree(Program("fed", [x, z], [outer]), [RNG.integers(0, 9, 60).astype(F8)])


def test_scalars_pass_between_kernels() -> None:
    x, z = given("x", F8, N, 0), result("z", F8, N)
    total = Nest([Axis("j", N, "reduce")], [Load("a", x, at(("j", 1))), Combine("add", ("s",), ("a",))],
                 [Acc("s", F8, Const(0.0, F8))], [])  # fmt: skip
    body = [Load("b", x, at(("i", 1))), op("c", "mul", "b", "mean"), Store(z, at(("i", 1)), "c")]
    program = Program("scaled", [x, z], [
        total, Size_("count", N), op("real", "cast", "count", dtype=F8, argtype=I8), op("mean", "div", "s", "real"),
        Nest([Axis("i", N)], body),
    ], ("n",))  # fmt: skip
    x0 = RNG.random(100)
    _, (found,), _ = Native(program)([x0], {"n": 100})
    np.testing.assert_allclose(found, x0 * x0.mean(), rtol=1e-14)


@pytest.mark.parametrize(("rule", "dtype"), [("add", F8), ("add", F4), ("max", F4), ("or", B1), ("add", I4)])
def test_sums_down_wide_rows(rule: str, dtype: np.dtype) -> None:
    calls = []
    for n, m in ((17, 700), (50, 1030), (3, 999), (0, 5), (40, 1)):
        x = RNG.random(n * m) < 0.1 if dtype.kind == "b" else RNG.integers(-9, 9, n * m).astype(dtype)
        calls.append(([x], {"n": n, "m": m}))
        agree(reduce_program(rule, dtype, n, m, "i"), [x])
    program = reduce_program(rule, dtype, N, M, "i", ("n", "m"))
    agree_at_each(program, calls)
    assert "strips" in str(loopinterp_nests(program)[0].schedule)


@pytest.mark.parametrize("rule", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", [F8, F4, I4, U1])
def test_position_in_a_long_row(rule: str, dtype: np.dtype) -> None:
    x, z = given("x", dtype, N, 0), result("z", I8, 1)
    extreme = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min
    if rule == "argmin":
        extreme = np.inf if dtype.kind == "f" else np.iinfo(dtype).max
    body = [
        Load("a", x, at(("i", 1))),
        op("p", "index", "i", dtype=I8),
        Combine(rule, ("s", "at"), ("a", "p")),
    ]
    accs = [Acc("s", dtype, Const(extreme, dtype)), Acc("at", I8, Const(0, I8))]
    nest = Nest([Axis("i", N, "reduce")], body, accs, [Store(z, at(), "at")])
    program = Program("position", [x, z], [nest], ("n",))
    calls = []
    for size in (0, 1, 5000, 20011):
        values = RNG.integers(0, 100, size).astype(dtype)
        calls += [([values.copy()], {"n": size}), ([np.full(size, extreme).astype(dtype)], {"n": size})]
        if dtype.kind == "f" and size:
            values[[size // 2, size - 1]] = np.nan
            calls.append(([values], {"n": size}))
    (found,) = agree_at_each(program, calls)
    assert "search" in str(nest.schedule)
    if dtype.kind == "f":
        assert found[0] == 20011 // 2
