"""The builder of the `loop` op: how every loop, a function or a statement, is added to a trace.

What goes round is known when the body has been traced: it tells the types of its results and which Variables it
assigns, and then it is traced again. Knows nothing of where a loop comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ...core.dim import Size
from ...core.errors import Untraceable, at, user_location
from ...core.op import ops
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ...core.tracing.loop_form import INDEX as INDEX
from ...core.tracing.loop_form import LoopForm, Parts, Results
from ...core.tracing.transaction import Attempt
from ..state.variable import Variable
from .memory_policies import Policy
from .region import Region, assigned_in, share_captures

_MAX_ATTEMPTS = 16


class Carry(Protocol):
    """What goes round in a loop, of types that its body tells."""

    def specs(self) -> list[TensorSpec]:
        """The types it is traced with next."""
        ...

    def join(self, body: Region) -> bool:
        """Learn from a traced body; True where it must be traced again with other types."""
        ...

    def initial(self) -> Sequence[Tensor]:
        """What the first iteration gets, in the types that were found."""
        ...

    def attempt(self) -> Attempt:
        """One try at tracing the body and the test."""
        ...

    def tested(self) -> bool:
        """The test, if there is one, is traced, too; True where it told that both must be traced again."""
        ...


class LoopBuilder:
    """A loop that is traced, and added to the trace by :meth:`build`.

    Parameters
    ----------
    body : callable
        ``body(i, carry, rows) -> (carry, ys)`` runs one iteration: `i` iterations are done, the `ys` are stacked.
    carry : Carry
    what : str
        How messages name the loop.
    test : callable, optional
        ``test(carry)``, a scalar bool tensor: whether to go on.
    rows : sequence of Tensor
        Scanned along their first axis; of a loop without a test.
    count : Tensor, optional
        Number of iterations, where it is known only at run time; with a test, the largest number.
    length : size, optional
        Number of iterations, where it is a size.
    reverse : bool
        From the last row to the first.
    memory : Policy
        What the gradient may keep.
    of : object, optional
        The statement it belongs to, as :class:`Region` takes it.
    """

    def __init__(
        self,
        body: Callable[[Tensor, Sequence[Tensor], Sequence[Tensor]], tuple[Any, Any]],
        carry: Carry,
        what: str,
        *,
        test: Callable[[Sequence[Tensor]], Tensor] | None = None,
        rows: Sequence[Tensor] = (),
        count: Tensor | None = None,
        length: Size | None = None,
        reverse: bool = False,
        memory: Policy = "save",
        of: object = None,
    ):
        self.body = body
        self.carry = carry
        self.what = what
        self.test = test
        self.rows = rows
        self.count = count
        self.length = length
        self.reverse = reverse
        self.memory = memory
        self.of: object = self if of is None else of
        self.counter: list[TensorSpec] = (
            [INDEX] if test is not None and count is not None else []
        )  # goes round, too
        self.variables: list[Variable] = []  # go round, too

    def build(self) -> Results:
        """Trace the loop and add it; the last values of what goes round, and the stacked ys."""
        body, test = self._settled()
        initial = self.carry.initial()
        consts = share_captures(*((body, test) if test is not None else (body,)))
        state = [*(as_tensor(0, spec.dtype) for spec in self.counter), *(v.current() for v in self.variables)]
        for v in self.variables:
            v.announce()
        if state:
            _order_outputs(body, len(initial), len(state))
            _order_inputs(body, len(initial), len(self.rows), len(state))
        loop = LoopForm.make(
            body.graph,
            (*initial, *state),
            self.rows,
            consts,
            cond=None if test is None else test.graph,
            count=None if self.counter else self.count,
            length=self.length,
            reverse=self.reverse,
            memory=self.memory,
        )
        outputs, n = loop.apply(), len(initial)
        for v, value in zip(self.variables, outputs.carry[n + len(self.counter) :], strict=True):
            v.store(value)
        return Results(outputs.carry[:n], outputs.trips, outputs.ys)

    def _settled(self) -> tuple[Region, Region | None]:
        """The body and the test, traced until they tell nothing new."""
        for _ in range(_MAX_ATTEMPTS):
            with self.carry.attempt() as attempt:
                body, more = self._traced_body(), []
                again = self.carry.join(body)
                if not again:
                    test, more = self._traced_test(), assigned_in(body)
                    again = self.carry.tested() or bool(more)
                if not again:
                    return body, test
                attempt.rollback()
            self.variables += more
        raise Untraceable(f"the types of the variables of {self.what} do not settle{at(user_location())}")

    def _traced_body(self) -> Region:
        specs = self.carry.specs()
        n, end = len(specs), len(specs) + len(self.rows)

        def run(i: Tensor, *args: Tensor) -> tuple[Any, ...]:
            if not self.counter:
                return self.body(i, args[:n], args[n:])
            done = args[end]
            return *self.body(done, args[:n], args[n:end]), ops.add(done, as_tensor(1, INDEX.dtype))

        specs = [INDEX, *specs, *(r.spec.with_shape(r.shape[1:]) for r in self.rows), *self.counter]
        return Region(run, specs, "body", carried=self.variables, of=self.of)

    def _traced_test(self) -> Region | None:
        if self.test is None:
            return None
        going, specs = self.test, self.carry.specs()

        def run(*carry: Tensor) -> Tensor:
            if not self.counter:
                return going(carry)
            below = ops.less(carry[-1], self.count)
            return ops.logical_and(below, going(carry[:-1]))

        test = Region(run, [*specs, *self.counter], "cond", carried=self.variables, of=self.of)
        if test.assigned:
            raise Untraceable(
                f"the condition of {self.what} assigns {test.assigned[0].name!r}; do it in the body"
                f"{at(user_location())}"
            )
        del test.graph.outputs[1:]
        return test


def _order_outputs(body: Region, carries: int, state: int) -> None:
    """The region returns (carries, ys, state): a loop's body returns its state with the carries."""
    outs = body.graph.outputs
    end = len(outs) - state
    body.graph.outputs = Results([*outs[:carries], *outs[end:]], None, outs[carries:end]).of_body()


def _order_inputs(body: Region, carries: int, xs: int, state: int) -> None:
    """The region takes (i, carries, rows, state, captured): a loop's body takes its state with the carries."""
    i, *ins = body.graph.inputs
    a = carries + xs
    b = a + state
    parts = Parts([*ins[:carries], *ins[a:b]], ins[carries:a], ins[b:])
    body.graph.inputs = list(parts.of_body(i))
