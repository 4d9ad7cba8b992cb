"""What a function is exported for: specs as objects, arrays or text, and the names of C parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from ..core.dim import Dim, Size
from ..core.errors import AT, ShapeError, at, user_location
from ..core.spec import TensorSpec, as_dtype
from ..core.tensor import Tensor
from ..frontend.function.signature import ArgumentError
from ..frontend.state.variable import Variable
from ..frontend.structure import Nest, Structure, flatten, labels, unflatten
from .c_names import is_library_function, is_taken, is_word

_TEXT = re.compile(r"\s*([A-Za-z]+\d*)\s*(?:\[([^\]]*)\])?\s*")
_SHORT = {"f": "float", "i": "int", "u": "uint", "c": "complex"}
_SIZE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TAKEN = re.compile(r"t\d+|max|floordiv|work")  # what sizes and parameters mean already


@dataclass
class Declared:
    """The arguments that a function is exported for.

    Attributes
    ----------
    arguments : list of str
        The names of the arguments.
    args : list
        One nest per argument, with a TensorSpec for each array, in which sizes with a name are None.
    names : list of list of str
        For each argument the parameters that its arrays become.
    paths : list of str
        The way to each array from its argument, ``params.layers.0``.
    shapes : list of tuple
        Of all arrays, in order, with a name for each size that is not known.
    arrays : list of ndarray or None
        What was given as an array.
    taken : set of str
        Names of parameters and sizes.
    """

    arguments: list[str]
    args: list[Any]
    names: list[list[str]]
    paths: list[str]
    shapes: list[tuple[Size, ...]]
    arrays: list[np.ndarray | None]
    taken: set[str]

    @property
    def parameters(self) -> list[str]:
        """The parameters of all arguments."""
        return [name for names in self.names for name in names]


def declared(f: Callable[..., Any], specs: Sequence[Any]) -> Declared:
    """Read the specs of the arguments of `f`; ArgumentError where they are too few or too many."""
    if not isinstance(specs, (list, tuple)):
        raise ShapeError(f"specs are a list, one for each argument, not {specs!r}{at(user_location())}")
    read = [flatten(spec) for spec in specs]
    leaves = [[_read(leaf) for leaf in found] for found, _ in read]
    given = [leaf for found in leaves for leaf in found if isinstance(leaf, _Array)]
    sizes = set(sizes_in(array.shape for array in given))
    made = Declared(_arguments(f, len(specs)), [], [], [], [], [a.array for a in given], sizes)
    made.shapes = [_named(a.shape, made.taken) for a in given]
    for name, found, (_, structure) in zip(made.arguments, leaves, read, strict=True):
        places = [k for k, leaf in enumerate(found) if isinstance(leaf, _Array)]
        names, paths = names_of(structure, name), names_of(structure, name, ".")
        made.names.append([unique(names[k], made.taken) for k in places])
        made.paths += [paths[k] for k in places]
        made.args.append(unflatten(structure, [x.spec if isinstance(x, _Array) else x for x in found]))
    return made


class _Array(NamedTuple):
    """What stands for an array: its spec with None for open sizes, its shape with their names, and itself."""

    spec: TensorSpec
    shape: tuple[Size | None, ...]
    array: np.ndarray | None = None


def _named(shape: Sequence[Size | None], taken: set[str]) -> tuple[Size, ...]:
    return tuple(Dim.of(unique(f"n{len(taken)}", taken)) if s is None else s for s in shape)


def _arguments(f: Callable[..., Any], count: int) -> list[str]:
    """The names of the first positional arguments; ArgumentError where `f` does not take as many."""
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        signature = inspect.Signature([inspect.Parameter("x", inspect.Parameter.VAR_POSITIONAL)])
    try:
        signature.bind(*range(count))
    except TypeError as error:
        name = getattr(f, "__name__", type(f).__name__)
        raise ArgumentError(
            f"{count} specs were given for {name}{signature}, one for each argument is needed: {error}"
            f"{at(user_location())}"
        ) from None
    parameters = list(signature.parameters.values())
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "x")
    return [names[k] if k < len(names) else f"{rest}{k - len(names)}" for k in range(count)]


def _read(leaf: Any) -> Any:
    """What a leaf of the specs stands for; Python's numbers stay what they are."""
    if isinstance(leaf, str):
        return _Array(*parse(leaf))
    if isinstance(leaf, TensorSpec):
        return _Array(leaf, leaf.shape)
    if isinstance(leaf, (np.ndarray, np.generic, Tensor, Variable)):
        array = np.asarray(leaf)
        return _Array(TensorSpec(array.shape, array.dtype), array.shape, array)
    return leaf


