"""What an object is known by: two programs that share a cache never tell each other's lines."""

from __future__ import annotations

import json
import linecache
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracejit as tj
from checks.cases import Case, all_cases, drawn_ops
from checks.levels import derived
from checks.loop_programs import PROGRAMS
from tracejit.compiler import cache, identity, pipeline
from tracejit.core.dim import Assumptions, Dim
from tracejit.core.ir.graph import Graph
from tracejit.core.ir.graph import walk as walk_graph
from tracejit.core.op import OPS, ops
from tracejit.core.settings import settings
from tracejit.core.spec import TensorSpec
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.trace import trace
from tracejit.ops.lowering import Callback

SOURCE = Path(tj.__file__).resolve().parent.parent
SQUARE, LARGE = (TensorSpec((n, n), "float64") for n in (8, 32))
HALF = TensorSpec((8, 8), "float16")
ROWS = TensorSpec((Dim.of("n"), 3), "float64")
START = TensorSpec((2,), "int64")


def test_a_process_older_than_the_files_shares_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it compiles comes from code that is no longer what the files say: no other process must find it."""
    usual = identity.code_digest.__wrapped__
    as_it_is = usual()
    assert as_it_is == usual()
    monkeypatch.setattr(identity, "LOADED_AT", 0)
    assert len({as_it_is, usual(), usual()}) == 3


def loop_of(x: Tensor) -> Any:
    return tj.fori_loop(0, 5000, lambda i, y: y * 0.5 + x, x)


def many(n: Any, x: Tensor) -> Any:
    return tj.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * 0.5), (n * 0, x))


#: Calls of ops whose arguments are not drawn from samples, and with sizes that are known only when they run.
CALLS: dict[str, tuple[Callable[..., Any], tuple[TensorSpec, ...]]] = {
    "cholesky": (ops.cholesky, (SQUARE,)),
    "cholesky_pullback": (ops.cholesky_pullback, (HALF, HALF)),
    "solve": (ops.solve, (SQUARE, SQUARE)),
    "triangular_solve": (ops.triangular_solve, (SQUARE, SQUARE)),
    "inverse": (ops.inverse, (SQUARE,)),
    "det": (lambda a: [ops.det(a)], (LARGE,)),
    "slogdet": (ops.slogdet, (LARGE,)),
    "loop": (many, (TensorSpec((), "int64"), TensorSpec((3,), "float64"))),
    "dynamic_slice": (lambda x, s: ops.dynamic_slice(x, s, sizes=(2, 2)), (ROWS, START)),
    "dynamic_update_slice": (ops.dynamic_update_slice, (ROWS, TensorSpec((2, 2), "float64"), START)),
    "window_add": (ops.window_add, (ROWS, TensorSpec((2, 2), "float64"), START)),
    "recomputed": (tj.checkpoint(loop_of), (TensorSpec((3,), "float64"),)),
}


def fails_or_polls(graph: Graph) -> bool:
    return bool(pipeline.lower_graph(graph).messages)


def declared(graph: Graph) -> bool:
    return any(node.op.names_line for _, node in walk_graph(graph))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", all_cases(("float64",)), ids=str)
def test_an_op_whose_code_may_fail_says_so(case: Case):
    graph = trace(case, case.specs).graph
    assert not fails_or_polls(graph) or declared(graph)
    assert not cache.names_other_lines(pipeline.build(graph), graph)


@pytest.mark.parametrize("name", CALLS)
def test_an_op_that_needs_matrices_or_graphs_says_so(name: str):
    f, specs = CALLS[name]
    graph = trace(f, specs, assumptions=Assumptions({"n": 5})).graph
    assert fails_or_polls(graph)
    assert any(node.op.name == name and node.op.names_line for _, node in walk_graph(graph))
    assert not cache.names_other_lines(pipeline.build(graph), graph)


def test_every_op_that_may_fail_is_tried():
    failing = {op.name for op in OPS.values() if "may_fail" in op.traits and op.lower is not None}
    in_python = {n for n in failing if isinstance(OPS[n].lower, Callback) or "prints" in OPS[n].traits}
    assert failing - in_python <= {op.name for op in drawn_ops()} | set(CALLS)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("what", ["value", "gradient", "second"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_name_no_line_that_their_key_does_not_hold(name: str, what: str):
    if what != "value" and what not in PROGRAMS[name].orders:
        return
    source = trace(PROGRAMS[name].f, PROGRAMS[name].specs, name).graph
    graph = derived(source, what)
    assert graph is not None
    assert not cache.names_other_lines(pipeline.build(graph), graph)


def test_an_op_that_forgets_to_say_so_is_not_shared(monkeypatch: pytest.MonkeyPatch, cache_dir: Path):
    with settings(cache=True):  # the kernels, where no test before has made them
        cache.compiled(trace(ops.cholesky, (TensorSpec((3, 3), "float64"),)).graph)
    known = set(cache_dir.rglob("*.tjo"))
    monkeypatch.setattr(OPS["cholesky"], "names_line", False)
    graph = trace(ops.cholesky, (SQUARE,)).graph
    with settings(cache=True):
        made = cache.compiled(graph)
        assert cache.names_other_lines(made, graph)
        assert cache.compiled(graph) is not made
    assert set(cache_dir.rglob("*.tjo")) == known


PROGRAM = """
import json, sys
import numpy as np
import tracejit as tj

