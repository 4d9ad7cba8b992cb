"""Modules compiled in several parts at once: the same results, whatever the number of parts or threads."""

from __future__ import annotations

import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import tracejit as tj
from tracejit.compiler import cache, kernels, pipeline
from tracejit.compiler.codegen import llvm, parts, workers
from tracejit.compiler.codegen.machines import Unit
from tracejit.runtime import cpu, elf

RNG = np.random.default_rng(3)


def work(x, w):
    """Products, a loop, a branch, reductions and elementary functions, and all derivatives."""
    with tj.GradientTape() as tape:
        tape.watch((x, w))
        y = tj.tanh(x @ w) + tj.math.erf(x[:, :1])
        y = tj.fori_loop(0, 3, lambda i, y: tj.sin(y) * tj.nn.softmax(y), y)
        y = tj.cond(tj.reduce_sum(y) > 0.0, lambda: y * 2.0, lambda: tj.exp(y))
        loss = tj.reduce_mean(y**2) + tj.reduce_max(tj.math.log1p(tj.abs(y)))
    return loss, tape.gradient(loss, (x, w))


def flat(result) -> list[np.ndarray]:
    return [y for x in result for y in flat(x)] if isinstance(result, (tuple, list)) else [np.asarray(result)]


@pytest.fixture
def arguments():
    return RNG.normal(size=(9, 33)), RNG.normal(size=(33, 20))


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """Nothing is found in memory or on disk."""
    monkeypatch.setattr(cache, "_objects", {})
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize("most", [2, 3, 16])
def test_parts_are_all_of_the_module(arguments, most):
    _, unit = pipeline.source(tj.function(work).graph(*arguments))
    texts = [part.text for part in parts.split(unit, most)]
    assert 1 < len(texts) <= 2 * most
    defined = [re.findall(r"^define (?:hidden )?\S+ (@\S+?)\(", t, re.M) for t in texts]
    names = sorted(n for d in defined for n in d if n.startswith(("@.k", '@"')))
    assert names == sorted(re.findall(r'^define .*?(@(?:\.k\d+|"\w+"))\(', unit.text, re.M))
    assert max(map(len, texts)) < len(unit.text)


@pytest.mark.parametrize("most", [2, 5])
def test_every_part_knows_what_its_helpers_call(most):
    """Loops that threads share are called by helpers, which go wherever they are needed."""
    x, w = RNG.normal(size=(900, 330)), RNG.normal(size=(330, 200))
    _, unit = pipeline.source(tj.function(work).graph(x, w))
    texts = [part.text for part in parts.split(unit, most)]
    assert len(texts) > 1 and "@loops" in unit.text
    for text in texts:
        known = set(re.findall(r"^(?:define|declare) .*?(@[\w.]+)\(", text, re.M))
        assert set(re.findall(r"call .*?(@(?:loops|\.k)\w*)\(", text)) <= known


@pytest.mark.parametrize("most", [1, 2, 5])
def test_results_do_not_depend_on_parts(arguments, fresh, monkeypatch, most):
    expected = flat(work(*map(tj.constant, arguments)))
    monkeypatch.setattr(parts, "processors", lambda: most)
    found = flat(tj.function(work)(*arguments))
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_one_symbol_is_seen_outside(arguments, monkeypatch):
    monkeypatch.setattr(parts, "processors", lambda: 3)
    made = pipeline.build(tj.function(work).graph(*arguments))
    parsed = elf.parse(made.image)
    assert [s.name for s in parsed.symbols if s.is_global] == [made.entry]


@pytest.mark.parametrize("name", ["gemm_f32", "gemm_f64"])
def test_library_kernels_come_in_parts_too(name):
    _, unit = kernels.kernel_source(name, cpu.host())
    units = parts.split(unit, 4)
    assert [part.opt for part in units] == [unit.opt] * 4 + [0]
    assert sum(part.text.count("\ndefine ") for part in units) == unit.text.count("\ndefine ")
    assert "fadd" not in units[-1].text


