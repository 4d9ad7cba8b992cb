"""The names of the package that generated programs use, by their definitions in ``exact``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import exact as e
from .exact import Dual, linear, multiply, shape, value


def _reduced(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis=None: linear(lambda a: f(a, axis=axis))(x)


def logsumexp(x: Any) -> Any:
    return e.log(linear(np.sum)(e.exp(x)))


def softmax(x: Any) -> Any:
    y = e.exp(x)
    return multiply(y, e.reciprocal(linear(lambda a: np.sum(a, axis=-1, keepdims=True))(y)))


def norm(x: Any) -> Any:
    return e.sqrt(linear(np.sum)(e.square(x)))


def einsum(spec: str, a: Any, b: Any) -> Any:
    return e.bilinear(lambda p, q: np.einsum(spec, p, q))(a, b)


def where(mask: Any, a: Any, b: Any) -> Any:
    return linear(lambda p, q: np.where(mask, p, q))(a, b)


# ---- derivatives ----------------------------------------------------------------------------------------


def _leaves(nest: Any) -> list[Any]:
    parts = nest.values() if isinstance(nest, dict) else nest if isinstance(nest, (list, tuple)) else None
    return [nest] if parts is None else [leaf for part in parts for leaf in _leaves(part)]


def _rebuilt(nest: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(nest, dict):
        return {k: _rebuilt(v, leaves) for k, v in nest.items()}
    if isinstance(nest, (list, tuple)):
        return type(nest)([_rebuilt(v, leaves) for v in nest])
    return next(leaves)


def grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """Each argument that is asked for may be a nest."""
    chosen = [argnums] if isinstance(argnums, int) else list(argnums)

    def run(*args: Any) -> Any:
        leaves = _leaves(args)

        def by(k: int) -> Any:
            return e.jacobian(
                lambda z: f(*_rebuilt(args, iter([*leaves[:k], z, *leaves[k + 1 :]]))), leaves[k]
            )

        whole = _rebuilt(args, iter([by(k) for k in range(len(leaves))]))
        return whole[argnums] if isinstance(argnums, int) else tuple(whole[n] for n in chosen)

    return run


def value_and_grad(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: (f(x), e.jacobian(f, x))


def jvp(f: Callable[..., Any], xs: Sequence[Any], ts: Sequence[Any]) -> tuple[Any, Any]:
    return e.push(f, xs, ts)


def linearize(f: Callable[..., Any], x: Any) -> tuple[Any, Callable[[Any], Any]]:
    return f(x), lambda t: e.push(f, [x], [t])[1]


def vjp(f: Callable[[Any], Any], x: Any) -> tuple[Any, Callable[[Any], tuple]]:
    y, jac = f(x), e.jacobian(f, x)
    return y, lambda u: (e.pulled(jac, u, y),)


def hessian(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: e.jacobian(lambda z: e.jacobian(f, z), x)


def hvp(f: Callable[[Any], Any], xs: Sequence[Any], ts: Sequence[Any]) -> Any:
    return e.push(grad(f), xs, ts)[1]


def taped(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: e.jacobian(lambda z: linear(np.sum)(f(z)), x)


# ---- control flow ---------------------------------------------------------------------------------------


def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: int = 0) -> Callable[..., Any]:
    def run(*xs: Any) -> Any:
        axes = [in_axes] * len(xs) if isinstance(in_axes, int) else in_axes
        size = next(shape(x)[a] for x, a in zip(xs, axes, strict=True) if a is not None)

        def example(k: int) -> list[Any]:
            return [
                x if a is None else linear(lambda p, a=a: np.moveaxis(p, a, 0)[k])(x)
                for x, a in zip(xs, axes, strict=True)
            ]

        return e.stack([f(*example(k)) for k in range(size)], out_axes)

    return run


def foldl(f: Callable[[Any, Any], Any], xs: Any, start: Any) -> Any:
    for k in range(len(xs)):
        start = f(start, xs[k])
    return start


def associative_scan(f: Callable[[Any, Any], Any], xs: Any) -> Any:
    found = [xs[0]]
    for k in range(1, len(xs)):
        found.append(f(found[-1], xs[k]))
    return e.stack(found)


def switch_case(index: Any, branches: Sequence[Callable[[], Any]]) -> Any:
    return branches[int(index)]()


def map_fn(f: Callable[[Any], Any], xs: Any) -> Any:
    return vmap(f)(xs)


def cond(pred: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    return then() if bool(value(pred)) else orelse()


def scan(f: Callable[[Any, Any], Any], init: Any, xs: Any, reverse: bool = False, memory: Any = None) -> Any:
    carry, ys = init, []
    order = range(len(xs))[::-1] if reverse else range(len(xs))
    for k in order:
        carry, y = f(carry, xs[k])
        ys.append(y)
    return carry, e.stack(ys[::-1] if reverse else ys)


def fori_loop(lower: int, upper: int, body: Callable[[int, Any], Any], init: Any, memory: Any = None) -> Any:
    for i in range(lower, upper):
        init = body(i, init)
    return init


def while_loop(
    test: Callable[..., Any], body: Callable[..., Any], variables: Sequence[Any], **kw: Any
) -> Any:
    while bool(value(test(*variables))):
        variables = body(*variables)
    return variables


def fixed_point(f: Callable[..., Any], y: Any, *args: Any) -> Any:
    """Enough iterations that every derivative has converged too."""
    for _ in range(60):
        y = f(y, *args)
    return y


def root(f: Callable[..., Any], y: Any, *args: Any) -> Any:
    """For equations ``f(y) = 0`` of one unknown, by Newton's method with the exact slope."""
    for _ in range(30):
        r, s = e.push(lambda z: f(z, *args), [y], [np.ones(shape(y))])
        y = e.add(y, e.negative(multiply(r, e.reciprocal(s))))
    return y


