"""Loading in a fresh process: what it needs, and that it needs no more."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tracejit as tf
from fuzz import artifacts
from tracejit.aot import Artifact, BadArtifact, NotVerified
from tracejit.core.dim import parse
from tracejit.runtime import cpu
from tracejit.runtime.exported import container

#: Above this, something that loading does not need has crept in; each module costs every program that loads.
MOST_MODULES = 38


def test_loading_and_calling_need_a_small_part_of_the_package(tmp_path: Path) -> None:
    def loss(x, k):
        return tf.reduce_sum(x**2) * k

    path = tmp_path / "loss.tja"
    tf.export(loss, ["f64[n]", "f64"], name="loss").save(path)
    code = (
        "import sys, numpy as np\n"
        "before = set(sys.modules)\n"
        "import tracejit\n"
        f"f = tracejit.load({str(path)!r})\n"
        "for _ in range(3): value, *_ = f(np.arange(4.0), 2.0)\n"
        "print(value, f(np.arange(4.0), 2.0, out=(None, None, np.empty(())))[0], f.signature)\n"
        "assert f.verify().sample < 1e-12\n"
        "new = set(sys.modules) - before\n"
        "print(sorted(m for m in new if m.startswith('tracejit.')))\n"
        "assert not new & {'llvmlite', 'pathlib', 'tempfile', 'tracejit.core.op', 'tracejit.ops'}\n"
        "print(tracejit.constant(1.0) + 1.0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    values, modules, total = done.stdout.splitlines()
    assert values.startswith("28.0 28.0 loss(x: float64[n], k: float64[])") and "2." in total
    assert len(modules.split(",")) <= MOST_MODULES, modules


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    weights = tf.constant(np.linspace(-1.0, 1.0, 12).reshape(3, 4), tf.float64)

    def net(x):
        while tf.reduce_sum(x * x) > 1.0:  # a loop, constants, sizes with names
            x = x * 0.5
        return tf.reduce_sum(tf.tanh(x @ weights) ** 2)

    path = tmp_path_factory.mktemp("saved") / "net.tja"
    tf.export(net, ["f64[n,3]"], name="net").save(path)
    return path


def test_a_kept_graph_is_compiled_for_other_processors(saved: Path, tmp_path: Path) -> None:
    art = tf.load(saved)
    level = "x86-64-v2" if cpu.host().arch == "x86_64" else "aarch64"
    x = np.arange(12.0).reshape(4, 3)
    for again in (art.retarget(level, "host"), art.retarget("host")):
        assert again.signature == art.signature and again.verify().sample < 1e-12
        for a, b in zip(again(x), art(x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    assert art.retarget(level).targets == (f"{cpu.host().arch}/{level}",)
    again = art.retarget(level)
    again.save(tmp_path / "again.tja")
    assert tf.load(tmp_path / "again.tja").retarget("host").targets == (f"{cpu.host().arch}/host",)
    with pytest.raises(ValueError, match="a target is"):
        art.retarget("z80")
    with pytest.raises(ValueError, match="at least one target"):
        art.retarget()


def test_graphs_from_files_are_admitted(saved: Path, tmp_path: Path) -> None:
    header, blobs = container.read(saved)
    path = tmp_path / "edited.tja"
    text = blobs["graph"].decode()
    for damage, message in [
        (text[:-30], "is damaged"),
        (text.replace("tanh", "numpy_function"), "is damaged"),
        (text.replace("tanh", "exp"), None),  # another function, which the sample tells
    ]:
        container.write(path, header, {**blobs, "graph": damage.encode()})
        art = tf.load(path)  # nothing of it is needed to call
        if message:
            with pytest.raises(BadArtifact, match=message):
                art.retarget("host")
        else:
            with pytest.raises(NotVerified):
                art.retarget("host").verify()


def test_without_the_graph_a_file_is_smaller(tmp_path: Path) -> None:
    weights = tf.constant(np.ones((100, 100)), tf.float64)
    for keep in (True, False):
        art = tf.export(lambda x: x @ weights, ["f64[100]"], name="w", outputs=["value"], keep_graph=keep)
        art.save(tmp_path / f"{keep}.tja")
    sizes = [(tmp_path / f"{keep}.tja").stat().st_size for keep in (True, False)]
    assert sizes[0] - sizes[1] > weights.numpy().nbytes
    with pytest.raises(ValueError, match="w was exported with keep_graph=False"):
        tf.load(tmp_path / "False.tja").retarget("host")


def test_a_file_can_be_named_by_its_digest(saved: Path) -> None:
    digest = hashlib.sha256(saved.read_bytes()).hexdigest()
    assert tf.load(saved, sha256=digest).name == tf.load(saved, sha256=digest.upper()).name == "net"
    with pytest.raises(
        BadArtifact, match=rf"is another file than what was asked for: its SHA-256 is {digest}"
    ):
        tf.load(saved, sha256="0" * 64)


def test_libraries_are_no_artifacts(saved: Path, tmp_path: Path) -> None:
    tf.load(saved).write(tmp_path / "libnet.so")
    with pytest.raises(BadArtifact, match=r"but is a library: load what `Artifact.save` wrote"):
        tf.load(tmp_path / "libnet.so")
    whole = saved.read_bytes()
    (tmp_path / "newer.tja").write_bytes(whole[:8] + b"\x09" + whole[9:])
    with pytest.raises(BadArtifact, match=r"has format 9, .* reads 1: it was made by a newer one"):
        tf.load(tmp_path / "newer.tja")


def test_verification_says_what_could_not_be_tried() -> None:
    art = tf.export(lambda x: x + 1.0, ["f64"], name="f", outputs=["value"])
    assert "no gradient was tried" in str(art.verify()) and art.verify().gradient is None
    nothing = Artifact(art._codes, None).verify()
    assert (nothing.sample, nothing.gradient) == (None, None) and "nothing was tried" in str(nothing)
    whole = tf.export(lambda x: x * x, ["f64"], name="f").verify()
    assert not whole.reason and str(whole).startswith("results agree with those kept to")


def test_samples_that_do_not_fit_are_refused(saved: Path, tmp_path: Path) -> None:
    header, blobs = container.read(saved)
    for k, spec in [
        (0, ["float64", [1, 18]]),
        (0, ["float64", [-1]]),
        (1, ["float64", [1]]),
        (0, ["float32", [12, 3]]),
    ]:
        described = [*header["sample"]]
        described[k] = spec
        container.write(tmp_path / "wrong.tja", {**header, "sample": described}, blobs)
        with pytest.raises(BadArtifact, match="does not describe an artifact"):
            tf.load(tmp_path / "wrong.tja")


def test_sizes_in_files_cannot_take_forever() -> None:
    for text in (
        "*".join(f"floordiv(a{k} + b{k}, 1)" for k in range(60)),
        "n*" * 100_000 + "n",
        "max(" * 5000,
    ):
        with pytest.raises((ValueError, RecursionError)):
            parse(text)


def test_damaged_artifacts_of_all_kinds() -> None:
    """The first of the cases of ``python -m fuzz.artifacts``, each kind among them."""
    counts, wrong = artifacts.many(200, seed=1, jobs=1)
    assert not wrong and sum(counts.values()) == 200
    assert {kind for kind, _ in counts} == {damage.__name__ for damage in artifacts.DAMAGES}
    assert {said for _, said in counts} == {"refused", "taken"}
