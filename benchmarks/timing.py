"""Time candidates for the same job fairly, check that they agree, print the ratios.

Candidates take turns in one process, in an order shuffled every round, and medians are compared: on a
shared machine two runs one after the other differ by more than the candidates do. Knows nothing of any
workload or peer.
"""

from __future__ import annotations

import functools
import gc
import itertools
import random
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Candidate = Callable[[], object]
REFERENCE = "tracejit"
UNITS = {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9}
SHORTEST_TURN = 1e-2  # seconds; caches are warm and workers awake after a tenth of it, as in programs


@dataclass(frozen=True)
class Case:
    """One job, and who does it.

    Parameters
    ----------
    name : str
        What is computed.
    candidates : mapping of str to callable
        Calls without arguments that do the whole job, wait for it, and return arrays or tuples of arrays.
    per : int
        How many pieces one call does; times are printed per piece.
    piece : str
        What a piece is: step, option, call.
    unit : str
        One of ``s ms µs ns``.
    tolerance : float
        How far results may be apart, in units of the largest element of the first candidate's.
    """

    name: str
    candidates: Mapping[str, Candidate]
    per: int = 1
    piece: str = "call"
    unit: str = "ms"
    tolerance: float = 1e-9


def cases(names: Iterable[str], by_peer: Mapping[str, Mapping[str, Candidate]], **how: Any) -> list[Case]:
    """Return a case for each name, of every peer that has a candidate of that name; ``how`` as in `Case`."""
    found = {name: {peer: calls[name] for peer, calls in by_peer.items() if name in calls} for name in names}
    return [Case(name, candidates, **how) for name, candidates in found.items()]


@dataclass(frozen=True)
class Timing:
    """The seconds of one call: the median and the fastest over all rounds."""

    median: float
    fastest: float


def run(cases: Iterable[Case], seconds: float = 3.0) -> None:
    """Check, measure and print every case, about ``seconds`` for each beyond the warm-up.

    Raises
    ------
    ValueError
        When candidates disagree: the time of a wrong answer is of no interest.
    """
    for case in cases:
        differences = check(case)
        print(table(case, measure(case.candidates, seconds), differences), flush=True)


def check(case: Case) -> dict[str, float]:
    """Call every candidate once; return how far each is from the first; refuse what is out of tolerance."""
    results = {name: leaves(candidate()) for name, candidate in case.candidates.items()}
    wanted = next(iter(results.values()))
    differences = {name: difference(result, wanted) for name, result in results.items()}
    wrong = {name: value for name, value in differences.items() if not value <= case.tolerance}
    if wrong:
        raise ValueError(f"{case.name}: results differ by more than {case.tolerance:g}: {wrong}")
    return differences


def leaves(result: object) -> list[np.ndarray]:
    """Return the arrays in nested tuples and lists of arrays."""
    if hasattr(result, "detach"):  # of PyTorch
        result = result.detach()
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in leaves(part)]
    return [np.array(result)]


def difference(result: list[np.ndarray], wanted: list[np.ndarray]) -> float:
    """Return the largest difference of any element, relative to the largest element of its array."""
    if [a.shape for a in result] != [a.shape for a in wanted]:
        return np.inf
    pairs = zip(result, wanted, strict=True)
    return max(float(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-300)) for a, b in pairs)


def measure(candidates: Mapping[str, Candidate], seconds: float = 3.0) -> dict[str, Timing]:
    """Return the timing of every candidate, interleaved; short calls are repeated within a turn."""
    once = {name: warm(candidate) for name, candidate in candidates.items()}
    repeats = {name: max(1, int(SHORTEST_TURN / max(took, 1e-9))) for name, took in once.items()}
    a_round = sum(repeats[name] * took for name, took in once.items())
    rounds = min(300, max(7, int(seconds / a_round)))
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    order, shuffle = list(candidates), random.Random(0).shuffle
    for _ in range(rounds):
        shuffle(order)
        for name in order:
            samples[name].append(turn(candidates[name], repeats[name]))
    return {name: Timing(statistics.median(times), min(times)) for name, times in samples.items()}


def warm(candidate: Candidate) -> float:
    """Return the seconds of one call: of a short one the fastest of some, for the first ones are not like the rest."""
    took = turn(candidate, 1)
    return took if took > SHORTEST_TURN else min(took, *(turn(candidate, 1) for _ in range(9)))


def turn(candidate: Candidate, repeats: int) -> float:
    """Return the seconds of one call, averaged over repeats, the garbage collector held back."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _loop(candidate, repeats) / repeats
    finally:
        if collecting:
            gc.enable()


def _loop(candidate: Candidate, repeats: int) -> float:
    """Return the seconds of all repeats; of a partial its function is called with its arguments, nothing between."""
    times, clock = itertools.repeat(None, repeats), time.perf_counter
    if not isinstance(candidate, functools.partial) or candidate.keywords:
        start = clock()
        for _ in times:
            candidate()
        return clock() - start
    if len(candidate.args) == 1:
        function, argument = candidate.func, candidate.args[0]
        start = clock()
        for _ in times:
            function(argument)
        return clock() - start
    function, arguments = candidate.func, candidate.args
    start = clock()
    for _ in times:
        function(*arguments)
    return clock() - start


def table(case: Case, timings: Mapping[str, Timing], differences: Mapping[str, float]) -> str:
    """Return the comparison as text, fastest first; the ratio is to tracejit, without it to the fastest."""
    ranked = sorted(timings, key=lambda name: timings[name].median)
    reference = REFERENCE if REFERENCE in timings else ranked[0]
    scale = UNITS[case.unit] / case.per
    unit = f"{case.unit} per {case.piece}"
    head = f"\n{case.name}\n  {unit:<22}{'median':>11}{'fastest':>11}   {'ratio':>7}{'difference':>13}"
    rows = [
        f"  {name:<22}{scale * timings[name].median:>11.4g}{scale * timings[name].fastest:>11.4g}"
        f"   {timings[name].median / timings[reference].median:>6.2f}x{differences[name]:>13.1e}"
        for name in ranked
    ]
    return "\n".join([head, *rows])
