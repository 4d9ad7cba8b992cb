"""Assertions about tensors, by name: of values, which are checked when the program runs, and of shapes and dtypes.

What is asserted of values is the op `check` while tracing; shapes and dtypes are known then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..core.dim import same
from ..core.dtype import info
from ..core.errors import DtypeError, FailedAssertion, ShapeError, at, user_location
from ..core.op import ops
from ..core.spec import as_dtype, dtype_name, shape_text
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor, state
from ..frontend.control.reductions import reduce_all, reduce_any
from ..ops.elementwise.arithmetic import matched

_SHOWN = 3


def Assert(condition: Any, data: Any, summarize: int | None = None, name: str | None = None) -> None:
    """Fail with `data` unless the scalar `condition` holds, in compiled functions whenever they run.

    Parameters
    ----------
    condition : bool or scalar tensor of bool
    data : sequence
        What to say: strings and tensors, whose elements are shown where they are known.
    summarize : int, optional
        How many elements of each tensor; 3 by default.

    Raises
    ------
    AssertionError
        At the user's line. ``tracejit.errors.InvalidArgumentError`` catches it too.
    DtypeError
        For a condition that is not bool.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.Assert(tf.constant(2) > 1, ["too small"])
    """
    items = data if isinstance(data, (list, tuple)) else [data]
    shown = [x if isinstance(x, str) else _shown(as_tensor(x), summarize) for x in items]
    holds = as_tensor(condition)
    if holds.dtype.kind != "b" or holds.shape:
        raise DtypeError(
            f"an assertion is about one bool, got {holds.spec}: write tracejit.reduce_all{at(user_location())}"
        )
    _check(holds, f"assertion failed: {' '.join(shown)}")


def _check(holds: Tensor, message: str) -> None:
    if state.interpreter is not None:
        ops.check(ops.cast(holds, dtype=np.dtype(np.float32)), message=message)
    elif not holds.array:
        raise FailedAssertion(f"{message}{at(user_location())}")


def _shown(x: Tensor, summarize: int | None = None) -> str:
    """The first elements, or where there are none yet the shape and dtype."""
    if x.is_symbolic:
        return str(x.spec)
    count = x.array.size if summarize == -1 else summarize or _SHOWN
    first = " ".join(map(str, x.array.ravel()[:count]))
    return f"[{first}{' ...' if x.array.size > count else ''}]"


def _every(holds: Tensor, relation: str, about: Sequence[tuple[str, Tensor]], message: str | None) -> None:
    """Check that something holds for all elements; values that are known are part of the message."""
    text = f"{message}. " if message else ""
    text += f"Condition {relation} did not hold"
    known = [(n, x) for n, x in about if not x.is_symbolic]
    if not holds.is_symbolic and holds.shape and not holds.array.all():
        text += f" at {tuple(np.argwhere(~holds.array)[0].tolist())}"
    text += "".join(f", {n} = {_shown(x)}" for n, x in known)
    _check(reduce_all(holds), text)


# ---- values ---------------------------------------------------------------------------------------------


class _OfTwo(Protocol):
    """What assertions about two tensors look like."""

    def __call__(
        self,
        x: Any,
        y: Any,
        message: str | None = None,
        summarize: int | None = None,
        name: str | None = None,
    ) -> None: ...


class _OfOne(Protocol):
    """What assertions about one tensor look like."""

    def __call__(
        self, x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
    ) -> None: ...


def _comparison(op: Callable[..., Any], sign: str, name: str, words: str, shown: tuple[Any, Any]) -> _OfTwo:
    """The assertion `name`: `words` say what holds of `x` and `y`, as of the two that are `shown`."""

    def compare(
        x: Any, y: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
    ) -> None:
        a, b = matched((x, y), {})[0]
        _every(op(a, b), f"x {sign} y", (("x", a), ("y", b)), message)

    compare.__name__ = compare.__qualname__ = name
    compare.__doc__ = f"""Fail unless `x` is {words} `y` in every element; they broadcast.

    Parameters
    ----------
    x, y : tensor-like
    message : str, optional
        Put in front.
    summarize
        Accepted and ignored.

    Raises
    ------
    AssertionError
        With the first elements of both, at the user's line.
    ShapeError
        Where they do not broadcast.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.debugging.{name}({shown[0]}, {shown[1]})
    """
    return compare


def _sign(op: Callable[..., Any], sign: str, name: str, words: str, shown: list[float]) -> _OfOne:
    """The assertion `name`: `words` say what holds of every element of `x`, as of those that are `shown`."""

    def compare(
        x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
    ) -> None:
        x = as_tensor(x)
        _every(op(x, as_tensor(0, x.dtype)), f"x {sign} 0", (("x", x),), message)

    compare.__name__ = compare.__qualname__ = name
    compare.__doc__ = f"""Fail with an AssertionError unless every element of `x` is {words}.

    It begins with `message`; `summarize` is accepted and ignored.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.debugging.{name}({shown})
    """
    return compare


assert_equal: _OfTwo = _comparison(ops.equal, "==", "assert_equal", "equal to", ([1, 2], [1, 2]))
assert_none_equal: _OfTwo = _comparison(
    ops.not_equal, "!=", "assert_none_equal", "different from", ([1, 2], [2, 1])
)
assert_less: _OfTwo = _comparison(ops.less, "<", "assert_less", "less than", ([1, 2], 3))
assert_less_equal: _OfTwo = _comparison(ops.less_equal, "<=", "assert_less_equal", "at most", ([1, 3], 3))
assert_greater: _OfTwo = _comparison(ops.greater, ">", "assert_greater", "greater than", ([4, 5], 3))
assert_greater_equal: _OfTwo = _comparison(
    ops.greater_equal, ">=", "assert_greater_equal", "at least", ([3, 5], 3)
)
assert_positive: _OfOne = _sign(ops.greater, ">", "assert_positive", "greater than 0", [1.0, 2.0])
assert_negative: _OfOne = _sign(ops.less, "<", "assert_negative", "less than 0", [-1.0, -2.0])
assert_non_negative: _OfOne = _sign(ops.greater_equal, ">=", "assert_non_negative", "0 or more", [0.0, 2.0])
assert_non_positive: _OfOne = _sign(ops.less_equal, "<=", "assert_non_positive", "0 or less", [-1.0, 0.0])


def assert_near(
    x: Any,
    y: Any,
    rtol: float | None = None,
    atol: float | None = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Fail unless ``abs(x - y) <= atol + rtol * abs(y)`` in every element.

    Parameters
    ----------
    x, y : tensor-like of floats
    rtol, atol : float, optional
        Ten units in the last place of 1 by default.
    message : str, optional
        Put in front.
    summarize
        Accepted and ignored.

    Raises
    ------
    AssertionError
        With the first elements of both, at the user's line.
    TypeError
        For integers.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.debugging.assert_near([1.0], [1.0 + 1e-7])
    """
    a, b = matched((x, y), {})[0]
    if a.dtype.kind not in "fc":
        raise DtypeError(
            f"assert_near is about floats, got {a.spec}: write assert_equal{at(user_location())}"
        )
    default = 10.0 * float((info(a.dtype) if a.dtype.is_floating else np.finfo(a.np_dtype)).eps)
    rtol, atol = (default if t is None else float(t) for t in (rtol, atol))
    bound = ops.add(as_tensor(atol, a.dtype), ops.multiply(as_tensor(rtol, a.dtype), ops.abs(b)))
    near = ops.less_equal(ops.abs(ops.subtract(a, b)), bound)
    _every(near, f"abs(x - y) <= {atol:g} + {rtol:g} * abs(y)", (("x", a), ("y", b)), message)


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """`tensor` itself, whose elements are neither NaN nor infinite.

    Raises
    ------
    AssertionError
        Where one is, with `message`; in compiled functions when they run.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.debugging.check_numerics([1.0, 2.0], "loss"))
    tf.Tensor([1. 2.], shape=(2,), dtype=float32)
    """
    x = as_tensor(tensor)
    nan = ops.not_equal(x, x)
    _check(ops.logical_not(reduce_any(nan)), f"{message} : Tensor had NaN values")
    finite = ops.equal(ops.subtract(x, x), as_tensor(0, x.np_dtype))
    _check(reduce_all(ops.logical_or(finite, nan)), f"{message} : Tensor had Inf values")
    return x


