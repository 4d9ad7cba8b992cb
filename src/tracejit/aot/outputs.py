"""The outputs of an exported function: what each kind needs, how it is computed, and its name.

A kind is one record. All kinds of one export are computed in one graph, in which what they share is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..compiler.exporting import NotExportable
from ..core.dim import Assumptions, Size, evaluate
from ..core.errors import DtypeError, ShapeError, at, user_location
from ..core.ir.graph import Graph
from ..core.lazy import once
from ..core.op import ops
from ..core.spec import TensorSpec
from ..core.tensor import Tensor
from ..core.tracing.dispatch import state
from ..core.tracing.trace import Trace, replay, trace
from ..frontend.function.signature import TYPICAL
from ..frontend.structure import flatten
from ..frontend.transforms.grad import jvp, vjp
from ..frontend.transforms.jacobians import hessian, hvp, jacfwd, jacrev
from .specs import similar, sizes_in


class Named(NamedTuple):
    """An input or a result: its name, and its spec with the sizes' own names."""

    name: str
    spec: TensorSpec


class Roles(NamedTuple):
    """The arrays that outputs are about.

    Attributes
    ----------
    values : sequence of Named
        What the function returns.
    ys : sequence of Named
        Those of them that are floats.
    xs : sequence of Named
        The inputs to differentiate by.
    changed : sequence of Named
        The new values of Variables that the function assigns, which follow what it returns.
    """

    values: Sequence[Named]
    ys: Sequence[Named]
    xs: Sequence[Named]
    changed: Sequence[Named] = ()


class Point:
    """A function, as a graph, at a point: what it gives there, and what transforms need to know its surroundings.

    Parameters
    ----------
    graph : Graph
    inputs : sequence of Tensor
    chosen : sequence of int
        Which of them to differentiate by.
    returned : int
        How many outputs of the graph the function returns; new values of Variables follow.
    """

    def __init__(self, graph: Graph, inputs: Sequence[Tensor], chosen: Sequence[int], returned: int):
        self._graph = graph
        self._returned = returned
        self._inputs = inputs
        self._chosen = chosen
        self.xs: list[Tensor] = [inputs[k] for k in chosen]
        self.all: tuple[int, ...] = tuple(range(len(self.xs)))

    def _run(self, *xs: Tensor) -> tuple[Tensor, ...]:
        inputs = list(self._inputs)
        for k, x in zip(self._chosen, xs, strict=True):
            inputs[k] = x
        return replay(self._graph, inputs)

    def floats(self, *xs: Tensor) -> list[Tensor]:
        """The function of the chosen inputs, without results that are no floats."""
        return self._floats(self._run(*xs))

    def _floats(self, outputs: Sequence[Tensor]) -> list[Tensor]:
        return [y for y in outputs[: self._returned] if y.spec.differentiable]

    def scalar(self, *xs: Tensor) -> Tensor:
        """The function as one number."""
        return self.floats(*xs)[0]

    @once
    def _pulled(self) -> tuple[Any, ...]:
        """Results that are floats, the function from their cotangents to those of the inputs, and all results."""

        def both(*xs: Tensor) -> tuple[list[Tensor], Sequence[Tensor]]:
            ys = self._run(*xs)
            return self._floats(ys), ys

        return vjp(both, *self.xs, has_aux=True)

    @once
    def _outputs(self) -> list[Tensor]:
        """Of the run that cotangents are pulled through: what that keeps of loops is kept once."""
        return list(self._pulled[2] if self.xs else self._run())

    @property
    def values(self) -> list[Tensor]:
        """All results."""
        return self._outputs[: self._returned]

    @property
    def changed(self) -> list[Tensor]:
        """The new values of Variables."""
        return self._outputs[self._returned :] if self._returned < len(self._graph.outputs) else []

    @property
    def ys(self) -> list[Tensor]:
        """The results that are floats."""
        return self._pulled[0]

    def pull(self, cotangents: Sequence[Tensor]) -> list[Tensor]:
        """Cotangents of the inputs."""
        return list(self._pulled[1](list(cotangents)))