def test_what_only_directs_is_compiled_plainly_by_one_core_too():
    _, unit = kernels.kernel_source("gemm_f32", cpu.host())
    assert [part.opt for part in parts.split(unit, 1)] == [unit.opt, 0]


def test_programs_whose_functions_direct_threads_and_products_leave_these_to_the_plainest_code():
    def step(x, w):
        for _ in range(3):
            x = tj.tanh(x @ w)
        return tj.reduce_sum(x)

    x, w = RNG.normal(size=(900, 300)), RNG.normal(size=(300, 300))
    _, unit = pipeline.source(tj.function(lambda x, w: tj.value_and_grad(step, 1)(x, w)).graph(x, w))
    *good, plain = parts.split(unit, 1)
    assert (plain.opt, plain.ready) == (0, True) and [part.opt for part in good] == [1]
    assert "call void %" in plain.text and "fmul" not in plain.text


def test_what_the_pool_calls_is_compiled_plainly_whoever_hands_it_over():
    """The caller folds what the jobs have left, so it does not only direct."""

    def sums(x, y):
        return tj.reduce_sum(tj.exp(x)), tj.reduce_max(tj.sin(y) * 2.0), tj.reduce_sum(tj.cos(y) * x)

    x, y = RNG.normal(size=(2, 400_000))
    _, unit = pipeline.source(tj.function(sums).graph(x, y))
    *good, plain = parts.split(unit, 2)
    jobs = re.compile(r"^define .*@loops\d+\.job\(", re.M)
    assert jobs.search(plain.text) and not any(jobs.search(part.text) for part in good)


def test_short_modules_are_one():
    _, unit = pipeline.source(tj.function(lambda x: x * 2.0 + 1.0).graph(np.ones(4)))
    assert parts.split(unit, 8) == [unit]


def test_parts_are_balanced():
    groups = parts.balanced(["a" * n for n in (9, 8, 7, 3, 2, 1)], 3)
    assert [sum(map(len, g)) for g in groups] == [10, 10, 10]
    assert parts.balanced(["x"], 4) == [["x"]]


def test_a_function_may_have_the_name_of_a_kernel():
    def k0(x):
        return tj.exp(x) * 2.0

    np.testing.assert_allclose(np.asarray(tj.function(k0)(np.zeros(3))), 2.0)


def test_many_threads_make_what_one_makes():
    """Modules of different contexts, at once and many times: the same bytes."""
    _, unit = pipeline.source(tj.function(work).graph(RNG.normal(size=(9, 33)), RNG.normal(size=(33, 20))))
    texts = [part.text for part in parts.split(unit, 6)]
    expected = [llvm.compile_units([(Unit(t), None)])[0] for t in texts]
    found: list[list[bytes]] = []

    def often() -> None:
        found.extend(llvm.compile_units([(Unit(t), None) for t in texts]) for _ in range(2))

    threads = [threading.Thread(target=often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_errors_of_a_part_are_raised_where_it_was_asked_for():
    good, bad = Unit("define i32 @f() { ret i32 1 }"), Unit("define nonsense")
    with pytest.raises(llvm.CodegenError, match="does not parse"):
        llvm.compile_units([(good, None), (bad, None), (good, None)])


def test_another_llvmlite_keeps_its_lock():
    def known():
        return None

    assert workers.without_lock(known, []) is known


FORKED = """
import os, numpy as np, tracejit as tj
tj.configure(cache=False)
a = np.ones((40, 40), np.float32)
f = tj.function(lambda a: tj.exp(a @ a * -1.0) + 1.0)
from tracejit.compiler import kernels
kernels.begin_kernel("gemm_f32")
kernels._begun["gemm_f32"].wait()
child = os.fork()
if not child:
    ok = np.allclose(np.asarray(f(a)), 1.0)
    os._exit(0 if ok else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert np.allclose(np.asarray(f(a)), 1.0)
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork here")
def test_a_child_makes_the_kernel_that_its_parent_began():
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
