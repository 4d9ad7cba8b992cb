"""Makes a wrong program smaller: leaves lines and blocks out while the verdict stays wrong for the same reason."""

from __future__ import annotations

import ast
import builtins
import re
import time
from collections.abc import Callable

from ..outcome import Outcome

#: Lines without which it is no program, or one that never ends: what results, how it is called, what counts.
_KEPT = re.compile(r"    return a|DRIVER|CALLS|import|\s+i\d+ \+= 1")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def blocks(lines: list[str]) -> list[tuple[int, int]]:
    """Spans of lines that can be left out: each line with what is indented below it, long ones first."""
    spans = set()
    for k, line in enumerate(lines):
        if not line.strip() or _KEPT.match(line):
            continue
        end = k + 1
        while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > _indent(line)):
            end += 1
        spans.add((k, end))
        spans.add((k, k + 1))
    return sorted(spans, key=lambda span: (span[0] - span[1], span[0]))


def _without(lines: list[str], start: int, end: int) -> list[list[str]]:
    """The program without a span; and, of a block, without its head alone, what it holds moved out."""
    left_out = [lines[:start] + lines[end:]]
    if end - start > 1:
        inner = [line[4:] for line in lines[start + 1 : end]]
        left_out.append(lines[:start] + inner + lines[end:])
    return left_out


def cause(outcome: Outcome) -> str:
    """What kind of difference: shrinking must not wander from one to another."""
    words = outcome.reason.split(": ", 1)[-1].split()
    return " ".join(words[:2]) if outcome.kind == "wrong" else ""


def shrunk(outcome: Outcome, check: Callable[[str], Outcome], seconds: float = 20.0) -> Outcome:
    """The smallest program found that is wrong in the same way."""

    def check_complete(text: str) -> Outcome:
        return _tried(text, check)

    end = time.monotonic() + seconds
    kind = cause(outcome).split()[:1]
    best = outcome
    progress = True
    while progress:
        progress, k = False, 0
        while time.monotonic() < end:
            lines = best.program.splitlines()
            spans = blocks(lines)
            if k >= len(spans):
                break
            texts = ["\n".join(smaller) + "\n" for smaller in _without(lines, *spans[k])]
            found = next((o for o in map(check_complete, texts) if cause(o).split()[:1] == kind), None)
            if found is None:
                k += 1
            else:
                best, progress = found, True
    return best


def _complete(text: str) -> bool:
    """Is every name that is read bound somewhere?"""
    nodes = list(ast.walk(ast.parse(text)))
    names = [n for n in nodes if isinstance(n, ast.Name)]
    bound = {n.id for n in names if not isinstance(n.ctx, ast.Load)} | {*vars(builtins), "tf", "__name__"}
    bound |= {n.name for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    bound |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    return all(n.id in bound for n in names)


def _tried(text: str, check: Callable[[str], Outcome]) -> Outcome:
    try:
        return check(text) if _complete(text) else Outcome("agree")
    except Exception:  # a program without what it needs, such as CALLS
        return Outcome("agree")
