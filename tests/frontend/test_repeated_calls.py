"""Compiled functions called again and again in a trace: the body runs once, and nobody can tell."""

import numpy as np
import pytest

import tracejit as tj
from tracejit.core.ir.graph import walk
from tracejit.frontend.function.function import Function
from tracejit.frontend.recording import repeated_calls as module

X, W = np.linspace(0.2, 0.9, 4), np.linspace(-0.5, 0.5, 16).reshape(4, 4)
SCALE = 2.0
FACTORS = [1.0, 2.0]


@pytest.fixture
def ran(monkeypatch):
    """The bodies that ran while something was traced, by name."""
    bodies = []
    run = Function.run_python

    def counted(self, args, kwargs):
        bodies.append(self.__name__)
        return run(self, args, kwargs)

    monkeypatch.setattr(Function, "run_python", counted)
    return bodies


def lines(graph):
    return [(n.op.name, str(n.location)) for _, n in walk(graph)]


def agree(monkeypatch, make, *arrays):
    """The graph, which is what it is where bodies run each time: ops, order, attributes, lines."""
    graph = tj.function(make()).graph(*arrays)
    with monkeypatch.context() as patch:
        patch.setattr(module, "repeated", lambda f, python, leaves, structure, run: run())
        each = tj.function(make()).graph(*arrays)
    assert str(graph) == str(each) and lines(graph) == lines(each)
    return graph


@tj.function
def step(x, a):
    for _ in range(3):
        x = tj.sin(x) * a + SCALE * x
    return x - 0.1 * tj.reduce_sum(x, axis=0)


def helper(x, w):
    return tj.nn.relu(x @ w) + [k * 0.5 for k in range(3)][1]


@tj.function
def layer(nest, power=2):
    x, y = nest["x"], helper(nest["x"][None], nest["w"])[0]
    return {"sum": x + y**power, "both": (y, x), "x": x}


@tj.function
def deep(x, w):
    return step(step(x, 0.5), 0.5) + layer({"x": x, "w": w})["sum"]


def ten_steps():
    def f(x, w):
        for _ in range(10):
            x = step(x, 0.5) * 0.9
        return x

    return f


def two_kinds():
    def f(x, w):
        for k in range(6):
            made = layer({"x": x, "w": w}, power=2 + k % 2)
            x = made["sum"] + made["both"][0] * made["x"]
        return x, made

    return f


def nested():
    def f(x, w):
        for _ in range(4):
            x = deep(x, w) * 0.2
        return x

    return f


def on_tapes():
    def f(x, w):
        with tj.GradientTape() as outer:
            outer.watch((x, w))
            with tj.GradientTape(persistent=True) as tape:
                tape.watch((x, w))
                y = x
                for _ in range(3):
                    y = step(y, y) + layer({"x": y, "w": w})["sum"]
            g = tape.gradient(y, (x, w))
            total = tj.reduce_sum(g[0] * g[0]) + tj.reduce_sum(g[1])
        return y, g, outer.gradient(total, (x, w))

    return f


def in_loops():
    def f(x, w):
        for _ in tj.range(tj.cast(tj.reduce_sum(x), tj.int32) + 3):
            x = step(x, 0.5) * 0.1 + step(x, 0.5)
            if tj.reduce_sum(x) > 1.0:
                x = step(x, 0.5)
            else:
                x = step(x * 0.5, 0.5)
        return x

    return f


def same_twice():
    def f(x, w):
        both = tj.function(lambda a, b: (a + b, a, a, b))
        for _ in range(3):
            x, y, z, _ = both(x, x * 1.0)
            x = x + both(x, x)[0] + y + z
        return x

    return f


PROGRAMS = (ten_steps, two_kinds, nested, on_tapes, in_loops, same_twice)


@pytest.mark.parametrize("make", PROGRAMS)
def test_graphs_are_as_if_bodies_ran_each_time(make, monkeypatch):
    agree(monkeypatch, make, X, W)


@pytest.mark.parametrize("make", PROGRAMS)
def test_results_are_those_of_bodies_that_run_each_time(make, monkeypatch):
    once = tj.function(make())(X, W)
    monkeypatch.setattr(module, "repeated", lambda f, python, leaves, structure, run: run())
    each = tj.function(make())(X, W)
    for a, b in zip(flat(once), flat(each), strict=True):
        assert a.tobytes() == b.tobytes()


def flat(nest):
    if isinstance(nest, dict):
        return flat(tuple(nest.values()))
    return [y for x in nest for y in flat(x)] if isinstance(nest, (tuple, list)) else [np.asarray(nest)]


def test_a_body_runs_once(ran):
    tj.function(ten_steps())(X, W)
    assert ran.count("step") == 1
    tj.function(two_kinds())(X, W)
    assert ran.count("layer") == 2  # one for each power


def test_functions_in_functions_run_once(ran):
    tj.function(nested())(X, W)
    assert ran.count("deep") == ran.count("step") == ran.count("layer") == 1


def test_each_trace_runs_it_anew(ran):
    f = tj.function(ten_steps())
    f(X, W)
    f(X[:2], W)
    assert ran.count("step") == 2


def test_other_shapes_dtypes_and_values_are_others(ran):
    @tj.function
    def f(x):
        for v in (x, x, x[1:], tj.cast(x, tj.float32), x, x[1:]):
            y = step(v, 0.5)
        return step(x, 0.5), step(x, 0.25), step(x, -0.0), step(x, 0.0), step(x, 0), y

    f(X)
    assert ran.count("step") == 7


