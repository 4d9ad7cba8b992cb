"""Structure around nests: While, If, Fail and calls of the host, in the function they stand in.

A failure stores its status and leaves through the function's one exit.
"""

from __future__ import annotations

from ...runtime import abi
from ..ir_text import TRUE, Value, integer, kind_of, memory_kind
from ..loopir.ir import Clock, Fail, HostCall, If, While
from ..loopir.operands import Buffer, Const
from .poll import Place, look, quick
from .writing.buffers import place
from .writing.context import CTX, ctx_place, function, leave
from .writing.kernel import SCALAR, KernelWriter

# ---- conditions -----------------------------------------------------------------------------------------


def branch(k: KernelWriter, s: If) -> None:
    if isinstance(s.test, Const):  # a block: what it defines is seen by what follows
        k.statements(s.then if s.test.value else s.orelse)
        return
    w, number = k.w, k.w.fresh("")
    test = k.operand(s.test)
    other = f"else{number}" if s.orelse else f"fi{number}"
    w.fork(test, f"then{number}", other)
    for label, block in ((f"then{number}", s.then), (other, s.orelse)):
        if not block and label != f"then{number}":
            continue
        w.label(label)
        known = set(k.atoms)
        with w.scope(certain=False, closed=True):
            k.statements(block)
            forget(k, known)
        w.branch(f"fi{number}")
    w.label(f"fi{number}")


def fail(k: KernelWriter, s: Fail) -> None:
    w, test, mask = k.w, k.operand(s.test), k.vector.mask
    if test.lanes > 1 and mask is not None:
        test = w.binary("and", test, mask)
    with w.leaving(w.any_lane(test), "fail"), w.scope(certain=False, closed=True):
        for p, name in enumerate(s.details[: abi.DETAIL_COUNT]):
            word = detail(k, first_failing(k, k.env[name], test))
            w.store(word, ctx_place(k, "detail", p))
        leave(k, abi.status_of(s.code))


def first_failing(k: KernelWriter, value: Value, test: Value) -> Value:
    """The value in the first lane that fails."""
    if value.lanes == 1 or test.lanes == 1:
        return value if value.lanes == 1 else k.w.lanes_of(value, 0, 1)
    w, bits = k.w, f"i{test.lanes}"
    word = w.pure(bits, 1, f"bitcast {test.typed} to {bits}", test)
    symbol = w.declare(bits, f"@llvm.cttz.{bits}", word, TRUE)
    return w.lane(value, w.call(bits, 1, symbol, word, TRUE))


def detail(k: KernelWriter, value: Value) -> Value:
    """A scalar as the eight bytes an error message gets: integers widened, floats as float64 bits."""
    if value.kind in ("half", "float"):
        value = k.w.convert("fpext", value, "double")
    if value.kind == "double":
        return k.w.convert("bitcast", value, "i64")
    if value.kind == "i64":
        return value
    return k.w.convert("zext" if value.kind == "i1" else "sext", value, "i64")


# ---- loops ----------------------------------------------------------------------------------------------


def loop(k: KernelWriter, s: While) -> None:
    """A loop tested at its head; its state is in buffers, so only the trip count is a phi."""
    w, number = k.w, k.w.fresh("")
    before, known = (k.vector, k.still, k.stored), set(k.atoms)
    k.vector, k.still = SCALAR, None
    total = None if s.count is None else k.count(s.count)
    entered = w.block
    w.branch(f"while{number}")
    w.label(f"while{number}")
    phis = w.reserve()
    w.enter(certain=False)
    trips = Value(f"%n{number}", "i64", 1, w.depth)
    k.env[s.index] = position(k, s, trips, total)
    if total is not None:
        w.fork(w.compare("slt", trips, total), f"more{number}", f"end{number}")
        w.label(f"more{number}")
    k.statements(s.cond)
    if s.test is not None:
        w.fork(k.operand(s.test), f"do{number}", f"end{number}")
        w.label(f"do{number}")
    here = Place(-1 if s.location is None else s.location, trips, total or integer(-1))
    outermost, k.outermost = k.outermost, k.outermost or here
    k.statements(s.body)
    for a, b in s.swaps:
        swap(k, a, b)
    w.stmt(f"%n{number}.n = add nuw nsw i64 %n{number}, 1")
    if k.asks and not quick(s):
        look(k, s, here, k.outermost)
    k.outermost = outermost
    phis.append(f"  %n{number} = phi i64 [ 0, %{entered} ], [ %n{number}.n, %{w.block} ]")
    w.branch(f"while{number}")
    w.leave()
    w.label(f"end{number}")
    k.vector, k.still, k.stored = before
    forget(k, known)
    counted(k, s, w.define(trips.text, "i64"))


