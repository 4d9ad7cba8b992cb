"""Forms: calls of ops that hold graphs, with their parts by name.

Nothing else knows where the parts stand among the inputs and outputs of these ops, nor what their attributes are
called. Loops have a module of their own, ``loop_form``. Knows nothing of what graphs compute, nor of derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

from ..errors import Location
from ..ir.graph import Graph, Node, Value, restricted
from ..op import Op, ops
from .dispatch import apply


class Form:
    """A call with its parts by name: a view, which works nothing out before it is asked.

    Operands are whatever the call has: tensors, graph values, arrays, specs.

    Attributes
    ----------
    inputs, attrs, outputs
        Those of the call; outputs are empty before there is one.
    """

    __slots__ = ("inputs", "attrs", "outputs")
    #: The name of the op.
    name: ClassVar[str]
    #: The parts that `make` takes, by keyword.
    parts: ClassVar[tuple[str, ...]]
    #: A form from its parts.
    make: ClassVar[Callable[..., Any]]
    #: The graphs that return what the op returns, by attribute: one, or one for each side.
    returning: ClassVar[tuple[str, ...]] = ()
    #: How many results of the op come before what these graphs return, and how many of their outputs are no rows of it.
    first_result = 0
    first_row = 0

    def __init__(self, inputs: Sequence[Any], attrs: Mapping[str, Any], outputs: Sequence[Any] = ()):
        self.inputs: Sequence[Any] = inputs
        self.attrs: Mapping[str, Any] = attrs
        self.outputs: Sequence[Any] = outputs

    @classmethod
    def of(cls, call: Any) -> Self | None:
        """The form of a node, a record or a step of a history; None where it is another op."""
        if call.op is not getattr(ops, cls.name):
            return None
        return cls(call.inputs, call.attrs, getattr(call, "outputs", ()))

    @property
    def op(self) -> Op:
        return getattr(ops, self.name)

    def replace(self, **changes: Any) -> Self:
        """The form with other parts, by the names that `make` takes."""
        return self.make(**{p: changes[p] if p in changes else getattr(self, p) for p in self.parts})

    def kept_graphs(self) -> tuple[tuple[str, Graph], ...]:
        """The graphs that may return what their calls give, too, by attribute; none where the backward needs others."""
        return tuple([(name, self.attrs[name]) for name in self.returning])

    def apply(self) -> Any:
        """Call the op; the tuple of its results, without what a recorded form returns besides."""
        results = apply(self.op, tuple(self.inputs), self.attrs)
        if not self.returning:
            return results
        own = self.attrs[self.returning[0]].outputs
        return results[: self.first_result + len(own)]

    def node(self, location: Location | None) -> Node:
        """The form as a node of a graph."""
        return Node(self.op, tuple(self.inputs), self.attrs, tuple(self.outputs), location)


def attribute(name: str, default: Any = None) -> Any:
    """A part of a form that is an attribute of the op."""
    return property(lambda form: form.attrs.get(name, default))


class BranchForm(Form):
    """The op `cond`: one of two graphs runs on the `consts`, by the scalar bool `pred`."""

    __slots__ = ()
    name = "cond"
    returning = ("then", "orelse")
    parts: ClassVar[tuple[str, ...]] = ("pred", "consts", "then", "orelse", "outputs")
    then: Graph = attribute("then")
    orelse: Graph = attribute("orelse")

    @staticmethod
    def make(
        pred: Any, consts: Sequence[Any], then: Graph, orelse: Graph, outputs: Sequence[Any] = ()
    ) -> BranchForm:
        return BranchForm((pred, *consts), {"then": then, "orelse": orelse}, outputs)

    @property
    def pred(self) -> Any:
        return self.inputs[0]

    @property
    def consts(self) -> Sequence[Any]:
        return self.inputs[1:]

    @property
    def graphs(self) -> tuple[Graph, Graph]:
        return self.then, self.orelse

    def split(self, items: Sequence[Any]) -> Sequence[Any]:
        """Of one item per input of the op those of the consts."""
        return items[1:]

    def per_input(self, items: Sequence[Any]) -> list[Any]:
        """One item per input of the op, None for the condition."""
        return [None, *items]

    def restricted(self, consts: Sequence[int], outputs: Sequence[int]) -> BranchForm:
        """The branch with only the consts and outputs at these positions."""
        then, orelse = (restricted(g, consts, outputs) for g in self.graphs)
        kept = [self.outputs[k] for k in outputs]
        return BranchForm.make(self.pred, [self.consts[k] for k in consts], then, orelse, kept)


class CallForm(Form):
    """The op `call`: a graph run on the inputs, with the backward of a graph that was split.

    Of a split graph the first `results` outputs are those of the whole, and the others are `residuals`, which the
    backward reads; it returns the cotangents of the `connected` inputs.
    """

    __slots__ = ()
    name = "call"
    returning = ("graph",)
    parts: ClassVar[tuple[str, ...]] = ("inputs", "graph", "backward", "results", "connected")
    graph: Graph = attribute("graph")
    backward: Graph | None = attribute("backward")
    results: int = attribute("outputs", 0)
    connected: tuple[bool, ...] = attribute("connected", ())

    @staticmethod
    def make(
        inputs: Sequence[Any],
        graph: Graph,
        backward: Graph | None = None,
        results: int = 0,
        connected: tuple[bool, ...] = (),
    ) -> CallForm:
        split = {"backward": backward, "outputs": results, "connected": connected}
        return CallForm(inputs, {"graph": graph, **({} if backward is None else split)})

    def kept_graphs(self) -> tuple[tuple[str, Graph], ...]:
        return super().kept_graphs() if self.backward is None else ()

    @property
    def residuals(self) -> Sequence[Any]:
        return self.outputs[self.results :]


class RecomputedForm(Form):
    """The op `recomputed`: a graph run on the inputs, and run again by its backward."""

    __slots__ = ()
    name = "recomputed"
    returning = ("graph",)
    parts: ClassVar[tuple[str, ...]] = ("inputs", "graph")
    graph: Graph = attribute("graph")

    @staticmethod
    def make(inputs: Sequence[Any], graph: Graph) -> RecomputedForm:
        return RecomputedForm(inputs, {"graph": graph})


class CustomForm(Form):
    """The op `custom`: ``body(inputs) -> results, residuals`` with ``rule(residuals, cotangents) -> cotangents``.

    `connected` says per input whether the rule returns its cotangent. A `level` is there where the rule calls the
    function itself, of whose inputs the first `arguments` are not captured.
    """

    __slots__ = ()
    name = "custom"
    returning = ("body",)
    parts: ClassVar[tuple[str, ...]] = (
        "inputs",
        "body",
        "rule",
        "results",
        "connected",
        "level",
        "arguments",
    )
    body: Graph = attribute("body")
    rule: Graph = attribute("rule")
    results: int = attribute("outputs")
    connected: tuple[bool, ...] = attribute("connected")
    level: int | None = attribute("level")
    arguments: int = attribute("arguments", 0)

    @staticmethod
    def make(
        inputs: Sequence[Any],
        body: Graph,
        rule: Graph,
        results: int,
        connected: tuple[bool, ...],
        level: int | None = None,
        arguments: int = 0,
    ) -> CustomForm:
        attrs = {"body": body, "rule": rule, "outputs": results, "connected": connected}
        itself = {} if level is None else {"level": level, "arguments": arguments}
        return CustomForm(inputs, attrs | itself)

    def split(self, items: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Of one item per output of the body those of the results and those of the residuals."""
        return items[: self.results], items[self.results :]

    def kept_graphs(self) -> tuple[tuple[str, Graph], ...]:
        return super().kept_graphs() if self.level is None else ()

    @property
    def captured_by_rule(self) -> Sequence[Value]:
        """The inputs of a rule that calls the function which are what the function captures: the last residuals."""
        if self.level is None:
            return ()
        residuals = len(self.body.outputs) - self.results
        return self.rule.inputs[residuals - (len(self.body.inputs) - self.arguments) : residuals]