def parse(text: str) -> tuple[TensorSpec, tuple[Size | None, ...]]:
    """A spec as text: a dtype, and sizes that are numbers, names or ``?``.

    Examples
    --------
    >>> parse("f64[n,3]")[1]
    (n, 3)
    """
    match = _TEXT.fullmatch(text)
    try:
        if match is None:
            raise TypeError
        short = re.fullmatch(r"([fiuc])(\d+)", match[1])
        dtype = as_dtype(f"{_SHORT[short[1]]}{short[2]}" if short else match[1])
        sizes = tuple(_size(part.strip()) for part in match[2].split(",")) if match[2] else ()
    except (TypeError, ValueError) as error:
        raise ShapeError(
            f"{text!r} is no spec: write a dtype and sizes, such as 'f64[n,3]', 'float32[10]' or 'i64' for one number"
            f"{f' ({str(error).split(AT)[0]})' if str(error) else ''}{at(user_location())}"
        ) from None
    return TensorSpec([s if isinstance(s, int) else None for s in sizes], dtype), sizes


def _size(text: str) -> Size | None:
    if text.isdigit():
        return int(text)
    if text == "?":
        return None
    if not _SIZE.fullmatch(text) or _TAKEN.fullmatch(text) or is_word(text):
        raise ValueError(f"{text!r} is no name for a size")
    return Dim.of(text)


def sizes_in(shapes: Iterable[Sequence[Size | None]]) -> Set[str]:
    """The names of sizes in shapes, in the order of their first appearance."""
    found = (a.name for shape in shapes for s in shape if isinstance(s, Dim) for a in s.atoms())
    return dict.fromkeys(found).keys()


# ---- names ----------------------------------------------------------------------------------------------


def names_of(structure: Structure, name: str, between: str = "_") -> list[str]:
    """A name for each leaf of an argument or result: that of the nest, and the keys and positions that lead there."""
    if not isinstance(structure, Nest):
        return [name]
    pairs = zip(labels(structure), structure.children, strict=True)
    return [path for key, child in pairs for path in names_of(child, f"{name}{between}{key}", between)]


def unique(name: str, taken: set[str]) -> str:
    """A C name like `name` that nothing has yet."""
    found = re.sub(r"\W", "_", name, flags=re.ASCII)
    if found[:1].isdigit() or not found:
        found = f"_{found}"
    while found in taken or is_taken(found):
        found += "_"
    taken.add(found)
    return found


def similar(name: object, known: Iterable[str]) -> str:
    """The end of a message about a name that is not known: the one that was probably meant."""
    close = get_close_matches(str(name), list(known), 1)
    return f": did you mean {close[0]!r}?" if close else ""


def checked_name(name: str) -> str:
    """The name of an exported function; ValueError where C cannot have it."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or is_taken(name):
        raise ValueError(
            f"{name!r} is no name for a C function: write letters, digits and _{at(user_location())}"
        )
    if is_library_function(name):
        raise ValueError(
            f"{name!r} is a function of the C library, which programs that link with this one would no longer call: "
            f"choose another name, {name + '_of'!r} for example{at(user_location())}"
        )
    return name
