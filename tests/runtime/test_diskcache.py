"""The cache of compiled objects: damage, concurrency, limits, and disks that refuse."""

from __future__ import annotations

import hashlib
import os
import random
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tracejit.core.settings import settings
from tracejit.runtime import diskcache, packing
from tracejit.runtime.diskcache import DiskCache, UntrustedCache


def key(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def test_round_trip_and_missing(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "deep" / "cache")
    assert cache.get(key(1)) is None
    for payload in (b"", b"x", os.urandom(100_000)):
        assert cache.put(key(1), payload) and cache.get(key(1)) == payload
    assert stat.S_IMODE((tmp_path / "deep" / "cache").stat().st_mode) == 0o700
    cache.clear()
    assert cache.get(key(1)) is None and cache.size() == 0


@pytest.mark.parametrize("bad", ["", "ab", "../../../etc/passwd", "ABCDEF0123456789", "a/b" * 10])
def test_keys_are_digests(tmp_path: Path, bad: str) -> None:
    with pytest.raises(ValueError, match="cache key"):
        DiskCache(tmp_path).get(bad)


def test_damage_is_a_miss_and_is_removed(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    payload = os.urandom(500)
    generator = random.Random(0)
    for trial in range(200):
        cache.put(key(0), payload)
        path = cache.path(key(0))
        image = bytearray(path.read_bytes())
        if trial % 2:
            image = image[: generator.randrange(len(image))]
        else:
            image[generator.randrange(len(image))] ^= 1 << generator.randrange(8)
        path.write_bytes(image)
        assert cache.get(key(0)) is None and not path.exists()


def test_an_entry_under_the_name_of_another_is_a_miss(tmp_path: Path) -> None:
    cache = diskcache.DiskCache(tmp_path)
    first, second = "ab" * 32, "cd" * 32
    cache.put(first, b"one")
    cache.put(second, b"two")
    cache.path(first).replace(cache.path(second))
    assert cache.get(second) is None and not cache.path(second).exists()


def test_trim_removes_the_least_recently_used(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, limit=10_000)
    for i in range(20):
        cache.put(key(i), bytes(1000))
        os.utime(cache.path(key(i)), (0, 1_000_000 + i))
    assert cache.get(key(0)) is not None  # used now: the newest
    assert cache.trim() > 0 and cache.size() <= 8000
    assert cache.get(key(0)) is not None and cache.get(key(1)) is None and cache.get(key(19)) is not None


def test_trim_removes_what_dead_writers_left(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    cache.put(key(0), b"x")
    left, fresh = cache.path(key(0)).parent / ".put123", cache.path(key(0)).parent / ".put456"
    for path in (left, fresh):
        path.write_bytes(b"half")
    os.utime(left, (0, time.time() - 7200))
    cache.trim()
    assert not left.exists() and fresh.exists() and cache.get(key(0)) == b"x"


def test_disk_that_refuses(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    cache = DiskCache(tmp_path / "file" / "cache")
    assert cache.put(key(0), b"x") is False and cache.get(key(0)) is None and cache.trim() == 0


def test_settings_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))
    with settings(cache=True):
        assert diskcache.put(key(0), b"x") and diskcache.get(key(0)) == b"x"
    with settings(cache=False):
        assert diskcache.get(key(0)) is None and diskcache.put(key(0), b"y") is False
    monkeypatch.delenv("TRACEJIT_CACHE_DIR")
    assert diskcache.directory().name == "tracejit"


def test_payload() -> None:
    metadata = {"b": [1, None, "ä"], "a": {}}
    assert packing.unpack(packing.pack(b"code", metadata)) == (b"code", metadata)
    assert packing.pack(b"", {"a": 1, "b": 2}) == packing.pack(b"", {"b": 2, "a": 1})
    for damaged in (b"", b"1234567", b"\xff" * 20, (2).to_bytes(8, "little") + b"[]"):
        with pytest.raises(ValueError):
            packing.unpack(damaged)


WORKER = """
import hashlib, random, sys
from tracejit.runtime.diskcache import DiskCache, UntrustedCache
cache = DiskCache(sys.argv[1], limit=60_000)
generator = random.Random(int(sys.argv[2]))
for step in range(1500):
    n = generator.randrange(60)
    key, payload = hashlib.sha256(b"%d" % n).hexdigest(), (b"%d," % n) * (300 + n)
    if generator.random() < 0.4:
        cache.put(key, payload)
    elif generator.random() < 0.1:
        try:
            image = cache.path(key).read_bytes()
            cache.path(key).write_bytes(image[: generator.randrange(len(image) + 1)])
        except OSError:
            pass
    else:
        found = cache.get(key)
        assert found is None or found == payload, "wrong payload"
"""


def test_processes_that_write_damage_and_trim_at_once(tmp_path: Path) -> None:
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path), str(i)]) for i in range(3)]
    assert [worker.wait(timeout=300) for worker in workers] == [0, 0, 0]
    assert not list(tmp_path.glob("??/.put*"))


