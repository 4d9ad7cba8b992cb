"""`value_and_grad` of a sum or mean over the blocks of Dask arrays: one task per block, then a tree of additions.

The tree depends on the number of blocks alone, so the result does not depend on the number of workers, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.base import compute
from dask.delayed import Delayed, delayed

import tracejit as tf

from ..aot.exporting import Exported, exported_program
from ..aot.targets import DEFAULT
from ..core.errors import at, user_location
from .arguments import Arguments, aligned
from .sending import called, in_one_key, name_of

#: What a task gives: the number of rows, then value and gradients, each a sum over these rows or blocks.
Part = list[Any]


def value_and_grad(
    f: Callable[..., Any],
    argnums: int | Sequence[int] | Sequence[tf.Variable] = 0,
    *,
    reduction: str = "sum",
    split_every: int = 8,
    targets: Sequence[str] = DEFAULT,
) -> BlockSum:
    """The value and the gradient of a function, summed over the blocks of Dask arrays.

    `f` is compiled here, once for all blocks. Workers compute value and gradient of their blocks, and add them up in a
    tree; only the sums come back.

    Parameters
    ----------
    f : callable
        A plain or compiled function that gives one float for blocks of rows. Variables that it reads have their present
        values whenever the result is called.
    argnums : int, sequence of int, or sequence of Variable
        The arguments to differentiate by: arrays or nests of them, the same for all blocks; or Variables that `f`
        reads.
    reduction : {"sum", "mean"}
        The sum over the blocks, or their mean weighted by rows, which is right where `f` is itself a mean over rows.
    split_every : int
        How many sums one task adds up, at least 2.
    targets : sequence of str
        The processors that workers may have, as for :func:`tracejit.export`.

    Returns
    -------
    BlockSum
        Called with the arguments of `f`, Dask arrays among them, it gives value and gradient as NumPy arrays;
        ``.delayed`` gives them as one Delayed. Rows are the first axes of Dask arrays; other axes are put in one block.

    Raises
    ------
    ValueError
        For another reduction, `split_every` less than 2, or an argument that is differentiated and has Dask arrays.
    NotExportable
        `f` needs Python, assigns Variables or draws random numbers.

    Examples
    --------
    >>> import dask.array as da, numpy as np, tracejit as tf, tracejit.dask as td
    >>> x = da.from_array(np.arange(5.0), chunks=2)
    >>> total = td.value_and_grad(lambda w, x: tf.reduce_sum((w * x) ** 2))
    >>> value, gradient = total(np.array(3.0), x)
    >>> float(value), float(gradient)
    (270.0, 180.0)
    """
    if reduction not in ("sum", "mean"):
        raise ValueError(f"reduction is 'sum' or 'mean', got {reduction!r}{at(user_location())}")
    if split_every < 2:
        raise ValueError(f"split_every is at least 2, got {split_every}{at(user_location())}")
    wanted = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if not wanted:
        raise ValueError(f"argnums is empty: name an argument or a Variable{at(user_location())}")
    return BlockSum(f, wanted, isinstance(argnums, int), reduction == "mean", split_every, tuple(targets))


class BlockSum:
    """What :func:`value_and_grad` gives."""

    f: Callable[..., Any]
    mean: bool
    split_every: int

    def __init__(
        self,
        f: Callable[..., Any],
        wanted: tuple[Any, ...],
        single: bool,
        mean: bool,
        split_every: int,
        targets: tuple[str, ...],
    ):
        self.f, self.mean, self.split_every = f, mean, split_every
        self._wanted, self._single, self._targets = wanted, single, targets
        self._made: dict[str, Exported] = {}

    def __call__(self, *args: Any) -> tuple[np.ndarray, Any]:
        """Value and gradient, by the scheduler that is in force."""
        (result,) = compute(self.delayed(*args))
        return result

    def delayed(self, *args: Any) -> Delayed:
        """Value and gradient as a task: ``(value, gradient)``."""
        positions = self._positions(args)
        args = tuple(_floats(x) if k in positions else x for k, x in enumerate(args))
        parts = self._parts(args)
        while len(parts) > 1:
            groups = [parts[k : k + self.split_every] for k in range(0, len(parts), self.split_every)]
            parts = [delayed(_total, pure=True)(group) if len(group) > 1 else group[0] for group in groups]
        like = [tf.nest.map_structure(lambda _: 0, args[k]) for k in positions]
        return delayed(_finished, pure=True)(parts[0], self.mean, like, self._single)

    def _positions(self, args: Sequence[Any]) -> list[int]:
        numbers = [k for k in self._wanted if isinstance(k, int)]
        bad = [k for k in numbers if not -len(args) <= k < len(args)]
        if bad:
            raise ValueError(f"argnums={bad[0]} of {len(args)} arguments{at(user_location())}")
        return [k % len(args) for k in numbers]

    def _parts(self, args: tuple[Any, ...]) -> list[Delayed]:
        """A task for each block of rows."""
        taken = Arguments(args)
        if not taken.arrays or any(x.ndim == 0 for x in taken.arrays):
            raise ValueError(
                f"sums over blocks need Dask arrays that have rows, got {[x.shape for x in taken.arrays]}"
                f"{at(user_location())}"
            )
        labels = [("rows", *((k, axis) for axis in range(1, x.ndim))) for k, x in enumerate(taken.arrays)]
        whole = [x.rechunk(dict.fromkeys(range(1, x.ndim), -1)) for x in taken.arrays]
        arrays = aligned(whole, labels)
        if len({x.numblocks[0] for x in arrays}) > 1:
            raise tf.ShapeError(
                f"rows go together, and the shapes are {[x.shape for x in arrays]}{at(user_location())}"
            )
        specs, _ = taken.specs(arrays, labels)
        made = self._exported(specs)
        given = delayed([*taken.given, *(np.array(x) for x in made.captures)], traverse=False, pure=True)
        code, task = in_one_key(made.artifact), delayed(_part, pure=True)
        rows = zip(*(x.to_delayed().ravel() for x in arrays), strict=True)
        return [task(code, given, self.mean, *blocks) for blocks in rows]

    def _exported(self, specs: list[Any]) -> Exported:
        key = repr(specs)
        if key not in self._made:
            self._made[key] = exported_program(
                self.f,
                specs,
                name=name_of(self.f),
                outputs=("value", "grad"),
                wrt=self._wanted,
                targets=self._targets,
                constants="argument",
                sample=False,
                keep_graph=False,
            )
        return self._made[key]


def _floats(x: Any) -> Any:
    """A nest to differentiate by: Python's floats as arrays; ValueError for Dask arrays."""

    def array(leaf: Any) -> Any:
        if isinstance(leaf, da.Array):
            raise ValueError(
                f"a Dask array is cut into blocks, and cannot be what is differentiated by: name another argument with "
                f"argnums{at(user_location())}"
            )
        return np.asarray(tf.constant(leaf)) if isinstance(leaf, float) else leaf

    return tf.nest.map_structure(array, x)


# ---- what workers do ------------------------------------------------------------------------------------


def _part(code: Any, given: Sequence[np.ndarray | None], mean: bool, *blocks: np.ndarray) -> Part:
    """Rows, value and gradients of one block; nothing for a mean over no rows."""
    rows = len(blocks[0])
    results = called(code, given, blocks)
    if not mean:
        return [rows, *results]
    return [rows, *(x * x.dtype.type(rows) if rows else np.zeros_like(x) for x in results)]


def _total(parts: Sequence[Part]) -> Part:
    """The sums, from the first to the last."""
    total = list(parts[0])
    for part in parts[1:]:
        total = [a + b for a, b in zip(total, part, strict=True)]
    return total


def _finished(total: Part, mean: bool, like: Sequence[Any], single: bool) -> tuple[np.ndarray, Any]:
    """Value and gradient, in nests like the arguments."""
    rows, *sums = total
    if mean:
        with np.errstate(all="ignore"):
            sums = [x / x.dtype.type(rows) for x in sums]
    value, *gradients = (np.asarray(x) for x in sums)
    if not like:
        return value, gradients
    rest = iter(gradients)
    nests = [tf.nest.map_structure(lambda _: next(rest), nest) for nest in like]
    return value, nests[0] if single else tuple(nests)