class TangentsForm(Form):
    """The op `custom_tangents`: ``body(arguments, captured)``, whose rule pushes tangents forward.

    The rule is ``(arguments, tangents of those that are differentiable, captured) -> tangents``. A `level` is there
    where it calls the function itself.
    """

    __slots__ = ()
    name = "custom_tangents"
    parts: ClassVar[tuple[str, ...]] = ("arguments", "captured", "body", "rule", "level")
    body: Graph = attribute("body")
    rule: Graph = attribute("rule")
    level: int | None = attribute("level")

    @staticmethod
    def make(
        arguments: Sequence[Any], captured: Sequence[Any], body: Graph, rule: Graph, level: int | None = None
    ) -> TangentsForm:
        attrs = {"body": body, "rule": rule, "arguments": len(arguments)}
        return TangentsForm((*arguments, *captured), attrs if level is None else {**attrs, "level": level})

    @property
    def arguments(self) -> Sequence[Any]:
        return self.split(self.inputs)[0]

    @property
    def captured(self) -> Sequence[Any]:
        return self.split(self.inputs)[1]

    def split(self, items: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Of one item per input those of the arguments and those of what is captured."""
        n = self.attrs["arguments"]
        return items[:n], items[n:]

    def split_rule(self, items: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Of one item per input of the rule those of the arguments, of their tangents, and of what is captured."""
        n, end = len(self.arguments), len(items) - len(self.captured)
        return items[:n], items[n:end], items[end:]


class OwnValueForm(Form):
    """The op `own_value`: ``body(arguments, captured)``, a function with a rule in its own rule."""

    __slots__ = ()
    name = "own_value"
    parts: ClassVar[tuple[str, ...]] = ("arguments", "captured", "body", "level")
    body: Graph = attribute("body")
    level: int = attribute("level")

    @staticmethod
    def make(arguments: Sequence[Any], captured: Sequence[Any], body: Graph, level: int) -> OwnValueForm:
        attrs = {"body": body, "level": level, "arguments": len(arguments)}
        return OwnValueForm((*arguments, *captured), attrs)

    @property
    def arguments(self) -> Sequence[Any]:
        return self.inputs[: self.attrs["arguments"]]

    @property
    def captured(self) -> Sequence[Any]:
        return self.inputs[self.attrs["arguments"] :]


class ImplicitForm(Form):
    """The op `implicit`: `unknowns` that solve ``residual(unknowns, others) = 0``, and how to solve for derivatives."""

    __slots__ = ()
    name = "implicit"
    parts: ClassVar[tuple[str, ...]] = (
        "unknowns",
        "others",
        "residual",
        "direct",
        "tolerance",
        "limit",
        "what",
    )
    residual: Graph = attribute("residual")
    direct: bool = attribute("direct")
    tolerance: float = attribute("tolerance")
    limit: int = attribute("limit")
    what: str = attribute("what")

    @staticmethod
    def make(unknowns: Sequence[Any], others: Sequence[Any], residual: Graph, **how: Any) -> ImplicitForm:
        """`how` are `direct`, `tolerance`, `limit` and `what`."""
        attrs = {"residual": residual, "unknowns": len(unknowns), **how}
        return ImplicitForm((*unknowns, *others), attrs)

    @property
    def unknowns(self) -> Sequence[Any]:
        return self.split(self.inputs)[0]

    @property
    def others(self) -> Sequence[Any]:
        return self.split(self.inputs)[1]

    def split(self, items: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Of one item per input those of the unknowns and those of the others."""
        k = self.attrs["unknowns"]
        return items[:k], items[k:]


def operands_of(call: Any) -> Sequence[Any] | None:
    """What the graphs of a branch or call are run on, in order; None of other ops, whose graphs take other things."""
    branch = BranchForm.of(call)
    if branch is not None:
        return branch.consts
    return call.inputs if call.op in (ops.call, ops.recomputed) else None


def level_of(call: Any) -> int | None:
    """The level of a function with a rule that calls it, or of such a call in a rule; else None."""
    return call.attrs.get("level")
