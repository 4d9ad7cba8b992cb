"""Derivatives of functions as functions: grad, value_and_grad, vjp, jvp, linearize, gradients_function.

They run the function once under a recorder and walk what was recorded, so they nest in each other, in tapes
and in traces. Arguments are given new identities first: an outer recorder sees where they came from, and the
same tensor passed twice is two arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...core.autodiff.backplan import ones, planned_backprop
from ...core.autodiff.pushforward import pushforward
from ...core.errors import DtypeError, ShapeError, at, user_location
from ...core.op import ops
from ...core.protocols import P
from ...core.settings import current
from ...core.spec import DIFFERENTIABLE
from ...core.tensor import Tensor, twin
from ...core.tracing.depth import too_deep
from ...core.tracing.dispatch import as_tensor, is_tracing, state
from ...core.tracing.guards import guarding
from ..autograph.calls import filling_callee
from ..function.function import Function
from ..function.methods import Method
from ..recording.guard import Guard
from ..recording.recorder import Recording
from ..state.variable import Variable
from ..structure import Structure, flatten, leaves_like, unflatten


def grad(f: Callable[P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Callable[P, Any]:
    """The function that computes the gradient of `f`.

    Parameters
    ----------
    f : callable
        Returns a scalar tensor, or ``(scalar, anything)`` with `has_aux`.
    argnums : int or sequence of int
        Which arguments to differentiate with respect to; each may be a nest of float tensors.
    has_aux : bool
        `f` returns a pair, of which the second is passed on as it is.

    Returns
    -------
    callable
        Takes the arguments of `f`; returns the gradient (a tuple of them for several `argnums`), with zeros
        where `f` does not depend on an argument; with `has_aux` a pair of it and what was passed on.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.grad(lambda x: x * x)(3.0))
    tf.Tensor(6.0, shape=(), dtype=float32)
    """
    both = _value_and_grad(f, argnums, has_aux)

    @functools.wraps(f, updated=())
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return _Derivative(grad, gradient, f, argnums, has_aux) if _is_one_program(f) else gradient


def value_and_grad(
    f: Callable[P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[P, tuple[Any, Any]]:
    """The function that computes the value of `f` and its gradient; `argnums` and `has_aux` as in :func:`grad`.

    Examples
    --------
    >>> import tracejit as tf
    >>> value, gradient = tf.value_and_grad(lambda x: x**2)(3.0)
    >>> print(value.numpy(), gradient.numpy())
    9.0 6.0
    """
    both = _value_and_grad(f, argnums, has_aux)
    return _Derivative(value_and_grad, both, f, argnums, has_aux) if _is_one_program(f) else both


def _value_and_grad(f: Callable[P, Any], argnums: int | Sequence[int], has_aux: bool) -> Callable[P, Any]:
    """By a tape over `f`."""

    @functools.wraps(f, updated=())
    def both(*args: Any, **kwargs: Any) -> Any:
        arguments, sources, structures = _prepared(args, positions(argnums, len(args)))
        recorder = Guard([s.serial for s in sources])
        result, *aux = _parts(_recorded(recorder, f, arguments, kwargs), has_aux)
        value = _scalar(result)
        recorder.refuse_lost(value)
        cotangents = _pulled(recorder, [value], [None], sources)
        cotangents = [_zeros(s) if g is None else g for g, s in zip(cotangents, sources, strict=True)]
        take = iter(cotangents)
        grads = [unflatten(s, take) for s in structures]
        answer = grads[0] if isinstance(argnums, int) else tuple(grads)
        return ((value, *aux) if has_aux else value), answer

    return both


def _is_one_program(f: Any) -> bool:
    """Is it a compiled function whose derivative can be another one?"""
    if not isinstance(f, Function) or f.__class__.specialization is not Function.specialization:
        return False  # a loaded one, which has traces alone
    return f.input_signature is None and not isinstance(f.python_function, Method)


class _Derivative(Function):
    """The derivative of a compiled function as another one, in place of a tape over it, where that can be.

    A call then goes once into machine code, and the forward keeps only what this backward needs.

    Parameters
    ----------
    transform : callable
        `grad` or `value_and_grad`.
    apart : callable
        The derivative by a tape over the function, for calls that are recorded or traced.
    f : Function
    argnums, has_aux
        Those of the transform.
    """

    def __init__(
        self,
        transform: Callable[..., Any],
        apart: Callable[..., Any],
        f: Any,
        argnums: int | Sequence[int],
        has_aux: bool,
    ):
        super().__init__(transform(f.python_function, argnums, has_aux), *f.options())
        self._apart = apart
        self._made_by = transform, (f, argnums, has_aux)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any], key: tuple[Any, ...] | None) -> Any:
        if state.busy or state.guards or current().eager:
            return self._apart(*args, **kwargs)
        return super()._called(args, kwargs, key)

    def __reduce__(self) -> str | tuple[Any, ...]:
        return self._made_by


def _recorded(
    recorder: Guard, f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None = None
) -> Any:
    """What `f` returns, under a recorder."""
    try:
        with guarding(recorder):
            filling = filling_callee(f)
            if (
                filling is not f or is_tracing()
            ):  # then it may write to what it is given, and our caller's is to stay
                recorder.writes = True
                args, kwargs = [_own(x) for x in args], {k: _own(x) for k, x in (kwargs or {}).items()}
            return filling(*args, **(kwargs or {}))
    except RecursionError as error:
        raise too_deep(error) from None


def _own(x: Any) -> Any:
    """The same value, and to tapes the same tensor, as another object."""
    return twin(as_tensor(x)) if isinstance(x, Tensor) else x


def positions(argnums: int | Sequence[int], count: int) -> list[int]:
    """Which of `count` positional arguments are meant, counted from the first; ValueError for those not there."""
    chosen = [argnums] if isinstance(argnums, int) else list(argnums)
    for n in chosen:
        if not -count <= n < count:
            raise ValueError(
                f"argnums {n} for a call with {count} positional argument{'s' * (count != 1)}: argnums count from 0, "
                f"and keyword arguments are not counted{at(user_location())}"
            )
    return [n % count for n in chosen]


def _parts(result: Any, has_aux: bool) -> tuple[Any, ...]:
    """What is differentiated and, with `has_aux`, what is passed on."""
    if not has_aux:
        return (result,)
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise ShapeError(f"with has_aux the function returns a pair (value, aux){at(user_location())}")
    return tuple(result)


def _prepared(args: Sequence[Any], chosen: Sequence[int]) -> tuple[list[Any], list[Tensor], list[Any]]:
    """The arguments as tensors, those to differentiate by with new identities; these, flat; their structures."""
    prepared = [_as_argument(a) for a in args]
    sources: list[Tensor] = []
    structures = []
    for n in chosen:
        leaves, structure = flatten(args[n])
        fresh = [_fresh(leaf) for leaf in leaves]
        prepared[n] = unflatten(structure, fresh)
        sources += fresh
        structures.append(structure)
    return prepared, sources, structures


def _as_argument(x: Any) -> Any:
    """Python floats become tensors; integers, which may be sizes and exponents, stay what they are."""
    return as_tensor(x) if x.__class__ in (float, complex) else x


def _fresh(leaf: Any) -> Tensor:
    try:
        x = as_tensor(leaf)
    except DtypeError:
        raise DtypeError(
            f"cannot differentiate with respect to {type(leaf).__name__}: pass floats, or lists, tuples, named tuples "
            f"or dicts of them{at(user_location())}"
        ) from None
    if not x.spec.differentiable:
        raise DtypeError(f"cannot differentiate with respect to {x.spec}: pass a float{at(user_location())}")
    return ops.identity(x)


def _scalar(value: Any) -> Tensor:
    if value is None or isinstance(value, (tuple, list, dict)):
        returned = "None: is a return statement missing?"
        if value is not None:
            kind = type(value).__name__
            returned = f"a {kind} of {len(value)}: return the scalar, or (scalar, other) with has_aux=True"
        raise ShapeError(
            f"the function to differentiate must return a float scalar, it returned {returned}{at(user_location())}"
        )
    y = as_tensor(value)
    if y.shape != () or not y.spec.differentiable:
        raise ShapeError(
            f"the function to differentiate must return a float scalar, it returned {y.spec}; reduce it, as by "
            f"tracejit.reduce_sum, or use vjp, jacrev or a tape{at(user_location())}"
        )
    return y


def _zeros(x: Tensor) -> Tensor:
    return ops.fill(shape=x.shape, value=0.0, dtype=x.np_dtype)


def _pulled(
    recorder: Recording,
    targets: Sequence[Tensor],
    weights: Sequence[Any],
    sources: Sequence[Tensor],
    consume: bool = True,
) -> list[Tensor | None]:
    """Cotangents of the sources for cotangents of the targets (None is ones)."""
    seeds: dict[int, Any] = {}
    for y, weight in zip(targets, weights, strict=True):
        if y.serial in recorder.tracked and y.spec.differentiable:
            g = ones(state.mode, y) if weight is None else weight
            seeds[y.serial] = g if y.serial not in seeds else ops.add(seeds[y.serial], g)
    return planned_backprop(recorder.records, seeds, [s.serial for s in sources], consume=consume)


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of `f`, and the function from cotangents of the value to cotangents of the arguments.

    Parameters
    ----------
    f : callable
    *primals : nests of float tensors
    has_aux : bool
        `f` returns a pair, of which the second is passed on as it is.

    Returns
    -------
    value, pullback
        ``pullback(cotangent)`` takes a nest like the value and returns a tuple, one per primal. It may be
        called several times. With `has_aux` a third result: what was passed on.

    Examples
    --------
    >>> import tracejit as tf
    >>> y, pullback = tf.vjp(lambda a, b: a * b, 2.0, 3.0)
    >>> [float(g) for g in pullback(1.0)]
    [3.0, 2.0]
    """
    value, pullback, refuse_lost, *aux = followed(f, *primals, has_aux=has_aux)
    refuse_lost()
    return value, pullback, *aux


