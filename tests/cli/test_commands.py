"""Each command of the command line, in a process of its own: what it prints, writes, refuses, and its exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import termios
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from tracejit.cli.main import main

SOURCE = Path(__file__).resolve().parents[2] / "src"
COMMAND = [sys.executable, "-m", "tracejit"]
MODEL = """
import tracejit as tj

print("imported")

def loss(x, w):
    return tj.reduce_mean((tj.reduce_sum(x * w, axis=1) - 1.0) ** 2)

def doubled(x):
    while tj.abs(x) < 1000.0:
        x = x * 2.0
    return x

def shows(x):
    tj.print(x)
    return x * x

def wrong(x):
    return x + missing

def nested(p, k):
    return tj.reduce_sum(p["w"] * p["b"] * k)

class Net(tj.Module):
    def __init__(self):
        self.w = tj.Variable([1.0, 2.0], dtype=tj.float64, name="w")

    def __call__(self, x):
        return tj.reduce_sum(self.w * x)

net = Net()
number = 3
"""
SPECS = "f64[n,3],f64[3]"
COMMANDS = "compile inspect verify trace graph loops llvm cache info".split()


class Done:
    """A finished command."""

    def __init__(self, done: subprocess.CompletedProcess[str]):
        self.code, self.out, self.error = done.returncode, done.stdout, done.stderr

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE), **more}


def tracejit(folder: Path, *words: str, command: list[str] = COMMAND, **more: str) -> Done:
    ran = subprocess.run(
        [*command, *words], cwd=folder, env=environment(**more), capture_output=True, text=True, timeout=300
    )
    assert "Traceback" not in ran.stderr or "--traceback" in words
    return Done(ran)


# ---- compile, inspect, verify ---------------------------------------------------------------------------


def test_compile_inspect_verify(folder: Path) -> None:
    files = ("-o", "libloss.so", "-o", "loss.tja", "--header", "loss.h")
    made = tracejit(folder, "compile", "model:loss", "--spec", SPECS, "--grad", *files)
    assert made.code == 0 and made.error == "imported\n"
    signature = "loss(x: float64[n,3], w: float64[3]) -> (value: float64[], gx: float64[n,3], gw: float64[3])"
    assert made.out.splitlines()[0] == signature
    assert {p.name for p in folder.iterdir()} - {"__pycache__"} == {
        "model.py",
        "libloss.so",
        "loss.tja",
        "loss.h",
    }
    assert (folder / "libloss.so").read_bytes()[:4] == b"\x7fELF"
    artifact = tf.load(folder / "loss.tja")
    value, _, gw = artifact(np.ones((2, 3)), np.array([1.0, 2.0, 3.0]))
    assert value == 25.0 and np.array_equal(gw, [10.0] * 3)

    shown = tracejit(folder, "inspect", "loss.tja", "--json").json
    assert shown["signature"] == signature and shown["bytes"] == (folder / "loss.tja").stat().st_size
    assert shown["c"].startswith("int32_t loss(const double *x, const double *w, double *value, double *gx,")
    text = tracejit(folder, "inspect", "loss.tja").out
    assert signature in text and shown["sha256"] in text and shown["c"] in text
    assert shown["graph"]["multiply"] >= 3 and f"{shown['graph']['multiply']} multiply" in text

    verified = tracejit(folder, "verify", "loss.tja", "--json").json
    assert verified["sample"] < 1e-12 and verified["gradient"] < 1e-4
    assert "from the sample" in tracejit(folder, "verify", "loss.tja").out


def test_compile_says_in_json_what_it_wrote(folder: Path) -> None:
    made = tracejit(folder, "--json", "compile", "model.py:net", "--spec", "f64[2]", "-o", "net.tja")
    assert made.json["signature"] == "net(x: float64[2]) -> (value: float64[])"
    assert made.json["files"][0]["path"] == "net.tja"
    as_arguments = ("--constants", "argument", "--outputs", "grad", "--name", "slope", "--wrt", "x")
    made = tracejit(
        folder, "compile", "model:net", "--spec", "f64[2]", *as_arguments, "-o", "net.tja", "--json"
    )
    assert made.json["signature"] == "slope(x: float64[2], w: float64[2]) -> (gx: float64[2])"


def test_compile_keeps_lines_for_debuggers(folder: Path) -> None:
    words = ("compile", "model.py:net", "--spec", "f64[2]", "--target", "host", "-o")
    tracejit(folder, *words, "plain.so")
    tracejit(folder, *words, "lines.so", "--debug")
    assert b".debug_line" in (folder / "lines.so").read_bytes()
    assert b".debug_line" not in (folder / "plain.so").read_bytes()


def test_nests_and_numbers_in_specs(folder: Path) -> None:
    made = tracejit(
        folder, "compile", "model:nested", "--spec", "{w: f64[3], 'b': f64}, 2", "-o", "n.h", "--json"
    )
    assert made.json["signature"] == "nested(p_b: float64[], p_w: float64[3]) -> (value: float64[])"


def script(folder: Path) -> list[str]:
    """The command that is installed: a file of its own, somewhere else, that knows the function's place."""
    project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())
    module, _, name = project["project"]["scripts"]["tracejit"].partition(":")
    path = folder / "bin" / "tracejit"
    path.parent.mkdir()
    path.write_text(f"import sys\nfrom {module} import {name}\nsys.exit({name}())\n")
    return [sys.executable, str(path)]


