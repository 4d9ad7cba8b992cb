"""Saved models: compiled functions with their Variables in one file, called and differentiated without their source.

What is saved is every trace of every compiled function that an object holds, as graph text, and every Variable. The
file holds numbers and text only. Reading one is in `loaded_model`.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import TracejitError, at, user_location
from ..core.ir.attributes import NotAdmitted
from ..core.ir.text import constants, to_text
from ..core.spec import TensorSpec
from ..core.tracing.admission import admitted
from ..frontend.function.any_rank import AnyRank
from ..frontend.function.function import Function
from ..frontend.function.methods import BoundFunction
from ..frontend.function.specialization import Specialization
from ..frontend.state.module import Module, children
from ..frontend.state.variable import Variable
from ..frontend.structure import flatten, kind_of
from ..train.checkpoint import store
from .nests import encoded

FILE = "saved_model.tracejit"
FORMAT = "2"
#: Where an ``input_signature`` leaves the rank open and nothing was called, these are traced.
RANKS = range(5)


class NotSaved(TracejitError, ValueError):
    """Something that a saved model cannot hold, or does not.

    Examples
    --------
    >>> import tracejit as tf
    >>> try:
    ...     tf.saved_model.load("nowhere")
    ... except tf.saved_model.NotSaved as error:
    ...     print(type(error).__name__)
    NotSaved
    """


class SaveOptions:
    """Options of :func:`save`, accepted for programs written for other libraries: custom gradients are always saved.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.saved_model.SaveOptions(experimental_custom_gradients=True).options
    {'experimental_custom_gradients': True}
    """

    def __init__(self, **options: Any):
        self.options = options


def save(
    obj: Any, export_dir: str | os.PathLike[str], signatures: Any = None, options: SaveOptions | None = None
) -> str:
    """Save the compiled functions and the Variables of an object.

    Saved are the traces that exist: those of earlier calls, of ``get_concrete_function``, and the one of an
    ``input_signature``; where that leaves a rank open and nothing was called, one for each rank up to 4 that the
    function takes. Attributes that are Modules are saved with theirs. Of a network, whose call is no compiled function,
    its inference is saved, for any number of examples, also as the signature ``serving_default``.

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
        not made of numbers, strings, lists, tuples and dicts; or it prints, or calls ops declared by the program, which
        files must not.

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
    called = None if "__call__" in root["functions"] else getattr(obj, "call_to_save", lambda: None)()
    if called is not None:
        root["functions"]["__call__"] = kept = saving.function(called, "the network")
        root["signatures"].setdefault("serving_default", kept)
    if not saving.traces:
        raise NotSaved(
            "there is no compiled function with a trace to save: call it first, or give it an input_signature"
            f"{at(user_location())}"
        )
    folder = Path(export_dir)
    folder.mkdir(parents=True, exist_ok=True)
    store.write(folder / FILE, saving.arrays, {"format": FORMAT, "model": json.dumps(root)})
    return str(folder / FILE)


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
        record: dict[str, Any] = {"functions": {}, "parts": {}, "signatures": {}}
        if isinstance(obj, (Function, BoundFunction)):
            record["functions"]["__call__"] = self.function(obj, "the function")
            return record
        for name, value in _functions(obj):
            described = self.function(value, f"{path}{name}")
            if described["traces"]:
                record["functions"][name] = described
        attributes = (
            children(obj) if isinstance(obj, Module) else sorted(getattr(obj, "__dict__", {}).items())
        )
        self.around.append(id(obj))
        parts = {name: self.part(value, f"{path}{name}.") for name, value in attributes}
        self.around.pop()
        record["parts"] = {name: part for name, part in parts.items() if part is not None}
        return record

    def part(self, value: Any, path: str) -> list[Any] | None:
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
        if len({json.dumps(key) for key, _ in items}) < len(items):
            raise NotSaved(
                f"two keys of {path[:-1]} are the same in a file: name one of them otherwise{at(user_location())}"
            )
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
        graph = made.opened
        table = constants(graph)
        self.arrays.update({f"constant {k}": a for k, a in table.items()})
        try:
            admitted(to_text(graph), table, [v.spec for v in graph.inputs])
        except NotAdmitted as error:
            raise NotSaved(f"cannot save a trace of {path}: {error}{at(user_location())}") from None
        made.require_its_own()
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
            "graph": to_text(graph),
            "constants": sorted(table),
            "specs": [_spec(s) for s in made.input_specs],
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


def _parameters(signature: inspect.Signature | None) -> list[Any] | None:
    """Names and plain defaults of the parameters, so that keywords work after loading."""
    if signature is None:
        return None
    parameters = []
    for p in signature.parameters.values():
        plain = isinstance(p.default, (int, float, str, type(None)))
        if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) or (
            p.default is not p.empty and not plain
        ):
            return None
        parameters.append([p.name] if p.default is p.empty else [p.name, encoded(p.default)])
    return parameters


def _encoded_call(key: Any) -> dict[str, Any]:
    structure, values, positions, floats = key
    return {
        "structure": encoded(structure),
        "values": [encoded(v) for v in values],
        "positions": list(positions),
        **({"floats": list(floats)} if floats else {}),
    }


def _spec(s: TensorSpec) -> list[Any]:
    return [[str(d) for d in s.shape], s.dtype.name]


def _encoded_signature(signature: tuple[Any, ...] | None) -> list[Any] | None:
    """An ``input_signature``: its structure, and per TensorSpec a shape, in which None is open, and a dtype."""
    if signature is None:
        return None
    specs, structure = flatten(signature)
    return [encoded(structure), [[list(s.shape) if s.ranked else None, s.dtype.name] for s in specs]]