Further = Sequence[Tensor]


def _value(point: Point, _: Further) -> list[Tensor]:
    return point.values


def _grad(point: Point, _: Further) -> list[Tensor]:
    (y,) = point.ys
    return point.pull([ops.fill(shape=(), value=1.0, dtype=y.np_dtype)])


def _jvp(point: Point, tangents: Further) -> list[Tensor]:
    return jvp(point.floats, point.xs, tangents)[1]


def _vjp(point: Point, cotangents: Further) -> list[Tensor]:
    return point.pull(cotangents)


def _hvp(point: Point, directions: Further) -> list[Tensor]:
    return flatten(hvp(point.scalar, point.xs, directions))[0]


def _jacobian(point: Point, _: Further) -> list[Tensor]:
    """By the mode that runs fewer times: once for each element of the inputs, or of the results."""
    few_inputs = _elements(point.xs) <= _elements(point.ys)
    return flatten((jacfwd if few_inputs else jacrev)(point.floats, point.all)(*point.xs))[0]


def _elements(tensors: Sequence[Tensor]) -> int:
    sizes = [x.spec.size for x in tensors]
    typical = dict.fromkeys(sizes_in([sizes]), TYPICAL)
    return sum(evaluate(s, typical) for s in sizes)


def _hessian(point: Point, _: Further) -> list[Tensor]:
    return flatten(hessian(point.scalar, point.all)(*point.xs))[0]


def _letter(letter: str, of: Sequence[Named]) -> list[Named]:
    return [Named(f"{letter}{name}", spec) for name, spec in of]


@dataclass(frozen=True)
class Kind:
    """One kind of output.

    Attributes
    ----------
    name : str
    compute : callable
        ``(point, further inputs) -> tensors``.
    results : callable
        The names of what that gives.
    further : callable
        The further inputs.
    scalar, real : bool
        Is it for functions only that return one number; for real numbers only?
    """

    name: str
    compute: Callable[[Point, Further], list[Tensor]]
    results: Callable[[Roles], list[str]]
    further: Callable[[Roles], list[Named]] = lambda roles: []
    scalar: bool = False
    real: bool = False


KINDS = {
    kind.name: kind
    for kind in (
        Kind("value", _value, lambda r: [y.name for y in r.values]),
        Kind("grad", _grad, lambda r: [f"g{x.name}" for x in r.xs], scalar=True),
        Kind("jvp", _jvp, lambda r: [f"t{y.name}" for y in r.ys], lambda r: _letter("t", r.xs)),
        Kind("vjp", _vjp, lambda r: [f"c{x.name}" for x in r.xs], lambda r: _letter("c", r.ys)),
        Kind("hvp", _hvp, lambda r: [f"h{x.name}" for x in r.xs], lambda r: _letter("v", r.xs), scalar=True),
        Kind("jacobian", _jacobian, lambda r: _blocks(r), real=True),
        Kind(
            "hessian",
            _hessian,
            lambda r: [f"h{a.name}_{b.name}" for a in r.xs for b in r.xs],
            scalar=True,
            real=True,
        ),
    )
}


def _blocks(roles: Roles) -> list[str]:
    """``jx``; with several results ``jvalue_0_x``."""
    if len(roles.ys) == 1:
        return [f"j{x.name}" for x in roles.xs]
    return [f"j{y.name}_{x.name}" for y in roles.ys for x in roles.xs]


# ---- what is asked for ----------------------------------------------------------------------------------


def kinds_of(outputs: str | Sequence[str]) -> list[Kind]:
    """The kinds that are asked for, in the order in which they are parameters."""
    asked = [outputs] if isinstance(outputs, str) else list(outputs)
    for name in asked:
        if name not in KINDS:
            known = ", ".join(map(repr, KINDS))
            raise ValueError(
                f"outputs are of {known}, got {name!r}{similar(name, KINDS)}{at(user_location())}"
            )
        if asked.count(name) > 1:
            raise ValueError(f"outputs name {name!r} twice{at(user_location())}")
    if not asked:
        raise ValueError(f"outputs are one or more of {', '.join(map(repr, KINDS))}{at(user_location())}")
    return [kind for kind in KINDS.values() if kind.name in asked]


