"""What is converted and what is not: names, cells, positions, caching, cost."""

from __future__ import annotations

import functools
import gc
import inspect
import random
import sys
import time
import types
import weakref

import numpy as np
import pytest

import tracejit as tf
from tracejit.frontend.autograph import calls
from tracejit.frontend.autograph.calls import callee
from tracejit.frontend.autograph.source import transform

X = tf.constant(2.0)
FACTOR = 3.0


def plain(x):
    return tf.sin(x) * np.float32(2.0)


def branching(x):
    if x > 0.0:
        return x * FACTOR
    return x


def test_functions_without_control_flow_stay_as_they_are():
    assert callee(plain) is plain


def test_what_is_not_the_users_stays_as_it_is():
    for f in (random.shuffle, functools.reduce, abs, tf.sin, tf.Tensor.__add__, dict, str):
        assert callee(f) is f
    array = np.ones(3)
    assert callee(array.sum)() == callee(np.sum)(array) == 3.0


def test_generators_stay_as_they_are():
    def numbers(x):
        for i in range(3):
            yield x * i

    assert callee(numbers) is numbers
    assert tf.function(lambda x: sum(numbers(x)))(X).item() == 6.0


def test_converted_code_is_kept_per_code_object_and_weakly():
    converted = callee(branching)
    assert converted.__code__ is callee(branching).__code__
    assert converted.__globals__ is branching.__globals__
    assert callee(converted) is converted

    names = {"tf": tf}
    exec("def f(x):\n    return x\n", names)
    f = names.pop("f")
    callee(f)
    key, code = (id(f.__code__), False), weakref.ref(f.__code__)
    assert key in calls._conversions
    del f
    gc.collect()
    assert code() is None and key not in calls._conversions


def test_globals_are_the_functions_own(monkeypatch):
    f = tf.function(branching)
    assert f(X).item() == 6.0
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    assert tf.function(branching)(X).item() == 10.0


def test_globals_can_be_assigned():
    @tf.function
    def f(x):
        global COUNT
        COUNT = 1
        if x > 0.0:
            x = x + 1.0
        return x

    assert f(X).item() == 3.0 and COUNT == 1


def test_closure_cells_are_shared():
    scale = 2.0

    def f(x):
        if x > 0.0:
            return x * scale
        return x

    assert tf.function(f)(X).item() == 4.0
    scale = 10.0
    assert tf.function(f)(X).item() == 20.0
    assert callee(f).__closure__[-1] is f.__closure__[0] or f.__closure__[0] in callee(f).__closure__


def test_defaults_keywords_and_names():
    def f(x, y=2.0, *rest, z=3.0, **more):
        """The documentation."""
        if x > 0.0:
            return x * y + z + sum(rest) + sum(more.values())
        return x

    converted = callee(f)
    assert (converted.__defaults__, converted.__kwdefaults__) == (f.__defaults__, f.__kwdefaults__)
    assert (converted.__name__, converted.__qualname__) == (f.__name__, f.__qualname__)
    assert converted.__doc__ == f.__doc__
    assert tf.function(f)(X, z=1.0, k=4.0).item() == 9.0


def test_line_numbers_are_the_files():
    code = callee(branching).__code__
    assert code.co_filename == __file__
    assert code.co_firstlineno == branching.__code__.co_firstlineno
    lines = {line for _, _, line in code.co_lines() if line}
    first = branching.__code__.co_firstlineno
    assert lines <= set(range(first, first + 5))


def test_python_conditions_leave_nothing_in_the_graph():
    def chosen(x, n):
        if n > 2 and not n == 5:
            x = x * 2.0
        for _ in range(n):
            x = x + 1.0
        return x if n else -x

    @tf.function(autograph=False)
    def by_hand(x):
        x = x * 2.0
        for _ in range(3):
            x = x + 1.0
        return x

    found = tf.function(chosen).graph(X, 3)
    assert [n.op.name for n in found.nodes] == [n.op.name for n in by_hand.graph(X).nodes]


def test_source_as_it_became():
    text = tf.function(branching).autograph_source()
    assert "_ag.if_stmt(x > 0.0" in text and "def branching(x):" in text
    assert tf.function(plain).autograph_source().startswith("def plain(x):")
    assert "if_exp" in tf.function(lambda x: x if x > 0.0 else -x).autograph_source()


def test_eager_leaves_control_flow_as_it_is(monkeypatch):
    def refused(*args):
        raise AssertionError("converted without a trace")

    f = tf.function(lambda x: branching(x))
    with tf.settings(eager=True):
        monkeypatch.setattr(transform, "rewritten", refused)
        assert f(X).item() == 6.0


