"""IndexedSlices: the gradient of a table of which some rows were read, kept as these rows.

A Tensor like any other, whose elements are put in place when somebody first asks for them; who knows it better, as
`Variable.assign_sub` and optimizers do, takes the rows and never needs the whole. Knows neither tapes nor Variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.autodiff.scattered import Scattered, dense, is_rows
from ...core.dim import same
from ...core.errors import ShapeError, at, user_location
from ...core.op import ops
from ...core.spec import TensorSpec, shape_text
from ...core.tensor import Tensor, next_serial
from ...core.tracing.dispatch import as_tensor, interpreting, state
from ...ops.arrays.shape import sizes_of


def _least_shape(values: Tensor, indices: Tensor) -> tuple[Any, ...]:
    """The shape of the smallest tensor that has all these rows."""
    if indices.is_symbolic or not indices.array.size or indices.array.min() < 0:
        raise ShapeError(
            f"indices of {indices.spec} do not say how many rows there are: give dense_shape{at(user_location())}"
        )
    return (int(indices.array.max()) + 1, *values.shape[1:])


class IndexedSlices(Tensor):
    """A Tensor that is zero but for some of its rows.

    :meth:`GradientTape.gradient` returns it for a Variable that was read by :func:`gather` alone, as embeddings are.
    It is a Tensor in every respect; only when its elements are asked for is an array of its whole shape made.
    Products with a number or a scalar tensor, quotients and the negative are IndexedSlices again.

    Parameters
    ----------
    values : tensor-like
        The rows, of shape ``(n, *dense_shape[1:])``.
    indices : tensor-like of integers
        Where they belong, of shape ``(n,)``; a row that comes several times is added up. Negative ones count from
        the end.
    dense_shape : sequence of int, optional
        The shape of the whole; by default it has as many rows as the largest index asks for.

    Raises
    ------
    ShapeError
        When these do not fit each other.

    Examples
    --------
    >>> import tracejit as tf
    >>> table = tf.Variable(tf.ones((1000, 2)))
    >>> with tf.GradientTape() as tape:
    ...     y = tf.reduce_sum(tf.gather(table, [7, 7, 3]))
    >>> g = tape.gradient(y, table)
    >>> g.shape, g.indices.numpy().tolist(), g.values.shape
    (TensorShape([1000, 2]), [7, 7, 3], TensorShape([3, 2]))
    >>> print(g[7])
    tf.Tensor([2. 2.], shape=(2,), dtype=float32)
    """

    __slots__ = ("values", "indices", "_whole")
    indices: Tensor
    values: Tensor

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None, name: str | None = None):
        values, indices = as_tensor(values), as_tensor(indices)
        shape = _least_shape(values, indices) if dense_shape is None else sizes_of(dense_shape)
        fits = len(values.shape) == len(shape) and len(indices.shape) == 1 and indices.dtype.kind in "iu"
        sizes = (*indices.shape, *shape[1:])
        if not fits or not all(map(same, values.shape, sizes)):
            raise ShapeError(
                f"values of {values.spec} and indices of {indices.spec} are no rows of a tensor of shape "
                f"{shape_text(shape)}: values are of shape (n, *dense_shape[1:]), indices integers of shape (n,)"
                f"{at(user_location())}"
            )
        spec = TensorSpec(shape, values.dtype)
        self._hold(
            values, indices, spec, lambda: dense(Scattered(spec, (("gather", {"axis": 0}, indices, values),)))
        )

    @classmethod
    def of(cls, g: Scattered) -> IndexedSlices:
        """The rows of a cotangent that consists of nothing else (see `core.scattered.is_rows`)."""
        indices = [_reshaped(i, (math.prod(i.shape),)) for _, _, i, _ in g.pieces]
        values = [_reshaped(v, (math.prod(i.shape), *g.spec.shape[1:])) for _, _, i, v in g.pieces]
        if len(g.pieces) > 1:
            indices, values = [ops.concat(*indices, axis=0)], [ops.concat(*values, axis=0)]
        made = cls.__new__(cls)
        made._hold(values[0], indices[0], g.spec, lambda: dense(g))
        return made

    def _hold(self, values: Tensor, indices: Tensor, spec: TensorSpec, make: Callable[[], Any]) -> None:
        """Keep the rows and how to `make` the whole of them.

        While a function is traced it is made at once, since what is not used is dropped from the graph, and while a
        tape records, which must see it made.
        """
        self.values, self.indices = values, indices
        self._spec = spec
        self.np_dtype: np.dtype[Any] = spec.dtype
        self._whole: Any = make
        if state.interpreter is not None or state.recorders:
            self._whole = make()
        self.serial: int = self._whole.serial if self._whole is not make else next_serial()

    def __tensor__(self) -> Tensor:
        """The same as a tensor that holds all elements."""
        whole = self._whole
        if whole.__class__ is not Tensor:
            with interpreting(None):
                whole = Tensor(whole().array)
            whole.serial = self.serial
            self._whole = whole
        return whole

    @property
    def _payload(self) -> Any:
        return self.__tensor__()._payload

    @property
    def dense_shape(self) -> tuple[Any, ...]:
        """The shape of the whole."""
        return self.shape

    @property
    def is_symbolic(self) -> bool:
        """True while tracing."""
        return self.values.is_symbolic

    @property
    def nbytes(self) -> Any:
        """Bytes its rows take."""
        return self.values.nbytes

    # ---- arithmetic that keeps to the rows; other operators are those of every tensor ---------------------

    def __mul__(self, other: Any) -> Any:
        return self._scaled(ops.multiply, other) if self._scales(other) else super().__mul__(other)

    def __rmul__(self, other: Any) -> Any:
        return self._scaled(ops.multiply, other) if self._scales(other) else super().__rmul__(other)

    def __truediv__(self, other: Any) -> Any:
        return self._scaled(ops.divide, other) if self._scales(other) else super().__truediv__(other)

    def __neg__(self) -> IndexedSlices:
        return self._scaled(ops.negative)

    def _scales(self, other: Any) -> bool:
        """Is it one number, by which all elements are multiplied, and which leaves the dtype as it is?"""
        if isinstance(other, Tensor):
            return not other.shape and other.np_dtype == self.np_dtype
        return other.__class__ in (int, float)

    def _scaled(self, op: Callable[..., Any], *by: Any) -> IndexedSlices:
        made = IndexedSlices.__new__(IndexedSlices)
        made._hold(op(self.values, *by), self.indices, self.spec, lambda: op(self.__tensor__(), *by))
        return made

    # ---- the rest ---------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return f"IndexedSlices(values={self.values}, indices={self.indices}, dense_shape={shape_text(self.shape)})"

    def __repr__(self) -> str:
        about = f"dense_shape={shape_text(self.shape)}"
        return f"<tf.IndexedSlices: values={self.values!r}, indices={self.indices!r}, {about}>"


def _reshaped(x: Tensor, shape: tuple[Any, ...]) -> Tensor:
    return x if len(x.shape) == len(shape) else ops.reshape(x, shape=shape)


def rows_or_dense(g: Any) -> Any:
    """A cotangent as IndexedSlices where it consists of rows, else as a Tensor; None stays."""
    return IndexedSlices.of(g) if is_rows(g) else dense(g)
