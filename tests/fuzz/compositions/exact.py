"""The oracle: NumPy with exact derivatives by nested dual numbers, under the names that generated programs use.

Nothing of the package is used. A `Dual` is a value and its derivative along one direction, either of which may be
dual again, of a transform further out; the `tag` says which transform it belongs to. Transforms are their definitions:
a Jacobian is one run per direction, `vmap` one run per example, a loop is Python's. Branches note how near they were
to deciding otherwise, since near a jump no derivative is right.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_tags = itertools.count()
#: How near the comparisons of a run were to deciding otherwise.
margins: list[float] = []


class Dual:
    """``p + t * epsilon(tag)``, with `t` of the shape of `p`."""

    __slots__ = ("tag", "p", "t")
    __array_ufunc__ = None

    def __init__(self, tag: int, p: Any, t: Any):
        self.tag, self.p, self.t = tag, p, t

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(value(self))

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        return linear(lambda a: a[key])(self)

    def __neg__(self) -> Any:
        return negative(self)

    def __add__(self, other: Any) -> Any:
        return add(self, other)

    def __sub__(self, other: Any) -> Any:
        return add(self, negative(other))

    def __rsub__(self, other: Any) -> Any:
        return add(other, negative(self))

    def __mul__(self, other: Any) -> Any:
        return multiply(self, other)

    def __truediv__(self, other: Any) -> Any:
        return multiply(self, reciprocal(other))

    def __rtruediv__(self, other: Any) -> Any:
        return multiply(other, reciprocal(self))

    def __pow__(self, n: int) -> Any:
        return power(n)(self)

    def __lt__(self, other: Any) -> Any:
        return less(self, other)

    def __gt__(self, other: Any) -> Any:
        return less(other, self)

    __radd__, __rmul__ = __add__, __mul__


def value(x: Any) -> np.ndarray:
    """The value without any derivative."""
    while x.__class__ is Dual:
        x = x.p
    return np.asarray(x)


def shape(x: Any) -> tuple[int, ...]:
    return value(x).shape


def _full(x: Any, wanted: tuple[int, ...]) -> Any:
    return x if shape(x) == wanted else linear(lambda a: np.broadcast_to(a, wanted))(x)


def _top(xs: Sequence[Any]) -> int:
    return max((x.tag for x in xs if x.__class__ is Dual), default=-1)


def _parts(x: Any, tag: int) -> tuple[Any, Any]:
    return (x.p, x.t) if x.__class__ is Dual and x.tag == tag else (x, None)


# ---- primitives -----------------------------------------------------------------------------------------


def linear(f: Callable[..., np.ndarray]) -> Callable[..., Any]:
    """A function that is linear in all its arguments together."""

    def run(*xs: Any) -> Any:
        tag = _top(xs)
        if tag < 0:
            return f(*map(np.asarray, xs))
        parts = [_parts(x, tag) for x in xs]
        zeros = [np.zeros(shape(p)) if t is None else t for p, t in parts]
        return Dual(tag, run(*(p for p, _ in parts)), run(*zeros))

    return run


def bilinear(f: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[[Any, Any], Any]:
    """A function that is linear in each of its two arguments."""

    def run(a: Any, b: Any) -> Any:
        tag = _top((a, b))
        if tag < 0:
            return f(np.asarray(a), np.asarray(b))
        (pa, ta), (pb, tb) = _parts(a, tag), _parts(b, tag)
        y = run(pa, pb)
        terms = [run(ta, pb)] if ta is not None else []
        terms += [run(pa, tb)] if tb is not None else []
        t = terms[0] if len(terms) == 1 else add(*terms)
        return Dual(tag, y, _full(t, shape(y)))

    return run


def elementwise(f: Callable[[np.ndarray], np.ndarray], slope: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of each element, with its derivative."""

    def run(x: Any, axis: Any = None) -> Any:
        if x.__class__ is not Dual:
            return f(np.asarray(x))
        return Dual(x.tag, run(x.p), multiply(slope(x.p), x.t))

    return run


negative = linear(lambda a: -a)
multiply = bilinear(lambda a, b: a * b)
exp = elementwise(np.exp, lambda x: exp(x))
log = elementwise(np.log, lambda x: reciprocal(x))
sin = elementwise(np.sin, lambda x: cos(x))
cos = elementwise(np.cos, lambda x: negative(sin(x)))
tanh = elementwise(np.tanh, lambda x: add(1.0, negative(square(tanh(x)))))
atan = elementwise(np.arctan, lambda x: reciprocal(add(1.0, square(x))))
sqrt = elementwise(np.sqrt, lambda x: multiply(0.5, reciprocal(sqrt(x))))
reciprocal = elementwise(lambda a: 1.0 / a, lambda x: negative(square(reciprocal(x))))
sigmoid = elementwise(
    lambda a: 1.0 / (1.0 + np.exp(-a)), lambda x: multiply(sigmoid(x), sigmoid(negative(x)))
)
softplus = elementwise(lambda a: np.log1p(np.exp(a)), lambda x: sigmoid(x))
erf = elementwise(
    np.vectorize(math.erf, otypes=[float]),
    lambda x: multiply(2 / math.sqrt(math.pi), exp(negative(square(x)))),
)


