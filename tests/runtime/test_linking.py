"""Joining objects and writing shared libraries: what the system's own tools and dynamic linker say of them."""

from __future__ import annotations

import ctypes
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from runtime.test_objects import FLAGS, TABLES, call
from tracejit.compiler.codegen import llvm
from tracejit.runtime import cpu, elf, objects
from tracejit.runtime.elf import ObjectError
from tracejit.runtime.linking.archive import archive
from tracejit.runtime.linking.relocatable import merge
from tracejit.runtime.linking.shared import shared_object

CALLER = f"""
@weights = external hidden constant [4 x double], align 64
declare hidden double @helper(double)

define double @total(i64 %i) {FLAGS} {{
  %p = getelementptr double, ptr @weights, i64 %i
  %w = load double, ptr %p
  %y = call double @helper(double %w)
  ret double %y
}}
"""
HELPER = f"""
@scale = internal global double 10.0
define double @helper(double %x) {FLAGS} {{
  %s = load double, ptr @scale
  %y = fmul double %s, %x
  ret double %y
}}
"""
WEIGHTS = struct.pack("<4d", 1.0, 2.0, 3.0, 4.0)


@pytest.fixture(scope="module")
def joined() -> bytes:
    caller = llvm.compile_text(CALLER, expected=("weights", "helper"))
    return merge([caller, llvm.compile_text(HELPER)], {"weights": WEIGHTS}, ["total"])


def opened(image: bytes, folder: Path, name: str = "libtest.so") -> ctypes.CDLL:
    path = folder / name
    path.write_bytes(shared_object(image, name))
    return ctypes.CDLL(str(path))


def test_objects_find_each_other_and_their_data(joined: bytes) -> None:
    loaded = objects.load(joined)
    assert list(loaded.symbols) == ["total"]
    assert [call(loaded, "total", ctypes.c_double, i) for i in range(4)] == [10, 20, 30, 40]


def test_joining_is_repeatable_and_takes_what_it_made(joined: bytes) -> None:
    again = merge([joined], {}, ["total"])
    assert call(objects.load(again), "total", ctypes.c_double, 3) == 40
    assert again == merge([again], {}, ["total"])


def test_what_nobody_defines_is_named() -> None:
    caller = llvm.compile_text(CALLER, expected=("weights", "helper"))
    with pytest.raises(ObjectError, match="undefined symbols: helper, weights"):
        merge([caller], {}, ["total"])
    with pytest.raises(ObjectError, match="undefined symbols: helper, weights"):
        shared_object(caller, "libtest.so")
    with pytest.raises(ObjectError, match="undefined symbols: nothing"):
        merge([llvm.compile_text(HELPER)], {}, ["nothing"])


def test_two_definitions_and_two_machines_are_refused() -> None:
    helper = llvm.compile_text(HELPER)
    with pytest.raises(ObjectError, match="two definitions of the symbol 'helper'"):
        merge([helper, helper], {}, ["helper"])
    foreign = "aarch64" if cpu.host().arch == "x86_64" else "x86-64"
    with pytest.raises(ObjectError, match="for one machine"):
        merge([helper, llvm.compile_text(HELPER, cpu=cpu.baseline(foreign))], {}, ["helper"])


def test_shared_library_with_tables_data_and_zeros(tmp_path: Path) -> None:
    """Constants, a table of pointers, a global variable, and memory that starts as zeros."""
    library = opened(llvm.compile_text(TABLES), tmp_path)
    library.sum.restype, library.where.restype = ctypes.c_double, ctypes.c_void_p
    assert [library.sum(ctypes.c_int64(i)) for i in range(5)] == [3, 4, 6, 10, 18]
    assert [library.count() for _ in range(3)] == [41, 142, 243]
    assert library.where() == ctypes.addressof(ctypes.c_int32.in_dll(library, "visible"))
    assert ctypes.c_int32.in_dll(library, "visible").value == 7
    with pytest.raises(AttributeError):
        _ = library.lookup


def test_shared_library_of_joined_objects(joined: bytes, tmp_path: Path) -> None:
    library = opened(joined, tmp_path)
    library.total.restype = ctypes.c_double
    assert library.total(ctypes.c_int64(2)) == 30
    with pytest.raises(AttributeError):
        _ = library.helper


@pytest.mark.skipif(shutil.which("readelf") is None, reason="no readelf")
@pytest.mark.parametrize("level", ["x86-64", "aarch64", "riscv64"])
def test_tools_read_what_is_written(level: str, tmp_path: Path) -> None:
    image = merge([llvm.compile_text(TABLES, cpu=cpu.baseline(level))], {"w": WEIGHTS}, ["sum", "count", "w"])
    for name, content in (("all.o", image), ("liball.so", shared_object(image, "liball.so"))):
        (tmp_path / name).write_bytes(content)
        done = subprocess.run(
            ["readelf", "-a", "-W", str(tmp_path / name)], capture_output=True, text=True, check=True
        )
        assert not done.stderr and "Warning" not in done.stdout, done.stderr + done.stdout
        assert all(symbol in done.stdout for symbol in ("sum", "count"))
    assert "Library soname: [liball.so]" in done.stdout
    assert "RWE" not in done.stdout


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("link", ["libtest.so", "test.o"])
def test_a_c_program_links_with_it(joined: bytes, link: str, tmp_path: Path) -> None:
    (tmp_path / "libtest.so").write_bytes(shared_object(joined, "libtest.so"))
    (tmp_path / "test.o").write_bytes(joined)
    source = '#include <stdio.h>\ndouble total(long);\nint main(void) { printf("%g", total(1)); return 0; }\n'
    (tmp_path / "main.c").write_text(source)
    command = ["cc", "-o", "main", "main.c", link, "-Wl,--fatal-warnings", f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=True)
    assert done.stdout == "20"


