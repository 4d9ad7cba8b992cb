"""Reads loop programs written by ``text``: ``parse(to_text(p), p.messages)`` is `p` again, but for schedules.

Knows nothing of what a valid program is: that is for ``verifier`` to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.dim import Size
from ...core.dim import parse as parse_size
from . import ir
from .operands import KINDS, Acc, Axis, Buffer, BufferAlias, Const, Index, Name, Operand, View
from .statement import Statement
from .text import typed_by

AXIS_KINDS = ("reduce", "scan")
BOOL, INT64 = np.dtype(bool), np.dtype(np.int64)


def parse(text: str, messages: Sequence[str | tuple[str, str]] = ()) -> ir.Program:
    """Read a program; `messages` are its texts, which the text does not hold.

    Raises
    ------
    ValueError
        If a line is not one that ``to_text`` writes; the message shows it.
    """
    reader = _Reader([line for line in text.splitlines() if line.strip()])
    program = reader.head()
    program.messages = tuple(messages)
    program.body = reader.block("  ")
    if reader.lines:
        raise ValueError(f"this line is not indented as a statement is: {reader.lines[-1]!r}")
    return program


def split(text: str, opening: str = "([<", closing: str = ")]>") -> list[str]:
    """The parts between commas that stand outside of brackets."""
    parts, depth = [""], 0
    for ch in text:
        depth += (ch in opening) - (ch in closing)
        if ch == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += ch
    return [p.strip() for p in parts if p.strip()]


def _index(text: str) -> Index:
    const: Size = 0
    terms: list[tuple[Name, Size]] = []
    for part in text.split(" + "):
        if match := re.fullmatch(r"\((.*)\)\*(\w+)", part):
            terms.append((match[2], parse_size(match[1])))
        elif _is_name(part):
            terms.append((part, 1))
        else:
            const = _size(part)
    return Index(const, tuple(terms))


def _size(text: str) -> Size:
    return parse_size(text.removeprefix("<").removesuffix(">"))


def _is_name(text: str) -> bool:
    return text.isidentifier() and text not in ("True", "False", "inf", "nan")


def _size_or_name(text: str) -> Any:
    return text if _is_name(text) else _size(text)


def _operand(text: str, dtype: np.dtype) -> Operand:
    if _is_name(text):
        return text
    if dtype.kind == "b":
        return Const(text == "True", dtype)
    if dtype.kind in "iu":
        return Const(int(text), dtype)
    if odd := re.fullmatch(r"nan\((\w+)\)", text):
        return Const(np.frombuffer(bytes.fromhex(odd[1]), dtype)[0].item(), dtype)
    return Const(float.fromhex(text), dtype)


class _Reader:
    """One walk over the lines; `types` has the dtype of each scalar defined so far."""

    def __init__(self, lines: list[str]):
        self.lines = lines[::-1]
        self.buffers: dict[str, Buffer] = {}
        self.types: dict[Name, np.dtype] = {}

    # ---- the program -------------------------------------------------------------------------------------

    def head(self) -> ir.Program:
        """The lines in front of the first statement."""
        line = self.lines.pop()
        match = re.fullmatch(r"program (.*?)\(([\w, ]*)\)(?: -> (.*?))?(?: binds (.*))?", line)
        if not match:
            raise ValueError(f"not the head of a loop program: {line!r}")
        name, atoms, shapes, bound = match.groups()
        program = ir.Program(name, [], [], tuple(split(atoms)), tuple(split(bound or "")))
        program.output_shapes = tuple(
            tuple(parse_size(s) for s in split(shape[1:-1])) for shape in split(shapes or "")
        )
        while self.lines and self.declares(self.lines[-1].strip(), program):
            self.lines.pop()
        return program

    def declares(self, line: str, program: ir.Program) -> bool:
        """Read a line that is no statement, if it is none."""
        word, _, rest = line.partition(" ")
        if word == "workspace":
            program.workspace = parse_size(rest)
        elif line == "separate roundings":
            program.contract = False
        elif word == "move" and (match := re.fullmatch(r"(\w+) to (\w+)\[(.*)\]", rest)):
            temp, target, index = match.groups()
            program.moves.append(BufferAlias(self.buffers[temp], self.buffers[target], _index(index)))
        elif word in KINDS and (match := re.fullmatch(_BUFFER, rest)):
            name, dtype, size, slot, at = match.groups()
            made = Buffer(name, np.dtype(dtype), parse_size(size), word)
            made.slot, made.offset = int(slot or -1), parse_size(at) if at else -1
            self.buffers[name] = made
            program.buffers.append(made)
        else:
            return False
        return True

    # ---- statements --------------------------------------------------------------------------------------

    def block(self, indent: str) -> list[Statement]:
        """The statements of the next lines that are indented so."""
        statements: list[Statement] = []
        while self.lines and self.starts(indent):
            line = self.lines.pop()[len(indent) :]
            for pattern, read in _LINES:
                if groups := pattern.fullmatch(line):
                    statements.append(read(self, indent, *groups.groups()))
                    break
            else:
                raise ValueError(f"not a statement: {line!r}")
        return statements

    def starts(self, indent: str) -> bool:
        line = self.lines[-1]
        return line.startswith(indent) and line[len(indent)] != " " and line[len(indent) :] not in _TITLES

    def titled(self, indent: str, title: str) -> list[Statement]:
        """The block behind a title, empty where there is none."""
        if not self.lines or self.lines[-1] != f"{indent}{title}:":
            return []
        self.lines.pop()
        return self.block(indent + "  ")

    def load(
        self, indent: str, out: str, name: str, index: str, guard: str | None, other: str | None
    ) -> ir.Load:
        buffer = self.buffers[name]
        self.types[out] = buffer.dtype
        if guard is None or other is None:
            return ir.Load(out, buffer, _index(index))
        return ir.Load(out, buffer, _index(index), _operand(guard, BOOL), _operand(other, buffer.dtype))

    def compute(self, indent: str, out: str, dtype: str, op: str, args: str, given: str | None) -> ir.Compute:
        result, parts = np.dtype(dtype), split(args)
        self.types[out] = result
        named = typed_by(op, [a if _is_name(a) else None for a in parts])
        known = [self.types[a] for a in named if a in self.types]
        argtype = np.dtype(given) if given else INT64 if op == "index" else known[0] if known else result
        types = [BOOL, argtype, argtype] if op == "select" else [argtype] * len(parts)
        operands = tuple(map(_operand, parts, types))
        return ir.Compute(out, op, operands, result, argtype)

    def size(self, indent: str, out: str, size: str) -> ir.Size_:
        self.types[out] = INT64
        return ir.Size_(out, parse_size(size))

    def store(self, indent: str, name: str, index: str, sign: str, value: str, guard: str | None) -> ir.Store:
        buffer = self.buffers[name]
        test = None if guard is None else _operand(guard, BOOL)
        return ir.Store(buffer, _index(index), _operand(value, buffer.dtype), sign == "+=", test)

    def combine(self, indent: str, accs: str, rule: str, values: str) -> ir.Combine:
        names = tuple(split(accs))
        operands = (_operand(v, self.types[a]) for v, a in zip(split(values), names, strict=True))
        return ir.Combine(rule, names, tuple(operands))

    def nest(self, indent: str, axes: str | None, accs: str | None) -> ir.Nest:
        nest = ir.Nest([], [])
        for axis in split(axes or "", "(", ")"):
            name, _, rest = axis.partition(" < ")
            size, _, kind = rest.rpartition(" ") if rest.endswith(AXIS_KINDS) else (rest, "", "parallel")
            nest.axes.append(Axis(name, parse_size(size), kind))
        for acc in split(accs or ""):
            name, dtype, init = re.split(": | = ", acc)
            self.types[name] = np.dtype(dtype)
            nest.accs.append(Acc(name, self.types[name], _operand(init, self.types[name])))  # type: ignore[arg-type]
        nest.body = self.block(indent + "  ")
        nest.tail = self.titled(indent, "then")
        return nest

    def loop(self, indent: str, index: str, kind: str, bound: str, rest: str) -> ir.While:
        loop = ir.While(index, None, [])
        if kind == "while":
            loop.test = _operand(bound, BOOL)
        else:
            loop.count = _size_or_name(bound)
        words = iter(rest.split())
        for word in words:
            if word == "reverse":
                loop.reverse = True
                continue
            value = next(words)
            if word == "swap":
                a, b = value.split("/")
                loop.swaps.append((self.buffers[a], self.buffers[b]))
            elif word == "fill":
                loop.fills.append(self.buffers[value])
            elif word == "at":
                loop.location = int(value)
            else:
                setattr(loop, word, value)
        loop.cond, loop.body = self.titled(indent, "test"), self.titled(indent, "do")
        if loop.trips is not None:
            self.types[loop.trips] = INT64
        return loop

    def branch(self, indent: str, test: str) -> ir.If:
        return ir.If(_operand(test, BOOL), self.block(indent + "  "), self.titled(indent, "else"))

    def call(self, indent: str, function: str, views: str, sizes: str, accumulate: str | None) -> ir.Call:
        return ir.Call(
            function, self.views(views), tuple(map(parse_size, split(sizes))), accumulate is not None
        )

    def host(self, indent: str, rest: str) -> ir.HostCall:
        end = json.JSONDecoder().raw_decode(rest)[1]
        match = re.fullmatch(r"\((.*)\) sizes (.*?)(?: gives (\d+))?", rest[end:])
        assert match, rest
        sizes = tuple(map(parse_size, split(match[2])))
        return ir.HostCall(rest[:end], self.views(match[1]), sizes, int(match[3] or 0))

    def views(self, text: str) -> tuple[View, ...]:
        views = []
        for part in split(text):
            name, _, inside = part.removesuffix("]").partition("[")
            index, _, strides = inside.partition(";")
            views.append(View(self.buffers[name], _index(index), tuple(map(parse_size, split(strides)))))
        return tuple(views)

    def allocate(self, indent: str, name: str, elements: str) -> ir.Allocate:
        return ir.Allocate(self.buffers[name], _size_or_name(elements))

    def grow(self, indent: str, name: str, elements: str) -> ir.Grow:
        return ir.Grow(self.buffers[name], _index(elements))

    def free(self, indent: str, name: str) -> ir.Free:
        return ir.Free(self.buffers[name])

    def clock(self, indent: str, number: str, name: str) -> ir.Clock:
        return ir.Clock(self.buffers[name], int(number))

    def fail(self, indent: str, code: str, test: str, details: str) -> ir.Fail:
        return ir.Fail(_operand(test, BOOL), int(code), tuple(split(details)))


_BUFFER = r"(\S+): (\w+)\[(.*)\](?: slot (\d+))?(?: at (.+))?"
_TITLES = ("then:", "else:", "test:", "do:")

#: What lines look like, in the order in which they are tried, and what reads them.
_LINES: tuple[tuple[re.Pattern[str], Callable[..., Statement]], ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (r"for (.*?)(?: with (.*?))?(?: @ .*)?", _Reader.nest),
        (r"once()(?: with (.*?))?(?: @ .*)?", _Reader.nest),
        (r"loop (\w+) (until|while) (<[^>]*>|\S+)(.*)", _Reader.loop),
        (r"if (\S+)", _Reader.branch),
        (r"host (.*)", _Reader.host),
        (r"allocate (\w+) to (.*)", _Reader.allocate),
        (r"grow (\w+) to (.*)", _Reader.grow),
        (r"free (\w+)", _Reader.free),
        (r"clock (\d+) in (\w+)", _Reader.clock),
        (r"fail (\d+) if (\S+) \((.*)\)", _Reader.fail),
        (r"(\w+): (\w+) = (\w+)\((.*)\)(?: of (\w+))?", _Reader.compute),
        (r"([\w, ]+) <- (\w+)\((.*)\)", _Reader.combine),
        (r"(\w+) = size (.*)", _Reader.size),
        (r"(\w+) = (\w+)\[([^\]]*)\](?: if (\S+) else (\S+))?", _Reader.load),
        (r"(\w+)\[([^\]]*)\] (\+?=) (\S+)(?: if (\S+))?", _Reader.store),
        (r"(\w+)\((.*)\) sizes (.*?)( accumulate)?", _Reader.call),
    )
)
