"""Debuggers, profilers and valgrind show the user's Python lines in machine code, exported or compiled on the way."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tracejit as tf
from tracejit.runtime import cpu
from tracejit.runtime.elf import HEADER, SECTION_HEADER
from tracejit.runtime.linking.shared import shared_object

HELPER = """
import tracejit as tf


def bell(x, w):
    s = x * w
    return tf.exp(-s * s)
"""
MODEL = """
import tracejit as tf
from helper_of_model import bell


def model(x, w):
    total = tf.constant(0.0, tf.float64)
    i = 0
    while i < tf.shape(x)[0]:
        total = total + bell(x[i], w)
        i += 1
    return total
"""
RUN = """
import numpy as np
import tracejit as tf
from model_of_test import model


@tf.function
def slope(x, w):
    with tf.GradientTape() as tape:
        tape.watch(w)
        y = model(x, w)
    return y, tape.gradient(y, w)


print("slope", float(slope(np.array([0.0, 1.0, 2.0]), np.float64(0.5))[1]))
"""
CALLER = r"""
#include <stdio.h>
#include "loss.h"

int main(void) {
  double x[3] = {0.0, 1.0, 2.0}, w = 0.5, value, gx[3], gw;
  if (loss(x, &w, &value, gx, &gw, 3) != 0) return 1;
  printf("slope %.12g\n", gw);
  return 0;
}
"""
READER = r"""
#include <stdlib.h>
#include "loss.h"

int main(void) {  /* x is too short by one */
  double *x = malloc(2 * sizeof *x), w = 0.5, value, gx[3], gw;
  x[0] = x[1] = 1.0;
  return loss(x, &w, &value, gx, &gw, 3);
}
"""
HOT = r"""
#include "loss.h"

int main(void) {
  static double x[20000], w = 0.5, value, gx[20000], gw;
  int k;
  for (k = 0; k < 300; k++) if (loss(x, &w, &value, gx, &gw, 20000) != 0) return 1;
  return 0;
}
"""
EXP = HELPER.splitlines().index("    return tf.exp(-s * s)") + 1
CALL = MODEL.splitlines().index("        total = total + bell(x[i], w)") + 1
GDB = """
set debuginfod enabled off
set breakpoint pending on
set displaced-stepping off
set confirm off
set pagination off
set width 0
break helper_of_model.py:{line}
commands
silent
echo STOP\\n
bt {depth}
info symbol $pc
continue
end
run
"""


def needs(*tools: str) -> pytest.MarkDecorator:
    missing = [t for t in tools if shutil.which(t) is None]
    return pytest.mark.skipif(bool(missing), reason=f"no {' and no '.join(missing)} here")


pytestmark = pytest.mark.skipif(
    cpu.host().arch != "x86_64" or not sys.platform.startswith("linux"),
    reason="libraries for Linux on x86-64",
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the user's files, the library exported from them with debug information, and its header."""
    folder = tmp_path_factory.mktemp("debugged")
    (folder / "helper_of_model.py").write_text(HELPER)
    (folder / "model_of_test.py").write_text(MODEL)
    (folder / "run_of_model.py").write_text(RUN)
    sys.path.insert(0, str(folder))
    try:
        model = __import__("model_of_test").model
        made = tf.export(model, ["f64[n]", "f64[]"], name="loss", targets=("x86-64-v3",), debug=True)
    finally:
        sys.path.remove(str(folder))
    made.write(folder / "libloss.so")
    every = tf.export(model, ["f64[n]", "f64[]"], name="loss", targets=("x86-64",), debug=True)
    every.write(folder / "every_level.so")
    made.write(folder / "loss.o")
    made.write(folder / "loss.h")
    return folder


def test_an_artifact_with_lines_is_saved_and_called(tmp_path: Path):
    plain, lined = (
        tf.export(lambda x: tf.sin(x) * x, ["f64[n]"], name="f", outputs=["value"], debug=debug)
        for debug in (False, True)
    )
    lined.save(tmp_path / "f.tja")
    x = np.linspace(0.0, 3.0, 7)
    assert np.array_equal(tf.load(tmp_path / "f.tja")(x), plain(x))
    plain.write(tmp_path / "plain.so")
    assert b".debug" not in (tmp_path / "plain.so").read_bytes()