def test_as_the_installed_script(folder: Path) -> None:
    command = script(folder)
    made = tracejit(folder, "compile", "model:loss", "--spec", SPECS, "-o", "loss.o", command=command)
    assert made.code == 0 and (folder / "loss.o").is_file()
    assert tracejit(folder, "--version", command=command).out == f"tracejit {tf.__version__}\n"
    words = ("model:loss", "--spec", SPECS, "-o", "a.o", "--name", "1")
    refused = tracejit(folder, "compile", *words, command=command)
    assert refused.error.endswith("'1' is no name for a C function: write letters, digits and _\n"), (
        "the script is no line of the program"
    )


def test_files_named_like_modules_that_are_loaded(folder: Path) -> None:
    (folder / "json.py").write_text("from model import doubled\n")
    words = ("json.py:doubled", "--spec", "f64", "-o", "doubled.tja", "--json")
    assert tracejit(folder, "compile", *words, command=script(folder)).json["name"] == "doubled"


def test_a_damaged_artifact_is_not_verified(folder: Path) -> None:
    tracejit(folder, "compile", "model:doubled", "--spec", "f64", "-o", "d.tja")
    path = folder / "d.tja"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    for command in ("verify", "inspect"):
        done = tracejit(folder, command, "d.tja", "--json")
        assert done.code == 1 and done.json["error"]["type"] == "BadArtifact"
        assert "damaged" in tracejit(folder, command, "d.tja").error


# ---- stages ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stage", "sign"),
    [
        ("trace", "_ag.while_stmt"),
        ("graph", "graph doubled("),
        ("loops", "program doubled"),
        ("llvm", "define "),
    ],
)
def test_stages(folder: Path, stage: str, sign: str) -> None:
    shown = tracejit(folder, stage, "model:doubled", "--spec", "f64")
    assert shown.code == 0 and sign in shown.out
    both = tracejit(folder, stage, "model:doubled", "--spec", "f64", "--grad", "--json").json
    assert both["stage"] == stage and len(both["text"]) > len(shown.out)
    tracejit(folder, stage, "model:doubled", "--spec", "f64", "-o", "stage.txt")
    assert (folder / "stage.txt").read_text() == shown.out


def test_graphs_are_drawn(folder: Path) -> None:
    for name, sign in (("g.svg", "<svg"), ("g.html", "<svg"), ("g.dot", "digraph {")):
        drawn = tracejit(folder, "graph", "model:doubled", "--spec", "f64", "--grad", "-o", name)
        assert drawn.code == 0 and sign in (folder / name).read_text()
    for stage, name in (("loops", "loops.svg"), ("graph", "g.png")):
        refused = tracejit(folder, stage, "model:doubled", "--spec", "f64", "-o", name)
        assert refused.code == 2 and not (folder / name).exists()


# ---- the machine ----------------------------------------------------------------------------------------


def test_info(folder: Path) -> None:
    told = tracejit(folder, "info", "--json").json
    assert told["tracejit"] == tf.__version__ and told["packages"]["numpy"] == np.__version__
    assert told["cpu"]["levels"] and told["cache"]["path"]
    assert np.__version__ in tracejit(folder, "info").out


def test_cache(folder: Path) -> None:
    place = str(folder / "kept")
    assert tracejit(folder, "cache", "path", TRACEJIT_CACHE_DIR=place).out == f"{folder / 'kept' / 'v1'}\n"
    code = "import tracejit as tj; tj.function(lambda x: x * 2.5)(1.0)"
    subprocess.run([sys.executable, "-c", code], env=environment(TRACEJIT_CACHE_DIR=place), check=True)
    told = tracejit(folder, "cache", "info", "--json", TRACEJIT_CACHE_DIR=place).json
    assert told["entries"] == 1 and told["bytes"] > 0
    assert tracejit(folder, "cache", "clear", TRACEJIT_CACHE_DIR=place).out.startswith("removed 1 entries")
    assert tracejit(folder, "cache", "info", "--json", TRACEJIT_CACHE_DIR=place).json["entries"] == 0


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no users")
def test_a_cache_of_others_is_left_alone(folder: Path) -> None:
    place = folder / "kept" / "v1"
    place.mkdir(parents=True)
    place.chmod(0o777)
    done = tracejit(folder, "cache", "clear", TRACEJIT_CACHE_DIR=str(folder / "kept"))
    assert done.code == 1 and "nothing was removed" in done.error


