"""Functions as objects: what is refused when they are made, copies, pickles, threads, failures while tracing."""

import copy
import functools
import gc
import pickle
import sys
import threading
import time
import warnings
import weakref

import numpy as np
import pytest

import tracejit as tf

X = tf.constant(3.0)


@tf.function
def doubled(x):
    return x * 2.0


class Scaled:
    def __init__(self, k):
        self.k = k
        self.inner = doubled

    @tf.function
    def __call__(self, x):
        return x * self.k


def line_of(error):
    return str(error.value).rsplit("\n", 1)[-1].strip()


class TestWhatCannotBeCompiled:
    def test_a_number(self):
        with pytest.raises(TypeError, match="3 is not callable") as error:
            tf.function(3)
        assert line_of(error) == "tf.function(3)"

    def test_a_class(self):
        with pytest.raises(TypeError, match="Thing is a class: decorate its methods"):

            @tf.function
            class Thing:
                pass

    def test_a_generator(self):
        with pytest.raises(TypeError, match="is a generator: return a list"):

            @tf.function
            def f(x):
                yield x

    def test_an_asynchronous_function(self):
        with pytest.raises(TypeError, match="is asynchronous: make it a plain function"):

            @tf.function
            async def f(x):
                return x


class TestWhatCannotBeReturned:
    @pytest.mark.parametrize(
        ("result", "remedy"),
        [
            ("text", "strings are part of the trace"),
            ({1, 2}, "return a list or a tuple"),
            ((i for i in range(3)), "return a list or a tuple"),
            (len, "call the function, and return its result"),
            (object(), "return its tensors"),
        ],
    )
    def test_it_is_named_with_the_function(self, result, remedy):
        def f(x):
            return x, result

        with pytest.raises(TypeError, match=remedy) as error:
            tf.function(f)(X)
        assert type(result).__name__ in str(error.value)
        assert f"{__file__}:{f.__code__.co_firstlineno}" in str(error.value)


class TestArguments:
    def test_a_missing_one_names_the_signature_and_the_line(self):
        @tf.function
        def f(a, b=1.0):
            return a + b

        with pytest.raises(TypeError, match=r"f\(a, b=1.0\): missing a required argument: 'a'") as error:
            f()
        assert line_of(error) == "f()"
        with pytest.raises(TypeError, match="multiple values for argument 'a'"):
            f(X, a=X)
        with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
            f(X, c=X)
        with pytest.raises(TypeError, match="missing a required argument: 'a'; it has no parameter 'c', 'd'"):
            f(c=X, d=X)

    def test_an_unhashable_object_says_how_to_register_its_class(self):
        class Options:
            k = 2.0

            def __eq__(self, other):
                return self.k == other.k

        with pytest.raises(TypeError, match=r"tracejit\.nest\.register_node"):
            tf.function(lambda o, x: x * o.k)(Options(), X)

    def test_a_set_says_to_pass_a_tuple(self):
        with pytest.raises(TypeError, match="a tuple of its items"):
            tf.function(lambda s: 1.0)({1, 2})

    def test_defaults_and_keywords_share_a_trace(self):
        @tf.function
        def f(a, b=2.0, *rest, c=1.0):
            return a * b + c

        results = [f(X), f(X, 2.0), f(X, b=2.0), f(a=X), f(X, 2.0, c=1.0)]
        assert [float(y) for y in results] == [7.0] * 5
        assert f.experimental_get_tracing_count() == 1


