"""Code with debug information is loaded from files of the user's own, or as any other where that cannot be."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest

import tracejit as tf
from tracejit.core import settings
from tracejit.runtime.linking import debug_library


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "debug"


def run(shift: float) -> None:
    """Compile a program that nobody has compiled, and call it."""

    def shifted(x):
        return tf.sin(x) + shift

    x = np.arange(5.0)
    with settings.settings(debug_info=True):
        np.testing.assert_allclose(tf.function(shifted)(x), np.sin(x) + shift)


def mapped() -> str:
    return Path("/proc/self/maps").read_text() if os.path.exists("/proc/self/maps") else ""


def test_functions_are_opened_from_files(folder: Path):
    run(1.0)
    (file,) = folder.iterdir()
    assert file.name.startswith("shifted-") and file.suffix == ".so"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not stat.S_IMODE(file.stat().st_mode) & 0o077
    assert str(file) in mapped()


def test_without_the_setting_there_are_none(folder: Path):
    with settings.settings(debug_info=False):
        tf.function(lambda x: tf.cos(x) + 2.5)(np.arange(3.0))
    assert not folder.exists()


def test_a_file_that_is_not_what_was_written_is_replaced(folder: Path):
    run(3.0)
    (file,) = folder.iterdir()
    image = file.read_bytes()
    file.unlink()
    file.write_bytes(image[:100])
    file.chmod(0o600)
    run(3.0)
    assert file.read_bytes() == image


def test_a_folder_that_others_may_write_to_is_not_used(folder: Path):
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    with pytest.warns(debug_library.NotDebuggable, match="nobody else may write"):
        run(4.0)
    assert not list(folder.iterdir())


def test_a_link_is_not_followed(folder: Path, tmp_path: Path):
    folder.parent.mkdir()
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.warns(debug_library.NotDebuggable):
        run(5.0)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_where_nothing_can_be_opened_the_code_runs_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(path: str) -> None:
        raise OSError("no such thing here")

    monkeypatch.setattr(debug_library.ctypes, "CDLL", refuse)
    with pytest.warns(debug_library.NotDebuggable, match="no such thing here"):
        run(6.0)


def test_the_oldest_files_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch):
    for k in range(4):
        run(7.0 + k)
    files = sorted(folder.iterdir(), key=os.path.getmtime)
    for age, file in enumerate(reversed(files)):
        os.utime(file, (1e9 - age, 1e9 - age))
    monkeypatch.setattr(debug_library, "_LIMIT", 3 * files[0].stat().st_size)
    run(11.0)
    left = set(folder.iterdir())
    assert files[-1] in left and not {files[0], files[1]} & left
