"""Compiled objects: stored, read back, loaded, and found damaged; and what a forked child sees."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

from tracejit.compiler.codegen import llvm
from tracejit.core.dim import Dim
from tracejit.runtime import diskcache, packing
from tracejit.runtime.compiled import CompiledObject
from tracejit.runtime.executable import Executable
from tracejit.runtime.signature import Signature

I8 = np.dtype("i8")
N = Dim.of("n")
TEXT = """
define i32 @main(ptr %buffers, ptr %dims, ptr %ctx) {
  %slot = getelementptr ptr, ptr %buffers, i64 1
  %out = load ptr, ptr %slot
  %n = load i64, ptr %dims
  store i64 %n, ptr %out
  %status = call i32 @check(i64 %n)
  ret i32 %status
}
define internal i32 @check(i64 %n) noinline {
  %bad = icmp sgt i64 %n, 9
  %status = zext i1 %bad to i32
  ret i32 %status
}
"""


@pytest.fixture(scope="module")
def compiled() -> CompiledObject:
    signature = Signature(((np.dtype("f4"), (N,)),), ((I8, ()),), atoms=(("n", 0, 0),))
    messages = (("ValueError", "too many"), "unused")
    return CompiledObject(llvm.compile_text(TEXT), signature, N * 8 + 64, messages, entry="main")


def test_stored_and_loaded(compiled: CompiledObject, tmp_path) -> None:
    cache = diskcache.DiskCache(tmp_path)
    cache.put("ab" * 32, compiled.to_payload())
    again = CompiledObject.from_payload(cache.get("ab" * 32) or b"")
    assert again == compiled and again.to_payload() == compiled.to_payload()
    size = again.load()
    assert size([np.zeros(7, "f4")])[0][()] == 7
    with pytest.raises(ValueError, match="too many"):
        size([np.zeros(10, "f4")])


def test_damaged_payloads_raise(compiled: CompiledObject) -> None:
    payload = compiled.to_payload()
    end = 8 + int.from_bytes(payload[:8], "little")
    for cut in range(0, end, 5):
        with pytest.raises(ValueError):
            CompiledObject.from_payload(payload[:cut])
    for damage in ({}, {"format": 2}, {"format": 1}, {"format": 1, "signature": {}}):
        with pytest.raises(ValueError):
            CompiledObject.from_payload(packing.pack(b"", damage))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_calls_and_loads(compiled: CompiledObject) -> None:
    def loaded_anew() -> Executable:
        return CompiledObject.from_payload(compiled.to_payload()).load()

    before = compiled.load()
    child = os.fork()
    if child == 0:
        x = np.zeros(7, "f4")
        good = before([x])[0][()] == 7 and loaded_anew()([x])[0][()] == 7
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert loaded_anew()([np.zeros(3, "f4")])[0][()] == 3


def test_all_that_run_an_object_share_its_code(compiled: CompiledObject) -> None:
    assert compiled.load().address == compiled.load().address
    again = pickle.loads(pickle.dumps(compiled))
    assert again == compiled and again.load().address != compiled.load().address