def add(a: Any, b: Any) -> Any:
    """The sum, broadcast."""
    tag = _top((a, b))
    if tag < 0:
        return np.asarray(a) + np.asarray(b)
    (pa, ta), (pb, tb) = _parts(a, tag), _parts(b, tag)
    y = add(pa, pb)
    t = tb if ta is None else ta if tb is None else add(ta, tb)
    return Dual(tag, y, _full(t, shape(y)))


def square(x: Any) -> Any:
    return multiply(x, x)


def power(n: int) -> Callable[[Any], Any]:
    """A whole power."""
    return elementwise(
        lambda a: a**n, lambda x: multiply(float(n), power(n - 1)(x)) if n > 1 else np.ones(shape(x))
    )


def less(a: Any, b: Any) -> np.ndarray:
    """The comparison of values."""
    difference = value(b) - value(a)
    margins.append(float(np.min(np.abs(difference))) if difference.size else math.inf)
    return difference > 0


def stack(xs: Sequence[Any], axis: int = 0) -> Any:
    return linear(lambda *arrays: np.stack(arrays, axis))(*xs)


def solve(a: Any, b: Any) -> Any:
    """The solution of ``a y = b``."""
    tag = _top((a, b))
    if tag < 0:
        return np.linalg.solve(np.asarray(a), np.asarray(b))
    (pa, ta), (pb, tb) = _parts(a, tag), _parts(b, tag)
    y = solve(pa, pb)
    right = tb if ta is None else negative(matmul(ta, y)) if tb is None else add(tb, negative(matmul(ta, y)))
    return Dual(tag, y, solve(pa, right))


matmul = bilinear(np.matmul)


# ---- derivatives ----------------------------------------------------------------------------------------


def push(f: Callable[..., Any], xs: Sequence[Any], ts: Sequence[Any]) -> tuple[Any, Any]:
    """The value and the derivative along `ts`."""
    tag = next(_tags)
    pairs = zip(xs, ts, strict=True)
    y = f(*(x if t is None else Dual(tag, x, _full(t, shape(x))) for x, t in pairs))
    p, t = _parts(y, tag)
    return p, np.zeros(shape(p)) if t is None else t


def jacobian(f: Callable[[Any], Any], x: Any) -> Any:
    """All derivatives: axes of the result, then those of the argument."""
    n, own = math.prod(shape(x)), shape(x)
    columns = [push(f, [x], [e.reshape(own)])[1] for e in np.eye(n)]
    whole = stack(columns, -1)
    return linear(lambda a: a.reshape((*a.shape[:-1], *own)))(whole)


def pulled(jac: Any, u: Any, y: Any) -> Any:
    """``u`` times a Jacobian."""
    rank = len(shape(y))
    return bilinear(lambda a, b: np.tensordot(a, b, rank))(_full(u, shape(y)), jac)


def whole_jacobian(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function that computes all derivatives."""
    return lambda x: jacobian(f, x)


def stripped(x: Any) -> Any:
    """The value: no derivative passes."""
    return value(x)


def with_rule(f: Callable[[Any], tuple[Any, Callable[[Any], Any]]]) -> Callable[[Any], Any]:
    """`custom_gradient`: the tangent is what the rule says of each element of the result."""

    def run(x: Any) -> Any:
        if x.__class__ is not Dual:
            return f(x)[0]
        y, rule = run(x.p), f(x.p)[1]
        own = shape(y)
        rows = [rule(e.reshape(own)) for e in np.eye(math.prod(own))]
        each = [linear(np.sum)(multiply(_full(r, shape(x)), x.t)) for r in rows]
        return Dual(x.tag, y, linear(lambda a: a.reshape(own))(stack(each)))

    return run


class WithTangents:
    """`custom_jvp`: the rule says the tangent."""

    def __init__(self, f: Callable[[Any], Any]):
        self.f, self.rule = f, None

    def defjvp(self, rule: Any) -> Any:
        self.rule = rule
        return rule

    def __call__(self, x: Any) -> Any:
        if x.__class__ is not Dual:
            return self.f(x)
        assert self.rule is not None
        return Dual(x.tag, self(x.p), self.rule((x.p,), (x.t,))[1])
