"""A program as an LLVM module: kernels, and the entry that calls them in order.

Every top-level nest, every loop or branch, and every run of scalar statements is one internal function with
explicit pointers, sizes and scalars, so that LLVM's work stays linear. The entry finds the memory, evaluates the
sizes and passes scalars on. Small local buffers are stack slots of the kernel that uses them, copied in and out
where several do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...core.dim import Size
from ..loops import (
    Allocate,
    Buffer,
    Call,
    Combine,
    Compute,
    Fail,
    Free,
    Grow,
    If,
    Load,
    Name,
    Nest,
    Program,
    Size_,
    Statement,
    Store,
    While,
    walk,
)
from ..schedule import Schedule, Target, schedule
from . import buffers, context, control, memory, nest, reduce, scalars
from .footprint import Footprint
from .kernel import Kernel, Module
from .text import Value, integer, kind_of, memory_kind

MAX_RUN = 512  # statements in one function of scalar code
INLINE_MATH = 8  # calls of elementary functions from which a kernel no longer inlines them

WRITERS: dict[type, Callable[[Kernel, Statement], None]] = {  # type: ignore[assignment]
    Load: buffers.load, Store: buffers.store, Compute: scalars.compute, Size_: scalars.size,
    Combine: reduce.combine, Nest: nest.nest, While: control.loop, If: control.branch, Fail: control.fail,
    Call: control.call, Allocate: memory.allocate, Grow: memory.grow, Free: memory.free,
}  # fmt: skip


@dataclass(frozen=True)
class Emitted:
    """A program as text.

    Attributes
    ----------
    text : str
        A complete LLVM module with one external function, named as the program.
    functions : tuple of str
        Library kernels expected in ctx.functions, in order: ``gemm_f32``, ``gemm_f64``.
    workspace : int or Dim
        Bytes of workspace to provide, library calls included.
    """

    text: str
    functions: tuple[str, ...]
    workspace: Size


def emit(program: Program, target: Target | None = None) -> Emitted:
    """The LLVM module of a program.

    Statuses the entry returns: 0; ``code + 1`` of a Fail; -1 when memory ran out; -2 when poll asked to stop.
    """
    target = target or Target()
    schedule(program, target)
    return ProgramWriter(program, target).write()


def runs(statements: list[Statement]) -> list[list[Statement]]:
    """Statements grouped into kernels."""
    groups: list[list[Statement]] = []
    size = MAX_RUN
    for s in statements:
        alone = is_alone(s)
        cost = sum(1 for _ in walk([s]))
        if alone or size + cost > MAX_RUN:
            groups.append([])
            size = 0
        groups[-1].append(s)
        size = MAX_RUN if alone else size + cost
    return groups


def is_alone(s: Statement) -> bool:
    """Does it have loops, or branches, of its own?"""
    return isinstance(s, (While, If)) or isinstance(s, Nest) and not is_full(s)


def is_full(s: Nest) -> bool:
    return isinstance(s.schedule, Schedule) and s.schedule.full


class ProgramWriter:
    """Writes the entry, and a kernel for every group as the entry comes to it."""

    def __init__(self, program: Program, target: Target):
        self.program = program
        self.module = Module(target, program.contract)
        self.groups = runs(program.body)
        self.prints = [Footprint(g) for g in self.groups]
        self.names = {b: f"%b{p}" for p, b in enumerate(program.buffers)}
        self.kernels: list[str] = []
        self.entry = Kernel(self.module, WRITERS)
        self.homes: dict[Buffer, Value] = {}
        self.moved = {b for p in self.prints for b in p.moved if b.kind != "local"}
        self.allocated = {s.buffer for s in walk(program.body) if isinstance(s, (Allocate, Grow))}
        self.scratch = max((p.scratch for p in self.prints), default=0)
        mentions: dict[Buffer, int] = {}
        for p in self.prints:
            for b in p.buffers:
                mentions[b] = mentions.get(b, 0) + 1
        self.common = {b for b, count in mentions.items() if count > 1 and b.kind == "local"}
        later: set[Name] = set()
        self.needed: list[set[Name]] = []
        for p in reversed(self.prints):
            self.needed.insert(0, set(later))
            later.update(p.uses)

    def write(self) -> Emitted:
        k = self.entry
        k.status = "%status"
        k.w.entry.append("  %status = alloca i32, align 4")
        self.find_sizes()
        self.find_memory()
        for number, (group, print_) in enumerate(zip(self.groups, self.prints, strict=True)):
            KernelWriter(self, number, group, print_).write()
        self.hand_over()
        k.w.do("store i32 0, ptr %status, align 4")
        k.w.branch("exit")
        self.write_exit()
        return Emitted(self.text(), tuple(self.module.calls), self.workspace())

    def workspace(self) -> Size:
        return self.aligned(self.program.workspace) + self.scratch

    def aligned(self, size: Size) -> Size:
        return -(-size // 64) * 64 if isinstance(size, int) else size + 64

    def text(self) -> str:
        m, k = self.module, self.entry
        m.declares.update(dict.fromkeys(sorted(k.w.declares)))
        width = 8 * m.target.register_bytes
        flags = f'nounwind "no-builtins" "prefer-vector-width"="{width}" "min-legal-vector-width"="{width}"'
        entry = f'define i32 @"{self.program.name}"(ptr %buffers, ptr %dims, ptr %ctx) #1 {{\nentry:\n{k.w.text()}\n}}\n'
        attributes = f"attributes #0 = {{ noinline {flags} }}\nattributes #1 = {{ {flags} }}\n"
        return "\n".join([*m.declares, "", *m.globals, *m.functions, *self.kernels, entry, attributes])

    # -- what the entry finds --

    def find_sizes(self) -> None:
        k = self.entry
        for p, atom in enumerate(self.program.atoms):
            k.atoms[atom] = k.w.here("i64", 1, f"load i64, ptr {self.dim(p)}, align 8")

    def dim(self, p: int) -> str:
        return self.entry.w.put("ptr", 1, f"getelementptr i64, ptr %dims, i64 {p}").text

    def find_memory(self) -> None:
        """Pointers of all buffers that kernels mention; cells for those whose memory can move."""
        used = {b for p in self.prints for b in p.buffers}
        for b in self.program.buffers:
            if b in used and (b.kind != "local" or b in self.common):
                self.find(b)
        if self.program.workspace != 0 or self.scratch:
            assert self.entry.w.scopes

    def find(self, b: Buffer) -> None:
        k = self.entry
        where = None if self.on_heap(b) else self.locate(b)
        if b not in self.moved:
            assert where is not None
            k.pointers[b] = where
            return
        if where is not None and b.kind == "output":
            self.homes[b] = where
        cell = k.cells[b] = k.w.slot("ptr")
        k.w.do(f"store ptr {'null' if where is None else where.text}, ptr {cell}, align 8")
        if self.on_heap(b):
            room = k.rooms[b] = k.w.slot("i64")
            k.w.do(f"store i64 -1, ptr {room}, align 8")

    def on_heap(self, b: Buffer) -> bool:
        return b.kind == "heap" or b in self.allocated

    def locate(self, b: Buffer) -> Value:
        k = self.entry
        if b.kind == "local":
            assert isinstance(b.size, int)
            return k.w.bound(k.w.slot(memory_kind(kind_of(b.dtype)), max(b.size, 1)), "ptr")
        if b.kind == "temp":
            base = self.field(context.WORKSPACE)
            offset = k.size(b.offset)
            return k.w.put("ptr", 1, f"getelementptr i8, ptr {base.text}, i64 {offset.text}", base, offset)
        table, place = "%buffers", b.slot
        if b.kind == "constant":
            table = self.field(context.CONSTANTS).text
        elif b.kind == "output":
            place += self.first_output()
        where = k.w.here("ptr", 1, f"getelementptr ptr, ptr {table}, i64 {place}")
        return k.w.here("ptr", 1, f"load ptr, ptr {where.text}, align 8")

    def first_output(self) -> int:
        return 1 + max((b.slot for b in self.program.buffers if b.kind == "input"), default=-1)

    def field(self, at: int) -> Value:
        return context.context(self.entry, "ptr", at)

    # -- what the entry gives back --

    def hand_over(self) -> None:
        """Sizes that loops bound, and pointers of outputs that were allocated here."""
        k = self.entry
        for p, atom in enumerate(self.program.bound):
            k.w.do(f"store i64 {k.atoms[atom].text}, ptr {self.dim(len(self.program.atoms) + p)}, align 8")
        if self.homes:
            memory.bring_home(k, self.homes)
        first = self.first_output()
        for b in k.cells:
            if self.on_heap(b) and b.slot >= 0:
                pointer = k.w.here("ptr", 1, f"load ptr, ptr {k.cells[b]}, align 8")
                where = k.w.here("ptr", 1, f"getelementptr ptr, ptr %buffers, i64 {first + b.slot}")
                k.w.do(f"store ptr {pointer.text}, ptr {where.text}, align 8")
                k.w.do(f"store ptr null, ptr {k.cells[b]}, align 8")

    def write_exit(self) -> None:
        """The one way out: what is still on the heap is released."""
        k = self.entry
        k.w.label("exit")
        for b in k.cells:
            if self.on_heap(b):
                memory.release(k, k.w.here("ptr", 1, f"load ptr, ptr {k.cells[b]}, align 8"))
        status = k.w.here("i32", 1, "load i32, ptr %status, align 4")
        k.w.do(f"ret i32 {status.text}")


class KernelWriter:
    """One group of statements as a function, and its call in the entry."""

    def __init__(self, program: ProgramWriter, number: int, group: list[Statement], print_: Footprint):
        self.p, self.group, self.print = program, group, print_
        self.name = f"@k{number}"
        self.k = Kernel(program.module, WRITERS)
        self.k.inline_math = print_.elementary < INLINE_MATH
        self.outs = [n for n in print_.defines if n in program.needed[number]]
        self.parameters: list[str] = []
        self.arguments: list[str] = []
        self.copied: list[tuple[Buffer, str]] = []
        self.workspace = ""
        self.is_straight = not any(is_alone(s) for s in group)
        self.overlapping = overlapping([b for b in print_.buffers if b.kind == "temp"])

    def write(self) -> None:
        k, w = self.k, self.k.w
        if self.print.can_fail:
            k.status = "%status"
            w.entry.append("  %status = alloca i32, align 4")
            w.do("store i32 0, ptr %status, align 4")
        self.take_context()
        for b in self.p.program.buffers:
            if b in self.print.buffers:
                self.take_buffer(b)
        self.take_values()
        k.statements(self.group)
        results = self.results()
        w.branch("exit")
        w.label("exit")
        self.give_back()
        self.close(results)

    def pass_in(self, parameter: str, argument: str) -> None:
        self.parameters.append(parameter)
        self.arguments.append(argument)

    # -- taking --

    def take_context(self) -> None:
        if self.print.calls_out:
            self.pass_in("ptr %ctx", "ptr %ctx")
        if self.print.scratch:
            e = self.p.entry
            base = self.p.field(context.WORKSPACE)
            size = e.size(self.p.program.workspace)
            last = e.w.put("i64", 1, f"add i64 {size.text}, 63", size)
            end = e.w.put("i64", 1, f"and i64 {last.text}, -64", last)
            work = e.w.put("ptr", 1, f"getelementptr i8, ptr {base.text}, i64 {end.text}", base, end)
            self.pass_in("ptr %work", f"ptr {work.text}")

    def take_buffer(self, b: Buffer) -> None:
        k, e, name = self.k, self.p.entry, self.p.names[b]
        if b.kind == "local":
            self.take_local(b)
        elif b in self.print.moved:
            self.take_cell(b)
        elif self.is_straight and b.kind == "temp" and isinstance(b.offset, int):
            self.take_place(b)
        elif b in e.cells:
            pointer = e.w.here("ptr", 1, f"load ptr, ptr {e.cells[b]}, align 8")
            self.pass_in(f"ptr {self.alone(b)}{name}", f"ptr {pointer.text}")
            k.pointers[b] = Value(name, "ptr")
        else:
            self.pass_in(f"ptr {self.alone(b)}{name}", f"ptr {e.pointers[b].text}")
            k.pointers[b] = Value(name, "ptr")

    def take_place(self, b: Buffer) -> None:
        """A temp of straight code: a constant offset from one pointer, which costs LLVM less than a parameter."""
        if not self.workspace:
            self.workspace = "%workspace"
            base = self.p.field(context.WORKSPACE)
            self.pass_in(f"ptr {self.workspace}", f"ptr {base.text}")
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
        if b in self.p.common:
            outside = f"{self.p.names[b]}.out"
            self.pass_in(f"ptr noalias {outside}", f"ptr {self.p.entry.pointers[b].text}")
            self.copy(b, outside, slot)
            if b in self.print.written:
                self.copied.append((b, outside))

    def copy(self, b: Buffer, source: str, target: str) -> None:
        w, kind, align = self.k.w, memory_kind(kind_of(b.dtype)), b.dtype.itemsize
        for p in range(b.size):  # type: ignore[arg-type]
            at, to = (w.put("ptr", 1, f"getelementptr {kind}, ptr {x}, i64 {p}").text for x in (source, target))
            value = w.here(kind, 1, f"load {kind}, ptr {at}, align {align}")
            w.do(f"store {value.typed}, ptr {to}, align {align}")

    def take_cell(self, b: Buffer) -> None:
        """The pointer, and the room, of a buffer that moves: kept in slots here, given back at the end."""
        k, e, name = self.k, self.p.entry, self.p.names[b]
        for cells, mine, kind, stem in ((e.cells, k.cells, "ptr", "cell"), (e.rooms, k.rooms, "i64", "room")):
            if b in cells:
                self.pass_in(f"ptr noalias {name}.{stem}", f"ptr {cells[b]}")
                mine[b] = k.w.slot(kind)
                value = k.w.here(kind, 1, f"load {kind}, ptr {name}.{stem}, align 8")
                k.w.do(f"store {value.typed}, ptr {mine[b]}, align 8")

    def take_values(self) -> None:
        k, e = self.k, self.p.entry
        for p, atom in enumerate(a for a in self.print.atoms() if a in e.atoms):
            self.pass_in(f"i64 %a{p}", f"i64 {e.atoms[atom].text}")
            k.atoms[atom] = Value(f"%a{p}", "i64")
        inputs = [n for n in self.print.uses if n in e.env and n not in self.print.defines]
        for p, name in enumerate(inputs):
            value = e.env[name]
            self.pass_in(f"{value.kind} %s{p}", value.typed)
            k.env[name] = Value(f"%s{p}", value.kind)

    # -- giving --

    def results(self) -> list[tuple[str, str]]:
        """Scalars and bound atoms for later kernels, stored where the entry reads them."""
        k, e, found = self.k, self.p.entry, []
        values = [(n, k.env[n], e.env) for n in self.outs if n in k.env]
        values += [(a, k.atoms[a], e.atoms) for a in self.print.binds if a in k.atoms]
        for p, (name, value, table) in enumerate(values):
            slot = e.w.slot(value.kind)
            k.w.do(f"store {value.typed}, ptr %o{p}, align 8")
            self.pass_in(f"ptr noalias %o{p}", f"ptr {slot}")
            found.append((name, slot))
            table[name] = Value(slot, value.kind)  # type: ignore[index]
        return found

    def give_back(self) -> None:
        k, e = self.k, self.p.entry
        for b, outside in self.copied:
            self.copy(b, k.pointers[b].text, outside)
        for b in k.cells:
            for mine, kind, stem in ((k.cells, "ptr", "cell"), (k.rooms, "i64", "room")):
                if b in mine:
                    value = k.w.here(kind, 1, f"load {kind}, ptr {mine[b]}, align 8")
                    k.w.do(f"store {value.typed}, ptr {self.p.names[b]}.{stem}, align 8")
        assert e.w.scopes

    def close(self, results: list[tuple[str, str]]) -> None:
        k, e, module = self.k, self.p.entry, self.p.module
        module.declares.update(dict.fromkeys(sorted(k.w.declares)))
        if self.print.can_fail:
            status = k.w.here("i32", 1, "load i32, ptr %status, align 4")
            k.w.do(f"ret i32 {status.text}")
        else:
            k.w.do("ret void")
        shape = "i32" if self.print.can_fail else "void"
        head = f"define internal {shape} {self.name}({', '.join(self.parameters)}) #0 {{\nentry:\n"
        self.p.kernels.append(f"{head}{k.w.text()}\n}}\n")
        call = f"call {shape} {self.name}({', '.join(self.arguments)})"
        if not self.print.can_fail:
            e.w.do(call)
        else:
            self.check(e.w.here("i32", 1, call))
        for table in (e.env, e.atoms):
            for name, slot in results:
                if name in table and table[name].text == slot:
                    kind = table[name].kind
                    table[name] = e.w.here(kind, 1, f"load {kind}, ptr {slot}, align 8")

    def check(self, status: Value) -> None:
        w, number = self.p.entry.w, self.p.entry.w.fresh("")
        w.do(f"store i32 {status.text}, ptr %status, align 4")
        w.fork(w.here("i1", 1, f"icmp eq i32 {status.text}, 0"), f"next{number}", "exit")
        w.label(f"next{number}")


def overlapping(temps: list[Buffer]) -> set[Buffer]:
    """The temps whose places are not known to be apart from every other's."""
    placed = [b for b in temps if isinstance(b.offset, int) and isinstance(b.size, int)]
    found = set(temps) if len(placed) < len(temps) else set()
    placed.sort(key=lambda b: b.offset)  # type: ignore[arg-type, return-value]
    reach, last = -1, None
    for b in placed:
        if b.offset < reach and last is not None:  # type: ignore[operator]
            found.update((b, last))
        end = b.offset + b.size * b.dtype.itemsize  # type: ignore[operator]
        if end > reach:  # type: ignore[operator]
            reach, last = end, b  # type: ignore[assignment]
    return found


__all__ = ["Combine", "Compute", "Emitted", "Fail", "Free", "emit", "integer"]
