"""DType: the kind of a tensor's elements, for who asks a tensor for it. It stands for a dtype of NumPy.

Specs, records and kernels hold NumPy's own, which are read in every call, compared by identity and handed to machine
code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .errors import DtypeError, at, user_location

_Text: TypeAlias = str  # dtypes have an attribute of that name

#: NumPy's dtype of bfloat16 once anybody has asked for it: its kind is V there, which no other dtype of tensors is.
BFLOAT16: list[np.dtype] = []


class DType:
    """The kind of a tensor's elements, what ``x.dtype`` and ``tf.float32`` are: a dtype of NumPy that answers more.

    There is one for each dtype of NumPy. It equals that one, hashes as it does, and is taken wherever NumPy takes a
    dtype; what NumPy's dtypes say besides, such as `byteorder`, it says, too.

    Parameters
    ----------
    dtype : numpy.dtype
        Or anything ``numpy.dtype`` takes; see :func:`tracejit.as_dtype` for what programs mean by a dtype.

    Attributes
    ----------
    dtype : numpy.dtype
        NumPy's.
    name : str
        ``"float32"``; of text ``"string"``.
    size, itemsize : int
        Bytes of an element.
    kind : str
        NumPy's letter: one of ``"biufcO"``; ``"f"`` of bfloat16, too, which NumPy itself has no letter for.
    type, as_numpy_dtype : type
        NumPy's class of numbers: ``numpy.float32``.
    is_floating, is_complex, is_integer, is_unsigned, is_bool, is_numeric : bool
        What its numbers are. Integers may be unsigned, complex numbers are not floating, bools are not numeric.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.constant([1.0, 2.0])
    >>> x.dtype, x.dtype.is_floating, x.dtype == np.float32, x.dtype.size
    (tf.float32, True, True, 4)
    >>> print(x.dtype, tf.uint8.max, tf.complex64.real_dtype.name, np.zeros(2, tf.int32).dtype)
    <dtype: 'float32'> 255 float32 int32
    """

    __slots__ = (
        "dtype", "name", "kind", "char", "type", "itemsize", "is_floating", "is_complex", "is_integer", "is_unsigned",
        "is_bool", "is_numeric", "_hash", "__weakref__",
    )  # fmt: skip
    dtype: np.dtype
    name: _Text
    kind: _Text
    char: _Text
    type: Any
    itemsize: int
    is_floating: bool
    is_complex: bool
    is_integer: bool
    is_unsigned: bool
    is_bool: bool
    is_numeric: bool
    _hash: int

    if TYPE_CHECKING:
        str: _Text
        byteorder: _Text
        num: int
        alignment: int
        isnative: bool
        hasobject: bool
        names: Any

    def __new__(cls, dtype: Any) -> DType:
        return DTYPES[np.dtype(dtype)]

    # ---- as NumPy's -------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if other.__class__ is DType:
            return self is other
        if other is None:  # NumPy's word for float64
            return False
        if isinstance(other, _Text):
            other = "object" if other == "string" else other
        try:
            return bool(self.dtype == other)
        except (TypeError, ValueError, SyntaxError, ImportError):
            return False

    def __hash__(self) -> int:
        return self._hash

    if not TYPE_CHECKING:

        def __getattr__(self, name: _Text) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"a dtype has no {name!r}")
            if name == "dtype":  # of the one that waits for its package
                return bfloat16()
            try:
                return getattr(self.dtype, name)
            except AttributeError:
                raise AttributeError(f"{self!r} has no attribute {name!r}, nor has NumPy's dtype") from None

    def __dir__(self) -> list[_Text]:
        return sorted(
            {*object.__dir__(self), *(name for name in dir(self.dtype) if not name.startswith("_"))}
        )

    def __setattr__(self, name: _Text, value: Any) -> None:
        raise AttributeError(f"a dtype does not change: {name!r} cannot be set")

    def __repr__(self) -> _Text:
        return f"tf.{self.name}"

    def __str__(self) -> _Text:
        return f"<dtype: {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return DType, (self.dtype,)

    # ---- what programs ask ------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return self.itemsize

    @property
    def as_numpy_dtype(self) -> Any:
        """NumPy's class of its numbers."""
        return self.type

    @property
    def base_dtype(self) -> DType:
        """The dtype itself: there are no others for references."""
        return self

    @property
    def real_dtype(self) -> DType:
        """That of the real part of complex numbers; of others the dtype itself."""
        return DTYPES[self.type(0).real.dtype] if self.is_complex else self

    @property
    def is_quantized(self) -> bool:
        """Do integers stand for other numbers? Never."""
        return False

    @property
    def is_numpy_compatible(self) -> bool:
        """Has NumPy such a dtype? Always."""
        return True

    @property
    def min(self) -> Any:
        """The least finite number. DtypeError for bools, complex numbers and text."""
        return info(self).min

    @property
    def max(self) -> Any:
        """The largest finite number. DtypeError for bools, complex numbers and text."""
        return info(self).max

    @property
    def limits(self) -> tuple[Any, Any]:
        """From what to what pixels go: 0 to 1 of floats, to the largest of integers, to True of bools."""
        if self.is_bool or self.is_floating:
            return 0, True if self.is_bool else 1
        return 0, self.max

    def is_compatible_with(self, other: Any) -> bool:
        """Is `other`, a dtype or a name of one, the same?"""
        return self == other