def test_transforms_convert_what_they_were_given():
    assert tf.function(tf.grad(branching))(X).item() == 3.0
    value, slope = tf.function(tf.value_and_grad(branching))(X)
    assert (value.item(), slope.item()) == (6.0, 3.0)
    assert tf.function(tf.grad(tf.grad(lambda p: branching(p) * p)))(X).item() == 6.0
    assert tf.function(functools.partial(branching))(X).item() == 6.0


def test_methods_of_compiled_classes():
    class Model:
        def __init__(self):
            self.v = tf.Variable(2.0)

        def scale(self, x):
            if x > 1.0:
                return x * self.v
            return x

        @tf.function
        def __call__(self, x):
            while x < 10.0:
                x = self.scale(x) + 1.0
            return x

        @staticmethod
        def twice(x):
            return x * 2.0 if x > 0.0 else x

        @classmethod
        def made(cls, x):
            return cls.twice(x)

    model = Model()
    assert model(X).item() == 11.0
    assert tf.function(model.made)(X).item() == 4.0


def test_variables_assigned_in_branches_and_loops():
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        while v < 10.0:
            v.assign(v * 2.0)
            x = x + v
        if x > 3.0:
            v.assign_add(100.0)
        return x

    assert f(X).item() == 32.0 and v.numpy() == 116.0
    assert f(X).item() == 2.0 and v.numpy() == 116.0


def test_slices_of_traced_tensors_are_assigned():
    @tf.function
    def f(x, n):
        for i in range(n):
            x[i] = x[i] * 2.0
            x[1:] += 1.0
        return x

    found = f(tf.constant([2.0, 3.0, 4.0]), tf.constant(2))
    np.testing.assert_array_equal(found, [4.0, 9.0, 6.0])
    with tf.GradientTape() as tape:
        x = tf.constant([2.0, 3.0, 4.0])
        tape.watch(x)
        y = f(x, tf.constant(2))
    np.testing.assert_array_equal(tape.gradient(y, x), [2.0, 2.0, 1.0])


def test_loops_are_not_traced_twice():
    traces = []

    def body(x):
        traces.append(x)
        return x * 2.0

    @tf.function
    def f(x):
        while True:
            x = body(x)
            if x > 100.0:
                break
        return x

    assert f(X).item() == 128.0
    loops = [n.op.name for n in f.graph(X).nodes]
    assert loops.count("loop") == 1 and "multiply" not in loops


def test_first_iteration_that_is_different_in_python():
    @tf.function
    def f(x):
        before = None
        while before is None or tf.abs(x - before) > 1e-3:
            before = x
            x = (x + 2.0 / x) / 2.0
        return x

    assert abs(f(X).item() - 2.0**0.5) < 1e-6


def test_lists_before_and_after_a_loop():
    @tf.function
    def f(x):
        values = []
        for row in x:
            values.append((row, row * 2.0))
        a, b = values
        return tf.stack(a) + tf.reduce_sum(b)

    np.testing.assert_array_equal(f(tf.constant([1.0, 2.0])), [7.0, 8.0])


def test_side_effects_of_python_happen_while_tracing():
    seen = []

    @tf.function
    def f(x):
        if x > 0.0:
            seen.append("then")
            return x
        seen.append("else")
        return -x

    f(X), f(X)
    assert seen == ["then", "else"]


def test_lambdas_that_share_a_line():
    fs = [lambda x: x if x > 0.0 else -x, lambda x: x * 2.0 if x > 0.0 else x, lambda y: -y if y > 0.0 else y]
    assert [tf.function(f)(X).item() for f in fs] == [2.0, 4.0, -2.0]


def test_an_inner_compiled_function_that_is_not_converted():
    inner = tf.function(lambda x: x * 2.0, autograph=False)

    @tf.function
    def f(x):
        return inner(x) if x > 0.0 else x

    assert f(X).item() == 4.0


def test_both_sides_of_a_logical_operator_run_once():
    calls_of = []

    def seen(x):
        calls_of.append(1)
        return x > 0.0

    @tf.function
    def f(x):
        return x if (seen(x) and seen(x + 1.0)) or seen(x + 2.0) else -x

    f(X)
    assert len(calls_of) == 3


def test_integer_counters_keep_the_dtype_of_what_they_meet():
    @tf.function
    def f(x, n):
        for i in range(n):
            x = x * (i + 1) / 2 + i // 2 - (i % 3) ** 2
        return x, n * 2

    y, m = f(X, tf.constant(4))
    assert (y.dtype, m.dtype) == (tf.float32, tf.int32)
    wanted = 2.0
    for i in range(4):
        wanted = wanted * (i + 1) / 2 + i // 2 - (i % 3) ** 2
    assert y.item() == pytest.approx(wanted)


