"""TensorSpec: the shape and dtype of a tensor, known before it has a value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from sys import maxsize
from typing import Any

import numpy as np

from . import settings
from .dim import Dim, Size, broadcast_size, product, same
from .dtype import DType, bfloat16, is_bfloat16
from .errors import DtypeError, ShapeError, at, user_location

#: Kinds of dtypes that carry derivatives; V is bfloat16, which NumPy has no letter for.
DIFFERENTIABLE = "fcV"
#: dtype kinds that graphs and compiled code hold.
_SUPPORTED = "biufcOV"

#: The dtype of text, which tensors hold as Python bytes.
TEXT = np.dtype(object)


class TensorSpec:
    """Shape and dtype; interned, so equal specs are the same object.

    Parameters
    ----------
    shape : sequence of int, Dim or None, or None
        None is an unknown size, allowed in an ``input_signature``; in place of the shape, an unknown rank.
    dtype : dtype-like
        Anything ``numpy.dtype`` takes, ``"string"``, or ``float``, which is the default one of floats.
    name : str, optional
        Accepted for programs written for other libraries, and ignored.

    Examples
    --------
    >>> TensorSpec([2, 3], "float32")
    float32[2,3]
    """

    __slots__ = ("shape", "dtype", "symbolic", "differentiable", "text", "__weakref__")
    shape: tuple[Size, ...]
    dtype: np.dtype
    symbolic: bool
    differentiable: bool
    text: str  # made once: the text of a graph repeats few specs many times

    def __new__(
        cls,
        shape: Iterable[Size | None] | None = (),
        dtype: object = np.dtype("float32"),
        name: str | None = None,
    ) -> TensorSpec:
        if shape is None:
            return _any_rank(cls, as_dtype(dtype))
        try:
            key = (tuple(shape), dtype)
        except (TypeError, ShapeError):
            if getattr(shape, "rank", 0) is None:
                return _any_rank(cls, as_dtype(dtype))
            raise ShapeError(
                f"a shape is a sequence of sizes, None for one that is not known, got {shape!r}: [] is a scalar, "
                f"[None] any vector{at(user_location())}"
            ) from None
        spec = _interned.get(key)
        if spec is not None:
            return spec
        return _make(cls, key[0], as_dtype(dtype))

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Size:
        """Number of elements."""
        return product(self.shape)

    def with_shape(self, shape: Iterable[Size]) -> TensorSpec:
        """The same dtype with another `shape`."""
        return TensorSpec(shape, self.dtype)

    def with_dtype(self, dtype: object) -> TensorSpec:
        """The same shape with another `dtype`."""
        return TensorSpec(self.shape, dtype)

    @property
    def ranked(self) -> bool:
        """Is the number of axes known? Of tensors it always is."""
        return self.shape is not None

    @staticmethod
    def from_tensor(tensor: Any, name: str | None = None) -> TensorSpec:
        """The spec of a tensor."""
        return tensor.spec

    def is_compatible_with(self, other: Any) -> bool:
        """May a tensor, or a tensor of another spec, `other`, fit? None, in either, is any size, or any rank."""
        if self.dtype != other.dtype:
            return False
        if self.shape is None or other.shape is None:
            return True
        sizes = zip(self.shape, other.shape, strict=False)
        return len(self.shape) == len(other.shape) and all(
            a is None or b is None or same(a, b) for a, b in sizes
        )

    def __repr__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorSpec, (self.shape, self.dtype)


def as_dtype(type_value: Any) -> np.dtype:
    """NumPy's dtype meant by `type_value`, a dtype, its name or a Python type: ``"int32"``, ``bool``, ``"string"``.

    ``float``, as a type or a name, is the dtype of Python floats, float32 unless ``set_default_dtype`` said otherwise.
    DtypeError for what names none.

    Examples
    --------
    >>> as_dtype("float32"), as_dtype(float)
    (dtype('float32'), dtype('float32'))
    """
    if type_value.__class__ is np.dtype:
        return type_value
    if type_value.__class__ is DType:
        return type_value.dtype
    if type_value is float or (isinstance(type_value, str) and type_value == "float"):
        return np.dtype(settings.current().default_dtype)
    if type_value is str or (isinstance(type_value, str) and type_value == "string"):
        return np.dtype(object)
    if isinstance(type_value, str) and type_value == "bfloat16":
        return bfloat16()
    try:
        found = np.dtype(type_value)
    except (TypeError, ValueError, SyntaxError):
        raise DtypeError(
            f"{type_value!r} is no dtype: write 'float32', 'int64', 'bool' or another that NumPy has by name"
            f"{at(user_location())}"
        ) from None
    if found.names is not None:
        raise DtypeError(
            f"tensors hold numbers and bools, not records of {', '.join(found.names)}: make a tensor of each"
            f"{at(user_location())}"
        )
    return found


_interned: dict[tuple[Any, ...], TensorSpec] = {}


def _make(cls: type[TensorSpec], shape: tuple[Any, ...], dtype: np.dtype) -> TensorSpec:
    try:
        shape = tuple(s if isinstance(s, Dim) or s is None else int(s) for s in shape)
    except (TypeError, ValueError):
        raise ShapeError(
            f"sizes are integers, None or of tensors, got the shape {shape}{at(user_location())}"
        ) from None
    if any(isinstance(s, int) and s < 0 for s in shape):
        raise ShapeError(f"sizes are not negative, got the shape {shape}")
    foreign = dtype.kind == "V" or dtype.isbuiltin == 2  # of other packages
    if dtype.kind not in _SUPPORTED or (foreign and not is_bfloat16(dtype)):
        raise DtypeError(f"tensors hold numbers and bools, not {dtype}; convert to float, int or bool first")
    if dtype != np.dtype(bool) and dtype.itemsize > (16 if dtype.kind == "c" else 8):
        raise DtypeError(f"dtype {dtype} is wider than tensors hold; convert to float64 or complex128 first")
    if prod([s if isinstance(s, int) and s else 1 for s in shape]) * dtype.itemsize > maxsize:
        raise ShapeError(f"no memory holds an array of {dtype} and the shape {shape}")
    dtype = np.dtype(dtype.type)  # the one object NumPy itself uses: compared by identity where it matters
    spec = _interned.get((shape, dtype))
    if spec is None:
        spec = object.__new__(cls)
        spec.shape, spec.dtype = shape, dtype
        spec.symbolic = any(isinstance(s, Dim) for s in shape)
        spec.differentiable = dtype.kind in DIFFERENTIABLE
        spec.text = f"{dtype_name(dtype)}[{','.join(map(_size_text, shape))}]"
        _interned[(shape, dtype)] = spec
    return spec


def _any_rank(cls: type[TensorSpec], dtype: np.dtype) -> TensorSpec:
    """The spec of tensors of any rank, for signatures: the shape is None."""
    key = (None, dtype)
    if key not in _interned:
        spec = _interned[key] = object.__new__(cls)
        spec.shape, spec.dtype, spec.symbolic = None, dtype, False  # type: ignore[assignment]
        spec.differentiable = dtype.kind in DIFFERENTIABLE
        spec.text = f"{dtype_name(dtype)}[...]"
    return _interned[key]


def dtype_name(dtype: np.dtype) -> str:
    """The name of a dtype in messages: NumPy's, and ``string`` for text, which is kept as Python bytes."""
    return "string" if dtype.kind == "O" else dtype.name


