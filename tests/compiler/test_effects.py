"""What statements say of themselves, over every program there is: names, and how they are renamed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checks.loop_programs import PROGRAMS
from tracejit.compiler import pipeline
from tracejit.compiler.loopir.effects import OUTSIDE, effects
from tracejit.compiler.loopir.ir import walk
from tracejit.compiler.loopir.parser import parse
from tracejit.compiler.loopir.text import to_text
from tracejit.compiler.loopir.verifier import verify
from tracejit.core.tracing.trace import trace

PROGRAM = """
program sums(n) -> (n)
  input x: float64[n] slot 0
  temp t: float64[n]
  output y: float64[n] slot 0
  for i < n
    v0 = x[i]
    t[i] = v0
  v1 = t[0]
  loop k until <n> trips c binds m
  do:
    for j < n
      v2 = t[j]
      v3: float64 = add(v2, v1)
      t[j] = v3
  for l < m
    v4 = t[l]
    y[l] += v4
  host ["print", [], {}](t[0]) sizes 1
"""


def test_effects_of_whole_statements_leave_out_what_is_inside():
    program = parse(PROGRAM.strip())
    t, y = (next(b for b in program.buffers if b.name == name) for name in "ty")
    _, load, loop, last, host = map(effects, program.body)
    assert load.reads == {t} and load.writes == {"v1"}
    assert loop.reads == {t, "v1", ("size", "n")} and loop.writes == {t, "c", ("size", "m")}
    assert last.reads == {t, y, ("size", "m")} and last.writes == {y}
    assert host.reads == {t} and host.writes == {OUTSIDE}
    assert load.conflicts(loop) and loop.conflicts(last) and not load.conflicts(last)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_valid_under_other_names(name: str):
    program = pipeline.lower_graph(trace(PROGRAMS[name].f, PROGRAMS[name].specs, name).graph)
    taken = {n for s in walk(program.body) for n in (*s.uses(), *s.defines(), *s.introduces())}
    names = {n: f"other_{n}" for n in taken}
    other = replace(program, body=[s.renamed(names) for s in program.body])
    verify(other)
    assert all(n.startswith("other_") for s in walk(other.body) for n in s.uses())
    assert to_text(other).replace("other_", "") == to_text(program)


LOOKED_UP = """
program looked_up(n, k) -> (k)
  input x: float64[n] slot 0
  input i: int64[k] slot 1
  temp flag: bool[1]
  output y: float64[k] slot 0
  v0 = flag[0]
  fail 0 if v0 ()
  for j < k
    v1 = i[j]
    v2 = {x}[v1]
    y[j] = v2
"""


def test_places_in_what_may_be_empty_are_looked_up_behind_their_check():
    """In memory that has an element the nest may move in front of the check: its positions are kept inside."""
    checks, lookups = [], []
    for size in ("n", "n+1", "4"):
        text = LOOKED_UP.format(x="x").replace("float64[n]", f"float64[{size}]")
        _, check, lookup = map(effects, parse(text.strip()).body)
        checks.append(check)
        lookups.append(lookup)
    assert [c.conflicts(v) for c, v in zip(checks, lookups, strict=True)] == [True, False, False]
    for nest in ("for j < k\n    v2 = x[j]\n    y[j] = v2", "for j < k\n    y[j] = 1.0"):
        program = parse(f"{LOOKED_UP.strip().split('  for')[0]}  {nest}")
        _, check, other = map(effects, program.body)
        assert not check.conflicts(other)
