"""`function`: the decorator that traces a Python function once per signature and runs the compiled graph.

A call goes through a short path when its arguments are plain arrays and numbers that were seen before, else
through `signature.describe`. Inside a trace, and with ``settings(eager=True)``, the Python body simply runs.
"""

from __future__ import annotations

import copy
import functools
import inspect
import time
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...core import settings
from ...core.dim import Assumptions
from ...core.errors import Untraceable
from ...core.lazy import Later
from ...core.spec import TensorSpec
from ...core.tensor import Tensor, next_serial
from ...core.tracing.depth import too_deep
from ...core.tracing.dispatch import as_tensor, state
from ...core.tracing.trace import trace
from ...core.tracing.transaction import Whole, handled
from ...ops.tensor.memory.storage import require_seen
from ...runtime.threads.forks import fork_safe
from ..autograph import operators as autograph
from ..autograph.calls import explained
from ..autograph.flow.shared_lists import Links
from ..autograph.places.arguments import changes
from ..autograph.places.reachable import attempt_with
from ..autograph.source.texts import note_source
from ..autograph.values.kinds import TraceError
from ..regions.memory_policies import Policy, policy, under
from ..state.variable import Variable, tracer
from ..structure import flatten, unflatten
from ..tracebacks import shortened
from .any_rank import AnyRank, traced_with_sizes
from .floats import ValuesNeeded, traced_with_floats
from .inspected import Inspected, plain_body
from .methods import BoundFunction, Method
from .parameters import AN_INPUT, NUMBERS, PLAIN, Parameters, compilable, taken_apart
from .retracing import Retracing
from .signature import (
    Call,
    Weak,
    checked_signature,
    entry_specs,
    of_rank,
    relaxed,
    sizes_at_entry,
)
from .specialization import Specialization, apart, as_argument, converted

if TYPE_CHECKING:
    from ...runtime.lane import room
    from .. import pickling
    from ..recording import repeated_calls
    from . import lanes
else:
    pickling = Later("..pickling", __package__)
    repeated_calls = Later("..recording.repeated_calls", __package__)
    room, lanes = Later("...runtime.lane.room", __package__), Later(".lanes", __package__)

_MAX_REMEMBERED = 4096
#: Calls that go the Python way before one is offered to machine code: what that takes is worth some calls.
_SOON = 8


def function(
    f: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    memory: int | str | None = None,
    fastmath: bool | None = None,
    **accepted: Any,
) -> Any:
    """Compile a function: trace it once per signature and run the compiled graph.

    A signature consists of the structure of the arguments, the dtype and shape of each array, and the type and value
    of each Python int, bool or string. A Python float is an input, whose dtype is that of the values it is combined
    with; if tracing needs the value of a float, the floats of this function become part of its signatures. Python side
    effects happen only while tracing, and globals and attributes are read only then, so pass values that change as
    arguments or hold them in Variables. Results are tensors.

    Tensors are immutable, so ``x[i] = v`` binds the name ``x`` to a changed tensor: after ``y = x; x[0] = 1.0``, ``y``
    is unchanged, and a helper that assigns a part of its argument must return it. ``x[i] += v``, ``self.x[i] = v`` and
    ``cache["k"][i] = v`` work the same way, compiled and with :func:`run_functions_eagerly`. No copy is made where
    nothing else reads the old value. Lists and dicts among the arguments are copied for the function: to change their
    contents, return them.

    Parameters
    ----------
    f : callable, optional
        Without it, ``function(...)`` returns a decorator.
    input_signature : sequence of TensorSpec, optional
        One per argument; a size None stands for any size, and one trace serves them all.
    autograph : bool
        Convert Python's ``if``, ``while``, ``for``, ``and``, ``or``, ``not`` and assignments to parts of tensors, in
        `f` and in the functions it calls, so that they work on traced tensors. Control flow that depends on Python
        values only runs in Python, while tracing.
    jit_compile : optional
        Accepted for programs written for other libraries; everything is compiled.
    reduce_retracing : bool
        Treat sizes that differ between calls as unknown sizes instead of tracing for each size.
    memory : {"save", "recompute"}, int or str, optional
        What the gradient of each loop traced in `f` may keep. "save" (the default) keeps the loop's variables of all
        iterations. A number of bytes, or text such as ``"50MB"``, limits what is kept at a time; the rest is computed
        again, with the fewest iterations possible (binomial checkpointing). "recompute" keeps the variables of about
        ``sqrt(2 n)`` of `n` iterations if `n` is known while tracing, else of at most 64. The gradients are the same.
        The limit holds for second derivatives too, whose loops also carry tangents. See
        :meth:`Function.memory_report`. In eager mode tapes keep every op.
    fastmath : bool, optional
        Compile under the setting ``fastmath`` (:class:`Settings`), which makes divisions cheaper and less exact; None
        (the default) uses the current setting. A function that calls `f` while it is traced compiles the body of `f`
        under its own setting, as does a tape that differentiates `f` from outside.

    Raises
    ------
    TypeError
        For another argument; those of `accepted` that begin with ``experimental_`` are for other libraries.

    Examples
    --------
    >>> import tracejit as tf
    >>> @tf.function
    ... def f(x):
    ...     return x * 2.0 + 1.0
    >>> print(f(3.0))
    tf.Tensor(7.0, shape=(), dtype=float32)
    """
    unknown = [k for k in accepted if not k.startswith("experimental_")]
    if unknown:
        raise TypeError(f"function() got an unexpected argument {unknown[0]!r}")
    if f is None:
        return lambda g: Function(g, input_signature, reduce_retracing, autograph, memory, fastmath)
    return Function(f, input_signature, reduce_retracing, autograph, memory, fastmath)


