"""Strings: what can be done with tensors of text. They are kept as Python bytes in UTF-8.

No gradient passes. Compiled functions hand tensors of text on, and call Python for what is computed of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.arrays import to_array
from ..core.errors import DtypeError, ShapeError, at, user_location
from ..core.op import ops
from ..core.spec import TEXT, as_dtype
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor, notify
from ..ops.arrays.reduce import axes_of, one_axis
from ..ops.prints import array_summary
from ..ops.symbolic_values import size_of
from ..ops.text_values import as_text, broadcast, computed, each, frozen, joined


def _each(f: Callable[[bytes], Any], x: Any, dtype: Any = object) -> Tensor:
    """Apply `f` to every string of a tensor."""
    return computed(lambda array: each(f, array, dtype), [as_text(x)], dtype)


def _parts(f: Callable[[bytes], Sequence[Any]], x: Any, what: str, dtype: Any = object) -> Tensor:
    """The parts that `f` gives of one string: as many as it has when a compiled function runs."""
    text = as_text(x)
    if text.shape:
        raise ShapeError(
            f"{what} takes one string, got {text.spec}: the parts of several may differ in number, take them in a loop"
            f"{at(user_location())}"
        )
    if not text.is_symbolic:
        return Tensor(frozen(np.array(f(bytes(text.array[()])), dtype)))
    count = computed(lambda one: np.array(len(f(bytes(one[()])))), [text], np.int64)
    places = ops.iota(size=size_of(count), dtype=np.dtype(np.int64))
    return computed(lambda _, one: frozen(np.array(f(bytes(one[()])), dtype)), [places, text], dtype)


def _require_unit(unit: str) -> None:
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(f"unit is 'BYTE' or 'UTF8_CHAR', got {unit!r}{at(user_location())}")


def lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Each string of `input` in small letters: those of ASCII, or all with `encoding` "utf-8". DtypeError for numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.strings.lower(["ABC", "d"]))
    tf.Tensor([b'abc' b'd'], shape=(2,), dtype=string)
    """
    return _each(
        bytes.lower if not encoding else lambda s: s.decode(encoding).lower().encode(encoding), input
    )