class TestRememberedCalls:
    """Calls that were seen before take a short way, which must give each array its own place."""

    def test_keywords_in_any_order(self):
        f = tf.function(lambda a, b=1.0, c=2.0: a * 100.0 + b * 10.0 + c)
        x, y, z = (tf.constant(v) for v in (1.0, 2.0, 3.0))
        for _ in range(2):
            assert float(f(x, c=x, b=x)) == 111.0  # one tensor twice says nothing of their order
            assert float(f(x, c=y, b=z)) == 132.0
            assert float(f(x, b=y, c=z)) == 123.0
            assert float(f(c=y, b=z, a=x)) == 132.0
            assert float(f(x, b=z)) == 132.0
            assert float(f(x, 3.0)) == 132.0
            assert float(f(x, c=5.0)) == 115.0

    def test_flags_and_none(self):
        traced = []

        @tf.function
        def f(x, training=False, mask=None):
            traced.append((training, mask is None))
            return x * 2.0 if training else x if mask is None else x * mask

        for _ in range(3):
            assert float(f(X)) == float(f(X, mask=None)) == 3.0
            assert float(f(X, training=True)) == float(f(X, True)) == 6.0
            assert float(f(X, mask=tf.constant(5.0))) == 15.0
        assert traced == [(False, True), (True, True), (False, False)]

    def test_a_default_that_changes_is_seen(self):
        def f(x, scale=[2.0]):  # noqa: B006
            return x * scale[0]

        g = tf.function(f)
        assert [float(g(X)), float(g(X))] == [6.0, 6.0]
        f.__defaults__[0][0] = 10.0
        assert [float(g(X)), float(g(X))] == [30.0, 30.0]

    def test_default_arrays_keep_their_place(self):
        weights = np.array([1.0, 2.0], np.float32)

        def f(x, w=weights, y=X):
            return x * w + y

        g = tf.function(f)
        for _ in range(2):
            assert g(X).numpy().tolist() == [6.0, 9.0]
            assert g(X, y=X).numpy().tolist() == [6.0, 9.0]
            assert g(X, y=tf.constant(0.0)).numpy().tolist() == [3.0, 6.0]

    def test_keywords_under_a_tape(self):
        f = tf.function(lambda x, n=2.0: x * x * n)
        f(X, n=3.0)
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = f(X, n=3.0)
        assert float(tape.gradient(y, X)) == 18.0


class TestCopies:
    def test_a_copy_is_the_function(self):
        doubled(X)
        assert copy.copy(doubled) is doubled
        assert copy.deepcopy(doubled) is doubled
        assert copy.deepcopy([doubled])[0] is doubled

    def test_an_object_that_holds_a_function_is_copied(self):
        original = Scaled(2.0)
        assert float(original(X)) == 6.0
        other = copy.deepcopy(original)
        other.k = 5.0
        assert float(other(X)) == 15.0
        assert float(original(X)) == 6.0
        assert float(other.inner(X)) == 6.0

    def test_a_function_of_a_method_follows_its_object(self):
        class Holder:
            def __init__(self):
                self.v = tf.Variable(2.0)
                self.f = tf.function(self.body)

            def body(self, x):
                return x * self.v

        original = Holder()
        assert float(original.f(X)) == 6.0
        other = copy.deepcopy(original)
        other.v.assign(10.0)
        assert float(other.f(X)) == 30.0
        assert float(original.f(X)) == 6.0

    def test_pickling_a_function_of_a_module_goes_by_its_name(self):
        doubled(X)
        assert pickle.loads(pickle.dumps(doubled)) is doubled

    def test_pickling_a_method_and_what_holds_functions(self):
        original = Scaled(2.0)
        original(X)
        other = pickle.loads(pickle.dumps(original))
        assert float(other(X)) == 6.0

    def test_what_has_no_name_is_refused_as_python_does(self):
        f = tf.function(lambda x: x)
        f(X)
        with pytest.raises((AttributeError, pickle.PicklingError)):
            pickle.dumps(f)

    def test_options_survive_a_copy(self):
        class Holder:
            def body(self, x):
                return x

        f = tf.function(Holder().body, input_signature=[tf.TensorSpec([None])], reduce_retracing=True)
        other = copy.deepcopy(f)
        assert other is not f
        assert other.input_signature == f.input_signature
        assert other.reduce_retracing