def position(k: KernelWriter, s: While, trips: Value, total: Value | None) -> Value:
    if not s.reverse or total is None:
        return trips
    return k.w.sub(k.w.sub(total, integer(1)), trips)


def forget(k: KernelWriter, known: set[str]) -> None:
    """Sizes bound inside of a loop or branch have no value after it."""
    for atom in k.atoms.keys() - known:
        del k.atoms[atom]


def counted(k: KernelWriter, s: While, trips: Value) -> None:
    if s.trips is not None:
        k.env[s.trips] = trips
    if s.binds is not None:
        k.atoms[s.binds] = trips


def swap(k: KernelWriter, a: Buffer, b: Buffer) -> None:
    """Exchange the memory of two buffers: their cells, or the elements of local ones."""
    if a in k.cells:
        for cells, kind in ((k.cells, "ptr"), (k.rooms, "i64")):
            if a in cells and b in cells:
                exchange(k, kind, cells[a], cells[b], 8)
        return
    assert isinstance(a.size, int)  # local buffers are of constant size
    kind, align = memory_kind(kind_of(a.dtype)), a.dtype.itemsize
    for p in range(a.size):
        exchange(k, kind, element(k, kind, a, p), element(k, kind, b, p), align)


def element(k: KernelWriter, kind: str, buffer: Buffer, p: int) -> Value:
    base = k.pointers[buffer]
    return k.w.step(base, p, kind) if p else base


def exchange(k: KernelWriter, kind: str, a: Value, b: Value, align: int) -> None:
    x, y = (k.w.load(kind, p, align) for p in (a, b))
    k.w.store(y, a, align)
    k.w.store(x, b, align)


# ---- clocks ---------------------------------------------------------------------------------------------


def clock(k: KernelWriter, s: Clock) -> None:
    """Add the processor's clock, less what it was, to a number; the memory is no constant, whatever its kind."""
    w, base = k.w, k.pointers[s.buffer]
    now = w.effect("i64", 1, w.memory_intrinsic("i64", "@llvm.readcyclecounter"))
    ticks, times = (w.step(base, 1 + 2 * s.number + p, "i64") for p in range(2))
    before = w.effect("i64", 1, f"load volatile i64, {base.typed}, align 8")
    w.stmt(f"store volatile {now.typed}, {base.typed}, align 8")
    for where, more in ((ticks, w.binary("sub", now, before)), (times, integer(1))):
        total = w.effect("i64", 1, f"load volatile i64, {where.typed}, align 8")
        w.stmt(f"store volatile {w.add(total, more).typed}, {where.typed}, align 8")


# ---- calls of other code --------------------------------------------------------------------------------


def host_call(k: KernelWriter, s: HostCall) -> None:
    """Pointers and sizes in slots, as an entry takes them."""
    w = k.w
    pointers = [place(k, view.buffer, view.index).pointer for view in s.views]
    tables = []
    for kind, values in (("ptr", pointers), ("i64", [k.size(size) for size in s.sizes])):
        slot = w.slot(kind, max(len(values), 1))
        for p, value in enumerate(values):
            w.store(value, w.step(slot, p, kind))
        tables.append(slot.typed)
    status = w.effect("i32", 1, f"call i32 {function(k, s.function)}({', '.join(tables)}, {CTX.typed})")
    with w.leaving(w.compare("eq", status, integer(0, "i32")), "failed", unless=True):
        leave(k, status)
