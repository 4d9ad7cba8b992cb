"""Folders and files from anywhere: nothing outside of a checkpoint's folder is touched, and errors are ours."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from fuzz.hostile import forged
from tracejit.train import Checkpoint, CheckpointManager, DamagedCheckpoint
from tracejit.train.checkpoint import index

NOT_NAMES = [
    "",
    ".",
    "..",
    "../kept",
    "a/b",
    "a\\b",
    "..\\kept",
    "C:kept",
    "C:\\kept",
    "a\0b",
    "/kept",
    "\\\\host\\kept",
]


def hostile_index(folder: Path, names: Any) -> None:
    (folder / "checkpoint").write_text(json.dumps({"latest": "x", "all": names}))


@pytest.mark.parametrize("name", [*NOT_NAMES, 7, None, ["a"], {"a": 1}, True])
def test_what_is_no_name_of_a_file_is_none(name: object):
    assert not index.is_name(name)


@pytest.mark.parametrize("name", ["ckpt-1", "a b", ".hidden", "käse", "ckpt:1", "...", "x.safetensors"])
def test_names_of_files(name: str):
    assert index.is_name(name)


@pytest.mark.parametrize("absolute", [False, True])
def test_no_file_outside_of_the_folder_is_deleted(absolute: bool, tmp_path: Path):
    folder, outside = tmp_path / "folder", tmp_path / "kept.safetensors"
    folder.mkdir()
    outside.write_bytes(b"precious")
    (folder / "sub").mkdir()
    (folder / "sub" / "kept.safetensors").write_bytes(b"precious too")
    hostile_index(folder, [str(tmp_path / "kept") if absolute else "../kept", "sub/kept", "sub/../../kept"])
    with pytest.warns(RuntimeWarning, match="which is no file of its folder: it is left alone"):
        manager = CheckpointManager(Checkpoint(v=tf.Variable(1.0)), folder, max_to_keep=1)
    assert manager.checkpoints == []
    for _ in range(3):
        manager.save()
    assert outside.read_bytes() == b"precious"
    assert (folder / "sub" / "kept.safetensors").read_bytes() == b"precious too"
    assert [Path(p).name for p in manager.checkpoints] == ["ckpt-3"]


def test_a_link_is_deleted_and_not_what_it_leads_to(tmp_path: Path):
    folder, outside = tmp_path / "folder", tmp_path / "kept.safetensors"
    folder.mkdir()
    Checkpoint(v=tf.Variable(5.0)).write(outside)
    before = outside.read_bytes()
    (folder / "link.safetensors").symlink_to(outside)
    (folder / "ckpt-1.safetensors").symlink_to(outside)
    hostile_index(folder, ["link", "ckpt-1"])
    manager = CheckpointManager(Checkpoint(v=tf.Variable(1.0)), folder, max_to_keep=1)
    manager.save()  # takes the place of the link ckpt-1
    assert outside.read_bytes() == before
    assert sorted(p.name for p in folder.iterdir()) == ["checkpoint", "ckpt-1.safetensors"]
    assert not (folder / "ckpt-1.safetensors").is_symlink()


@pytest.mark.parametrize(
    "text",
    [
        '{"all": ' + "[" * 100_000,
        '{"all": "ckpt"}',
        '{"all": [[1], {}]}',
        "[]",
        "1" * 10_000,
        "\udc80",
        '{"all": 3}',
    ],
)
def test_an_index_that_makes_no_sense_is_made_again_from_the_files(text: str, tmp_path: Path):
    path = Checkpoint(v=tf.Variable(1.0)).save(tmp_path / "ckpt")
    (tmp_path / "checkpoint").write_bytes(text.encode("utf-8", "surrogateescape"))
    if text == '{"all": "ckpt"}':
        (tmp_path / "c.safetensors").mkdir()  # a letter of it
    assert tf.train.latest_checkpoint(tmp_path) == path


def test_a_pipe_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "checkpoint")
    os.mkfifo(tmp_path / "c.safetensors")
    assert tf.train.latest_checkpoint(tmp_path) is None
    with pytest.raises(OSError, match="is not a file"):
        Checkpoint(v=tf.Variable(1.0)).restore(tmp_path / "c")


def test_only_what_was_left_aside_is_cleared_away(tmp_path: Path):
    ours = [f".checkpoint.{'a' * 12}.tmp", f".ckpt-1.safetensors.{'0' * 12}.tmp"]
    others = [".mine.tmp", ".checkpoint.tmp", f".notes.{'a' * 12}.tmp"]
    for name in (*ours, *others):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, time.time() - 1e6))
    index.clean(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(others)


@pytest.mark.parametrize("name", ["a/b", "../a", ""])
def test_a_manager_writes_into_its_folder_only(name: str, tmp_path: Path):
    with pytest.raises(ValueError, match="checkpoint_name begins the names of files in one folder"):
        CheckpointManager(Checkpoint(), tmp_path, 1, checkpoint_name=name)


# ---- files with a right checksum ------------------------------------------------------------------------


def entry(shape: Any, start: Any, end: Any, dtype: Any = "F32") -> dict[str, Any]:
    return {"v": {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}}


@pytest.mark.parametrize(
    "header",
    [
        entry([-1], 8, 4),
        entry([2**62, 0, 2**62], 0, 0),
        entry([2**80, 0], 0, 0),
        entry([2], -8, 0),
        entry([4], 0, 16),
        entry([2.0], 0, 8),
        entry([True], 0, 4),
        entry("12", 0, 8),
        entry([2], 0, 8, "O"),
        entry([2], 0, 8, ["F32"]),
        entry([1] * 2000, 0, 4),
        entry([8], 0, 8, "BOOL"),
        entry([2**40], 0, 2**42),
        {"v": None},
        {"v": []},
    ],
    ids=str,
)
def test_arrays_that_cannot_be(header: Any, tmp_path: Path):
    path = forged(tmp_path / "c.safetensors", header, bytes(range(8)))
    with pytest.raises(DamagedCheckpoint):
        Checkpoint(v=tf.Variable([1.0, 2.0])).restore(path)


@pytest.mark.parametrize(
    "also", ["[" * 100_000, "[1]", '{"w": "nothing"}', '{"w": []}', "no json", 7, {"a": 1}]
)
def test_what_else_a_file_may_say_wrongly(also: Any, tmp_path: Path):
    path = forged(tmp_path / "c.safetensors", entry([2], 0, 8), bytes(8), {"also": also})
    with pytest.raises(DamagedCheckpoint):
        Checkpoint(v=tf.Variable([1.0, 2.0])).restore(path)


def test_a_header_that_is_nested_too_deeply(tmp_path: Path):
    text = b'{"v":' + b"[" * 200_000
    (tmp_path / "c.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    with pytest.raises(DamagedCheckpoint):
        Checkpoint(v=tf.Variable(1.0)).restore(tmp_path / "c")


# ---- names that would be one in a file ------------------------------------------------------------------


@pytest.mark.parametrize("keys", [(1, "1"), (True, "True"), (None, "None"), (1.5, "1.5")], ids=str)
def test_keys_with_the_same_text_are_refused(keys: tuple, tmp_path: Path):
    checkpoint = Checkpoint(d={keys[0]: tf.Variable(1.0), keys[1]: tf.Variable(2.0)})
    with pytest.raises(ValueError, match=f"one value for 'd/{keys[1]}', and two Variables"):
        checkpoint.write(tmp_path / "c")
    assert not list(tmp_path.iterdir())


def test_names_with_slashes_and_escapes_are_kept_apart(tmp_path: Path):
    model = tf.Module()
    names = ["a/b", "a%2Fb", "a%252Fb", "a.b", "..", "", "a//b"]
    model.d = {name: tf.Variable(float(k)) for k, name in enumerate(names)}
    model.a = {"b": tf.Variable(70.0), "": {"": tf.Variable(71.0)}}
    setattr(model, "a/b", tf.Variable(72.0))
    setattr(model, "a//", tf.Variable(73.0))
    checkpoint = Checkpoint(model=model)
    path = checkpoint.write(tmp_path / "c")
    before = {k: float(v) for k, v in checkpoint._variables().items()}
    assert len(before) == len(names) + 4
    for v in checkpoint._variables().values():
        v.assign(-1.0)
    checkpoint.restore(path).assert_consumed()
    assert {k: float(v) for k, v in checkpoint._variables().items()} == before
    assert np.unique(list(before.values())).size == len(before)