class _DTypes(dict[Any, DType]):
    """The DTypes by NumPy's, each made once."""

    def __missing__(self, dtype: np.dtype) -> DType:
        if dtype.isbuiltin == 1:
            dtype = np.dtype(dtype.type)  # the one object NumPy itself uses
        made: DType = object.__new__(DType)
        kind = "f" if is_bfloat16(dtype) else dtype.kind
        floating = kind == "f"
        for name, fact in {
            "dtype": dtype, "name": "string" if kind == "O" else dtype.name, "kind": kind, "char": dtype.char,
            "type": dtype.type, "itemsize": dtype.itemsize, "is_floating": floating, "is_complex": kind == "c",
            "is_integer": kind in "iu", "is_unsigned": kind == "u", "is_bool": kind == "b",
            "is_numeric": floating or kind in "iuc", "_hash": hash(dtype),
        }.items():  # fmt: skip
            object.__setattr__(made, name, fact)
        return self.setdefault(dtype, made)


#: The DType for a dtype of NumPy.
DTYPES: _DTypes = _DTypes()


def bfloat16() -> np.dtype:
    """NumPy's dtype of bfloat16, which a package of its own adds to NumPy. ImportError where that is not installed."""
    if not BFLOAT16:
        try:
            import ml_dtypes
        except ImportError:
            raise ImportError(
                "bfloat16 needs the package ml_dtypes, which adds such numbers to NumPy: pip install "
                f"'tracejit[bfloat16]'{at(user_location())}"
            ) from None
        BFLOAT16.append(np.dtype(ml_dtypes.bfloat16))
    return BFLOAT16[0]


def bfloat16_or_its_name() -> DType:
    """bfloat16; where its package is not installed, what can be asked about and compared, but has no numbers."""
    try:
        return DTYPES[bfloat16()]
    except ImportError:
        named: DType = object.__new__(DType)
        like = DTYPES[np.dtype(np.float16)]
        facts = {
            n: getattr(like, n) for n in DType.__slots__ if n.startswith("is_") or n in ("kind", "itemsize")
        }
        for name, fact in {**facts, "name": "bfloat16", "_hash": hash("bfloat16")}.items():
            object.__setattr__(named, name, fact)
        return named


def is_bfloat16(dtype: np.dtype) -> bool:
    """Is it NumPy's dtype of bfloat16?"""
    return dtype.kind == "V" and dtype.name == "bfloat16" and dtype == bfloat16()


def info(dtype: DType) -> Any:
    """NumPy's ``iinfo`` or ``finfo`` of a dtype; DtypeError where it has neither."""
    if dtype.dtype.kind == "V":
        import ml_dtypes

        return ml_dtypes.finfo(dtype.dtype)
    if dtype.is_integer or dtype.is_floating:
        return (np.iinfo if dtype.is_integer else np.finfo)(dtype.dtype)
    raise DtypeError(f"{dtype.name} has no least and no largest number{at(user_location())}")