def _size_text(size: Size | None) -> str:
    return "?" if size is None else str(size)


def broadcast_shapes(*shapes: tuple[Size, ...]) -> tuple[Size, ...]:
    """The shape that `shapes` broadcast to; ShapeError naming both when they do not."""
    result = shapes[0]
    for shape in shapes[1:]:
        if shape != result:
            result = _broadcast_pair(result, shape)
    return result


def _broadcast_pair(a: tuple[Size, ...], b: tuple[Size, ...]) -> tuple[Size, ...]:
    n = max(len(a), len(b))
    long_a, long_b = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
    sizes = []
    for x, y in zip(long_a, long_b, strict=True):
        size = broadcast_size(x, y)
        if size is None:
            raise ShapeError(f"shapes {shape_text(a)} and {shape_text(b)} do not broadcast: {x} against {y}")
        sizes.append(size)
    return tuple(sizes)


def shape_text(shape: Iterable[Size]) -> str:
    """A shape as users write it: ``(3,)``, ``(n, 4)``."""
    sizes = [str(s) for s in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def equal_in_shape(name: str, tensors: Sequence[Any]) -> Sequence[Any]:
    """The tensors, if all have one shape; ShapeError of the op `name` otherwise."""
    first = tensors[0].shape
    for i, x in enumerate(tensors):
        if x.shape != first and (len(x.shape) != len(first) or not all(map(same, x.shape, first))):
            raise ShapeError(
                f"{name} needs tensors of equal shape, and tensor 0 has {shape_text(first)}, tensor {i} "
                f"{shape_text(x.shape)}; to join along an existing axis use concat{at(user_location())}"
            )
    return tensors
