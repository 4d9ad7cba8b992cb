"""What a call of a compiled function is specialised on: structure, dtypes and shapes, and Python values.

A call's leaves are sorted into arrays, which become inputs of the graph, and everything else, which is part of
the program: Python numbers by type and value, Variables and other objects by identity, weakly.
"""

from __future__ import annotations

import inspect
import itertools
import weakref
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import field
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...core.arrays import plain_array
from ...core.dataclass import dataclass
from ...core.dim import Assumptions, Dim, Size, substitute
from ...core.dtype import DTYPES, DType
from ...core.errors import DtypeError, ShapeError, TracejitError, at, user_location
from ...core.spec import TensorSpec, dtype_name
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ..autograph.values.weak import Weak as Number
from ..recording.tracing_types import OfType
from ..state.variable import Variable
from ..structure import Structure, flatten, leaves_like, text, unflatten


class ConcreteTrace(Protocol):
    """What is known of a trace by whoever prints it or binds arguments to it."""

    name: str
    signature: inspect.Signature | None
    arguments: Any
    input_specs: Any

    @property
    def structured_input_signature(self) -> tuple[tuple[Any, ...], dict[str, Any]]: ...

    @property
    def structured_outputs(self) -> Any: ...

    @property
    def captured_inputs(self) -> Any: ...

    def outline(self) -> str: ...


class ArgumentError(TracejitError, TypeError):
    """Arguments that a compiled function cannot be specialised on, or that do not fit its parameters.

    Examples
    --------
    >>> import tracejit as tf
    >>> f = tf.function(lambda x: x)
    >>> try:
    ...     f()
    ... except tf.errors.ArgumentError as error:
    ...     print(type(error).__name__)
    ArgumentError
    """

    __module__ = "tracejit.errors"


class SignatureError(ShapeError, DtypeError):
    """An argument of another shape or dtype than an ``input_signature`` says.

    Examples
    --------
    >>> import tracejit as tf
    >>> f = tf.function(lambda x: x, input_signature=[tf.TensorSpec([2], tf.float32)])
    >>> try:
    ...     f(tf.ones([3]))
    ... except tf.errors.SignatureError as error:
    ...     print(type(error).__name__)
    SignatureError
    """

    __module__ = "tracejit.errors"


class Weak:
    """An object by identity, without keeping it alive. Equal only to a Weak of the same living object."""

    __slots__ = ("ref", "hash")

    def __init__(self, x: Any):
        self.ref: weakref.ref[Any] = weakref.ref(x)
        self.hash: int = id(x)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Weak) and self.ref() is not None and self.ref() is other.ref()


_FLOAT = TensorSpec((), np.float64)
_PLAIN = (str, bytes, int, bool, type(None), type(Ellipsis), DType, type)


def value_key(x: Any) -> Hashable:
    """The part of the cache key that stands for a Python value: 1, True, 1.0 and -0.0, 0.0 all differ."""
    kind = x.__class__
    if kind in _PLAIN:
        return (kind, x)
    if isinstance(x, np.dtype):  # as is the object that stands for it
        return (DType, DTYPES[x])
    if kind is float:
        return (float, x.hex())
    if kind is complex:
        return (complex, x.real.hex(), x.imag.hex())
    if hasattr(kind, "__tf_tracing_type__"):
        return OfType(x)
    if kind.__eq__ is object.__eq__ or isinstance(x, Variable):
        try:
            return Weak(x)
        except TypeError:
            return (kind, x)
    try:
        hash(x)
    except TypeError:
        raise ArgumentError(
            f"an argument of type {kind.__name__} is neither a tensor nor hashable, so a compiled function cannot "
            f"tell one from another; pass {_instead_of(kind)}{at(user_location())}"
        ) from None
    return (kind, x)


def _instead_of(kind: type) -> str:
    if issubclass(kind, set):
        return "a tuple of its items in order"
    return "arrays, numbers, nests or dataclasses, or say by tracejit.nest.register_node what it consists of"


