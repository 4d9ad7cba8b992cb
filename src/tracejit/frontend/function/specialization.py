"""Specialization: one trace of a compiled function, with all a call needs: inputs, state, structure of results.

All writes to Variables happen together, after the compiled code has returned; calls in several threads lose none.
"""

from __future__ import annotations

import inspect
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from ...core import settings
from ...core.dim import Dim, assume, holds, substitute
from ...core.errors import DtypeError, TracejitError, at, take, user_location
from ...core.ir.graph import Graph, walk
from ...core.op import Op, ops
from ...core.spec import TensorSpec
from ...core.tensor import Overwritten, Tensor, twin
from ...core.tracing.dispatch import Mode, Record, as_tensor, notify, state
from ...core.tracing.forms import CallForm
from ...core.tracing.trace import Taken, Traced, replay, resize_graph
from ...ops.control.regions import recorded_for_reverse
from ..execution import executable
from ..recording.direct_calls import prepared
from ..recording.losses import takes_out
from ..recording.taken import again, arrays_of
from ..regions.memory_policies import LoopMemory, report
from ..state.row_updates import in_range, row_updates
from ..state.variable import Variable, changing, commit_all, store_all, tracer
from ..structure import LEAF, Structure, kind_of, unflatten
from .binding import bound_arrays
from .compile_warnings import warn_if_slow
from .signature import Arguments, SignatureError, admits, decided, open_spec, sizes_at_entry
from .signature_text import function_type, outline, signature_text


def converted(y: Any, f: Any = None) -> Tensor:
    """A result of a compiled function, as a tensor; DtypeError where it cannot be one."""
    if y.__class__ is Dim:  # a size is an int, of which a tensor is int32
        return ops.cast(ops.size_value(size=y), dtype=np.dtype(np.int32))
    try:
        if y.__class__ in (str, bytes):
            raise DtypeError("text of the trace")
        return as_tensor(y)
    except DtypeError as error:
        if isinstance(y, (np.ndarray, np.generic, Tensor, int)):
            raise
        code = getattr(f, "__code__", None)
        where = "" if code is None else f"\n  in {f.__qualname__}, {code.co_filename}:{code.co_firstlineno}"
        raise DtypeError(
            f"a compiled function returns tensors, numbers, None, and tuples, lists and dicts of them, not "
            f"{type(y).__name__}{_instead(y)}{where}{at(user_location())}"
        ) from error


def _instead(y: Any) -> str:
    if isinstance(y, str):
        return f" ({y!r}): strings are part of the trace, return tracejit.constant({y!r})"
    if isinstance(y, (set, frozenset, Iterator)):
        return ": return a list or a tuple"
    return ": call the function, and return its result" if callable(y) else ": return its tensors"


def as_argument(x: Any) -> Any:
    """What the function gets for a leaf of its arguments: it may write to that, and its caller's is to stay."""
    if isinstance(x, (np.ndarray, np.generic)):
        return as_tensor(x)
    return twin(as_tensor(x)) if isinstance(x, Tensor) else x


def apart(leaves: list[Any], since: int = 0) -> list[Any]:
    """The leaves, with another tensor of the same value in place of one that was there before.

    As in the compiled form, where each argument is an input, and each result an output of its own: a tape that watches
    one does not watch the other. Results are none of the tensors that were there when the call began, at the serial
    number `since`.
    """
    seen: set[int] = set()
    distinct = []
    for x in leaves:
        if x.__class__ is Overwritten:
            x = as_tensor(x)
        if x.__class__ is Tensor:
            x = ops.identity(x) if x.serial in seen or x.serial < since else x
            seen.add(x.serial)
        distinct.append(x)
    return distinct


def _is_told(op: Op) -> bool:
    """Does somebody notice how often it runs? Who reads what is printed, or a function of the program."""
    return "prints" in op.traits or ("effect" in op.traits and "this_process" in op.traits)