def assert_all_finite(x: Any, message: str, name: str | None = None) -> Tensor:
    """Another name of :func:`check_numerics`, which tells of `x`, `message`, shape, dtype and AssertionError.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.debugging.assert_all_finite([1.0, 2.0], "all of them are numbers"))
    tf.Tensor([1. 2.], shape=(2,), dtype=float32)
    """
    return check_numerics(x, message)


# ---- shapes and dtypes ----------------------------------------------------------------------------------


def _refuse(kind: type[Exception], message: str | None, text: str) -> None:
    raise kind(f"{message + '. ' if message else ''}{text}{at(user_location())}")


def assert_rank(x: Any, rank: int, message: str | None = None, name: str | None = None) -> None:
    """Fail with a ValueError, which begins with `message`, unless `x` has `rank` axes.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.debugging.assert_rank([1.0, 2.0], 1)
    """
    spec = as_tensor(x).spec
    if spec.rank != int(rank):
        _refuse(ShapeError, message, f"a tensor of rank {int(rank)} is wanted, got {spec}")


def assert_rank_at_least(x: Any, rank: int, message: str | None = None, name: str | None = None) -> None:
    """Fail with a ValueError, which begins with `message`, unless `x` has `rank` axes or more.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.debugging.assert_rank_at_least([[1.0, 2.0]], 1)
    """
    spec = as_tensor(x).spec
    if spec.rank < int(rank):
        _refuse(ShapeError, message, f"a tensor of rank {int(rank)} or more is wanted, got {spec}")


