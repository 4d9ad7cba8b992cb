"""Each pass on loop programs alone: the program before and after it, and that its results stay bit for bit.

The programs are written as text; what a pass makes of them is in ``tests/graphs``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tracejit.compiler.loopir import interpreter as loopinterp
from tracejit.compiler.loopir.ir import Program
from tracejit.compiler.loopir.numbering.values import number_values
from tracejit.compiler.loopir.parser import parse
from tracejit.compiler.loopir.passes.arithmetic.factors import fold_factors
from tracejit.compiler.loopir.passes.assign_buffers import assign_buffers, forward_to_rows
from tracejit.compiler.loopir.passes.dce import drop_dead
from tracejit.compiler.loopir.passes.fuse import fuse
from tracejit.compiler.loopir.passes.piece_readers import read_through_pieces
from tracejit.compiler.loopir.passes.pieces import join_pieces
from tracejit.compiler.loopir.passes.recompute import recompute
from tracejit.compiler.loopir.passes.row_fusion import fuse_rows
from tracejit.compiler.loopir.passes.rows.row_sums import sum_by_rows
from tracejit.compiler.loopir.passes.schedule import Target, schedule
from tracejit.compiler.loopir.passes.short_axes import write_out_short_axes
from tracejit.compiler.loopir.text import to_text
from tracejit.compiler.loopir.verifier import verify
from tracejit.core.dim import evaluate
from tracejit.core.settings import settings

Show = Callable[[Callable[[Program], Program], str], None]


@pytest.fixture
def show(golden: Callable[..., None]) -> Show:
    """Return ``show(run, text)``: run a pass on a program and compare both texts and both results."""

    def show(run: Callable[[Program], Program], text: str) -> None:
        text = text.strip("\n")
        before = valid(parse(text))
        program = valid(run(parse(text)))
        after = to_text(program)
        assert after != text, "the pass did nothing"
        golden(f"{text}\n\n---- {run.__name__} ----\n\n{after}", "loops")
        if not before.moves:  # until they are carried out, a program with moves computes nothing
            for a, b in zip(results(program), results(before), strict=True):
                np.testing.assert_array_equal(a, b)

    return show


def valid(program: Program) -> Program:
    verify(program)
    return program


def results(program: Program) -> list[np.ndarray]:
    """What the program computes from random inputs, whole numbers so that the order of sums does not show."""
    sizes = dict.fromkeys(program.atoms, 5)
    random = np.random.default_rng(0)
    inputs = [
        random.integers(-4, 5, evaluate(b.size, sizes)).astype(b.dtype)
        for b in program.buffers
        if b.kind == "input"
    ]
    return loopinterp.run(program, inputs, sizes)[0]


CHAIN = """
program chain(n) -> (n)
  input x: float64[n] slot 0
  temp t: float64[n]
  output y: float64[n] slot 0
  for i < n
    v0 = x[i]
    v1: float64 = sin(v0)
    t[i] = v1
  for j < n
    v2 = t[j]
    v3 = x[j]
    v4: float64 = mul(v2, v3)
    y[j] = v4
"""


def test_fuse_joins_nests_over_the_same_axes(show: Show):
    show(fuse, CHAIN)


def test_fuse_puts_what_reads_a_sum_into_the_tail(show: Show):
    show(
        fuse,
        """
program mean() -> (3)
  input x: float64[12] slot 0
  temp t: float64[3]
  output y: float64[3] slot 0
  for i < 3, k < 4 reduce with a: float64 = 0x0.0p+0
    v0 = x[(4)*i + k]
    a <- add(v0)
  then:
    t[i] = a
  for j < 3
    v1 = t[j]
    v2: float64 = mul(v1, 0x1.0000000000000p-2)
    y[j] = v2
""",
    )


def test_fuse_keeps_a_stencil_behind_what_it_reads():
    text = CHAIN.replace("v2 = t[j]", "v2 = t[(-1)*j + <n> + -1]").replace(" + <n> + -1", " + <n-1>")
    assert to_text(fuse(parse(text.strip()))) == text.strip()


def test_number_values_loads_and_computes_once(show: Show):
    show(
        number_values,
        """
program twice() -> (4)
  input x: float64[4] slot 0
  temp t: float64[4]
  output y: float64[4] slot 0
  for i < 4
    v0 = x[i]
    v1: float64 = exp(v0)
    t[i] = v1
    v2 = t[i]
    v3 = x[i]
    v4: float64 = exp(v3)
    v5: float64 = add(v2, v4)
    y[i] = v5
""",
    )


def test_fold_factors_multiplies_by_a_literal_once(show: Show):
    with settings(fastmath=True):
        show(
            fold_factors,
            """
