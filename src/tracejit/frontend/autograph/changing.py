"""NumPy's functions that write into an array, ``np.fill_diagonal(a, v)``, as ``a[...] = `` what it is then."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import at, user_location
from ...core.seams import numpy_function
from ...core.spec import DIFFERENTIABLE, TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ...ops.tensor.at import At
from ...ops.tensor.memory.programs import require_fits
from ...ops.tensor.memory.shared import note_written
from ...ops.tensor.memory.storage import are_arrays
from ...ops.tensor.numpy_protocol import needing
from .parts import BINARY, augmented, set_item_shared

#: Functions of NumPy's that are called from here compare sizes for the program, see `core.asking`.
COMPARES_FOR_CALLERS = True

_SAME = object()


def _of_face(name: str) -> Callable[..., Any]:
    """The changed array by the function of that name in ``tracejit.numpy``."""
    return lambda a, *args, **kwargs: numpy_function(name)(a, *args, **kwargs, inplace=False)


def _copied(a: Any, src: Any, casting: str = "same_kind", where: Any = True) -> Any:
    narrower = as_tensor(src).dtype.kind == "c" and a.dtype.kind != "c"
    if a.dtype.kind not in DIFFERENTIABLE or narrower or casting != "same_kind":
        return _SAME
    return src if where is True else numpy_function("where")(where, src, a)


def _masked(a: Any, mask: Any, values: Any) -> Any:
    fits = np.ndim(values) == 0 or np.shape(values) == np.shape(a)
    return numpy_function("where")(mask, values, a) if fits else _SAME


def _added(a: Any, indices: Any, b: Any, sign: int = 1) -> Any:
    if a.dtype.kind not in DIFFERENTIABLE:
        return _SAME
    place = At(as_tensor(a))[indices]
    return _SAME if place.mask is not None else place.add(b) if sign > 0 else place.subtract(b)


def _writing(theirs: Callable[..., Any], changed: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(theirs)
    def converted(*args: Any, **kwargs: Any) -> Any:
        if not args or (not isinstance(args[0], Tensor) and needing((args[1:], kwargs)) is None):
            return theirs(*args, **kwargs)
        new = changed(*args, **kwargs)
        if new is _SAME:
            return theirs(*args, **kwargs)
        set_item_shared(new, args[0], (...,))
        return None

    return converted


def into_out(theirs: Any, called: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function `theirs`, `called` so: with tensors it writes to what ``out=`` names, as ``x[...] =`` does.

    DtypeError where NumPy would not cast the result, ShapeError where it has more elements, TypeError for ``where=``.
    """

    @functools.wraps(called)
    def converted(*args: Any, **kwargs: Any) -> Any:
        count = theirs.nin if isinstance(theirs, np.ufunc) else len(args)
        out = kwargs.get("out", args[count] if len(args) == count + 1 else None)
        target = out[0] if out.__class__ is tuple and len(out) == 1 else out
        if not isinstance(target, Tensor) and (target.__class__ is not np.ndarray or needing(args[:count]) is None):
            return called(*args, **kwargs)
        rest = {name: x for name, x in kwargs.items() if name != "out"}
        if rest.get("where", True) is not True:
            raise TypeError(
                "where= and out= together write to some elements of a tensor: write y = np.where(mask, f(x), y)"
                f"{at(user_location())}"
            )
        return _over(target, called(*args[:count], **rest))

    return converted


def _over(target: Any, result: Any) -> Any:
    """The array that `result` has been written to."""
    written = as_tensor(result)
    array = target.spec if isinstance(target, Tensor) else TensorSpec(target.shape, target.dtype)
    require_fits(written, array, "leave out= away")
    changed = set_item_shared(written, target, (...,))
    return as_tensor(changed) if isinstance(changed, Tensor) else changed


def _without_nan(x: Any, copy: bool = True, *args: Any, **kwargs: Any) -> Any:
    """``np.nan_to_num``, which writes into `x` where it need not copy it."""
    if copy or not isinstance(x, Tensor):
        return np.nan_to_num(x, copy, *args, **kwargs)
    return _over(x, np.nan_to_num(x, True, *args, **kwargs))


def _operator(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """``operator.iadd`` and the like, which give a tensor another one."""

    @functools.wraps(theirs)
    def converted(a: Any, b: Any, /) -> Any:
        if not isinstance(a, Tensor):
            return theirs(a, b)
        if a.ndim and are_arrays():
            return augmented(_SIGNS[theirs], a, b)
        old, new = as_tensor(a), theirs(a, b)
        note_written(old, new)
        return new

    return converted


_SIGNS = {theirs: sign for sign, theirs in BINARY.items()}
#: What writes into its first argument, and what converted functions call in its place.
WRITING: dict[Any, Callable[..., Any]] = {
    **{
        getattr(np, name): _writing(getattr(np, name), _of_face(name))
        for name in ("fill_diagonal", "place", "put", "put_along_axis")
    },
    np.copyto: _writing(np.copyto, _copied),
    np.putmask: _writing(np.putmask, _masked),
    np.nan_to_num: _without_nan,
    np.add.at: _writing(np.add.at, _added),
    np.subtract.at: _writing(np.subtract.at, functools.partial(_added, sign=-1)),
    **{theirs: _operator(theirs) for theirs in BINARY.values()},
}


def in_place_method(x: Any, name: str) -> Callable[..., Any]:
    """``x.sort``, ``x.fill`` and the like, whose result nobody takes: of a tensor what writes it over the tensor."""
    if isinstance(x, Tensor) and name in ("sort", "partition"):
        method = getattr(x, name, None) or functools.partial(numpy_function(name), x)
        return lambda *args, **kwargs: set_item_shared(method(*args, **kwargs), x, (...,))
    if name == "fill" and isinstance(x, (Tensor, np.ndarray)):
        return functools.partial(_filled, x)
    if name == "put" and isinstance(x, (Tensor, np.ndarray)):
        return functools.partial(WRITING[np.put], x)
    found: Callable[..., Any] = getattr(x, name)
    return found


def _filled(x: Any, value: Any) -> None:
    """``x.fill(value)``."""
    if isinstance(x, Tensor) or needing(value) is not None:
        set_item_shared(value, x, (...,))
    else:
        x.fill(value)
