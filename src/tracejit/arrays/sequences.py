"""Several tensors at once, and tensors in parts: names that programs for tapes use, written with others."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.dim import Dim, product
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.spec import as_dtype, broadcast_shapes
from ..core.tensor import Tensor
from ..core.tensor_shape import TensorShape
from ..core.tracing.dispatch import as_tensor
from ..frontend.control.reductions import reduce_sum
from ..frontend.conversion import constant, convert_to_tensor
from ..frontend.creation import known
from ..frontend.creation import shape as shape_as_tensor
from ..ops.arrays.shape import expand_dims, sizes_of, stack
from .cutting import gather
from .selection import as_size, largest
from .slicing import boolean_mask, tensor_scatter_nd_update, where

_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


def identity_n(input: Sequence[Any], name: str | None = None) -> list[Tensor]:
    """Each of the tensors `input` by itself; shapes and dtypes stay. DtypeError for what is no tensor.

    Examples
    --------
    >>> import tracejit as tf
    >>> a, b = tf.identity_n([tf.ones(2), tf.zeros(3)])
    >>> a.shape, b.shape
    (TensorShape([2]), TensorShape([3]))
    """
    return [ops.identity(x) for x in input]


def shape_n(input: Sequence[Any], out_type: Any = _INT32, name: str | None = None) -> list[Tensor]:
    """The shape of each of the tensors `input`, as vectors of integers of `out_type`; DtypeError for no tensors.

    Examples
    --------
    >>> import tracejit as tf
    >>> [shape.numpy().tolist() for shape in tf.shape_n([tf.ones((2, 3)), tf.ones(4)])]
    [[2, 3], [4]]
    """
    return [shape_as_tensor(x, out_type=out_type) for x in input]


def tuple(tensors: Sequence[Any], control_inputs: Any = None, name: str | None = None) -> list[Tensor]:
    """The `tensors` as a list; shapes and dtypes stay. `control_inputs` are ignored: ops run in the order of calls.

    DtypeError for what is no tensor.

    Examples
    --------
    >>> import tracejit as tf
    >>> [x.numpy().tolist() for x in tf.tuple([[1.0, 2.0], 3.0])]
    [[1.0, 2.0], 3.0]
    """
    return [as_tensor(x) for x in tensors]


def no_op(name: str | None = None) -> None:
    """Nothing.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.no_op())
    None
    """


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The elements of `tensor` as an array or a NumPy scalar; None where only the compiled function will know them.

    `partial` is accepted and ignored.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.get_static_value(tf.constant([1.0, 2.0])))
    [1. 2.]
    """
    if getattr(tensor, "is_symbolic", False):
        return None
    return tensor.numpy() if hasattr(tensor, "numpy") else np.asarray(tensor)[()]


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """What the shapes `shape_x` and `shape_y`, of integers, broadcast to; ShapeError where they do not.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.broadcast_static_shape((2, 1), (3,))
    TensorShape([2, 3])
    """
    return TensorShape(broadcast_shapes(sizes_of(shape_x), sizes_of(shape_y)))


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """What `shape_x` and `shape_y` broadcast to, as a vector of int32; ShapeError where they do not.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.broadcast_dynamic_shape([2, 1], [1, 3]))
    tf.Tensor([2 3], shape=(2,), dtype=int32)
    """
    return constant(broadcast_shapes(sizes_of(shape_x), sizes_of(shape_y)), dtype=_INT32)


def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Tensor:
    """The positions of elements by their number in a tensor of shape `dims`, rows first.

    `indices` are integers, whose dtype stays. The first axis of the result has one row per axis of `dims`. IndexError
    where one is not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.unravel_index([5], [2, 3]))
    tf.Tensor(
    [[1]
     [2]], shape=(2, 1), dtype=int32)
    """
    left: Any = convert_to_tensor(indices)
    sizes = sizes_of(dims)
    if not left.is_symbolic and left.array.max(initial=0) >= product(sizes):
        raise IndexError(f"no element {left.array.max()} in the shape {sizes}{at(user_location())}")
    found: list[Any] = []
    for size in reversed(sizes):
        found.append(left % size)
        left = left // size
    return stack(found[::-1], axis=0)


