"""custom_gradient: a function that brings its own gradient rule.

Eagerly the function runs as it is and tapes get one record in place of its ops. In a trace it becomes one node
with two closed graphs, the body and the rule, made at once; what the rule uses of the body are further outputs.
"""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.autodiff.backprop import NoGradient
from ...core.autodiff.scattered import dense
from ...core.dim import same
from ...core.errors import GradientError, Location, TracejitError, Untraceable, at, user_location
from ...core.ir.graph import Graph, restricted
from ...core.op import Joint, Op, ops
from ...core.protocols import P
from ...core.spec import TensorSpec
from ...core.tensor import Tensor, elided
from ...core.tracing.dispatch import Record, as_tensor, pausing, recording, rule_of, state
from ...core.tracing.forms import CustomForm, OwnValueForm
from ...core.tracing.trace import Trace, trace
from ..recording.guard import out_of_reach, within_reach
from ..state.variable import Variable, tracer
from ..structure import flatten, unflatten
from .opening import around, opening

Rule = Callable[..., Any]


class RuleError(TracejitError, TypeError):
    """A function with a custom gradient that does not return, or a rule that does not take, what it should.

    Examples
    --------
    >>> import tracejit as tf
    >>> doubled = tf.custom_gradient(lambda x: x * 2)
    >>> try:
    ...     doubled(1.0)
    ... except tf.errors.RuleError as error:
    ...     print(type(error).__name__)
    RuleError
    """

    __module__ = "tracejit.errors"


