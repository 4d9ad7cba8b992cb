"""NumPy's questions about dtypes, and what the Array API asks of a namespace."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from ..core.dtype import DTYPES, DType
from ..core.dtype import info as limits
from ..core.errors import at, user_location
from ..core.op import ops
from ..core.spec import as_dtype
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from .conversion import array, is_number, on_cpu

#: The dtypes there are, by the names of their kinds.
_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """The elements of `x` as `dtype`, in the same shape; complex numbers lose their imaginary part to become real.

    Without `copy`, what has that dtype is given back itself; `device` is "cpu". ValueError for other devices,
    DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.astype([1.7, -1.7], "int32"))
    tf.Tensor([ 1 -1], shape=(2,), dtype=int32)
    """
    on_cpu(device)
    given = array(x)
    if not copy and given.np_dtype == np.dtype(dtype):
        return given
    return ops.cast(given, dtype=np.dtype(dtype))


def _of(x: Any) -> Any:
    """What NumPy's functions of dtypes take: of a tensor its dtype."""
    return x.dtype if hasattr(x, "dtype") and not isinstance(x, (np.dtype, DType, type)) else x


def can_cast(from_: Any, to: Any, casting: Any = "safe", /) -> bool:
    """Can values of the dtype `from_`, or of that of a tensor, become those of the dtype `to`?

    `casting` says what may get lost, see `numpy.can_cast`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.can_cast("int32", "float64"))
    True
    """
    return np.can_cast(_of(from_), to, casting)


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """The dtype that tensors, dtypes and Python numbers, `arrays_and_dtypes`, have together.

    ValueError for none.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.result_type("int32", "float32"))
    float64
    """
    if not arrays_and_dtypes:
        raise ValueError(f"result_type takes at least one argument{at(user_location())}")
    return np.result_type(*[x if is_number(x) else _of(x) for x in arrays_and_dtypes])


def isdtype(dtype: Any, kind: Any) -> bool:
    """Is `dtype` of that `kind`: a dtype, a name of the Array API such as "real floating", or a tuple of these?

    ValueError for other names.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.isdtype(tnp.asarray([1.0]).dtype, "real floating"))
    True
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(_is_of(np.dtype(dtype), k) for k in kinds)


def _is_of(dtype: np.dtype, kind: Any) -> bool:
    if not isinstance(kind, str):
        return dtype == np.dtype(kind)
    if kind == "real floating":
        return dtype.kind == "f"
    return dtype.name in _names(kind)


def _names(kind: str) -> tuple[str, ...]:
    if kind not in _KINDS:
        raise ValueError(f"a kind of dtypes is one of {', '.join(_KINDS)}, got {kind!r}{at(user_location())}")
    return _KINDS[kind]


def iscomplexobj(x: Any) -> bool:
    """Are the elements of `x` complex numbers, whatever their values? What is no array of numbers has none.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.iscomplexobj([1.0j]))
    True
    """
    return (x if hasattr(x, "dtype") else np.asarray(x)).dtype.kind == "c"


def isrealobj(x: Any) -> bool:
    """Are the elements of `x` no complex numbers?

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.isrealobj([1.0]))
    True
    """
    return not iscomplexobj(x)


#: The versions of the Array API that this is.
_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


class _Floats(NamedTuple):
    """Limits of a dtype of floats, as Python numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    tiny: float
    epsneg: float
    resolution: float
    precision: int
    dtype: np.dtype


def finfo(type: Any) -> _Floats:
    """The limits of a dtype of real or complex floats, or of that of a tensor, `type`, as Python numbers.

    ValueError for other dtypes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.finfo("float32").eps)
    1.1920928955078125e-07
    """
    dtype = DTYPES[as_dtype(_of(type))]
    info = limits(dtype) if dtype.is_floating else np.finfo(dtype.dtype)
    floats = ("eps", "max", "min", "smallest_normal", "tiny", "epsneg", "resolution")
    found = {name: float(getattr(info, name)) for name in floats}
    return _Floats(bits=int(info.bits), precision=int(info.precision), dtype=np.dtype(info.dtype), **found)


def iinfo(type: Any) -> np.iinfo:
    """The limits of a dtype of integers, or of that of a tensor, `type`; ValueError for other dtypes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.iinfo("int8").max)
    127
    """
    return np.iinfo(_of(type))


class _Namespace:
    """What the Array API asks of a namespace: devices, dtypes, what it can do."""

    def capabilities(self) -> dict[str, Any]:
        """What does not work in every namespace."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """The one that is used when nothing is said."""
        return "cpu"

    def devices(self) -> list[str]:
        """All of them."""
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """What Python numbers become, by kind; ValueError for a `device` that is not there."""
        on_cpu(device)
        names = {"real floating": "float64", "complex floating": "complex128"}
        names |= dict.fromkeys(("integral", "indexing"), "int64")
        return {kind: np.dtype(name) for kind, name in names.items()}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype]:
        """The dtypes by name, those of one `kind` or of several; ValueError for other kinds and devices."""
        on_cpu(device)
        kinds = ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        return {name: np.dtype(name) for k in kinds for name in _names(k)}


def __array_namespace_info__() -> _Namespace:
    """What the Array API asks of this namespace: devices, dtypes, what it can do."""
    return _Namespace()


def _namespace_of(api_version: str | None = None) -> Any:
    """This namespace; ValueError for a version of the Array API that it does not have, `api_version`."""
    if api_version not in (None, *_VERSIONS):
        raise ValueError(
            f"the Array API is there as of {_VERSIONS[-1]}, not {api_version}{at(user_location())}"
        )
    return sys.modules[__package__]


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """The array `x` of another library as a tensor of its shape and dtype; `device` is "cpu".

    With ``copy=False`` it is in the same memory, which nobody may write to as long as the tensor is used. ValueError
    for other devices, BufferError for memory that is not the processor's.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.from_dlpack(tnp.asarray([1.0, 2.0])))
    tf.Tensor([1. 2.], shape=(2,), dtype=float64)
    """
    on_cpu(device)
    if x.__class__ is Tensor and not copy:
        return x
    whole = np.from_dlpack(x, copy=copy)
    return Tensor(whole) if copy is not None else as_tensor(whole)
