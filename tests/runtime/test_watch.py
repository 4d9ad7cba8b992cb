"""Where loops are, as told to people: warnings of loops that seem endless, progress bars, errors of listeners."""

from __future__ import annotations

import itertools
import sys
import threading
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import tracejit as tj
from tracejit.runtime import watch
from tracejit.runtime.watch import Loop, Patience

HERE = Path(__file__).resolve()
ENDLESS = np.int64(1 << 62)


def line_of(text: str) -> int:
    (number,) = (n for n, line in enumerate(HERE.read_text().splitlines(), 1) if line.endswith(f"  # {text}"))
    return number


@tj.function
def endless(x, n):
    while x < n:  # endless
        x = x + 1
    return x


@tj.function
def endless_inside(x, n):
    for i in range(n):  # around
        while x < ENDLESS:  # inside
            x = x + i
    return x


@tj.function
def counted(x, n):
    for _ in range(n):  # counted
        x = x + 1
    return x


@tj.function
def many(x, n):
    for _ in range(n):  # many
        y = x * 0
        while y < 100:
            y = y + 1
        x = x + y
    return x


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(watch, "LONG", 0.2)
    with tj.settings(check=True), warnings.catch_warnings():
        warnings.simplefilter("error", tj.LongLoopWarning)
        yield


@pytest.mark.usefixtures("impatient")
def test_a_loop_without_end_is_named() -> None:
    with pytest.raises(tj.LongLoopWarning, match=r"run for \d+ s and [\d,]+ iterations"):
        endless(np.int64(0), ENDLESS)
    with pytest.raises(tj.LongLoopWarning):
        endless_inside(np.int64(0), np.int64(3))
    assert endless(np.int64(0), np.int64(5)).item() == 5


def test_the_warning_is_at_the_line_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = types.SimpleNamespace(
        monotonic=itertools.count(0.0, watch.LONG).__next__
    )  # any loop is a long one
    monkeypatch.setattr(watch, "time", clock)
    for call, name in (
        (lambda: endless(np.int64(0), np.int64(10**8)), "endless"),
        (lambda: endless_at_most(10**8), "inside at most"),
    ):
        with tj.settings(check=True), pytest.warns(tj.LongLoopWarning) as seen:
            call()
        assert [(w.filename, w.lineno) for w in seen] == [(str(HERE), line_of(name))]


def endless_at_most(n: int) -> None:
    @tj.function
    def f(x, n, k):
        for _ in range(k):
            while x < n:  # inside at most
                x = x + 1
        return x

    f(np.int64(0), np.int64(n), np.int64(2))


@pytest.mark.usefixtures("impatient")
def test_long_loops_that_end_are_not_warned_of() -> None:
    assert counted(np.int64(0), np.int64(3 * 10**8)).item() == 3 * 10**8
    assert many(np.int64(0), np.int64(4 * 10**6)).item() == 4 * 10**8


def test_without_the_setting_nobody_is_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LONG", 0.0)
    with tj.settings(check=False), warnings.catch_warnings():
        warnings.simplefilter("error")
        endless(np.int64(0), np.int64(10**8))


@pytest.mark.usefixtures("impatient")
def test_an_eager_loop_without_end_is_named() -> None:
    with pytest.raises(tj.LongLoopWarning, match="iterations"):
        tj.while_loop(lambda x: x < 1.0, lambda x: x * 1.0, [tj.constant(0.0)])
    assert float(tj.while_loop(lambda x: x < 3.0, lambda x: x + 1.0, [tj.constant(0.0)])[0]) == 3.0


@pytest.mark.usefixtures("impatient")
def test_loops_of_other_threads_are_named_too() -> None:
    found: list[BaseException] = []

    def work() -> None:
        with tj.settings(check=True):
            try:
                endless(np.int64(0), ENDLESS)
            except tj.LongLoopWarning as error:
                found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(timeout=300)
    assert len(found) == 1


def test_patience_starts_again_with_every_run_of_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(watch.time, "monotonic", lambda: now[0])
    told: list[Loop] = []
    monkeypatch.setattr(watch, "warn", lambda loop, seconds: told.append(loop))
    patience = Patience()

    def at(seconds: float, outer: int, inner: int) -> None:
        now[0] = seconds
        patience.at((Loop("a.py", 1, outer, 10), Loop("a.py", 2, inner, None)))

    at(0, 0, 0), at(9, 0, 100), at(11, 1, 101), at(20, 1, 200), at(21, 1, 5)
    assert told == []
    at(31, 1, 6), at(50, 1, 7)
    assert told == [Loop("a.py", 2, 6, None)]


# ---- progress -------------------------------------------------------------------------------------------


def test_progress_tells_how_far_a_loop_is() -> None:
    seen: list[Loop] = []
    with tj.progress(seen.append, every=0.0):
        counted(np.int64(0), np.int64(10**8))
    assert {(loop.file, loop.line, loop.total) for loop in seen} == {(str(HERE), line_of("counted"), 10**8)}
    done = [loop.done for loop in seen]
    assert len(done) > 3 and done == sorted(done) and done[-1] == 10**8
    counted(np.int64(0), np.int64(10**8))
    assert len(seen) == len(done)


def test_progress_is_that_of_the_outermost_loop() -> None:
    seen: list[Loop] = []
    with tj.progress(seen.append):
        many(np.int64(0), np.int64(10**6))
    assert {loop.line for loop in seen} == {line_of("many")}
    assert {loop.total for loop in seen} == {10**6}


def test_an_error_while_showing_progress_ends_the_call() -> None:
    def show(loop: Loop) -> None:
        raise ZeroDivisionError("enough")

    with tj.progress(show), pytest.raises(ZeroDivisionError, match="enough"):
        endless(np.int64(0), ENDLESS)
    assert endless(np.int64(0), np.int64(7)).item() == 7


class Tqdm:
    bars: ClassVar[list[Tqdm]] = []

    def __init__(self, total: int | None, desc: str):
        self.total, self.desc, self.n, self.closed = total, desc, 0, False
        self.bars.append(self)

    def update(self, more: int) -> None:
        self.n += more

    def close(self) -> None:
        self.closed = True


def test_each_run_of_a_loop_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("tqdm.auto")
    module.tqdm = Tqdm  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    with tj.progress(every=0.0):
        for _ in range(2):
            counted(np.int64(0), np.int64(10**8))
        endless(np.int64(0), np.int64(10**8))
    assert [bar.desc for bar in Tqdm.bars] == [
        f"{HERE.name}:{line_of(x)}" for x in ("counted", "counted", "endless")
    ]
    assert [bar.total for bar in Tqdm.bars] == [10**8, 10**8, None]
    assert [bar.n for bar in Tqdm.bars[:2]] == [10**8] * 2 and 0 < Tqdm.bars[2].n < 10**8
    assert all(bar.closed for bar in Tqdm.bars)


def test_without_tqdm_progress_is_a_line_of_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with tj.progress(every=0.0):
        counted(np.int64(0), np.int64(10**8))
    assert capsys.readouterr().err.endswith(
        f"\r{HERE.name}:{line_of('counted')}: 100,000,000 of 100,000,000 (100%)\n"
    )
