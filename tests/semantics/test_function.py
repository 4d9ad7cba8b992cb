"""The compiled decorator: signatures, state, structure, what it refuses."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tracejit as tf
from checks.nests import values


def test_with_and_without_parentheses():
    @tf.function
    def f(x):
        return x + 1.0

    @tf.function(autograph=False, jit_compile=True, reduce_retracing=False)
    def g(x):
        return x + 1.0

    assert f(1.0).item() == g(1.0).item() == 2.0
    assert f.__name__ == "f"


def test_one_trace_per_signature():
    traces = []

    @tf.function
    def f(x, flag=False):
        traces.append((x, flag))
        return x * 2

    f(tf.constant(1.0))
    f(tf.constant(2.0))
    assert len(traces) == 1, "same dtype and shape"
    f(np.float32(3.0))
    f(np.array(3.0, "float32"))
    f(x=tf.constant(1.0))
    f(tf.constant(1.0), False)
    f(tf.constant(1.0), flag=False)
    assert len(traces) == 1, "arrays, tensors, keywords and defaults share a trace"
    f(np.ones(3, "float32"))
    f(np.ones(3))
    f(tf.constant(1.0), True)
    assert len(traces) == 4
    assert f.experimental_get_tracing_count() == 4


def test_numpy_scalars_are_arrays():
    f = tf.function(lambda x: x * 2)
    assert [f(np.float64(v)).item() for v in (1.5, 2.5, -0.0)] == [3.0, 5.0, 0.0]
    assert [f(np.int8(v)).item() for v in (1, 100)] == [2, -56]
    assert [f(np.bool_(v)).dtype for v in (True, False)] == [f(np.array(True)).dtype] * 2
    assert f.experimental_get_tracing_count() == 3
    for _ in range(2):
        with pytest.raises(tf.DtypeError):
            f(np.datetime64("2020-01-01"))


def test_arguments_that_are_not_given_keep_their_defaults():
    one, two = np.array(10.0), tf.constant(20.0)

    @tf.function
    def f(x, y=one, *rest, z=two):
        return x + 2 * y + 3 * z + sum(rest)

    for _ in range(3):
        assert f(one).item() == 10 + 20 + 60
        assert f(one, one).item() == 10 + 20 + 60
        assert f(one, two, one, one).item() == 10 + 40 + 60 + 20
        assert f(one, z=one).item() == 10 + 20 + 30
    with pytest.raises(TypeError):
        f()


def test_python_values_are_told_apart_by_type_and_value():
    f = tf.function(lambda x: tf.constant(1.0) * x)
    for x in (1, 2, True, False, "1" == 1):
        for _ in range(2):
            f(x)
    assert f.experimental_get_tracing_count() == 4


def test_python_floats_are_inputs():
    f = tf.function(lambda x: tf.constant(1.0) * x)
    for x in (1.0, 2.0, 0.0, -0.0):
        for _ in range(2):
            assert f(x).item() == x
    assert f.experimental_get_tracing_count() == 1
    signs = tf.function(lambda x: tf.constant(1.0) / x)
    assert signs(0.0).item() == np.inf and signs(-0.0).item() == -np.inf


def test_side_effects_happen_once_per_trace(capsys):
    @tf.function
    def f(x):
        print("tracing")
        return x + 1.0

    for x in (1.0, 2.0, 3.0):
        f(tf.constant(x))
    assert capsys.readouterr().out == "tracing\n"


def test_structures_go_in_and_come_out():
    @tf.function
    def f(batch, scale):
        x, y = batch["x"], batch["y"]
        return {"sum": x + y, "rest": [x * scale, (y, None)], "number": 3}

    out = f({"x": tf.constant(1.0), "y": np.float32(2.0)}, scale=4.0)
    assert values(out) == {"sum": 3.0, "rest": [4.0, [2.0, None]], "number": 3}
    assert list(out) == ["sum", "rest", "number"]
    assert isinstance(out["rest"][1], tuple)


def test_input_signature_with_an_unknown_size():
    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float64)])
    def f(x):
        return tf.reduce_sum(x * x, axis=1)

    for n in (1, 2, 0, 5):
        x = np.arange(3.0 * n).reshape(n, 3)
        np.testing.assert_array_equal(f(x), (x * x).sum(1))
    assert f.experimental_get_tracing_count() == 1
    assert f([[1, 2, 3]]).numpy().tolist() == [14.0]
    with pytest.raises(tf.ShapeError, match=r"float64\[2,2\].*float64\[\?,3\]"):
        f(np.ones((2, 2)))
    with pytest.raises(tf.DtypeError, match="float32"):
        f(tf.constant([[1.0, 2.0, 3.0]]))


def test_input_signature_and_derivatives_at_many_sizes():
    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float64)])
    def f(x):
        return tf.reduce_sum(tf.sin(x) * x)

    first, second = tf.grad(f), tf.grad(lambda x: tf.reduce_sum(tf.grad(f)(x)))
    for n in (0, 1, 2, 1000):
        x = np.random.default_rng(n).normal(size=(n, 3))
        np.testing.assert_allclose(first(x), np.cos(x) * x + np.sin(x), atol=1e-12)
        np.testing.assert_allclose(second(x), 2 * np.cos(x) - x * np.sin(x), atol=1e-12)
    assert f.experimental_get_tracing_count() == 1


def test_a_guard_that_fails_traces_again():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32), tf.TensorSpec([None], tf.float32)])
    def f(x, y):
        return x + y

    assert f([1.0, 2.0], [3.0, 4.0]).shape == (2,)
    assert f([1.0, 2.0, 5.0], [3.0, 4.0, 5.0]).shape == (3,)
    assert f.experimental_get_tracing_count() == 1
    assert f([1.0, 2.0], [3.0]).numpy().tolist() == [4.0, 5.0]
    assert f.experimental_get_tracing_count() == 2
    with pytest.raises(tf.ShapeError):
        f([1.0, 2.0], [3.0, 4.0, 5.0])


def test_reduce_retracing():
    f = tf.function(lambda x: x * 2.0, reduce_retracing=True)
    for n in range(2, 9):
        assert f(np.ones((n, 2))).shape == (n, 2)
    assert f.experimental_get_tracing_count() == 2


def test_variables_are_state():
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        v.assign_add(x)
        before = v * 1.0
        v.assign(v * 2.0)
        return before, v + 0.0

    assert values(f(tf.constant(2.0))) == [3.0, 6.0]
    assert v.numpy() == 6.0
    assert values(f(tf.constant(1.0))) == [7.0, 14.0]
    assert f.experimental_get_tracing_count() == 1


def test_writes_happen_together_or_not_at_all():
    v, w = tf.Variable(1.0), tf.Variable([1.0, 2.0])

    @tf.function
    def f(x, i):
        v.assign(5.0)
        w.assign(tf.gather(w, i) * x)
        return v + 0.0

    with pytest.raises(IndexError, match=r"out of (range|bounds)"):
        f(tf.constant(1.0), np.array([0, 7]))
    assert v.numpy() == 1.0 and w.numpy().tolist() == [1.0, 2.0]


def test_variables_are_created_on_the_first_call_only():
    class Dense:
        def __init__(self):
            self.w = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(tf.ones((x.shape[-1], 2)))
            return x @ self.w

    layer = Dense()
    assert values(layer(tf.ones((1, 3)))) == [[3.0, 3.0]]
    layer.w.assign(2 * layer.w)
    assert values(layer(tf.ones((1, 3)))) == [[6.0, 6.0]]

    @tf.function
    def always(x):
        return tf.Variable(1.0) * x

    with pytest.raises(ValueError, match="first call only"):
        always(tf.constant(1.0))


def test_methods_are_compiled_per_object_and_keep_nothing_alive():
    class Scale:
        def __init__(self, k):
            self.k = k

        @tf.function
        def f(self, x):
            return self.k * x

    two, three = Scale(2.0), Scale(3.0)
    x = tf.constant(1.0)
    assert [two.f(x).item(), three.f(x).item(), Scale(4.0).f(x).item()] == [2.0, 3.0, 4.0]
    assert two.f.experimental_get_tracing_count() == 1
    alive = weakref.ref(two)
    del two
    gc.collect()
    assert alive() is None


def test_functions_inside_functions_and_tapes():
    v = tf.Variable(2.0)

    @tf.function
    def inner(x):
        return x * x * v

    @tf.function
    def outer(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = inner(x)
        return tape.gradient(y, [x, v])

    assert values(outer(tf.constant(3.0))) == [12.0, 9.0]
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as second:
        second.watch(x)
        with tf.GradientTape() as first:
            first.watch(x)
            y = inner(x)
        g = first.gradient(y, [x, v])
    assert values(g) == [12.0, 9.0]
    assert values(second.gradient(g[0], [x, v])) == [4.0, 6.0]


def test_nones_survive_compilation():
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    f = tf.function(lambda x: (x * v, tf.stop_gradient(w) * x))
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        a, b = f(x)
    assert values(tape.gradient([a, b], [v, w, x])) == [1.0, None, None]


def test_captured_tensors_are_inputs_and_arrays_constants():
    t = tf.constant(2.0)
    array = np.array([1.0, 2.0], "float32")
    f = tf.function(lambda x: x * t + array)
    with tf.GradientTape() as tape:
        tape.watch(t)
        y = f(tf.constant(3.0))
    assert values(tape.gradient(y, t)) == 6.0
    array[:] = 100.0
    assert values(f(tf.constant(3.0))) == [7.0, 8.0]


def test_results_do_not_share_memory_with_arguments():
    f = tf.function(lambda x: (x, x[:2]))
    a = np.arange(4.0)
    same, part = f(a)
    a[:] = 9.0
    assert same.numpy().tolist() == [0.0, 1.0, 2.0, 3.0]
    assert part.numpy().tolist() == [0.0, 1.0]


def test_concrete_functions():
    f = tf.function(lambda x, n: x * n)
    concrete = f.get_concrete_function(tf.TensorSpec([2], tf.float32), 3)
    assert concrete(tf.constant([1.0, 2.0])).numpy().tolist() == [3.0, 6.0]
    assert [v.spec for v in concrete.graph.inputs] == [tf.TensorSpec([2], "float32")]
    assert "multiply" in str(f.graph(np.ones(2, "float32"), 3))
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(ValueError, match=r"float32\[2\]"):
        concrete(tf.constant([1.0, 2.0, 3.0]))


def test_looking_inside():
    f = tf.function(lambda x: tf.sin(x) * 2.0)
    x = np.ones(4)
    assert "cos" in str(f.gradient_graph(x))
    assert f.loops(x) and "define" in f.llvm(x)


def test_run_eagerly():
    seen = []

    @tf.function
    def f(x):
        seen.append(float(x))
        return x if x > 0 else -x

    with tf.settings(eager=True):
        assert values([f(1.0), f(-2.0), f(np.float32(-3.0))]) == [1.0, 2.0, 3.0]
    assert seen == [1.0, -2.0, -3.0]
    tf.config.run_functions_eagerly(True)
    try:
        assert f(-4.0).item() == 4.0
    finally:
        tf.config.run_functions_eagerly(False)
    assert f.experimental_get_tracing_count() == 0


def test_leaked_tensors():
    kept = []

    @tf.function
    def f(x):
        kept.append(x * 2.0)
        return x

    f(tf.constant(1.0))
    for use in (lambda: kept[0] + 1.0, lambda: float(kept[0]), lambda: tf.function(lambda: kept[0] + 1.0)()):
        with pytest.raises(tf.LeakedTensor, match=r"traced in 'f' and used after(.|\n)*test_function\.py"):
            use()


def test_the_truth_value_of_a_traced_tensor():
    @tf.function(autograph=False)
    def f(x):
        if x > 0:  # the line to be named
            return x
        return -x

    with pytest.raises(tf.SymbolicValue, match=r"tracejit\.cond(.|\n)*the line to be named"):
        f(tf.constant(1.0))


def test_a_shape_error_names_the_line_in_a_nested_function():
    def helper(a, b):
        return a + b  # the line to be named

    @tf.function
    def f(a, b):
        return helper(a, b) * 2.0

    with pytest.raises(
        ValueError, match=r"float64\[2\].*float64\[3\](.|\n)*test_function\.py(.|\n)*the line to be named"
    ):
        f(np.ones(2), np.ones(3))


def test_what_cannot_be_an_argument():
    f = tf.function(lambda x: tf.constant(1.0))
    with pytest.raises(TypeError, match="set is neither a tensor nor hashable"):
        f({1, 2})
    with pytest.raises(TypeError, match="object"):
        f(np.array([None, 1], dtype=object))
    with pytest.raises(TypeError, match="returns tensors"):
        tf.function(lambda: "text")()
    with pytest.raises(TypeError, match=r"takes 1 positional argument|too many positional"):
        f(1.0, 2.0)


def test_objects_as_arguments_are_known_by_identity_weakly():
    class Model:
        def __init__(self, k):
            self.k = k

    f = tf.function(lambda m, x: m.k * x)
    a, b = Model(2.0), Model(3.0)
    assert [f(a, 1.0).item(), f(b, 1.0).item(), f(a, 1.0).item()] == [2.0, 3.0, 2.0]
    assert f.experimental_get_tracing_count() == 2
    alive = weakref.ref(a)
    del a
    gc.collect()
    assert alive() is None


def test_variables_as_arguments():
    f = tf.function(lambda v, x: v * x)
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    assert [f(v, 1.0).item(), f(w, 1.0).item()] == [2.0, 3.0]
    v.assign(5.0)
    assert f(v, 1.0).item() == 5.0
    assert f.experimental_get_tracing_count() == 2


def test_a_variable_that_is_gone():
    v = tf.Variable(2.0)
    f = tf.function(lambda x, v=v: v * x)
    box = [tf.Variable(2.0)]
    g = tf.function(lambda x: box[0] * x)
    g(1.0)
    box.clear()
    gc.collect()
    with pytest.raises(tf.TracejitError, match="no longer exists"):
        g(1.0)
    assert f(1.0).item() == 2.0


def test_unknown_settings():
    with pytest.raises(AttributeError, match="unknown setting 'bogus'"):
        tf.configure(bogus=1)
    with pytest.raises(ValueError, match="dtype_promotion"), tf.settings(dtype_promotion="bogus"):
        pass