def same(f: Any = None, **options: Any) -> Any:
    """A transform that changes no value."""
    return (lambda g: g) if f is None else f


def constant(x: Any, dtype: Any = None) -> Any:
    return np.array(x, float)


def cast(x: Any, dtype: Any) -> Any:
    return x if x.__class__ is Dual else np.asarray(x, dtype)


REFERENCE = SimpleNamespace(
    **{k: getattr(e, k) for k in "exp log sin cos tanh atan sqrt sigmoid square stack matmul".split()},
    **{
        f.__name__: f
        for f in (grad, value_and_grad, jvp, linearize, vjp, hessian, hvp, vmap, map_fn, cond, scan)
    },
    **{
        f.__name__: f for f in (fori_loop, while_loop, fixed_point, root, constant, cast, where, norm, einsum)
    },
    function=same,
    checkpoint=same,
    jacfwd=grad,
    jacrev=grad,
    float64=float,
    int32=int,
    TensorSpec=lambda *args: None,
    foldl=foldl,
    associative_scan=associative_scan,
    switch_case=switch_case,
    Variable=constant,
    stop_gradient=e.stripped,
    custom_gradient=e.with_rule,
    custom_jvp=e.WithTangents,
    reduce_sum=_reduced(np.sum),
    reduce_mean=_reduced(np.mean),
    reduce_logsumexp=logsumexp,
    cumsum=linear(lambda a: np.cumsum(a, axis=0)),
    transpose=linear(np.transpose),
    reshape=lambda x, s: linear(lambda a: a.reshape(s))(x),
    concat=lambda xs, axis: linear(lambda *a: np.concatenate(a, axis))(*xs),
    gather=lambda x, k: linear(lambda a: a[np.asarray(k)])(x),
    roll=lambda x, k, axis: linear(lambda a: np.roll(a, k, axis))(x),
    ones_like=lambda x: np.ones(shape(x)),
    zeros_like=lambda x: np.zeros(shape(x)),
    math=SimpleNamespace(erf=e.erf, softplus=e.softplus),
    nn=SimpleNamespace(softmax=softmax),
    linalg=SimpleNamespace(solve=e.solve),
)
