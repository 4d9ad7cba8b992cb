"""`map_blocks`: a compiled function of every block of Dask arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import dask.array as da
import numpy as np

import tracejit as tf

from ..aot.exporting import exported_program
from ..aot.targets import DEFAULT
from ..core.dim import Dim, Size, evaluate
from ..core.errors import at, user_location
from ..core.spec import shape_text
from ..frontend.structure import LEAF, unflatten
from .arguments import Arguments, Labels, Sizes, aligned
from .sending import called, in_one_key, name_of


def map_blocks(
    f: Callable[..., Any],
    *args: Any,
    drop_axis: int | Sequence[int] = (),
    new_axis: int | Sequence[int] = (),
    targets: Sequence[str] = DEFAULT,
) -> Any:
    """Call a function on every block of Dask arrays, compiled.

    The function is compiled here, once for all blocks, and dtypes, shapes and chunks of the result are known without
    running it. Variables that it reads have their present values.

    Parameters
    ----------
    f : callable
        A plain or compiled function of as many arguments. It sees one block of each Dask array.
    *args : dask.array.Array, array, Tensor, Variable, number, or nests of them
        Dask arrays broadcast as NumPy's do, from their last axes; their blocks are cut anew to go together. All else
        is the same for every block. Python's numbers are part of the program.
    drop_axis : int or sequence of int
        Axes of the blocks, counted in the Dask array with the most, that the result has no longer. They must be in one
        block.
    new_axis : int or sequence of int
        Axes of the result that the blocks have not.
    targets : sequence of str
        The processors that workers may have, as for :func:`tracejit.export`.

    Returns
    -------
    dask.array.Array or nest of them
        As `f` returns: nothing is computed yet.

    Raises
    ------
    TypeError
        There is no Dask array, or one of other arrays than NumPy's.
    ShapeError
        Arrays do not broadcast; the number of axes is not that of the blocks, or their sizes depend on where a block
        is.
    NotExportable
        `f` needs Python, assigns Variables or draws random numbers: ``dask.array.map_blocks`` calls it as it is.

    Examples
    --------
    >>> import dask.array as da, numpy as np, tracejit.dask as td
    >>> x = da.from_array(np.arange(6.0).reshape(3, 2), chunks=(2, 2))
    >>> y = td.map_blocks(lambda block, scale: block * scale, x, np.array([1.0, 10.0]))
    >>> y.chunks, y.compute().tolist()
    (((2, 1), (2,)), [[0.0, 10.0], [2.0, 30.0], [4.0, 50.0]])
    """
    taken = Arguments(args)
    if not taken.arrays:
        raise TypeError(f"map_blocks is for Dask arrays, and there is none{at(user_location())}")
    labels = [tuple(range(x.ndim))[::-1] for x in taken.arrays]
    arrays = aligned(taken.arrays, labels)
    specs, sizes = taken.specs(arrays, labels)
    made = exported_program(
        f, specs, name=name_of(f), outputs=("value",), targets=targets, sample=False, keep_graph=False
    )
    grid = _Grid.of(arrays, labels)
    kept = grid.without(_axes(drop_axis, len(grid.labels), "drop_axis"))
    results = made.artifact.results
    places = [_placed(shape, grid, kept, new_axis, sizes) for _, shape in results]
    single = made.structure == LEAF
    together = _Place(kept, {}, {})
    one = _as_keywords(places[0], results[0][0]) if single else _as_keywords(together, np.dtype(object))
    whole = da.blockwise(
        _single_result if single else _all_results,
        (places[0] if single else together).labels,
        *[part for pair in zip(arrays, labels, strict=True) for part in pair],
        token=made.artifact.name,
        align_arrays=False,
        concatenate=True,
        code=in_one_key(made.artifact),
        given=taken.given,
        **one,
    )
    if single:
        return whole
    parts = [
        da.blockwise(itemgetter(k), place.labels, whole, kept, **_as_keywords(place, dtype))
        for k, (place, (dtype, _)) in enumerate(zip(places, results, strict=True))
    ]
    return unflatten(made.structure, parts)


def _all_results(*blocks: Any, code: Any, given: Any) -> tuple[np.ndarray, ...]:
    return called(code, given, blocks)


def _single_result(*blocks: Any, code: Any, given: Any) -> np.ndarray:
    return called(code, given, blocks)[0]


# ---- where results go -----------------------------------------------------------------------------------


class _Grid(NamedTuple):
    """The blocks of all arrays together: labels of axes, the last is 0, and how many blocks each has."""

    labels: Labels
    counts: dict[Any, int]

    @staticmethod
    def of(arrays: Sequence[da.Array], labels: Sequence[Labels]) -> _Grid:
        counts: dict[Any, int] = {}
        for x, own in zip(arrays, labels, strict=True):
            for label, count in zip(own, x.numblocks, strict=True):
                counts[label] = max(count, counts.get(label, 0))
        return _Grid(max(labels, key=len), counts)

    def without(self, dropped: Sequence[int]) -> Labels:
        """The labels of the axes that are kept; ShapeError where one that is dropped has several blocks."""
        for axis in dropped:
            count = self.counts[self.labels[axis]]
            if count != 1:
                raise tf.ShapeError(
                    f"drop_axis={axis} is cut into {count} blocks, of which each would give a result: make them one "
                    f"first, x.rechunk({{{axis}: -1}}){at(user_location())}"
                )
        return tuple(label for axis, label in enumerate(self.labels) if axis not in dropped)


class _Place(NamedTuple):
    """Where the blocks of a result go: the labels of its axes, sizes along them, and sizes of new axes."""

    labels: Labels
    chunks: dict[Any, tuple[float, ...]]
    new: dict[Any, int]


def _axes(given: int | Sequence[int], ndim: int, name: str) -> list[int]:
    axes = [given] if isinstance(given, int) else list(given)
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise tf.ShapeError(f"{name}={axis} is no axis of {ndim}{at(user_location())}")
    return [axis % ndim for axis in axes]


def _placed(
    shape: Sequence[Size], grid: _Grid, kept: Labels, new_axis: int | Sequence[int], sizes: Sizes
) -> _Place:
    """Where the blocks of a result with this shape go."""
    labels = list(kept)
    count = 1 if isinstance(new_axis, int) else len(new_axis)
    for axis in sorted(_axes(new_axis, len(kept) + count, "new_axis")):
        labels.insert(axis, -1 - axis)  # a label that no axis of a block has
    if len(labels) != len(shape):
        raise tf.ShapeError(
            f"blocks of {len(grid.labels)} axes become {shape_text(shape)}: say which axes are gone or new, with "
            f"drop_axis and new_axis{at(user_location())}"
        )
    chunks, new = {}, {}
    for label, size in zip(labels, shape, strict=True):
        if label in kept:
            chunks[label] = _chunks(size, label, grid.counts[label], sizes)
        else:
            new[label] = int(_chunks(size, label, 1, sizes)[0])
    return _Place(tuple(labels), chunks, new)


def _chunks(size: Size, label: Any, count: int, sizes: Sizes) -> tuple[float, ...]:
    """The sizes of a result's blocks along an axis; nan where they are not known."""
    names = [atom.name for atom in size.atoms()] if isinstance(size, Dim) else []
    if any(sizes[name][0] != label for name in names):
        raise tf.ShapeError(
            f"an axis of the result has the size {size}, which depends on blocks along another axis"
            f"{at(user_location())}"
        )
    each = zip(*(sizes[name][1] for name in names), strict=True) if names else [()] * count
    return tuple(
        float("nan") if None in known else evaluate(size, dict(zip(names, known, strict=True)))
        for known in each
    )


def _as_keywords(place: _Place, dtype: np.dtype) -> dict[str, Any]:
    """What ``dask.array.blockwise`` is told of a result."""
    meta = np.empty((0,) * len(place.labels), dtype)
    return {"adjust_chunks": place.chunks, "new_axes": place.new, "dtype": dtype, "meta": meta}