def assert_rank_in(x: Any, ranks: Sequence[int], message: str | None = None, name: str | None = None) -> None:
    """Fail with a ValueError, which begins with `message`, unless the number of axes of `x` is one of `ranks`.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.debugging.assert_rank_in([1.0, 2.0], [0, 1])
    """
    spec = as_tensor(x).spec
    if spec.rank not in [int(r) for r in ranks]:
        _refuse(ShapeError, message, f"a tensor of a rank among {tuple(ranks)} is wanted, got {spec}")


def assert_scalar(tensor: Any, message: str | None = None, name: str | None = None) -> Tensor:
    """`tensor` itself, of any dtype; a ValueError, which begins with `message`, unless it has no axes.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.debugging.assert_scalar(1.0))
    tf.Tensor(1.0, shape=(), dtype=float32)
    """
    assert_rank(tensor, 0, message)
    return as_tensor(tensor)


def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> None:
    """Fail with a TypeError, which begins with `message`, unless `tensor` is of the dtype `tf_type`.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.debugging.assert_type(tf.constant(1.0), tf.float32)
    """
    x, wanted = as_tensor(tensor), as_dtype(tf_type)
    if x.np_dtype != wanted:
        _refuse(DtypeError, message, f"a tensor of {dtype_name(wanted)} is wanted, got {x.spec}")


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> None:
    """Fail with a TypeError, which begins with `message`, unless the elements of `x` are integers.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.debugging.assert_integer([1, 2])
    """
    spec = as_tensor(x).spec
    if spec.dtype.kind not in "iu":
        _refuse(DtypeError, message, f"a tensor of integers is wanted, got {spec}")


def is_numeric_tensor(tensor: Any) -> bool:
    """Is `tensor` a tensor of numbers?

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.debugging.is_numeric_tensor(tf.constant(1.0)))
    True
    """
    return isinstance(tensor, Tensor) and tensor.dtype.kind in "iufc"


def assert_shapes(
    shapes: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Fail with a ValueError unless tensors have shapes that are given by numbers and letters.

    Parameters
    ----------
    shapes : mapping or sequence of (tensor, shape)
        A shape is a sequence, or a str of single symbols: an int is a size, a name stands for one size wherever it
        comes, ``None`` and ``"."`` for any; ``...`` or ``"*"`` in front for any further axes.
    message : str, optional
        Put in front.
    data, summarize
        Accepted and ignored.

    Examples
    --------
    >>> import tracejit as tf
    >>> x, y = tf.ones([2, 3]), tf.ones([3])
    >>> tf.debugging.assert_shapes([(x, ("N", "D")), (y, ("D",))])
    """
    sizes: dict[Any, Any] = {}
    for x, wanted in shapes.items() if isinstance(shapes, Mapping) else shapes:
        shape, pattern = (
            as_tensor(x).shape,
            list(wanted) if isinstance(wanted, (str, list, tuple)) else [wanted],
        )
        if pattern and (pattern[0] is ... or pattern[0] == "*"):
            pattern = [None] * (len(shape) - len(pattern) + 1) + pattern[1:]
        fits = len(shape) == len(pattern) and all(
            _is_size(want, size, sizes) for want, size in zip(pattern, shape, strict=True)
        )
        if not fits:
            known = ", ".join(f"{k} = {v}" for k, v in sizes.items())
            where = f" where {known}" if known else ""
            _refuse(ShapeError, message, f"the shape {shape_text(shape)} is not {tuple(wanted)}{where}")


def _is_size(want: Any, size: Any, sizes: dict[Any, Any]) -> bool:
    if want is None or want == ".":
        return True
    if isinstance(want, str) and not want.isdigit():
        return same(sizes.setdefault(want, size), size)
    return same(int(want), size)
