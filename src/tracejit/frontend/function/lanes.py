"""Lanes of compiled functions: calls of a kind that was made before run in machine code.

A call that went the Python way is written down as tables: where its arrays were among the arguments, what else there
was, what the result is made of, which Variables it reads and assigns. From the next one on the code compares and calls,
in a tenth of the time; whatever differs goes the Python way again. Python decides everything that this does not.
"""

from __future__ import annotations

import struct
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...core import settings
from ...core.dtype import DType
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...runtime.lane import called, entries, probe, room, words
from ...runtime.lane.words import Kind, Nest, Source, Step, Update
from ..recording.direct_calls import lane_code
from ..state.variable import Variable, changing
from ..structure import Leaf, Structure, flatten, in_order, node_of, unflatten
from .parameters import Parameters
from .signature import Call, Weak, admits, open_spec
from .specialization import Specialization

#: Calls that go the Python way before the next one is looked at: after one that was written down, and after one that
#: cannot be, or has been; and those that are worth compiling the lane's code, which is done once per machine.
_SOON, _LATER, _MANY, _NEVER = 2, 64, 1000, 1 << 62
#: How often a function's calls are written down anew since the settings are others, as those of each block are.
_MOST_SETTINGS = 16

_ARRAYS = (np.ndarray, np.generic, Tensor)
_NESTS: dict[Any, int] = {tuple: Kind.TUPLE, list: Kind.LIST, dict: Kind.DICT}
_INSIDE = {Kind.TUPLE: Source.TUPLE, Kind.LIST: Source.LIST, Kind.DICT: Source.DICT}
_SAME = (bool, str, bytes, type(None), type(Ellipsis), type)


def _nest_of(kind: Any) -> int | None:
    """The `Kind` of a nest of that class; None for leaves, and for classes that have something to say."""
    return Kind.TUPLE if _is_plain_record(kind) else _NESTS.get(kind)


def _is_plain_record(kind: Any) -> bool:
    """Is it a class of named tuples as Python makes them, of which objects are made and read as tuples are?"""
    if kind.__bases__ != (tuple,) or not hasattr(kind, "_fields"):
        return False
    own = getattr(kind.__new__, "__code__", None)
    same = ("__init__", "__iter__", "__len__", "__getitem__", "__getattribute__", "__del__")
    return (
        type(kind) is type
        and getattr(own, "co_names", None) == ("_tuple_new",)
        and all(getattr(kind, name, None) is getattr(tuple, name, None) for name in same)
    )


class Unknown(Exception):
    """A call that tables do not describe."""


class Lane:
    """The calls of one function that machine code makes.

    Parameters
    ----------
    function : Function
        It is not kept.
    parameters : Parameters
        Its own.
    slow : callable
        Its ``__call__``, a plain function.
    """

    def __init__(self, function: Any, parameters: Parameters, slow: Any):
        api = called.api(Variable, changing)
        own = type(function).__call__ is slow  # else a subclass has something to say
        able = own and room.has_room(function) and parameters.plain_defaults
        self._entries = entries.Entries(api, slow) if able and api is not None else None
        self._parameters = parameters
        self._settings: Any = None
        self._known: set[Any] = set()
        self._patience, self._waited = _LATER, False

    def offer(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], made: Specialization
    ) -> int:
        """Let machine code make calls like this one, which has just been made; how many to wait before the next."""
        if self._entries is None:
            return _NEVER
        machine = lane_code(self._waited)
        if machine is None:
            self._waited = True
            return _MANY
        leaves, structure = flatten((args, kwargs))  # other threads may change nests meanwhile
        args, kwargs = unflatten(structure, leaves)
        call = self._parameters.described(args, kwargs)
        if made.arguments is not None and made.arguments.floats:
            call = call.with_floats(self._parameters.given(args, kwargs))
        wait = _is_for(made, call) and self._admits(self._entries, machine, call, args, kwargs, made)
        if wait:
            room.call_by(function, machine.call, self._entries.address)
            return wait
        self._patience = min(4 * self._patience, _NEVER)
        return self._patience

    def _admits(
        self,
        table: entries.Entries,
        machine: entries.Code,
        call: Call,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        made: Specialization,
    ) -> int:
        """How many calls to wait, if calls like this one are written down now; else 0."""
        called.know_thread()
        executable = made.ready()
        if executable is None or not entries.serves(executable) or executable.calls_python:
            return 0
        if self._settings is not settings.current():
            if table.forgotten >= _MOST_SETTINGS:
                return 0
            self._settings = settings.current()
            self._known.clear()
            table.forget()
        try:
            reader = _Arguments(call, args, kwargs)
            if reader.key in self._known:
                return _LATER  # its arrays are not as they must be: a column of a matrix, say
            taken = _taken(reader, made)
        except (Unknown, RecursionError):
            return 0
        taken.arguments, taken.names, taken.settings = len(args), tuple(kwargs), self._settings
        shapes = [x.shape for x in (*call.ndarrays(), *made.held_arrays())]
        if not table.add(executable, machine.stop, taken, shapes, executable.constant_bytes):
            return 0
        self._known.add(reader.key)
        return _SOON