def followed(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """What :func:`vjp` returns, and between, what raises the GradientError where a part of the derivative is lost."""
    args, sources, structures = _prepared(primals, range(len(primals)))
    recorder = Guard([s.serial for s in sources])
    value, *aux = _parts(_recorded(recorder, f, args), has_aux)
    leaves, structure = flatten(value)
    targets = [as_tensor(leaf) for leaf in leaves]

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        weights = leaves_like(structure, cotangent)
        pairs = [(y, w) for y, w in zip(targets, weights, strict=True) if w is not None]
        kept = [(y, _like(w, y, "cotangent of a result")) for y, w in pairs]
        cotangents = _pulled(recorder, [y for y, _ in kept], [w for _, w in kept], sources, consume=False)
        take = iter([_zeros(s) if g is None else g for g, s in zip(cotangents, sources, strict=True)])
        return tuple(unflatten(s, take) for s in structures)

    return unflatten(structure, targets), pullback, lambda: recorder.refuse_lost(*targets), *aux


def _like(value: Any, y: Tensor, what: str) -> Tensor:
    x = as_tensor(value, y.np_dtype)
    if x.shape != y.shape:
        raise ShapeError(f"the {what} must be {y.spec}, got {x.spec}{at(user_location())}")
    return x if x.np_dtype == y.np_dtype else ops.cast(x, dtype=y.np_dtype)


def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """The value of `f` and its directional derivative, by forward mode.

    Parameters
    ----------
    f : callable
    primals, tangents : sequences of nests, one per argument of `f`
        A tangent has the structure, shapes and dtypes of its primal; None is zero.
    has_aux : bool
        `f` returns a pair, of which the second is passed on as it is.

    Returns
    -------
    value, tangent
        The tangent is a nest like the value, with zeros where it does not depend on the primals. With `has_aux` a
        third result: what was passed on.

    Raises
    ------
    ValueError
        Where there is not one tangent per primal, or a tangent is not like its primal.

    Examples
    --------
    >>> import tracejit as tf
    >>> y, t = tf.jvp(tf.sin, [0.0], [2.0])
    >>> float(t)
    2.0
    """
    if len(primals) != len(tangents):
        raise ValueError(f"{len(primals)} primals and {len(tangents)} tangents{at(user_location())}")
    leaves, structure = flatten(list(primals))
    weights = leaves_like(structure, list(tangents))
    run = _Forward(f, structure, leaves, [w is not None for w in weights], has_aux)
    return run.value, run.push(weights), *run.aux


def linearize(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of `f`, and the function from tangents of the arguments to tangents of the value.

    `f` runs once; each call of the second result then costs what the derivative alone does.

    Parameters
    ----------
    f : callable
    *primals : nests of float tensors
    has_aux : bool
        `f` returns a pair, of which the second is passed on as it is.

    Returns
    -------
    value, push
        ``push(*tangents)`` takes a nest like each primal, in which None is zero, and returns a nest like the value.
        With `has_aux` a third result: what was passed on.

    Raises
    ------
    ValueError
        From the second result, where there is not one tangent per primal.

    Examples
    --------
    >>> import tracejit as tf
    >>> y, push = tf.linearize(lambda a, b: a * b, 2.0, 3.0)
    >>> float(y), float(push(1.0, 0.0)), float(push(0.0, 1.0))
    (6.0, 3.0, 2.0)
    """
    leaves, structure = flatten(list(primals))
    run = _Forward(f, structure, leaves, [True] * len(leaves), has_aux)

    def push(*tangents: Any) -> Any:
        if len(tangents) != len(primals):
            raise ValueError(f"{len(primals)} primals and {len(tangents)} tangents{at(user_location())}")
        return run.push(leaves_like(structure, list(tangents)))

    return run.value, push, *run.aux


class _Forward:
    """A function that has run once under a recorder of forward mode.

    Attributes
    ----------
    value : nest of Tensor
    aux : tuple
        What the function returned besides: nothing, or one object.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        structure: Structure,
        leaves: Sequence[Any],
        active: Sequence[bool],
        has_aux: bool,
    ):
        self._inputs = [_fresh(x) if a else _as_argument(x) for x, a in zip(leaves, active, strict=True)]
        self._recorder = Guard(
            [x.serial for x, a in zip(self._inputs, active, strict=True) if a], reverse=False
        )
        value, *self.aux = _parts(_recorded(self._recorder, f, unflatten(structure, self._inputs)), has_aux)
        outs, self._structure = flatten(value)
        self._targets = [as_tensor(y) for y in outs]
        self._recorder.refuse_lost(*self._targets)
        self.value = unflatten(self._structure, self._targets)

    def push(self, weights: Sequence[Any]) -> Any:
        """The tangents of the value for a tangent of each input, None being zero."""
        pairs = zip(self._inputs, weights, strict=True)
        tangents = {x.serial: _like(w, x, "tangent of an argument") for x, w in pairs if w is not None}
        pushed = pushforward(self._recorder.records, tangents, self._targets)
        pushed = [_zeros(y) if t is None else t for t, y in zip(pushed, self._targets, strict=True)]
        return unflatten(self._structure, pushed)


def gradients_function(
    f: Callable[..., Any], params: Sequence[int | str] | None = None
) -> Callable[..., list[Any]]:
    """The function that returns the gradients of `f`, a list with one per argument.

    Differentiated is the sum of the elements of the result, or their sum weighted by ``dy=``. Integer
    arguments pass through and have the gradient None, as has any argument that the result does not depend on.

    Parameters
    ----------
    f : callable
    params : sequence of int, optional
        Which arguments to differentiate with respect to; by default all.

    Examples
    --------
    >>> import tracejit as tf
    >>> [float(g) for g in tf.gradients_function(lambda x, y: x * y)(2.0, 3.0)]
    [3.0, 2.0]
    """

    @functools.wraps(f, updated=())
    def gradients(*args: Any, dy: Any = None, **kwargs: Any) -> list[Any]:
        chosen = range(len(args)) if params is None else [int(p) for p in params]
        prepared = [_as_argument(a) for a in args]
        sources = {n: _fresh(args[n]) for n in chosen if _is_float(args[n])}
        for n, x in sources.items():
            prepared[n] = x
        recorder = Guard([s.serial for s in sources.values()])
        y = as_tensor(_recorded(recorder, f, prepared, kwargs))
        recorder.refuse_lost(y)
        weight = None if dy is None else _like(dy, y, "cotangent `dy`")
        by_position = dict(
            zip(sources, _pulled(recorder, [y], [weight], list(sources.values())), strict=True)
        )
        return [by_position.get(n) for n in chosen]

    return gradients


def _is_float(x: Any) -> bool:
    if isinstance(x, (Tensor, Variable)):
        return x.np_dtype.kind in DIFFERENTIABLE
    try:
        return as_tensor(x).np_dtype.kind in DIFFERENTIABLE
    except DtypeError:
        return False
