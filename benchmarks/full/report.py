"""What was found as Markdown tables and as pictures; knows nothing of how it was measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.full.comparison import Found
from benchmarks.full.rows import OURS, PEERS, case_name
from benchmarks.full.spawn import Times
from benchmarks.full.table import FIRST_CALLS, PARTS, WARM_PROCESS, part_of
from benchmarks.timing import UNITS

ABSENT = "-"


@dataclass
class Results:
    """Everything that one run found.

    Attributes
    ----------
    machine : str
        In words.
    versions : mapping of str to str
        Of the peers that are there.
    found : list of Found
    first, warm : Times
        Milliseconds of first calls, and of warm processes.
    compiling : mapping of str to mapping of int to float
        By peer: number of ops to milliseconds.
    """

    machine: str
    versions: Mapping[str, str]
    found: list[Found] = field(default_factory=list)
    first: Times = field(default_factory=dict)
    warm: Times = field(default_factory=dict)
    compiling: Mapping[str, Mapping[int, float]] = field(default_factory=dict)


# ---- Markdown ------------------------------------------------------------------------------------------


def markdown(results: Results) -> str:
    """Return the whole report."""
    text = [
        "# Benchmarks beside peers",
        f"{results.machine}. Medians of interleaved turns, each peer in a process of its own, results compared before. "
        "In brackets: the peer's time divided by ours.",
        ", ".join(f"{peer} {version}" for peer, version in results.versions.items()),
    ]
    for part in PARTS:
        found = [each for each in results.found if part_of(each.row) == part]
        text += [f"## {part}", _rows(found)] if found else []
    speedups = [pair for pair in _pairs(results.found) if pair[0].time(OURS) and pair[1].time(OURS)]
    if speedups:
        text += ["## One thread and all", _speedups(speedups)]
    if results.first:
        text += ["## First call, ms", _milliseconds(results.first, FIRST_CALLS)]
    if results.warm:
        limits = dict.fromkeys(FIRST_CALLS, WARM_PROCESS)
        text += [
            "## New process to first result, compiled code on disk, ms",
            _milliseconds(results.warm, limits),
        ]
    if results.compiling:
        text += [
            "## Compiling y = sin(y) * x written out, value and gradient, ms",
            _growth(results.compiling),
        ]
    notes = [
        f"- {peer}, {case_name(each.row)}, threads {each.threads}: {note}"
        for each in results.found
        for peer, note in each.notes.items()
    ]
    return "\n\n".join(text + (["## Without a time", "\n".join(notes)] if notes else [])) + "\n"


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose first column is words and whose others are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _rows(found: Sequence[Found]) -> str:
    peers = [peer for peer in PEERS if peer != OURS and any(peer in each.timings for each in found)]
    body = []
    for each in found:
        ours = each.time(OURS)
        body.append(
            [
                case_name(each.row) + (" (per piece)" if each.row.per > 1 else ""),
                each.threads,
                f"**{_figure(ours)} {each.row.unit}**" if ours else ABSENT,
                *(_beside(each, peer) for peer in peers),
                "; ".join(promises(each)) or ABSENT,
            ]
        )
    return table(["", "threads", OURS, *peers, "promised"], body)


def _beside(found: Found, peer: str) -> str:
    time, ratio = found.time(peer), found.ratio(peer)
    if time is None:
        return "differs" if peer in found.wrong else ABSENT
    return _figure(time) + (f" ({ratio:.2f}×)" if ratio else "")


def promises(found: Found) -> list[str]:
    """Return every promise about a row with what became of it; none on all threads."""
    row, ours = found.row, found.time(OURS)
    if found.threads != "1" or ours is None:
        return []
    said = [f"≤ {row.limit:g} {row.unit} {_mark(ours <= row.limit)}"] if row.limit else []
    for peer, least in row.goals.items():
        ratio = found.ratio(peer)
        said += [f"{peer.replace('|', ', ')} ≥ {least:.3g}× {_mark(ratio >= least)}"] if ratio else []
    return said


def _mark(kept: bool) -> str:
    return "✓" if kept else "✗"


def _figure(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _pairs(found: Sequence[Found]) -> list[tuple[Found, Found]]:
    """Return the rows measured on one thread and on all, both."""
    one = {each.row.case: each for each in found if each.threads == "1"}
    return [(one[each.row.case], each) for each in found if each.threads != "1" and each.row.case in one]


def _speedups(pairs: Sequence[tuple[Found, Found]]) -> str:
    peers = [peer for peer in PEERS if any(one.time(peer) and both.time(peer) for one, both in pairs)]
    body = []
    for one, both in pairs:
        times = [(one.time(peer), both.time(peer)) for peer in peers]
        equal = len(one.ours) == len(both.ours) and all(map(np.array_equal, one.ours, both.ours))
        least = one.row.speedup
        before, after = one.time(OURS), both.time(OURS)
        ours = before / after if before and after else 0.0
        body.append(
            [
                case_name(one.row),
                *(f"{a / b:.2f}×" if a and b else ABSENT for a, b in times),
                "yes" if equal else "no",
                f"≥ {least:g}× {_mark(ours >= least)}" if least else ABSENT,
            ]
        )
    return table(["", *peers, "same bits", "promised"], body)


def _milliseconds(times: Times, limits: Mapping[str, float]) -> str:
    from benchmarks import programs

    peers = [peer for peer in PEERS if any(peer in found for found in times.values())]
    body = []
    for case, found in times.items():
        ours = found.get(OURS)
        figures = [_figure(found[peer]) if peer in found else ABSENT for peer in peers]
        kept = f"≤ {limits[case]:g} {_mark(ours <= limits[case])}" if ours is not None else ABSENT
        body.append([getattr(programs, case), *figures, kept])
    return table(["", *peers, "promised"], body)


def _growth(compiling: Mapping[str, Mapping[int, float]]) -> str:
    counts = sorted({count for found in compiling.values() for count in found})
    body = [
        [peer, *(_figure(found[n]) if n in found else ABSENT for n in counts)]
        for peer, found in compiling.items()
    ]
    return table(["ops", *map(str, counts)], body)


# ---- pictures ------------------------------------------------------------------------------------------


def pictures(results: Results, folder: Path) -> list[Path]:
    """Write the pictures that there are numbers for and return their paths; none without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return []
    drawn = {
        "ratios": _ratios(Figure, [f for f in results.found if f.threads == "1" and len(f.timings) > 1]),
        "compile_time": _lines(
            Figure,
            results.compiling,
            "ops written out",
            "milliseconds to compile",
            "y = sin(y) * x with gradient",
        ),
        "sizes": _sizes(Figure, [f for f in results.found if f.row.n is not None and f.threads == "1"]),
        "threads": _threads(Figure, _pairs(results.found)),
    }
    written = []
    for name, figure in drawn.items():
        if figure is not None:
            written.append(folder / f"{name}.png")
            figure.savefig(written[-1], dpi=110)
    return written


