"""Saved models: compiled functions with their Variables in one file, called and differentiated without their source.

What is saved is every trace of every compiled function that an object holds, as graph text, and every Variable. A
loaded function runs these graphs through the same op as any compiled function, so tapes, `grad` and `vmap` work on
it. The file holds numbers and text only: reading one runs no code.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core.dim import parse as parse_size
from ..core.errors import TracejitError, at, user_location
from ..core.graph import Graph
from ..core.spec import TensorSpec
from ..core.tensor import Tensor
from ..core.text import constants, parse, to_text
from ..core.trace import Held, Traced
from ..frontend.any_rank import AnyRank
from ..frontend.function import Function
from ..frontend.methods import BoundFunction
from ..frontend.signature import Arguments, Call, admits
from ..frontend.specialization import Specialization
from ..frontend.structure import flatten, kind_of, unflatten
from ..frontend.variable import Variable
from .checkpoint import store
from .module import Module, children
from .saved_nests import decoded, encoded

FILE = "saved_model.tracejit"
FORMAT = "2"
#: Where an ``input_signature`` leaves the rank open and nothing was called, these are traced.
RANKS = range(5)


class NotSaved(TracejitError, ValueError):
    """Something that a saved model cannot hold, or does not."""


class SaveOptions:
    """Options of :func:`save`, accepted for programs written for other libraries: custom gradients are always saved."""

    def __init__(self, **options: Any):
        self.options = options


def save(
    obj: Any, export_dir: str | os.PathLike[str], signatures: Any = None, options: SaveOptions | None = None
) -> str:
    """Save the compiled functions and the Variables of an object.

    Saved are the traces that exist: those of earlier calls, of ``get_concrete_function``, and the one of an
    ``input_signature``; where that leaves a rank open and nothing was called, one for each rank up to 4 that the
    function takes. Attributes that are Modules are saved with theirs.

    Parameters
    ----------
    obj : Module, compiled function, or any object with such attributes
        A function alone is saved as the attribute ``__call__``.
    export_dir : path
        A folder, made if it is not there. What it held before is replaced in one step, at the end.
    signatures : compiled function, its concrete function, or dict of them, optional
        Further functions, found in ``load(...).signatures``; a single one is called ``serving_default``. Called there,
        they return a dict: their own, or ``output_0``, ``output_1`` … for what they return.
    options : SaveOptions, optional
        Accepted, and ignored.

    Returns
    -------
    str
        The path of the file.

    Raises
    ------
    NotSaved
        There is no trace to save; or a trace depends on a Python object, or returns a structure, that is
        not made of numbers, strings, lists, tuples and dicts.

    Examples
    --------
    >>> import tempfile, tracejit as tf
    >>> class Line(tf.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope = tf.Variable(2.0)
    ...     @tf.function(input_signature=[tf.TensorSpec([None])])
    ...     def __call__(self, x):
    ...         return self.slope * x
    >>> folder = tempfile.mkdtemp()
    >>> _ = tf.saved_model.save(Line(), folder)
    >>> line = tf.saved_model.load(folder)
    >>> print(line(tf.constant([1.0, 2.0])))
    tf.Tensor([2. 4.], shape=(2,), dtype=float32)
    """
    saving = _Saving()
    root = saving.object(obj, "")
    chosen = {"serving_default": signatures} if callable(signatures) else dict(signatures or {})
    root["signatures"] = {name: saving.function(f, f"signatures[{name!r}]") for name, f in chosen.items()}
    if not saving.traces:
        raise NotSaved(
            "there is no compiled function with a trace to save: call it first, or give it an input_signature"
            f"{at(user_location())}"
        )
    folder = Path(export_dir)
    folder.mkdir(parents=True, exist_ok=True)
    store.write(folder / FILE, saving.arrays, {"format": FORMAT, "model": json.dumps(root)})
    return str(folder / FILE)


def load(export_dir: str | os.PathLike[str]) -> Any:
    """What :func:`save` wrote: an object with the same attributes, whose functions compile on first use.

    Returns
    -------
    LoadedModel
        A Module: ``variables`` and ``trainable_variables`` are there, ``signatures`` is a dict.

    Raises
    ------
    NotSaved
        The folder holds no saved model, or one of another format.
    """
    path = Path(export_dir) / FILE
    if not path.exists():
        raise NotSaved(f"there is no saved model in {os.fspath(export_dir)!r}{at(user_location())}")
    arrays, metadata = store.read(path)
    if metadata.get("format") != FORMAT:
        raise NotSaved(
            f"{os.fspath(path)!r} has format {metadata.get('format')}, this version reads {FORMAT}"
            f"{at(user_location())}"
        )
    return _Loading(arrays).object(json.loads(metadata["model"]))


# ---- saving ---------------------------------------------------------------------------------------------


class _Saving:
    """What has been collected for the file."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.variables: list[Variable] = []
        self.traces = 0
        self.around: list[int] = []  # ids of the objects that hold the one being described

    def object(self, obj: Any, path: str) -> dict[str, Any]:
        """An object by its attributes: Variables, functions, and objects that hold some."""
        found: dict[str, Any] = {"functions": {}, "parts": {}, "signatures": {}}
        if isinstance(obj, (Function, BoundFunction)):
            found["functions"]["__call__"] = self.function(obj, "the function")
            return found
        for name, value in _functions(obj):
            described = self.function(value, f"{path}{name}")
            if described["traces"]:
                found["functions"][name] = described
        attributes = (
            children(obj) if isinstance(obj, Module) else sorted(getattr(obj, "__dict__", {}).items())
        )
        self.around.append(id(obj))
        parts = {name: self.part(value, f"{path}{name}.") for name, value in attributes}
        self.around.pop()
        found["parts"] = {name: part for name, part in parts.items() if part is not None}
        return found

    def part(self, value: Any, path: str) -> list | None:
        """A Variable, a Module, or a nest that holds some; None for anything else, and for what contains itself."""
        if isinstance(value, Variable):
            return ["variable", self.variable(value)]
        if isinstance(value, Module):
            return None if id(value) in self.around else ["object", self.object(value, path)]
        kind = kind_of(value)
        if kind is None or value is None:
            return None
        name = next(k.__name__ for k in (dict, list, tuple) if issubclass(kind, k))
        pairs = value.items() if name == "dict" else enumerate(value)
        items = [(_key(key), self.part(x, f"{path}{key}.")) for key, x in pairs]
        return [name, items] if any(part for _, part in items) else None

    def variable(self, v: Variable) -> dict[str, Any]:
        k = next((i for i, known in enumerate(self.variables) if known is v), len(self.variables))
        if k == len(self.variables):
            self.variables.append(v)
            self.arrays[f"variable {k}"] = v.array
        return {"key": f"variable {k}", "name": v.name.removesuffix(":0"), "trainable": v.trainable}

    def function(self, f: Any, path: str) -> dict[str, Any]:
        if isinstance(f, Specialization):
            return {"traces": [self.trace(f, f.arguments, path)], "parameters": _parameters(f.signature)}
        whole = f.function if isinstance(f, BoundFunction) else f
        if whole.input_signature is not None and not whole.traces():
            _trace_for_signature(whole)
        return {
            "traces": [self.trace(made, made.arguments, path) for made in whole.traces()],
            "parameters": _parameters(whole.signature),
            "signature": _encoded_signature(whole.input_signature),
        }

    def trace(self, made: Specialization, key: Any, path: str) -> dict[str, Any]:
        self.traces += 1
        table = constants(made.graph)
        self.arrays.update({f"constant {k}": a for k, a in table.items()})
        captured = []
        for t in made._captured:
            captured.append(f"captured {t.serial}")
            self.arrays[captured[-1]] = t.array
        try:
            call = None if key is None else _encoded_call(key)
            structure = encoded(made.structure)
        except TypeError as error:
            raise NotSaved(f"cannot save a trace of {path}: {error}{at(user_location())}") from None
        return {
            "name": made.name,
            "graph": to_text(made.graph),
            "constants": sorted(table),
            "specs": [_spec(s) for s in made.input_specs],
            "sizes": [list(atom) for atom in made._atoms],
            "structure": structure,
            "captured": captured,
            "variables": [self.variable(v) for v in made.variables()],
            "call": call,
        }


def _key(key: Any) -> Any:
    """A key of a dict as it is kept; as text where a file cannot hold it."""
    try:
        return encoded(key)
    except TypeError:
        return encoded(str(key))


def _trace_for_signature(f: Function) -> None:
    """Trace a function that was not called; where a rank is open, for every small rank that it takes."""
    made = f.get_concrete_function()
    if isinstance(made, AnyRank):
        failures = []
        for rank in RANKS:
            try:
                made.for_rank(rank)
            except TracejitError as error:
                failures.append(error)
        if len(failures) == len(RANKS):
            raise failures[0]


def _functions(obj: Any) -> Iterator[tuple[str, Any]]:
    """The compiled functions among an object's attributes and methods."""
    for name in sorted({*dir(type(obj)), *getattr(obj, "__dict__", {})}):
        held = inspect.getattr_static(obj, name, None)
        if isinstance(held, (Function, BoundFunction)):
            yield name, getattr(obj, name) if isinstance(held, Function) else held


def _parameters(signature: inspect.Signature | None) -> list | None:
    """Names and plain defaults of the parameters, so that keywords work after loading."""
    if signature is None:
        return None
    found = []
    for p in signature.parameters.values():
        plain = isinstance(p.default, (int, float, str, type(None)))
        if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) or (
            p.default is not p.empty and not plain
        ):
            return None
        found.append([p.name] if p.default is p.empty else [p.name, encoded(p.default)])
    return found