def _is_for(made: Specialization, call: Call) -> bool:
    """Is it the trace of a call, and not of what its arguments were a moment ago?"""
    pairs = zip(made.input_specs, call.specs, strict=False)
    return (
        made.arguments == call.arguments
        and all(a.dtype == b.dtype and admits(open_spec(a).shape, b.shape) for a, b in pairs)
        and made.serves([s.shape for s in call.specs])
    )


class _Arguments:
    """The arguments of one call, as steps."""

    def __init__(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]):
        self.steps: list[entries.Row] = []
        self.nests = 0
        self.kept: list[Any] = []
        self.values: list[Any] = []
        self._places = _places(call, args, kwargs)
        self._specs = tuple(call.specs)
        for k, x in enumerate((*args, *kwargs.values())):
            self._look(x, {Step.SOURCE: Source.ARGUMENT, Step.KEY: k}, (k,))
        self._names = tuple(kwargs)
        if self.nests > words.MAX_NESTS:
            raise Unknown

    @property
    def key(self) -> Any:
        """Equal for calls that the same tables describe."""
        return self._names, self._specs, tuple(self.values)

    def _look(self, x: Any, where: entries.Row, path: tuple[Any, ...]) -> None:
        kind = x.__class__
        if node_of(x) is not None:
            raise Unknown
        if _nest_of(kind) is not None:
            self._nest(x, kind, where, path)
        elif isinstance(x, _ARRAYS):
            place = self._places[path]
            self.values.append(place)
            self.steps.append(where | {Step.PLACE: place, Step.ACCEPTS: _instead_of(self._specs[place])})
        elif kind is float and path in self._places:
            place = self._places[path]
            self.values.append((kind, place))
            self.steps.append(
                where | {Step.KIND: Kind.NUMBER, Step.PLACE: place, Step.ACCEPTS: words.A_FLOAT}
            )
        else:
            self.steps.append(where | self._value(x, kind))

    def _nest(self, x: Any, kind: Any, where: entries.Row, path: tuple[Any, ...]) -> None:
        place, self.nests = self.nests, self.nests + 1
        nest: Any = _nest_of(kind)
        named = 0 if kind in _NESTS else id(kind)
        self.kept.append(kind)
        self.values.append((kind, len(x)))
        found = {Step.KIND: nest, Step.PLACE: place, Step.VALUE: len(x), Step.ACCEPTS: named}
        self.steps.append(where | found)
        for key, item in x.items() if kind is dict else enumerate(x):
            word = key
            if kind is dict:
                self.kept.append(key)
                self.values.append(id(key))
                word = id(key)
            self._look(item, {Step.SOURCE: _INSIDE[nest], Step.PARENT: place, Step.KEY: word}, (*path, key))

    def _value(self, x: Any, kind: Any) -> entries.Row:
        """What is no array is part of the program."""
        if kind is float:
            bits = struct.unpack("<q", struct.pack("<d", x))[0]
            self.values.append((kind, bits))
            return {Step.KIND: Kind.FLOAT, Step.VALUE: bits}
        if kind is int and -(1 << 63) <= x < 1 << 63:
            self.values.append((kind, x))
            return {Step.KIND: Kind.INT, Step.VALUE: x}
        if kind in _SAME or isinstance(x, (DType, np.dtype)):
            self.kept.append(x)
            self.values.append((kind, id(x)))
            return {Step.KIND: Kind.SAME, Step.VALUE: id(x)}
        if kind.__eq__ is not object.__eq__ and not isinstance(x, Variable):
            raise Unknown
        try:
            ref = weakref.ref(x)
        except TypeError:
            raise Unknown from None
        self.kept.append(ref)
        self.values.append(Weak(x))
        return {Step.KIND: Kind.REFERENT, Step.VALUE: id(ref)}


