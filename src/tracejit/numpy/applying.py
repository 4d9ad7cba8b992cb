"""NumPy's ways to apply a function to rows, to axes one after the other, and to elements."""

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
from ..ops.arrays import shape as shapes
from ..ops.arrays.reduce import one_axis
from ..ops.tensor.indexing import get
from .conversion import array
from .shapes import expand_dims, moveaxis


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

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.apply_over_axes(tnp.sum, [[1, 2], [3, 4]], [0, 1]))
    tf.Tensor([[10]], shape=(1, 1), dtype=int64)
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