def test_starts_load_little() -> None:
    """Neither NumPy nor tensors, of which each takes longer than all the rest."""
    code = (
        f"import sys; sys.path.insert(0, {str(SOURCE)!r}); sys.argv = ['tracejit', *{{}}]\n"
        "from tracejit.cli.main import main; main()\n"
        "print('numpy' in sys.modules, 'tracejit.core.tensor' in sys.modules)"
    )
    for words in (["--help"], ["compile", "--help"], ["info"], ["cache", "info"], ["--version"]):
        done = subprocess.run(
            [sys.executable, "-c", code.format(words)], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == "False False"


def test_artifacts_are_read_and_verified_without_the_compiler(folder: Path) -> None:
    tracejit(folder, "compile", "model:loss", "--spec", SPECS, "--grad", "-o", "loss.tja")
    code = (
        "import sys; from tracejit.cli.main import main\n"
        "print(main([*sys.argv[1:]]), 'tracejit.core.tensor' in sys.modules, 'llvmlite' in sys.modules)"
    )
    for command in ("inspect", "verify"):
        words = [sys.executable, "-c", code, command, "loss.tja"]
        done = subprocess.run(
            words, cwd=folder, env=environment(), capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == "0 False False"


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_has_examples(folder: Path, name: str) -> None:
    shown = tracejit(folder, *filter(None, [name]), "--help")
    assert shown.code == 0 and "example" in shown.out and "--json" in shown.out


# ---- what goes wrong ------------------------------------------------------------------------------------

REFUSED = [
    # words after `compile`, exit code, part of the message
    ("model:loss --spec f64[n,3],f64[3 -o a.so", 2, "not closed\n  f64[n,3],f64[3\n              ^"),
    ("model:loss --spec f64[n,3],f65[3] -o a.so", 2, "\n  f64[n,3],f65[3]\n           ^"),
    ("model:loss --spec f64[n,3]f64[3] -o a.so", 2, "a comma is missing here\n  f64[n,3]f64[3]\n          ^"),
    ("model:loss --spec f64[int,3],f64[3] -o a.so", 2, "'int' is no name for a size"),
    ("model:loss --spec {f64} -o a.so", 2, "a key and a colon"),
    ("model:loss --spec %$! -o a.so", 2, "a spec should stand here"),
    (f"model:loss --spec {'[' * 200} -o a.so", 2, "at most 50 deep"),
    ("model:loss --spec f64[2,3] -o a.so", 1, "missing a required argument: 'w'"),
    ("model:loss --spec f64[2,3],f64[4] -o a.so", 1, "do not broadcast"),
    ("model:los --spec f64 -o a.so", 2, "model has no los: did you mean loss?"),
    ("model:number --spec f64 -o a.so", 2, "number, which is no function but int"),
    ("mdel:loss --spec f64 -o a.so", 2, "no module 'mdel'"),
    ("no.py:loss --spec f64 -o a.so", 2, "there is no file no.py"),
    ("model --spec f64 -o a.so", 2, "names no function"),
    ("../x:loss --spec f64 -o a.so", 2, "no name of a module"),
    (f"model:loss --spec {SPECS} -o nowhere/a.so", 1, "there is no folder nowhere"),
    (f"model:loss --spec {SPECS} -o .", 1, "it is a folder"),
    (f"model:loss --spec {SPECS} -o a.dll", 2, "a.dll"),
    (f"model:loss --spec {SPECS} -o /dev/null", 1, "it is a device"),
    (f"model:loss --spec {SPECS} -o a.so -o ./a.so", 2, "written twice"),
    (f"model:loss --spec {SPECS} --header a.txt -o a.so", 2, "--header"),
    (f"model:loss --spec {SPECS} --grad --outputs value -o a.so", 2, "not allowed with"),
    (f"model:loss --spec {SPECS} --name 1x -o a.so", 1, "'1x' is no name for a C function"),
    (f"model:loss --spec {SPECS} --target z80 -o a.so", 1, "'z80'"),
    (f"model:loss --spec {SPECS} --outputs value,, -o a.so", 2, "words with commas"),
    (f"model:loss --spec {SPECS}", 2, "-o"),
]


@pytest.mark.parametrize(("words", "code", "message"), REFUSED, ids=[words[:60] for words, _, _ in REFUSED])
def test_refusals(
    folder: Path,
    words: str,
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In this process, which is quick; those that follow are processes of their own again."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "model", raising=False)
    assert main(["compile", *words.split()]) == code
    out, error = capsys.readouterr()
    assert out == "" and message in error
    assert [p.name for p in folder.iterdir() if p.name != "__pycache__"] == ["model.py"]


@pytest.mark.parametrize("words", ["", "nothing", "info --no", "cache", "verify a.tja --rtol -1"])
def test_wrong_usage(folder: Path, words: str) -> None:
    done = tracejit(folder, *words.split())
    assert done.code == 2 and "usage: tracejit" in done.error
    assert tracejit(folder, *words.split(), "--json").json["error"]["type"] == "usage"


def test_errors_show_the_line_of_the_program(folder: Path) -> None:
    line = {
        name: MODEL.split(text)[0].count("\n") + 1
        for name, text in (("shows", "tj.print("), ("wrong", "missing"))
    }
    for name, kind, text in (
        ("shows", "NotExportable", "tj.print(x)"),
        ("wrong", "NameError", "return x + missing"),
    ):
        done = tracejit(folder, "compile", f"model.py:{name}", "--spec", "f64", "-o", "a.so")
        assert done.code == 1 and f"tracejit: {kind}: " in done.error
        assert done.error.endswith(f"model.py:{line[name]}\n      {text}\n")
        told = tracejit(folder, "compile", f"model.py:{name}", "--spec", "f64", "-o", "a.so", "--json").json[
            "error"
        ]
        assert (told["type"], told["line"], told["text"]) == (kind, line[name], text)
    shown = tracejit(folder, "compile", "model.py:wrong", "--spec", "f64", "-o", "a.so", "--traceback")
    assert shown.code == 1 and "Traceback (most recent call last)" in shown.error


def test_modules_that_fail(folder: Path) -> None:
    cases = (
        ("x = (", "SyntaxError"),
        ("import absent_package", "No module named 'absent_package'"),
        ("raise SystemExit(3)", "ended the process while it was imported, with 3"),
        ("raise KeyError('k')", "'k' is not there"),
    )
    for number, (text, message) in enumerate(
        cases
    ):  # another file each: bytecode of one is kept, by time and size
        name = f"failing{number}"
        (folder / f"{name}.py").write_text(text)
        for home in (f"{name}.py", name):
            done = tracejit(folder, "trace", f"{home}:f", "--spec", "f64")
            assert done.code == 1 and message in done.error


def test_what_is_there_stays_when_writing_fails(folder: Path) -> None:
    (folder / "a.so").write_bytes(b"before")
    words = ("--spec", "f64", "-o", "a.so", "-o", "b.h")
    assert tracejit(folder, "compile", "model:shows", *words).code == 1
    (folder / "b.h").mkdir()
    assert tracejit(folder, "compile", "model:doubled", *words).code == 1
    assert (folder / "a.so").read_bytes() == b"before"
    assert not list(folder.glob(".tracejit-*"))


def test_whoever_reads_may_stop(folder: Path) -> None:
    words = f"{' '.join(COMMAND)} llvm model:loss --spec '{SPECS}' --grad 2>error | head -c 10"
    subprocess.run(["sh", "-c", words], cwd=folder, env=environment(), check=True, capture_output=True)
    assert (folder / "error").read_text() == "imported\n"


def test_interrupting_is_clean(folder: Path) -> None:
    (folder / "slow.py").write_text("import sys, time\nprint('here', flush=True)\ntime.sleep(60)\n")
    words = [*COMMAND, "compile", "slow:f", "--spec", "f64", "-o", "a.so"]
    with subprocess.Popen(words, cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None and process.stderr.readline() == "here\n"
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130 and rest.endswith("tracejit: interrupted\n") and "Traceback" not in rest
    assert not (folder / "a.so").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_what_takes_long_says_so_on_terminals(folder: Path) -> None:
    (folder / "slow.py").write_text("import time\ntime.sleep(1.6)\ndef f(x):\n    return x\n")
    words = [*COMMAND, "trace", "slow:f", "--spec", "f64"]
    try:
        ours, theirs = os.openpty()
    except OSError as error:  # a container without them
        pytest.skip(f"no pseudo-terminals: {error}")
    termios.tcsetwinsize(ours, (24, 80))  # tqdm shows nothing on one of no width
    done = subprocess.run(
        words, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=theirs, text=True
    )
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.returncode == 0 and "graph f(" in done.stdout and "tracejit trace" in shown
    assert tracejit(folder, "trace", "slow:f", "--spec", "f64").error == ""