class Specialization:
    """A traced function for one signature, which TensorFlow calls a concrete function.

    Attributes
    ----------
    name : str
    graph : Graph
        Inputs: the array arguments, captured tensors, Variables. Outputs: results, then new values of Variables.
    opened : Graph
        The same with a name for each size that its array arguments leave open, where guards say more.
    input_specs : list of TensorSpec
        Of the array arguments.
    atoms : sequence of (str, int, int)
        What the sizes that are not known before a call were called while tracing: name, argument, axis.
    structure : Structure
        Of the result.
    arguments : Arguments or None
        What the calls it serves have in common; None where only its arrays are known.
    signature : inspect.Signature or None
        The parameters of the Python function.
    trace_seconds, compile_seconds : float
        How long it took to trace, and to compile last, or to find compiled.
    taken : sequence of Taken
        What each call takes from outside before it runs.
    generators : list of Variable
        States of random generators that each call makes for itself: nobody else keeps them.
    fastmath : bool or None
        The setting its code is made under, whatever is in force; None for that.
    """

    trace_seconds: float
    compile_seconds: float

    def __init__(
        self,
        name: str,
        traced: Traced,
        specs: Sequence[TensorSpec],
        atoms: Sequence[tuple[str, int, int]],
        structure: Structure,
        arguments: Arguments | None = None,
        signature: inspect.Signature | None = None,
        generators: Sequence[Variable] = (),
        trace_seconds: float = 0.0,
        fastmath: bool | None = None,
    ):
        self.name = name
        self.opened: Graph = traced.graph
        self.graph: Graph = resize_graph(traced.graph, decided(traced.graph.guards, atoms))
        self.input_specs: list[TensorSpec] = list(specs)
        self.structure = structure
        self.arguments = arguments
        self.signature = signature
        self.generators = generators
        self.fastmath = fastmath
        self.atoms = atoms
        self.taken: Sequence[Taken] = traced.taken
        self._captured = traced.captured
        self._parts: Any = None
        self._as_called = CallForm.make((), self.graph).attrs
        self._captured_arrays = [t.array for t in traced.captured]
        self._variables = [weakref.ref(h.owner) for h in traced.held]
        first = len(specs) + sum(len(each.tensors) for each in traced.taken) + len(traced.captured)
        self._updates = [(position - first, output) for position, output in self.graph.state]
        self._first = first
        self._in_rows = row_updates(self.graph)
        self._once = any(_is_told(node.op) for _, node in walk(self.graph))
        self._results = len(self.graph.outputs) - len(self._updates)
        self._single = structure is LEAF
        self.trace_seconds, self.compile_seconds = trace_seconds, 0.0
        self._executable: Any = None
        self._settings: Any = None

    def serves(self, shapes: Sequence[Sequence[Any]]) -> bool:
        """Do the assumptions about sizes hold for a call with these shapes?"""
        if not self.graph.guards:
            return True
        sizes = sizes_at_entry(self.atoms, shapes)
        if any(isinstance(s, Dim) for s in sizes.values()):  # in another trace, which then assumes as much
            return all(
                assume(relation, substitute(a, sizes), substitute(b, sizes))
                for relation, a, b in self.graph.guards
            )
        return holds(self.graph.guards, sizes)

    def run(self, arrays: list[np.ndarray]) -> Any:
        """Run the compiled graph on the array arguments."""
        if self.taken:
            arrays += arrays_of(self.taken)
        if self._captured_arrays:
            arrays += self._captured_arrays
        if self._settings is not settings.current():
            self._compile()
        if self._updates:
            return self._run_and_commit(arrays)
        if self._variables:
            arrays += [v._value.array for v in self.variables()]
        outputs = self._executable(arrays)
        if self._single:
            return Tensor(outputs[0])
        return unflatten(self.structure, [Tensor(y) for y in outputs])

    def _compile(self) -> None:
        graph = self.graph if self._in_rows is None else self._in_rows.graph
        started, worked = time.perf_counter(), time.process_time()
        with self.compiling():
            made = executable(graph)
        self._executable, self._settings = made, settings.current()
        self.compile_seconds = time.perf_counter() - started
        # a machine busy with other programs is no fault of this one
        warn_if_slow(self.name, graph, min(self.compile_seconds, time.process_time() - worked))

    def compiling(self) -> AbstractContextManager[Any]:
        """The settings its code is made under, for a ``with`` block."""
        return nullcontext() if self.fastmath is None else settings.settings(fastmath=self.fastmath)

    def _run_and_commit(self, arrays: list[np.ndarray]) -> Any:
        """Run what assigns Variables: all new values become theirs at once, or the call raises and none does.

        A call that finds that another thread has assigned one of them meanwhile starts again from the new value, with
        the others waiting so that it ends; what may run once only, as it prints or calls the program's functions, lets
        them wait from the start.
        """
        variables = self.variables()
        if not self._once and self._in_rows is None:
            before = [v._value for v in variables]
            outputs = self._executable([*arrays, *[t.array for t in before]])
            with changing:
                if all(variables[k]._value is before[k] for k, _ in self._updates):
                    return self._committed(outputs, arrays, variables)
        with changing:
            arrays += [v._value.array for v in variables]
            return self._committed(self._executable(arrays), arrays, variables)

    def _committed(
        self, outputs: Sequence[np.ndarray], arrays: list[np.ndarray], variables: list[Variable]
    ) -> Any:
        if self._in_rows is not None:
            return self._finished_in_rows(outputs, arrays, variables)
        commit_all([variables[v] for v, _ in self._updates], [outputs[y] for _, y in self._updates])
        if self._single:
            return Tensor(outputs[0])
        return unflatten(self.structure, [Tensor(y) for y in outputs[: self._results]])

    def _finished_in_rows(
        self, outputs: Sequence[np.ndarray], arrays: list[np.ndarray], variables: list[Variable]
    ) -> Any:
        """Change rows of large Variables where they are, then commit the rest."""
        assert self._in_rows is not None
        graph, rows = self._in_rows
        for entry, places in rows:
            if not all(in_range(outputs[i], arrays[entry].shape[0]) for i, _ in places):
                executable(self.graph)(arrays)  # raises, with the user's line
        arrays.clear()  # so that nobody but the Variables holds their values
        for entry, places in rows:
            for indices, values in places:
                variables[entry - self._first].add_rows(outputs[indices], outputs[values])
        commit_all([variables[v - self._first] for v, _ in graph.state], [outputs[y] for _, y in graph.state])
        return unflatten(self.structure, [Tensor(y) for y in outputs[: self._results]])

    # ---- for calls by machine code ----------------------------------------------------------------------

    def ready(self) -> Any:
        """The compiled code under the settings now, if what a call does is to run it and to assign Variables."""
        now = settings.current()
        if self._once or self.taken or self._in_rows is not None or self._settings is not now:
            return None
        return self._executable.complete if now.nans else self._executable

    @property
    def captured_arrays(self) -> list[np.ndarray]:
        """The arrays that it has from outside, which follow its arguments."""
        return self._captured_arrays

    @property
    def variable_references(self) -> list[weakref.ref[Any]]:
        """Its Variables, whose values follow those."""
        return self._variables

    @property
    def results_and_updates(self) -> tuple[int, list[tuple[int, int]]]:
        """How many outputs are results, and for Variables, by position, the outputs that are their new values."""
        return self._results, self._updates

    def held_arrays(self) -> list[np.ndarray]:
        """The inputs that are no arguments."""
        return [*arrays_of(self.taken), *self._captured_arrays, *(v._value.array for v in self.variables())]

    def memory_report(self, arrays: Sequence[np.ndarray]) -> list[LoopMemory]:
        """What the gradients of its loops keep for these array arguments."""
        sizes = sizes_at_entry(self.atoms, [a.shape for a in arrays])
        return report(self.graph, [*arrays, *self.held_arrays()], sizes)

    def apply(self, tensors: list[Tensor]) -> Any:
        """Run as one `call` that recorders hear: tapes then differentiate the whole graph."""
        if not self._updates:
            return self._applied(tensors)
        with changing:
            return self._applied(tensors)

    def _applied(self, tensors: list[Tensor]) -> Any:
        variables = self.variables()
        taken = again(self.taken) if self.taken else ()
        inputs = (*tensors, *taken, *self._captured, *(v.as_kept() for v in variables))
        if tracer() is not None:  # written into the graph being traced: sizes have other names there
            outputs = replay(self.graph, inputs)
        else:
            outputs = self._recorded(inputs)
            if outputs and takes_out(self.graph):
                notify("inside", outputs[0])
        if not self._updates:
            return outputs[0] if self._single else unflatten(self.structure, list(outputs[: self._results]))
        store_all([variables[v] for v, _ in self._updates], [outputs[y] for _, y in self._updates])
        return unflatten(self.structure, list(outputs[: self._results]))

    def _recorded(self, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The results of one `call`, of which recorders hear."""
        mode, op = state.mode, ops.call
        if mode.recorders and not mode.slow and not self._once:
            attrs, call = self._in_parts(mode, inputs)
            try:
                outputs = call(*inputs)
            except Exception as error:  # to be worded, with the user's line, where it is raised again
                take(error)
            else:
                record = Record(op, inputs, attrs, outputs, mode.location or mode.origin or mode.locate())
                for recorder in mode.recorders:
                    recorder.record(record)
                return outputs
        return CallForm.make(inputs, self.graph).apply()

    def _in_parts(self, mode: Mode, inputs: tuple[Tensor, ...]) -> tuple[Any, Any]:
        """The attributes of the `call` that recorders hear of, and what runs its graph."""
        now, reverse = settings.current(), recorded_for_reverse(mode.recorders)
        if self._parts is None or self._parts[0] is not now or self._parts[1] is not reverse:
            attrs = ops.call.with_residuals(inputs, self._as_called)
            self._parts = now, reverse, attrs, prepared(CallForm(inputs, attrs).graph)
        _, _, attrs, made = self._parts
        return attrs, made.call

    def require_its_own(self) -> None:
        """TracejitError where calls take elements of iterators, which neither files nor libraries have."""
        if self.taken:
            raise TracejitError(
                f"calls of {self.name!r} take elements of an iterator of this process: pass them as arguments"
                f"{at(user_location())}"
            )

    def variables(self) -> list[Variable]:
        """The Variables read or assigned, in the order of their inputs."""
        variables = [ref() for ref in self._variables]
        if any(v is None for v in variables):
            raise TracejitError(
                f"a Variable that {self.name!r} used when it was traced no longer exists: keep it in an object that "
                f"lives as long as the function{at(user_location())}"
            )
        return variables  # type: ignore[return-value]

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Of its Variables those that tapes watch."""
        return tuple(v for v in self.variables() if v.trainable)

    @property
    def captured_inputs(self) -> list[Any]:
        """The tensors from outside of the function and the Variables that it uses."""
        return [*self._captured, *self.variables()]

    @property
    def inputs(self) -> list[TensorSpec]:
        """The specs of its array arguments, with None for sizes that are not known before the call."""
        return [open_spec(s) for s in self.input_specs]

    @property
    def outputs(self) -> list[TensorSpec]:
        """The specs of the tensors in its result."""
        return [open_spec(y.spec) for y in self.graph.outputs[: self._results]]

    @property
    def structured_input_signature(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """``(args, kwargs)`` it was traced for: a TensorSpec for each array, other values as they are."""
        return (tuple(self.inputs), {}) if self.arguments is None else self.arguments.nest(self.inputs)

    @property
    def structured_outputs(self) -> Any:
        """The result with a TensorSpec for each tensor."""
        return unflatten(self.structure, self.outputs)

    @property
    def output_shapes(self) -> Any:
        """The result with a shape for each tensor."""
        return unflatten(self.structure, [y.shape for y in self.outputs])

    @property
    def output_dtypes(self) -> Any:
        """The result with a dtype for each tensor."""
        return unflatten(self.structure, [y.dtype for y in self.outputs])

    def __deepcopy__(self, memo: dict[Any, Any]) -> Specialization:
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(
            f"a concrete function holds code of this process and is not pickled: pickle the function {self.name!r}, or "
            f"save its traces by tracejit.saved_model.save{at(user_location())}"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call with the arguments of the function, or with its array arguments alone, in order.

        What is no array may be left out, or must be what it was when this was traced.
        """
        if kwargs or len(args) != len(self.input_specs) or any(kind_of(x) is not None for x in args):
            args = tuple(bound_arrays(self, args, kwargs))
        tensors = [self._checked(x, spec) for x, spec in zip(args, self.input_specs, strict=True)]
        if not self.serves([t.shape for t in tensors]):
            raise SignatureError(
                f"{self.name} was traced for other sizes: {self.outline()}, got "
                f"{', '.join(str(t.spec) for t in tensors)}{at(user_location())}"
            )
        if state.recorders or state.interpreter is not None:
            return self.apply(tensors)
        return self.run([t.array for t in tensors])

    def _checked(self, x: Any, spec: TensorSpec) -> Tensor:
        tensor = as_tensor(x, spec.dtype) if not hasattr(x, "dtype") else as_tensor(x)
        if tensor.np_dtype != spec.dtype or not admits(open_spec(spec).shape, tensor.shape):
            raise SignatureError(
                f"{self.name} was traced for {open_spec(spec)}, got {tensor.spec}{at(user_location())}"
            )
        return tensor

    def outline(self) -> str:
        """The parameters and the result in one line."""
        return outline(self)

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """The parameters, the result and what is used from outside, on lines of their own."""
        return signature_text(self) if verbose else f"{self.name}{outline(self)}"

    @property
    def function_type(self) -> inspect.Signature:
        """Parameters and result, each with its type."""
        return function_type(self)

    @property
    def inference_fn(self) -> Specialization:
        """What runs it: itself."""
        return self

    def __str__(self) -> str:
        return f"ConcreteFunction {signature_text(self)}"

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.name}{outline(self)}>"
