"""Dataclasses and registered classes are nests: passed, returned, carried, differentiated, mapped over, exported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

import tracejit as tf


@dataclass
class Plain:
    w: Any
    b: Any
    name: str = "plain"


@dataclass(frozen=True)
class Frozen:
    w: Any
    b: Any
    power: int = field(default=3, metadata={"static": True})


@dataclass(frozen=True, slots=True)
class Slotted:
    w: Any
    b: Any


class Registered:
    def __init__(self, w, b, note="note"):
        self.w, self.b, self.note = w, b, note


tf.nest.register_node(
    Registered, lambda r: ((r.w, r.b), r.note), lambda note, children: Registered(*children, note)
)

CLASSES = [Plain, Frozen, Slotted, Registered]
each_class = pytest.mark.parametrize("kind", CLASSES, ids=lambda k: k.__name__)
each_mode = pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "compiled"])


def loss(p: Any) -> tf.Tensor:
    return tf.reduce_sum(p.w**3.0) * p.b


def of(kind: Any, dtype: str = "float64") -> Any:
    return kind(tf.constant(np.array([1.0, 2.0], dtype)), tf.constant(np.array(3.0, dtype)))


def values(p: Any) -> list[Any]:
    return [p.w.numpy().tolist(), p.b.numpy().tolist()]


def same(p: Any, kind: type, w: Any, b: Any) -> None:
    assert type(p) is kind
    np.testing.assert_allclose(p.w, w, rtol=1e-12)
    np.testing.assert_allclose(p.b, b, rtol=1e-12)


@each_class
@each_mode
def test_gradients_of_any_order(kind: type, wrap: Callable[..., Any]) -> None:
    p = of(kind)
    same(wrap(tf.grad(loss))(p), kind, [9.0, 36.0], 9.0)
    value, g = wrap(tf.value_and_grad(loss))(p)
    assert float(value) == 27.0
    same(g, kind, [9.0, 36.0], 9.0)
    same(wrap(tf.grad(tf.function(loss)))(p), kind, [9.0, 36.0], 9.0)
    second = tf.grad(lambda q: tf.reduce_sum(tf.grad(loss)(q).w) + tf.grad(loss)(q).b)
    same(wrap(second)(p), kind, [18.0 + 3.0, 36.0 + 12.0], 15.0)
    same(wrap(tf.jacobian(lambda q: q.w * q.b))(p), kind, [[3.0, 0.0], [0.0, 3.0]], [1.0, 2.0])
    out, tangent = wrap(lambda q: tf.jvp(loss, (q,), (q,)))(p)
    assert (float(out), float(tangent)) == (27.0, 108.0)


@each_class
@each_mode
def test_tapes(kind: type, wrap: Callable[..., Any]) -> None:
    def gradient(p: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(p)
            y = loss(p)
        return tape.gradient(y, p)

    same(wrap(gradient)(of(kind)), kind, [9.0, 36.0], 9.0)
    variables = kind(tf.Variable([1.0, 2.0], dtype="float64"), tf.Variable(3.0, dtype="float64"))
    with tf.GradientTape() as tape:
        y = loss(variables)
    same(tape.gradient(y, variables), kind, [9.0, 36.0], 9.0)


@each_class
@each_mode
def test_control_flow_and_batches(kind: type, wrap: Callable[..., Any]) -> None:
    p = of(kind)
    looped = wrap(
        lambda q: tf.while_loop(lambda s: s.b < 10.0, lambda s: kind(s.w * 2.0, s.b + 3.0), (q,))[0]
    )
    same(looped(p), kind, [8.0, 16.0], 12.0)
    chosen = wrap(lambda q: tf.cond(q.b > 0.0, lambda: kind(q.b, q.w), lambda: kind(-q.b, q.w)))
    same(chosen(p), kind, 3.0, [1.0, 2.0])
    same(wrap(tf.vmap(lambda x: kind(x, x + 1.0)))(p.w), kind, [1.0, 2.0], [2.0, 3.0])
    mapped = wrap(tf.vmap(lambda q: q.w * q.b, in_axes=(kind(0, None),)))(p)
    np.testing.assert_allclose(mapped, [3.0, 6.0])


@pytest.mark.parametrize("kind", [Frozen, Slotted, Registered])
def test_variables_of_loops_and_branches(kind: Any) -> None:
    def f(p: Any, n: Any) -> Any:
        for _ in range(n):
            if p.b > 2.0:
                p = kind(p.w * 2.0, p.b - 1.0)
            else:
                p = kind(p.w, p.b + 5.0)
        return p

    compiled = tf.function(f)
    for n in (0, 1, 4):
        wanted = f(of(kind), n)
        same(compiled(of(kind), tf.constant(n)), kind, *values(wanted))


def test_changed_copies() -> None:
    def f(p: Any, n: Any) -> Any:
        for _ in range(n):
            p = replace(p, b=p.b * 2.0)
        return replace(p, w=p.b)

    same(tf.function(f)(of(Frozen), tf.constant(3)), Frozen, 24.0, 24.0)


def test_what_is_static_is_part_of_the_trace() -> None:
    compiled = tf.function(lambda p: p.w**p.power)
    x = tf.constant([2.0])
    for power in (3, 2, 3, 3.0, True, 1):
        assert compiled(Frozen(x, x, power)).numpy().tolist() == [2.0**power]
    assert compiled.experimental_get_tracing_count() == 5
    named = tf.function(lambda p: p.w if p.name == "plain" else -p.w)
    assert [float(named(Plain(tf.constant(1.0), 2.0, name))) for name in ("plain", "other", "plain")] == [
        1,
        -1,
        1,
    ]
    with pytest.raises(TypeError, match="must be hashable"):
        compiled(Frozen(x, x, [1]))


def test_numbers_inside_are_as_in_tuples() -> None:
    compiled = tf.function(lambda p: p.w * p.b)
    for b in (0.5, 1.5, 2.5):
        assert float(compiled(Plain(tf.constant(2.0), b))) == 2.0 * b
    assert compiled.experimental_get_tracing_count() == 1
    g = tf.grad(lambda p: p.w * p.b)(Plain(2.0, 3.0))
    assert (float(g.w), float(g.b), g.name) == (3.0, 2.0, "plain")


def test_arrays_are_those_of_each_call() -> None:
    """Also where one object is changed between calls, and when calls have become machine code."""
    for kind in (Plain, Registered):
        compiled = tf.function(lambda p: p.w + p.b)
        p = kind(np.ones(2), np.zeros(2))
        for k in range(40):
            p.w = np.full(2, float(k))
            assert compiled(p).numpy().tolist() == [k, k]
        assert compiled.experimental_get_tracing_count() == 1


def test_assigning_a_field_of_an_argument_is_refused() -> None:
    def f(p: Any) -> Any:
        p.w = p.w * 2.0
        return p.w

    with pytest.raises(
        tf.errors.TracejitError, match=r"assigns Plain\.w of an argument.*dataclasses\.replace"
    ):
        tf.function(f)(of(Plain))

    def made_here(x: Any) -> Any:
        p = Plain(x, x)
        p.w = p.w * 2.0
        return p

    same(tf.function(made_here)(tf.constant(2.0, "float64")), Plain, 4.0, 2.0)


def test_what_is_no_node() -> None:
    @dataclass(eq=False)
    class Options:
        k: float

    @dataclass
    class Net(tf.Module):
        scale: Any

    options, net = Options(2.0), Net(tf.Variable(3.0))
    assert tf.nest.flatten([options, net]) == [options, net]
    assert tf.nest.is_nested(Plain(1, 2)) and not tf.nest.is_nested(options)
    assert float(tf.function(lambda o, x: x * o.k)(options, tf.constant(1.5))) == 3.0
    with pytest.raises(TypeError, match="a class of yours"):
        tf.nest.register_node(tuple, None, None)


def test_signatures_and_text() -> None:
    spec = Plain(tf.TensorSpec([None], "float64"), tf.TensorSpec([], "float64"))
    compiled = tf.function(loss, input_signature=[spec])
    assert float(compiled(of(Plain))) == 27.0
    assert tf.nest.as_text(Plain(1, (2, 3))) == "Plain(w=*, b=(*, *))"
    with pytest.raises(ValueError, match=r"P.*w=\*"):
        tf.vmap(loss, in_axes=((0, 1, 2),))(of(Plain))
    doubled = tf.nest.map_structure(lambda x: x * 2.0, of(Registered))
    same(doubled, Registered, [2.0, 4.0], 6.0)
    assert doubled.note == "note"


def test_exported_and_saved(tmp_path: Any) -> None:
    spec = Frozen(tf.TensorSpec([2], "float64"), tf.TensorSpec([], "float64"))
    artifact = tf.aot.export(
        lambda p: Frozen(p.w * p.b, p.b), [spec], name="scaled", outputs=("value",), targets=("host",)
    )
    assert "p_w" in str(artifact.signature) and "value_b" in str(artifact.signature)
    w, b = artifact(of(Frozen))
    assert (w.tolist(), b.tolist()) == ([3.0, 6.0], 3.0)

    class Saved(tf.Module):
        @tf.function
        def __call__(self, p: Any) -> Any:
            return p.w

    module = Saved()
    module(of(Plain))
    with pytest.raises(tf.errors.TracejitError, match="takes or returns a Plain"):
        tf.saved_model.save(module, tmp_path / "saved")
