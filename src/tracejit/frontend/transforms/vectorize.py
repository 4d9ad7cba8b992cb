"""vmap and vectorized_map: a function of one example as a function of many.

The function is traced once with the specs of one example, and its graph is replayed with all of them, see
``core.batching``. Nothing here knows how an op is batched.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...core.autodiff.batching import Batch, batch_replay
from ...core.dim import Size, same
from ...core.errors import ShapeError, SymbolicValue, TracejitError, at, user_location
from ...core.op import ops
from ...core.protocols import P, R
from ...core.spec import TensorSpec
from ...core.tensor import Tensor, twin
from ...core.tracing.dispatch import as_tensor
from ...core.tracing.trace import Traced, VariableState, trace
from ...core.tracing.transaction import Whole, handled
from ...ops.batch import moved
from ...ops.tensor.memory.storage import require_seen
from ..autograph import operators as autograph
from ..autograph.array_writers import traced_with_arrays
from ..autograph.calls import explained
from ..autograph.flow.shared_lists import Links
from ..autograph.values.kinds import TraceError
from ..function.specialization import converted
from ..structure import (
    Nest,
    Structure,
    children_like,
    count_leaves,
    flatten,
    in_order,
    kind_of,
    text,
    unflatten,
)


def vmap(f: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0, axis_size: Any = None) -> Callable[P, R]:
    """The function that applies `f` to every example of a batch at once.

    `f` is traced for one example, and each of its operations is run for all of them together: a product of a matrix
    and a vector becomes one product of matrices. Loops and conditions may differ between examples, also those written
    as Python's ``while`` and ``if``: a loop runs as long as any example goes on. Derivatives, tapes, compiled functions
    and other `vmap` may stand inside and outside.

    Parameters
    ----------
    f : callable
        Takes and returns nests of tensors, those of one example.
    in_axes : int, None or sequence
        The axis of each argument along which the examples lie; None for an argument that all examples share. One for
        all arguments, or a sequence with an entry per argument, which may be a nest like the argument itself.
        Keyword arguments have their examples along axis 0.
    out_axes : int, None or nest
        Where the axis of the examples stands in the results: one for all, or a nest like the result. None for a
        result that does not depend on the example.
    axis_size : int, optional
        The number of examples; needed where no argument has any.

    Returns
    -------
    callable
        Takes the arguments of `f`, those with examples with one axis more.

    Raises
    ------
    ShapeError
        The numbers of examples differ, an argument has no such axis, or a number of rows differs between examples.
    ValueError
        `in_axes` or `out_axes` do not fit the arguments or the result.

    Notes
    -----
    Random numbers are different in each example. A Variable may be assigned, but not a value per example.

    Examples
    --------
    >>> import tracejit as tf
    >>> w = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> print(tf.vmap(lambda x: tf.dot(w, x))(tf.constant([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])))
    tf.Tensor(
    [[1. 3.]
     [2. 4.]
     [3. 7.]], shape=(3, 2), dtype=float32)

    The gradient of each example:

    >>> print(tf.vmap(tf.grad(lambda x, a: a * x * x), in_axes=(0, None))(tf.constant([1.0, 2.0]), 3.0))
    tf.Tensor([ 6. 12.], shape=(2,), dtype=float32)
    """

    @functools.wraps(f, updated=())
    def batched(*args: Any, **kwargs: Any) -> Any:
        axes = _argument_axes(in_axes, args, kwargs)
        leaves, structure = flatten((args, kwargs))
        tensors = [x if a is None else as_tensor(x) for x, a in zip(leaves, axes, strict=True)]
        size = _batch_size(tensors, axes, axis_size, (args, kwargs))
        mapped = [_lanes_first(x, a, size) for x, a in zip(tensors, axes, strict=True) if a is not None]
        one = _One(f, structure, tensors, [a is not None for a in axes])
        outputs, lanes = one.batched(mapped, size)
        given = {id(x) for x in tensors}  # what comes back as it was given is another tensor: it may be written to
        outputs = [twin(y) if id(y) in given else y for y in outputs]
        return _results(outputs, lanes, one.structure, out_axes, size)

    return batched


def vectorized_map(
    fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """Apply `fn` to every element along the first axis of `elems`, all at once; see :func:`vmap`.

    Parameters
    ----------
    fn : callable
        From a nest like `elems`, without the first axis, to a nest of tensors.
    elems : nest of tensors
        All of one size along their first axis.
    fallback_to_while_loop, warn : bool
        Accepted for programs written for other libraries, and ignored.

    Returns
    -------
    nest of tensors
        What `fn` returns, stacked.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.vectorized_map(lambda x: tf.reduce_sum(x * x), tf.constant([[1.0, 2.0], [3.0, 4.0]])))
    tf.Tensor([ 5. 25.], shape=(2,), dtype=float32)
    """
    return vmap(fn)(elems)


def _lanes_first(x: Tensor, axis: int, size: Size) -> Tensor:
    """The examples along the first axis, whose size is written as that of the others is."""
    x = moved(x, axis % len(x.shape), 0)
    return x if x.shape[0] == size else ops.reshape(x, shape=(size, *x.shape[1:]))


class _One:
    """The function as it runs for one example.

    Attributes
    ----------
    structure : Structure
        Of what it returns, known when it has been traced.
    """

    def __init__(self, f: Callable[..., Any], arguments: Structure, leaves: list[Any], mapped: list[bool]):
        self.f = f
        self.arguments = arguments
        self.leaves = leaves
        self.mapped = mapped
        self.structure: Structure

    def batched(self, mapped: Sequence[Tensor], size: Size) -> tuple[list[Tensor], list[bool]]:
        """Its results for all examples, and which of them differ between examples."""
        specs = [TensorSpec(x.shape[1:], x.np_dtype) for x in mapped]
        name = getattr(self.f, "__name__", type(self.f).__name__)
        traced = traced_with_arrays(lambda: trace(self.run, specs, name), self.f, self.leaves, set())
        state = [_entry(h, size) for h in traced.held]
        inputs = [*mapped, *traced.captured, *(x for x, _ in state)]
        flags = [*(True for _ in mapped), *(False for _ in traced.captured), *(own for _, own in state)]
        outputs, lanes = batch_replay(traced.graph, inputs, flags, size)
        results = len(outputs) - len(traced.graph.state)
        _assign(traced, outputs[results:], lanes[results:])
        return outputs[:results], lanes[:results]

    def run(self, *rows: Tensor) -> list[Tensor]:
        """Call the function with traced tensors in place of what has examples."""
        row = iter(rows)
        given = [next(row) if m else x for x, m in zip(self.leaves, self.mapped, strict=True)]
        args, kwargs = unflatten(self.arguments, given)
        try:
            with Whole(), Links():
                leaves, self.structure = flatten(autograph.callee(self.f)(*args, **kwargs))
            require_seen()
        except SymbolicValue as error:
            explained(self.f, error)
            raise
        except TraceError as escaping:
            explained(self.f, escaping.error)
            handled(escaping)
            raise escaping.error from None
        return [converted(y) for y in leaves]


# ---- Variables ------------------------------------------------------------------------------------------


def _entry(held: VariableState, size: Size) -> tuple[Tensor, bool]:
    """A Variable's value for the examples, and whether they each have their own, as random states do.

    A generator that each example makes, with its seed, is the same in all.
    """
    split = None if held.local else getattr(held.owner, "split", None)
    return (held.owner.as_kept(), False) if split is None else (split(size), True)


def _assign(traced: Traced, values: Sequence[Tensor], lanes: Sequence[bool]) -> None:
    assigned = [h.owner for h in traced.held if h.assigned]
    for variable, value, own in zip(assigned, values, lanes, strict=True):
        if hasattr(variable, "split"):
            continue  # each example had a state of its own, which ends with it
        if own:
            raise TracejitError(
                f"vmap: {variable.name!r} is assigned a value that differs between examples; return it instead, "
                f"or reduce it and assign it outside{at(user_location())}"
            )
        variable.store(value)


# ---- axes -----------------------------------------------------------------------------------------------


def _argument_axes(in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int | None]:
    """The axis of each leaf of the arguments; None for those that all examples share."""
    if in_axes.__class__ in (tuple, list):
        if len(in_axes) != len(args):
            raise ValueError(
                f"vmap: in_axes has {len(in_axes)} entries and the call {len(args)} positional arguments"
                f"{at(user_location())}"
            )
        per_argument = list(in_axes)
    else:
        per_argument = [in_axes] * len(args)
    axes = [
        axis
        for k, (given, argument) in enumerate(zip(per_argument, args, strict=True))
        for axis in _leaf_axes(given, flatten(argument)[1], f"in_axes[{k}]")
    ]
    return axes + [0] * len(flatten(kwargs)[0])


def _leaf_axes(given: Any, structure: Structure, what: str) -> list[int | None]:
    """An axis, or a nest of axes, for each leaf of a nest."""
    if given is None or given.__class__ is int:
        return [given] * count_leaves(structure)
    if isinstance(structure, Nest) and structure.static is not None:
        values = children_like(structure, given)
        if values is not None:
            pairs = zip(values, structure.children, strict=True)
            return [a for g, s in pairs for a in _leaf_axes(g, s, what)]
    kind = kind_of(given)
    fits = isinstance(structure, Nest) and kind is not None and len(given) == len(structure.children)
    if not fits or (structure.keys and set(given) != set(structure.keys)):  # type: ignore[union-attr]
        raise ValueError(
            f"vmap: {what} is {given!r}, which is neither an int, None nor a nest like {text(structure)}"
            f"{at(user_location())}"
        )
    assert isinstance(structure, Nest)
    values = [given[k] for k in in_order(given)] if structure.keys else list(given)
    return [a for g, s in zip(values, structure.children, strict=True) for a in _leaf_axes(g, s, what)]


def _batch_size(
    tensors: Sequence[Any],
    axes: Sequence[int | None],
    axis_size: Any,
    arguments: tuple[tuple[Any, ...], dict[Any, Any]],
) -> Size:
    """The number of examples, the same along all axes."""
    size, origin = axis_size, "axis_size"
    for k, (x, axis) in enumerate(zip(tensors, axes, strict=True)):
        if axis is None:
            continue
        name = _name_of(k, arguments)
        if not -len(x.shape) <= axis < len(x.shape):
            raise ShapeError(
                f"vmap: {name} is {x.spec} and has no axis {axis} along which examples could lie: give None in "
                f"in_axes for what all examples share{at(user_location())}"
            )
        extent = x.shape[axis]
        if size is None:
            size, origin = extent, f"{name} ({x.spec}, axis {axis})"
        elif not same(size, extent):
            raise ShapeError(
                f"vmap: the numbers of examples differ: {size} in {origin}, {extent} in {name} "
                f"({x.spec}, axis {axis}){at(user_location())}"
            )
    if size is None:
        raise ValueError(f"vmap: no argument has examples; give axis_size{at(user_location())}")
    return size


def _name_of(leaf: int, arguments: tuple[tuple[Any, ...], dict[Any, Any]]) -> str:
    """How a person calls a leaf of the arguments."""
    args, kwargs = arguments
    for name, argument in [*((f"argument {k}", a) for k, a in enumerate(args)), *sorted(kwargs.items())]:
        count = len(flatten(argument)[0])
        if leaf < count:
            return name if count == 1 else f"leaf {leaf} of {name}"
        leaf -= count
    raise IndexError(leaf)


def _results(
    outputs: Sequence[Tensor], lanes: Sequence[bool], structure: Structure, out_axes: Any, size: Size
) -> Any:
    """The results with the axis of the examples where it is asked for."""
    axes = _leaf_axes(out_axes, structure, "out_axes")
    placed = [_placed(y, own, a, size) for y, own, a in zip(outputs, lanes, axes, strict=True)]
    return unflatten(structure, placed)


def _placed(y: Tensor, own: bool, axis: int | None, size: Size) -> Tensor:
    if axis is None:
        if own:
            raise ValueError(
                f"vmap: out_axes is None for a result of {TensorSpec(y.shape[1:], y.np_dtype)} that differs between "
                f"examples{at(user_location())}"
            )
        return y
    whole = y if own else Batch(size, ()).spread(y)
    rank = len(whole.shape)
    if not -rank <= axis < rank:
        raise ShapeError(
            f"vmap: out_axes is {axis} for a result of {TensorSpec(whole.shape[1:], y.np_dtype)} per example"
            f"{at(user_location())}"
        )
    return moved(whole, 0, axis % rank)