class TestThreads:
    def test_the_first_call_traces_once(self):
        traced = []

        @tf.function
        def f(x):
            traced.append(x)
            time.sleep(0.02)
            return x * 2.0 + 1.0

        results = [None] * 6

        def go(i):
            results[i] = float(f(tf.constant(float(i))))

        in_threads(6, go)
        assert results == [2.0 * i + 1.0 for i in range(6)]
        assert len(traced) == 1

    def test_threads_that_come_at_once_share_the_trace_of_a_method(self):
        class Model:
            traced = 0

            @tf.function
            def f(self, x):
                self.traced += 1
                return x * 2.0

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            for _ in range(5):
                model, together = Model(), threading.Barrier(4)

                def go(i, model=model, together=together):
                    together.wait()
                    assert float(model.f(X)) == 6.0

                in_threads(4, go)
                assert model.traced == 1
        finally:
            sys.setswitchinterval(interval)

    @pytest.mark.parametrize("prints", [False, True])
    def test_no_update_is_lost(self, prints, tmp_path):
        v = tf.Variable(0.0)

        @tf.function
        def count():
            if prints:
                tf.print("", output_stream=f"file://{tmp_path / 'out'}", end="")
            v.assign_add(1.0)

        in_threads(4, lambda i: [count() for _ in range(100)])
        assert float(v) == 400.0

    @pytest.mark.parametrize("change", ["whole", "part", "rows"])
    def test_no_eager_update_is_lost_beside_compiled_ones(self, change):
        v = tf.Variable([0.0, 0.0])
        compiled = tf.function(lambda: v.assign_add([1.0, 1.0]))
        row = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]), (2,))
        eager = {
            "whole": lambda: v.assign_add([1.0, 0.0]),
            "part": lambda: v[0].assign_add(1.0),
            "rows": lambda: v.assign_add(row),
        }[change]
        compiled()
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            in_threads(4, lambda i: [(compiled if i == 0 else eager)() for _ in range(100)])
        finally:
            sys.setswitchinterval(interval)
        assert v.numpy().tolist() == [401.0, 101.0]

    def test_a_long_call_ends_beside_many_short_ones(self):
        v, done = tf.Variable(0.0), threading.Event()

        @tf.function
        def short():
            v.assign_add(1.0)

        @tf.function
        def long(x):
            for _ in tf.range(200_000):
                x = tf.sin(x) + 1.0
            v.assign_add(1000.0)
            return x

        def go(i):
            if i == 0:
                long(X)
                done.set()
                return
            for _ in range(100_000):  # an end, should the other never come to one
                short()
                counts[0] += 1
                if done.is_set():
                    break

        counts = [0]
        short(), long(X)
        v.assign(0.0)
        in_threads(2, go)
        assert done.is_set()
        assert float(v) == 1000.0 + counts[0]

    def test_no_update_is_lost_under_tapes(self):
        v = tf.Variable(0.0)

        @tf.function
        def count(x):
            v.assign_add(1.0)
            return x * x

        def go(i):
            for _ in range(50):
                with tf.GradientTape() as tape:
                    tape.watch(X)
                    y = count(X)
                assert float(tape.gradient(y, X)) == 6.0

        in_threads(4, go)
        assert float(v) == 200.0


def test_what_returns_nothing_runs_under_tapes(capsys):
    @tf.function
    def show(x):
        tf.print(x)

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        show(x)
        y = x * x
    assert float(tape.gradient(y, x)) == 4.0
    assert capsys.readouterr().err == "2\n"


def test_an_argument_given_twice_is_two_in_every_mode():
    def slope(a, b):
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = a * b
        return tape.gradient(y, a)

    x = tf.constant(3.0)
    f = tf.function(slope)
    inlined = tf.function(lambda x: f(x, x))
    with tf.settings(eager=True):
        found = [f(x, x), inlined(x)]
    assert [float(y) for y in (*found, f(x, x), inlined(x))] == [3.0] * 4
    assert float(tf.grad(lambda x: inlined(x))(x)) == 1.0


def in_threads(n, go):
    failures = []

    def guarded(i):
        try:
            go(i)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


class TestFailuresWhileTracing:
    @pytest.mark.parametrize("kind", [KeyError, KeyboardInterrupt, SystemExit])
    def test_the_next_call_traces_again(self, kind):
        failing = [True]

        @tf.function
        def f(x):
            if failing[0]:
                raise kind("stop")
            return x * 2.0

        with pytest.raises(kind):
            f(X)
        failing[0] = False
        assert float(f(X)) == 6.0
        assert float(X + 1.0) == 4.0

    def test_assignments_of_the_failed_trace_are_undone(self):
        v = tf.Variable(1.0)

        @tf.function
        def f():
            v.assign(5.0)
            raise RuntimeError

        with pytest.raises(RuntimeError):
            f()
        assert float(v) == 1.0

    def test_variables_may_be_created_after_a_first_call_that_failed(self):
        failing = [True]

        class Model:
            v = None

            @tf.function
            def __call__(self, x):
                if failing[0]:
                    raise KeyError("no data yet")
                if self.v is None:
                    self.v = tf.Variable(3.0)
                return x * self.v

        model = Model()
        with pytest.raises(KeyError):
            model(X)
        failing[0] = False
        assert float(model(X)) == 9.0

    def test_a_tape_around_a_failed_call_goes_on(self):
        @tf.function
        def f(x):
            raise ValueError("no")

        with tf.GradientTape() as tape:
            tape.watch(X)
            with pytest.raises(ValueError, match="no"):
                f(X)
            y = X * X
        assert float(tape.gradient(y, X)) == 6.0


