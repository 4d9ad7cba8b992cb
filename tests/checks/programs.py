"""Whole programs, small: what a compiler of tensor programs must get right, one function each.

A program is a function of tensors that returns a list of tensors, with the specs of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tracejit as tf
from tracejit.core.spec import TensorSpec

Orders = tuple[str, ...]
ALL: Orders = ("value", "gradient", "second", "jvp")


@dataclass(frozen=True)
class Program:
    """A function to trace; integers among its arguments are drawn from ``[0, below)``."""

    name: str
    f: Callable[..., Sequence[Any]]
    specs: tuple[TensorSpec, ...]
    orders: Orders
    below: int
    positive: bool

    def arguments(self, shapes: Sequence[Sequence[int]] | None = None, seed: int = 0) -> list[np.ndarray]:
        """Random arguments, of other `shapes` where the specs have unknown sizes."""
        random = np.random.default_rng(seed)
        shapes = [s.shape for s in self.specs] if shapes is None else shapes
        return [self._draw(random, tuple(shape), s.dtype) for shape, s in zip(shapes, self.specs, strict=True)]

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        if dtype.kind == "b":
            return np.asarray(random.integers(0, 2, shape), bool)
        if dtype.kind in "iu":
            return np.asarray(random.integers(0, self.below, shape), dtype)
        values = random.uniform(0.5, 2.0, shape) if self.positive else random.standard_normal(shape)
        if dtype.kind == "c":
            values = values + 1j * random.standard_normal(shape)
        return np.asarray(values, dtype)


PROGRAMS: dict[str, Program] = {}


def program(*specs: Any, orders: Orders = ALL, below: int = 3, positive: bool = False) -> Callable:
    """Register a function as a program; a spec is a shape of float64 numbers or ``(shape, dtype)``."""

    def register(f: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
        name = f.__name__
        assert name not in PROGRAMS, name
        PROGRAMS[name] = Program(name, f, tuple(map(_spec, specs)), orders, below, positive)
        return f

    return register


def _spec(given: Any) -> TensorSpec:
    if given and isinstance(given[-1], str):
        return TensorSpec(given[0], given[1])
    return TensorSpec(given, "float64")


INDEX = ((), "int64")

# ---- element by element, with broadcasting --------------------------------------------------------------


@program((7, 5), (5,), (7, 1))
def broadcast_chain(x, y, z):
    return [tf.sin(x * y) + z / (1.0 + x * x), tf.maximum(x, z) * y]


@program((3, 1, 4), (5, 1), orders=("value", "gradient"))
def broadcast_both_ways(x, y):
    return [x * y + 1.0, tf.where(x > y, x, y)]


@program((33,), positive=True)
def long_chain(x):
    y = x
    for _ in range(12):
        y = tf.sin(y) * x + tf.sqrt(x) / (y + 3.0)
    return [y]


@program((9,), (9,), ((9,), "bool"))
def selections(x, y, chosen):
    return [tf.where(chosen, x * y, x - y), tf.minimum(tf.abs(x), y), tf.relu(x) * tf.sign(y)]


@program((), ())
def scalars(x, y):
    return [tf.exp(x) * y, x - y, tf.tanh(x * y)]


@program(((6,), "int64"), ((6,), "int32"), orders=("value",), below=50)
def integers(a, b):
    d = tf.cast(b, tf.int64) + 1
    return [a * d - 7, a // d, a % d, tf.abs(3 - a), tf.cast(a, tf.float32) / tf.cast(d, tf.float32)]


@program(((8,), "bool"), ((8,), "bool"), orders=("value",))
def truth(a, b):
    return [tf.logical_and(a, b), tf.logical_or(a, tf.logical_not(b)), tf.cast(a, tf.float64) - tf.cast(b, tf.float64)]


@program(((12,), "float32"), ((12,), "float32"))
def single_precision(x, y):
    return [tf.tanh(x) * y + tf.exp(-x * x), tf.reduce_sum(x * y)]


@program(((5,), "complex128"), ((5,), "complex128"))
def complex_numbers(z, w):
    return [z * w + tf.exp(z), tf.abs(z) * tf.real(w), tf.conj(z) / (w + 3.0)]


@program(((4, 3), "complex64"), orders=("value", "gradient", "jvp"))
def complex_views(z):
    y = z[::-1, 1:]
    return [y * 2.0, tf.reshape(tf.transpose(z), (4, 3)), tf.reduce_sum(z, axis=0)]


# ---- reductions -----------------------------------------------------------------------------------------


@program((6, 10))
def softmax(x):
    e = tf.exp(x - tf.reshape(tf.reduce_max(x, axis=1), (6, 1)))
    return [e / tf.reshape(tf.reduce_sum(e, axis=1), (6, 1))]


@program((6, 67), orders=("value", "gradient", "jvp"))
def logsumexp(x):
    m = tf.stop_gradient(tf.reduce_max(x, axis=1))
    return [tf.log(tf.reduce_sum(tf.exp(x - m[:, None]), axis=1)) + m]


@program((5, 40), (40,), (40,), orders=("value", "gradient", "jvp"))
def layer_norm(x, scale, shift):
    mean = tf.reduce_mean(x, axis=1)[:, None]
    centred = x - mean
    variance = tf.reduce_mean(centred * centred, axis=1)[:, None]
    return [centred / tf.sqrt(variance + 1e-5) * scale + shift]


@program((4, 5, 6))
def reductions_with_epilogue(x):
    s = tf.reduce_sum(x, axis=(0, 2))
    return [tf.tanh(s) + 1.0, tf.reduce_max(x, axis=1) * tf.reduce_min(x, axis=1), tf.reduce_mean(x)]


@program((9, 8), orders=("value", "gradient"))
def extremes(x):
    return [tf.argmax(x, axis=1), tf.argmax(x, axis=0), tf.reduce_max(x), tf.cumsum(x, axis=0), tf.cumsum(x, axis=1)]


@program((0, 4), (3, 0), orders=("value", "gradient"))
def empty_sums(x, y):
    return [tf.reduce_sum(x, axis=0), tf.reduce_sum(y, axis=1), x + 1.0, tf.reduce_sum(x * x)]


# ---- matrix products ------------------------------------------------------------------------------------


@program((9, 7), (7, 11), (11,), (11, 3), orders=("value", "gradient", "jvp"))
def two_layers(x, w, b, v):
    h = tf.tanh(x @ w + b)
    return [tf.reduce_sum(tf.square(h @ v)), h]


@program((20, 30), (30, 25), orders=("value", "gradient"))
def large_product(a, b):
    return [tf.transpose(a @ b) * 2.0, tf.transpose(b) @ tf.transpose(a)]


@program((2, 3, 4), (4, 5), orders=("value", "gradient"))
def product_of_batches(a, b):
    return [a @ b, tf.transpose(a, (1, 0, 2))[:, ::-1] @ b]


@program((6, 6), (6,), orders=("value", "gradient", "second"))
def quadratic_form(a, x):
    return [tf.dot(x, tf.dot(a, x)), tf.dot(a, x), tf.dot(x, a)]


# ---- views of views -------------------------------------------------------------------------------------


@program((8, 6))
def negative_steps(x):
    y = x[::-2, 5:1:-1]
    return [y[::-1] * 2.0, tf.transpose(y)[1:, ::3], y[1:3, ::-2] + 1.0]


@program((4, 6))
def reshapes_of_views(x):
    t = tf.transpose(x)
    return [tf.reshape(t, (8, 3)), tf.reshape(x[:, ::2], (12,)) * 1.5, tf.reshape(t[::-1], (2, 3, 4)), tf.reshape(x[1:3], (12,))]


@program((3, 4, 5))
def transposes(x):
    y = tf.transpose(x, (2, 0, 1))
    return [tf.transpose(y, (1, 2, 0)), y[1], tf.reshape(y, (15, 4))[::4], tf.expand_dims(y, 1) * x[0, :, 0]]


@program((1, 5), (4, 1))
def broadcast_views(x, y):
    b = tf.broadcast_to(x, (4, 5))
    return [tf.transpose(b), b[::2, ::-1] + y[::2], tf.reshape(b, (20,)), tf.concat([b, b * y], axis=1)]


@program((5,), (3,), (4, 2))
def joined(x, y, z):
    return [tf.concat([x, y, x[::-1]], axis=0), tf.stack([y, y * 2.0], axis=1), tf.concat([z, z[:, ::-1]], axis=1)]


# ---- results that are arguments, constants, or each other -----------------------------------------------


@program((4,), (3, 2))
def arguments_returned(x, y):
    return [x, y, x, tf.transpose(y), x[1:], y]


@program((4,))
def result_returned_twice(x):
    y = x * 2.0
    return [y, y, y + 1.0, y[::-1]]


@program((3,), orders=("value", "gradient"))
def constants_returned(x):
    c = tf.constant(np.arange(3.0))
    return [c, c, tf.constant(2.5), c + x, tf.zeros((2, 2)), tf.constant(np.array([[7.0]]))]


@program((0,), ((0, 2), "float32"), orders=("value",))
def nothing(x, y):
    return [x * 2.0, y, tf.transpose(y), tf.concat([x, x], axis=0)]


# ---- updates --------------------------------------------------------------------------------------------


@program((6, 4))
def update_by_own_view(x):
    y = x * 1.0
    return [y.at[1:].set(y[:-1]), y.at[::-1].add(y), y.at[:, 1:].add(y[:, :-1])]


@program((40,))
def update_by_own_view_large(x):
    y = x + 0.5
    y = y.at[1:].set(y[:-1] * 2.0)
    y = y.at[:20].set(y[20:])
    return [y.at[::-1].set(y)]


@program((36,))
def old_value_needed(x):
    y = x * 3.0
    z = y.at[3:7].set(0.0)
    w = z.at[5:9].add(1.0)
    return [y, w, z + y]


@program((36,))
def view_needed_after_update(x):
    y = x * 3.0
    head = y[:10]
    z = y.at[2:5].set(-1.0)
    return [z, head * 2.0, tf.reshape(head, (2, 5))]


@program((5, 5), (2,), INDEX)
def windows(x, v, i):
    y = x * 1.0
    w = tf.dynamic_slice(y, (i, i), sizes=(2, 2))
    z = tf.dynamic_update_slice(y, w * v, (i + 1, 0))
    return [z, tf.dynamic_update_slice(z, z[:2, :2], (1, 1)), w]


@program((6, 3), ((4,), "int64"), (4, 3), below=6)
def gather_and_scatter(x, index, v):
    y = x * 2.0
    return [tf.scatter_add(y, index, v), tf.gather(y, index), tf.scatter_add(y, index, tf.gather(y, index))]


@program((6,), ((3,), "int64"), below=6)
def indices_of_both_signs(x, index):
    return [tf.gather(x, index - 6), tf.gather(x, index) * tf.gather(x, index - 6)]


@program((40,), (40,))
def updated_argument(x, y):
    return [x.at[3].set(y[5]), x, y.at[1:4].add(x[:3]), x.at[0].add(1.0)]


@program((34,))
def overwritten_whole(x):
    y = x * 2.0
    return [y.at[:].set(tf.sin(x)), y.at[::-1].set(y)]


# ---- loops ----------------------------------------------------------------------------------------------


@program((), ())
def counted(x, a):
    return [tf.fori_loop(0, 5, lambda i, c: tf.sin(c) * a + tf.cast(i, tf.float64), x)]


@program((3,), orders=("value", "gradient", "jvp"))
def zero_trips(x):
    n = tf.cast(tf.reduce_sum(x) * 0.0, tf.int64)
    a = tf.fori_loop(0, 0, lambda i, c: c * 2.0, x)
    b = tf.fori_loop(0, n, lambda i, c: c * 3.0, x)
    c, ys = tf.scan(lambda c, r: (c + r, c * r), x[0], x[:0])
    return [a, b, c, ys]


@program((), (), INDEX)
def counted_by_tensor(x, a, n):
    return [tf.fori_loop(0, n + 2, lambda i, c: c * a + x, x), tf.fori_loop(n, 3, lambda i, c: c + a, x)]


@program((2,), orders=ALL)
def doubling(x):
    b = tf.while_loop(lambda b: tf.reduce_sum(tf.abs(b)) < 100.0, lambda b: b * 2.0, x)
    return [tf.cond(tf.reduce_sum(b) > 0, lambda: b, lambda: 100.0 * b)]


@program((6, 3), (3,))
def scan_rows(rows, start):
    last, ys = tf.scan(lambda c, r: (tf.tanh(c) + r, c * r), start, rows)
    return [last, ys]


@program((6, 3), (3,))
def scan_reversed(rows, start):
    last, (ys, zs) = tf.scan(lambda c, r: (c * r, (c, r + 1.0)), start, rows, reverse=True)
    return [last, ys, zs[::-1]]


@program((5, 40), (40,), orders=("value", "gradient", "jvp"))
def scan_large_rows(rows, start):
    last, ys = tf.scan(lambda c, r: (c * 0.5 + r, c), start, rows)
    return [last, ys]


@program((), orders=("value", "gradient", "jvp"))
def nested_three_deep(x):
    def inner(k, c):
        return c * 1.01 + tf.cast(k, tf.float64) * x

    def middle(j, c):
        return tf.fori_loop(0, 2, inner, c) + tf.sin(c)

    return [tf.fori_loop(0, 2, lambda i, c: tf.fori_loop(0, 3, middle, c * 0.5), x)]


@program((40,), (40,), orders=("value", "gradient", "jvp"))
def nested_large(x, a):
    def outer(i, c):
        d = tf.fori_loop(0, 3, lambda j, d: tf.concat([d[1:], d[:1]], axis=0) * a, c)
        return d + c

    y = tf.fori_loop(0, 3, outer, x)
    return [y, tf.concat([y[20:], y[:20]], axis=0) + x[::-1]]


@program((), ())
def carries_swapped(a, b):
    return list(tf.fori_loop(0, 3, lambda i, c: (c[1], c[0]), (a * 2.0, b)))


@program((40,), (40,), orders=("value", "gradient", "jvp"))
def large_carries_swapped(a, b):
    x, y = tf.fori_loop(0, 3, lambda i, c: (c[1], c[0]), (a * 2.0, b * 3.0))
    return [x, y, x + y]


@program((40,), (40,), (40,), orders=("value", "gradient"))
def carries_rotated(a, b, c):
    return list(tf.fori_loop(0, 4, lambda i, s: (s[1], s[2] * 2.0, s[0]), (a * 1.0, b * 1.0, c)))


@program((40,), (), orders=("value", "gradient", "jvp"))
def carry_unchanged(x, a):
    y, z = tf.fori_loop(0, 3, lambda i, c: (c[0], c[1] * c[0] + a), (x * 2.0, x))
    return [y, z]


@program((40,), orders=("value", "gradient", "jvp"))
def carry_becomes_captured(x):
    y = x * 2.0
    a = tf.fori_loop(0, 3, lambda i, c: y, x)
    b = tf.fori_loop(0, 3, lambda i, c: y + 0.0 * c, y)
    return [a, b, y]


@program((40,), orders=("value", "gradient"))
def carries_equal(x):
    y = x * 2.0

    def body(i, c):
        n = c[0] + c[1]
        return n, n

    return [*tf.fori_loop(0, 3, body, (y, y)), y]


@program((40,), orders=("value", "gradient"))
def odd_number_of_swaps_then_work(x):
    y = tf.fori_loop(0, 3, lambda i, c: tf.concat([c[1:] * 2.0, c[:1]], axis=0), x * 1.5)
    w = tf.concat([x[20:], x[:20]], axis=0)
    w = tf.concat([w[20:], w[:20]], axis=0)
    w = tf.concat([w[10:], w[:10]], axis=0)
    return [w + y, y]


@program((40,), orders=("value", "gradient", "jvp"))
def update_in_loop(x):
    y = x * 1.0
    z = tf.fori_loop(0, 7, lambda i, c: c.at[i].set(c[i + 1] * 2.0), y)
    return [z, y]


@program((36, 3), orders=("value", "gradient", "jvp"))
def stencil_in_loop(x):
    def step(i, u):
        return u.at[1:-1].add(0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2]))

    return [tf.fori_loop(0, 4, step, x)]


@program((40,), orders=("value", "gradient"))
def update_and_old_value_in_loop(x):
    def step(c, _):
        new = c.at[3:].add(c[:-3])
        return new, c * new

    last, ys = tf.scan(step, x, length=3)
    return [last, ys]


@program((40,), (40,), orders=("value", "gradient"))
def update_of_captured_in_loop(x, y):
    z = y * 1.0
    return [tf.fori_loop(0, 3, lambda i, c: c + z.at[i].set(7.0), x), z]


@program((), orders=("value", "gradient", "jvp"))
def growing_rows(x):
    def body(i, v):
        return i + 1, v * 1.5

    i, v = tf.while_loop(lambda i, v: v < 30.0, body, (tf.constant(0), tf.abs(x) + 1.0))
    return [v, i]


@program((4,), (), orders=("value", "gradient"))
def loop_in_branch(x, a):
    then = lambda: tf.fori_loop(0, 3, lambda i, c: c * a, x)
    return [tf.cond(a > 0.0, then, lambda: x - a), tf.cond(a <= 0.0, then, lambda: x - a)]


@program((4,), (40,))
def branch_in_loop(x, y):
    def body(i, c):
        small, large = c
        return (tf.cond(i % 2 == 0, lambda: tf.sin(small), lambda: small * 2.0),
                tf.cond(i % 2 == 1, lambda: large, lambda: large * 1.5))

    return list(tf.fori_loop(0, 3, body, (x, y)))


@program((40,), (), orders=("value", "gradient", "jvp"))
def branches_that_return_arguments(x, a):
    y = x * 2.0
    p, q = tf.cond(a > 0.0, lambda: (x, y), lambda: (y, x))
    return [p, q.at[3].set(1.0), y, p]


@program(((3,), "complex128"), ((3,), "complex128"), orders=("value", "gradient", "jvp"))
def complex_loop(z, w):
    last, ys = tf.scan(lambda c, r: (c * r + 1.0, c), z, tf.stack([w, z, w]))
    return [last, ys]


@program(((5,), "int64"), ((), "bool"), orders=("value",), below=9)
def integer_loop(x, flag):
    def body(i, c):
        total, seen = c
        return total + x[i % 5], tf.logical_or(seen, x[i % 5] > 5)

    return list(tf.fori_loop(0, 9, body, (tf.constant(np.int64(0)), flag)))


@program(((8,), "float32"), orders=("value", "gradient", "jvp"))
def single_precision_loop(x):
    return [tf.fori_loop(0, 4, lambda i, c: tf.tanh(c) + tf.cast(i, tf.float32) * 0.1, x)]


@program((5, 3), (3, 3), orders=("value", "gradient", "jvp"))
def recurrent_net(xs, w):
    last, hs = tf.scan(lambda h, x: ((n := tf.tanh(tf.dot(h, w) + x)), n), tf.zeros((3,), tf.float64), xs)
    return [last, tf.reduce_sum(hs * hs)]


@program((12, 12), (12, 12), orders=("value", "gradient"))
def products_in_loop(a, b):
    return [tf.fori_loop(0, 3, lambda i, c: tf.transpose(c @ b) * 0.3, a)]


@program((2, 40), orders=("value", "gradient", "jvp"))
def rows_updated_in_loop(x):
    def step(c, r):
        return c.at[0].add(r[0]), r.at[1].set(c[0])

    last, ys = tf.scan(step, x[0], x)
    return [last, ys]


@program((), orders=("value", "gradient", "jvp"))
def scan_that_returns_its_carry_reshaped(x):
    last, ys = tf.scan(lambda c, _: (c * 2.0, tf.reshape(c, (4, 10))), tf.broadcast_to(x, (40,)), length=3)
    return [last, ys]


@program((3,), orders=("value", "gradient", "jvp"), positive=True)
def doubling_in_loop(x):
    def step(c, r):
        grown = tf.while_loop(lambda v: v < 10.0, lambda v: v * 2.0 * r, tf.abs(c) + 0.1)
        return grown * 0.3, grown

    last, ys = tf.scan(step, x[0], x + 1.0)
    return [last, ys]


@program((), (), orders=("value", "gradient", "jvp"), positive=True)
def doubling_in_branch(x, a):
    def grown():
        return tf.while_loop(lambda v: v < 10.0, lambda v: v * 2.0, x)

    return [tf.cond(a > 1.0, grown, lambda: x * a), tf.cond(a <= 1.0, grown, lambda: x * a)]


@program((40,), INDEX, orders=("value", "gradient"))
def counted_in_loop_by_index(x, n):
    def outer(i, c):
        return tf.fori_loop(0, i + n, lambda j, d: tf.sin(d) * x, c)

    return [tf.fori_loop(0, 3, outer, x)]
