"""NumPy's ways to reshape arrays, to turn and to roll them, and to keep their triangles."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import cutting
from ..core.dim import product
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..frontend.autograph.calls import callee
from ..frontend.transforms.vectorize import vmap
from ..linalg.diagonals import offsets
from ..ops.arrays import shape as shapes
from ..ops.arrays.reduce import axes_of, one_axis, size_tensor
from ..ops.tensor.indexing import get
from .conversion import array, values_of

# ---- shapes ---------------------------------------------------------------------------------------------


def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> Tensor:
    """The elements of `a` in another `shape`, same dtype; one size may be -1. In `order` "F" the first axis is fastest.

    `copy` is accepted: nobody can tell, for tensors do not change. ShapeError where the number of elements differs,
    ValueError for another order.
    """
    x = array(a)
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    if order == "F":
        return transpose(ops.reshape(transpose(x), shape=tuple(reversed(sizes))))
    if order not in ("C", "A", "K"):
        raise ValueError(f"order is 'C' or 'F', got {order!r}{at(user_location())}")
    return ops.reshape(x, shape=sizes)


def ravel(a: Any, order: str = "C") -> Tensor:
    """All elements of `a` in a row, in `order` (see :func:`reshape`), of its dtype; ValueError for another order."""
    x = array(a)
    return reshape(x, x.spec.size, order)


def transpose(a: Any, axes: Sequence[int] | None = None) -> Tensor:
    """`a` with its axes in the order `axes`, backwards unless told; the dtype stays. ShapeError if one is missing."""
    x = array(a)
    rank = len(x.shape)
    order = reversed(range(rank)) if axes is None else (one_axis(int(k), rank) for k in axes)
    return ops.transpose(x, perm=tuple(order))


def moveaxis(a: Any, source: Any, destination: Any) -> Tensor:
    """`a` with the axes `source` at the positions `destination`, same dtype; ShapeError for axes that are not there."""
    x = array(a)
    rank = len(x.shape)
    moved, places = (
        [one_axis(int(k), rank) for k in ([axis] if isinstance(axis, (int, np.integer)) else axis)]
        for axis in (source, destination)
    )
    order = [k for k in range(rank) if k not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        order.insert(place, axis)
    return ops.transpose(x, perm=tuple(order))


def rollaxis(a: Any, axis: int, start: int = 0) -> Tensor:
    """`a` with `axis` in front of the one at `start`; the dtype stays. ShapeError for an axis that is not there."""
    rank = len(array(a).shape)
    axis = one_axis(axis, rank)
    start = start + rank if start < 0 else start
    return moveaxis(a, axis, start - 1 if start > axis else start)


def swapaxes(a: Any, axis1: int, axis2: int) -> Tensor:
    """`a` with `axis1` and `axis2` exchanged; the dtype stays. ShapeError for axes that are not there."""
    x = array(a)
    order = list(range(len(x.shape)))
    i, j = one_axis(axis1, len(order)), one_axis(axis2, len(order))
    order[i], order[j] = j, i
    return ops.transpose(x, perm=tuple(order))


def squeeze(a: Any, axis: Any = None) -> Tensor:
    """`a` without its axes of size 1, or those in `axis`, same dtype; ShapeError where one of those is larger."""
    return shapes.squeeze(array(a), axis)


def expand_dims(a: Any, axis: Any) -> Tensor:
    """`a` with axes of size 1 at the positions `axis`; the dtype stays. ShapeError for positions that are not there."""
    x = array(a)
    if isinstance(axis, (int, np.integer)):
        return shapes.expand_dims(x, int(axis))
    chosen = axes_of(axis, len(x.shape) + len(axis))
    sizes = iter(x.shape)
    return ops.reshape(
        x, shape=tuple([1 if k in chosen else next(sizes) for k in range(len(x.shape) + len(axis))])
    )


def broadcast_to(array_: Any, shape: Any) -> Tensor:
    """`array_` repeated along axes of size 1 and in front, up to `shape`, same dtype; ShapeError if it does not fit."""
    return ops.broadcast_to(array(array_), shape=shapes.sizes_of(shape))


def shape(a: Any) -> tuple[Any, ...]:
    """The sizes of `a`, a tuple."""
    return array(a).shape


def ndim(a: Any) -> int:
    """The number of axes of `a`."""
    return len(array(a).shape)


def size(a: Any, axis: Any = None) -> Any:
    """The number of elements of `a`, or how many there are along `axis`, one or several; ShapeError for others."""
    x = array(a)
    return x.spec.size if axis is None else product(x.shape[k] for k in axes_of(axis, len(x.shape)))


def broadcast_arrays(*args: Any) -> list[Tensor]:
    """All `args` broadcast to one shape, each of its dtype; ShapeError where they do not broadcast."""
    tensors = [array(x) for x in args]
    common = cutting.common_shape(*(x.shape for x in tensors))
    return [ops.broadcast_to(x, shape=common) for x in tensors]


def _at_least(rank: int, place: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Callable[..., Any]:
    def at_least(*arys: Any) -> Any:
        """Each of `arys` with axes of size 1 until it has enough, of the same dtype; several give a tuple."""
        reshaped = [
            x if len(x.shape) >= rank else ops.reshape(x, shape=place(x.shape)) for x in map(array, arys)
        ]
        return reshaped[0] if len(reshaped) == 1 else tuple(reshaped)

    at_least.__name__ = at_least.__qualname__ = f"atleast_{rank}d"
    return at_least


atleast_1d: Callable[..., Any] = _at_least(1, lambda shape: (1,))
atleast_2d: Callable[..., Any] = _at_least(2, lambda shape: (1, *(shape or (1,))))
atleast_3d: Callable[..., Any] = _at_least(
    3, lambda shape: (*shape, 1) if len(shape) == 2 else (1, *(shape or (1,)), 1)
)


# ---- order ----------------------------------------------------------------------------------------------


def flip(m: Any, axis: Any = None) -> Tensor:
    """`m` backwards along `axis`, one, several or None for all; same dtype, ShapeError for axes that are not there."""
    return cutting.reverse(array(m), axis)


def fliplr(m: Any) -> Tensor:
    """`m` backwards along the second axis, of the same dtype; ShapeError for vectors."""
    return flip(m, 1)


def flipud(m: Any) -> Tensor:
    """`m` backwards along the first axis, of the same dtype; ShapeError for scalars."""
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """`m` turned `k` times by 90 degrees, from the first of two `axes` to the second; ShapeError if one. Same dtype."""
    x = array(m)
    first, second = (one_axis(int(a), len(x.shape)) for a in axes)
    if first == second:
        raise ShapeError(f"rot90 turns in the plane of two axes, got {tuple(axes)}{at(user_location())}")
    turns = k % 4
    if turns == 2:
        return flip(x, (first, second))
    if not turns:
        return x
    return (
        swapaxes(flip(x, second), first, second) if turns == 1 else flip(swapaxes(x, first, second), second)
    )


def roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    """`a` moved by `shift` along `axis`, one or several; what leaves at one end comes in at the other. Same dtype.

    With no axis, all elements in a row. ShapeError for axes that are not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.roll([1, 2, 3], 1))
    tf.Tensor([3 1 2], shape=(3,), dtype=int64)
    """
    x = array(a)
    if axis is None:
        total = int(np.sum(shift)) if isinstance(shift, (tuple, list, np.ndarray)) else shift
        return ops.reshape(cutting.roll(ravel(x), total, 0), shape=x.shape)
    axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    shifts = list(shift) if isinstance(shift, (tuple, list)) or np.ndim(shift) else [shift]
    count = max(len(axes), len(shifts))
    axes, shifts = (v * count if len(v) == 1 else v for v in (axes, shifts))
    if not axes:
        return x
    return cutting.roll(x, shifts, axes)


def tril(m: Any, k: int = 0) -> Tensor:
    """`m` with zeros above the `k`-th diagonal, a vector in every row; same dtype, ShapeError for scalars."""
    x = array(m)
    return ops.where(_offsets(x) <= k, x, ops.cast(0, dtype=x.dtype))


def triu(m: Any, k: int = 0) -> Tensor:
    """`m` with zeros below the `k`-th diagonal, a vector in every row; same dtype, ShapeError for scalars."""
    x = array(m)
    return ops.where(_offsets(x) >= k, x, ops.cast(0, dtype=x.dtype))


def _offsets(x: Tensor) -> Any:
    """Of each place of the matrix that comes out, the number of its diagonal."""
    if not x.shape:
        raise ShapeError(f"a scalar, {x.spec}, has no triangles{at(user_location())}")
    return offsets(*(x.shape[-2:] if len(x.shape) > 1 else x.shape * 2))


permute_dims = transpose


# ---- ends and rows --------------------------------------------------------------------------------------


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Tensor:
    """`filt` without the zeros at its front and back, or at the one that `trim`, "f" or "b", says, along `axis` or all.

    Of the same dtype; its values are known when this is called, SymbolicValue for what a traced function computes.
    ShapeError for axes that are not there.
    """
    x = array(filt)
    present = np.nonzero(values_of(filt))
    sides, index = trim.lower(), [slice(None)] * len(x.shape)
    for k in axes_of(axis, len(x.shape)):
        size, places = x.shape[k], present[k]
        first = int(places.min()) if places.size else size
        last = int(places.max()) + 1 if places.size else 0
        index[k] = slice(first if "f" in sides else None, last if "b" in sides else None)
    return get(x, tuple(index))


def resize(a: Any, new_shape: Any) -> Tensor:
    """The elements of `a` in the shape `new_shape`, from the first on again and again; dtype kept.

    ShapeError for negative sizes.
    """
    row: Any = ravel(a)
    shape = shapes.sizes_of(new_shape)
    count = product(shape)
    if row.shape == (0,):
        return ops.fill(shape=shape, value=0, dtype=row.dtype)
    numbers = ops.mod(ops.iota(size=count, dtype=np.dtype(np.int64)), size_tensor(row.shape[0]))
    return ops.reshape(ops.gather(row, numbers, axis=0), shape=shape)


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Tensor:
    """`func1d` of each row of `arr` along `axis`, with `args` and `kwargs`, its results in place of the rows.

    It runs once for each row where there are values, and for all rows at once, as `vmap` does it, while a function is
    traced. ShapeError for an axis that is not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.apply_along_axis(tnp.sum, 1, [[1, 2], [3, 4]]))
    tf.Tensor([3 7], shape=(2,), dtype=int64)
    """
    x = array(arr)
    place = one_axis(axis, len(x.shape))
    rows = moveaxis(x, place, -1)
    outer = rows.shape[:-1]
    flat = ops.reshape(rows, shape=(product(outer), rows.shape[-1]))

    def of_row(row: Any) -> Tensor:
        return array(func1d(row, *args, **kwargs))

    if x.is_symbolic or 0 in outer:
        found = vmap(of_row)(flat)
    else:
        found = shapes.stack([of_row(get(flat, k)) for k in range(flat.shape[0])], 0)
    whole = ops.reshape(found, shape=(*outer, *found.shape[1:]))
    new = len(found.shape) - 1
    return moveaxis(whole, [*range(len(outer), len(outer) + new)], [*range(place, place + new)])


class vectorize:
    """A function of single elements, or of parts with a `signature`, as one of whole arrays, which broadcast.

    It is run for all elements at once, by :func:`tracejit.vmap`; derivatives follow it.

    Parameters
    ----------
    pyfunc : callable
        Of scalar tensors; with a signature of tensors with its axes. Returns a tensor, or a tuple of them.
    otypes, doc, cache : optional
        The dtypes of the results, one for each; documentation; accepted.
    excluded : set of int or str
        Arguments by position or name that `pyfunc` gets as they are.
    signature : str, optional
        Axes at the end of the arguments and results, as ``"(m,n),(n)->(m)"``.

    Raises
    ------
    ValueError
        For arguments or results that do not fit the signature; ShapeError where shapes do not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> clipped = tnp.vectorize(lambda a, b: tnp.where(a > b, a - b, 0.0))
    >>> print(clipped([1.0, 2.0, 3.0], 1.5))
    tf.Tensor([0.  0.5 1.5], shape=(3,), dtype=float64)
    """

    def __init__(
        self,
        pyfunc: Callable[..., Any],
        otypes: Any = None,
        doc: str | None = None,
        excluded: Any = (),
        cache: bool = False,
        signature: str | None = None,
    ):
        self.pyfunc: Callable[..., Any] = pyfunc
        self.otypes: Any = otypes
        self.excluded: set[Any] = set(excluded)
        self.signature: str | None = signature
        self._axes: Any = None if signature is None else _parsed(signature)
        functools.update_wrapper(self, pyfunc, updated=())
        self.__doc__ = pyfunc.__doc__ if doc is None else doc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """`pyfunc` of every element of `args` and `kwargs`, which broadcast; ShapeError where they do not."""
        kept = {k: v for k, v in enumerate(args) if k in self.excluded or v is None}
        named = [k for k in kwargs if k not in self.excluded]
        given = [array(v) for k, v in enumerate(args) if k not in kept] + [array(kwargs[k]) for k in named]

        pyfunc = self.pyfunc  # in a cell, where conversion finds it

        def one(*parts: Any) -> Any:
            take = iter(parts)
            whole = [kept[k] if k in kept else next(take) for k in range(len(args))]
            return pyfunc(*whole, **{**kwargs, **dict(zip(named, take, strict=True))})

        found = self._spread(one, given)
        if self.otypes is None:
            return found
        types = [np.dtype(t) for t in self.otypes]
        several = isinstance(found, tuple)
        made = [array(x, t) for x, t in zip(found if several else (found,), types, strict=True)]
        return tuple(made) if several else made[0]

    def _spread(self, one: Callable[..., Any], given: list[Tensor]) -> Any:
        """Over the axes in front of those of the signature, one after the other."""
        takes, gives = self._axes or ([()] * len(given), None)
        if len(takes) != len(given):
            raise ShapeError(
                f"{self.signature} takes {len(takes)} arguments, got {len(given)}{at(user_location())}"
            )
        sizes: dict[str, Any] = {}
        for x, names in zip(given, takes, strict=True):
            _fit(x, names, sizes, self.signature)
        ranks = [len(x.shape) - len(names) for x, names in zip(given, takes, strict=True)]
        together = cutting.common_shape(*(x.shape[:rank] for x, rank in zip(given, ranks, strict=True)))

        def checked(*parts: Any) -> Any:
            found = one(*parts)
            return found if gives is None else _fitting(found, gives, sizes, self.signature)

        call: Any = callee(checked)
        for axis in reversed(range(len(together))):
            inside = [rank >= len(together) - axis for rank in ranks]
            call = vmap(call, tuple([0 if i else None for i in inside]))
        whole = [
            ops.broadcast_to(x, shape=(*together[len(together) - rank :], *x.shape[rank:]))
            for x, rank in zip(given, ranks, strict=True)
        ]
        found = call(*whole)
        return tuple(map(array, found)) if isinstance(found, (tuple, list)) else array(found)


def _parsed(signature: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The names of the axes of the arguments and of the results."""
    text = signature.replace(" ", "")
    one = r"\((?:\w+(?:,\w+)*)?\)"
    if not re.fullmatch(rf"{one}(?:,{one})*->{one}(?:,{one})*", text):
        raise ValueError(f"not a signature such as '(m,n),(n)->(m)': {signature!r}{at(user_location())}")
    takes, gives = (
        [tuple(filter(None, part.split(","))) for part in re.findall(r"\((.*?)\)", side)]
        for side in text.split("->")
    )
    return takes, gives


