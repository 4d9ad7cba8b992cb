"""Solvers whose results are differentiated by the equations they solve: fixed points and roots.

The function is traced once, and a loop over its graph finds the solution; tapes and transforms see one op in its
place. Knows how users state their equations; the derivatives are ``ops.implicit``'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.arrays import is_weak
from ...core.errors import DtypeError, ShapeError, SymbolicValue, TracejitError, at, user_location
from ...core.ir.graph import Graph
from ...core.op import ops
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor, pausing
from ...core.tracing.forms import ImplicitForm
from ...core.tracing.trace import replay, trace
from ...core.tracing.transaction import handled
from ...ops.control.implicit import Step, fixed, iterate, newton_step
from ..autograph import operators as autograph
from ..autograph.calls import explained
from ..autograph.places.reachable import attempt_with
from ..autograph.values.kinds import TraceError
from ..regions.region import Region, share_captures
from ..state.variable import tracer
from ..structure import Nest, Structure, alike, flatten, text, unflatten

Solver = Callable[[Callable[[Any], Any], Any], Any]


def fixed_point(
    f: Callable[..., Any],
    x0: Any,
    *args: Any,
    tol: float | None = None,
    maximum_iterations: int = 1000,
    solver: Solver | None = None,
) -> Any:
    """Solve ``x = f(x, *args)`` by repeating ``x = f(x, *args)``.

    Derivatives come from the equation, by the implicit function theorem: they neither depend on how many iterations
    were made nor keep anything of them. They reach `args` and whatever tensors and Variables `f` uses, in reverse and
    forward mode and to any order. The linear equation for them is solved by repetition as well, which converges where
    that of `f` does.

    Parameters
    ----------
    f : callable
        Takes `x` and `args`; returns what has the structure, shapes and dtypes of `x`. It is traced, once per call.
    x0 : nest of real float tensors
        Where to start. No derivative reaches it.
    *args : anything
        Passed on to `f`.
    tol : float, optional
        Stop when an iteration moves no element by more than ``tol * (1 + max |x|)``, over all leaves. By default the
        machine precision of the narrowest leaf to the power 3/4: 6e-6 in float32, 2e-12 in float64.
    maximum_iterations : int
    solver : callable, optional
        ``solver(f, x0) -> x`` finds the solution instead, `f` being a function of x alone; `tol` and
        `maximum_iterations` then hold for the derivatives only.

    Returns
    -------
    nest like `x0`

    Raises
    ------
    RuntimeError
        No convergence, in the solution or later in its derivative, or NaN or infinity in them: eagerly and compiled.

    Examples
    --------
    >>> import tracejit as tf
    >>> def sqrt(a):
    ...     return tf.fixed_point(lambda x, a: 0.5 * (x + a / x), 1.0, a)
    >>> float(sqrt(tf.constant(2.0))), float(tf.grad(sqrt)(4.0))
    (1.4142135381698608, 0.25)
    """
    problem = _Problem("fixed_point", f, x0, args)

    def repeat(x: Sequence[Tensor], held: Sequence[Tensor]) -> Sequence[Tensor]:
        return replay(problem.graph, (*x, *held))

    k = len(problem.start)

    def difference(*tensors: Tensor) -> list[Tensor]:
        return [ops.subtract(a, b) for a, b in zip(tensors[:k], replay(problem.graph, tensors), strict=True)]

    residual = trace(difference, [v.spec for v in problem.graph.inputs], problem.graph.name).graph
    return problem.solution(residual, repeat, solver, tol, maximum_iterations, direct=False)


def root(
    f: Callable[..., Any],
    x0: Any,
    *args: Any,
    tol: float | None = None,
    maximum_iterations: int = 50,
    solver: Solver | None = None,
) -> Any:
    """Solve ``f(x, *args) = 0`` by Newton's method, with as many equations as unknowns.

    Derivatives come from the equation, as for :func:`fixed_point`. The linear equations, both of Newton's method and
    for the derivatives, are solved with the matrix of all derivatives of `f`: meant for up to some hundred unknowns.

    Parameters
    ----------
    f : callable
        Takes `x` and `args`; returns what has the structure, shapes and dtypes of `x`. It is traced, once per call.
    x0 : nest of real float tensors
        Where to start. No derivative reaches it.
    *args : anything
        Passed on to `f`.
    tol : float, optional
        Stop when a step of Newton's method moves no element by more than ``tol * (1 + max |x|)``; the default is that
        of :func:`fixed_point`.
    maximum_iterations : int
    solver : callable, optional
        ``solver(f, x0) -> x`` finds the solution instead, `f` being a function of x alone.

    Returns
    -------
    nest like `x0`

    Raises
    ------
    RuntimeError
        No convergence, NaN, or a singular matrix of derivatives: eagerly and compiled.

    Examples
    --------
    >>> import tracejit as tf
    >>> def cube_root(a):
    ...     return tf.root(lambda x: x**3 - a, 1.0)
    >>> float(cube_root(tf.constant(8.0))), float(tf.grad(cube_root)(8.0))
    (2.0, 0.0833333358168602)
    """
    problem = _Problem("root", f, x0, args)
    step = newton_step(problem.graph)
    return problem.solution(problem.graph, step, solver, tol, maximum_iterations, direct=True)


class _Problem:
    """A function of unknowns, traced.

    Attributes
    ----------
    start : list of Tensor
        The unknowns' first values.
    graph : Graph
        From unknowns and captured tensors to as many tensors like the unknowns.
    captured : list of Tensor
    """

    def __init__(self, name: str, f: Callable[..., Any], x0: Any, args: tuple[Any, ...]):
        self.name = name
        leaves, self.structure = flatten(x0)
        self.start = [as_tensor(x) for x in leaves]
        self._require_real()
        with attempt_with(f) as attempt:
            region = self._traced(f, args)
            widths = [y.dtype for y in region.outputs]
            meets_others = len(widths) == len(leaves) and any(
                is_weak(x) and t.np_dtype != d for x, t, d in zip(leaves, self.start, widths, strict=True)
            )
            if meets_others:
                attempt.rollback()
        if meets_others:  # Python numbers take the dtype of what they meet
            self.start = [
                as_tensor(x, d) if is_weak(x) and d.kind == "f" else t
                for x, t, d in zip(leaves, self.start, widths, strict=True)
            ]
            region = self._traced(f, args)
        what = f"the function given to {name}"
        if region.assigned:
            raise TracejitError(f"{what} assigns {region.assigned[0].name!r}{at(user_location())}")
        self._require_like(what, region.structure, region.outputs)
        self.captured = share_captures(region)
        self.graph: Graph = region.graph

    def _require_real(self) -> None:
        if not self.start:
            raise ValueError(f"{self.name} needs at least one unknown{at(user_location())}")
        for x in self.start:
            if x.np_dtype.kind != "f":
                raise DtypeError(
                    f"{self.name} starts from {x.spec}; unknowns are real floats: cast integers, and state equations "
                    f"of complex numbers by their real and imaginary parts{at(user_location())}"
                )

    def _traced(self, f: Callable[..., Any], args: tuple[Any, ...]) -> Region:
        whole: Structure = Nest(tuple, (), (self.structure,))
        specs, name = [x.spec for x in self.start], getattr(f, "__name__", type(f).__name__)
        outermost = tracer() is None
        try:
            return Region(lambda x: autograph.callee(f)(x, *args), specs, name, whole)
        except SymbolicValue as error:
            explained(f, error)
            raise
        except TraceError as escaping:
            if outermost:
                handled(escaping)
                raise escaping.error from None
            raise

    def solution(
        self, residual: Graph, step: Step, solver: Solver | None, tol: float | None, limit: int, direct: bool
    ) -> Any:
        """Solve, and give the solution the derivatives of `residual`."""
        tolerance = self._tolerance() if tol is None else float(tol)
        with pausing():
            start, held = fixed(self.start), fixed(self.captured)
            if solver is None:
                solution = iterate(step, start, held, tolerance, int(limit), self.name)
            else:
                solution = self._by(solver, start, held)
        form = ImplicitForm.make(
            solution,
            self.captured,
            residual,
            direct=direct,
            tolerance=tolerance,
            limit=int(limit),
            what=self.name,
        )
        return unflatten(self.structure, form.apply())

    def _tolerance(self) -> float:
        return max(float(np.finfo(x.np_dtype).eps) for x in self.start) ** 0.75

    def _by(self, solver: Solver, start: list[Tensor], held: list[Tensor]) -> list[Tensor]:
        """What the user's own solver finds."""

        def f(x: Any) -> Any:
            return unflatten(self.structure, replay(self.graph, (*map(as_tensor, flatten(x)[0]), *held)))

        leaves, structure = flatten(autograph.callee(solver)(f, unflatten(self.structure, start)))
        solution = [as_tensor(y, x.np_dtype) for x, y in zip(start, leaves, strict=False)]
        self._require_like(f"the solver given to {self.name}", structure, [y.spec for y in solution])
        return solution

    def _require_like(self, what: str, structure: Structure, specs: Sequence[TensorSpec]) -> None:
        if not alike(structure, self.structure):
            raise ShapeError(
                f"{what} returns {text(structure)} for unknowns {text(self.structure)}: return the same structure"
                f"{at(user_location())}"
            )
        for i, (x, y) in enumerate(zip(self.start, specs, strict=True)):
            if x.spec != y:
                kind = DtypeError if x.np_dtype != y.dtype else ShapeError
                raise kind(
                    f"{what} returns {y} for unknown {i}, which is {x.spec}: return its shape and dtype, or start "
                    f"from {y}{at(user_location())}"
                )
