"""Processes that check programs: one that ends or takes too long counts against the program it was at."""

from __future__ import annotations

import collections
import importlib
import multiprocessing
import multiprocessing.connection
import os
import resource
import sys
import time
from collections.abc import Iterator
from typing import Any

from .outcome import Outcome

LIMIT = 60  # seconds of a processor that one program may take: then the process ends, by SIGXCPU
PATIENCE = 900.0  # seconds without a word, however busy the machine is
Key = tuple[str, int]


def _work(connection: Any) -> None:
    """Check the programs that come in, one by one, saying which begins."""
    sys.stdout = open(os.devnull, "w")
    while (task := connection.recv()) is not None:
        kind, seeds = task
        check = importlib.import_module(f"fuzz.{kind}").check
        for seed in seeds:
            _limit()
            connection.send((kind, seed, None))
            try:
                found = check(seed)
            except Exception as error:
                found = Outcome("wrong", f"the generator failed: {type(error).__name__}: {error}")
            connection.send((kind, seed, found))
        connection.send(("done", 0, None))


def _limit() -> None:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(usage.ru_utime + usage.ru_stime) + LIMIT, hard))


class Worker:
    """A process, and what it is busy with."""

    def __init__(self, context: Any):
        self.context = context
        self.seeds: collections.deque[int] = collections.deque()
        self.kind = ""
        self.now: Key | None = None
        self.start()

    def start(self) -> None:
        """Begin, or begin again after an end."""
        self.connection, theirs = self.context.Pipe()
        self.process = self.context.Process(target=_work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.since = time.monotonic()
        self.idle = True

    def give(self, kind: str, seeds: list[int]) -> None:
        """Hand over some programs."""
        self.kind, self.seeds, self.idle = kind, collections.deque(seeds), False
        self.since = time.monotonic()
        self.connection.send((kind, seeds))

    def lost(self, why: str) -> tuple[Key, Outcome]:
        """The process is gone or must go: the verdict on what it was doing; the rest is given out again."""
        self.process.kill()
        self.process.join()
        key = self.now or (self.kind, self.seeds[0])
        if self.seeds and self.seeds[0] == key[1]:
            self.seeds.popleft()
        rest, self.now = list(self.seeds), None
        self.start()
        if rest:
            self.give(self.kind, rest)
        return key, Outcome("wrong", why)

    def heard(self) -> Iterator[tuple[Key, Outcome]]:
        """What it has to say."""
        try:
            while self.connection.poll():
                kind, seed, found = self.connection.recv()
                self.since = time.monotonic()
                if kind == "done":
                    self.idle, self.now = True, None
                elif found is None:
                    self.now = kind, seed
                else:
                    self.seeds.popleft()
                    self.now = None
                    yield (kind, seed), found
        except (EOFError, ConnectionResetError):
            self.process.join()
            yield self.lost(f"the process ended with status {self.process.exitcode}")


def outcomes(tasks: list[tuple[str, list[int]]], jobs: int) -> Iterator[tuple[Key, Outcome]]:
    """Check everything, several at a time; in no particular order."""
    context = multiprocessing.get_context("spawn")
    workers = [Worker(context) for _ in range(jobs)]
    waiting = collections.deque(tasks)
    while True:
        for worker in workers:
            yield from worker.heard()
            if not worker.idle and time.monotonic() - worker.since > PATIENCE:
                yield worker.lost(f"no end after {PATIENCE:.0f} s")
            if worker.idle and waiting:
                worker.give(*waiting.popleft())
        if not waiting and all(worker.idle for worker in workers):
            break
        multiprocessing.connection.wait([worker.connection for worker in workers], timeout=1.0)
    for worker in workers:
        worker.connection.send(None)
        worker.process.join()
