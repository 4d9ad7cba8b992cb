"""Every way of writing control flow: compiled = eager, with gradients, in forward mode, twice, and over rows.

One compiled function is asked for all of these, as it is in programs: it is traced once.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest

import tracejit as tf
from checks import language_programs, list_programs  # noqa: F401  they register more
from checks.python_programs import PROGRAMS


def arguments(program):
    """Tensors from floats and lists; integers become int32 tensors, which ranges take at run time."""
    return [tf.constant(x) for x in program.arguments]


def flat(y):
    leaves = y if isinstance(y, (tuple, list)) else [y]
    return [np.asarray(v) for v in leaves]


def total(y):
    """The sum of everything that a program returns."""
    parts = [y] if not isinstance(y, (tuple, list)) else y
    numbers = [tf.convert_to_tensor(v) for v in parts]
    return sum(tf.reduce_sum(v) for v in numbers if v.dtype.kind == "f")


def differentiable(xs):
    """Those that gradients are taken for."""
    return [x for x in xs if x.dtype.kind == "f"]


def of_floats(f, xs):
    """The sum of what `f` returns as a function of its float arguments."""

    def called(*floats):
        take = iter(floats)
        return total(f(*[next(take) if x.dtype.kind == "f" else x for x in xs]))

    return called


def gradients(f, xs):
    sources = differentiable(xs)
    with tf.GradientTape() as tape:
        for s in sources:
            tape.watch(s)
        y = of_floats(f, xs)(*sources)
    return [np.asarray(g) for g in tape.gradient(y, sources, unconnected_gradients="zero")]


def second_gradients(f, xs):
    """The gradient of the sum of the gradients."""
    sources = differentiable(xs)
    with tf.GradientTape() as outer:
        for s in sources:
            outer.watch(s)
        with tf.GradientTape() as inner:
            for s in sources:
                inner.watch(s)
            y = of_floats(f, xs)(*sources)
        first = inner.gradient(y, sources, unconnected_gradients="zero")
        y = sum(tf.reduce_sum(g) for g in first)
    return [np.asarray(g) for g in outer.gradient(y, sources, unconnected_gradients="zero")]


def compiled_equals_eager(program, compiled, xs):
    wanted, found = flat(program.f(*xs)), flat(compiled(*copy.copy(xs)))
    assert len(wanted) == len(found)
    for a, b in zip(wanted, found):
        np.testing.assert_allclose(a, b, rtol=2e-6)
    assert compiled.experimental_get_tracing_count() == 1


def gradient_equals_eager_gradient(program, compiled, xs):
    for a, b in zip(gradients(program.f, xs), gradients(compiled, xs)):
        np.testing.assert_allclose(a, b, rtol=5e-6, atol=1e-6)


def forward_mode_equals_reverse_mode(program, compiled, xs):
    sources = differentiable(xs)
    random = np.random.default_rng(0)
    tangents = [tf.constant(random.normal(size=s.shape).astype(np.float32)) for s in sources]
    _, found = tf.jvp(of_floats(compiled, xs), sources, tangents)
    terms = [g * np.asarray(t) for g, t in zip(gradients(program.f, xs), tangents)]
    wanted, size = (sum(np.sum(f(t)) for t in terms) for f in (np.positive, np.abs))
    np.testing.assert_allclose(
        0.0 if found is None else np.asarray(found), wanted, rtol=0, atol=1e-6 + 1e-5 * size
    )


def second_derivatives_equal_eager_ones(program, compiled, xs):
    for a, b in zip(second_gradients(program.f, xs), second_gradients(compiled, xs)):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)


def rows_of(program):
    """Argument tuples that differ in their floats alone: those the program is registered with, and near ones."""
    given = [p.arguments for p in PROGRAMS if p.f is program.f]
    fitting = [
        g for g in given if list(map(shape_or_value, g)) == list(map(shape_or_value, program.arguments))
    ]
    near = [
        [x if isinstance(x, int) else (np.float32(x) * np.float32(1.01)).tolist() for x in g] for g in fitting
    ]
    return [*fitting, *near]


def shape_or_value(x):
    return x if isinstance(x, int) else np.shape(x)


def mapped_over_rows_equals_row_by_row(program, compiled, xs):
    rows = [[tf.constant(x) for x in row] for row in rows_of(program)]
    axes = tuple(0 if x.dtype.kind == "f" else None for x in rows[0])
    columns = [tf.stack(list(c)) if a == 0 else c[0] for c, a in zip(zip(*rows), axes)]
    found = flat(tf.vmap(compiled, axes)(*columns))
    for k, row in enumerate(rows):
        for a, b in zip(flat(program.f(*row)), found, strict=True):
            np.testing.assert_allclose(a, b[k], rtol=5e-6, atol=1e-6)


#: What is asked of a program, and for which of them.
COLUMNS = {
    compiled_equals_eager: lambda p: True,
    gradient_equals_eager_gradient: lambda p: p.gradient,
    forward_mode_equals_reverse_mode: lambda p: p.gradient and p.forward,
    second_derivatives_equal_eager_ones: lambda p: p.second,
    mapped_over_rows_equals_row_by_row: lambda p: p.rows,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("program", PROGRAMS, ids=[p.name for p in PROGRAMS])
def test_compiled_equals_eager_in_every_way(program):
    compiled, wrong = tf.function(program.f), []
    for check, takes_part in COLUMNS.items():
        if takes_part(program):
            try:
                check(program, compiled, arguments(program))
            except Exception as error:
                error.add_note(f"the column is {check.__name__}")
                wrong.append(error)
    if wrong:
        raise wrong[0] if len(wrong) == 1 else ExceptionGroup(program.name, wrong)
