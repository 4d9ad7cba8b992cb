"""Schedules, as text: which loops merge, which axis runs in lanes, what is unrolled."""

from __future__ import annotations

import numpy as np
import pytest

from tracejit.compiler.loopir.ir import Combine, Compute, If, Load, Nest, Program, Store
from tracejit.compiler.loopir.operands import Acc, Axis, Buffer, Const, Index
from tracejit.compiler.loopir.passes.schedule import Schedule, Target, plan, schedule
from tracejit.core.dim import Dim, Size

F8, F4, I8 = np.dtype("f8"), np.dtype("f4"), np.dtype("i8")
N, M = Dim.of("n"), Dim.of("m")
WIDE, AVX2, SSE = Target(), Target(32, has_masks=False, has_permute=False), Target(16, has_fma=False)


def buffer(name: str, dtype: np.dtype = F8, kind: str = "temp", size: Size = 1000) -> Buffer:
    return Buffer(name, dtype, size, kind)


def at(**terms: Size) -> Index:
    return Index(0, tuple(terms.items()))


def pointwise(axes: dict[str, Size], *places: Index, dtype: np.dtype = F8) -> Nest:
    """Load at all places but the last, store at the last."""
    body: list = [Load(f"v{p}", buffer("x", dtype), place) for p, place in enumerate(places[:-1])]
    body.append(Store(buffer("z", dtype), places[-1], "v0"))
    return Nest([Axis(name, size) for name, size in axes.items()], body)


def summed(
    axes: dict[str, tuple[Size, str]], place: Index, out: Index, dtype: np.dtype = F8, rule: str = "add"
) -> Nest:
    return Nest(
        [Axis(name, size, kind) for name, (size, kind) in axes.items()],
        [Load("v", buffer("x", dtype), place), Combine(rule, ("s",), ("v",))],
        [Acc("s", dtype, Const(0, dtype))],
        [Store(buffer("z", dtype), out, "s")],
    )


def text(nest: Nest, target: Target = WIDE) -> str:
    return str(plan(nest, target))


def test_contiguous_axes_merge_also_with_symbolic_sizes() -> None:
    assert text(pointwise({"i": 50, "j": 3}, at(i=3, j=1), at(i=3, j=1))) == "i*j |, vector j 8x2"
    assert text(pointwise({"i": N, "j": M}, at(i=M, j=1), at(i=M, j=1))) == "i*j |, vector j 8x2"
    three = pointwise({"i": N, "j": M, "k": 5}, at(i=M * 5, j=5, k=1), at(i=M * 5, j=5, k=1))
    assert text(three) == "i*j*k |, vector k 8x2"
    (line,) = plan(three, WIDE).lines
    assert line.size == N * M * 5


def test_axes_that_one_access_does_not_cross_stay_apart() -> None:
    broadcast = pointwise({"i": N, "j": M}, at(i=M, j=1), at(j=1), at(i=M, j=1))
    assert text(broadcast) == "i j |, vector j 8x2"
    sliced = pointwise({"i": 40, "j": 30}, at(i=50, j=1), at(i=30, j=1))
    assert text(sliced) == "i j |, vector j 8x2"


def test_the_vector_axis_follows_the_consecutive_accesses() -> None:
    transposed = pointwise({"i": N, "j": M}, at(i=1, j=N), at(i=1, j=N))
    assert text(transposed) == "j*i |, vector i 8x2"
    assert text(pointwise({"i": 64, "j": 64}, at(i=1, j=64), at(i=1, j=64), at(i=64, j=1))).startswith(
        "j i |, vector i"
    )


def test_what_many_rows_have_in_common_does_not_make_them_lanes() -> None:
    reduced = {"i": (60, "reduce"), "j": (1000, "reduce")}
    rows = summed(reduced, at(i=1000, j=1), Index(0, ()))
    rows.body[1:1] = [Load(name, buffer("y"), at(i=1)) for name in "abc"]
    assert text(rows).startswith("| i j, vector j")


def test_axes_of_size_one_are_gone() -> None:
    found = plan(pointwise({"i": 1, "j": 40, "k": 1}, at(j=1), at(j=1)), WIDE)
    assert found.gone == ("i", "k") and [str(line) for line in found.lines] == ["j"]


@pytest.mark.parametrize(
    ("target", "dtype", "lanes"), [(WIDE, F8, 8), (WIDE, F4, 16), (AVX2, F4, 8), (SSE, F8, 2)]
)
def test_lanes_fill_a_register(target: Target, dtype: np.dtype, lanes: int) -> None:
    assert plan(pointwise({"i": N}, at(i=1), at(i=1), dtype=dtype), target).lanes == lanes