def _instead_of(spec: TensorSpec) -> int:
    """What else than an array will do where there is one."""
    dtype = spec.dtype
    number = not spec.shape and dtype.kind in probe.NUMBERS and dtype.itemsize <= 8
    return words.A_TENSOR | words.A_FLOAT64 * (number and dtype == np.float64) | words.A_NUMBER * number


def _places(call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[tuple[Any, ...], int]:
    """Which input the array at each place among the arguments is; places are paths of positions and keys."""
    found = [
        (path, id(x))
        for k, arg in enumerate((*args, *kwargs.values()))
        for path, x in _leaves(arg, (k,))
        if isinstance(x, _ARRAYS) or (x.__class__ is float and call.floats)
    ]
    wanted, given = [id(call.leaves[i]) for i, _ in call.arrays], [x for _, x in found]
    if wanted == given and not kwargs:
        return {path: place for place, (path, _) in enumerate(found)}
    inputs = {x: place for place, x in enumerate(wanted)}
    if len(inputs) < len(wanted) or sorted(wanted) != sorted(given):
        raise Unknown  # something was converted or filled in, or there are several ways to sort them
    return {path: inputs[x] for path, x in found}


def _leaves(x: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The leaves of a nest, in the order of `flatten`, by their places."""
    kind = x.__class__
    if _nest_of(kind) is None:
        yield path, x
        return
    for key in in_order(x) if kind is dict else range(len(x)):
        yield from _leaves(x[key], (*path, key))


def _taken(reader: _Arguments, made: Specialization) -> entries.Taken:
    """All that the tables say of a call but its settings and how its arguments are passed."""
    taken = entries.Taken(list(reader.steps), 0, tensors=True)
    captured, variables = made.captured_arrays, made.variable_references
    first = len(made.input_specs)
    for k, array in enumerate(captured):
        if array.__class__ is not np.ndarray or array.flags.num & words.READABLE != words.READABLE:
            raise Unknown
        taken.steps.append({Step.SOURCE: Source.OBJECT, Step.KEY: id(array), Step.PLACE: first + k})
    for k, ref in enumerate(variables):
        if not isinstance(ref(), Variable):
            raise Unknown
        taken.steps.append({
            Step.SOURCE: Source.VARIABLE, Step.PARENT: reader.nests + k, Step.KEY: id(ref),
            Step.PLACE: first + len(captured) + k, Step.ACCEPTS: words.A_TENSOR,
        })  # fmt: skip
    outputs, updates = made.results_and_updates
    if sorted(output for _, output in updates) != list(range(outputs, outputs + len(updates))):
        raise Unknown
    taken.updates = [
        {Update.VARIABLE: id(variables[v]), Update.KEPT: reader.nests + v, Update.OUTPUT: output}
        for v, output in updates
    ]
    builder = _Results(outputs + len(updates))
    taken.result = builder.place(made.structure)
    taken.nests = builder.nests
    taken.kept = [reader.kept, captured, variables, builder.kept]
    return taken


class _Results:
    """What is made of the outputs, as nests."""

    def __init__(self, outputs: int):
        self.outputs = outputs
        self.nests: list[entries.Row] = []
        self.kept: list[Any] = []
        self._leaves = 0

    def place(self, structure: Structure) -> int:
        """Where what has this structure is, among the outputs and the nests."""
        if isinstance(structure, Leaf):
            self._leaves += 1
            return self._leaves - 1
        kind, keys, children, _ = structure
        if kind is type(None):
            return self._add(Kind.SAME, 0, [])
        nest = _nest_of(kind)
        if nest is None:
            raise Unknown
        places = [self.place(child) for child in children]
        if kind is dict:
            by_key = dict(zip(in_order(keys), places, strict=True))
            self.kept.append(keys)
            places = [word for key in keys for word in (id(key), by_key[key])]
        return self._add(nest, len(children), places, None if kind in _NESTS else kind)

    def _add(self, kind: int, count: int, items: Sequence[int], named: Any = None) -> int:
        if len(self.nests) >= words.MAX_NESTS:
            raise Unknown
        array = np.array(items, np.int64)
        self.kept += [array, named]
        row = {Nest.KIND: kind, Nest.COUNT: count, Nest.ITEMS: array.ctypes.data}
        self.nests.append(row | {Nest.CLASS: 0 if named is None else id(named)})
        return self.outputs + len(self.nests) - 1
