"""The linker for WebAssembly: what modules it makes, what it refuses, and that damaged objects are exceptions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tracejit.compiler.codegen import llvm
from tracejit.compiler.codegen.machines import Unit
from tracejit.runtime import cpu
from tracejit.runtime.elf import ObjectError
from tracejit.runtime.linking.wasm import encoding
from tracejit.runtime.linking.wasm.encoding import Reader
from tracejit.runtime.linking.wasm.module import STACK, link

from .node import needs_node, node

MAIN = """
declare hidden double @"scale"(double)
declare hidden void @"two"()
@"weights" = external hidden constant [32 x i8], align 64
@"names" = internal constant [2 x ptr] [ptr @"first", ptr @"second"]
@"first" = internal constant [4 x i8] c"one\\00"
@"second" = internal constant [4 x i8] c"two\\00"
@"count" = internal global i32 0
@"unused" = internal constant [1000 x i8] c"{unused}"
define double @"main"(i32 %k) {{
  %place = getelementptr double, ptr @"weights", i32 %k
  %weight = load double, ptr %place
  %scaled = call double @"scale"(double %weight)
  %cell = alloca [100 x ptr]
  %entry = getelementptr ptr, ptr %cell, i32 %k
  store volatile ptr @"two", ptr %entry
  %f = load volatile ptr, ptr %entry
  %twice = call double %f(double %scaled)
  %n = load i32, ptr @"count"
  %more = add i32 %n, 1
  store i32 %more, ptr @"count"
  ret double %twice
}}
define ptr @"name"(i32 %k) {{
  %place = getelementptr ptr, ptr @"names", i32 %k
  %text = load ptr, ptr %place
  ret ptr %text
}}
define i32 @"calls"() {{
  %n = load i32, ptr @"count"
  ret i32 %n
}}
""".format(unused="x" * 1000)
OTHER = """
define hidden double @"scale"(double %x) {
  %y = fmul double %x, 3.0
  ret double %y
}
define hidden double @"two"(double %x) {
  %y = fmul double %x, 2.0
  ret double %y
}
define hidden void @"nobody"() {
  ret void
}
"""
WEIGHTS = np.array([1.5, -2.0, 0.25, 7.0])


def objects(*texts: str) -> list[bytes]:
    return llvm.compile_units([(Unit(text), cpu.baseline("wasm32")) for text in texts])


@pytest.fixture(scope="module")
def pair() -> list[bytes]:
    return objects(MAIN, OTHER)


def linked(pair: Sequence[bytes]) -> bytes:
    return link(pair, {"weights": WEIGHTS.tobytes()}, ["main", "name", "calls"])


@needs_node
def test_objects_and_data_become_one_module(pair: list[bytes], tmp_path: Path) -> None:
    """Calls between objects and through the table, pointers in data, the stack, variables."""
    module = linked(pair)
    (tmp_path / "m.wasm").write_bytes(module)
    script = """
    import { readFileSync } from "node:fs";
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync("m.wasm")));
    const memory = new Uint8Array(exports.memory.buffer);
    const text = (k) => String.fromCharCode(...memory.subarray(exports.name(k), exports.name(k) + 3));
    console.log([0, 1, 2, 3].map(exports.main).join(), exports.calls(), text(0), text(1), exports.__heap_base.value);
    """
    numbers, calls, one, two, heap = node(script, tmp_path).split()
    np.testing.assert_array_equal([float(x) for x in numbers.split(",")], 6 * WEIGHTS)
    assert (calls, one, two) == ("4", "one", "two")
    assert int(heap) % 64 == 0 and STACK < int(heap) < STACK + 512
    assert len(module) < 700 and b"x" * 10 not in module


def test_what_is_not_there_is_named(pair: list[bytes]) -> None:
    with pytest.raises(ObjectError, match="undefined symbols: scale, two, weights"):
        link(pair[:1], {}, ["main"])
    with pytest.raises(ObjectError, match="undefined symbols: absent"):
        link(pair[1:], {}, ["absent"])
    with pytest.raises(ObjectError, match="no functions: weights"):
        link(pair, {"weights": b"1"}, ["weights"])
    with pytest.raises(ObjectError, match="two definitions of the symbol 'scale'"):
        link([*pair, pair[1]], {"weights": b""}, ["main"])
    with pytest.raises(ObjectError, match="a section of kind 4, which objects do not have"):
        link([linked(pair)], {}, ["main"])
    with pytest.raises(ObjectError, match="not a WebAssembly object"):
        link([b"\x7fELF"], {}, [])


@pytest.mark.parametrize(
    "text, says",
    [
        ("@g = external global i32\ndefine i32 @f() { %x = load i32, ptr @g\n ret i32 %x }", "undefined symbols: g"),
        (
            "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] "
            "[{ i32, ptr, ptr } { i32 9, ptr @f, ptr null }]\ndefine internal void @f() { ret void }",
            "constructors",
        ),
        (
            "declare double @scale(i32)\ndefine double @f() { %x = call double @scale(i32 1)\n ret double %x }",
            "other types",
        ),
    ],
)  # fmt: skip
def test_what_modules_of_this_package_never_have_is_refused(text: str, says: str, pair: list[bytes]) -> None:
    with pytest.raises(ObjectError, match=says):
        link([*objects(text), pair[1]], {}, ["f"])


def test_numbers_are_spelled_and_read() -> None:
    for value in [0, 1, 63, 64, 127, 128, 300, 2**31 - 1, 2**31, 2**32 - 1]:
        assert Reader(encoding.unsigned(value)).unsigned() == value
    for value in [0, 1, -1, 63, 64, -64, -65, 2**31 - 1, -(2**31)]:
        assert Reader(encoding.signed(value)).signed() == value
    assert Reader(b"\x80\x80\x80\x80\x00").unsigned() == 0 and Reader(b"\xff\xff\xff\xff\x7f").signed() == -1
    for spelled in (b"", b"\x80", b"\xff\xff\xff\xff\x1f", b"\x80\x80\x80\x80\x80\x00"):
        with pytest.raises(ObjectError):
            Reader(spelled).unsigned()
    for spelled in (b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x70"):
        with pytest.raises(ObjectError):
            Reader(spelled).signed()


# ---- damage ---------------------------------------------------------------------------------------------


def test_damaged_objects_are_exceptions(pair: list[bytes]) -> None:
    """Flipped bits, cut ends, bytes replaced: ObjectError, or a module, which its reader will judge."""
    rng, refused = random.Random(0), 0
    for k in range(4000):
        images = [bytearray(image) for image in pair]
        image = images[rng.randrange(2)]
        place = rng.randrange(len(image))
        if k % 4 == 0:
            del image[place:]
        elif k % 4 == 1:
            image[place] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
        else:
            image[place] ^= 1 << rng.randrange(8)
        try:
            linked([bytes(i) for i in images])
        except ObjectError:
            refused += 1
    assert 2000 < refused < 4000
