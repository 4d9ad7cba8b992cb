"""custom_jvp: a function that brings the rule of its tangents, from which every mode of differentiation follows.

Function and rule are traced when something records or traces, and become one op; else the function just runs. Knows
how users state the rule; what it means is ``ops.tangents``'.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.dim import same
from ...core.errors import GradientError, TracejitError, Untraceable, at, user_location
from ...core.ir.graph import restricted
from ...core.op import ops
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor, state
from ...core.tracing.forms import OwnValueForm, TangentsForm
from ..function.function import Function
from ..regions.region import Region, assigned_in, share_captures
from ..state.variable import Variable, tracer
from ..structure import flatten, kind_of, leaves_like, map_structure, text, unflatten
from .opening import around, opening

Rule = Callable[..., Any]


class custom_jvp:
    """Decorate a function whose tangents are computed by a rule, given by :meth:`defjvp`.

    One rule serves forward mode and, transposed, reverse mode, to any order, eagerly, compiled and under `vmap`. The
    rule must be linear in the tangents. It covers the arguments only: pass the tensors and Variables that the function
    uses as arguments if they are to be differentiated.

    Parameters
    ----------
    f : callable
        Takes and returns nests of tensors. Traced wherever it is recorded.
    nondiff_argnums : sequence of int
        Arguments that are no tensors, functions for example. The rule takes them first.

    Raises
    ------
    GradientError
        The rule is not linear, returns tangents of another structure, shape or dtype, or a tensor that is no argument
        is differentiated.

    Examples
    --------
    >>> import tracejit as tf
    >>> @tf.custom_jvp
    ... def log1pexp(x):
    ...     return tf.log(1.0 + tf.exp(x))
    >>> @log1pexp.defjvp
    ... def _tangent(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t * (1.0 - 1.0 / (1.0 + tf.exp(x)))
    >>> float(tf.grad(log1pexp)(100.0))
    1.0
    """

    def __init__(self, f: Callable[..., Any], nondiff_argnums: Sequence[int] = ()):
        functools.update_wrapper(self, f)
        self._f = Function(f)
        self._apart = frozenset(nondiff_argnums)
        self._rule: Rule | None = None

    def defjvp(self, rule: Rule) -> Rule:
        """Take the rule ``rule(primals, tangents) -> (value, tangent of the value)``.

        Both arguments are tuples, one entry per argument of the function; the tangent is a nest like the value, with
        None for zero. Integers and the like have the tangent None.
        """
        self._rule = rule
        return rule

    def defjvps(self, *rules: Rule | None) -> None:
        """Take `rules`, one per argument, ``rule(tangent, value, *primals)``: the tangents are added. None is zero."""

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            value = self(*primals)
            pairs = [(r, t) for r, t in zip(rules, tangents, strict=True) if r is not None and t is not None]
            parts = [r(t, value, *primals) for r, t in pairs]
            return value, functools.reduce(ops.add, parts) if parts else None

        self._rule = rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        if self._rule is None:
            raise TracejitError(
                f"{self._f.__name__} has no rule for its tangents: call defjvp{at(user_location())}"
            )
        if kwargs:
            bound = inspect.signature(self._f.python_function).bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        if tracer() is None and not state.recorders:
            return self._plainly(args)
        call = _Call(self._f, Function(self._rule), self._apart, args)
        itself = around(self._f, call.key)
        return call.run() if itself is None else itself.own_value(call.tensors)

    def _plainly(self, args: tuple[Any, ...]) -> Any:
        """The value where nothing records, from the arguments and of the types that there are elsewhere."""
        apart = {n % len(args) for n in self._apart}
        given = [x if n in apart else map_structure(_as_input, x) for n, x in enumerate(args)]
        return map_structure(as_tensor, self._f.python_function(*given))


class _Call:
    """One call: its tensors, traced."""

    def __init__(self, f: Function, rule: Function, apart: frozenset[int], args: tuple[Any, ...]):
        self.f = f
        self.rule = rule
        self.args = args
        self.identity = f
        self.name = f.__name__
        self.level = 0
        self.used = False
        apart = frozenset(n % len(args) for n in apart)
        self.apart = [x for n, x in enumerate(args) if n in apart]
        self.own = [n for n in range(len(args)) if n not in apart]
        leaves, self.structure = flatten(tuple(args[n] for n in self.own))
        self.leaves = [_as_input(x) for x in leaves]
        self.tensors = [x for x in self.leaves if x.__class__ is Tensor]
        self.able = [x.spec.differentiable for x in self.tensors]
        #: What calls have in common that one trace serves.
        self.key = (
            self.structure,
            [x.spec if x.__class__ is Tensor else x for x in self.leaves],
            [x if isinstance(x, (int, str, bool)) else id(x) for x in self.apart],
        )

    def run(self) -> Any:
        """Add one op to what is recorded or traced."""
        specs = [x.spec for x in self.tensors]
        body = Region(self._value, specs, self.f.__name__)
        self.results, self.returned = body.outputs, body.structure
        self.plain = restricted(body.graph, range(len(body.graph.inputs)), range(len(body.graph.outputs)))
        self.captured = [source for source, _ in body.captures]
        pushed = [s for s, a in zip(specs, self.able, strict=True) if a]
        with opening(self):
            rule = Region(self._tangents, [*specs, *pushed], self.rule.__name__)
        assigned = assigned_in(body, rule)
        if assigned:
            raise Untraceable(
                f"{self.f.__name__}, which has a rule for its tangents, assigns {assigned[0].name!r}: return the new "
                f"value instead{at(user_location())}"
            )
        held = share_captures(body, rule)
        level = self.level if self.used else None
        form = TangentsForm.make(self.tensors, held, body.graph, rule.graph, level)
        return unflatten(self.returned, list(form.apply()))

    def own_value(self, tensors: Sequence[Tensor]) -> Any:
        """The function in its own rule: its value, which becomes a call like this one when the rule is used."""
        held = [x.as_kept() if isinstance(x, Variable) else x for x in self.captured]
        return unflatten(
            self.returned, list(OwnValueForm.make(tensors, held, self.plain, self.level).apply())
        )

    def _nest(self, tensors: Sequence[Tensor]) -> tuple[Any, ...]:
        take = iter(tensors)
        return unflatten(self.structure, [next(take) if x.__class__ is Tensor else x for x in self.leaves])

    def _value(self, *tensors: Tensor) -> Any:
        given = dict(enumerate(self.args)) | dict(zip(self.own, self._nest(tensors), strict=True))
        return self.f(*(given[n] for n in range(len(self.args))))

    def _tangents(self, *args: Tensor) -> list[Tensor]:
        xs, take = args[: len(self.tensors)], iter(args[len(self.tensors) :])
        each = iter([next(take) if a else None for a in self.able])
        pushed = [next(each) if x.__class__ is Tensor else None for x in self.leaves]
        returned = self.rule(*self.apart, self._nest(xs), unflatten(self.structure, pushed))
        if returned.__class__ not in (tuple, list) or len(returned) != 2:
            raise self._wrong("returns (value, tangent of the value)")
        try:
            tangents = leaves_like(self.returned, returned[1])
        except ValueError:
            raise self._wrong(
                f"returned a tangent {text(flatten(returned[1])[1])} of a value {text(self.returned)}"
            ) from None
        pairs = zip(tangents, self.results, strict=True)
        return [self._checked(t, spec) for t, spec in pairs if spec.differentiable]

    def _checked(self, t: Any, spec: TensorSpec) -> Tensor:
        if t is None:
            return ops.fill(shape=spec.shape, value=0.0, dtype=spec.dtype)
        if kind_of(t) is not None:
            raise self._wrong(f"returned a tangent {text(flatten(t)[1])} of a value {spec}")
        t = as_tensor(t, spec.dtype)
        alike = len(t.shape) == len(spec.shape) and all(map(same, t.shape, spec.shape))
        if t.dtype != spec.dtype or not alike:
            raise self._wrong(f"returned a tangent {t.spec} of a value {spec}")
        return t

    def _wrong(self, what: str) -> GradientError:
        return GradientError(f"the rule for the tangents of {self.f.__name__} {what}{at(user_location())}")


def _as_input(x: Any) -> Any:
    """Floats and arrays as tensors; Python integers, strings and the like stay."""
    return as_tensor(x) if isinstance(x, (Tensor, Variable, np.ndarray, np.generic, float, complex)) else x