def _encoded_call(key: Any) -> dict[str, Any]:
    structure, values, positions = key
    return {
        "structure": encoded(structure),
        "values": [encoded(v) for v in values],
        "positions": list(positions),
    }


def _spec(s: TensorSpec) -> list:
    return [[str(d) for d in s.shape], s.dtype.name]


def _encoded_signature(signature: tuple | None) -> list | None:
    """An ``input_signature``: its structure, and per TensorSpec a shape, in which None is open, and a dtype."""
    if signature is None:
        return None
    specs, structure = flatten(signature)
    return [encoded(structure), [[list(s.shape) if s.ranked else None, s.dtype.name] for s in specs]]


def _decoded_signature(described: list | None) -> tuple | None:
    if described is None:
        return None
    structure, specs = described
    return unflatten(decoded(structure), [TensorSpec(shape, dtype) for shape, dtype in specs])


# ---- loading --------------------------------------------------------------------------------------------


class LoadedModel(Module):
    """What :func:`load` returns."""

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
        self, name: str, parameters: list | None, signature: tuple | None, traces: Sequence[Specialization]
    ):
        def gone(*args: Any, **kwargs: Any) -> Any:
            raise NotSaved(f"{name} was saved without its Python code{at(user_location())}")

        gone.__name__ = gone.__qualname__ = name
        gone.__signature__ = _signature(parameters)  # type: ignore[attr-defined]
        super().__init__(gone, signature)
        self.saved = list(traces)

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

    def _inline(self, args: tuple, kwargs: dict[str, Any]) -> Any:
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