def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Each string of `input`, element by element, in capital letters; `encoding` and DtypeError as :func:`lower`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.strings.upper(["ab"]))
    tf.Tensor([b'AB'], shape=(1,), dtype=string)
    """
    return _each(
        bytes.upper if not encoding else lambda s: s.decode(encoding).upper().encode(encoding), input
    )


def strip(input: Any, name: str | None = None) -> Tensor:
    """Each string of `input`, element by element, without white space at its ends; DtypeError for numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.strings.strip(["  a "]))
    tf.Tensor([b'a'], shape=(1,), dtype=string)
    """
    return _each(bytes.strip, input)


def length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """The number of bytes, or by `unit` "UTF8_CHAR" characters, of each element of `input`, int32, or DtypeError.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.strings.length(["a", "abc"]))
    tf.Tensor([1 3], shape=(2,), dtype=int32)
    """
    _require_unit(unit)
    return _each(len if unit == "BYTE" else lambda s: len(s.decode()), input, np.int32)


def join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Tensor:
    """The strings in `inputs` joined element by element, with broadcasting, and `separator` between them.

    ValueError for none or shapes that do not broadcast, DtypeError for numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.strings.join(["loss", ["a", "b"]], separator="/"))
    tf.Tensor([b'loss/a' b'loss/b'], shape=(2,), dtype=string)
    """
    if not inputs:
        raise ValueError(f"join takes at least one tensor{at(user_location())}")
    return joined(inputs, separator)


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """The strings `inputs` along `axis` (None: all) joined to one with `separator`; `keepdims` keeps the axes.

    Several axes in a list are joined one after the other, the first one first.

    ShapeError for axes that are not there, DtypeError for numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.strings.reduce_join([["a", "b"], ["c", "d"]], axis=1, separator="-"))
    tf.Tensor([b'a-b' b'c-d'], shape=(2,), dtype=string)
    """
    text: Any = as_text(inputs)
    axes = axes_of(axis, len(text.shape))
    if isinstance(axis, (list, tuple)):
        axes = tuple(one_axis(a, len(text.shape)) for a in reversed(axis))
    others = [a for a in range(len(text.shape)) if a not in axes]
    shape = [1 if a in axes else d for a, d in enumerate(text.shape) if keepdims or a not in axes]

    def join(array: np.ndarray) -> np.ndarray:
        moved = np.transpose(array, (*others, *axes)).reshape(*(array.shape[a] for a in others), -1)
        joined = np.empty(moved.shape[:-1], object)
        for place in np.ndindex(joined.shape):
            joined[place] = separator.encode().join(moved[place])
        return frozen(joined.reshape(shape))

    return computed(join, [text], sizes=shape)


def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """Of each string of `input` `len` bytes (or with ``unit="UTF8_CHAR"`` characters) from `pos` on; both broadcast.

    DtypeError for numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.strings.substr("hello", 1, 3))
    tf.Tensor(b'ell', shape=(), dtype=string)
    """
    _require_unit(unit)
    where = at(user_location())

    def cut(whole: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
        parts = np.empty(whole.shape, object)
        for place in np.ndindex(whole.shape):
            parts[place] = _part(bytes(whole[place]), int(starts[place]), int(counts[place]), unit, where)
        return frozen(parts)

    return computed(cut, broadcast([as_text(input), as_tensor(pos), as_tensor(len)]))


def _part(text: bytes, start: int, size: int, unit: str, where: str) -> bytes:
    places: Any = text if unit == "BYTE" else text.decode()
    first = start if start >= 0 else start + len(places)
    if not 0 <= first <= len(places):
        raise IndexError(f"position {start} is outside of {text!r}{where}")
    part = places[first : first + size]
    return part if unit == "BYTE" else part.encode()


def split(input: Any, sep: str | None = None, maxsplit: int = -1, name: str | None = None) -> Tensor:
    """The parts of a string between separators, or where there is none, between white space.

    Parameters
    ----------
    input : tensor-like
        One string: those of several differ in number.
    sep : str, optional
    maxsplit : int
        How often at most it is cut; -1 is everywhere.

    Raises
    ------
    ShapeError
        For more than one string.
    DtypeError
        For numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.strings.split("1 10 100"))
    tf.Tensor([b'1' b'10' b'100'], shape=(3,), dtype=string)
    """
    return _parts(lambda text: text.split(sep.encode() if sep else None, maxsplit), input, "split")


def bytes_split(input: Any, name: str | None = None) -> Tensor:
    """The bytes of the scalar `input`, each as a string, a vector; ShapeError for several, DtypeError for numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.strings.bytes_split("ab"))
    tf.Tensor([b'a' b'b'], shape=(2,), dtype=string)
    """
    return _parts(lambda text: [text[i : i + 1] for i in range(len(text))], input, "bytes_split")


def unicode_split(input: Any, input_encoding: str = "UTF-8", name: str | None = None) -> Tensor:
    """The characters of the scalar `input`, each as a string; `input_encoding` is "UTF-8". ShapeError for several.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.strings.unicode_split("ab", "UTF-8"))
    tf.Tensor([b'a' b'b'], shape=(2,), dtype=string)
    """
    return _parts(lambda text: [c.encode() for c in text.decode(input_encoding)], input, "unicode_split")


def unicode_decode(input: Any, input_encoding: str = "UTF-8", name: str | None = None) -> Tensor:
    """The numbers of the characters of the scalar `input`, int32; `input_encoding` is "UTF-8". ShapeError for several.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.strings.unicode_decode("hi", "UTF-8"))
    tf.Tensor([104 105], shape=(2,), dtype=int32)
    """
    return _parts(
        lambda text: [ord(c) for c in text.decode(input_encoding)], input, "unicode_decode", np.int32
    )


def unicode_encode(input: Any, output_encoding: str = "UTF-8", name: str | None = None) -> Tensor:
    """The strings of characters whose numbers are the rows of `input`; `output_encoding` is "UTF-8".

    TypeError for what is no integer.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.strings.unicode_encode([97, 98], "UTF-8"))
    tf.Tensor(b'ab', shape=(), dtype=string)
    """
    numbers = as_tensor(input)

    def encode(array: np.ndarray) -> np.ndarray:
        encoded = np.empty(array.shape[:-1], object)
        for place in np.ndindex(encoded.shape):
            encoded[place] = "".join(map(chr, array[place])).encode(output_encoding)
        return frozen(encoded)

    return computed(encode, [numbers], sizes=numbers.shape[:-1])


def regex_replace(
    input: Any, pattern: str, rewrite: str, replace_global: bool = True, name: str | None = None
) -> Tensor:
    r"""Each string of `input` with what matches `pattern` rewritten, once if not `replace_global`.

    In `rewrite`, ``\1`` to ``\9`` stand for groups, ``\0`` for all that matches, and two backslashes for one.
    DtypeError for numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.strings.regex_replace("hello", "l+", "L"))
    tf.Tensor(b'heLo', shape=(), dtype=string)
    """
    regex, parts = re.compile(pattern.encode()), re.split(rb"\\([0-9\\])", rewrite.encode())

    def rewritten(match: re.Match[bytes]) -> bytes:
        named = [b"\\" if k == b"\\" else match[int(k)] or b"" for k in parts[1::2]]
        return b"".join(text + name for text, name in zip(parts[::2], [*named, b""], strict=True))

    return _each(lambda s: regex.sub(rewritten, s, count=0 if replace_global else 1), input)


def regex_full_match(input: Any, pattern: str, name: str | None = None) -> Tensor:
    """Does the regular expression `pattern` match each element of `input` as a whole? Bools; DtypeError for numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.strings.regex_full_match(["a1", "b"], "[a-z][0-9]"))
    tf.Tensor([ True False], shape=(2,), dtype=bool)
    """
    regex = re.compile(pattern.encode())
    return _each(lambda s: regex.fullmatch(s) is not None, input, np.bool_)


def format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """`template` with the elements of `inputs` in place of each `placeholder`, `summarize` at each end of every axis.

    A scalar string. ValueError where there are not as many places as tensors.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.strings.format("x is {}", tf.constant([1, 2])))
    tf.Tensor(b'x is [1 2]', shape=(), dtype=string)
    """
    values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    parts = template.split(placeholder)
    if len(parts) - 1 != len(values):
        raise ValueError(
            f"{template!r} has {len(parts) - 1} places for {len(values)} tensors{at(user_location())}"
        )

    def show(*arrays: np.ndarray) -> np.ndarray:
        shown = [array_summary(a, summarize) for a in arrays]
        return to_array("".join(p + v for p, v in zip(parts, [*shown, ""], strict=True)))

    return computed(show, [as_tensor(v) for v in values], sizes=())


def as_string(input: Any, precision: int = -1, name: str | None = None) -> Tensor:
    """Each element of `input` as text, a string; with `precision`, so many digits after the point (6 for floats).

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.as_string([1, 2]))
    tf.Tensor([b'1' b'2'], shape=(2,), dtype=string)
    """
    x = as_tensor(input)
    if x.np_dtype.kind == "O":
        return x

    def show(array: np.ndarray) -> np.ndarray:
        texts = np.empty(array.shape, object)
        array = array.astype(np.float32) if array.dtype.kind == "V" else array
        for place, value in np.ndenumerate(array):
            texts[place] = _shown(value, precision).encode()
        return frozen(texts)

    if not x.is_symbolic:
        notify("value", x)
    return computed(show, [x])


def _shown(value: Any, precision: int) -> str:
    if isinstance(value, np.bool_):
        return "true" if value else "false"
    return f"{value:.{6 if precision < 0 else precision}f}" if isinstance(value, np.floating) else str(value)


def to_number(input: Any, out_type: Any = np.float32, name: str | None = None) -> Tensor:
    """Text, each element of `input`, as numbers of the dtype `out_type`; ValueError for text that is none.

    DtypeError for strings as `out_type`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.strings.to_number(["1.5", "2"]))
    tf.Tensor([1.5 2. ], shape=(2,), dtype=float32)
    """
    wanted, where = as_dtype(out_type), at(user_location())
    if wanted is TEXT:
        raise DtypeError(f"to_number makes numbers, not strings{where}")

    def number(text: bytes) -> Any:
        try:
            return wanted.type(text.decode())
        except ValueError:
            raise ValueError(f"{text!r} is no {wanted.name}{where}") from None

    return _each(number, input, wanted)
