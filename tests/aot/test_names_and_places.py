"""Names that C, C++ or a header has taken, and files that are written whole or not at all."""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tracejit as tf
from tracejit.aot import Artifact
from tracejit.aot.c_names import is_taken

#: Good names in Python: words of C, C++ and GNU's C; operators; macros; types that the header uses.
TAKEN = (
    "restrict inline typeof asm alignof nullptr constexpr template typename export concept co_await thread_local xor "
    "not_eq bitand NULL EOF I complex errno stdin M_PI INT64_MAX int64_t double uint8_t size_t offsetof linux unix "
    "INFINITY NAN DBL_EPSILON SIGINT _Bool _Complex __LINE__ __restrict __proto__"
).split()
HEADERS = (
    "errno stdio complex math stdbool stddef stdint stdlib iso646 limits float assert signal string time"
)


@pytest.fixture(scope="module")
def taken() -> Artifact:
    scope = {"tf": tf}
    exec(f"def f({', '.join(TAKEN)}):\n    return tf.reduce_sum({' + '.join(TAKEN)})", scope)
    return tf.export(scope["f"], ["f64[n]"] * len(TAKEN), name="taken", targets=["host"], keep_graph=False)


def test_every_name_that_is_taken_gets_an_end(taken: Artifact) -> None:
    assert taken._interface.inputs == tuple(f"{name}_" for name in TAKEN)
    assert not any(is_taken(f"{name}_") for name in TAKEN)
    value, *gradients = taken(*[np.array([1.0, 2.0])] * len(TAKEN))
    assert value == 3.0 * len(TAKEN) and all(g.tolist() == [1.0, 1.0] for g in gradients)


@pytest.mark.parametrize("compiler", ["cc -std=c99", "cc -std=gnu17", "c++ -std=c++11", "c++ -std=gnu++20"])
def test_its_header_stands_behind_those_of_c(taken: Artifact, compiler: str, tmp_path: Path) -> None:
    command = compiler.split()
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}")
    taken.write(tmp_path / "taken.h")
    included = [f"<{name}.h>" for name in HEADERS.split() if command[0] == "cc" or name != "complex"]
    source = tmp_path / ("main.c" if command[0] == "cc" else "main.cpp")
    source.write_text("".join(f"#include {name}\n" for name in [*included, '"taken.h"']))
    command += ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["exp", "expf", "main", "read", "malloc"])
def test_functions_of_the_c_library_are_not_replaced(name: str) -> None:
    with pytest.raises(
        ValueError, match=f"'{name}' is a function of the C library.*'{name}_of' for example\n  at "
    ):
        tf.export(lambda x: x, ["f64"], name=name)


@pytest.mark.parametrize("name", ["restrict", "NULL", "I", "xor"])
def test_nor_are_functions_called_by_words_and_macros(name: str) -> None:
    with pytest.raises(
        ValueError, match=f"'{name}' is no name for a C function: write letters, digits and _\n  at "
    ):
        tf.export(lambda x: x, ["f64"], name=name)


# ---- files ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scaled() -> list[Artifact]:
    return [
        tf.export(lambda x, k=k: x * k, ["f64"], name="scaled", outputs=["value"], targets=["host"])
        for k in (2.0, 3.0)
    ]


def called(path: Path) -> float:
    value = ctypes.c_double()
    assert ctypes.CDLL(str(path)).scaled(ctypes.byref(ctypes.c_double(7.0)), ctypes.byref(value)) == 0
    return value.value


def test_who_has_loaded_a_library_keeps_it_when_another_is_written(
    scaled: list[Artifact], tmp_path: Path
) -> None:
    """Written in place, the code under the feet of a program that runs would be another."""
    path = tmp_path / "name with ü.so"
    scaled[0].write(path)
    old, value = ctypes.CDLL(str(path)), ctypes.c_double()
    scaled[1].write(path)
    assert old.scaled(ctypes.byref(ctypes.c_double(7.0)), ctypes.byref(value)) == 0 and value.value == 14.0
    again = tmp_path / "again.so"
    again.write_bytes(path.read_bytes())
    assert called(again) == 21.0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.so", "name with ü.so"]


@pytest.mark.parametrize("end", [".so", ".h", ".tja"])
def test_what_was_there_stays_when_writing_fails(
    scaled: list[Artifact], end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"scaled{end}"
    write = Artifact.save if end == ".tja" else Artifact.write
    write(scaled[0], path)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(KeyboardInterrupt):
        write(scaled[1], path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_links_and_rights_stay_and_pipes_are_written_to(scaled: list[Artifact], tmp_path: Path) -> None:
    real, link, pipe = tmp_path / "real.h", tmp_path / "link.h", tmp_path / "pipe.h"
    real.write_text("")
    real.chmod(0o640)
    link.symlink_to(real)
    scaled[0].write(link)
    assert link.is_symlink() and real.read_text() == scaled[0].header()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    scaled[0].write(pipe)
    assert os.read(reader, 1 << 16).decode() == scaled[0].header() and stat.S_ISFIFO(pipe.stat().st_mode)
    os.close(reader)


def test_paths_may_be_bytes_and_missing_folders_are_named(scaled: list[Artifact], tmp_path: Path) -> None:
    scaled[0].write(os.fsencode(tmp_path / "scaled.so"))
    scaled[0].save(os.fsencode(tmp_path / "scaled.tja"))
    assert called(tmp_path / "scaled.so") == tf.load(os.fsencode(tmp_path / "scaled.tja"))(7.0) == 14.0
    missing = tmp_path / "no" / "scaled.so"
    with pytest.raises(FileNotFoundError, match=r"scaled\.so"):
        scaled[0].write(missing)


@pytest.mark.parametrize("name", ["max", "lambda", "import", "scaled"])
def test_words_of_python_are_names_as_any(name: str, tmp_path: Path) -> None:
    """Of the function, of its parameters, and what the module itself uses."""
    weights = tf.Variable([2.0], dtype=tf.float64, name="lambda")

    def f(_run, _np):
        return tf.concat([_run[:-2], _np * weights], 0)

    art = tf.export(f, ["f64[n]", "f64"], name=name, outputs="value", constants="argument")
    art.write(tmp_path / f"lib{name}.so")
    (tmp_path / "module.py").write_text(art.bindings("python"))
    code = (
        "import numpy as np, module\n"
        f"f = getattr(module, {name!r}, None) or getattr(module, {name + '_'!r})\n"
        "print(f(np.arange(4.0), 3.0, np.ones(1)).tolist())\n"
        "try:\n    f(np.ones(1), 3.0, np.ones(1))\nexcept RuntimeError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["[0.0, 1.0, 3.0]", "the sizes must be such that 2 <= n"], done.stderr
