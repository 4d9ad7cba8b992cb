"""Arguments of which some are Dask arrays: what a function is compiled for, and what it is called with for each block.

Axes of different arrays that are cut alike have a label in common. An axis whose blocks are all of one size has that
size in the code; others have sizes with names. Knows nothing of tasks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np

import tracejit as tf

from ..core.errors import at, user_location

#: What tells which axes of all arrays are cut alike; one for each axis of an array.
Labels = tuple[Any, ...]
#: The sizes of the blocks along an axis; None where they are not known.
Chunks = tuple[int | None, ...]
#: For the name of a size, the label of its axes and the sizes of their blocks.
Sizes = dict[str, tuple[Any, Chunks]]


class Arguments:
    """Arguments of a call, taken apart.

    Parameters
    ----------
    args : sequence of nests
        With Dask arrays, arrays, Tensors, Variables and numbers. Python's numbers are part of the program.

    Attributes
    ----------
    arrays : list of dask.array.Array
        In the order of the arguments.
    given : list of ndarray or None
        For each array that the code takes its value, the same for every block; None for a block.
    """

    def __init__(self, args: Sequence[Any]):
        self._args = tuple(args)
        self._leaves = [_leaf(x) for x in tf.nest.flatten(self._args)]
        self.arrays: list[da.Array] = [x for x in self._leaves if isinstance(x, da.Array)]
        inputs = [x for x in self._leaves if isinstance(x, (da.Array, np.ndarray))]
        self.given: list[Any] = [None if isinstance(x, da.Array) else x for x in inputs]

    def specs(self, arrays: Sequence[da.Array], labels: Sequence[Labels]) -> tuple[list[Any], Sizes]:
        """The specs of the arguments for blocks of `arrays`; for sizes with names their labels and those of blocks.

        Parameters
        ----------
        arrays : sequence of dask.array.Array
            Those of the arguments, cut anew.
        labels : sequence of tuples
            For each array one label per axis.
        """
        names: dict[tuple[Any, Chunks], str] = {}
        texts = iter(
            [
                _text(x.dtype, [_size(*pair, names) for pair in zip(own, x.chunks, strict=True)])
                for x, own in zip(arrays, labels, strict=True)
            ]
        )
        leaves = [next(texts) if isinstance(x, da.Array) else _spec(x) for x in self._leaves]
        sizes = {name: pair for pair, name in names.items()}
        return list(tf.nest.pack_sequence_as(self._args, leaves)), sizes


def aligned(arrays: Sequence[da.Array], labels: Sequence[Labels]) -> list[da.Array]:
    """The arrays, cut so that axes with the same label have the same blocks; axes of size one have one.

    Raises
    ------
    ShapeError
        Two axes have one label and different sizes.
    """
    first: dict[Any, tuple[int, float]] = {}
    for k, (x, own) in enumerate(zip(arrays, labels, strict=True)):
        for label, size in zip(own, x.shape, strict=True):
            j, other = first.setdefault(label, (k, size)) if size != 1 else (k, size)
            if size != other and not math.isnan(size) and not math.isnan(other):
                raise tf.ShapeError(
                    f"blocks go together, and the shapes {arrays[j].shape} and {x.shape} do not: {other:,} and {size:,}"
                    f"{at(user_location())}"
                )
    pairs = [part for pair in zip(arrays, labels, strict=True) for part in pair]
    return list(da.core.unify_chunks(*pairs)[1]) if pairs else []


def _leaf(x: Any) -> Any:
    """A leaf of the arguments: a Dask array of NumPy's, an array, or what stays as it is."""
    if isinstance(x, da.Array):
        if type(x._meta) is not np.ndarray:
            raise TypeError(
                f"compiled functions take blocks of NumPy arrays, and this Dask array has {type(x._meta).__name__}"
                f"{at(user_location())}"
            )
        return x
    is_array = isinstance(x, (np.ndarray, np.generic, tf.Tensor, tf.Variable))
    return np.array(x) if is_array else x


def _spec(x: Any) -> Any:
    return tf.TensorSpec(x.shape, x.dtype) if isinstance(x, np.ndarray) else x


def _size(label: Any, chunks: Sequence[float], names: dict[tuple[Any, Chunks], str]) -> str:
    """The size of the blocks along an axis: a number where all are alike, else a name."""
    known: Chunks = tuple(None if math.isnan(size) else int(size) for size in chunks)
    if known and known[0] is not None and len(set(known)) == 1:
        return str(known[0])
    return names.setdefault((label, known), f"b{len(names)}")


def _text(dtype: np.dtype, sizes: Sequence[str]) -> str:
    return f"{tf.as_dtype(dtype).name}[{','.join(sizes)}]"
