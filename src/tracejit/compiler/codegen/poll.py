"""How loops can be stopped: each counts the work it does, and asks now and then whether to go on.

Work is counted over all loops of a function in one slot, so that many short loops ask as often as a long one.
Before it asks, a loop notes in ctx where it is. Knows ctx, not who answers.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...core.dataclass import dataclass
from ...core.dim import Dim, Size, product
from ...runtime import abi
from ..ir_text import FALSE, NULL, Value, integer
from ..loopir.called_kernels import KERNELS
from ..loopir.ir import Call, Compute, If, Nest, While
from ..loopir.scalar_ops import ELEMENTARY
from ..loopir.statement import Statement
from .writing.context import CTX, ctx_place, field, leave
from .writing.kernel import KernelWriter

WORK = 1 << 25  # statements between two questions: milliseconds, and a question costs about one microsecond
QUICK = WORK  # a loop of no more statements than this never asks: it would be over before the first question
UNKNOWN = 1 << 12  # what a nest does whose size is not known where its loop ends
ELEMENTARY_WORK = 16
KERNEL_LANES = 8  # operations of a library kernel that take as long as a statement: it runs in vectors
ONE = integer(1)


@dataclass
class Place:
    """Where a loop is: the message that names its line, the iterations behind it, and of how many (-1: not known)."""

    location: int
    done: Value
    total: Value


def work(statements: Iterable[Statement]) -> Size:
    """About how many scalar statements a block runs; loops that count for themselves are not counted."""
    total: Size = 0
    for s in statements:
        total = total + _work(s)
    return total


def _work(s: Statement) -> Size:
    match s:
        case Nest():
            return product(a.size for a in s.axes) * (work(s.body) + 1) + work(s.tail)
        case If():
            return work(s.then) + work(s.orelse) + 1
        case While():
            return quick(s) or 1
        case Call():
            done = KERNELS[s.function].work(s.sizes)
            return done // KERNEL_LANES if isinstance(done, int) else done
        case Compute():
            return ELEMENTARY_WORK if s.op in ELEMENTARY else 1
    return 1


def quick(s: While) -> int:
    """The work of a loop too short to ask, loops in it that ask apart; 0 for every other loop."""
    if not isinstance(s.count, int):
        return 0
    total = s.count * work(s.body)
    return total if isinstance(total, int) and total <= QUICK else 0


def known(k: KernelWriter, size: Size) -> Size:
    """The size, or a guess where an atom in it has no value here."""
    if isinstance(size, Dim) and not all(a.name in k.atoms for a in size.atoms()):
        return UNKNOWN
    return size


def look(k: KernelWriter, s: While, here: Place, outermost: Place, iterations: Value = ONE) -> None:
    """At the end of one iteration or several: count their work, and when enough was done ask whether to go on."""
    w, number = k.w, k.w.fresh("")
    if k.patience is None:
        k.patience = w.slot("i64")
        w.entry.append(f"  store i64 {WORK}, {k.patience.typed}, align 8")
    cost = w.mul(k.size(known(k, work(s.cond) + work(s.body) + 1)), iterations)
    rest = w.binary("sub", w.load("i64", k.patience), cost)
    w.store(rest, k.patience)
    rarely = w.intrinsic("expect", w.compare("slt", rest, integer(0)), FALSE)
    w.fork(rarely, f"look{number}", f"go{number}")
    w.label(f"look{number}")
    w.store(integer(WORK), k.patience)
    function = field(k, "ptr", "poll")
    w.fork(w.compare("eq", function, NULL), f"go{number}", f"ask{number}")
    w.label(f"ask{number}")
    for p, word in enumerate(words(outermost) + words(here)):
        w.store(word, ctx_place(k, "loops", p))
    answer = w.effect("i32", 1, f"call i32 {function}({CTX.typed})")
    w.fork(w.compare("ne", answer, integer(0, "i32")), f"stop{number}", f"go{number}")
    w.label(f"stop{number}")
    leave(k, abi.STATUS_INTERRUPTED)
    w.label(f"go{number}")


def words(place: Place) -> list[Value]:
    return [integer(place.location), place.done, place.total]
