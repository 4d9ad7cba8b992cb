"""Arguments as NumPy reads them: Python floats are float64, integers int64; beside arrays they take their dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.arrays import plain_array
from ..core.errors import FAILURES, DtypeError, at, user_location
from ..core.op import ops
from ..core.tensor import Overwritten, Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend.conversion import convert_to_tensor
from ..ops.arrays.reduce import one_axis, size_tensor
from ..ops.elementwise.arithmetic import matched
from ..ops.tensor.memory.overlaps import copied
from ..ops.tensor.memory.storage import named
from ..ops.tensor.writing import sharing

_NUMBERS = (bool, int, float, complex)
_NARROW_FLOATS = {1: np.dtype("float16"), 2: np.dtype("float32")}


def is_number(x: Any) -> bool:
    """Is it a Python number, or what stands for one in a trace?"""
    return x.__class__ in _NUMBERS or hasattr(x, "weak_kind")


def array(object: Any, dtype: Any = None, *, ndmin: int = 0) -> Tensor:
    """`object` as a tensor of NumPy's dtype or `dtype`, axes of size 1 in front up to `ndmin`; tensors as they are."""
    x = _plain(object)
    if len(x.shape) < ndmin:
        x = ops.reshape(x, shape=(*(1,) * (ndmin - len(x.shape)), *x.shape))
    return x if dtype is None or x.np_dtype == np.dtype(dtype) else ops.cast(x, dtype=np.dtype(dtype))


def asarray(
    object: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: bool | None = None
) -> Tensor:
    """`object` as :func:`array` makes it a tensor, of its shape and of `dtype` if that is given.

    With ``copy=True`` the memory is new. With ``copy=False`` it is that of `object`: what is written to a tensor is
    seen in the other one too, and an array may not be written to as long as the tensor is used. `order` is accepted.
    ValueError where that needs a copy after all, as of tensors in traced functions, for lists that are not rectangular,
    and for a `device` that is not "cpu".

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.asarray([1.0, 2.0]))
    tf.Tensor([1. 2.], shape=(2,), dtype=float64)
    """
    on_cpu(device)
    lends = isinstance(object, (np.ndarray, Tensor)) and dtype in (None, object.dtype)
    if copy is False and not lends:
        raise ValueError(
            f"{type(object).__name__} cannot become a tensor without a copy{at(user_location())}"
        )
    if isinstance(object, np.ndarray) and copy is not None:
        whole = np.array(object, dtype=dtype, copy=copy)
        return Tensor(whole) if whole.dtype.kind in "biufc" and whole.dtype.isnative else array(whole)
    if object.__class__ is Overwritten:
        object = named(object)
    if isinstance(object, Tensor) and copy is False:
        return sharing(object)
    x = array(object, dtype)
    return copied(x) if copy else x


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Tensor:
    """A copy of the memory of `buffer`, from the byte `offset` on, as `count` elements of `dtype` in a row, -1 for all.

    ValueError where it is too short, or no multiple of the size of an element.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.frombuffer(b"ab", dtype="uint8"))
    tf.Tensor([97 98], shape=(2,), dtype=uint8)
    """
    return array(np.frombuffer(buffer, dtype, count, offset))


def fromiter(iter: Any, dtype: Any, count: int = -1) -> Tensor:
    """The first `count` numbers that `iter` gives, -1 for all, as a vector of `dtype`; ValueError for fewer.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fromiter((k * k for k in range(3)), "int64"))
    tf.Tensor([0 1 4], shape=(3,), dtype=int64)
    """
    return array(np.fromiter(iter, dtype, count))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Tensor:
    """The first `count` numbers in `string`, `sep` between them, -1 for all, as a vector of `dtype`.

    ValueError for an empty `sep`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fromstring("1 2 3", sep=" "))
    tf.Tensor([1. 2. 3.], shape=(3,), dtype=float64)
    """
    return array(np.fromstring(string, dtype, count, sep=sep))


def save(file: Any, arr: Any) -> None:
    """Write `arr` to a `file`, given by its name or open, in NumPy's format; SymbolicValue while tracing.

    Examples
    --------
    >>> import tempfile
    >>> import tracejit.numpy as tnp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tnp.save(f"{folder}/x.npy", [1.0, 2.0])
    ...     print(tnp.load(f"{folder}/x.npy"))
    tf.Tensor([1. 2.], shape=(2,), dtype=float64)
    """
    np.save(file, values_of(arr), allow_pickle=False)


def load(file: Any, *, allow_pickle: bool = False) -> Any:
    """What was written to a `file`, given by its name or open, in NumPy's format: a tensor, or several by name.

    Objects are not read, whatever `allow_pickle` says: they may run code. ValueError for them, and for other formats.

    Examples
    --------
    >>> import tempfile
    >>> import tracejit.numpy as tnp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tnp.save(f"{folder}/x.npy", [1, 2])
    ...     print(tnp.load(f"{folder}/x.npy"))
    tf.Tensor([1 2], shape=(2,), dtype=int64)
    """
    found = np.load(file, allow_pickle=False)
    if isinstance(found, np.ndarray):
        return array(found)
    with found:
        return {name: array(found[name]) for name in found.files}