def check(kinds: Sequence[Kind], roles: Roles, function: str, known: Set[str]) -> None:
    """ShapeError, DtypeError or NotExportable where a function of inputs of `known` sizes has no such derivative."""
    for kind in kinds:
        if kind.name == "value":
            continue
        returned = ", ".join(f"{name}: {spec}" for name, spec in roles.values)
        if kind.scalar and not (len(roles.values) == len(roles.ys) == 1 and roles.ys[0].spec.shape == ()):
            raise ShapeError(
                f"{kind.name!r} is of a function that returns one float, and {function} returns ({returned}): return a "
                f"scalar, export 'jvp', 'vjp' or 'jacobian', or the value alone by outputs='value'{at(user_location())}"
            )
        if not roles.ys:
            raise DtypeError(
                f"{kind.name!r} is of a function that returns floats, and {function} returns ({returned})"
                f"{at(user_location())}"
            )
        late = [y.name for y in roles.ys if not sizes_in([y.spec.shape]) <= known]
        if late:
            raise NotExportable(
                f"the size of {', '.join(late)} is known only when {function} has run, so that no caller could have "
                f"memory for derivatives of it: return a part of a size that is known{at(user_location())}"
            )
        numbers = [x for x in (*roles.xs, *roles.ys) if x.spec.dtype.kind == "c"]
        if kind.real and numbers:
            name, spec = numbers[0]
            raise DtypeError(
                f"{kind.name!r} is of functions of real numbers, and {name} is {spec}: export 'jvp' or 'vjp', or take "
                f"the real and the imaginary part as two arguments{at(user_location())}"
            )


# ---- the program ----------------------------------------------------------------------------------------


class Derived(NamedTuple):
    """All that is asked for, as one graph.

    Attributes
    ----------
    graph : Graph
        Its inputs are those of the function, then the further ones; its guards are what computing this assumes.
    further : list of Named
        The further inputs.
    names : list of str
        Of the results.
    gradients : int or None
        Where the gradients of result 0 begin among the results; None where not both are there.
    """

    graph: Graph
    further: list[Named]
    names: list[str]
    gradients: int | None


def derived(
    graph: Graph,
    kinds: Sequence[Kind],
    chosen: Sequence[int],
    roles: Roles,
    constants: Sequence[np.ndarray],
    settled: Sequence[tuple[str, Size, Size]],
) -> Derived:
    """Compute kinds of outputs of a function.

    Parameters
    ----------
    graph : Graph
        The function.
    kinds : sequence of Kind
    chosen : sequence of int
        The inputs to differentiate by.
    roles : Roles
    constants : sequence of ndarray
        The values of its last inputs, where they are to be a part of the program.
    settled : sequence of (str, Size, Size)
        What holds of the sizes.
    """
    further = [kind.further(roles) for kind in kinds]
    kept = [v.spec for v in graph.inputs[: len(graph.inputs) - len(constants)]]
    specs = [*kept, *(x.spec for of_kind in further for x in of_kind)]
    sizes = dict.fromkeys(sizes_in(s.shape for s in specs), TYPICAL)

    def body(*tensors: Tensor) -> list[Tensor]:
        tracer = state.interpreter
        assert isinstance(tracer, Trace)
        inputs = [*tensors[: len(kept)], *map(tracer.constant, constants)]
        point = Point(graph, inputs, chosen, len(roles.values))
        rest = iter(tensors[len(kept) :])
        results = [
            y
            for kind, of_kind in zip(kinds, further, strict=True)
            for y in kind.compute(point, [next(rest) for _ in of_kind])
        ]
        return results + point.changed

    made = trace(body, specs, graph.name, Assumptions(hints=sizes, settled=frozenset(settled))).graph
    names = [name for kind in kinds for name in kind.results(roles)] + [v.name for v in roles.changed]
    gradients = 1 if [kind.name for kind in kinds[:2]] == ["value", "grad"] else None
    return Derived(made, [x for of_kind in further for x in of_kind], names, gradients)