def test_lanes_follow_the_widest_type_and_short_sizes() -> None:
    mixed = pointwise({"i": N}, at(i=1), at(i=1), dtype=F4)
    mixed.body.insert(0, Compute("p", "index", ("i",), I8, I8))
    assert plan(mixed, WIDE).lanes == 8
    assert plan(pointwise({"i": 5}, at(i=1), at(i=1), dtype=F4), WIDE).lanes == 8
    assert plan(pointwise({"i": 3}, at(i=1), at(i=1)), WIDE).lanes == 4


def test_reductions() -> None:
    rows = summed({"i": (N, "parallel"), "k": (M, "reduce")}, at(i=M, k=1), at(i=1))
    assert text(rows) == "i | k, vector k 8x4, blocks of 16"
    assert (
        text(summed({"i": (N, "reduce"), "k": (M, "reduce")}, at(i=M, k=1), at()))
        == "| i*k, vector k 8x4, blocks of 16"
    )
    largest = summed({"i": (N, "parallel"), "k": (M, "reduce")}, at(i=M, k=1), at(i=1), rule="max")
    assert text(largest) == "i | k, vector k 8x4"
    assert "blocks" not in text(summed({"k": (16, "reduce")}, at(k=1), at()))


def test_sums_over_rows_keep_the_columns_in_lanes() -> None:
    columns = {"k": (N, "reduce"), "j": (M, "parallel")}
    assert text(summed(columns, at(k=M, j=1), at(j=1))) == "j | k, vector j 8x8, strips, blocks of 16"
    narrow = {"k": (N, "reduce"), "j": (100, "parallel")}
    assert text(summed(narrow, at(k=100, j=1), at(j=1))) == "j | k, vector j 8x8, blocks of 16"


def test_scans_stay_in_order() -> None:
    assert text(summed({"i": (N, "parallel"), "k": (M, "scan")}, at(i=M, k=1), at(i=1))) == "i | k"
    assert text(summed({"k": (N, "scan"), "j": (M, "parallel")}, at(k=M, j=1), at(j=1))).startswith(
        "j | k, vector j"
    )


def test_small_local_arrays_are_written_out() -> None:
    nest = pointwise({"i": 3, "j": 4}, at(i=4, j=1), at(i=4, j=1))
    nest.body[-1].buffer = buffer("z", kind="local", size=12)  # type: ignore[union-attr]
    assert text(nest) == "i j |, unrolled"
    nest.axes[0].size = 30
    assert "unrolled" not in text(nest)


def test_repeated_addresses_are_added_in_order() -> None:
    """Lanes only along what the loaded index does not depend on."""
    rows = Nest([Axis("i", N, "scan"), Axis("j", 64)], [
        Load("r", buffer("k", I8), at(i=1)), Load("v", buffer("x"), at(i=64, j=1)),
        Store(buffer("z"), at(r=64, j=1), "v", add=True),
    ])  # fmt: skip
    assert text(rows) == "i j |, vector j 8x2"
    single = Nest(
        [Axis("i", N)],
        [Load("r", buffer("k", I8), at(i=1)), Store(buffer("z"), at(r=1), Const(1.0, F8), add=True)],
    )
    assert text(single) == "i |"
    total = Nest(
        [Axis("i", N), Axis("j", M)],
        [Load("v", buffer("x"), at(i=M, j=1)), Store(buffer("z"), at(i=1), "v", add=True)],
    )
    assert text(total) == "i j |"


def test_nests_inside_nests_have_their_own() -> None:
    inner = summed({"k": (M, "reduce")}, at(i=M, k=1), at(i=1))
    outer = Nest([Axis("i", N)], [inner])
    program = Program("p", [], [If(Const(True, np.dtype(bool)), [outer], [])], ("n", "m"))
    assert schedule(program, WIDE) is program
    assert isinstance(inner.schedule, Schedule) and isinstance(outer.schedule, Schedule)
    assert (str(outer.schedule), str(inner.schedule)) == (
        "i |, parallel",
        "| k, vector k 8x4, blocks of 16",
    )


def test_a_tail_with_loops_leaves_the_body_its_lanes() -> None:
    nest = summed({"i": (N, "parallel"), "k": (M, "reduce")}, at(i=M, k=1), at(i=1))
    nest.tail.append(pointwise({"j": M}, at(i=M, j=1), at(i=M, j=1)))
    assert text(nest) == "i | k, vector k 8x4, blocks of 16"


def test_large_bodies_are_written_once() -> None:
    nest = pointwise({"i": N}, at(i=1), at(i=1))
    nest.body[1:1] = [Compute(f"w{p}", "add", ("v0", "v0"), F8, F8) for p in range(100)]
    assert text(nest) == "i |, vector i 8x2 masked"
    assert "masked" not in text(nest, AVX2)


def test_targets_from_feature_strings() -> None:
    assert Target.of("+avx2,+fma,-avx512f") == Target(32, True, False, False)
    assert Target.of("+sse4.2") == Target(16, False, False, False)
    assert Target.of("+avx2,+avx512bw,+avx512dq,+avx512f,+avx512vl,+fma") == Target()