program forces() -> (4), (4)
  input x: float64[4] slot 0
  input m: float64[4] slot 1
  output y: float64[4] slot 0
  output z: float64[4] slot 1
  for i < 4
    v0 = x[i]
    v1 = m[i]
    v2: float64 = mul(v1, v1)
    v3: float64 = neg(v2)
    v4: float64 = mul(-0x1.0000000000000p-1, v3)
    v5: float64 = mul(v4, v1)
    v6: float64 = mul(v5, v0)
    v7: float64 = add(v6, v6)
    y[i] = v7
    v8: float64 = sub(v0, v1)
    v9: float64 = mul(v5, v8)
    v10: float64 = add(v9, v9)
    z[i] = v10
""",
        )


def test_number_values_leaves_running_values_of_a_scan_alone():
    text = """
program running() -> (4)
  output y: float64[4] slot 0
  for i < 4 scan with a: float64 = 0x1.0000000000000p+0
    v0: float64 = add(a, a)
    a <- add(v0)
    v1: float64 = add(a, a)
    y[i] = v1
""".strip()
    assert to_text(number_values(parse(text))) == text


def test_drop_dead_removes_what_nobody_reads(show: Show):
    show(
        drop_dead,
        """
program dead() -> (4)
  input x: float64[4] slot 0
  temp t: float64[4]
  temp u: float64[4]
  output y: float64[4] slot 0
  for i < 4 reduce with a: float64 = 0x0.0p+0, b: float64 = 0x0.0p+0
    v0 = x[i]
    v1: float64 = exp(v0)
    t[i] = v1
    a <- add(v1)
    b <- add(v0)
  then:
    u[0] = a
    y[0] = b
  for j < 4
    v2 = x[j]
    u[j] = v2
  for k < 3
    v3 = x[k]
    y[k + 1] = v3
""",
    )


def test_recompute_works_cheap_elements_out_where_they_are_read(show: Show):
    show(
        recompute,
        """
program stencil() -> (299)
  input x: float64[300] slot 0
  temp t: float64[300]
  output y: float64[299] slot 0
  for i < 300
    v0 = x[i]
    v1: float64 = mul(v0, 0x1.0000000000000p+1)
    t[i] = v1
  for j < 299
    v2 = t[j]
    v3 = t[j + 1]
    v4: float64 = sub(v3, v2)
    y[j] = v4
""",
    )


def test_recompute_starts_from_what_is_dear_and_kept(show: Show):
    """``1 + tanh(x)`` is worked out from ``tanh(x)`` where both are stored; the exponential stays: nothing keeps it."""
    show(
        recompute,
        """
program kept() -> (300)
  input x: float64[300] slot 0
  temp t: float64[300]
  temp u: float64[300]
  temp e: float64[300]
  output y: float64[300] slot 0
  for i < 300
    v0 = x[i]
    v1: float64 = tanh(v0)
    t[i] = v1
    v2: float64 = add(0x1.0000000000000p+0, v1)
    u[i] = v2
    v3: float64 = exp(v0)
    v4: float64 = add(v3, v1)
    e[i] = v4
  for j < 300
    v5 = t[j]
    v6 = u[j]
    v7 = e[j]
    v8: float64 = mul(v5, v6)
    v9: float64 = mul(v8, v7)
    y[j] = v9
""",
    )


def test_fuse_rows_walks_each_row_once(show: Show):
    show(
        fuse_rows,
        """
program rows() -> (5, 16)
  input x: float64[80] slot 0
  temp s: float64[5]
  temp t: float64[80]
  output y: float64[80] slot 0
  for i < 5, k < 16 reduce with a: float64 = 0x0.0p+0
    v0 = x[(16)*i + k]
    v1: float64 = exp(v0)
    t[(16)*i + k] = v1
    a <- add(v1)
  then:
    s[i] = a
  for j < 5, l < 16
    v2 = t[(16)*j + l]
    v3 = s[j]
    v4: float64 = div(v2, v3)
    y[(16)*j + l] = v4
""",
    )


def test_forward_to_rows_makes_temps_rows_of_what_they_fill(show: Show):
    show(
        forward_to_rows,
        """
program filled() -> (3, 2)
  input x: float64[2] slot 0
  temp t: float64[2]
  output y: float64[6] slot 0
  move t to y[(2)*n]
  loop n until 3 fill y
  do:
    for i < 2
      v0 = x[i]
      t[i] = v0
""",
    )


def test_assign_buffers_gives_a_place_again_when_its_temp_has_ended(show: Show):
    show(
        assign_buffers,
        """
program places() -> (4)
  input x: float64[4] slot 0
  temp t: float64[4]
  temp u: float64[4]
  temp w: float64[4]
  output y: float64[4] slot 0
  for i < 4
    v0 = x[i]
    t[i] = v0
  for j < 4
    v1 = t[j]
    u[(-1)*j + 3] = v1
  for k < 4
    v2 = u[k]
    w[(-1)*k + 3] = v2
  for l < 4
    v3 = w[l]
    y[(-1)*l + 3] = v3
""",
    )


def test_assign_buffers_lets_temps_that_swap_live_together(show: Show):
    show(
        assign_buffers,
        """
