"""How a profile looks: as text, and as a page with a flame graph, which is boxes in boxes and needs no script."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.errors import cell_of
from .page import escape

_MOST_LINES, _MOST_KERNELS, _MOST_HELD = 20, 20, 8

_STYLE = """
.tj-profile { font: 13px/1.45 Verdana, sans-serif; color: #263238; }
.tj-profile table { border-collapse: collapse; margin: 8px 0 16px; }
.tj-profile td, .tj-profile th { padding: 2px 10px; text-align: right; border-bottom: 1px solid #eceff1; }
.tj-profile td.l, .tj-profile th.l { text-align: left; font-family: "DejaVu Sans Mono", monospace; }
.tj-flame { font: 11px "DejaVu Sans Mono", monospace; border: 1px solid #b0bec5; }
.tj-flame div.row { display: flex; width: 100%; }
.tj-flame div.box { overflow: hidden; white-space: nowrap; min-width: 0; }
.tj-flame span { display: block; padding: 2px 3px; margin: 0 1px 1px 0; overflow: hidden; background: #ffcc80; }
.tj-flame .back > span { background: #90caf9; }
.tj-flame .top > span { background: #eceff1; }
"""


def source_line(file: str, line: int) -> str:
    """The text of a line of a program; empty where it is not there."""
    return linecache.getline(file, line).strip()


def short(file: str) -> str:
    """How a file is named beside its lines: without its folder, or the cell of a notebook."""
    return cell_of(file) or Path(file).name


def duration(seconds: float) -> str:
    """A time with its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def memory(size: int) -> str:
    """Bytes with their unit."""
    for unit, count in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= count:
            return f"{size / count:.3g} {unit}"
    return f"{size} B"


def _place(line: Any) -> str:
    return f"{short(line.file)}:{line.line}" if line.file else "no line"


# ---- text -----------------------------------------------------------------------------------------------


def text(profile: Any) -> str:
    """A profile as text."""
    whole = max(sum(line.seconds for line in profile.lines), 1e-12)
    told = [_summary(profile), "", f"{'forward':>10} {'backward':>10} {'':>5}  line"]
    for line in profile.lines[:_MOST_LINES]:
        spent = [duration(s) if s else "" for s in (line.forward, line.backward)]
        told.append(
            f"{spent[0]:>10} {spent[1]:>10} {line.seconds / whole:>5.0%}  {_place(line)}  {line.text}"
        )
    told += ["", f"{'time':>10} {'calls':>10}        kernel"]
    for k in profile.kernels[:_MOST_KERNELS]:
        told.append(f"{duration(k.seconds):>10} {k.calls:>10g}        {k.what}  {k.where}")
    told += ["", f"{'bytes':>10}                   what holds the peak of {memory(profile.peak)}"]
    told += [f"{memory(h.size):>10}                   {_held(h)}" for h in profile.held[:_MOST_HELD]]
    return "\n".join(told)


def _summary(profile: Any) -> str:
    return (
        f"{profile.name}: {duration(profile.seconds)} a call, {duration(profile.timed_seconds)} with clocks, "
        f"{len(profile.kernels)} kernels, {memory(profile.peak)} of memory"
    )


def _held(held: Any) -> str:
    return f"{held.what} {held.where}" if held.where.isdigit() else f"{held.what} of {held.where}"


# ---- HTML -----------------------------------------------------------------------------------------------


def page(profile: Any) -> str:
    """A file of its own."""
    title = escape(f"profile of {profile.name}")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body>{body(profile)}</body></html>\n"
    )


def body(profile: Any) -> str:
    """What a notebook shows."""
    lines = [
        (duration(x.forward), duration(x.backward), f"{_place(x)}  {x.text}")
        for x in profile.lines[:_MOST_LINES]
    ]
    kernels = [
        (duration(k.seconds), f"{k.calls:g}", f"{k.what}  {k.where}") for k in profile.kernels[:_MOST_KERNELS]
    ]
    held = [(memory(h.size), _held(h)) for h in profile.held[:_MOST_HELD]]
    return (
        f'<style>{_STYLE}</style><div class="tj-profile"><p>{escape(_summary(profile))}</p>\n'
        f"{flame(profile)}\n{_table(('forward', 'backward', 'line'), lines)}\n"
        f"{_table(('time', 'calls', 'kernel'), kernels)}\n{_table(('bytes', 'what holds the peak'), held)}</div>"
    )


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    def row(cells: tuple[str, ...], kind: str) -> str:
        *others, last = (escape(c) for c in cells)
        return (
            "<tr>"
            + "".join(f"<{kind}>{c}</{kind}>" for c in others)
            + f'<{kind} class="l">{last}</{kind}></tr>'
        )

    return f"<table>{row(head, 'th')}{''.join(row(cells, 'td') for cells in rows)}</table>"


class _Box:
    """A box of the flame graph: its own name, its time and the boxes in it."""

    def __init__(self, name: str, kind: str = ""):
        self.name, self.kind = name, kind
        self.seconds = 0.0
        self.inside: dict[str, _Box] = {}

    def add(self, names: list[str], kind: str, seconds: float) -> None:
        self.seconds += seconds
        if names:
            self.inside.setdefault(names[0], _Box(names[0], kind)).add(names[1:], kind, seconds)

    def html(self, whole: float) -> str:
        share = 100 * self.seconds / whole
        label = f"{self.name}  {duration(self.seconds)}"
        boxes = sorted(self.inside.values(), key=lambda box: -box.seconds)
        inner = "".join(
            box.html(max(self.seconds, 1e-12)) for box in boxes if box.seconds > self.seconds / 500
        )
        return (
            f'<div class="box {self.kind}" style="width:{share:.2f}%"><span title="{escape(label)}">{escape(label)}'
            f'</span><div class="row">{inner}</div></div>'
        )


def flame(profile: Any) -> str:
    """Boxes in boxes: forward and backward, the lines from the outermost caller on, the kernels."""
    root = _Box(profile.name, "top")
    for kernel in profile.kernels:
        for (backward, *stack), seconds in kernel.stacks.items():
            names = ["backward" if backward else "forward"]
            names += [f"{function} {short(file)}:{line}" for file, line, function in stack]
            root.add([*names, kernel.what], "back" if backward else "", seconds)
    return f'<div class="tj-flame"><div class="row">{root.html(max(root.seconds, 1e-12))}</div></div>'