def value_of(key: Any) -> Any:
    """What a :func:`value_key` was made of; None for an object that no longer exists."""
    if isinstance(key, Weak):
        return key.ref()
    if isinstance(key, OfType):
        return key.value
    kind, *parts = key
    if kind is float:
        return float.fromhex(parts[0])
    return complex(*map(float.fromhex, parts)) if kind is complex else parts[0]


class Arguments(NamedTuple):
    """What the calls that one trace serves have in common.

    Attributes
    ----------
    structure : Structure
        Of ``(args, kwargs)``.
    values : tuple of (int, key)
        Position among the leaves, and :func:`value_key`, of everything that is no array.
    places : tuple of int
        Positions of the arrays.
    floats : tuple of int
        Positions of those that are Python floats, each a number that takes the dtype of what it meets.
    """

    structure: Structure
    values: tuple[Any, ...]
    places: tuple[int, ...]
    floats: tuple[int, ...] = ()

    def nest(self, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """``(args, kwargs)`` with these in the places of arrays."""
        leaves = dict(zip(self.places, arrays, strict=True))
        leaves |= {i: value_of(key) for i, key in self.values}
        return unflatten(self.structure, [leaves[i] for i in range(len(leaves))])


@dataclass
class Call:
    """The arguments of one call.

    Attributes
    ----------
    structure : Structure
        Of ``(args, kwargs)``.
    leaves : list
        What the caller gave.
    arrays : list of (int, Tensor or ndarray or TensorSpec)
        Position among the leaves, and the leaf, of everything that becomes an input.
    specs : list of TensorSpec
        Of these, as they are in this call.
    values : tuple
        Keys of all other leaves.
    floats : tuple of int
        Positions of Python floats among `arrays`.
    fitted, assumed
        Sizes that were found for axes that TensorSpecs leave open, by name, and what its last trace took sizes to be.
    """

    structure: Structure
    leaves: list[Any]
    arrays: list[tuple[int, Any]]
    specs: list[TensorSpec]
    values: tuple[Any, ...]
    floats: tuple[int, ...] = ()
    fitted: dict[str, int] = field(default_factory=dict)
    assumed: Assumptions | None = None

    def with_floats(self, given: Any) -> Call:
        """The call with those Python floats as inputs that are leaves of `given`: defaults stay part of the trace."""
        own = [i for i, key in self.values if key.__class__ is tuple and key[0] is float]
        if not own:
            return self
        named = {id(x) for x in flatten(given)[0]}
        floats = [i for i in own if id(self.leaves[i]) in named]
        inputs = {i: (x, spec) for (i, x), spec in zip(self.arrays, self.specs, strict=True)}
        inputs |= {i: (np.asarray(self.leaves[i]), _FLOAT) for i in floats}
        order = sorted(inputs)
        values = tuple([v for v in self.values if v[0] not in inputs])
        arrays, specs = [(i, inputs[i][0]) for i in order], [inputs[i][1] for i in order]
        return Call(self.structure, self.leaves, arrays, specs, values, tuple(floats))

    @property
    def arguments(self) -> Arguments:
        """What this call has in common with others of the same trace."""
        return Arguments(self.structure, self.values, tuple([i for i, _ in self.arrays]), self.floats)

    def group(self) -> Hashable:
        """What calls have in common that differ in sizes only."""
        return (
            self.structure,
            self.values,
            self.floats,
            tuple([(i, s.dtype, len(s.shape)) for (i, _), s in zip(self.arrays, self.specs, strict=True)]),
        )

    def ndarrays(self) -> list[np.ndarray]:
        """The inputs as arrays."""
        return [x.array if isinstance(x, Tensor) else x for _, x in self.arrays]

    def tensors(self) -> list[Tensor]:
        """The inputs as tensors; those given as tensors keep their identity."""
        return [as_tensor(x) for _, x in self.arrays]

    def rebuilt(self, tensors: Sequence[Tensor]) -> list[Any]:
        """The leaves with the inputs replaced."""
        leaves = list(self.leaves)
        for i, key in self.values:
            if key.__class__ is OfType:
                leaves[i] = key.value
        for (position, _), tensor in zip(self.arrays, tensors, strict=True):
            leaves[position] = Number(tensor) if position in self.floats else tensor
        return leaves


def describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Take the arguments of a call apart."""
    leaves, structure = flatten((args, kwargs))
    arrays, specs = [], []
    values: list[tuple[int, Any]] = []
    for i, x in enumerate(leaves):
        if isinstance(x, Tensor):
            specs.append(x.spec)
        elif isinstance(x, (np.ndarray, np.generic)):
            x = plain_array(x) if x.dtype.kind not in "OSU" else as_tensor(x).array
            specs.append(_spec_of(x))
        elif isinstance(x, TensorSpec):
            specs.append(x)
        else:
            values.append((i, value_key(x)))
            continue
        arrays.append((i, x))
    return Call(structure, leaves, arrays, specs, tuple(values))


def _spec_of(array: np.ndarray) -> TensorSpec:
    try:
        return TensorSpec(array.shape, array.dtype)
    except DtypeError as error:
        raise DtypeError(f"{error}{at(user_location())}") from None


# ---- signatures given by the user -----------------------------------------------------------------------


def conform(args: tuple[Any, ...], signature: Sequence[Any], names: Sequence[str] = ()) -> tuple[Any, ...]:
    """Arguments converted to an ``input_signature``; ArgumentError or SignatureError when they do not fit.

    Errors call the arguments by `names`, as far as there are any.
    """
    wanted, structure = flatten(tuple(signature))
    try:
        given = leaves_like(structure, tuple(args))
    except ValueError:
        raise ArgumentError(
            f"the arguments have the structure {text(flatten(tuple(args))[1])}, the input_signature "
            f"{text(structure)}{at(user_location())}"
        ) from None
    pairs = enumerate(zip(given, wanted, strict=True))
    return unflatten(structure, [_fitted(x, s, (i, signature, names)) for i, (x, s) in pairs])


def checked_signature(given: Any) -> tuple[Any, ...]:
    """An ``input_signature`` as a tuple; ArgumentError when it is something else."""
    if not isinstance(given, (list, tuple)):
        raise ArgumentError(
            f"an input_signature is a list or tuple with one TensorSpec per argument, not {type(given).__name__}: "
            f"write [{given!r}]{at(user_location())}"
        )
    for spec in flatten(tuple(given))[0]:
        if not isinstance(spec, TensorSpec):
            raise ArgumentError(
                f"an input_signature consists of TensorSpecs, not {type(spec).__name__} ({spec!r}): write "
                f"tracejit.TensorSpec(shape, dtype){at(user_location())}"
            )
    return tuple(given)


def _fitted(x: Any, spec: TensorSpec, place: tuple[int, Sequence[Any], Sequence[str]]) -> Any:
    if not isinstance(x, TensorSpec):
        x = _converted(x, spec)
    have = x if isinstance(x, TensorSpec) else TensorSpec(x.shape, x.dtype)
    if have.dtype != spec.dtype:
        raise SignatureError(
            f"{_argument(*place)} is {have} where the input_signature says {spec}: write "
            f"tracejit.cast(x, tracejit.{dtype_name(spec.dtype)}){at(user_location())}"
        )
    if not fits(spec, have.shape):
        raise SignatureError(
            f"{_argument(*place)} is {have} and does not fit the input_signature {spec}{at(user_location())}"
        )
    return x


def _argument(leaf: int, signature: Sequence[Any], names: Sequence[str]) -> str:
    """What errors call the argument that the leaf at this position is in."""
    ends = itertools.accumulate(len(flatten(part)[0]) for part in signature)
    position = next(i for i, end in enumerate(ends) if leaf < end)
    return f"argument {names[position]!r}" if position < len(names) else f"argument {position}"


def _converted(x: Any, spec: TensorSpec) -> Any:
    if isinstance(x, (Tensor, Variable)):
        return as_tensor(x)
    if isinstance(x, np.ndarray) and x.dtype == spec.dtype:
        return plain_array(x)
    if x is None:
        raise SignatureError(f"None where the input_signature says {spec}{at(user_location())}")
    return as_tensor(x, spec.dtype)


def fits(spec: TensorSpec, shape: Sequence[Size | None] | None) -> bool:
    """Does a shape fit a spec of a signature, in which None is any size, or in place of the shape any shape?"""
    return not spec.ranked or (shape is not None and admits(spec.shape, shape))


def admits(pattern: Sequence[Size | None], shape: Sequence[Size | None]) -> bool:
    """Does a shape fit a pattern in which None is any size?"""
    return len(pattern) == len(shape) and all(
        p is None or p == s for p, s in zip(pattern, shape, strict=True)
    )


def of_rank(pattern: TensorSpec, rank: int) -> TensorSpec:
    """The pattern for a call: an unknown rank becomes the one the call has, with any sizes."""
    return pattern if pattern.ranked else TensorSpec([None] * rank, pattern.dtype)


def open_spec(spec: TensorSpec) -> TensorSpec:
    """The spec of an input of a trace as users write it: None for each size that is not known before the call."""
    return TensorSpec([s if isinstance(s, int) else None for s in spec.shape], spec.dtype)


# ---- unknown sizes --------------------------------------------------------------------------------------

#: What a size is taken to be while tracing for TensorSpecs alone, where a decision hangs on it: one for all, so that
#: they are equal, and divisible by small numbers. The decision is a guard, as always.
TYPICAL = 12


def entry_specs(patterns: Sequence[TensorSpec]) -> tuple[list[TensorSpec], list[tuple[str, int, int]]]:
    """Specs with an atom ``n0, n1, ...`` for every None, and where each atom is: (name, input, axis)."""
    atoms: list[tuple[str, int, int]] = []
    specs = []
    for i, spec in enumerate(patterns):
        shape: list[Size] = []
        for axis, size in enumerate(spec.shape):
            if size is None:
                name = f"n{len(atoms)}"
                atoms.append((name, i, axis))
                shape.append(Dim.of(name))
            else:
                shape.append(size)
        specs.append(TensorSpec(shape, spec.dtype))
    return specs, atoms


def decided(
    guards: Iterable[tuple[str, Size, Size]], atoms: Sequence[tuple[str, int, int]]
) -> dict[str, Size]:
    """What guards say unknown sizes are: another one or a number, by the atom's name.

    With these put in, a graph says itself which axes broadcast, and equal sizes have one name.
    """
    unknown = {name for name, _, _ in atoms}
    known: dict[str, Size] = {}
    for relation, a, b in guards:
        if relation != "==":
            continue
        left, right = substitute(a, known), substitute(b, known)
        if isinstance(left, int):
            left, right = right, left
        if isinstance(left, Dim) and isinstance(right, int):
            left, right = _alone(left, right)
        name = left.atom.name if isinstance(left, Dim) and left.atom is not None else None
        if left == right or name not in unknown or name in known:
            continue
        if isinstance(right, Dim) and any(atom.name == name for atom in right.atoms()):
            continue
        known = {k: substitute(v, {name: right}) for k, v in known.items()}
        known[name] = right
    return known


def _alone(left: Dim, right: int) -> tuple[Size, int]:
    """The equation with what is added to a size, and what multiplies it, on the other side."""
    added = sum(factor for monomial, factor in left.terms if not monomial)
    rest = left - added
    factor = rest.terms[0][1] if isinstance(rest, Dim) and len(rest.terms) == 1 else 1
    return (rest // factor, (right - added) // factor) if (right - added) % factor == 0 else (left, right)


def relaxed(pattern: TensorSpec, spec: TensorSpec) -> TensorSpec:
    """The pattern with None where the spec differs from it."""
    shape = [p if p == s else None for p, s in zip(pattern.shape, spec.shape, strict=True)]
    return TensorSpec(shape, spec.dtype)


def sizes_at_entry(atoms: Sequence[tuple[str, int, int]], shapes: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """The sizes that the atoms have in a call; where TensorSpecs leave them open, :data:`TYPICAL`."""
    sizes = {name: shapes[i][axis] for name, i, axis in atoms}
    return {name: TYPICAL if size is None else size for name, size in sizes.items()}
