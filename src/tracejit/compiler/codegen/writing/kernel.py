"""The state of one function of loops being written, and what every statement needs of it: operands, sizes,
pointers, and the vector it runs in.

Statements are written by functions of a kernel, found by their type in `KernelWriter.writers`; how each one is
written is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import numpy as np

from ....core.dataclass import dataclass
from ....core.dim import Atom, Size
from ...ir_text import Value, constant, integer, iota
from ...loopir.operands import Buffer, Const, Name, Operand
from ...loopir.passes.schedule import Target
from ...loopir.statement import Statement
from .. import math
from . import arithmetic
from .places import Cursor, Places
from .scopes import HoistingWriter

NAME_OF_PART = "@loops"
"""What functions that several places may share call themselves, until `Module.part` numbers them."""


@dataclass
class Module:
    """What the functions of one program share.

    Attributes
    ----------
    target : Target
        The machine written for.
    contract : bool
        May a product and a sum be joined into one rounding?
    declares, globals, functions : dict
        Texts that must stand beside the kernels, each once, in order of first use.
    calls : list of str
        Library kernels, in the order of ctx.functions.
    places : Places or None
        The places in the user's program that instructions stand for, where debug information is wanted.
    parts : dict
        Functions of parts of loops, with the names they were given.
    """

    target: Target
    contract: bool = True
    declares: dict[str, None] = field(default_factory=dict)
    globals: dict[str, None] = field(default_factory=dict)
    functions: dict[str, None] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    places: Places | None = None
    parts: dict[str, str] = field(default_factory=dict)

    def part(self, text: str) -> str:
        """The name of functions that are ``NAME_OF_PART`` and what begins so in their text; equal ones share it."""
        name = self.parts.setdefault(text, f"{NAME_OF_PART}{len(self.parts)}")
        self.functions[text.replace(NAME_OF_PART, name)] = None
        return name

    def include(self, made: math.MathFunction) -> None:
        if made.text in self.functions:
            return
        for needed in made.needs:
            self.include(needed)
        self.functions[made.text] = None
        self.declares.update(dict.fromkeys(sorted(made.declares)))
        self.globals.update(dict.fromkeys(made.globals))

    def called(self, function: str) -> int:
        """The place of a library kernel in ctx.functions."""
        if function not in self.calls:
            self.calls.append(function)
        return self.calls.index(function)


@dataclass
class Vector:
    """What runs in lanes: `lanes` consecutive values of `axis`, of which `mask` says which exist.

    `reducing`: the axis feeds accumulators, so lanes that do not exist must leave them alone.
    """

    axis: Name | None = None
    lanes: int = 1
    mask: Value | None = None
    reducing: bool = False


SCALAR = Vector()


class KernelWriter:
    """One function in the making.

    Attributes
    ----------
    w : HoistingWriter
        Its text.
    env : dict
        Scalars, axes and loop indices to values; a vector axis to that of its first lane.
    vector : Vector
        The lanes statements are written for.
    dropped : set
        Axes merged into their neighbour: their terms in an index count there.
    cursor : Cursor or None
        The place in the user's program that what is written next stands for.
    shares : bool
        May it give work to other threads?
    asks : bool
        Do its loops ask now and then whether to go on?
    still : int
        The outermost scope loads may move to; `stored` are the buffers whose loads stay in place.
    """

    module: Module
    writers: Mapping[type, Callable[[KernelWriter, Any], None]]
    target: Target

    def __init__(self, module: Module, writers: Mapping[type, Callable[[KernelWriter, Any], None]]):
        self.module, self.writers = module, writers
        self.target, self.flags = module.target, "contract " if module.contract else ""
        self.cursor: Cursor | None = None if module.places is None else Cursor(module.places)
        self.shares: bool = self.target.threads and self.cursor is None
        self.asks = True
        new_lines = list if self.cursor is None else self.cursor.lines
        self.w: HoistingWriter = HoistingWriter(new_lines, self.target.scales)
        self.env: dict[Name, Value] = {}
        self.atoms: dict[str, Value] = {}
        self.pointers: dict[Buffer, Value] = {}
        self.cells: dict[Buffer, Value] = {}
        self.rooms: dict[Buffer, Value] = {}
        self.memory_accs: dict[Name, Value] = {}
        self.vector = SCALAR
        self.dropped: set[Name] = set()
        self.stored: set[Buffer] = set()
        self.still: int | None = None
        self.acc_types: dict[Name, np.dtype] = {}
        self.ordered = False
        self.inline_math = False
        self.patience: Value | None = None  # the slot that counts work, once a loop needs it
        self.outermost: Any = None  # where the outermost loop is

    def statements(self, block: list[Statement]) -> None:
        writers = self.writers
        if self.cursor is None:
            for statement in block:
                writers[type(statement)](self, statement)
        else:
            for statement in block:
                with self.cursor.at(statement.source):
                    writers[type(statement)](self, statement)

    # -- operands --

    def operand(self, operand: Operand) -> Value:
        if isinstance(operand, Const):
            return constant(operand.value, operand.dtype)
        return self.env[operand]

    def count(self, count: Size | Name) -> Value:
        return self.env[count] if isinstance(count, str) else self.size(count)

    def size(self, size: Size) -> Value:
        """The value of a size: a polynomial over the atoms."""
        if isinstance(size, int):
            return integer(size)
        w, total = self.w, integer(0)
        for monomial, factor in size.terms:
            term = integer(1)
            for atom in monomial:
                term = w.mul(term, self.atom(atom))
            total = w.add(total, w.mul(term, integer(factor)))
        return total

    def atom(self, atom: Atom) -> Value:
        if not atom.recipe:
            return self.atoms[atom.name]
        a, b = (self.size(arg) for arg in atom.args)
        if atom.recipe == "max":
            return self.w.intrinsic("smax", a, b)
        return self.call("floordiv", np.dtype(np.int64), 1, a, b)

    def index_vector(self, value: Value) -> Value:
        """The positions of all lanes, from that of the first."""
        lanes = self.vector.lanes
        return self.w.binary("add", self.w.splat(value, lanes), iota("i64", lanes))

    # -- memory --

    def pointer(self, buffer: Buffer) -> Value:
        """Where the buffer starts; read from its cell when the memory behind the name can change."""
        cell = self.cells.get(buffer)
        if cell is None:
            return self.pointers[buffer]
        if self.still is None:
            return self.w.load("ptr", cell)
        return self.w.pure_at(self.still, "ptr", 1, f"load ptr, ptr {cell}, align 8")

    def fetch(self, buffer: Buffer, kind: str, lanes: int, instruction: str, *operands: Value) -> Value:
        """A load, moved out of the loops it does not depend on where that is safe."""
        w = self.w
        if self.still is None or buffer in self.stored:
            return w.effect(kind, lanes, instruction)
        least = max(self.still, w.floor, *(o.level for o in operands))
        level = w.depth
        if least > level:
            return w.effect(kind, lanes, instruction)
        while level > least and w.scopes[level].certain:
            level -= 1
        return w.pure_at(level, kind, lanes, instruction)

    # -- functions --

    def call(self, name: str, dtype: np.dtype, lanes: int, *args: Value) -> Value:
        """A call of an elementary function, or of one of ``arithmetic``."""
        made = self.function(name, dtype, lanes)
        self.module.include(made)
        kind = "i64" if name == "to_uint64" else args[0].kind
        return self.w.call(kind, lanes, made.symbol, *args)

    def function(self, name: str, dtype: np.dtype, lanes: int) -> math.MathFunction:
        if name in math.NAMES and dtype.kind == "f":
            target = self.target
            inline = self.inline_math or name in math.SHORT
            return math.function(name, dtype, lanes, target.has_fma, inline=inline, avx512=target.has_permute)
        return arithmetic.function(name, dtype, lanes)
