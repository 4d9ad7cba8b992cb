"""Nests under the names that tutorials use: flatten, pack, map, compare.

The walk itself is `frontend.structure`; here None is a leaf, as these names promise, and errors are those of the
field: ValueError for another shape of nest, TypeError for another class. Knows no tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeVar

from .core.errors import at, user_location
from .frontend.nodes import NodeClass
from .frontend.structure import LEAF, NONE, Nest, Structure, in_order, kind_of, node_of, text, unflatten
from .frontend.structure import flatten as taken_apart
from .frontend.structure import register as _register

_T = TypeVar("_T")


def _with_none(structure: Structure, leaves: Iterator[Any], flat: list[Any]) -> Structure:
    """The structure in which None is a leaf like any other; its leaves go to `flat`."""
    if not isinstance(structure, Nest):
        flat.append(next(leaves))
        return LEAF
    if structure == NONE:
        flat.append(None)
        return LEAF
    return structure._replace(children=tuple([_with_none(c, leaves, flat) for c in structure.children]))


def _analysed(nest: Any, none_is_leaf: bool = True) -> tuple[list[Any], Structure]:
    leaves, structure = taken_apart(nest)
    if not none_is_leaf:
        return leaves, structure
    flat: list[Any] = []
    return flat, _with_none(structure, iter(leaves), flat)


def as_text(nest: Any) -> str:
    """The structure of `nest` as a person reads it, with ``*`` for a leaf.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nest.as_text({"b": 1.0, "a": [2, None]}))
    {'a': [*, *], 'b': *}
    """
    return text(_analysed(nest)[1])


def is_nested(structure: Any) -> bool:
    """Is `structure` a list, tuple, named tuple, dict, dataclass or object of a registered class?

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.nest.is_nested([1]), tf.nest.is_nested("text")
    (True, False)
    """
    return structure is not None and (kind_of(structure) is not None or node_of(structure) is not None)


def flatten(structure: Any, expand_composites: bool = False, none_is_leaf: bool = True) -> list[Any]:
    """The leaves in order, dicts by sorted keys; what is no nest is its own only leaf.

    Parameters
    ----------
    structure : nest
        Lists, tuples, named tuples and dicts of anything.
    expand_composites : bool
        Accepted for programs written for other libraries, and ignored.
    none_is_leaf : bool
        False: None is a nest without leaves.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.nest.flatten({"b": 1, "a": [2, None]})
    [2, None, 1]
    """
    return _analysed(structure, none_is_leaf)[0]


def register_node(
    cls: type[_T],
    flatten_func: Callable[[_T], tuple[Sequence[Any], Hashable]],
    unflatten_func: Callable[[Any, Sequence[Any]], _T],
) -> type[_T]:
    """Let objects of a class be nests: passed, returned, differentiated and mapped over as tuples are.

    Dataclasses need no registration, but for those with ``eq=False``: their fields are the children, without those
    whose ``metadata`` say ``static=True`` and those that hold strings or functions.

    Parameters
    ----------
    cls : type
        Objects of exactly this class.
    flatten_func : callable
        ``object -> (children, static)``: nests of tensors, in an order that is always the same, and what else makes the
        object; that is part of the program, by equality, and must be hashable.
    unflatten_func : callable
        ``(static, children) -> object``. Children may be gradients, None, or what stands for numbers while a function
        is being traced: it should put them in their places and check nothing.

    Returns
    -------
    type
        The class.

    Raises
    ------
    TypeError
        When `cls` is no class, or one of Python's own nests.

    Examples
    --------
    >>> import tracejit as tf
    >>> class Line:
    ...     def __init__(self, slope, offset):
    ...         self.slope, self.offset = slope, offset
    >>> _ = tf.nest.register_node(
    ...     Line, lambda line: ((line.slope, line.offset), None), lambda static, children: Line(*children)
    ... )
    >>> slope = tf.function(tf.grad(lambda line: line.slope**2 + line.offset))(Line(3.0, 1.0)).slope
    >>> print(slope)
    tf.Tensor(6.0, shape=(), dtype=float32)
    """
    if not isinstance(cls, type) or cls in (tuple, list, dict, type(None)):
        raise TypeError(f"register_node takes a class of yours, not {cls!r}{at(user_location())}")
    _register(cls, NodeClass(flatten_func, unflatten_func))
    return cls


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any], expand_composites: bool = False) -> Any:
    """Put leaves into a nest like `structure`: the inverse of :func:`flatten`. `expand_composites` is accepted.

    Raises
    ------
    TypeError
        When `flat_sequence` is no list or tuple.
    ValueError
        When it has more or fewer leaves than the structure.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.nest.pack_sequence_as({"b": 0, "a": (0, 0)}, [1, 2, 3])
    {'b': 3, 'a': (1, 2)}
    """
    if not is_nested(flat_sequence) or isinstance(flat_sequence, dict):
        raise TypeError(
            f"flat_sequence is a {type(flat_sequence).__name__}, not a list or tuple of leaves"
            f"{at(user_location())}"
        )
    leaves, shape = _analysed(structure)
    if len(flat_sequence) != len(leaves):
        raise ValueError(
            f"the structure {text(shape)} has {len(leaves)} leaves, flat_sequence has {len(flat_sequence)}"
            f"{at(user_location())}"
        )
    return unflatten(shape, flat_sequence)


def map_structure(
    func: Callable[..., Any],
    *structure: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    none_is_leaf: bool = True,
) -> Any:
    """Apply `func` to the leaves of nests of one structure; the result is like the first of them.

    `expand_composites` is accepted.

    Parameters
    ----------
    func : callable
        Takes one leaf of each nest.
    *structure : nests
        At least one.
    check_types : bool
        Lists, tuples and dicts must agree in class too.
    none_is_leaf : bool
        False: None stays None.

    Raises
    ------
    ValueError
        Without a nest, and where structures differ.
    TypeError
        With `check_types`, where classes differ.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.nest.map_structure(lambda a, b: a + b, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    if not structure:
        raise ValueError(f"map_structure takes a function and at least one nest{at(user_location())}")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types)
    (first, shape), *others = [_analysed(s, none_is_leaf) for s in structure]
    columns = [first, *(leaves for leaves, _ in others)]
    return unflatten(shape, [func(*row) for row in zip(*columns, strict=True)])


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise unless the nests `nest1` and `nest2` differ in nothing but their leaves; `expand_composites` is accepted.

    Raises
    ------
    ValueError
        When one has leaves, keys or lengths that the other has not.
    TypeError
        With `check_types`, when classes differ: a list against a tuple.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.nest.assert_same_structure([1, (2, 3)], ["a", ("b", None)])
    """
    a, b = _analysed(nest1)[1], _analysed(nest2)[1]
    difference = _difference(a, b, check_types)
    if difference is not None:
        kind, what = difference
        raise kind(f"the nests differ: {what}, in {text(a)} and {text(b)}{at(user_location())}")


def _difference(a: Structure, b: Structure, check_types: bool) -> tuple[type[Exception], str] | None:
    """The first difference, as the error to raise and what it says."""
    if not isinstance(a, Nest) or not isinstance(b, Nest):
        return None if a is b else (ValueError, f"a leaf stands against {text(b if a is LEAF else a)}")
    if len(a.children) != len(b.children):
        return ValueError, f"{len(a.children)} elements against {len(b.children)}"
    if check_types and not _interchangeable(a.kind, b.kind):
        return TypeError, f"{a.kind.__name__} against {b.kind.__name__}"
    if set(a.keys) != set(b.keys) and bool(a.keys) == bool(b.keys):
        return ValueError, f"the keys {in_order(a.keys)} against {in_order(b.keys)}"
    inner = (_difference(x, y, check_types) for x, y in zip(a.children, b.children, strict=True))
    return next((d for d in inner if d is not None), None)


def _interchangeable(a: type, b: type) -> bool:
    return a is b or (issubclass(a, dict) and issubclass(b, dict))


__all__ = [
    "as_text",
    "assert_same_structure",
    "flatten",
    "is_nested",
    "map_structure",
    "pack_sequence_as",
    "register_node",
]
