"""Library kernels that come with the package: what is made here, and taken only where it does."""

from __future__ import annotations

import json
import zlib

import numpy as np
import pytest

from compiler.test_matmul import product_of
from prebuilt import TABLES, tabulated
from tracejit.compiler import kernels, prebuilt
from tracejit.compiler.codegen import llvm
from tracejit.compiler.codegen.math.error_function import table_file
from tracejit.compiler.codegen.matmul import symbol
from tracejit.compiler.codegen.writing.kernel_calls import library_kernels
from tracejit.compiler.kernels import library_kernel
from tracejit.compiler.loopir.called_kernels import KERNELS, Kernel
from tracejit.compiler.loopir.ir import Call
from tracejit.compiler.loopir.operands import Buffer, Index, View
from tracejit.runtime import cpu, diskcache


def target(arch: str, *features: str) -> cpu.CpuTarget:
    return cpu.CpuTarget(arch, "host", ",".join(f"+{feature}" for feature in sorted(features)), "a model")


def call_of(function: str, kernel: Kernel, dtype: np.dtype) -> Call:
    """A call of a kernel with views of this dtype."""
    buffer = Buffer("x", dtype, 1, "input", 0)
    views = [View(buffer, Index(0), ())] * len(kernel.arguments)
    return Call(function, views, [1] * len(kernel.sizes))


V3 = cpu.baseline("x86-64-v3").enabled


def test_they_are_those_of_the_text():
    assert prebuilt._is_current(), "run `make prebuilt`: what writes the kernels has changed"


@pytest.mark.parametrize(("name", "level"), prebuilt.kept())
def test_they_are_what_is_made(name, level):
    """Bytes can be compared where the same LLVM makes them; whoever takes another one looks at results."""
    if json.loads(prebuilt.MANIFEST.read_bytes())["llvm"] != llvm.loaded_version():
        pytest.skip("made by another LLVM")
    kept = zlib.decompress(prebuilt.place(name, level).read_bytes())
    assert kept == kernels.made_kernel(name, cpu.baseline(level)).to_payload()


@pytest.mark.parametrize("function", TABLES)
def test_tables_are_what_is_made(function):
    assert table_file(function).read_bytes() == tabulated(function)


def test_machines_get_the_level_that_does_what_their_own_code_would():
    level = prebuilt.level_for
    assert (
        level("gemm_f32_shared", target("x86_64", *cpu.baseline("x86-64-v4").enabled, "vaes")) == "x86-64-v4"
    )
    assert level("gemm_f32_shared", target("x86_64", *V3, "avx512f")) == "x86-64-v3"
    assert level("gemm_f64_shared", target("x86_64", *V3 - {"fma"})) is None
    assert level("gemm_f64_shared", target("x86_64", *V3 - {"bmi2"})) is None
    assert level("gemm_f32_shared", target("aarch64", "neon")) is None
    assert level("threads", cpu.baseline("x86-64")) == "x86-64"
    assert level("threads", target("aarch64", "neon")) is None
    assert prebuilt.found("call lane", cpu.baseline("x86-64-v3")) is None


def test_every_kernel_that_programs_call_is_here():
    names = {
        name
        for shares in (True, False)
        for function, kernel in KERNELS.items()
        for dtype in ("float32", "float64")
        for name in library_kernels(call_of(function, kernel, np.dtype(dtype)), shares)
    }
    assert names == set(prebuilt.NAMES)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_are_those_of_code_made_for_this_machine(dtype):
    machine = cpu.host()
    name, width = f"gemm_f{8 * np.dtype(dtype).itemsize}_shared", machine.vector_bytes
    made = prebuilt.found(name, machine)
    if made is None:
        pytest.skip("there are none for this machine")
    entry = symbol(dtype, width, shares=True)
    kept, own = (product_of(code.image, entry, dtype) for code in (made, kernels.made_kernel(name, machine)))
    rng = np.random.default_rng(0)
    for rows, columns, depth in (
        (5, 7, 3),
        (1, 40, 90),
        (70, 1, 33),
        (64, 200, 400),
        (9, 6, 5000),
        (33, 3, 300),
    ):
        a, b = (
            rng.standard_normal((rows, depth)).astype(dtype),
            rng.standard_normal((depth, columns)).astype(dtype),
        )
        for accumulate in (0, 1):
            results = [run(a, b, np.ones((rows, columns), dtype), accumulate) for run in (kept, own)]
            assert results[0].tobytes() == results[1].tobytes(), (rows, columns, depth)


def test_those_of_another_text_or_damaged_ones_are_not_taken(monkeypatch, tmp_path):
    machine = cpu.baseline("x86-64-v3")
    before = prebuilt.found("gemm_f32_shared", machine)
    assert before is not None and before.entry == symbol("float32", 32, shares=True)
    monkeypatch.setattr(prebuilt, "_is_current", lambda: False)
    assert prebuilt.found("gemm_f32_shared", machine) is None
    monkeypatch.undo()
    for content in (
        b"",
        prebuilt.place("threads", "x86-64").read_bytes()[:-9],
        zlib.compress(b"not a payload"),
    ):
        (tmp_path / "kernel.z").write_bytes(content)
        monkeypatch.setattr(prebuilt, "place", lambda *_: tmp_path / "kernel.z")
        assert prebuilt.found("gemm_f32_shared", machine) is None


@pytest.mark.parametrize("name", ["gemm_f64_shared", "gemm_f32", "cholesky_f64"])
def test_llvm_is_not_asked_for_them(name, monkeypatch):
    target = cpu.host()
    kept = prebuilt.found(name, target)
    if kept is None:
        pytest.skip("there are none for this machine")
    monkeypatch.setattr(diskcache, "get", lambda key: None)
    monkeypatch.setattr(diskcache, "put", lambda key, payload: None)
    monkeypatch.setattr(kernels, "made_kernel", lambda *_: pytest.fail("it was made"))
    taken = library_kernel(name, target)
    assert taken.image == kept.image
