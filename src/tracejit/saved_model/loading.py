"""Reading saved models: functions and Variables from a file that may come from anywhere.

A loaded function runs its graphs through the same op as any compiled function, so tapes, `grad` and `vmap` work on
it. Reading a file runs no code, and calling what was read only computes: what a graph may say is decided in
`core.admission`, and everything else in a file is looked at here before it is used.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core.dim import Dim
from ..core.dim import parse as parse_size
from ..core.errors import at, user_location
from ..core.ir.attributes import NotAdmitted
from ..core.ir.graph import Constant
from ..core.spec import TensorSpec, as_dtype
from ..core.tensor import Tensor
from ..core.tracing.admission import LIMIT, admitted
from ..core.tracing.trace import Traced, VariableState
from ..frontend.function.function import Function
from ..frontend.function.signature import Arguments, Call, admits
from ..frontend.function.specialization import Specialization
from ..frontend.state.module import Module
from ..frontend.state.variable import Variable
from ..frontend.structure import count_leaves, flatten, unflatten
from ..train.checkpoint import store
from .nests import decoded, decoded_structure
from .saving import FILE, FORMAT, NotSaved

_MAX_NAME = 1 << 12


def load(export_dir: str | os.PathLike[str], max_bytes: int = LIMIT) -> Any:
    """What :func:`save` wrote: an object with the same attributes, whose functions compile on first use.

    The file may come from anywhere: nothing in it is run when it is read, and its functions compute and do nothing
    else. They may take as long, and for sizes of the caller's as much memory, as they like.

    Parameters
    ----------
    export_dir : path
    max_bytes : int
        What one value in a function may take where its size is in the file: more is refused.

    Returns
    -------
    LoadedModel
        A Module: ``variables`` and ``trainable_variables`` are there, ``signatures`` is a dict.

    Raises
    ------
    NotSaved
        The folder holds no saved model, or one of another format, or it says what no saved model says.
    DamagedCheckpoint
        Its content has changed since it was written.

    Examples
    --------
    >>> import tempfile, tracejit as tf
    >>> folder = tempfile.mkdtemp()
    >>> f = tf.function(lambda x: 2.0 * x, input_signature=[tf.TensorSpec([])])
    >>> _ = tf.saved_model.save(f, folder)
    >>> tf.saved_model.load(folder)(tf.constant(3.0)).numpy()
    np.float32(6.0)
    """
    path = Path(export_dir) / FILE
    if not path.is_file():
        raise NotSaved(f"there is no saved model in {os.fspath(export_dir)!r}{at(user_location())}")
    arrays, metadata = store.read(path)
    if metadata.get("format") != FORMAT:
        raise NotSaved(
            f"{os.fspath(path)!r} has format {metadata.get('format')}, this version reads {FORMAT}"
            f"{at(user_location())}"
        )
    try:
        return _Loading(arrays, max_bytes).object(json.loads(metadata["model"]))
    except RecursionError:
        why = "it is nested too deeply"
        raise NotSaved(f"{os.fspath(path)!r} is no saved model: {why}{at(user_location())}") from None
    except Exception as error:  # what is looked at here was written by anybody
        why = str(error) if isinstance(error, (NotSaved, NotAdmitted)) else f"{type(error).__name__}: {error}"
        raise NotSaved(f"{os.fspath(path)!r} is no saved model: {why}{at(user_location())}") from error


# ---- loading --------------------------------------------------------------------------------------------


class LoadedModel(Module):
    """What :func:`load` returns.

    Examples
    --------
    >>> import tempfile
    >>> import tracejit as tf
    >>> class Doubled(tf.Module):
    ...     @tf.function
    ...     def __call__(self, x):
    ...         return 2.0 * x
    >>> model = Doubled()
    >>> print(model(3.0))
    tf.Tensor(6.0, shape=(), dtype=float32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = tf.saved_model.save(model, folder)
    ...     loaded = tf.saved_model.load(folder)
    >>> print(type(loaded).__name__, loaded(3.0))
    LoadedModel tf.Tensor(6.0, shape=(), dtype=float32)
    """

    signatures: dict[str, Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the saved ``__call__``."""
        called = self.__dict__.get("__call__")
        if called is None:
            raise TypeError(f"the object that was saved had no compiled __call__{at(user_location())}")
        return called(*args, **kwargs)


class LoadedFunction(Function):
    """A compiled function of which only its traces are left."""

    def __init__(
        self,
        name: str,
        parameters: list[Any] | None,
        signature: tuple[Any, ...] | None,
        traces: Sequence[Specialization],
    ):
        def gone(*args: Any, **kwargs: Any) -> Any:
            raise NotSaved(f"{name} was saved without its Python code{at(user_location())}")

        gone.__name__ = gone.__qualname__ = name
        vars(gone)["__signature__"] = _signature(parameters)
        super().__init__(gone, signature)
        self._float_inputs = False  # which way a call's are is seen by its trace
        self.saved: list[Specialization] = list(traces)

    def _described(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """The call as one of the saved traces has it, its Python floats inputs or not."""
        call = self._parameters.described(args, kwargs)
        forms = (call, call.with_floats(self._parameters.given(args, kwargs)))
        known = {made.arguments for made in self.saved}
        return next((form for form in forms if form.arguments in known), call)

    def traces(self) -> list[Specialization]:
        """The traces that were saved."""
        return self.saved

    def specialization(self, call: Call) -> Specialization:
        """The saved trace that serves a call."""
        for made in self.saved:
            if (
                made.arguments == call.arguments
                and _fits(made, call.specs)
                and made.serves([s.shape for s in call.specs])
            ):
                return made
        known = "; ".join(", ".join(map(str, made.input_specs)) for made in self.saved)
        given = ", ".join(map(str, call.specs))
        raise NotSaved(
            f"{self.__name__} was saved for ({known}) and is called with ({given}): call it before saving as it is to "
            f"be called afterwards, or give it an input_signature{at(user_location())}"
        )

    def _inline(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """In a trace, and where functions run eagerly: the graph is what there is."""
        call = self._described(args, kwargs)
        return self.specialization(call).apply(call.tensors())


class LoadedSignature:
    """A function saved as a signature: what it returns has names."""

    def __init__(self, function: Any):
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The results by name: those of a dict, ``output_0`` and so on for anything else."""
        return _named(self.function(*args, **kwargs))

    @property
    def structured_outputs(self) -> dict[str, Any]:
        """The specs of the results by name."""
        return _named(self.function.traces()[0].structured_outputs)

    def __getattr__(self, name: str) -> Any:
        traces = self.function.traces()
        return getattr(traces[0] if len(traces) == 1 else self.function, name)


def _named(result: Any) -> dict[str, Any]:
    if isinstance(result, dict):
        return result
    return {f"output_{i}": y for i, y in enumerate(flatten(result)[0])}


def _fits(made: Specialization, specs: Sequence[TensorSpec]) -> bool:
    return all(
        a.dtype == b.dtype and admits([d if isinstance(d, int) else None for d in a.shape], b.shape)
        for a, b in zip(made.input_specs, specs, strict=True)
    )


def _signature(parameters: list[Any] | None) -> inspect.Signature:
    kind = inspect.Parameter
    if parameters is None:
        return inspect.Signature([kind("args", kind.VAR_POSITIONAL), kind("kwargs", kind.VAR_KEYWORD)])
    return inspect.Signature(
        [
            kind(name, kind.POSITIONAL_OR_KEYWORD, default=decoded(default[0]) if default else kind.empty)
            for name, *default in parameters
        ]
    )


def _require(ok: object, what: str) -> None:
    if not ok:
        raise NotSaved(what)


def _text(x: Any) -> str:
    _require(isinstance(x, str) and len(x) <= _MAX_NAME and "\0" not in x, f"{str(x)[:50]!r} is no name")
    return x


def _attribute(name: Any) -> str:
    """The name of an attribute; not one by which a LoadedModel works."""
    own = name != "__call__" and (_text(name).startswith("__") or hasattr(LoadedModel, name))
    _require(not own and name != "signatures" and name != "_deferred", f"an attribute is called {name!r}")
    return _text(name)


def _described(x: Any, *keys: str) -> list[Any]:
    """The values of a dict."""
    _require(isinstance(x, dict), f"{str(x)[:50]!r} describes nothing")
    return [x[key] for key in keys]


def _specs(described: Any) -> list[TensorSpec]:
    """The specs of array arguments; a size that is not known before the call is one name, used once."""
    specs = []
    names: set[str] = set()
    for shape, dtype in described:
        sizes = [parse_size(_text(d)) for d in shape]
        for size in sizes:
            if isinstance(size, Dim):
                plain = size.atom is not None and not size.atom.recipe and size.atom.name not in names
                _require(plain and size.atom is not None, f"an argument has the size {size}")
                names.add(str(size))
        specs.append(TensorSpec(sizes, _dtype(dtype)))
    return specs


def _dtype(name: Any) -> np.dtype:
    dtype = as_dtype(_text(name))
    _require(dtype.kind in "biufcV", f"an argument is of {dtype}")
    return dtype


def _atoms(specs: Sequence[TensorSpec]) -> list[tuple[str, int, int]]:
    """Where the sizes are read: name, argument, axis."""
    sizes = [(size, k, axis) for k, spec in enumerate(specs) for axis, size in enumerate(spec.shape)]
    return [(str(size), k, axis) for size, k, axis in sizes if isinstance(size, Dim)]


class _Loading:
    """Objects from what a file holds."""

    def __init__(self, arrays: Mapping[str, np.ndarray], limit: int):
        self.arrays = arrays
        self.limit = limit
        self.made: dict[str, Variable] = {}
        self.constants: dict[str, np.ndarray] = {}

    def object(self, described: Any) -> LoadedModel:
        parts, functions, signatures = _described(described, "parts", "functions", "signatures")
        model = LoadedModel()
        for name, part in parts.items():
            setattr(model, _attribute(name), self.part(part))
        for name, f in functions.items():
            model.__dict__[_attribute(name)] = self.function(name, f)
        model.signatures = {
            _text(name): LoadedSignature(self.function(name, f)) for name, f in signatures.items()
        }
        return model

    def part(self, described: Any) -> Any:
        """The inverse of `_Saving.part`; None stands for what was neither Variable nor Module."""
        match described:
            case None:
                return None
            case ["variable", variable]:
                return self.variable(variable)
            case ["object", inner]:
                return self.object(inner)
            case ["dict", items]:
                return {decoded(key): self.part(part) for key, part in items}
            case ["tuple" | "list" as kind, items]:
                parts = [self.part(part) for _, part in items]
                return tuple(parts) if kind == "tuple" else parts
        raise NotSaved(f"{str(described)[:50]!r} is no part of a model")

    def variable(self, described: Any) -> Variable:
        key, trainable, name = _described(described, "key", "trainable", "name")
        if key not in self.made:
            _require(isinstance(trainable, bool), "a Variable is trainable or not")
            self.made[key] = Variable(self.arrays[key], trainable, name=_text(name))
        return self.made[key]

    def function(self, name: str, described: Any) -> Any:
        given, parameters = _described(described, "traces", "parameters")
        traces = [(t["call"], self.trace(t)) for t in given]
        if len(traces) == 1 and traces[0][0] is None:
            return traces[0][1]
        for call, made in traces:
            values = tuple([decoded(v) for v in call["values"]])
            positions = tuple(call["positions"])
            _require(len(positions) == len(made.input_specs), "a call has as many arrays as its trace")
            floats = tuple(call.get("floats", ()))
            _require(set(floats) <= set(positions), "a call's floats are among its arrays")
            made.arguments = Arguments(decoded_structure(call["structure"]), values, positions, floats)
            made.arguments.nest(made.inputs)  # what is shown to users fits together
            made.signature = None if parameters is None else _signature(parameters)
        signature = _decoded_signature(described.get("signature"))
        return LoadedFunction(name, parameters, signature, [made for _, made in traces])

    def constant(self, key: str) -> np.ndarray:
        """A constant, which is what its name says: objects are known by the names of their constants."""
        if key not in self.constants:
            array = self.arrays[f"constant {key}"]
            _require(Constant.of(array).key == key, f"the constant {key} is another one")
            self.constants[key] = array
        return self.constants[key]

    def trace(self, described: Any) -> Specialization:
        name, text, constants = _described(described, "name", "graph", "constants")
        specs = _specs(described["specs"])
        captured = [Tensor(self.arrays[k]) for k in described["captured"]]
        variables = [self.variable(v) for v in described["variables"]]
        inputs = [*specs, *(t.spec for t in captured), *(v.spec for v in variables)]
        graph = admitted(text, {k: self.constant(k) for k in constants}, inputs, self.limit)
        structure = decoded_structure(described["structure"])
        first = len(specs) + len(captured)
        _require(all(i >= first for i, _ in graph.state), "an argument is assigned to")
        results = len(graph.outputs) - len(graph.state)
        _require(results == count_leaves(structure), f"{results} results in a nest of another size")
        held = [VariableState(v, v.handle, v.handle) for v in variables]
        made = Specialization(_text(name), Traced(graph, captured, held), specs, _atoms(specs), structure)
        made.keeps = variables  # type: ignore[attr-defined]  # nobody else may hold them
        return made


def _decoded_signature(described: list[Any] | None) -> tuple[Any, ...] | None:
    if described is None:
        return None
    structure, specs = described
    return unflatten(
        decoded_structure(structure), [TensorSpec(shape, _dtype(dtype)) for shape, dtype in specs]
    )