def custom_gradient(f: Callable[P, Any]) -> Callable[P, Any]:
    """Decorate a function `f` that returns ``(value, grad_fn)``.

    ``grad_fn`` takes one cotangent per output and returns one gradient per argument, or a tuple of them; None is no
    gradient. Where the function reads Variables that are not among its arguments, ``grad_fn`` also takes
    ``variables=``, a list, and returns a pair: the gradients of the arguments, and a list of theirs.

    Raises
    ------
    ValueError
        When the rule returns the wrong number of gradients.
    GradientError
        When a gradient has not the shape of its argument; names the rule's line.
    TypeError
        When the function does not return a pair.

    Examples
    --------
    >>> import tracejit as tf
    >>> @tf.custom_gradient
    ... def log1pexp(x):
    ...     e = tf.exp(x)
    ...     return tf.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))
    >>> x = tf.constant(100.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = log1pexp(x)
    >>> print(tape.gradient(y, x))
    tf.Tensor(1.0, shape=(), dtype=float32)
    """

    identity = _Identity(f)

    @functools.wraps(f)
    def with_custom_gradient(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten(args)
        inputs = [_as_input(x) for x in leaves]

        def call(tensors: Sequence[Tensor]) -> Any:
            take = iter(tensors)
            given = [x if x.__class__ is not Tensor else next(take) for x in inputs]
            result = f(*unflatten(structure, given), **kwargs)
            if result.__class__ is not tuple or len(result) != 2 or not callable(result[1]):
                raise RuleError(
                    f"a function with a custom gradient returns (value, grad_fn){at(user_location())}"
                )
            return result

        if tracer() is None:
            return _eager(f, call, inputs)
        traced = _Call(f, call, inputs, identity, (structure, kwargs))
        itself = around(identity, traced.key)
        return traced.run() if itself is None else itself.own_value(traced.tensors)

    return with_custom_gradient


class _Identity:
    """What a function stays through conversion, which makes another of it, and when it is defined again.

    Equal where the code is the same and so is all that it closes over.
    """

    def __init__(self, f: Callable[..., Any]):
        self.code = getattr(f, "__code__", f)
        self.cells = getattr(f, "__closure__", None) or ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Identity) or self.code is not other.code:
            return False
        return all(
            a is b or _contents(a) is _contents(b) for a, b in zip(self.cells, other.cells, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing yet
        return cell


def _as_input(x: Any) -> Any:
    """Floats and arrays as tensors; Python integers, strings and the like stay."""
    if isinstance(x, (Tensor, Variable, np.ndarray, np.generic, float, complex)):
        return as_tensor(x)
    return x


class _Watcher:
    """A recorder that notes which Variables are read."""

    def __init__(self) -> None:
        self.variables: list[Variable] = []

    def record(self, record: Record) -> None:
        """Nothing but reads matters."""

    def accessed(self, variable: Variable, key: Tensor) -> None:
        """A Variable is being read."""
        if variable.trainable and not any(variable is v for v in self.variables):
            self.variables.append(variable)


# ---- eager ----------------------------------------------------------------------------------------------


def _rule_of(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
    seeds = [_zeros(y.spec) if g is None else dense(g) for g, y in zip(gs, record.outputs, strict=True)]
    with rule_of(record.attrs["name"], record.location):
        return record.attrs["gradient"](seeds)


def _no_forward(record: Record, tangents: list[Any]) -> list[Any]:
    raise NoGradient(
        f"{record.attrs['name']}: a function with a custom gradient has a vjp only; forward mode cannot go through it: "
        f"give its tangents by custom_jvp{at(record.location)}"
    )


#: Stands in records for a function with a custom gradient; never run, never in a graph.
CUSTOM = Op(
    "custom_gradient",
    infer=lambda *specs: None,
    kernel=lambda *arrays: None,
    partial=None,
    vjp=Joint(_rule_of),
    jvp=_no_forward,
)


def _eager(f: Callable[..., Any], call: Callable[..., Any], inputs: list[Any]) -> Any:
    tensors = [x for x in inputs if x.__class__ is Tensor]
    if not state.recorders:
        leaves, structure = flatten(call(tensors)[0])
        return unflatten(structure, [ops.identity(y) for y in leaves])
    watcher = _Watcher()
    with out_of_reach() as left, recording(watcher):
        value, grad_fn = call(tensors)
        leaves, structure = flatten(value)
        results = [as_tensor(y) for y in leaves]
    with pausing():
        outputs = tuple([ops.identity(y) for y in results])
    keys = [v.key() for v in watcher.variables]

    def rule(seeds: list[Tensor]) -> list[Tensor | None]:
        with within_reach(left):
            return _gradients(f, grad_fn, inputs, watcher.variables, seeds)

    shells = tuple([elided(t) for t in (*tensors, *keys)])
    record = Record(
        CUSTOM,
        shells,
        {"gradient": rule, "name": f.__name__},
        tuple(map(elided, outputs)),
        user_location(),
    )
    for recorder in state.recorders:
        recorder.record(record)
    return unflatten(structure, outputs)


def _gradients(
    f: Callable[..., Any], grad_fn: Rule, inputs: list[Any], variables: list[Variable], seeds: list[Tensor]
) -> list[Tensor | None]:
    """Call the user's rule and check what it returns; gradients of the tensor inputs, then of the Variables."""
    if variables:
        if "variables" not in inspect.signature(grad_fn).parameters:
            names = ", ".join(v.name for v in variables)
            raise RuleError(
                f"the gradient function of {f.__name__} must accept the keyword argument 'variables', "
                f"since the function uses the Variables {names}{at(_end_of(grad_fn))}"
            )
        returned, of_variables = grad_fn(*seeds, variables=list(variables))
        more = list(of_variables)
    else:
        returned, more = grad_fn(*seeds), []
    gradients = _as_list(returned)
    if len(gradients) != len(inputs):
        raise ValueError(
            f"custom_gradient function expected to return {len(inputs)} gradients, but returned "
            f"{len(gradients)} instead.{at(_end_of(grad_fn))}"
        )
    if len(more) != len(variables):
        raise ValueError(
            f"custom_gradient function expected to return {len(variables)} gradients of Variables, but "
            f"returned {len(more)} instead.{at(_end_of(grad_fn))}"
        )
    pairs = [(x.spec, g) for x, g in zip(inputs, gradients, strict=True) if x.__class__ is Tensor]
    pairs += [(v.spec, g) for v, g in zip(variables, more, strict=True)]
    return [_checked(g, spec, f, grad_fn) for spec, g in pairs]


def _as_list(returned: Any) -> list[Any]:
    return flatten_with_none(returned) if returned.__class__ in (list, tuple, dict) else [returned]


def flatten_with_none(nest: Any) -> list[Any]:
    """The leaves of a nest in which None counts as a leaf."""
    if nest.__class__ in (list, tuple):
        return [leaf for child in nest for leaf in flatten_with_none(child)]
    return [nest]


def _checked(g: Any, spec: TensorSpec, f: Callable[..., Any], grad_fn: Rule) -> Tensor | None:
    if g is None or not spec.differentiable:
        return None
    g = as_tensor(g, spec.dtype)
    if len(g.shape) != len(spec.shape) or not all(
        same(a, b) for a, b in zip(g.shape, spec.shape, strict=True)
    ):
        raise GradientError(
            f"the gradient rule of {f.__name__} returned {g.spec} for an argument of {spec}; a "
            f"gradient has the shape of its argument{at(_end_of(grad_fn))}"
        )
    return g if g.dtype == spec.dtype else ops.cast(g, dtype=spec.dtype)


def _end_of(grad_fn: Rule) -> Location | None:
    """The last ``return`` of the rule: where what it returned came from."""
    code = getattr(grad_fn, "__code__", None)
    if code is None:
        return user_location()
    ends = [i.offset for i in dis.get_instructions(code) if i.opname.startswith("RETURN")]
    return Location((code, ends[-1] if ends else 0))


def _zeros(spec: TensorSpec) -> Tensor:
    return ops.fill(shape=spec.shape, value=0.0, dtype=spec.dtype)


# ---- traced ---------------------------------------------------------------------------------------------


class _Call:
    """One call in a trace: the body, traced, and inside of it the rule, which may use what the body computed."""

    def __init__(
        self,
        f: Callable[..., Any],
        call: Callable[..., Any],
        inputs: list[Any],
        identity: object,
        others: tuple[Any, dict[str, Any]],
    ):
        self.f = f
        self.call = call
        self.inputs = inputs
        self.identity = identity
        self.name = f.__name__
        self.tensors = [x for x in inputs if x.__class__ is Tensor]
        self.level = 0
        self.used = False
        structure, kwargs = others
        #: What calls have in common that one trace serves.
        self.key = (
            structure,
            [x.spec if x.__class__ is Tensor else x for x in inputs],
            [(k, x if isinstance(x, (int, str, float)) else id(x)) for k, x in kwargs.items()],
        )

    def run(self) -> Any:
        """Add one node to the trace."""
        count = len(self.tensors)
        traced = trace(self._body, [t.spec for t in self.tensors], self.name)
        if any(h.assigned for h in traced.held):
            raise Untraceable(
                f"a function with a custom gradient assigns a Variable: return the new value instead"
                f"{at(user_location())}"
            )
        own = {id(v): g for v, g in zip(self.variables, self.connected[count:], strict=True)}
        connected = (
            *self.connected[:count],
            *(False for _ in traced.captured),
            *(own.get(id(h.owner), False) for h in traced.held),
        )
        outer = (*self.tensors, *traced.captured, *(h.owner.as_kept() for h in traced.held))
        _in_order(self.rule, self.connected, count, self.variables, traced.held)
        form = CustomForm.make(outer, traced.graph, self.rule, len(self.specs), connected)
        if self.used:
            form = form.replace(level=self.level, arguments=count)
        return unflatten(self.structure, form.split(form.apply())[0])

    def _body(self, *xs: Tensor) -> list[Tensor]:
        watcher = _Watcher()
        with recording(watcher):
            value, self.grad_fn = self.call(xs)
        leaves, self.structure = flatten(value)
        results = [as_tensor(y) for y in leaves]
        self.variables, self.specs = watcher.variables, [y.spec for y in results]
        now = tracer()
        assert now is not None
        self.value = _SoFar(now, xs, results)
        given = [s for s in self.specs if s.differentiable]
        try:
            with opening(self):
                rule = trace(self._rule, given, self.name + "_rule")
        except RuntimeError as error:
            if isinstance(error, (TracejitError, RecursionError)):
                raise
            rule = trace(self._refusing(error), given, self.name + "_rule")
        if any(h.assigned for h in rule.held):
            raise Untraceable(
                f"the gradient rule of {self.name} assigns a Variable{at(_end_of(self.grad_fn))}"
            )
        kept = [*rule.captured, *(h.owner.as_kept() for h in rule.held)]
        n = len(rule.graph.inputs) - len(kept)
        seeds, self.rule = rule.graph.inputs[:n], rule.graph
        self.rule.inputs = self.rule.inputs[n:]
        if self.used:
            held = _held(now, kept)
            self.rule.inputs += [self.rule.new_value(t.spec) for t in held]
            kept += held
        self.rule.inputs += seeds
        return [*results, *kept]

    def _rule(self, *gs: Tensor) -> list[Tensor]:
        take = iter(gs)
        seeds = [next(take) if s.differentiable else _zeros(s) for s in self.specs]
        gradients = _gradients(self.f, self.grad_fn, self.inputs, self.variables, seeds)
        self.connected = [g is not None for g in gradients]
        return [g for g in gradients if g is not None]

    def _refusing(self, error: RuntimeError) -> Callable[..., list[Tensor]]:
        """In place of a rule that has raised an error of the program's own, one that fails where it runs."""
        told = f"the gradient rule of {self.name} has raised {type(error).__name__}: {error}"

        def rule(*gs: Tensor) -> list[Tensor]:
            ops.check(_zeros(TensorSpec((), np.dtype(np.float32))), message=told, error="RuntimeError")
            specs = [*(t.spec for t in self.tensors), *(v.spec for v in self.variables)]
            self.connected = [s.differentiable for s in specs]
            return [_zeros(s) for s in specs if s.differentiable]

        return rule

    def own_value(self, tensors: Sequence[Tensor]) -> Any:
        """The function in its own rule: its value, which becomes a call like this one when the rule is used."""
        graph = self.value.graph()
        held = [*self.value.captured, *(v.as_kept() for v in self.value.owners)]
        return unflatten(self.structure, list(OwnValueForm.make(tensors, held, graph, self.level).apply()))


class _SoFar:
    """What has been traced up to now, as a function of `xs`, of what it captures and of Variables."""

    def __init__(self, now: Trace, xs: Sequence[Tensor], results: Sequence[Tensor]):
        self.now = now
        self.nodes = len(now.graph.nodes)
        captured, held = list(now.captures.values()), list(now.held.values())
        self.captured = [t for t, _ in captured]
        self.owners = [h.owner for h in held]
        entries = [*xs, *(h.entry for h in held)]
        values = [now.value(t) for t in entries]
        self.inputs = [*values[: len(xs)], *(v for _, v in captured), *values[len(xs) :]]
        self.outputs = [now.value(y) for y in results]

    def graph(self) -> Graph:
        """A graph of its own; most rules do not ask."""
        nodes = self.now.graph.nodes[: self.nodes]
        whole = Graph(self.now.graph.name, self.inputs, nodes, self.outputs)
        return restricted(whole, range(len(self.inputs)), range(len(self.outputs)))


def _held(now: Trace, kept: Sequence[Tensor]) -> list[Tensor]:
    """All that the trace captures and the Variables it reads, as they come in, `kept` included."""
    for t in kept:
        now.value(t)
    captured = [now.lift(t) for t, _ in now.captures.values()]
    return [*captured, *(h.entry for h in now.held.values())]


def _in_order(
    rule: Any, connected: list[bool], count: int, variables: list[Variable], held: list[Any]
) -> None:
    """Bring the rule's gradients of Variables, in order of reading, into the order of the graph's inputs."""
    outs = iter(rule.outputs)
    per_input = [next(outs) if c else None for c in connected]
    of_variable = {id(v): g for v, g in zip(variables, per_input[count:], strict=True)}
    ordered = [*per_input[:count], *(of_variable.get(id(h.owner)) for h in held)]
    rule.outputs = [g for g in ordered if g is not None]


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the value of `f` and the gradient of the identity: one argument in, one tensor out.

    For functions that are flat or jump, such as rounding, in the middle of what is trained. Variables that `f` uses, or
    assigns to, get no gradient.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.constant(2.6)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = tf.grad_pass_through(tf.round)(x) * 2.0
    >>> float(y), float(tape.gradient(y, x))
    (6.0, 2.0)
    """

    @functools.wraps(f)
    def passed(x: Any) -> Any:
        return _through(x, ops.stop_gradient(as_tensor(f(x))))

    return passed


@custom_gradient
def _through(x: Any, value: Any) -> Any:
    return value, lambda upstream: (upstream, None)