A = -np.eye(6)
V = np.arange(6.0)

{blank}

def factor(a):
    return tj.linalg.cholesky(a)

def solved(a):
    return tj.linalg.solve(a * 0.0, a)

def taken(a):
    return tj.gather(a, tj.cast(a[:, 0] - 7.0, tj.int64))

def held(a):
    tj.debugging.assert_equal(a, a + 1.0, message="unlike")
    return a

def backward(a):
    return tj.grad(lambda b: tj.reduce_sum(tj.linalg.cholesky(b)))(a)

found = {{}}
for f in (factor, solved, taken, held, backward):
    try:
        tj.function(f)(tj.constant(A, tj.float64))
    except Exception as error:
        found[f.__name__] = str(error)
json.dump(found, sys.stdout)
"""


def failures_of(file: Path, text: str, cache: Path) -> dict[str, str]:
    file.write_text(text, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "TRACEJIT_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_two_programs_with_one_cache_tell_their_own_lines(tmp_path: Path, cache_dir: Path):
    wanted = {"factor": "cholesky(a)", "solved": "solve(", "taken": "gather(", "held": "assert_equal("}
    wanted["backward"] = "cholesky(b)"
    for name, blank in (("first.py", ""), ("second.py", "\n" * 7)):
        file, text = tmp_path / name, PROGRAM.format(blank=blank)
        found = failures_of(file, text, cache_dir)
        assert set(found) == set(wanted)
        for function, line in wanted.items():
            number = next(n for n, source in enumerate(text.splitlines(), 1) if line in source)
            assert f"{file}:{number}" in found[function], (function, found[function])
    assert list(cache_dir.rglob("*.tjo"))


def test_code_of_other_settings_is_never_found():
    """Under ``fastmath`` x * 0 is 0, without it NaN of NaN, in whatever order they are asked for."""

    def f(x):
        return x * 0.0

    nan = tj.constant([float("nan")])
    once = tj.function(f)
    for fast in (True, False, True):
        with settings(fastmath=fast):
            for g in (once, tj.function(f)):
                assert (g(nan).numpy() == 0.0).all() == fast


def test_code_of_an_archive_is_told_by_the_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "packed.zip"
    monkeypatch.setattr(identity, "__file__", str(archive / "tracejit" / "compiler" / "identity.py"))
    digests = []
    for text in ("first", "first", "second one"):
        archive.write_text(text, encoding="utf-8")
        os.utime(archive, (1000, 1000))
        digests.append(identity.code_digest.__wrapped__())
    assert digests[0] == digests[1] != digests[2]


def test_programs_in_folders_whose_names_are_no_text(tmp_path: Path) -> None:
    """On Linux a name is bytes; Python has a half of a surrogate pair for each that is no UTF-8."""
    file, module = "/caf\udce9/program.py", types.ModuleType("program")
    source = "def f(x):\n    while x < 9.0:\n        tj.debugging.assert_less(x, 5.0)\n        x += 1.0\n    return x\n"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    module.tj = tj  # type: ignore[attr-defined]
    exec(compile(source, file, "exec"), module.__dict__)
    artifact = tj.export(module.f, ["f64"], name="f", debug=True)
    tj.draw(tj.function(module.f), 1.0).save(tmp_path / "graph.svg")
    for call in (tj.function(module.f), artifact):
        with pytest.raises(AssertionError, match=re.escape(f"{file}:3")):
            call(1.0)
