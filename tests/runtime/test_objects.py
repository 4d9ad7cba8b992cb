"""Object loading: relocations of every sort, packing, and damaged objects."""

from __future__ import annotations

import ctypes
import random
import struct

import pytest

from tracejit.compiler.codegen import llvm
from tracejit.runtime import cpu, elf, objects, relocations
from tracejit.runtime.elf import ObjectError

FLAGS = '"no-builtins" nounwind'

TABLES = f"""
@table = internal constant [5 x double] [double 1.0, double 2.0, double 4.0, double 8.0, double 16.0]
@names = internal constant [2 x ptr] [ptr @table, ptr getelementptr (i8, ptr @table, i64 8)]
@counter = internal global i64 40
@zeros = internal global [1000 x i64] zeroinitializer
@visible = global i32 7

define internal double @lookup(i64 %i) noinline {FLAGS} {{
  %p = getelementptr double, ptr @table, i64 %i
  %x = load double, ptr %p
  ret double %x
}}

define double @sum(i64 %i) {FLAGS} {{
  %a = call double @lookup(i64 %i)
  %p = getelementptr ptr, ptr @names, i64 1
  %q = load volatile ptr, ptr %p
  %b = load double, ptr %q
  %c = fadd double %a, %b
  ret double %c
}}

define i64 @count() {FLAGS} {{
  %n = load i64, ptr @counter
  %z = getelementptr i64, ptr @zeros, i64 999
  %old = load i64, ptr %z
  %m = add i64 %n, 1
  %k = add i64 %old, 100
  store i64 %m, ptr @counter
  store i64 %k, ptr %z
  %r = add i64 %m, %old
  ret i64 %r
}}

define ptr @where() {FLAGS} {{
  ret ptr @visible
}}
"""


@pytest.fixture(scope="module")
def tables() -> bytes:
    return llvm.compile_text(TABLES)


def call(loaded: objects.LoadedObject, name: str, result, *arguments):
    return ctypes.CFUNCTYPE(result, *[ctypes.c_int64] * len(arguments))(loaded.address(name))(*arguments)


def test_constants_calls_data_bss_and_address_table(tables: bytes) -> None:
    first, second = objects.load(tables), objects.load(tables)
    assert [call(first, "sum", ctypes.c_double, i) for i in range(5)] == [3, 4, 6, 10, 18]
    assert [call(first, "count", ctypes.c_int64) for _ in range(3)] == [41, 142, 243]
    assert call(second, "count", ctypes.c_int64) == 41  # its own data
    assert call(first, "where", ctypes.c_void_p) == first.address("visible")
    assert ctypes.c_int32.from_address(first.address("visible")).value == 7


def test_unknown_symbol_names_the_known_ones(tables: bytes) -> None:
    with pytest.raises(KeyError, match=r"no symbol 'nothing'.*'count'"):
        objects.load(tables).address("nothing")


def test_code_is_never_writable_and_executable(tables: bytes) -> None:
    address = objects.load(tables).address("sum")
    with open("/proc/self/maps") as file:
        for line in file:
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            if start <= address < end:
                assert line.split()[1] == "r-xp"
                return
    raise AssertionError("code is not mapped")


def test_many_objects_take_few_mappings() -> None:
    image = llvm.compile_text(f"define i32 @f() {FLAGS} {{ ret i32 5 }}", opt=0)

    def mappings() -> int:
        with open("/proc/self/maps") as file:
            return sum(1 for _ in file)

    objects.load(image)
    before = mappings()
    loaded = [objects.load(image) for _ in range(1000)]
    assert mappings() - before < 20
    assert all(call(o, "f", ctypes.c_int32) == 5 for o in loaded)
    assert len({o.address("f") for o in loaded}) == 1000


def test_object_larger_than_an_arena() -> None:
    big = f"""
    @zeros = internal global [40000000 x i8] zeroinitializer
    define i8 @last() {FLAGS} {{
      %p = getelementptr i8, ptr @zeros, i64 39999999
      %x = load volatile i8, ptr %p
      ret i8 %x
    }}"""
    assert call(objects.load(llvm.compile_text(big)), "last", ctypes.c_int8) == 0


def with_undefined_symbol() -> bytes:
    """An object that calls a function it does not define, made by renaming a section index."""
    image = bytearray(llvm.compile_text(f"define i32 @f() {FLAGS} {{ ret i32 5 }}"))
    parsed = elf.parse(bytes(image))
    table = next(s for s in parsed.sections if s.kind == elf.SHT_SYMTAB)
    at = image.index(table.data)
    index = [s.name for s in parsed.symbols].index("f")
    struct.pack_into("<H", image, at + 24 * index + 6, elf.SHN_UNDEF)
    return bytes(image)


def test_undefined_symbols_are_named() -> None:
    with pytest.raises(ObjectError, match="undefined symbols: f"):
        objects.load(with_undefined_symbol())


