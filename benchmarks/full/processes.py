"""The processes of peers: start one with its interpreter and its threads, ask it, end it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.full.rows import OURS, PEERS

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 240.0  # seconds that one answer may take
GLANCE = 0.002  # seconds over which a process is watched
LONGEST_REST = 0.2  # seconds that one is given to come to rest


class PeerError(Exception):
    """A peer failed at a request, ended, or took too long."""


def interpreters(given: list[str]) -> dict[str, str]:
    """Return the interpreter of every peer, from words such as ``JAX=/path/python``; a bare path is all peers'.

    A module's name is that of all peers it serves, and so is the first word of theirs: ``TF`` is ``TF XLA``, too. Later
    words overrule earlier ones.

    Raises
    ------
    ValueError
        For a peer that nobody knows.
    """
    found = dict.fromkeys(PEERS, sys.executable)
    for word in given:
        name, _, path = word.rpartition("=")
        names = [peer for peer in PEERS if peer != OURS and (not name or name.lower() in _names(peer))]
        if not names:
            raise ValueError(f"--peer-python {word}: peers are {', '.join(PEERS)}")
        found.update(dict.fromkeys(names, path))
    return found


def _names(peer: str) -> set[str]:
    """How a peer may be called: as it is, by the first word, or by its module."""
    whole = peer.lower()
    return {whole, whole.replace(".", " ").split()[0], PEERS[peer]}


def environment(threads: str) -> dict[str, str]:
    """Return the environment of a process on ``1`` thread or ``all``: the package finds the rest itself."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": paths, "BENCHMARKS_THREADS": threads}


class Worker:
    """One peer's process, which ends with the ``with`` statement."""

    def __init__(self, peer: str, python: str, threads: str) -> None:
        self.peer, self.python, self.threads = peer, python, threads
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.end()

    def end(self) -> None:
        """End the process; the next request starts another."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, do: str, patience: float = PATIENCE, **how: Any) -> Any:
        """Return the answer to a request.

        Raises
        ------
        PeerError
        """
        process = self.process or self._start()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps({"do": do, **how}) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            self.end()
            raise PeerError("its process ended") from None
        ready, _, _ = select.select([process.stdout], [], [], patience)
        line = process.stdout.readline() if ready else ""
        if not line:
            self.end()
            raise PeerError("its process ended" if ready else f"no answer in {patience:.0f} s")
        answer: Mapping[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer["value"]

    def rest(self) -> None:
        """Wait until the process is idle: threads of BLAS and others spin for a while after their work is done.

        They would take turns with the next peer's, or share a core with it. Only Linux tells; elsewhere nobody waits.
        """
        if self.process is None or not sys.platform.startswith("linux"):
            return
        clock = ~self.process.pid << 3 | 2  # the processor time of a process, as clock_getcpuclockid says it
        until = time.monotonic() + LONGEST_REST
        while time.monotonic() < until:
            used = time.clock_gettime(clock)
            time.sleep(GLANCE)
            if time.clock_gettime(clock) - used < GLANCE / 10:
                return

    def _start(self) -> subprocess.Popen[str]:
        command = [self.python, "-m", "benchmarks.full.worker", self.peer]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env=environment(self.threads),
        )
        return self.process