def _fit(x: Tensor, names: Sequence[str], sizes: dict[str, Any], signature: str | None) -> None:
    """Note the sizes of named axes; ShapeError where they are others than before."""
    last = x.shape[len(x.shape) - len(names) :]
    if len(last) != len(names):
        raise ShapeError(f"{x.spec} has fewer axes than {signature} names{at(user_location())}")
    for name, size in zip(names, last, strict=True):
        expected = int(name) if name.isdecimal() else sizes.setdefault(name, size)
        if expected != size:
            raise ShapeError(
                f"axis {name} of {signature} is {expected}, and {size} in {x.spec}{at(user_location())}"
            )


def _fitting(found: Any, gives: Sequence[Sequence[str]], sizes: dict[str, Any], signature: str | None) -> Any:
    """The results of one call, if they are what the signature says."""
    results = found if isinstance(found, (tuple, list)) else (found,)
    if len(results) != len(gives) or (len(gives) > 1) != isinstance(found, (tuple, list)):
        raise ShapeError(f"{signature} gives {len(gives)} results, got {len(results)}{at(user_location())}")
    for x, names in zip(map(array, results), gives, strict=True):
        if len(x.shape) != len(names):
            raise ShapeError(f"{x.spec} has not the axes of a result of {signature}{at(user_location())}")
        _fit(x, names, sizes, signature)
    return found


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Tensor:
    """`func`, called as ``func(a, axis)``, over one of `axes` after the other, which stay with size 1.

    Dtypes are those of `func`. ShapeError where it returns neither as many axes nor one less.
    """
    x: Any = array(a)
    rank = len(x.shape)
    for axis in [axes] if isinstance(axes, (int, np.integer)) else axes:
        place = one_axis(int(axis), rank)
        found = array(func(x, place))
        x = found if len(found.shape) == rank else expand_dims(found, place)
        if len(x.shape) != rank:
            raise ShapeError(
                f"{found.spec} has not the axes of {array(a).spec}, nor one less{at(user_location())}"
            )
    return x