def test_object_for_another_machine() -> None:
    other = "aarch64" if cpu.host().arch == "x86_64" else "x86-64"
    image = llvm.compile_text(TABLES, cpu=cpu.baseline(other))
    with pytest.raises(ObjectError, match="this machine is"):
        objects.load(image)


def test_damaged_objects_raise(tables: bytes) -> None:
    generator = random.Random(1)
    for length in range(0, len(tables), 7):
        with pytest.raises(ObjectError):
            objects.load(tables[:length])
    for _ in range(1500):
        image = bytearray(tables)
        for _ in range(generator.choice((1, 1, 2, 8, 64))):
            image[generator.randrange(len(image))] = generator.choice(
                (0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256))
            )
        try:
            objects.load(
                bytes(image)
            )  # damage to code itself goes unnoticed here: checksums are the cache's task
        except ObjectError:
            pass
    for size in (0, 1, 63, 64, 1000):
        with pytest.raises(ObjectError):
            objects.load(b"\x7fELF\x02\x01" + generator.randbytes(size))


def test_damaged_headers_raise(tables: bytes) -> None:
    """Every field of every section header and symbol set to extreme values."""
    parsed = elf.parse(tables)
    section_table = struct.unpack_from("<Q", tables, 40)[0]
    symbols = next(s for s in parsed.sections if s.kind == elf.SHT_SYMTAB)
    rela = [s for s in parsed.sections if s.kind == elf.SHT_RELA]
    regions = [
        (section_table, 64 * len(parsed.sections)),
        (0, 64),
        (tables.index(symbols.data), symbols.size),
    ]
    regions += [(tables.index(s.data), s.size) for s in rela]
    for start, size in regions:
        for offset in range(start, start + size, 4):
            for value in (0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x10000):
                image = bytearray(tables)
                struct.pack_into("<I", image, offset, value)
                try:
                    objects.load(bytes(image))
                except ObjectError:
                    pass


# ---- relocation arithmetic, against the definitions in the architectures' ELF supplements -----------------


def patched(machine: str, kind: int, word: int, target: int, place: int, width: int = 4) -> int:
    code = bytearray(word.to_bytes(width, "little"))
    relocations.apply(machine, kind, code, 0, target, place)
    return int.from_bytes(code, "little")


@pytest.mark.parametrize(
    "kind, word, target, place, expected",
    [
        (275, 0x90000000, 0x12345678, 0x10000000, 0xB0011A20),
        (275, 0x90000000, 0x0FFFF000, 0x10000FFC, 0xF0FFFFE0),
        (277, 0x91000000, 0x12345678, 0, 0x9119E000),
        (278, 0x39400000, 0x12345678, 0, 0x3959E000),
        (284, 0x79400000, 0x12345678, 0, 0x794CF000),
        (285, 0xB9400000, 0x12345678, 0, 0xB9467800),
        (286, 0xF9400000, 0x12345678, 0, 0xF9433C00),
        (299, 0x3DC00000, 0x12345670, 0, 0x3DC19C00),
        (282, 0x14000000, 0x1000, 0x2000, 0x17FFFC00),
        (283, 0x94000000, 0x2000, 0x1000, 0x94000400),
        (261, 0, 0x1000, 0x2000, 0xFFFFF000),
    ],
)
def test_aarch64_arithmetic(kind: int, word: int, target: int, place: int, expected: int) -> None:
    assert patched("aarch64", kind, word, target, place) == expected


@pytest.mark.parametrize(
    "machine, kind, target, place, message",
    [
        ("x86_64", 2, 1 << 40, 0, "does not fit"),
        ("x86_64", 10, 1 << 40, 0, "does not fit"),
        ("x86_64", 11, 1 << 31, 0, "does not fit"),
        ("x86_64", 99, 0, 0, "not supported"),
        ("aarch64", 283, 1 << 28, 0, "does not fit"),
        ("aarch64", 283, 2, 0, "unaligned"),
        ("aarch64", 286, 0x1004, 0, "not aligned"),
        ("aarch64", 275, 1 << 40, 0, "does not fit"),
    ],
)
def test_values_that_do_not_fit(machine: str, kind: int, target: int, place: int, message: str) -> None:
    with pytest.raises(ObjectError, match=message):
        patched(machine, kind, 0, target, place)


def test_aarch64_objects_relocate_completely() -> None:
    """Everything LLVM emits for the tables has a rule, and addresses come out right where they are data."""
    parsed = elf.parse(llvm.compile_text(TABLES, cpu=cpu.baseline("aarch64")))
    layout = objects.code_and_data(parsed)
    placed = layout.place((0x40000000, 0x40400000))
    names = {s.name: i for i, s in enumerate(parsed.symbols)}
    table = 0x40000000 + layout.offsets[parsed.symbols[names["table"]].section]
    words = [content for _, content in placed.contents if len(content) == 16]
    assert struct.pack("<QQ", table, table + 8) in [bytes(w) for w in words]
