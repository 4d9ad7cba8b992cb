"""Loops with named parts: what a call of the op `loop` or `loop_gradient` is given, holds and returns.

In every iteration a loop carries values round, reads a row of each of its `xs`, writes a row of each of its `ys`, and
uses `consts`. Nothing else knows where these stand among the inputs and outputs of the op and of its graphs, nor what
its attributes are called. Knows nothing of what loops compute, nor of derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..dim import Size
from ..ir.graph import Graph, Node, Value, restricted
from ..spec import TensorSpec
from .forms import Form, attribute
from .trace import trace

#: The spec of a loop's index and trip count.
INDEX = TensorSpec((), np.dtype(np.int64))


class Parts(NamedTuple):
    """Something per carry, per scanned array and per constant of a loop."""

    carry: Sequence[Any]
    xs: Sequence[Any]
    consts: Sequence[Any]

    def flat(self) -> list[Any]:
        return [*self.carry, *self.xs, *self.consts]

    def of_body(self, index: Any) -> tuple[Any, ...]:
        """One item per input of a body."""
        return (index, *self.carry, *self.xs, *self.consts)

    def of_cond(self) -> tuple[Any, ...]:
        """One item per input of a condition."""
        return (*self.carry, *self.consts)

    def spread(self, values: Iterable[Any]) -> Parts:
        """Of flags: the next of `values` for each that is set, None for the others."""
        take = iter(values)
        return Parts(*([next(take) if f else None for f in part] for part in self))


class Results(NamedTuple):
    """Something per carry, for the trip count and per stacked output of a loop."""

    carry: Sequence[Any]
    trips: Any
    ys: Sequence[Any]

    def of_loop(self) -> list[Any]:
        """One item per output of a loop."""
        return [*self.carry, self.trips, *self.ys]

    def of_body(self) -> list[Any]:
        """One item per output of a body."""
        return [*self.carry, *self.ys]

    def spread(self, values: Iterable[Any]) -> Results:
        """Of flags: the next of `values` for each that is set, None for the others and the trip count."""
        take = iter(values)
        carry, ys = ([next(take) if f else None for f in part] for part in (self.carry, self.ys))
        return Results(carry, None, ys)


#: The body of a loop in Python: ``(index, carry, xs, consts) -> carry, ys``.
Body = Callable[[Any, Any, Any, Any], tuple[Sequence[Any], Sequence[Any]]]
#: The condition of a loop in Python: ``(carry, consts) -> scalar bool``.
Cond = Callable[[Any, Any], Any]


class LoopForm(Form):
    """The op `loop`: its operands, its graphs, how often it runs, and what it returned.

    Attributes
    ----------
    init, xs, consts : sequence
        The first carries, the scanned arrays, and what every iteration uses as it is.
    count : optional
        The operand that says how often it runs, where one does.
    length : Size, optional
        How often it runs, where that is a size.
    body : Graph
        ``(index, carry_in, xs_in, consts_in) -> carry_out, ys_out``.
    cond : Graph, optional
        ``(carry, consts) -> bool``: runs while it holds, where there is neither a count nor a length.
    reverse : bool
        Goes from the last row to the first.
    keeps_carries : bool
        The last ys are the carries that each iteration was given.
    memory : str or int
        What its backward may keep: all carries ("save"), few ("recompute"), or so many bytes.
    """

    __slots__ = ("body", "_first", "_carries", "_rows")
    name = "loop"
    returning = ("body",)
    first_result = 1
    parts: ClassVar[tuple[str, ...]] = (
        *("body", "init", "xs", "consts", "count", "cond", "length", "reverse", "keeps_carries", "memory"),
        "outputs",
    )

    def __init__(self, inputs: Sequence[Any], attrs: Mapping[str, Any], outputs: Sequence[Any] = ()):
        self.inputs = inputs
        self.attrs = attrs
        self.outputs = outputs
        self.body: Graph = attrs["body"]
        self._first: int = 1 if attrs["counted"] else 0
        self._carries: int = attrs["carries"]
        self._rows: int = attrs["rows"]

    first_row: int = attribute("carries")
    cond: Graph | None = attribute("cond")
    length: Size | None = attribute("length")
    reverse: bool = attribute("reverse")
    keeps_carries: bool = attribute("kept", False)
    memory: int | str = attribute("memory", "save")

    # ---- making -------------------------------------------------------------------------------------------

    @staticmethod
    def binding(node: Node) -> Sequence[Value]:
        """The stacks of a loop in a graph whose length nothing says before it has run."""
        attrs = node.attrs
        return () if attrs["length"] is not None or attrs["rows"] else node.outputs[attrs["carries"] + 1 :]

    @staticmethod
    def fits(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> bool:
        """Do the attributes of a loop speak of operands that are there?"""
        numbers = attrs["carries"], attrs["rows"]
        whole = all(type(n) is int and n >= 0 for n in numbers)
        return whole and int(attrs["counted"]) + sum(numbers) <= len(inputs)

    @staticmethod
    def make(
        body: Graph,
        init: Sequence[Any] = (),
        xs: Sequence[Any] = (),
        consts: Sequence[Any] = (),
        *,
        count: Any = None,
        cond: Graph | None = None,
        length: Size | None = None,
        reverse: bool = False,
        keeps_carries: bool = False,
        memory: int | str = "save",
        outputs: Sequence[Any] = (),
    ) -> LoopForm:
        """The form of a loop with these parts."""
        attrs: dict[str, Any] = {"carries": len(init), "rows": len(xs), "length": length}
        attrs |= {"counted": count is not None, "body": body, "cond": cond, "reverse": reverse}
        if keeps_carries:
            attrs["kept"] = True
        if memory != "save":
            attrs["memory"] = memory
        return LoopForm((*(() if count is None else (count,)), *init, *xs, *consts), attrs, outputs)

    @staticmethod
    def written(
        body: Body,
        init: Sequence[Any] = (),
        xs: Sequence[Any] = (),
        consts: Sequence[Any] = (),
        *,
        cond: Cond | None = None,
        names: tuple[str, str] = ("body", "cond"),
        **others: Any,
    ) -> LoopForm:
        """A loop whose body and condition are written in Python and use nothing but what they are given.

        `others` are `count`, `length`, `reverse` and `memory`; `names` are those of its graphs.
        """
        specs = _specs(init, xs, consts)
        test = None if cond is None else traced_cond(cond, specs, names[1])
        return LoopForm.make(traced_body(body, specs, names[0]), init, xs, consts, cond=test, **others)

    def restricted(
        self, carry: Sequence[int], xs: Sequence[int], consts: Sequence[int], ys: Sequence[int]
    ) -> LoopForm:
        """The loop with only the parts of each kind at these positions, which does not claim to keep its carries."""
        c, b = self._carries, 1 + self._carries + self._rows
        inputs = [0, *(1 + k for k in carry), *(1 + c + k for k in xs), *(b + k for k in consts)]
        cond, outputs = self.cond, self.outputs
        if cond is not None:
            cond = restricted(cond, [*carry, *(c + k for k in consts)], [0])
        if outputs:
            outputs = (*(outputs[k] for k in carry), outputs[c], *(outputs[c + 1 + k] for k in ys))
        own = Parts(self.init, self.xs, self.consts)
        init, scanned, held = ([p[k] for k in at] for p, at in zip(own, (carry, xs, consts), strict=True))
        return self.replace(
            body=restricted(self.body, inputs, [*carry, *(c + k for k in ys)]),
            cond=cond,
            init=init,
            xs=scanned,
            consts=held,
            keeps_carries=False,
            outputs=outputs,
        )

    # ---- the call -----------------------------------------------------------------------------------------

    def apply(self) -> Results:
        """Call the op; its results without what a recorded loop returns besides."""
        return self.split_results(super().apply())

    # ---- its operands -------------------------------------------------------------------------------------

    @property
    def count(self) -> Any:
        return self.inputs[0] if self._first else None

    @property
    def init(self) -> Sequence[Any]:
        return self.inputs[self._first : self._first + self._carries]

    @property
    def xs(self) -> Sequence[Any]:
        start = self._first + self._carries
        return self.inputs[start : start + self._rows]

    @property
    def consts(self) -> Sequence[Any]:
        return self.inputs[self._first + self._carries + self._rows :]

    @property
    def specs(self) -> Parts:
        """The specs that its graphs are run on: of the carries, of a row of each of the xs, of the consts."""
        return _specs(*self.split(self.inputs))

    @property
    def times(self) -> Any:
        """What says how often it runs: the count, or the length; None where neither is there."""
        return self.inputs[0] if self._first else self.length

    @property
    def rows(self) -> Size | None:
        """The number of rows that it reads and writes, of a loop in a graph; None where nothing says it."""
        if self.length is not None:
            return self.length
        stacks = (*self.xs, *self.ys)
        return stacks[0].spec.shape[0] if stacks else None

    # ---- its results --------------------------------------------------------------------------------------

    @property
    def final(self) -> Sequence[Any]:
        """The carries after the last iteration."""
        return self.outputs[: self._carries]

    @property
    def trips(self) -> Any:
        """How often it ran."""
        return self.outputs[self._carries]

    @property
    def ys(self) -> Sequence[Any]:
        """The stacked rows."""
        return self.outputs[self._carries + 1 :]

    @property
    def residuals(self) -> Sequence[Any]:
        """The ys that are the carries each iteration was given, one per carry, where those are kept."""
        return self.outputs[len(self.outputs) - self._carries :] if self.keeps_carries else ()

    # ---- its graphs ---------------------------------------------------------------------------------------

    @property
    def index_in(self) -> Value:
        return self.body.inputs[0]

    @property
    def carry_in(self) -> list[Value]:
        return self.body.inputs[1 : 1 + self._carries]

    @property
    def xs_in(self) -> list[Value]:
        start = 1 + self._carries
        return self.body.inputs[start : start + self._rows]

    @property
    def consts_in(self) -> list[Value]:
        return self.body.inputs[1 + self._carries + self._rows :]

    @property
    def carry_out(self) -> list[Value]:
        return self.body.outputs[: self._carries]

    @property
    def ys_out(self) -> list[Value]:
        return self.body.outputs[self._carries :]

    @property
    def cond_carry_in(self) -> list[Value]:
        return [] if self.cond is None else self.cond.inputs[: self._carries]

    @property
    def cond_consts_in(self) -> list[Value]:
        return [] if self.cond is None else self.cond.inputs[self._carries :]

    # ---- what goes with it --------------------------------------------------------------------------------

    def split(self, items: Sequence[Any]) -> Parts:
        """Of one item per input of the op those per part; what goes with the count is left out."""
        a = self._first + self._carries
        b = a + self._rows
        return Parts(items[self._first : a], items[a:b], items[b:])

    def split_body(self, items: Sequence[Any]) -> Parts:
        """Of one item per input of the body those per part; what goes with the index is left out."""
        a = 1 + self._carries
        b = a + self._rows
        return Parts(items[1:a], items[a:b], items[b:])

    def split_results(self, items: Sequence[Any]) -> Results:
        """Of one item per output of the op those per result."""
        c = self._carries
        return Results(items[:c], items[c], items[c + 1 :])

    def split_rows(self, items: Sequence[Any]) -> Results:
        """Of one item per output of the body those per result."""
        c = self._carries
        return Results(items[:c], None, items[c:])

    def per_input(self, parts: Parts) -> list[Any]:
        """One item per input of the op, None for the count."""
        return [*(None,) * self._first, *parts.flat()]


def _specs(init: Sequence[Any], xs: Sequence[Any], consts: Sequence[Any]) -> Parts:
    carry, scanned, held = (
        [x if x.__class__ is TensorSpec else x.spec for x in part] for part in (init, xs, consts)
    )
    return Parts(carry, [spec.with_shape(spec.shape[1:]) for spec in scanned], held)


def traced_body(body: Body, specs: Parts, name: str = "body") -> Graph:
    """The graph of a body that is written in Python, for carries, rows and constants of these specs."""
    a = len(specs.carry)
    b = a + len(specs.xs)

    def run(i: Any, *args: Any) -> list[Any]:
        carry, ys = body(i, args[:a], args[a:b], args[b:])
        return [*carry, *ys]

    return _closed(run, specs.of_body(INDEX), name)


def traced_cond(cond: Cond, specs: Parts, name: str = "cond") -> Graph:
    """The graph of a condition that is written in Python, for carries and constants of these specs."""
    c = len(specs.carry)
    return _closed(lambda *args: [cond(args[:c], args[c:])], specs.of_cond(), name)


def _closed(f: Callable[..., Sequence[Any]], specs: Sequence[TensorSpec], name: str) -> Graph:
    traced = trace(f, specs, name)
    assert not traced.captured, "the graphs of a loop take everything as an argument"
    return traced.graph


class LoopGradientForm(Form):
    """The op `loop_gradient`: the cotangents of a loop that keeps few carries, from those of its results.

    Attributes
    ----------
    loop : LoopForm
        What is differentiated: it has a memory policy and no condition.
    seeded : Results of bool
        Which results of the loop have a cotangent.
    wanted : Parts of bool
        Whose cotangents are asked for.
    cotangents : sequence
        Those of the seeded results.
    """

    __slots__ = ()
    name = "loop_gradient"
    parts: ClassVar[tuple[str, ...]] = ("loop", "seeded", "wanted", "cotangents")

    @staticmethod
    def make(
        loop: LoopForm, seeded: Results, wanted: Parts, cotangents: Sequence[Any] = ()
    ) -> LoopGradientForm:
        names = ("carries", "rows", "length", "counted", "body", "reverse")
        attrs = {name: loop.attrs[name] for name in names}
        flags = {"seeded": tuple(seeded.of_body()), "wanted": tuple(wanted.flat())}
        return LoopGradientForm((*loop.inputs, *cotangents), {**attrs, "memory": loop.memory, **flags})

    @property
    def loop(self) -> LoopForm:
        return LoopForm(self.split(self.inputs)[0], self.attrs).replace()

    @property
    def seeded(self) -> Results:
        return LoopForm((), self.attrs).split_rows(self.attrs["seeded"])

    @property
    def wanted(self) -> Parts:
        return LoopForm((), self.attrs).split_body((False, *self.attrs["wanted"]))

    @property
    def cotangents(self) -> Sequence[Any]:
        return self.split(self.inputs)[1]

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for those with one body that have the same parts seeded and wanted."""
        return tuple(self.attrs[name] for name in ("carries", "rows", "seeded", "wanted"))

    def split(self, items: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Of one item per input of the op those of the loop's own and those of the cotangents."""
        own = len(self.inputs) - sum(self.attrs["seeded"])
        return items[:own], items[own:]
