"""``numpy.fft``: discrete Fourier transforms of tensors, of complex numbers, to and from real ones, over axes."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..ops.arrays.reduce import axes_of, one_axis
from ..ops.fourier import transformed
from ..ops.tensor.indexing import get
from .borders import pad
from .conversion import array, floats, on_cpu
from .shapes import flip, roll

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

#: What the inverse of a convention for dividing by the size is called.
_INVERSE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _complex(x: Any) -> Any:
    """As complex numbers of the width of its floats."""
    v = floats(x) if array(x).dtype.kind in "fc" else ops.cast(array(x), dtype=np.dtype("float64"))
    if v.dtype.kind == "c":
        return v
    return ops.cast(v, dtype=np.dtype("complex128" if v.np_dtype == np.float64 else "complex64"))


def _checked(norm: str | None) -> str:
    name = "backward" if norm is None else norm
    if name not in _INVERSE:
        raise ValueError(f"norm is 'backward', 'ortho' or 'forward', got {norm!r}{at(user_location())}")
    return name


def _of_size(x: Any, n: int, axis: int) -> Any:
    """Cut off or filled up with zeros, to `n` elements along an axis."""
    size = x.shape[axis]
    if n < 1:
        raise ValueError(f"a transform is of at least one number, got n={n}{at(user_location())}")
    if n < size:
        return get(x, (*(slice(None),) * axis, slice(0, n)))
    return x if n == size else pad(x, [(0, n - size if k == axis else 0) for k in range(len(x.shape))])


def _scaled(y: Any, n: int, norm: str, inverse: bool) -> Any:
    """Divided as asked: by the size in one of the directions, or by its root in both."""
    if norm == "ortho":
        return ops.multiply(y, 1.0 / math.sqrt(n))
    return ops.multiply(y, 1.0 / n) if inverse == (norm == "backward") else y


def _one(x: Any, n: int | None, axis: int, norm: str | None, inverse: bool) -> Any:
    v = _complex(x)
    place = one_axis(int(axis), len(v.shape))
    size = int(v.shape[place] if n is None else n)
    return _scaled(transformed(_of_size(v, size, place), place, inverse), size, _checked(norm), inverse)


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The sums ``a[k] exp(-2 pi i j k / n)`` for each j along `axis`, complex; `a` is cut or filled to `n` before.

    `norm` says where it is divided by `n`: "backward" not here, "forward" here, "ortho" by the root of `n`. ShapeError
    for an axis that is not there, ValueError for another `norm` and for no elements, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.fft([1.0, 0.0, 0.0, 0.0]))
    tf.Tensor([1.+0.j 1.+0.j 1.+0.j 1.+0.j], shape=(4,), dtype=complex128)
    """
    return _one(a, n, axis, norm, False)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of :func:`fft`, of `a`, with its `n`, `axis`, `norm`, dtypes and errors, ShapeError and ValueError.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.ifft([4.0, 0.0, 0.0, 0.0]))
    tf.Tensor([1.+0.j 1.+0.j 1.+0.j 1.+0.j], shape=(4,), dtype=complex128)
    """
    return _one(a, n, axis, norm, True)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The first ``n // 2 + 1`` sums of :func:`fft` along `axis`, complex, of real `a`; the others are their conjugates.

    `n` and `norm` are those of :func:`fft`. ValueError for complex numbers, ShapeError for an axis that is not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.rfft([1.0, 2.0, 3.0, 4.0]))
    tf.Tensor([10.+0.j -2.+2.j -2.+0.j], shape=(3,), dtype=complex128)
    """
    if array(a).dtype.kind == "c":
        raise ValueError(f"rfft takes real numbers; use fft for complex ones{at(user_location())}")
    y: Any = _one(a, n, axis, norm, False)
    place = one_axis(int(axis), len(y.shape))
    return get(y, (*(slice(None),) * place, slice(0, y.shape[place] // 2 + 1)))


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of :func:`rfft`: `n` real numbers along `axis`, by default an even number, ``2 (m - 1)`` of m in `a`.

    The imaginary parts of the first sum, and of the last one where `n` is even, do not count. `norm` is that of
    :func:`fft`; ShapeError for an axis that is not there, ValueError for no elements.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.irfft([10.0, -2.0 + 2.0j, -2.0]))
    tf.Tensor([1. 2. 3. 4.], shape=(4,), dtype=float64)
    """
    v = _complex(a)
    place = one_axis(int(axis), len(v.shape))
    size = int(2 * (v.shape[place] - 1) if n is None else n)
    whole = _of_size(v, size // 2 + 1, place)
    if size < 1:
        raise ValueError(f"a transform is of at least one number, got n={size}{at(user_location())}")
    mirrored = flip(get(whole, (*(slice(None),) * place, slice(1, (size + 1) // 2))), place)
    spectrum = _real_ends(ops.concat(whole, ops.conj(mirrored), axis=place), size, place)
    return ops.real(_scaled(transformed(spectrum, place, True), size, _checked(norm), True))


def _real_ends(x: Any, n: int, axis: int) -> Any:
    """The first sum, and the middle one of an even number, without imaginary parts."""
    number = np.arange(n).reshape([n if k == axis else 1 for k in range(len(x.shape))])
    real = (number == 0) | (2 * number == n)
    return ops.where(array(real), ops.cast(ops.real(x), dtype=x.dtype), x)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The real sums of a signal `a` whose other half are the conjugates, `n` along `axis`; `norm` as in :func:`fft`.

    ShapeError for an axis that is not there, ValueError for no elements; real floats.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.hfft([1.0, 2.0, 1.0]))
    tf.Tensor([ 6.  0. -2.  0.], shape=(4,), dtype=float64)
    """
    return irfft(ops.conj(_complex(a)), n, axis, _INVERSE[_checked(norm)])


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of :func:`hfft`, of real `a`, with its `n`, `axis`, `norm`; complex. ValueError for complex numbers.

    ShapeError for an axis that is not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.ihfft([1.0, 2.0, 3.0, 2.0]))
    tf.Tensor([ 2. -0.j -0.5-0.j  0. -0.j], shape=(3,), dtype=complex128)
    """
    return ops.conj(rfft(a, n, axis, _INVERSE[_checked(norm)]))


def _axes(x: Any, s: Any, axes: Any) -> tuple[list[int | None], list[int]]:
    """How many elements along which axes: the last ones where sizes are given alone."""
    rank = len(array(x).shape)
    sizes = None if s is None else [None if v is None or v == -1 else int(v) for v in s]
    if axes is None:
        places = list(range(rank)) if sizes is None else list(range(rank - len(sizes), rank))
    else:
        places = [one_axis(int(k), rank) for k in axes]
    sizes = [None] * len(places) if sizes is None else sizes
    if len(sizes) != len(places):
        raise ShapeError(f"{len(sizes)} sizes for {len(places)} axes{at(user_location())}")
    return sizes, places


def _each(function: Any, a: Any, s: Any, axes: Any, norm: str | None) -> Any:
    sizes, places = _axes(a, s, axes)
    pairs = list(zip(sizes, places, strict=True))
    return functools.reduce(lambda x, p: function(x, p[0], p[1], norm), reversed(pairs), _complex(a))


def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    """:func:`fft` of `a` over several `axes`, all by default, cut or filled to the sizes `s`; complex, `norm` as there.

    ShapeError for axes that are not there, ValueError for another `norm`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.fftn([[1.0, 2.0], [3.0, 4.0]])[0])
    tf.Tensor([10.+0.j -2.+0.j], shape=(2,), dtype=complex128)
    """
    return _each(fft, a, s, axes, norm)


def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of :func:`fftn`, of `a`, with its `s`, `axes`, `norm`, dtypes and errors, ShapeError, ValueError.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.ifftn([[4.0, 0.0], [0.0, 0.0]])[0])
    tf.Tensor([1.+0.j 1.+0.j], shape=(2,), dtype=complex128)
    """
    return _each(ifft, a, s, axes, norm)


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    """:func:`rfft` of `a` over the last of `axes`, then :func:`fft` over the others; `s` and `norm` as in :func:`fftn`.

    ValueError for complex numbers, ShapeError for axes that are not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.rfftn(tnp.ones((4, 6))).shape)
    (4, 4)
    """
    sizes, places = _axes(a, s, axes)
    last = rfft(a, sizes[-1], places[-1], norm)
    return _each(fft, last, sizes[:-1], places[:-1], norm) if places[:-1] else last


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of :func:`rfftn`, of `a`, with its `s`, `axes`, `norm`; real floats. ShapeError, ValueError also.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.irfftn(tnp.ones((4, 4))).shape)
    (4, 6)
    """
    sizes, places = _axes(a, s, axes)
    others = _each(ifft, a, sizes[:-1], places[:-1], norm) if places[:-1] else a
    return irfft(others, sizes[-1], places[-1], norm)


def fft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """:func:`fftn` of `a` over two `axes`, with its `s`, `norm`, dtypes and errors, ShapeError and ValueError.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.fft2([[1.0, 2.0], [3.0, 4.0]])[1])
    tf.Tensor([-4.+0.j  0.+0.j], shape=(2,), dtype=complex128)
    """
    return fftn(a, s, axes, norm)


def ifft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """:func:`ifftn` of `a` over two `axes`, with its `s`, `norm`, dtypes and errors, ShapeError and ValueError.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.ifft2([[10.0, -2.0], [-4.0, 0.0]])[1])
    tf.Tensor([3.+0.j 4.+0.j], shape=(2,), dtype=complex128)
    """
    return ifftn(a, s, axes, norm)


def rfft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """:func:`rfftn` of `a` over two `axes`, with its `s`, `norm`, dtypes and errors, ShapeError and ValueError.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.rfft2(tnp.ones((3, 4, 6))).shape)
    (3, 4, 4)
    """
    return rfftn(a, s, axes, norm)


def irfft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Tensor:
    """:func:`irfftn` of `a` over two `axes`, with its `s`, `norm`, dtypes and errors, ShapeError and ValueError.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.irfft2(tnp.ones((3, 4, 4))).shape)
    (3, 4, 6)
    """
    return irfftn(a, s, axes, norm)


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of the `n` sums of :func:`fft` for samples at a distance `d`; float64 or `dtype`, a vector.

    `device` is "cpu"; ValueError for others.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.fftfreq(4, 0.5))
    tf.Tensor([ 0.   0.5 -1.  -0.5], shape=(4,), dtype=float64)
    """
    on_cpu(device)
    return array(np.fft.fftfreq(n, d), dtype)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of the sums of :func:`rfft` of `n` samples at a distance `d`; float64 or `dtype`, a vector.

    `device` is "cpu"; ValueError for others.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.rfftfreq(4, 0.5))
    tf.Tensor([0.  0.5 1. ], shape=(3,), dtype=float64)
    """
    on_cpu(device)
    return array(np.fft.rfftfreq(n, d), dtype)


def fftshift(x: Any, axes: Any = None) -> Tensor:
    """`x` with frequency 0 in the middle of `axes`, all by default; of its dtype. ShapeError for axes not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.fftshift([0, 1, 2, -2, -1]))
    tf.Tensor([-2 -1  0  1  2], shape=(5,), dtype=int64)
    """
    v = array(x)
    places = axes_of(axes, len(v.shape))
    return roll(v, tuple([v.shape[k] // 2 for k in places]), places)


def ifftshift(x: Any, axes: Any = None) -> Tensor:
    """The inverse of :func:`fftshift`, of `x` over `axes`, of its dtype; ShapeError for axes that are not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fft.ifftshift([-2, -1, 0, 1, 2]))
    tf.Tensor([ 0  1  2 -2 -1], shape=(5,), dtype=int64)
    """
    v = array(x)
    places = axes_of(axes, len(v.shape))
    return roll(v, tuple([-(v.shape[k] // 2) for k in places]), places)