def test_tf_range_of_a_traced_number():
    @tf.function
    def f(x, n):
        for i in tf.range(n):
            x = x + tf.cast(i, dtype=tf.float32)
        return x

    assert f(X, tf.constant(4)).item() == 8.0


def test_conversion_is_quick():
    source = "def f(x):\n" + "".join(
        f"    if x > {k}.0:\n        x = x * 2.0\n    while x > {k}.0:\n        x = x / 3.0\n"
        for k in range(8)
    )
    module = types.ModuleType("many")
    lines = (source + "    return x\n").splitlines(keepends=True)
    import linecache

    linecache.cache["<many>"] = (len(source), None, lines, "<many>")
    exec(compile("".join(lines), "<many>", "exec"), module.__dict__)
    times = []
    for _ in range(3):
        calls._conversions.pop((id(module.f.__code__), False), None)
        start = time.process_time()
        assert callee(module.f) is not module.f
        times.append(time.process_time() - start)
    assert min(times) < 0.05  # 33 lines of nothing but control flow


@pytest.mark.semantics
def test_flagship():
    """Row 32: the gradient is 2^k or 100·2^k, exactly, for a thousand inputs and one trace."""

    @tf.function
    def f(a):
        b = a
        while tf.norm(b) < 1000:
            b = b * 2
        if tf.reduce_sum(b) > 0:
            c = b
        else:
            c = 100 * b
        return c

    generator = np.random.default_rng(0)
    for a in generator.normal(size=1000).astype(np.float32) * 10.0:
        x = tf.constant(a)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        slope = tape.gradient(y, x).item()
        k = 0
        while abs(a) * 2.0**k < 1000:
            k += 1
        assert slope == (2.0**k if a > 0 else 100.0 * 2.0**k)
    assert f.experimental_get_tracing_count() == 1


def test_a_function_handed_on_to_this_package_is_converted():
    def pushed(f):
        return lambda x: tf.jvp(f, [x], [x])[1]

    assert tf.function(pushed(branching))(X).item() == X.item() * FACTOR
    assert tf.function(pushed(branching))(-X).item() == -X.item()


def _stepped(x, n):
    total = x
    for i in range(n):
        if total > 3.0:
            total = total * 0.5
            continue
        total = total + i
    return total


def test_debuggers_and_coverage_see_the_users_lines():
    """Every line of the body runs once it is traced, whatever the condition will be, and no line elsewhere does."""
    seen = set()

    def watch(frame, event, argument):
        if frame.f_code.co_filename == __file__ and event == "line":
            seen.add((frame.f_code.co_filename, frame.f_lineno))
        return watch

    compiled, before = tf.function(_stepped), sys.gettrace()
    sys.settrace(watch)
    try:
        compiled(X, tf.constant(3))
    finally:
        sys.settrace(before)
    first = _stepped.__code__.co_firstlineno
    own = {line - first for _, line in seen if first <= line < first + 8}
    assert own == {1, 2, 3, 4, 5, 6, 7}


def test_the_source_of_a_converted_function_is_the_users():
    converted = callee(_stepped)
    assert converted is not _stepped
    assert inspect.getsource(converted) == inspect.getsource(_stepped)
    assert inspect.signature(converted) == inspect.signature(_stepped)
    assert inspect.getsourcelines(converted)[1] == _stepped.__code__.co_firstlineno


class _Scaled:
    factor = 3.0

    @property
    def scale(self):
        return self.factor


def test_properties_and_modules_in_the_source():
    def f(x):
        return tf.sin(x) * _Scaled().scale if x > 0.0 else x.dtype == tf.float32

    text = tf.function(f).autograph_source()
    assert "_ag.attribute_of(_ag.callee(_Scaled)(), 'scale')" in text and "== tf.float32" in text


def test_descriptors_are_called_once_per_assignment():
    calls_of = []

    class Owner:
        def __init__(self, x):
            self._x = x

        @property
        def x(self):
            return self._x

        @x.setter
        def x(self, value):
            calls_of.append(1)
            self._x = value * 2.0

    @tf.function
    def f(x, n):
        owner = Owner(x)
        for _ in range(n):
            owner.x = owner.x + 1.0
        if x > 0.0:
            owner.x += 1.0
        return owner.x

    assert f(X, tf.constant(2)).item() == 30.0


def test_lists_given_by_the_caller_are_changed_in_place():
    def doubled(values):
        if values[0] > 0.0:
            values[0] = values[0] * 2.0
        return None

    @tf.function
    def f(x):
        values = [x, x]
        doubled(values)
        return values[0] + values[1]

    assert f(X).item() == 6.0 and f(-X).item() == -4.0
