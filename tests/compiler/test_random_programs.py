"""Random small programs: views, updates, reductions, loops and branches in any order, at every level."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tf
from checks.levels import assert_levels_agree, complete, derived
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

SHAPES = ((), (3,), (2, 3), (3, 2), (40,), (4, 10), (1, 3), (0, 3))


class Writer:
    """Writes a program by adding random calls to what there is; the same choices for the same seed."""

    def __init__(self, seed: int, depth: int = 0):
        self.random = Random(seed)
        self.depth = depth

    def program(self, *xs: Any) -> list[Any]:
        values = list(xs)
        for _ in range(self.random.randint(2, 9 if self.depth == 0 else 4)):
            values.append(self.step(values))
        kept = self.random.randint(1, 4)
        return [self.random.choice(values[-2 * kept :]) for _ in range(kept)]

    def step(self, values: list[Any]) -> Any:
        kinds = [
            self.unary,
            self.binary,
            self.binary,
            self.view,
            self.view,
            self.update,
            self.update,
            self.reduction,
            self.joined,
            self.choice,
        ]
        if self.depth < 2:
            kinds += [self.loop, self.loop, self.scan, self.branch]
        return self.random.choice(kinds)(self.random.choice(values), values)

    def fitting(self, x: Any, values: list[Any]) -> Any:
        """Another value that broadcasts to the shape of `x`."""
        found = [
            v for v in values if v.shape in ((), x.shape) or v.shape == x.shape[len(x.shape) - len(v.shape) :]
        ]
        return self.random.choice(found or [x])

    def unary(self, x: Any, values: list[Any]) -> Any:
        f = self.random.choice(
            [tf.sin, tf.tanh, tf.negative, tf.square, tf.abs, lambda v: tf.sqrt(tf.abs(v) + 1.0)]
        )
        return f(x)

    def binary(self, x: Any, values: list[Any]) -> Any:
        y = self.fitting(x, values)
        f = self.random.choice([tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum])
        return f(x, y) if self.random.random() < 0.5 else f(y, x)

    def choice(self, x: Any, values: list[Any]) -> Any:
        y = self.fitting(x, values)
        return tf.where(x > y, x * 0.5, y)

    def slices(self, shape: tuple[int, ...]) -> tuple[slice, ...]:
        return tuple(
            self.random.choice(
                [slice(None), slice(None, None, -1), slice(n // 2, None), slice(None, None, 2), slice(1)]
            )
            for n in shape
        )

    def view(self, x: Any, values: list[Any]) -> Any:
        kind = self.random.randint(0, 3)
        if kind == 0 and x.shape:
            return x[self.slices(x.shape)]
        if kind == 1:
            return tf.transpose(x)
        if kind == 2 and x.shape and 0 not in x.shape:
            return (
                tf.reshape(x, (-1,)) if self.random.random() < 0.5 else tf.reshape(tf.transpose(x), x.shape)
            )
        return tf.broadcast_to(x, (2, *x.shape))[self.random.randint(0, 1)]

    def update(self, x: Any, values: list[Any]) -> Any:
        if not x.shape:
            return x + 1.0
        where = self.slices(x.shape)
        base = x * 1.0 if self.random.random() < 0.5 else x
        new = (
            base[where][self.slices(x.shape)]
            if self.random.random() < 0.5
            else self.fitting(base[where], values)
        )
        if new.shape != base[where].shape:
            new = tf.reduce_sum(new)
        return base.at[where].set(new) if self.random.random() < 0.5 else base.at[where].add(new)

    def reduction(self, x: Any, values: list[Any]) -> Any:
        axis = self.random.choice([None, *range(len(x.shape))])
        if 0 in x.shape or self.random.random() < 0.6:
            return tf.reduce_sum(x, axis=axis)
        if x.shape and axis is not None and self.random.random() < 0.5:
            return tf.cumsum(x, axis=axis) * 0.25
        return tf.reduce_max(x, axis=axis)

    def joined(self, x: Any, values: list[Any]) -> Any:
        if not x.shape:
            return tf.stack([x, self.fitting(x, values) if x.shape else x])
        y = self.random.choice([v for v in values if v.shape == x.shape])
        return tf.concat([x, y], axis=self.random.randrange(len(x.shape)))

    # ---- control flow ------------------------------------------------------------------------------------

    def body(self) -> Writer:
        return Writer(self.random.randrange(1 << 30), self.depth + 1)

    def carried(self, writer: Writer, state: list[Any], others: list[Any]) -> list[Any]:
        """New values for `state`, of the same shapes, made by `writer`; sometimes the old ones, exchanged."""
        made = [*state, *others]
        for _ in range(writer.random.randint(1, 4)):
            made.append(writer.step(made))
        found = []
        for old in state:
            same = [v for v in made if v.shape == old.shape]
            found.append(writer.random.choice([*same[-3:], tf.tanh(same[-1])]))
        return found

    def loop(self, x: Any, values: list[Any]) -> Any:
        seed, trips = self.random.randrange(1 << 30), self.random.randint(0, 4)
        start = [x, self.random.choice(values)]
        captured = [self.random.choice(values)]

        def step(i: Any, state: tuple) -> tuple:
            return tuple(self.carried(Writer(seed, self.depth + 1), list(state), captured))

        found = tf.fori_loop(0, trips, step, tuple(start))
        values.append(found[1])
        return found[0]

    def scan(self, x: Any, values: list[Any]) -> Any:
        seed = self.random.randrange(1 << 30)
        rows = self.random.choice([v for v in values if v.shape] or [tf.stack([x, x])])
        reverse = self.random.random() < 0.5

        def step(state: Any, row: Any) -> tuple:
            writer = Writer(seed, self.depth + 1)
            (new,) = self.carried(writer, [state], [row])
            return new, writer.random.choice([state, new, row])

        last, ys = tf.scan(step, x, rows, reverse=reverse)
        values.append(last)
        return ys

    def branch(self, x: Any, values: list[Any]) -> Any:
        writers = [self.random.randrange(1 << 30) for _ in range(2)]
        y = self.random.choice(values)

        def taken(seed: int) -> Any:
            return lambda: tuple(self.carried(Writer(seed, self.depth + 1), [x, y], []))

        found = tf.cond(tf.reduce_sum(x) > 0.0, taken(writers[0]), taken(writers[1]))
        values.append(found[0])
        return found[1]


def check(seed: int, order: str) -> None:
    random = np.random.default_rng(seed)
    shapes = [SHAPES[k] for k in random.integers(0, len(SHAPES), 3)]
    specs = [TensorSpec(s, "float64") for s in shapes]
    source = trace(lambda *xs: Writer(seed).program(*xs), specs, "random").graph
    graph = derived(source, order)
    if graph is not None:
        arrays = complete(graph, [random.standard_normal(s) for s in shapes], source, order)
        assert_levels_agree(graph, arrays)


seeds = st.integers(0, 1 << 30)


@settings(max_examples=60)
@given(seeds)
def test_values(seed: int):
    check(seed, "value")


@settings(max_examples=25)
@given(seeds)
def test_gradients(seed: int):
    check(seed, "gradient")


@settings(max_examples=10)
@given(seeds)
def test_tangents(seed: int):
    check(seed, "jvp")


@settings(max_examples=6)
@given(seeds)
def test_second_derivatives(seed: int):
    check(seed, "second")