def test_results_of_ten_calls_are_ten_tensors():
    """What a tape watches is one of them."""

    @tj.function
    def f(x):
        first, second = step(x, 0.5), step(x, 0.5)
        with tj.GradientTape() as tape:
            tape.watch(first)
            y = first * 2.0 + second
        return tape.gradient(y, (first, second))

    (slope, none) = f(X)
    assert none is None
    np.testing.assert_array_equal(slope, np.full(4, 2.0))


def calls(inner, times=3, between=lambda: None):
    @tj.function
    def f(x):
        for _ in range(times):
            x = inner(x)
            between()
        return x

    return f(tj.constant(X))


def test_prints_and_lists_happen_each_time(ran, capsys):
    seen = []

    @tj.function
    def prints(x):
        print("tracing")
        return x * 1.5

    @tj.function
    def notes(x):
        seen.append(1)
        return x * 1.5

    calls(prints), calls(notes)
    assert capsys.readouterr().out == "tracing\n" * 3 and len(seen) == 3
    assert ran.count("prints") == ran.count("notes") == 3


def test_names_that_change_between_calls(ran, monkeypatch):
    @tj.function
    def f(x):
        x = step(x, 0.5)
        monkeypatch.setitem(globals(), "SCALE", 3.0)
        return step(x, 0.5)

    @tj.function
    def inner(x):
        return x * factor + FACTORS[0]

    def changes():
        nonlocal factor
        factor += 1.0
        FACTORS[0] += 1.0

    f(X)
    assert ran.count("step") == 2
    factor = 1.0
    FACTORS[0] = 1.0
    np.testing.assert_array_equal(calls(inner, between=changes), ((X * 1 + 1) * 2 + 2) * 3 + 3)


def test_a_function_whose_helper_is_replaced(ran, monkeypatch):
    @tj.function
    def f(x, w):
        x = layer({"x": x, "w": w})["sum"]
        monkeypatch.setitem(globals(), "helper", lambda x, w: x)
        return x, layer({"x": x, "w": w})["sum"]

    x, y = f(X, W)
    np.testing.assert_allclose(y, np.asarray(x) + np.asarray(x) ** 2, rtol=1e-14)
    assert ran.count("layer") == 2


def test_variables_random_numbers_and_attributes_run_each_time(ran):
    total = tj.Variable(1.0, dtype=tj.float64)

    class Layer:
        scale = 2.0

    held = Layer()

    @tj.function
    def reads(x):
        return x * total

    @tj.function
    def assigns(x):
        total.assign_add(1.0)
        return x + total

    @tj.function
    def draws(x):
        return x + tj.random.uniform(x.shape, dtype=x.dtype)

    @tj.function
    def looks(x):
        return x * held.scale

    @tj.function
    def drops(x):
        return tj.nn.dropout(x, 0.5)

    def twice():
        held.scale *= 2.0

    for inner in (reads, assigns, draws, drops):
        calls(inner)
        assert ran.count(inner.__name__) == 3
    assert float(total) == 4.0
    np.testing.assert_array_equal(calls(looks, between=twice), X * 2 * 4 * 8)


def test_gradients_of_their_own_stay(ran):
    @tj.custom_gradient
    def doubled(x):
        return x * 1.0, lambda g: g * 2.0

    @tj.function
    def own(x):
        return doubled(x) * 3.0

    @tj.function
    def stops(x):
        return x + tj.stop_gradient(x * x)

    def slope(inner):
        x = tj.constant(X)
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = tj.function(lambda x: inner(inner(inner(x))))(x)
        return tape.gradient(y, x)

    np.testing.assert_array_equal(slope(own), np.full(4, 216.0))
    np.testing.assert_array_equal(slope(stops), np.ones(4))
    assert ran.count("stops") == 1


def test_parts_that_are_written(ran):
    @tj.function
    def writes(x):
        x[0] = 5.0
        return x * 2.0

    result = calls(writes)
    assert ran.count("writes") == 3
    np.testing.assert_array_equal(result, [10.0, *(X[1:] * 8)])


def test_a_result_is_written_to_alone():
    """Two calls give two arrays, and constants are nobody's."""

    @tj.function
    def makes(x):
        return x * 2.0, tj.zeros(2)

    @tj.function
    def f(x):
        (a, zeros), (b, more) = makes(x), makes(x)
        a[0] = 7.0
        zeros[0] = 1.0
        return a, b, zeros, more, makes(x)[1]

    a, b, zeros, more, again = (np.asarray(y) for y in f(X))
    assert a[0] == 7.0 and b[0] == X[0] * 2.0
    np.testing.assert_array_equal([zeros, more, again], [[1, 0], [0, 0], [0, 0]])


def test_constants_among_the_arguments_are_no_constants_of_the_body():
    @tj.function
    def adds(x, half):
        return x * half + 0.5

    @tj.function
    def f(x):
        x = adds(x, tj.constant(0.5, tj.float64))
        x = adds(x, tj.constant(0.25, tj.float64))
        return adds(x, tj.reduce_sum(x))

    y = (X * 0.5 + 0.5) * 0.25 + 0.5
    np.testing.assert_allclose(f(X), y * np.sum(y) + 0.5, rtol=1e-15)


def test_errors_name_the_line_each_time():
    @tj.function
    def divides(x):
        y = x[0] * 2.0
        return tj.debugging.check_numerics(x / y, "too far")

    def fails(x):
        for _ in range(3):
            x = divides(x)
        return x

    with pytest.raises(Exception, match=r"too far[\s\S]*test_repeated_calls.py"):
        tj.function(fails)(np.zeros(3))


def test_debug_information_says_who_called(ran):
    with tj.settings(debug_info=True):
        tj.function(ten_steps()).graph(X, W)
    assert ran.count("step") == 10