class Function(Inspected):
    """A compiled function; made by :func:`function`.

    Copies are the function itself, as for every Python function: traces and compiled code are kept once.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Function:
        """An object with room for the address of the code that calls it, where calls can be made so."""
        kind: Any = cls
        made: Function = object.__new__(room.with_room(kind))
        return made

    def __init__(
        self,
        f: Callable[..., Any],
        input_signature: Sequence[Any] | None = None,
        reduce_retracing: bool = False,
        autograph: bool = True,
        memory: int | str | None = None,
        fastmath: bool | None = None,
    ):
        self.python_function: Callable[..., Any] = compilable(f)
        self.memory: Policy | None = None if memory is None else policy(memory)
        self.autograph: bool = autograph
        self.fastmath: bool | None = fastmath
        if autograph:
            note_source(f)
        self.input_signature: tuple[Any, ...] | None = (
            None if input_signature is None else checked_signature(input_signature)
        )
        self.reduce_retracing = reduce_retracing
        self.__name__: str = getattr(f, "__name__", type(f).__name__)
        self.__qualname__ = getattr(f, "__qualname__", self.__name__)
        self.__doc__ = getattr(f, "__doc__", None)
        self.__module__ = getattr(f, "__module__", __name__)
        self.__wrapped__ = f
        self._parameters = Parameters(f, self.__name__, self.input_signature)
        self._settings: Any = None
        self._remembered: dict[tuple[Any, ...], Specialization] = {}
        self._specializations: dict[Any, list[Specialization]] = {}
        self._patterns: dict[Any, list[TensorSpec]] = {}
        self._traces, self._tensor_sites = 0, set[Any]()
        self._may_create = True
        self._float_inputs = autograph and self.input_signature is None  # code as it stands may look at types
        self._retracing = Retracing()
        self._lock = fork_safe()
        self._bound: dict[int, tuple[weakref.ref[Any], Function]] = {}
        self._lane: Any = None
        self._calls_to_wait = _SOON

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if state.busy or settings.current() is not self._settings:
                return self._call(args, kwargs)
            taken = taken_apart(args, kwargs, self._float_inputs)
            if taken is None:
                return self._call(args, kwargs)
            key, inputs = taken
            specialization = self._remembered.get(key)
            if specialization is None:
                return self._call(args, kwargs, key)
            self._retracing.served()
            result = specialization.run([x.array if x.__class__ is Tensor else x for x in inputs])
            self._calls_to_wait -= 1
            if self._calls_to_wait <= 0:
                self._offer(args, kwargs, specialization)
            return result
        except Exception as error:
            if tracer() is None:
                shortened(error)
            raise

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any], key: tuple[Any, ...] | None = None) -> Any:
        """Any call: work out the signature, trace if it is new, run."""
        try:
            return self._called(args, kwargs, key)
        except RecursionError as error:
            raise too_deep(error) from None

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any], key: tuple[Any, ...] | None) -> Any:
        mode = state.mode
        recorded = bool(mode.recorders)
        if recorded and not mode.slow and settings.current() is self._settings:
            taken = taken_apart(args, kwargs, self._float_inputs)
            known = None if taken is None else self._remembered.get(taken[0])
            if taken is not None and known is not None:
                self._retracing.served()
                return known.apply([as_tensor(x) for x in taken[1]])
        if tracer() is not None or settings.current().eager:
            return self._inline(args, kwargs)
        call, specialization = self._specialized(args, kwargs)
        if mode.interpreter is not None:
            return specialization.apply(call.tensors())
        constants = PLAIN if call.floats else NUMBERS
        given = [id(x) for x in (*args, *kwargs.values()) if x.__class__ not in constants]
        # nothing converted, filled in or moved:
        in_place = [id(call.leaves[i]) for i, _ in call.arrays] == given
        if in_place and self._parameters.plain_defaults and (not kwargs or len(set(given)) == len(given)):
            if key is None and recorded:
                key = (taken_apart(args, kwargs, self._float_inputs) or (None,))[0]
            floats = sum(part is AN_INPUT for part in key or ())
            self._remember(key if floats == len(call.floats) else None, specialization)
        if recorded:
            return specialization.apply(call.tensors())
        result = specialization.run(call.ndarrays())
        self._calls_to_wait -= 1
        if self._calls_to_wait <= 0:
            self._offer(args, kwargs, specialization)
        return result

    def _offer(self, args: tuple[Any, ...], kwargs: dict[str, Any], made: Specialization) -> None:
        """Let machine code make calls like the one just made, if it can."""
        with self._lock:
            if self._calls_to_wait > 0:
                return
            if self._lane is None:
                self._lane = lanes.Lane(self, self._parameters, Function.__call__)
            self._calls_to_wait = self._lane.offer(self, args, kwargs, made)

    def _remember(self, key: tuple[Any, ...] | None, specialization: Specialization) -> None:
        now = settings.current()
        if now is not self._settings:
            self._settings, self._remembered = now, {}
        elif key is not None:
            if len(self._remembered) >= _MAX_REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = specialization

    def _inline(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the body as plain Python, with tensors where the compiled form has them; see `repeated_calls`."""
        if self.input_signature is not None:
            args, kwargs = self._parameters.conforming(args, kwargs)
        leaves, structure = flatten((args, kwargs))
        given = apart([as_argument(x) for x in leaves])
        since = next_serial()

        def run() -> repeated_calls.Result:
            leaves, nest = flatten(self.run_python(*unflatten(structure, given)))
            return [converted(y, self.python_function) for y in leaves], nest

        results, nest = repeated_calls.repeated(self, plain_body, given, structure, run)
        return unflatten(nest, apart(results, since))

    def run_python(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the Python function; in a trace with its control flow converted, and so that ``x[i] = v`` works."""
        f = self.python_function
        if not self.autograph:
            with under(self.memory):
                return f(*args, **kwargs)
        f = f.bound() if isinstance(f, Method) else f
        if tracer() is None:
            return autograph.eager_callee(f)(*args, **kwargs)
        try:
            with under(self.memory):
                return autograph.callee(f)(*args, **kwargs)
        except Untraceable as error:
            explained(f, error)
            raise

    # ---- signatures and traces --------------------------------------------------------------------------

    @property
    def signature(self) -> inspect.Signature | None:
        """The Python signature; None where Python cannot tell."""
        return self._parameters.signature

    def _described(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        call = self._parameters.described(args, kwargs)
        return call.with_floats(self._parameters.given(args, kwargs)) if self._float_inputs else call

    def _specialized(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Call, Specialization]:
        """What a call is, and the trace that serves it."""
        call = self._described(args, kwargs)
        try:
            return call, self.specialization(call)
        except ValuesNeeded:
            call = self._described(args, kwargs)
        try:
            return call, self.specialization(call)
        except Exception:
            self._float_inputs = True  # it is not because of them
            raise

    def specialization(self, call: Call) -> Specialization:
        """The trace that serves a call, made if there is none."""
        with self._lock:
            patterns = self._pattern(call)
            key = (*call.arguments, tuple(patterns), settings.current().weights_dtype)
            specializations = self._specializations.get(key)
            if specializations is None:
                self._forget_the_dead()
                specializations = self._specializations[key] = []
            for specialization in specializations:
                if specialization.serves([s.shape for s in call.specs]):
                    self._retracing.served()
                    return specialization
            specializations.append(self._traced(call, patterns))
            self._retracing.traced(
                self.__name__, call, list(self.signature.parameters) if self.signature else []
            )
            return specializations[-1]

    def _pattern(self, call: Call) -> list[TensorSpec]:
        """The specs to trace with: None for sizes that are not known before the call."""
        if self.input_signature is not None:
            wanted = flatten(self.input_signature)[0]
            return [of_rank(p, s.rank) for p, s in zip(wanted, call.specs, strict=True)]
        if not self.reduce_retracing:
            return call.specs
        group = call.group()
        known = self._patterns.get(group, call.specs)
        known = self._patterns[group] = [relaxed(p, s) for p, s in zip(known, call.specs, strict=True)]
        return known

    def _forget_the_dead(self) -> None:
        """Drop traces specialised on objects that no longer exist."""
        dead = [
            k for k in self._specializations if any(isinstance(v, Weak) and v.ref() is None for _, v in k[1])
        ]
        for key in dead:
            del self._specializations[key]

    def _traced(self, call: Call, patterns: Sequence[TensorSpec]) -> Specialization:
        before = self._may_create, self._traces
        try:
            return traced_with_floats(self.python_function, call, lambda: self._traced_anew(call, patterns))
        except ValuesNeeded:
            self._may_create, self._traces = before
            self._float_inputs = False
            raise

    def _traced_anew(self, call: Call, patterns: Sequence[TensorSpec]) -> Specialization:
        created: list[Variable] = []
        made = self._with_arrays(call, patterns, created if self._may_create else None)
        self._may_create = False
        if created:  # the graph of further calls; what Python does in this one has been done
            with attempt_with(self.python_function, call.leaves) as attempt:
                made = self._with_arrays(call, patterns, None)
                attempt.rollback()
        return made

    def _with_arrays(self, call: Call, *more: Any) -> Specialization:
        f, sites, self._traces = self.python_function, self._tensor_sites, self._traces + 1
        return traced_with_sizes(lambda: self._trace_once(call, *more), f, call, sites)

    def _trace_once(self, call: Call, patterns: Any, created: list[Variable] | None) -> Specialization:
        if created:
            created.clear()  # an attempt before has made them
        specs, atoms = entry_specs(patterns)
        structure: list[Any] = []
        generators: list[Variable] = []  # made by each call for itself

        def body(*tensors: Tensor) -> list[Tensor]:
            now: Any = tracer()
            now.created, now.generators = created, generators
            args, kwargs = unflatten(call.structure, call.rebuilt(tensors))
            look = changes((args, kwargs), self.__name__)
            try:
                with Whole(), Links():
                    leaves, nest = flatten(self.run_python(args, kwargs))
                    require_seen()
            except TraceError as escaping:
                explained(self.python_function, escaping.error)
                handled(escaping)
                raise escaping.error from None
            look()
            structure.append(nest)
            return [converted(y, self.python_function) for y in leaves]

        call.assumed = Assumptions(hints=sizes_at_entry(atoms, [s.shape for s in call.specs]) | call.fitted)
        began = time.perf_counter()
        traced = trace(body, specs, self.__name__, call.assumed)
        known = call.arguments, self.signature, generators, time.perf_counter() - began
        return Specialization(self.__name__, traced, specs, atoms, structure[0], *known, self.fastmath)

    # ---- looking inside ---------------------------------------------------------------------------------

    def experimental_get_tracing_count(self) -> int:
        """How many times the Python body has been traced."""
        return self._traces

    def traces(self) -> list[Specialization]:
        """Its traces so far, in the order of the arguments they were made for.

        Examples
        --------
        >>> import tracejit as tf
        >>> f = tf.function(lambda x, n: x * n)
        >>> y, z = f(tf.constant(1.0), 2), f(tf.constant([1.0, 2.0]), 3)
        >>> for trace in f.traces():
        ...     print(trace.outline())
        (x: float32[], n: 2) -> float32[]
        (x: float32[2], n: 3) -> float32[2]
        """
        return [made for several in self._specializations.values() for made in several]

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> Specialization | Any:
        """The trace for these arguments, callable with arguments like them or with the arrays alone.

        TensorSpecs may stand for arrays; where one leaves the rank open there is a trace for each rank, made when it
        is first called.
        """
        if not args and not kwargs and self.input_signature is not None:
            args = self.input_signature
        args, kwargs = self._parameters.complete(args, kwargs)
        open_ranks = [x for x in flatten((args, kwargs))[0] if isinstance(x, TensorSpec) and not x.ranked]
        if open_ranks:
            return AnyRank(self.get_concrete_function, args, kwargs, self.signature)
        return self.specialization(self._parameters.described(args, kwargs))

    # ---- copies -----------------------------------------------------------------------------------------

    def __copy__(self) -> Function:
        return self

    def __deepcopy__(self, memo: dict[Any, Any]) -> Function:
        f = copy.deepcopy(self.python_function, memo)
        return self if f is self.python_function else Function(f, *self.options())

    def __reduce__(self) -> str | tuple[Any, ...]:
        """By name, as Python's functions are, where the name leads here; of a program that is run by value."""
        return pickling.reduced(self, Function)

    def options(self) -> tuple[Any, ...]:
        """How it compiles: what :class:`Function` takes behind the Python function."""
        return self.input_signature, self.reduce_retracing, self.autograph, self.memory, self.fastmath

    # ---- methods ----------------------------------------------------------------------------------------

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        known = self._bound.get(id(instance))
        if known is None or known[0]() is not instance:
            known = self._bind(instance)
        bound = BoundFunction(known[1])
        bound.instance = instance
        return bound

    def _bind(self, instance: Any) -> tuple[weakref.ref[Any], Function]:
        key, table = id(instance), self._bound
        with self._lock:  # threads that come at once get one function, traced once
            known = table.get(key)
            if known is None or known[0]() is not instance:
                ref = weakref.ref(instance, functools.partial(table.pop, key))
                known = table[key] = (ref, Function(Method(self.python_function, ref), *self.options()))
        return known
