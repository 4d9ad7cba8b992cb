"""Check and time one row: every peer's first results beside ours, then turns in shuffled order.

Peers take turns although each has a process of its own: on a shared machine two runs one after the other differ by more
than the peers do. Whoever had a turn is given time to come to rest before the next one's.
"""

from __future__ import annotations

import random
import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.full.processes import PeerError, Worker
from benchmarks.full.rows import OURS, Row, case_name
from benchmarks.timing import SHORTEST_TURN, UNITS, Timing, difference

SLOWEST = 5.0  # seconds that a peer's call may take; a slower one is timed once


@dataclass
class Found:
    """What a row gave.

    Attributes
    ----------
    row : Row
    threads : str
        ``1`` or ``all``.
    timings : dict of str to Timing
        By peer.
    notes : dict of str to str
        By peer: why it has no time.
    wrong : list of str
        Peers whose results are not ours.
    ours : list of ndarray
        Our results.
    """

    row: Row
    threads: str
    timings: dict[str, Timing] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    ours: list[np.ndarray] = field(default_factory=list)

    def time(self, peer: str) -> float | None:
        """The median time of a piece in the row's unit; of several peers joined by ``|`` the least."""
        times = [self.timings[name].median for name in peer.split("|") if name in self.timings]
        return min(times) * UNITS[self.row.unit] / self.row.per if times else None

    def ratio(self, peer: str) -> float | None:
        """The peer's time divided by ours."""
        theirs, ours = self.time(peer), self.time(OURS)
        return theirs / ours if theirs and ours else None


def compare(row: Row, threads: str, workers: Mapping[str, Worker], seconds: float) -> Found:
    """Check all peers that know the row, then time those that agree; about ``seconds`` beyond the first calls."""
    found = Found(row, threads)
    agreeing = check(found, workers)
    once = {peer: value for peer in agreeing if (value := _asked(found, workers[peer], "warm")) is not None}
    repeats = {peer: max(1, int(SHORTEST_TURN / max(took, 1e-9))) for peer, took in once.items()}
    samples = {peer: [took] for peer, took in once.items() if took > SLOWEST}
    short = [peer for peer in once if peer not in samples]
    samples.update({peer: [] for peer in short})
    rounds = min(201, max(5, int(seconds / max(sum(repeats[p] * once[p] for p in short), 1e-3))))
    shuffle = random.Random(0).shuffle
    for _ in range(rounds):
        shuffle(short)
        for peer in short:
            took = _asked(found, workers[peer], "turn", repeats=repeats[peer])
            samples[peer] += [took] if took is not None else []
            workers[peer].rest()
    found.timings = {p: Timing(statistics.median(times), min(times)) for p, times in samples.items() if times}
    return found


def check(found: Found, workers: Mapping[str, Worker]) -> list[str]:
    """Compare the first results of every peer with ours; return the peers that agree, ours included."""
    agreeing = []
    with tempfile.TemporaryDirectory() as folder:
        for peer in sorted(workers, key=lambda peer: peer != OURS):
            path = Path(folder) / f"{peer}.npz"
            if not _asked(found, workers[peer], "first", path=str(path)):
                continue
            with np.load(path) as arrays:
                result = [arrays[name] for name in arrays.files]
            if peer == OURS:
                found.ours = result
            elif not found.ours:
                found.notes[peer] = "nothing of ours to compare with"
                continue
            away = difference(result, found.ours)
            if away <= found.row.tolerance:
                agreeing.append(peer)
            else:
                found.notes[peer] = f"differs by {away:.1e}"
                found.wrong.append(peer)
    return agreeing


def _asked(found: Found, worker: Worker, do: str, **how: object) -> float | None:
    """Return the answer about the row's case; None, with a note, when the peer fails."""
    try:
        return worker.ask(do, module=found.row.module, case=case_name(found.row), **how)
    except PeerError as error:
        found.notes[worker.peer] = str(error)
        return None