def test_threads(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path)
    wrong = []

    def work() -> None:
        for i in range(100):
            cache.put(key(i % 10), b"%d" % (i % 10) * 1000)
            if cache.get(key(i % 10)) not in (None, b"%d" % (i % 10) * 1000):
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- whose code it is -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757, 0o1777, 0o722])
def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path, mode: int) -> None:
    root = tmp_path / "cache"
    assert DiskCache(root).put(key(1), b"x")
    root.chmod(mode)
    cache = DiskCache(root)
    with pytest.warns(
        UntrustedCache, match=rf"chmod go-w {root} if it is yours, or set TRACEJIT_CACHE_DIR"
    ) as told:
        assert cache.get(key(1)) is None
        assert not cache.put(key(2), b"y") and cache.get(key(2)) is None
        cache.clear()
        assert cache.trim() == 0 and cache.size() == 0
    assert len(told) == 1 and cache.path(key(1)).exists() and not cache.path(key(2)).exists()
    root.chmod(0o755)
    assert DiskCache(root).get(key(1)) == b"x"


def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DiskCache(tmp_path / "cache")
    assert cache.put(key(1), b"x")
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.warns(UntrustedCache, match="the folder must belong to you"):
        assert cache.get(key(1)) is None
    assert not cache.put(key(2), b"y")
    assert cache.path(key(1)).exists()


def test_folders_within_are_the_users_own_as_well(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "cache")
    assert cache.put(key(1), b"x")
    cache.path(key(1)).parent.chmod(0o777)
    assert cache.get(key(1)) is None and not cache.put(key(1), b"y") and cache.size() == 0


@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_a_file_that_others_may_write_to_is_not_used(tmp_path: Path, mode: int) -> None:
    cache = DiskCache(tmp_path / "cache")
    assert cache.put(key(1), b"x")
    cache.path(key(1)).chmod(mode)
    assert cache.get(key(1)) is None and not cache.path(key(1)).exists()
    assert cache.put(key(1), b"z") and cache.get(key(1)) == b"z"
    assert stat.S_IMODE(cache.path(key(1)).stat().st_mode) == 0o600


def test_links_and_pipes_are_no_entries(tmp_path: Path) -> None:
    cache, outside = DiskCache(tmp_path / "cache"), tmp_path / "outside"
    assert cache.put(key(1), b"x")
    path = cache.path(key(1))
    path.rename(outside)
    path.symlink_to(outside)
    assert cache.get(key(1)) is None and outside.exists() and not path.is_symlink()
    os.mkfifo(path)
    assert cache.get(key(1)) is None and not path.exists()


def test_nothing_is_removed_through_a_link(tmp_path: Path) -> None:
    root, outside = tmp_path / "cache", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    for name in ("a.tjo", ".put0", "notes"):
        (outside / name).touch()
        os.utime(outside / name, (0, 0))
    (root / "ab").symlink_to(outside)
    (root / "cd").mkdir()
    (root / "cd" / "notes").touch()
    os.utime(root / "cd" / "notes", (0, 0))
    cache = DiskCache(root, limit=0)
    cache.trim()
    cache.clear()
    assert sorted(p.name for p in outside.iterdir()) == [".put0", "a.tjo", "notes"]
    assert (root / "cd" / "notes").exists()


def test_a_link_to_a_folder_of_ones_own_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    cache = DiskCache(tmp_path / "link")
    assert cache.put(key(1), b"x") and cache.get(key(1)) == b"x"


def test_folders_are_made_for_the_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert DiskCache(tmp_path / "a" / "b").put(key(1), b"x")
    finally:
        os.umask(before)
    made = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / key(1)[:2]]
    assert [stat.S_IMODE(p.stat().st_mode) for p in made] == [0o700] * 3