def reverse_sequence(
    input: Any, seq_lengths: Any, seq_axis: int, batch_axis: int = 0, name: str | None = None
) -> Tensor:
    """`input` with the first ``seq_lengths[i]`` elements along `seq_axis` in reverse, for each i of `batch_axis`.

    The dtype stays. ShapeError where there are not as many lengths as examples.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1))
    tf.Tensor(
    [[2 1 3]
     [6 5 4]], shape=(2, 3), dtype=int32)
    """
    x, lengths = convert_to_tensor(input), ops.cast(as_tensor(seq_lengths), dtype=_INT64)
    if len(lengths.shape) != 1 or not lengths.shape == x.shape[batch_axis : batch_axis + 1]:
        raise ShapeError(f"one length per example of {x.spec}, got {lengths.spec}{at(user_location())}")
    sizes = [1] * len(x.shape)
    sizes[batch_axis] = -1
    ends = ops.reshape(lengths, shape=builtins.tuple(sizes))
    sizes[batch_axis], sizes[seq_axis] = 1, -1
    steps = ops.reshape(ops.iota(size=x.shape[seq_axis], dtype=_INT64), shape=builtins.tuple(sizes))
    places = where(ops.less(steps, ends), ends - 1 - steps, steps)
    places = ops.broadcast_to(places, shape=builtins.tuple(x.shape))
    index: list[Any] = []
    for axis, size in enumerate(x.shape):
        wide = [-1 if a == axis else 1 for a in range(len(x.shape))]
        count = ops.reshape(ops.iota(size=size, dtype=_INT64), shape=builtins.tuple(wide))
        index.append(places if axis == seq_axis % len(x.shape) else count)
    return x[builtins.tuple(index)]


def sequence_mask(
    lengths: Any, maxlen: int | None = None, dtype: Any = np.bool_, name: str | None = None
) -> Tensor:
    """For each of `lengths` a row of `maxlen` places (else as many as the largest), of which so many first ones hold.

    Bools, or as `dtype` says. ValueError for lengths that no tensor can be made of.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.sequence_mask([1, 3], dtype=tf.int32))
    tf.Tensor(
    [[1 0 0]
     [1 1 1]], shape=(2, 3), dtype=int32)
    """
    counts: Any = convert_to_tensor(lengths)
    size = as_size(largest(counts, 0)) if maxlen is None else maxlen
    place = ops.iota(size=size if isinstance(size, Dim) else int(size), dtype=_INT64)
    inside = ops.less(place, expand_dims(ops.cast(counts, dtype=_INT64), -1))
    return ops.cast(inside, dtype=as_dtype(dtype))


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """The rows of `data` in `num_partitions` tensors: row i is in number ``partitions[i]``; the dtype stays.

    ShapeError where `partitions`, integers, are not of the first sizes of `data`.

    Examples
    --------
    >>> import tracejit as tf
    >>> [part.numpy().tolist() for part in tf.dynamic_partition([1, 2, 3], [1, 0, 1], 2)]
    [[2], [1, 3]]
    """
    chosen = as_tensor(partitions)
    return [boolean_mask(data, ops.equal(chosen, number)) for number in range(num_partitions)]


def dynamic_stitch(indices: Sequence[Any], data: Sequence[Any], name: str | None = None) -> Tensor:
    """One tensor of the rows of several: row i of tensor k of `data` becomes row ``indices[k][i]``; the dtype stays.

    The largest index, which must be known when this is called, says how many rows there are; those that no index
    names are 0, and of several the last one stays. ShapeError where indices and data do not fit.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.dynamic_stitch([[0, 2], [1]], [[1.0, 3.0], [2.0]]))
    tf.Tensor([1. 2. 3.], shape=(3,), dtype=float32)
    """
    places, rows = [known(i) for i in indices], [convert_to_tensor(d) for d in data]
    rest = builtins.tuple(rows[0].shape[len(places[0].shape) :])
    where_to = np.concatenate([np.reshape(p, (-1, 1)) for p in places])
    values = ops.concat(*[ops.reshape(r, shape=(-1, *rest)) for r in rows], axis=0)
    count = int(where_to.max(initial=-1)) + 1
    whole = ops.fill(shape=(count, *rest), value=0, dtype=values.dtype)
    return tensor_scatter_nd_update(whole, where_to, values)


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: int = 100, dtype: Any = _INT32, name: str | None = None
) -> Tensor:
    """How many `values` there are in each of `nbins` parts of `value_range`, a pair of floats; integers of `dtype`.

    What is outside counts in the first and the last one. DtypeError for values that are no real numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.histogram_fixed_width([1.0, 2.0, 9.0], [0.0, 5.0], nbins=5))
    tf.Tensor([0 1 1 0 1], shape=(5,), dtype=int32)
    """
    x: Any = convert_to_tensor(values)
    ends = convert_to_tensor(value_range, x.dtype)
    low, high = gather(ends, 0), gather(ends, 1)
    part = ops.cast(ops.floor((x - low) / (high - low) * float(nbins)), dtype=_INT64)
    part = ops.reshape(ops.minimum(ops.maximum(part, 0), nbins - 1), shape=(-1, 1))
    numbers = ops.reshape(ops.iota(size=nbins, dtype=_INT64), shape=(1, -1))
    return reduce_sum(ops.cast(ops.equal(part, numbers), dtype=np.dtype(dtype)), axis=0)