def build(place: Path, name: str, source: str) -> Path:
    (place / f"{name}.c").write_text(source)
    command = ["cc", "-g", f"{name}.c", "-o", name, "-L.", "-lloss", "-Wl,-rpath,$ORIGIN"]
    subprocess.run(command, cwd=place, check=True)
    return place / name


def stops(place: Path, command: list[str], depth: int, **environment: str) -> tuple[list[str], str]:
    """What gdb prints at each stop in the helper, and what the program prints, run from beginning to end."""
    (place / "script.gdb").write_text(GDB.format(line=EXP, depth=depth))
    done = subprocess.run(
        ["gdb", "-nx", "-batch", "-x", "script.gdb", "--args", *command],
        cwd=place, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    found = done.stdout.split("STOP\n")[1:]
    assert found, done.stdout + done.stderr
    return found, done.stdout


def kernels(found: list[str]) -> set[str]:
    """The functions of machine code that were stopped in."""
    return {
        match[1]
        for stop in found
        for match in [re.search(r"^([\w.-]+) \+ \d+ in section .text", stop, re.M)]
        if match
    }


def check_stack(stop: str, *outer: str) -> None:
    """The helper, inlined into its caller, and what called that: the frames in order."""
    frames = re.findall(r"^#\d+ +(?:0x\w+ in )?(.*)$", stop, re.M)
    wanted = [
        rf"bell \(\) at .*helper_of_model.py:{EXP}",
        rf"model \(\) at .*model_of_test.py:{CALL}",
        *outer,
    ]
    for frame, pattern in zip(frames, wanted, strict=False):
        assert re.match(pattern, frame), stop
    assert len(frames) >= len(wanted), stop


@needs("gdb", "cc")
def test_gdb_stops_in_an_exported_function(place: Path):
    program = build(place, "caller", CALLER)
    found, output = stops(place, [str(program)], 9)
    for stop in found:
        check_stack(
            stop,
            r"model \(\) at .*model_of_test.py",
            r"loss.entry.x86-64-v3",
            r"loss.*entry",
            r"loss \(\)",
            r"main \(\) at .*caller.c:7",
        )
    assert len(found) >= 6, "three iterations forward, three back"
    assert len(kernels(found)) >= 2, "the gradient is a loop of its own"
    assert "slope -2.250318547" in output and "SIG" not in output


@needs("gdb")
def test_gdb_stops_in_a_compiled_function(place: Path, tmp_path: Path):
    environment = {"TRACEJIT_DEBUG_INFO": "1", "TRACEJIT_CACHE_DIR": str(tmp_path / "cache")}
    found, output = stops(place, [sys.executable, "run_of_model.py"], 4, **environment)
    for stop in found:
        check_stack(stop, r"slope \(\) at .*run_of_model.py:11")
    assert len(found) >= 6 and len(kernels(found)) >= 2
    assert "slope -2.250318547" in output and "SIG" not in output


@needs("valgrind", "cc")
def test_valgrind_names_the_line_of_a_bad_read(place: Path):
    program = build(place, "reader", READER)
    done = subprocess.run(
        ["valgrind", "--error-exitcode=3", str(program)],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert "Invalid read of size 8" in done.stderr and "debug info" not in done.stderr
    assert re.search(rf"model_of_test.py:{CALL}|helper_of_model.py:{EXP - 1}", done.stderr), done.stderr


@needs("perf", "cc")
def test_perf_names_lines(place: Path, tmp_path: Path):
    program, data = build(place, "hot", HOT), str(tmp_path / "perf.data")
    recorded = subprocess.run(
        ["perf", "record", "-q", "-e", "cpu-clock", "-F", "300", "-o", data, str(program)],
        capture_output=True,
    )
    if recorded.returncode:
        pytest.skip("perf may not look here")
    command = ["perf", "report", "-i", data, "--dsos", "libloss.so", "--stdio", "-q", "-F", "sym,srcline"]
    report = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert re.search(rf"loss\.program\.[\w.-]*k\d+ +helper_of_model.py:{EXP}", report), report


# ---- addresses and lines --------------------------------------------------------------------------------


def text_range(library: Path) -> tuple[int, int]:
    """The first address of the code, and the one behind it."""
    image = library.read_bytes()
    header = HEADER.unpack_from(image)
    table, count, names = header[6], header[12], header[13]
    found = [SECTION_HEADER.unpack_from(image, table + 64 * k) for k in range(count)]
    start = found[names][4]
    for name, _, _, address, _, size, *_ in found:
        if image[start + name : image.index(b"\0", start + name)] == b".text":
            return address, address + size
    raise AssertionError("no code")


def lines_of(library: Path) -> dict[int, list[tuple[str, str, int]]]:
    """Each address of the code with the functions, files and lines that it stands for, the innermost first."""
    first, end = text_range(library)
    asked = "\n".join(hex(a) for a in range(first, end))
    command = ["addr2line", "-afie", str(library)]
    text = subprocess.run(command, input=asked, capture_output=True, text=True, check=True).stdout
    found: dict[int, list[tuple[str, str, int]]] = {}
    for block in re.split(r"^0x(?=[0-9a-f]{16}$)", text, flags=re.M)[1:]:
        address, *pairs = block.splitlines()
        places = found[int(address, 16)] = []
        for function, where in zip(pairs[::2], pairs[1::2], strict=True):
            file, _, line = where.partition(" ")[0].rpartition(":")
            if file != "??" and line.isdigit() and int(line):
                places.append((function, file, int(line)))
    return found


@needs("readelf", "addr2line")
@pytest.mark.parametrize("name", ["libloss.so", "loss.o", "every_level.so"])
def test_binutils_read_the_lines(place: Path, name: str):
    done = subprocess.run(
        ["readelf", "-W", "--debug-dump=decodedline,frames,info", name],
        cwd=place, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not done.stderr, done.stderr
    assert re.search(rf"^helper_of_model.py +{EXP} +0x", done.stdout, re.M)
    assert "DW_TAG_inlined_subroutine" in done.stdout and "DW_CFA_def_cfa_offset" in done.stdout


@needs("readelf")
@pytest.mark.parametrize("target", ["aarch64", "riscv64"])
def test_lines_of_code_for_other_processors(target: str, tmp_path: Path):
    def f(x):
        return tf.sin(x) * x

    made = tf.export(f, ["f64[n]"], name="f", outputs=["value"], targets=[target], debug=True)
    made.write(tmp_path / "f.o", made.targets[0])
    (tmp_path / "f.so").write_bytes(shared_object((tmp_path / "f.o").read_bytes(), "f.so"))
    command = ["readelf", "-W", "--debug-dump=decodedline,frames", "f.so"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    lines = re.findall(r"^test_debugger.py +(\d+) +0x", done.stdout, re.M)
    assert str(f.__code__.co_firstlineno + 1) in lines, done.stdout


UNARY = ("tf.sin({})", "tf.exp(-{0} * {0})", "-{}", "tf.sqrt({} * {} + 1.0)", "tf.tanh({})")
BINARY = ("{} + {}", "{} * {}", "tf.maximum({}, {})", "{} - {}")


def random_source(rng: random.Random) -> str:
    """A program of helpers that call each other, with loops and branches."""
    lines = ["import tracejit as tf", ""]
    helpers = rng.randint(1, 3)
    for k in range(helpers):
        known = ["x", "w"]
        lines += ["", f"def helper{k}(x, w):"]
        for n in range(rng.randint(1, 3)):
            lines.append(f"    a{n} = {random_expression(rng, known, k)}")
            known.append(f"a{n}")
        lines.append(f"    return {known[-1]}")
    lines += ["", "", "def model(x, w):", "    total = tf.constant(0.0, tf.float64)"]
    loop = rng.choice(
        ("for row in x:", f"for row in range({rng.randint(2, 4)}):", "if tf.reduce_sum(x) > w:")
    )
    lines += ["    row = w", f"    {loop}", f"        b = helper{rng.randrange(helpers)}(w, total)"]
    if rng.random() < 0.5:
        lines += [
            "        if b > 0.1:",
            "            total = total + b",
            "        else:",
            "            total = total - w",
        ]
    else:
        lines += ["        total = total + b"]
    lines += [f"    return total + tf.reduce_mean(helper{rng.randrange(helpers)}(x, w))"]
    return "\n".join(lines) + "\n"


def random_expression(rng: random.Random, known: list[str], helpers: int) -> str:
    a, b = rng.choice(known), rng.choice(known)
    if helpers and rng.random() < 0.4:
        return f"helper{rng.randrange(helpers)}({a}, {b})"
    return rng.choice(UNARY).format(a, a) if rng.random() < 0.5 else rng.choice(BINARY).format(a, b)


@needs("addr2line")
@pytest.mark.parametrize("seed", range(8))
def test_every_address_with_a_line_names_one_of_the_users(seed: int, tmp_path: Path):
    rng = random.Random(seed)
    source = random_source(rng)
    file = tmp_path / f"program{seed}.py"
    file.write_text(source)
    names: dict = {}
    exec(compile(source, str(file), "exec"), names)
    # conversion reads the source of a function by its file
    made = tf.export(names["model"], ["f64[5]", "f64[]"], name="loss", targets=("x86-64-v3",), debug=True)
    made.write(tmp_path / "libloss.so")
    places = [p for found in lines_of(tmp_path / "libloss.so").values() for p in found]
    text = source.splitlines()
    defined = {m[1]: k for k, line in enumerate(text, 1) if (m := re.match(r"def (\w+)", line))}
    assert len({line for _, _, line in places}) >= 3, source
    for function, where, line in set(places):
        assert where == str(file), (function, where, line)
        own = max(first for first in defined.values() if first <= line)
        assert text[line - 1].strip(), (function, line)
        prologue = line in defined.values()  # which an inlined function may reach into
        assert prologue or defined.get(function, own) == own, (function, line, source)


# ---- the page -------------------------------------------------------------------------------------------


def plain(text: str) -> list[str]:
    """The lines of an output without what differs from run to run: addresses, processes, folders."""
    text = re.sub(r"^==\d+==( |$)", "", text, flags=re.M)
    text = re.sub(r"0x[0-9a-fA-F]+", "0x…", text)
    return [line.rstrip() for line in re.sub(r"/\S*/(?=\w+\.(?:so|py|c)\b)", "", text).splitlines()]


@needs("gdb", "valgrind", "cc")
def test_what_the_page_shows(tmp_path: Path):
    page = (Path(__file__).resolve().parents[2] / "docs" / "debugging-machine-code.md").read_text()
    wave, make, run = re.findall(r"```python\n(.*?)```", page, re.S)
    (use,) = re.findall(r"```c\n(.*?)```", page, re.S)
    for name, text in (("wave.py", wave), ("make.py", make), ("run.py", run), ("use.c", use)):
        (tmp_path / name).write_text(text)
    environment = {
        **os.environ,
        "TRACEJIT_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    subprocess.run([sys.executable, "make.py"], cwd=tmp_path, env=environment, check=True)
    commands = [c for block in re.findall(r"```console\n(.*?)```", page, re.S) for c in block.split("$ ")[1:]]
    for command in commands:
        line, _, shown = command.partition("\n")
        if line.startswith(("perf", "TRACEJIT_DEBUG_INFO=1 perf")):
            continue  # figures of one run on one machine
        line = line.replace("args python", f"args {sys.executable}")
        done = subprocess.run(
            line,
            shell=True,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        found = plain(done.stdout + done.stderr)
        missing = [s for s in plain(shown) if s and s not in found and "argv" not in s]
        assert not missing, "\n".join([line, *missing, "", *found])
