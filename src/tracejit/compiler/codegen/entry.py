"""The entry: it finds memory and sizes, holds what groups of statements hand on, and gives results back.

Buffers whose memory can move have a cell here; whatever is left on the heap is released on the one way out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...runtime import abi
from ..ir_text import DIRECTS, NULL, Value, function, integer, kind_of, memory_kind
from ..loopir.ir import Allocate, Grow, Program, walk
from ..loopir.operands import Buffer, Name
from . import memory
from .footprint import Footprint
from .writing import context
from .writing.kernel import KernelWriter, Module


class Entry:
    """The entry of a program.

    Attributes
    ----------
    k : Kernel
        Its function; scalars and atoms in its tables are those that groups handed over.
    common : set of Buffer
        Local buffers that several groups use.
    needed : list of set
        The scalars that groups behind each one use.
    """

    def __init__(
        self,
        program: Program,
        module: Module,
        writers: Mapping[type, Callable[[KernelWriter, Any], None]],
        prints: Sequence[Footprint],
    ):
        self.program = program
        self.k: KernelWriter = KernelWriter(module, writers)
        self.homes: dict[Buffer, Value] = {}
        self.moved: set[Buffer] = {b for p in prints for b in p.moved if b.kind != "local"}
        self.allocated: set[Buffer] = {
            s.buffer for s in walk(program.body) if isinstance(s, (Allocate, Grow))
        }
        self.mentions: dict[Buffer, int] = {}
        for p in prints:
            for b in p.buffers:
                self.mentions[b] = self.mentions.get(b, 0) + 1
        self.common: set[Buffer] = {
            b for b, count in self.mentions.items() if count > 1 and b.kind == "local"
        }
        self.needed: list[set[Name]] = behind(prints)
        self.workspace: Value | None = None

    def open(self) -> None:
        context.make_status(self.k)
        self.find_sizes()
        self.find_memory()

    def close(self) -> str:
        """The function's text."""
        self.hand_over()
        self.k.w.store(integer(0, "i32"), context.STATUS, 4)
        self.k.w.branch("exit")
        self.write_exit()
        return function(f"{context.entry_head(self.program.name)} {DIRECTS} #1", self.k.w)

    # -- what the entry finds --

    def find_sizes(self) -> None:
        k = self.k
        for p, atom in enumerate(self.program.atoms):
            k.atoms[atom] = k.w.load("i64", self.dim(p))

    def dim(self, p: int) -> Value:
        return self.k.w.step(context.DIMS, p, "i64")

    def pointer_in(self, table: Value, place: int) -> Value:
        """Where a table has its pointer of this number."""
        return self.k.w.effect("ptr", 1, f"getelementptr ptr, {table.typed}, i64 {place}")

    def find_memory(self) -> None:
        """Pointers of all buffers that groups mention; cells for those whose memory can move."""
        for b in self.program.buffers:
            if b in self.mentions and (b.kind != "local" or b in self.common):
                self.find(b)

    def find(self, b: Buffer) -> None:
        k = self.k
        if b not in self.moved:
            if (
                b.kind != "temp"
            ):  # these are found when a group asks for them: most take them from one pointer
                k.pointers[b] = self.locate(b)
            return
        where = None if self.on_heap(b) else self.locate(b)
        if where is not None and b.kind == "output":
            self.homes[b] = where
        cell = k.cells[b] = k.w.slot("ptr")
        k.w.store(NULL if where is None else where, cell)
        if self.on_heap(b):
            k.rooms[b] = k.w.slot("i64")
            k.w.store(integer(-1), k.rooms[b])

    def pointer(self, b: Buffer) -> Value:
        """Where a buffer that does not move starts."""
        if b not in self.k.pointers:
            self.k.pointers[b] = self.locate(b)
        return self.k.pointers[b]

    def base(self) -> Value:
        """Where the workspace starts."""
        if self.workspace is None:
            self.workspace = context.field(self.k, "ptr", "workspace")
        return self.workspace

    def on_heap(self, b: Buffer) -> bool:
        return b.kind == "heap" or b in self.allocated

    def locate(self, b: Buffer) -> Value:
        k = self.k
        if b.kind == "local":
            assert isinstance(b.size, int)
            return k.w.slot(memory_kind(kind_of(b.dtype)), max(b.size, 1))
        if b.kind == "temp":
            return k.w.step(self.base(), k.size(b.offset))
        table, place = context.BUFFERS, b.slot
        if b.kind == "constant":
            table = context.field(k, "ptr", "constants")
        elif b.kind == "output":
            place = self.place_of_output(place)
        return k.w.load("ptr", self.pointer_in(table, place), context.POINTER_ALIGN)

    def place_of_output(self, slot: int) -> int:
        inputs = 1 + max((b.slot for b in self.program.buffers if b.kind == "input"), default=-1)
        return abi.place_of_output(inputs, slot)

    def work(self) -> Value:
        """Workspace behind that of the program."""
        w, base, size = self.k.w, self.base(), self.k.size(self.program.workspace)
        last = w.add(size, integer(abi.WORKSPACE_ALIGN - 1))
        return w.step(base, w.binary("and", last, integer(-abi.WORKSPACE_ALIGN)))

    # -- what the entry gives back --

    def hand_over(self) -> None:
        """Sizes that loops bound, and pointers of outputs that were allocated here."""
        k = self.k
        for p, atom in enumerate(self.program.bound):
            dim = self.dim(abi.place_of_bound(len(self.program.atoms), p))
            k.w.store(k.atoms[atom], dim)
        if self.homes:
            memory.bring_home(k, self.homes)
        for b in k.cells:
            if self.on_heap(b) and b.slot >= 0:
                pointer = k.w.load("ptr", k.cells[b])
                place = self.pointer_in(context.BUFFERS, self.place_of_output(b.slot))
                k.w.store(pointer, place, context.POINTER_ALIGN)
                k.w.store(NULL, k.cells[b])

    def write_exit(self) -> None:
        """The one way out: what is still on the heap is released."""
        k = self.k
        k.w.label("exit")
        for b in k.cells:
            if self.on_heap(b):
                memory.release(k, b, k.w.load("ptr", k.cells[b]))
        k.w.stmt(f"ret {k.w.load('i32', context.STATUS, 4).typed}")


def behind(prints: Sequence[Footprint]) -> list[set[Name]]:
    """The scalars used behind each group."""
    later: set[Name] = set()
    found: list[set[Name]] = []
    for p in reversed(prints):
        found.append(set(later))
        later.update(p.uses)
    return found[::-1]