def test_damaged_objects_raise(joined: bytes) -> None:
    """Every truncation, and every byte of the tables changed: an ObjectError or a result, nothing else."""
    for end in range(0, len(joined), 97):
        with pytest.raises(ObjectError):
            merge([joined[:end]], {}, ["total"])
    for place in range(elf.HEADER.size):
        image = bytearray(joined)
        image[place] ^= 0xFF
        try:
            shared_object(merge([bytes(image)], {}, ["total"]), "libtest.so")
        except ObjectError:
            pass


@pytest.mark.skipif(shutil.which("cc") is None or shutil.which("ar") is None, reason="no binutils")
@pytest.mark.parametrize("member", ["test.o", "a_name_that_is_too_long_for_its_field.o", "fifteen_chars.o"])
def test_a_static_library_is_one(member: str, joined: bytes, tmp_path: Path) -> None:
    (tmp_path / "libtest.a").write_bytes(archive(member, joined, ["total"]))
    listed = subprocess.run(
        ["ar", "t", "libtest.a"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert listed.stdout == f"{member}\n"
    taken = subprocess.run(["ar", "p", "libtest.a"], cwd=tmp_path, capture_output=True, check=True)
    assert taken.stdout == joined
    source = '#include <stdio.h>\ndouble total(long);\nint main(void) { printf("%g", total(1)); return 0; }\n'
    (tmp_path / "main.c").write_text(source)
    command = ["cc", "-o", "main", "main.c", "-L.", "-l:libtest.a", "-Wl,--fatal-warnings"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=True).stdout == "20"


# ---- debug sections -------------------------------------------------------------------------------------


def with_lines(name: str, line: int, calls: str = "") -> str:
    """A function of a file of its own, ``<name>.py``, whose one line is known."""
    callee = f"declare hidden double @{calls}(double)" if calls else ""
    value = f"call double @{calls}(double %x)" if calls else "fadd double %x, 1.0"
    return f"""{callee}
define double @{name}(double %x) {FLAGS} !dbg !4 {{
  %y = {value}, !dbg !5
  %z = fmul double %y, 2.0, !dbg !5
  ret double %z, !dbg !5
}}
!llvm.module.flags = !{{!0, !1}}
!llvm.dbg.cu = !{{!2}}
!0 = !{{i32 7, !"Dwarf Version", i32 4}}
!1 = !{{i32 2, !"Debug Info Version", i32 3}}
!2 = distinct !DICompileUnit(language: DW_LANG_C99, file: !3, isOptimized: true, runtimeVersion: 0,
  emissionKind: FullDebug)
!3 = !DIFile(filename: "{name}.py", directory: "/user")
!4 = distinct !DISubprogram(name: "{name}", scope: !3, file: !3, line: 1, type: !6, spFlags: DISPFlagDefinition,
  unit: !2)
!5 = !DILocation(line: {line}, scope: !4)
!6 = !DISubroutineType(types: !{{}})
"""


@pytest.fixture(scope="module")
def lined() -> bytes:
    caller = llvm.compile_text(with_lines("outer", 7, "inner"), expected=("inner",))
    return merge([caller, llvm.compile_text(with_lines("inner", 5))], {}, ["outer"])


def test_sections_of_one_name_become_one(lined: bytes) -> None:
    names = [s.name for s in elf.parse(lined).sections]
    assert {".text", ".debug_info", ".debug_line", ".debug_str", ".debug_frame"} <= set(names)
    assert len(set(names)) == len(names)


def test_code_with_debug_sections_loads_and_opens(lined: bytes, tmp_path: Path) -> None:
    for found in (objects.load(lined).address("outer"), opened(lined, tmp_path).outer):
        f = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(
            found if isinstance(found, int) else ctypes.cast(found, ctypes.c_void_p).value
        )
        assert f(1.0) == 8.0


@pytest.mark.skipif(shutil.which("addr2line") is None, reason="no binutils")
def test_addresses_of_joined_code_have_their_lines(lined: bytes, tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(shared_object(lined, "lib.so"))
    listed = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout
    places = {name: address for address, _, name in (line.split() for line in listed.splitlines())}
    for name, line in (("outer", 7), ("inner", 5)):
        last = hex(int(places[name], 16) + 6)
        command = ["addr2line", "-fe", str(path), last]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        assert found == [name, f"/user/{name}.py:{line}"]