def _signature(parameters: list | None) -> inspect.Signature:
    kind = inspect.Parameter
    if parameters is None:
        return inspect.Signature([kind("args", kind.VAR_POSITIONAL), kind("kwargs", kind.VAR_KEYWORD)])
    return inspect.Signature(
        [
            kind(name, kind.POSITIONAL_OR_KEYWORD, default=decoded(default[0]) if default else kind.empty)
            for name, *default in parameters
        ]
    )


class _Loading:
    """Objects from what a file holds."""

    def __init__(self, arrays: Mapping[str, np.ndarray]):
        self.arrays = arrays
        self.made: dict[str, Variable] = {}

    def object(self, described: dict[str, Any]) -> LoadedModel:
        model = LoadedModel()
        for name, part in described["parts"].items():
            setattr(model, name, self.part(part))
        for name, f in described["functions"].items():
            model.__dict__[name] = self.function(name, f)
        model.signatures = {
            name: LoadedSignature(self.function(name, f)) for name, f in described["signatures"].items()
        }
        return model

    def part(self, described: list | None) -> Any:
        """The inverse of `_Saving.part`; None stands for what was neither Variable nor Module."""
        match described:
            case ["variable", variable]:
                return self.variable(variable)
            case ["object", inner]:
                return self.object(inner)
            case ["dict", items]:
                return {decoded(key): self.part(part) for key, part in items}
            case [kind, items]:
                found = [self.part(part) for _, part in items]
                return tuple(found) if kind == "tuple" else found
        return None

    def variable(self, described: dict[str, Any]) -> Variable:
        key = described["key"]
        if key not in self.made:
            self.made[key] = Variable(self.arrays[key], described["trainable"], name=described["name"])
        return self.made[key]

    def function(self, name: str, described: dict[str, Any]) -> Any:
        traces = [(t["call"], self.trace(t)) for t in described["traces"]]
        if len(traces) == 1 and traces[0][0] is None:
            return traces[0][1]
        parameters = described["parameters"]
        for call, made in traces:
            values = tuple(decoded(v) for v in call["values"])
            made.arguments = Arguments(decoded(call["structure"]), values, tuple(call["positions"]))
            made.signature = None if parameters is None else _signature(parameters)
        signature = _decoded_signature(described.get("signature"))
        return LoadedFunction(name, parameters, signature, [made for _, made in traces])

    def trace(self, described: dict[str, Any]) -> Specialization:
        table = {k: self.arrays[f"constant {k}"] for k in described["constants"]}
        graph: Graph = parse(described["graph"], table)
        captured = [Tensor(self.arrays[k]) for k in described["captured"]]
        variables = [self.variable(v) for v in described["variables"]]
        held = [Held(v, v.handle, v.handle) for v in variables]
        specs = [TensorSpec([parse_size(d) for d in shape], dtype) for shape, dtype in described["specs"]]
        atoms = [(name, position, axis) for name, position, axis in described["sizes"]]
        made = Specialization(
            described["name"], Traced(graph, captured, held), specs, atoms, decoded(described["structure"])
        )
        made.keeps = variables  # type: ignore[attr-defined]  # nobody else may hold them
        return made
