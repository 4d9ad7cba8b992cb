"""One group of statements as a function: what it is given, its body, what it gives back, and its call.

Pointers, sizes and scalars are parameters, numbered in order of first mention: groups that do the same to other
buffers, as the steps of a loop that was written out, have the same text and are one function. Local buffers are stack
slots, copied in and out where several functions use them; cells of buffers that move are slots too, so that they live
in registers meanwhile.
"""

from __future__ import annotations

from ..ir_text import DIRECTS, Value, integer, kind_of, memory_kind
from ..loopir.ir import Compute, If, Nest, While, walk
from ..loopir.operands import Buffer, Name
from ..loopir.passes.schedule import Schedule
from ..loopir.scalar_ops import ELEMENTARY
from ..loopir.statement import Statement
from .entry import Entry
from .footprint import Footprint
from .parallel import directs
from .writing.context import CTX, STATUS, make_status
from .writing.kernel import KernelWriter

MAX_RUN = 512  # statements in one function of scalar code
MAX_LOOPS = 64  # statements in the nests of one function: every function costs LLVM about a millisecond
MAX_POINTERS = 32  # temps that a function of loops takes as pointers of their own
INLINE_MATH = 8  # calls of elementary functions from which a function no longer inlines them


def runs(statements: list[Statement]) -> list[list[Statement]]:
    """Statements grouped into functions: loops and branches alone, nests with nests, scalar code with its like."""
    groups: list[list[Statement]] = []
    size, elementary, before = 0, 0, ""
    for s in statements:
        sort, inside = kind(s), list(walk([s]))
        cost = len(inside) * (MAX_RUN // MAX_LOOPS if sort == "nest" else 1)
        calls = sum(isinstance(x, Compute) and x.op in ELEMENTARY for x in inside)
        full = size + cost > MAX_RUN or (sort == "nest" and elementary + calls >= INLINE_MATH)
        if not groups or full or sort != before or sort == "structure":
            groups.append([])
            size = elementary = 0
        groups[-1].append(s)
        size, elementary, before = size + cost, elementary + calls, sort
    return groups


def kind(s: Statement) -> str:
    """What a statement becomes: ``scalars``, a ``nest`` of loops, or a ``structure`` of blocks."""
    if isinstance(s, (While, If)):
        return "structure"
    written_out = isinstance(s, Nest) and isinstance(s.schedule, Schedule) and s.schedule.full
    return "nest" if isinstance(s, Nest) and not written_out else "scalars"


class KernelFunction:
    """One group of statements as a function, and its call in the entry."""

    def __init__(self, entry: Entry, number: int, group: list[Statement], print_: Footprint):
        self.entry = entry
        self.group = group
        self.print = print_
        self.names: dict[Buffer, str] = {b: f"%b{p}" for p, b in enumerate(print_.buffers)}
        self.k: KernelWriter = KernelWriter(entry.k.module, entry.k.writers)
        self.k.inline_math = print_.elementary < INLINE_MATH
        self.outs: list[Name] = [n for n in print_.defines if n in entry.needed[number]]
        self.parameters: list[str] = []
        self.arguments: list[str] = []
        self.copied: list[tuple[Buffer, Value]] = []
        self.workspace: Value | None = None
        temps = [b for b in print_.buffers if b.kind == "temp"]
        self.from_one: bool = len(temps) > MAX_POINTERS or kind(group[0]) == "scalars"
        # the plan never gives two buffers of one statement the same place
        self.overlapping: set[Buffer] = overlapping(temps) if len(group) > 1 else set()

    def write(self, kernels: dict[tuple[str, str], str]) -> None:
        """Add the function to `kernels`, what it returns and its text to its name, unless it is there; call it."""
        k, w = self.k, self.k.w
        if self.print.can_fail:
            make_status(k)
            w.store(integer(0, "i32"), STATUS, 4)
        self.take_context()
        for b in self.names:
            self.take_buffer(b)
        self.take_values()
        k.statements(self.group)
        results = self.results()
        w.branch("exit")
        w.label("exit")
        self.give_back()
        k.module.declares.update(dict.fromkeys(sorted(w.declares.values())))
        self.call(kernels.setdefault((self.shape, self.text()), f"@.k{len(kernels)}"), results)

    def pass_in(self, parameter: str, argument: str) -> None:
        self.parameters.append(parameter)
        self.arguments.append(argument)

    # -- taking --

    def take_context(self) -> None:
        if self.print.calls_out:
            self.pass_in(CTX.typed, CTX.typed)
        if self.print.scratch != 0:
            self.pass_in("ptr %work", self.entry.work().typed)

    def take_buffer(self, b: Buffer) -> None:
        k, e, name = self.k, self.entry.k, self.names[b]
        if b.kind == "local":
            self.take_local(b)
        elif b in self.print.moved:
            self.take_cell(b)
        elif self.from_one and b.kind == "temp" and isinstance(b.offset, int) and b not in e.cells:
            self.take_place(b)
        else:
            pointer = e.w.load("ptr", e.cells[b]) if b in e.cells else self.entry.pointer(b)
            self.pass_in(f"ptr {self.alone(b)}{name}", pointer.typed)
            k.pointers[b] = Value(name, "ptr")

    def take_place(self, b: Buffer) -> None:
        """A temp of straight code, or one of many: a constant offset from one pointer costs LLVM less than a
        parameter; only a loop gains from knowing that its buffers are apart."""
        assert isinstance(b.offset, int)
        if self.workspace is None:
            self.workspace = Value("%workspace", "ptr")
            self.pass_in(self.workspace.typed, self.entry.base().typed)
        self.k.pointers[b] = self.k.w.step(self.workspace, b.offset)

    def alone(self, b: Buffer) -> str:
        """``noalias`` unless the plan may have put another buffer of this kernel in the same memory."""
        return "" if b in self.overlapping else "noalias "

    def take_local(self, b: Buffer) -> None:
        """A stack slot; its elements come from the entry when other kernels use them too."""
        k = self.k
        assert isinstance(b.size, int)
        slot = k.pointers[b] = k.w.slot(memory_kind(kind_of(b.dtype)), max(b.size, 1))
        if b in self.entry.common:
            outside = Value(f"{self.names[b]}.out", "ptr")
            self.pass_in(f"ptr noalias {outside}", self.entry.k.pointers[b].typed)
            self.copy(b, outside, slot)
            if b in self.print.written:
                self.copied.append((b, outside))

    def copy(self, b: Buffer, source: Value, target: Value) -> None:
        w, kind, align = self.k.w, memory_kind(kind_of(b.dtype)), b.dtype.itemsize
        for p in range(int(b.size)):
            at, to = (w.step(x, p, kind) for x in (source, target))
            w.store(w.load(kind, at, align), to, align)

    def take_cell(self, b: Buffer) -> None:
        """The pointer, and the room, of a buffer that moves: kept in slots here, given back at the end."""
        k, e, name = self.k, self.entry.k, self.names[b]
        for cells, mine, kind, stem in ((e.cells, k.cells, "ptr", "cell"), (e.rooms, k.rooms, "i64", "room")):
            if b in cells:
                outside = Value(f"{name}.{stem}", "ptr")
                self.pass_in(f"ptr noalias {outside}", cells[b].typed)
                mine[b] = k.w.slot(kind)
                k.w.store(k.w.load(kind, outside), mine[b])

    def take_values(self) -> None:
        k, e = self.k, self.entry.k
        for p, atom in enumerate(a for a in self.print.atoms() if a in e.atoms):
            k.atoms[atom] = Value(f"%a{p}", "i64")
            self.pass_in(k.atoms[atom].typed, e.atoms[atom].typed)
        inputs = [n for n in self.print.uses if n in e.env and n not in self.print.defines]
        for p, name in enumerate(inputs):
            k.env[name] = Value(f"%s{p}", e.env[name].kind)
            self.pass_in(k.env[name].typed, e.env[name].typed)

    # -- giving --

    def results(self) -> list[tuple[dict[str, Value], str, str, Value]]:
        """Scalars and bound atoms that later groups need: table, name, type, and the slot of the entry each is in."""
        k, e = self.k, self.entry.k
        values = [(e.env, n, k.env[n]) for n in self.outs if n in k.env]
        values += [(e.atoms, a, k.atoms[a]) for a in self.print.binds if a in k.atoms]
        found = []
        for p, (table, name, value) in enumerate(values):
            slot, inside = e.w.slot(value.kind), Value(f"%o{p}", "ptr")
            k.w.store(value, inside)
            self.pass_in(f"ptr noalias {inside}", slot.typed)
            found.append((table, name, value.kind, slot))
        return found

    def give_back(self) -> None:
        k = self.k
        for b, outside in self.copied:
            self.copy(b, k.pointers[b], outside)
        for b in k.cells:
            for mine, kind, stem in ((k.cells, "ptr", "cell"), (k.rooms, "i64", "room")):
                if b in mine:
                    k.w.store(k.w.load(kind, mine[b]), Value(f"{self.names[b]}.{stem}", "ptr"))

    def text(self) -> str:
        """The function from its parameters on."""
        k = self.k
        k.w.stmt(f"ret {k.w.load('i32', STATUS, 4).typed}" if self.print.can_fail else "ret void")
        mark = f"{DIRECTS} " if all(directs(k, s) for s in self.group) else ""
        return f"({', '.join(self.parameters)}) {mark}#0 {{\nentry:\n{k.w.body()}\n}}\n"

    @property
    def shape(self) -> str:
        return "i32" if self.print.can_fail else "void"

    def call(self, name: str, results: list[tuple[dict[str, Value], str, str, Value]]) -> None:
        """The call, the way out if it fails, and the scalars it left."""
        w = self.entry.k.w
        call = f"call {self.shape} {name}({', '.join(self.arguments)})"
        if self.print.can_fail:
            self.check(w.effect("i32", 1, call))
        else:
            w.stmt(call)
        for table, scalar, kind, slot in results:
            table[scalar] = w.load(kind, slot)

    def check(self, status: Value) -> None:
        w = self.entry.k.w
        w.store(status, STATUS, 4)
        following = w.fresh("next")
        w.fork(w.compare("eq", status, integer(0, "i32")), following, "exit")
        w.label(following)


def overlapping(temps: list[Buffer]) -> set[Buffer]:
    """The temps whose places are not known to be apart from every other's."""
    places = [(b.offset, b.size * b.dtype.itemsize, b) for b in temps]
    known = [(at, size, b) for at, size, b in places if isinstance(at, int) and isinstance(size, int)]
    found = set(temps) if len(known) < len(temps) > 1 else set()
    known.sort(key=lambda place: place[0])
    reach, last = -1, None
    for start, size, b in known:
        if start < reach and last is not None:
            found.update((b, last))
        if start + size > reach:
            reach, last = start + size, b
    return found