def _ratios(figure_type: Any, found: Sequence[Found]) -> Any:
    """Bars to the right of 1: how many times as long each peer takes."""
    peers = [peer for peer in PEERS if peer != OURS and any(f.ratio(peer) for f in found)]
    if not peers:
        return None
    figure = figure_type(figsize=(10, 1 + 0.11 * len(found) * (len(peers) + 2)), layout="constrained")
    axes = figure.subplots()
    height = 0.85 / len(peers)
    for k, peer in enumerate(peers):
        at = [i + k * height for i, f in enumerate(found) if f.ratio(peer)]
        axes.barh(at, [math.log2(r) for f in found if (r := f.ratio(peer))], height, label=peer)
    axes.set_yticks([i + 0.4 for i in range(len(found))], [case_name(f.row) for f in found], fontsize=7)
    axes.set_xlabel("log₂ of the peer's time divided by ours: right of 0 we are faster")
    axes.axvline(0, color="black", linewidth=1)
    axes.invert_yaxis()
    axes.legend(fontsize=7)
    return figure


def _lines(figure_type: Any, series: Mapping[str, Mapping[int, float]], x: str, y: str, title: str) -> Any:
    if not any(series.values()):
        return None
    figure = figure_type(figsize=(7.5, 5), layout="constrained")
    _draw_lines(figure.subplots(), series, x, y, title)
    return figure


def _draw_lines(axes: Any, series: Mapping[str, Mapping[int, float]], x: str, y: str, title: str) -> None:
    for name, points in series.items():
        axes.loglog(
            list(points), list(points.values()), "o-" if name == OURS else "s--", label=name, markersize=4
        )
    axes.set(xlabel=x, ylabel=y)
    axes.set_title(title, fontsize=9)
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=7)


def _sizes(figure_type: Any, found: Sequence[Found]) -> Any:
    """One plot of time against n for each family of rows, such as ``solve, n = 8`` and ``solve, n = 32``."""
    families: dict[str, list[Found]] = {}
    for each in found:
        families.setdefault(each.row.case.rpartition(", n = ")[0], []).append(each)
    if not families:
        return None
    columns = min(3, len(families))
    down = -(-len(families) // columns)
    figure = figure_type(figsize=(4.5 * columns, 3.6 * down), layout="constrained")
    for axes, (family, rows) in zip(figure.subplots(down, columns, squeeze=False).flat, families.items()):
        series: dict[str, dict[int, float]] = {}
        for each in sorted(rows, key=lambda each: each.row.n or 0):
            for peer, timing in each.timings.items():
                series.setdefault(peer, {})[each.row.n or 0] = timing.median * UNITS["µs"]
        _draw_lines(axes, series, "n", "µs", family)
    return figure


def _threads(figure_type: Any, pairs: Sequence[tuple[Found, Found]]) -> Any:
    """Our time on one thread and on all, one line for each row."""
    series = {
        case_name(one.row): {0: a, 1: b}
        for one, both in pairs
        if (a := one.time(OURS)) and (b := both.time(OURS))
    }
    if not series:
        return None
    figure = figure_type(figsize=(7.5, 5), layout="constrained")
    axes = figure.subplots()
    for name, times in series.items():
        axes.plot(["1 thread", "all"], [1.0, times[1] / times[0]], "o-", label=name)
    axes.axhline(0.5, color="black", linewidth=0.5)
    axes.set(ylabel="time, of that on one thread", ylim=(0, None))
    axes.legend(fontsize=7)
    return figure
