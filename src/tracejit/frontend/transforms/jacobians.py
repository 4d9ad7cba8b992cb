"""Jacobians: derivatives of tensors by tensors, all rows or columns at once through `vmap`.

A row is the backward of one element of the target, a column the forward of one element of the source; either is
run for all elements together by batching. Nothing here knows a gradient rule or a tape.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.autodiff.backprop import backprop
from ...core.dim import Size
from ...core.errors import at, user_location
from ...core.lazy import Later
from ...core.op import ops
from ...core.protocols import P
from ...core.tensor import Tensor
from ...core.tracing.dispatch import Record, as_tensor
from ..structure import Structure, flatten, unflatten
from .grad import grad, jvp, linearize, positions, vjp
from .vectorize import vmap

if TYPE_CHECKING:
    from ..control import branching
else:
    branching = Later("..control.branching", __package__)

INT64 = np.dtype("int64")


def basis(x: Tensor) -> Tensor:
    """One tensor like `x` per element of it, stacked: one there and zero elsewhere."""
    n = _count(x.shape)
    place = ops.iota(size=n, dtype=INT64)
    same = ops.equal(ops.reshape(place, shape=(n, 1)), ops.reshape(place, shape=(1, n)))
    return ops.reshape(ops.cast(same, dtype=x.np_dtype), shape=(n, *x.shape))


def _count(shape: Sequence[Size]) -> Any:
    return math.prod(shape)


# ---- for tapes ------------------------------------------------------------------------------------------


def rows_of(
    records: list[Record], target: Tensor, seeds: Tensor, sources: Sequence[int], vectorized: bool
) -> list[Tensor | None]:
    """The cotangents of the sources for each of the seeds of the target, stacked; None where nothing connects."""
    connected: list[bool] = []

    def pull(seed: Tensor) -> list[Tensor]:
        cotangents = backprop(records, {target.serial: seed}, sources)
        connected[:] = [g is not None for g in cotangents]
        return [g for g in cotangents if g is not None]

    stacks: Iterator[Tensor] = iter(vmap(pull)(seeds) if vectorized else branching.map_fn(pull, seeds))
    return [next(stacks) if c else None for c in connected]


def batch_seeds(target: Tensor) -> Tensor:
    """One seed per element of an example of the target, the same in all examples."""
    one = basis(ops.fill(shape=tuple(target.shape[1:]), value=0.0, dtype=target.np_dtype))
    return ops.broadcast_to(
        ops.reshape(one, shape=(one.shape[0], 1, *target.shape[1:])), shape=(one.shape[0], *target.shape)
    )


# ---- functions ------------------------------------------------------------------------------------------


def jacrev(f: Callable[P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[P, Any]:
    """The function that computes the Jacobian of `f` by reverse mode: best where `f` returns few elements.

    Parameters
    ----------
    f : callable
        Returns a nest of float tensors, or ``(nest, anything)`` with `has_aux`.
    argnums : int or sequence of int
        Which arguments to differentiate with respect to; each may be a nest of float tensors.
    has_aux : bool
        `f` returns a pair, of which the second is passed on as it is.

    Returns
    -------
    callable
        Takes the arguments of `f`; returns a nest like its result, with a nest like the argument (a tuple of them for
        several `argnums`) in place of each tensor, of tensors of shape ``result.shape + argument.shape``.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.jacrev(lambda x: x * x)(tf.constant([1.0, 2.0])))
    tf.Tensor(
    [[2. 0.]
     [0. 4.]], shape=(2, 2), dtype=float32)
    """

    @functools.wraps(f, updated=())
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        value, pullback, *aux = vjp(*_of_chosen(f, argnums, args, kwargs), has_aux=has_aux)
        leaves, structure = flatten(value)
        parts = []
        for k, y in enumerate(leaves):

            def pull(seed: Tensor, k: int = k) -> tuple[Any, ...]:
                return pullback(_alone(structure, len(leaves), k, seed))

            rows, nest = flatten(vmap(pull)(basis(y)))
            blocks = unflatten(nest, [ops.reshape(g, shape=(*y.shape, *g.shape[1:])) for g in rows])
            parts.append(_as_asked(blocks, argnums))
        return _with_aux(unflatten(structure, parts), aux)

    return jacobian_of


jacobian = jacrev


def jacfwd(f: Callable[P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[P, Any]:
    """The function that computes the Jacobian of `f` by forward mode: best where `f` takes few elements.

    See :func:`jacrev`, which takes the same `argnums` and `has_aux`, and returns the same.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.jacfwd(lambda x: x * x)(tf.constant([1.0, 2.0])))
    tf.Tensor(
    [[2. 0.]
     [0. 4.]], shape=(2, 2), dtype=float32)
    """

    @functools.wraps(f, updated=())
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        of_chosen, *chosen = _of_chosen(f, argnums, args, kwargs)
        value, push, *aux = linearize(of_chosen, *chosen, has_aux=has_aux)
        leaves, structure = flatten(tuple(chosen))
        columns = []
        for k, x in enumerate(map(as_tensor, leaves)):

            def along(tangent: Tensor, k: int = k) -> Any:
                return push(*_alone(structure, len(leaves), k, tangent))

            tangents = flatten(vmap(along, out_axes=-1)(basis(x)))[0]
            columns.append([ops.reshape(t, shape=(*t.shape[:-1], *x.shape)) for t in tangents])
        nests = [unflatten(structure, rows) for rows in zip(*columns, strict=True)]
        jacobians = unflatten(flatten(value)[1], [_as_asked(nest, argnums) for nest in nests])
        return _with_aux(jacobians, aux)

    return jacobian_of


def hessian(f: Callable[P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[P, Any]:
    """The function that computes the second derivatives of a scalar function `f`: forward over reverse mode.

    `argnums`, `has_aux` and nesting of the result as for :func:`jacrev`, once for each of the two derivatives.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.hessian(lambda x: tf.reduce_sum(x**3))(tf.constant([1.0, 2.0])))
    tf.Tensor(
    [[ 6.  0.]
     [ 0. 12.]], shape=(2, 2), dtype=float32)
    """
    return jacfwd(jacrev(f, argnums, has_aux), argnums, has_aux)


def hvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The product of the Hessian of a scalar function and a vector, at the cost of a few calls of `f`.

    Parameters
    ----------
    f : callable
        Returns a float scalar.
    primals, tangents : sequences of nests, one per argument of `f`

    Returns
    -------
    nest like the first primal, or a tuple with one per primal where there are several

    Raises
    ------
    ValueError
        Where there is not one tangent per primal.

    Examples
    --------
    >>> import tracejit as tf
    >>> x, v = tf.constant([1.0, 2.0]), tf.constant([1.0, 0.0])
    >>> print(tf.hvp(lambda x: tf.reduce_sum(x**3), [x], [v]))
    tf.Tensor([6. 0.], shape=(2,), dtype=float32)
    """
    if not primals:
        raise ValueError(f"hvp needs at least one primal{at(user_location())}")
    argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return jvp(grad(f, argnums), primals, tangents)[1]


# ---- what jacrev and jacfwd share -----------------------------------------------------------------------


def _of_chosen(
    f: Callable[..., Any], argnums: int | Sequence[int], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """`f` as a function of the arguments that `argnums` says, and these arguments."""
    chosen = positions(argnums, len(args))

    @functools.wraps(f, updated=())
    def of_chosen(*values: Any) -> Any:
        given = list(args)
        for n, value in zip(chosen, values, strict=True):
            given[n] = value
        return f(*given, **kwargs)

    return of_chosen, *(args[n] for n in chosen)


def _alone(structure: Structure, count: int, k: int, tensor: Tensor) -> Any:
    """A nest of `count` leaves that is zero but for the `k`-th."""
    return unflatten(structure, [tensor if i == k else None for i in range(count)])


def _as_asked(nest: tuple[Any, ...], argnums: int | Sequence[int]) -> Any:
    """The entry of the one argument that was asked for, or those of several."""
    return nest[0] if isinstance(argnums, int) else nest


def _with_aux(jacobians: Any, aux: list[Any]) -> Any:
    return (jacobians, *aux) if aux else jacobians