def on_cpu(device: Any) -> None:
    """ValueError for a device that is not there: tensors are in the memory of the processor."""
    if device not in (None, "cpu"):
        raise ValueError(f"tensors are on the device 'cpu', there is no {device!r}{at(user_location())}")


def _plain(x: Any) -> Tensor:
    if hasattr(x, "weak_kind"):
        return x.in_dtype(np.asarray(x.weak_kind(0)).dtype)
    if x.__class__ is Tensor or hasattr(x, "__tensor__"):
        return as_tensor(x)
    if x.__class__ in (list, tuple) and _holds_tensors(x):
        return convert_to_tensor([array(v) for v in x])
    return as_tensor(plain_array(x))


def _holds_tensors(x: Any) -> bool:
    if x.__class__ in (list, tuple):
        return any(_holds_tensors(v) for v in x)
    return x.__class__ is Tensor or hasattr(x, "__tensor__")


def values_of(x: Any) -> np.ndarray:
    """The values of what is known when this is called; SymbolicValue for what a traced function computes."""
    return array(x).array if _holds_tensors(x) else np.asarray(x)


def arrays(*inputs: Any) -> tuple[Any, ...]:
    """All as tensors, but numbers beside tensors as they are: those take the others' dtype."""
    strong = any(not is_number(x) for x in inputs)
    return tuple([x if strong and is_number(x) else array(x) for x in inputs])


def require(holds: Tensor, message: str) -> None:
    """ValueError unless all of `holds`, now or, for what a traced function computes, when it runs."""
    sure = ops.reduce_min(holds)
    if sure.is_symbolic:
        ops.check(ops.cast(sure, dtype=np.dtype("float32")), message=message, error="ValueError")
    elif not sure.array:
        raise FAILURES["ValueError"](f"{message}{at(user_location())}")


def floats(x: Any) -> Tensor:
    """A tensor of floats or complex numbers: integers become as wide as NumPy makes them."""
    x = array(x)
    if x.dtype.kind in "fc":
        return x
    return ops.cast(x, dtype=_NARROW_FLOATS.get(x.dtype.itemsize, np.dtype("float64")))


def real_numbers(x: Any) -> Tensor:
    """A tensor of floats; DtypeError for complex numbers."""
    x = floats(x)
    if x.dtype.kind == "c":
        raise DtypeError(f"takes real numbers, got {x.spec}{at(user_location())}")
    return x


def summable(x: Any, dtype: Any) -> Tensor:
    """A tensor of the dtype NumPy adds it up in: small integers and bools in the widest of their kind."""
    x = array(x, dtype)
    if dtype is None and x.dtype.kind in "biu":
        return ops.cast(x, dtype=np.dtype("uint64" if x.dtype.kind == "u" else "int64"))
    return x


def two_floats(x1: Any, x2: Any) -> tuple[Tensor, ...]:
    """Two operands of the one dtype of floats that NumPy makes of theirs: tensors become floats each by itself."""
    pair = arrays(x1, x2)
    kinds = {x.__class__ if is_number(x) else x.dtype.kind for x in pair}
    if any(map(is_number, pair)) and not (int in kinds and kinds & {"i", "u"}):
        return tuple([floats(x) for x in matched(pair, {})[0]])
    return tuple(matched([x if is_number(x) else floats(x) for x in pair], {})[0])


def truth(x: Any) -> Tensor:
    """True where `x` is not 0."""
    x = array(x)
    return x if x.dtype.kind == "b" else ops.not_equal(x, 0)


def wide_floats(a: Any, dtype: Any = None) -> Tensor:
    """A tensor of floats or complex numbers: integers of any size become float64."""
    x = array(a, dtype)
    return x if x.dtype.kind in "fc" else ops.cast(x, dtype=np.dtype("float64"))


def lined_up(a: Any, axis: int | None) -> tuple[Tensor, int]:
    """None is the axis of all elements in a row."""
    x = array(a)
    return (
        (ops.reshape(x, shape=(x.spec.size,)), 0) if axis is None else (x, one_axis(int(axis), len(x.shape)))
    )


def numbered(number: Any, size: Any, mode: str | None) -> Any:
    """Numbers of elements of an axis as the `mode` reads those beyond its end; ValueError for other modes."""
    if mode == "wrap":
        return ops.mod(number, size_tensor(size))
    if mode == "clip":
        return ops.minimum(ops.maximum(number, 0), ops.subtract(size_tensor(size), 1))
    if mode not in ("raise", "promise_in_bounds", None):
        raise ValueError(f"mode is raise, wrap, clip, fill or promise_in_bounds, got {mode!r}{at(user_location())}")
    return number


def any_is_zero(sizes: Any) -> bool:
    """Is one of the sizes known to be 0?"""
    return 0 in [size for size in sizes if isinstance(size, int)]
