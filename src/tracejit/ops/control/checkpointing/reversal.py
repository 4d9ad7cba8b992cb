"""What the backward of a loop with a memory policy needs: which carries, which graphs, and room for how many snapshots.

Said once for the kernel and for the compiled form. Knows nothing of when which snapshot is taken.
"""

from __future__ import annotations

from ....core.dim import Size, UnknownSize, maximum
from ....core.errors import ShapeError, take
from ....core.ir.graph import Graph, again, needed_inputs
from ....core.tensor import Tensor
from ....core.tracing.loop_form import INDEX, LoopForm, LoopGradientForm, Parts, Results
from ..loop import Activity
from ..regions import zeros_like
from .schedule import snapshots_for

#: Carries that "recompute" keeps where the number of iterations is not known while tracing.
USUAL_ROWS = 64
#: No iteration is run more often again by "recompute" where the number of iterations is known.
REPEATS = 2


class BudgetError(ShapeError):
    """A memory budget that does not hold what must be kept."""


class Reversal:
    """What a `loop_gradient` says of its loop: which carries are needed, and the graphs that run.

    Attributes
    ----------
    connected : Parts of bool
        Which of the loop's operands have a cotangent that is wanted.
    kept : list of int
        The carries that the backward reads, and those which these are computed from.
    step : Graph
        ``(i, kept carries, rows, consts) -> kept carries`` after one more iteration.
    back : LoopForm
        The backward loop, of specs: it carries cotangents and sums, and reads the kept carries, the xs and the
        cotangents of the ys.
    """

    connected: Parts
    loop: LoopForm

    def __init__(self, form: LoopGradientForm):
        body = again(form.loop.body)
        self.activity: Activity = Activity(form.loop.replace(body=body), form.seeded, form.wanted)
        self.loop, self.connected = self.activity.loop, self.activity.wanted()
        back = self.activity.backward()
        self.kept: list[int] = self._kept(back)
        c, ys = len(self.loop.init), range(len(back.ys_out))
        read = [*self.kept, *range(c, len(back.xs))]
        self.back: LoopForm = back.restricted(range(len(back.init)), read, range(len(back.consts)), ys)
        loop = self.loop
        self.step: Graph = loop.restricted(self.kept, range(len(loop.xs)), range(len(loop.consts)), ()).body

    def _kept(self, back: LoopForm) -> list[int]:
        loop, read = self.loop, needed_inputs(back.body, back.body.outputs)
        primals = back.xs_in[: len(loop.init)]
        kept = {k for k, v in enumerate(primals) if v in read}
        while True:
            used = needed_inputs(loop.body, [loop.carry_out[k] for k in kept])
            grown = kept | {k for k, v in enumerate(loop.carry_in) if v in used}
            if grown == kept:
                return sorted(kept)
            kept = grown

    def chosen(self, results: Results) -> list[Tensor]:
        """The wanted cotangents among the results of a backward loop."""
        pairs = zip(self.activity.placed(results).flat(), self.connected.flat(), strict=True)
        return [g for g, f in pairs if f and g is not None]

    @property
    def bytes_per_row(self) -> Size:
        """Bytes of one snapshot: the carries, and the iteration it belongs to."""
        specs = [self.loop.init[k] for k in self.kept]
        total: Size = INDEX.dtype.itemsize
        for spec in specs:
            total = total + spec.size * spec.dtype.itemsize
        return total

    def rows(self, memory: int | str, length: Size | None) -> Size:
        """Room for so many snapshots, the last of which serves as the place to work in.

        Raises
        ------
        BudgetError
            When the budget does not hold two.
        """
        exact = length if isinstance(length, int) else None
        if not self.kept or (exact is not None and exact <= 1):
            return 1
        if memory == "recompute":
            return USUAL_ROWS if exact is None else min(snapshots_for(exact, REPEATS) + 1, exact)
        rows = int(memory) // self.bytes_per_row
        if _is_less(rows, 2):
            raise BudgetError(
                f"a memory budget of {memory} bytes is too small for this loop: one set of the carries that its "
                f"gradient reads takes {self.bytes_per_row} bytes, and at least two are kept; allow "
                f"{2 * self.bytes_per_row} bytes, or carry less"
            )
        return min(rows, exact) if exact is not None and isinstance(rows, int) else maximum(rows, 2)


def _is_less(a: Size, b: Size) -> bool:
    """Compare two sizes, with a guard where it takes one; no where nothing is known of them here."""
    try:
        return bool(a < b)
    except UnknownSize as error:
        take(error)
        return False


def reversal(form: LoopGradientForm) -> Reversal:
    """The reversal of a `loop_gradient`, made once."""
    key, derived = ("reversal", *form.key), form.loop.body.derived
    if key not in derived:
        derived[key] = Reversal(form)
    return derived[key]


def seeds(form: LoopGradientForm) -> tuple[list[Tensor], list[Tensor]]:
    """What the backward carries first, cotangents and sums, and the cotangents of rows."""
    activity, take = reversal(form).activity, iter(form.cotangents)
    loop = activity.loop
    ends = [next(take) if s else zeros_like(x) for x, s in zip(loop.init, form.seeded.carry, strict=True)]
    first = [g for g, a in zip(ends, activity.active, strict=True) if a]
    sums = [zeros_like(spec) for spec, s in zip(loop.consts, activity.summed, strict=True) if s]
    return [*first, *sums], list(take)
