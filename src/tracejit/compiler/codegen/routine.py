"""One group of statements as a function: what it is given, its body, what it gives back, and its call.

Pointers, sizes and scalars are parameters, numbered in order of first mention: groups that do the same to other
buffers, as the steps of a loop that was written out, have the same text and are one function. Local buffers are stack
slots, copied in and out where several functions use them; cells of buffers that move are slots too, so that they live
in registers meanwhile.
"""

from __future__ import annotations

from ..ir_text import kind_of, memory_kind
from ..loopir.ir import Compute, If, Nest, While, walk
from ..loopir.operands import Buffer
from ..loopir.passes.schedule import Schedule
from ..loopir.scalar_ops import ELEMENTARY
from ..loopir.statement import Statement
from .entry import Entry
from .footprint import Footprint
from .writing.context import CTX
from .writing.kernel import KernelWriter
from .writing.scopes import Value

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
        self.entry, self.group, self.print = entry, group, print_
        self.names = {b: f"%b{p}" for p, b in enumerate(print_.buffers)}
        self.k = KernelWriter(entry.k.module, entry.k.writers)
        self.k.inline_math = print_.elementary < INLINE_MATH
        self.outs = [n for n in print_.defines if n in entry.needed[number]]
        self.parameters: list[str] = []
        self.arguments: list[str] = []
        self.copied: list[tuple[Buffer, str]] = []
        self.workspace = ""
        temps = [b for b in print_.buffers if b.kind == "temp"]
        self.from_one = len(temps) > MAX_POINTERS or kind(group[0]) == "scalars"
        # the plan never gives two buffers of one statement the same place
        self.overlapping = overlapping(temps) if len(group) > 1 else set()

    def write(self, kernels: dict[tuple[str, str], str]) -> None:
        """Add the function to `kernels`, what it returns and its text to its name, unless it is there; call it."""
        k, w = self.k, self.k.w
        if self.print.can_fail:
            k.status = "%status"
            w.entry.append("  %status = alloca i32, align 4")
            w.do("store i32 0, ptr %status, align 4")
        self.take_context()
        for b in self.names:
            self.take_buffer(b)
        self.take_values()
        k.statements(self.group)
        results = self.results()
        w.branch("exit")
        w.label("exit")
        self.give_back()
        k.module.declares.update(dict.fromkeys(sorted(w.declares)))
        self.call(kernels.setdefault((self.shape, self.text()), f"@k{len(kernels)}"), results)

    def pass_in(self, parameter: str, argument: str) -> None:
        self.parameters.append(parameter)
        self.arguments.append(argument)

    # -- taking --

    def take_context(self) -> None:
        if self.print.calls_out:
            self.pass_in(f"ptr {CTX}", f"ptr {CTX}")
        if self.print.scratch != 0:
            self.pass_in("ptr %work", f"ptr {self.entry.work().text}")

    def take_buffer(self, b: Buffer) -> None:
        k, e, name = self.k, self.entry.k, self.names[b]
        if b.kind == "local":
            self.take_local(b)
        elif b in self.print.moved:
            self.take_cell(b)
        elif self.from_one and b.kind == "temp" and isinstance(b.offset, int) and b not in e.cells:
            self.take_place(b)
        elif b in e.cells:
            pointer = e.w.here("ptr", 1, f"load ptr, ptr {e.cells[b]}, align 8")
            self.pass_in(f"ptr {self.alone(b)}{name}", f"ptr {pointer.text}")
            k.pointers[b] = Value(name, "ptr")
        else:
            self.pass_in(f"ptr {self.alone(b)}{name}", f"ptr {self.entry.pointer(b).text}")
            k.pointers[b] = Value(name, "ptr")

    def take_place(self, b: Buffer) -> None:
        """A temp of straight code, or one of many: a constant offset from one pointer costs LLVM less than a
        parameter; only a loop gains from knowing that its buffers are apart."""
        if not self.workspace:
            self.workspace = "%workspace"
            self.pass_in(f"ptr {self.workspace}", f"ptr {self.entry.base().text}")
        self.k.pointers[b] = self.k.w.put("ptr", 1, f"getelementptr i8, ptr {self.workspace}, i64 {b.offset}")

    def alone(self, b: Buffer) -> str:
        """``noalias`` unless the plan may have put another buffer of this kernel in the same memory."""
        return "" if b in self.overlapping else "noalias "

    def take_local(self, b: Buffer) -> None:
        """A stack slot; its elements come from the entry when other kernels use them too."""
        k = self.k
        assert isinstance(b.size, int)
        slot = k.w.slot(memory_kind(kind_of(b.dtype)), max(b.size, 1))
        k.pointers[b] = Value(slot, "ptr")
        if b in self.entry.common:
            outside = f"{self.names[b]}.out"
            self.pass_in(f"ptr noalias {outside}", f"ptr {self.entry.k.pointers[b].text}")
            self.copy(b, outside, slot)
            if b in self.print.written:
                self.copied.append((b, outside))

    def copy(self, b: Buffer, source: str, target: str) -> None:
        w, kind, align = self.k.w, memory_kind(kind_of(b.dtype)), b.dtype.itemsize
        for p in range(int(b.size)):
            at, to = (
                w.put("ptr", 1, f"getelementptr {kind}, ptr {x}, i64 {p}").text for x in (source, target)
            )
            value = w.here(kind, 1, f"load {kind}, ptr {at}, align {align}")
            w.do(f"store {value.typed}, ptr {to}, align {align}")

    def take_cell(self, b: Buffer) -> None:
        """The pointer, and the room, of a buffer that moves: kept in slots here, given back at the end."""
        k, e, name = self.k, self.entry.k, self.names[b]
        for cells, mine, kind, stem in ((e.cells, k.cells, "ptr", "cell"), (e.rooms, k.rooms, "i64", "room")):
            if b in cells:
                self.pass_in(f"ptr noalias {name}.{stem}", f"ptr {cells[b]}")
                mine[b] = k.w.slot(kind)
                value = k.w.here(kind, 1, f"load {kind}, ptr {name}.{stem}, align 8")
                k.w.do(f"store {value.typed}, ptr {mine[b]}, align 8")

    def take_values(self) -> None:
        k, e = self.k, self.entry.k
        for p, atom in enumerate(a for a in self.print.atoms() if a in e.atoms):
            self.pass_in(f"i64 %a{p}", f"i64 {e.atoms[atom].text}")
            k.atoms[atom] = Value(f"%a{p}", "i64")
        inputs = [n for n in self.print.uses if n in e.env and n not in self.print.defines]
        for p, name in enumerate(inputs):
            value = e.env[name]
            self.pass_in(f"{value.kind} %s{p}", value.typed)
            k.env[name] = Value(f"%s{p}", value.kind)

    # -- giving --

    def results(self) -> list[tuple[dict[str, Value], str, str]]:
        """Scalars and bound atoms that later groups need, each stored in a slot of the entry."""
        k, e = self.k, self.entry.k
        values = [(e.env, n, k.env[n]) for n in self.outs if n in k.env]
        values += [(e.atoms, a, k.atoms[a]) for a in self.print.binds if a in k.atoms]
        found = []
        for p, (table, name, value) in enumerate(values):
            slot = e.w.slot(value.kind)
            k.w.do(f"store {value.typed}, ptr %o{p}, align 8")
            self.pass_in(f"ptr noalias %o{p}", f"ptr {slot}")
            table[name] = Value(slot, value.kind)
            found.append((table, name, slot))
        return found

    def give_back(self) -> None:
        k = self.k
        for b, outside in self.copied:
            self.copy(b, k.pointers[b].text, outside)
        for b in k.cells:
            for mine, kind, stem in ((k.cells, "ptr", "cell"), (k.rooms, "i64", "room")):
                if b in mine:
                    value = k.w.here(kind, 1, f"load {kind}, ptr {mine[b]}, align 8")
                    k.w.do(f"store {value.typed}, ptr {self.names[b]}.{stem}, align 8")

    def text(self) -> str:
        """The function from its parameters on."""
        k = self.k
        if self.print.can_fail:
            status = k.w.here("i32", 1, "load i32, ptr %status, align 4")
            k.w.do(f"ret i32 {status.text}")
        else:
            k.w.do("ret void")
        return f"({', '.join(self.parameters)}) #0 {{\nentry:\n{k.w.body()}\n}}\n"

    @property
    def shape(self) -> str:
        return "i32" if self.print.can_fail else "void"

    def call(self, name: str, results: list[tuple[dict[str, Value], str, str]]) -> None:
        """The call, the way out if it fails, and the scalars it left."""
        e = self.entry.k
        call = f"call {self.shape} {name}({', '.join(self.arguments)})"
        if self.print.can_fail:
            self.check(e.w.here("i32", 1, call))
        else:
            e.w.do(call)
        for table, name, slot in results:
            kind = table[name].kind
            table[name] = e.w.here(kind, 1, f"load {kind}, ptr {slot}, align 8")

    def check(self, status: Value) -> None:
        w, number = self.entry.k.w, self.entry.k.w.fresh("")
        w.do(f"store i32 {status.text}, ptr %status, align 4")
        w.fork(w.here("i1", 1, f"icmp eq i32 {status.text}, 0"), f"next{number}", "exit")
        w.label(f"next{number}")


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
