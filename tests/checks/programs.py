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
        return [
            self._draw(random, tuple(shape), s.dtype) for shape, s in zip(shapes, self.specs, strict=True)
        ]

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
    return [
        tf.logical_and(a, b),
        tf.logical_or(a, tf.logical_not(b)),
        tf.cast(a, tf.float64) - tf.cast(b, tf.float64),
    ]


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
    return [
        tf.argmax(x, axis=1),
        tf.argmax(x, axis=0),
        tf.reduce_max(x),
        tf.cumsum(x, axis=0),
        tf.cumsum(x, axis=1),
    ]


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
    return [
        tf.reshape(t, (8, 3)),
        tf.reshape(x[:, ::2], (12,)) * 1.5,
        tf.reshape(t[::-1], (2, 3, 4)),
        tf.reshape(x[1:3], (12,)),
    ]


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
    return [
        tf.concat([x, y, x[::-1]], axis=0),
        tf.stack([y, y * 2.0], axis=1),
        tf.concat([z, z[:, ::-1]], axis=1),
    ]


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