class TestMemory:
    def test_a_function_and_what_it_uses_are_freed(self):
        class Thing:
            pass

        thing = Thing()

        def uses(thing):
            return tf.function(lambda x: x if thing else -x)

        f = uses(thing)
        f(X)
        kept = weakref.ref(thing), weakref.ref(f)
        del f, thing
        gc.collect()
        assert [ref() for ref in kept] == [None, None]

    def test_an_object_with_compiled_methods_is_freed(self):
        model = Scaled(2.0)
        model(X)
        kept = weakref.ref(model)
        del model
        gc.collect()
        assert kept() is None


class TestLooks:
    def test_the_repr_says_parameters_and_traces(self):
        @tf.function
        def f(x, n=2):
            return x * n

        assert repr(f).endswith("f(x, n=2), 0 traces>")
        f(X)
        assert repr(f).endswith("f(x, n=2), 1 trace>")

    def test_the_repr_of_a_method_names_its_object(self):
        model = Scaled(2.0)
        assert "Scaled.__call__(x), 0 traces of <" in repr(model.__call__)

    def test_functions_without_a_python_signature(self):
        assert float(tf.function(max)(3, 4)) == 4.0
        assert float(tf.function(functools.partial(pow, 2.0))(3.0)) == 8.0


def test_results_of_a_function_keep_numpy_dtypes():
    f = tf.function(lambda x: x * 2)
    given = [np.array([1.0]), np.float64(3), np.int8(3), np.arange(3)]
    assert [f(x).dtype for x in given] == ["float64", "float64", "int8", "int64"]


class TestFormatting:
    def test_a_traced_tensor_has_no_digits(self):
        f = tf.function(lambda x: print(f"{x:.3f}"))
        with pytest.raises(
            TypeError, match=r"float32\[\] has no value to format by '.3f'.*tracejit.print"
        ) as error:
            f(X)
        assert line_of(error).startswith("f = tf.function")

    def test_nor_by_percent(self):
        with pytest.raises(TypeError, match="has no value while"):
            tf.function(lambda x: print("%.3f" % x))(X)

    def test_without_digits_it_says_what_it_is(self, capsys):
        tf.function(lambda x: print(f"{x} {x!s}"))(X)
        assert capsys.readouterr().out.count("shape=(), dtype=float32") == 2

    def test_outside_it_is_the_number(self):
        assert f"{tf.function(lambda x: x)(X):.3f}" == "3.000"

    def test_a_leaked_one_says_so(self):
        leaked = []
        tf.function(lambda x: leaked.append(x))(X)
        with pytest.raises(tf.errors.LeakedTensor, match="return it from the function"):
            f"{leaked[0]:.2f}"


def test_a_changed_list_or_dict_among_the_arguments_is_told():
    @tf.function
    def f(values, known):
        known["sum"] = values[0] + values[1]
        return known["sum"]

    @tf.function
    def g(pair):
        pair[1].append(pair[0])
        return pair[1][-1] * 2.0

    @tf.function
    def copying(values):
        values = [*values]
        values.append(values[0])
        return values[-1]

    one = tf.constant(1.0)
    with pytest.warns(UserWarning, match="f changes a dict among its arguments") as told:
        assert f([one, one], {}) == 2.0
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="g changes a list"):
        assert g((one, [])) == 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert copying([one]) == 1.0


def test_a_function_of_an_op_takes_what_the_op_takes():
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    calls = (
        (tf.matmul, (x, x), {"transpose_a": True}),
        (tf.matmul, (x,), {"b": x, "transpose_b": True}),
        (tf.reshape, (x, (3, -1)), {}),
        (tf.concat, ([x, x], 1), {}),
        (tf.transpose, (x, [1, 0]), {}),
        (tf.cast, (x, tf.int32), {}),
    )
    for op, args, kwargs in calls:
        compiled = tf.function(op)
        assert compiled(*args, **kwargs).numpy().tolist() == op(*args, **kwargs).numpy().tolist(), op
    with pytest.raises(TypeError, match="transposed_a"):
        tf.function(tf.matmul)(x, x, transposed_a=True)