program swapped() -> (2)
  input x: float64[2] slot 0
  temp t: float64[2]
  temp u: float64[2]
  temp w: float64[2]
  output y: float64[2] slot 0
  for i < 2
    v0 = x[i]
    t[i] = v0
  loop n until 3 swap t/u
  do:
    for j < 2
      v1 = t[j]
      v2: float64 = sin(v1)
      u[j] = v2
  for k < 2
    v3 = t[k]
    w[k] = v3
  for l < 2
    v4 = w[l]
    y[l] = v4
""",
    )


def test_schedule_says_how_each_nest_runs(golden: Callable[..., None]):
    text = """
program plans() -> (64, 64)
  input x: float64[4096] slot 0
  output y: float64[4096] slot 0
  output z: float64[1] slot 1
  for i < 64, j < 64
    v0 = x[(64)*i + j]
    v1: float64 = mul(v0, v0)
    y[(64)*i + j] = v1
  for k < 64, l < 64
    v2 = x[(64)*l + k]
    y[(64)*k + l] = v2
  for m < 4096 reduce with a: float64 = 0x0.0p+0
    v3 = x[m]
    a <- add(v3)
  then:
    z[0] = a
""".strip()
    targets = {"512 bits": Target(), "128 bits": Target(16, False, False, False, False)}
    found = [f"---- {name} ----\n\n{to_text(schedule(parse(text), t))}" for name, t in targets.items()]
    golden("\n\n".join([text, *found]), "loops")


def test_short_axes_are_written_out(show: Show):
    show(
        write_out_short_axes,
        """
program lengths(n) -> (n)
  input x: float64[3*n] slot 0
  output y: float64[n] slot 0
  for i < n, k < 3 reduce with a: float64 = 0x0.0p+0
    v0 = x[(3)*i + k]
    v1: float64 = mul(v0, v0)
    a <- add(v1)
  then:
    y[i] = a
""",
    )


def test_sums_over_other_axes_join_what_makes_their_elements(show: Show):
    show(
        fuse,
        """
program both() -> (40), (30)
  input x: float64[40] slot 0
  input y: float64[30] slot 1
  temp t: float64[1200]
  output r: float64[40] slot 0
  output c: float64[30] slot 1
  for i < 40, j < 30
    v0 = x[i]
    v1 = y[j]
    v2: float64 = mul(v0, v1)
    t[(30)*i + j] = v2
  for k < 40, l < 30 reduce with a: float64 = 0x0.0p+0
    v3 = t[(30)*k + l]
    a <- add(v3)
  then:
    r[k] = a
  for m < 40 reduce, o < 30 with b: float64 = 0x0.0p+0
    v4 = t[(30)*m + o]
    b <- add(v4)
  then:
    c[o] = b
""",
    )


IMAGES = """
program images() -> (12), (4)
  input x: float32[{size}] slot 0
  temp m: float32[{size}]
  output y: float32[12] slot 0
  output z: float32[4] slot 1
  for i < 16 reduce, j < 1024 reduce, c < 4 with s: float32 = {start}, h: float32 = -inf
    v0 = x[(4096)*i + (4)*j + c]
    v1: float32 = mul(v0, v0)
    m[{stored}] = v1
    s <- add(v1)
    h <- max(v0)
  then:
    v2: float32 = mul(s, 0x1.0000000000000p-2)
    y[(3)*c] = v2
    z[c] = h
  for k < 4, o < 2
    v3 = m[(4)*k + o]
    y[(3)*k + o + 1] = v3
"""


def test_sums_down_columns_are_done_row_by_row(show: Show):
    show(sum_by_rows, IMAGES.format(size=65536, start="0x0.0p+0", stored="(4096)*i + (4)*j + c"))


@pytest.mark.parametrize("start, stored", [("0x1.0p+0", "(4096)*i + (4)*j + c"), ("0x0.0p+0", "(4)*j + c")])
def test_sums_that_begin_elsewhere_and_rows_that_write_the_same_place_stay(start: str, stored: str):
    text = to_text(parse(IMAGES.format(size=65536, start=start, stored=stored).strip()))
    assert to_text(sum_by_rows(parse(text))) == text


ROLLED = """
program rolled() -> (600)
  input x: float64[600] slot 0
  temp t: float64[600]
  output y: float64[{size}] slot 0
  for i < 599
    v0 = x[i]
    t[i + 1] = v0
  once
    v1 = x[599]
    t[0] = v1
  for j < {size}
    v2 = t[j{shift}]
    v3 = x[j]
    v4: float64 = sub(v2, v3)
    y[j] = v4
"""


def test_arrays_made_of_pieces_are_done_box_by_box(show: Show):
    show(join_pieces, ROLLED.format(size=600, shift=""))


def test_readers_of_pieces_read_their_sources(show: Show):
    show(read_through_pieces, ROLLED.format(size=598, shift=" + 1"))


def test_pieces_whose_sources_change_stay():
    text = ROLLED.format(size=598, shift="").replace("input x: float64[600] slot 0", "temp x: float64[600]")
    text = text.replace("  for j < 598", "  once\n    x[5] = 0x0.0p+0\n  for j < 598").strip()
    assert to_text(read_through_pieces(parse(text))) == text
