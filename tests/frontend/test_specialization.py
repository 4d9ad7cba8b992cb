"""Traces that users hold: how they are listed, printed, and called."""

from collections import namedtuple

import numpy as np
import pytest

import tracejit as tf

Pair = namedtuple("Pair", "first second")
X = tf.constant(3.0)


def value(x):
    return np.asarray(x).tolist()


class TestListing:
    def test_traces_in_the_order_they_were_made(self):
        f = tf.function(lambda x, n: x * n)
        f(X, 2)
        f(tf.constant([1.0]), 3)
        f(X, 2)
        assert [t.outline() for t in f.traces()] == [
            "(x: float32[], n: 2) -> float32[]",
            "(x: float32[1], n: 3) -> float32[1]",
        ]

    def test_a_method_lists_the_traces_of_its_object(self):
        class Model:
            @tf.function
            def f(self, x):
                return x

        a, b = Model(), Model()
        a.f(X)
        assert len(a.f.traces()) == 1
        assert b.f.traces() == []

    def test_pretty_printed(self):
        v = tf.Variable(2.0, name="v")

        @tf.function
        def double(a, k=2):
            return {"y": [a * k * v]}, None

        double(tf.constant(1))
        double(tf.ones([2, 3]), k=3.5)
        assert double.pretty_printed_concrete_signatures().splitlines() == [
            "Input Parameters:",
            "  a (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(), dtype=tf.int32, name=None)",
            "  k (POSITIONAL_OR_KEYWORD): Literal[2]",
            "Output Type:",
            "  Tuple[Dict[['y', List[TensorSpec(shape=(), dtype=tf.float64, name=None)]]], Literal[None]]",
            "Captures:",
            "  v:0: TensorSpec(shape=(), dtype=tf.float32, name=None)",
            "",
            "Input Parameters:",
            "  a (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(2, 3), dtype=tf.float32, name=None)",
            "  k (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(), dtype=tf.float64, name=None)",
            "Output Type:",
            "  Tuple[Dict[['y', List[TensorSpec(shape=(2, 3), dtype=tf.float32, name=None)]]], Literal[None]]",
            "Captures:",
            "  v:0: TensorSpec(shape=(), dtype=tf.float32, name=None)",
        ]

    def test_one_trace_as_text(self):
        f = tf.function(lambda x: x + 1.0).get_concrete_function(tf.TensorSpec([None, 3]))
        assert str(f).startswith(
            "ConcreteFunction Input Parameters:\n  x (POSITIONAL_OR_KEYWORD): TensorSpec("
        )
        assert repr(f) == "<ConcreteFunction <lambda>(x: float32[?,3]) -> float32[?,3]>"
        assert "Captures:\n  None" in str(f)


class TestOpenSizes:
    """Where no call says what a size is that a TensorSpec leaves open, it is one that the program's ops take."""

    @pytest.mark.parametrize(
        ("f", "shape", "guard"),
        [
            (lambda x: x @ tf.ones([784, 2]), [None, None], ("==", "n1", "784")),
            (lambda x: x - tf.range(9.0), [None, None], ("==", "n1", "9")),
            (lambda x: tf.concat([x, x], 1) * tf.ones([1, 30]), [None, None], ("==", "2*n1", "30")),
            (lambda x: tf.linalg.det(x) + tf.ones([4]), [None, 5, None], ("==", "n1", "5")),
            (lambda x: tf.reshape(x, [-1, 49]), [None] * 3, ("==", "49*floordiv(n0*n1*n2, 49)", "n0*n1*n2")),
        ],
    )
    def test_it_is_found(self, f, shape, guard):
        made = tf.function(f).get_concrete_function(tf.TensorSpec(shape))
        assert guard in [tuple(map(str, g)) for g in made.graph.guards]

    def test_what_no_size_fits_is_refused_and_leaves_nothing(self):
        log, total = [], tf.Variable(0.0)

        @tf.function
        def f(x):
            log.append(x.shape)
            total.assign_add(1.0)
            return x @ tf.ones([7, 2]) + x @ tf.ones([8, 2])

        with pytest.raises(tf.ShapeError, match="n1 and 8"):
            f.get_concrete_function(tf.TensorSpec([None, None]))
        assert log == [] and total.numpy() == 0.0


class TestStructure:
    def test_inputs_and_outputs(self):
        @tf.function
        def f(pair, d, *rest, k=3.0, **more):
            return Pair(pair.first, [d["a"], 1])

        spec = tf.TensorSpec([None, 3])
        made = f.get_concrete_function(Pair(X, 2.0), {"a": spec}, X, q=tf.constant([1]))
        scalar = tf.TensorSpec([])
        assert made.structured_input_signature == (
            (Pair(scalar, 2.0), {"a": spec}, scalar),
            {"k": 3.0, "q": tf.TensorSpec([1], tf.int32)},
        )
        assert made.structured_outputs == Pair(scalar, [spec, tf.TensorSpec([], tf.int32)])
        assert made.outputs == [scalar, spec, tf.TensorSpec([], tf.int32)]
        assert made.inputs[0] == scalar
        assert made.output_shapes == Pair((), [(None, 3), ()])
        assert made.output_dtypes == Pair(tf.float32, [tf.float32, tf.int32])

    def test_variables_and_captures(self):
        v, w = tf.Variable(2.0), tf.Variable(1.0, trainable=False)
        outside = tf.constant([5.0])
        made = tf.function(lambda x: x * v + w + outside).get_concrete_function(X)
        assert {id(x) for x in made.variables()} == {id(v), id(w)}
        assert [x is v for x in made.trainable_variables] == [True]
        assert made.captured_inputs[0] is outside


class TestCalls:
    @pytest.fixture
    def power(self):
        @tf.function
        def power(a, b=3):
            return a**b

        return power.get_concrete_function(tf.constant(1.0), b=2)

    def test_arrays_alone_by_name_or_with_their_values(self, power):
        calls = [power(X), power(a=X), power(X, 2), power(X, b=2), power(3.0)]
        assert value(calls) == [9.0] * 5

    def test_another_value_is_refused(self, power):
        with pytest.raises(TypeError, match=r"power\(a: float32\[\], b: 2\).* traced with 2 for 'b'.* got 3"):
            power(X, b=3)

    def test_wrong_calls(self, power):
        with pytest.raises(TypeError, match="the argument 'a' is missing"):
            power()
        with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
            power(X, c=1)
        with pytest.raises(TypeError, match="too many positional"):
            power(X, 2, 3)
        with pytest.raises(TypeError, match="traced without 'kw'"):
            tf.function(lambda x, **kw: x).get_concrete_function(X)(X, q=X)

    @pytest.mark.parametrize("kind", [TypeError, ValueError])
    def test_another_dtype_or_shape_is_refused(self, power, kind):
        with pytest.raises(kind, match=r"traced for float32\[\], got int32\[\]"):
            power(tf.constant(1))
        with pytest.raises(kind, match=r"got float32\[1\]"):
            power(tf.constant([1.0]))

    def test_nests_and_flat_arrays(self):
        made = tf.function(lambda l, d: l[0] * l[1] + d["a"]).get_concrete_function([X, 2.0], {"a": X})
        assert value(made([X, 2.0], {"a": X})) == value(made(X, X)) == 9.0
        with pytest.raises(TypeError, match=r"'l' is \[\*\], not \[\*, \*\]"):
            made([X], {"a": X})
        with pytest.raises(TypeError, match=r"traced with 2.0 for 'l'"):
            made([X, 4.0], {"a": X})

    def test_a_method(self):
        class Model:
            k = 2.0

            @tf.function
            def f(self, x, n=1):
                return x * self.k * n

        made = Model().f
        assert value(made.get_concrete_function(X, n=4)(x=X)) == 24.0

    def test_gradients(self, power):
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = power(a=X)
        assert value(tape.gradient(y, X)) == 6.0


class TestSignatures:
    def test_sizes_that_are_returned_are_tensors(self):
        f = tf.function(lambda x: (x.shape, x.shape[0] * 2), input_signature=[tf.TensorSpec([None, 3])])
        for n in (2, 5, 0):
            (rows, columns), twice = f(tf.ones([n, 3]))
            assert value([rows, columns, twice]) == [n, 3, 2 * n]
            assert rows.dtype == columns.dtype == twice.dtype == tf.int32
        assert f.experimental_get_tracing_count() == 1

    def test_unknown_rank_traces_once_per_rank(self):
        ranks = []

        @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
        def f(x):
            ranks.append(len(x.shape))
            return x * 2.0

        for x in (1.0, [1.0], [2.0, 3.0], [[1.0], [2.0]], 5.0):
            assert value(f(x)) == value(2.0 * np.array(x))
        assert ranks == [0, 1, 2]

    def test_a_concrete_function_of_unknown_rank(self):
        @tf.function
        def power(a, b):
            return a**b

        square = power.get_concrete_function(a=tf.TensorSpec(None, tf.float32), b=2)
        assert value([square(X), square(X, 2), square(a=X, b=2)]) == [9.0] * 3
        assert value(square(tf.constant([[1.0, 2.0]]))) == [[1.0, 4.0]]
        assert power.experimental_get_tracing_count() == 2
        with pytest.raises(TypeError, match="traced with 2 for 'b'"):
            square(X, b=3)
        with pytest.raises(TypeError, match="missing"):
            square()
        with pytest.raises(TypeError, match=r"float32.*got int32"):
            square(tf.constant(1))

    @pytest.mark.parametrize("kind", [TypeError, ValueError])
    def test_what_does_not_fit(self, kind):
        f = tf.function(lambda x: x, input_signature=[tf.TensorSpec([None], tf.int32)])
        with pytest.raises(
            kind, match=r"'x' is int32\[2,2\] and does not fit the input_signature int32\[\?\]"
        ):
            f(tf.constant([[1, 2], [3, 4]]))
        with pytest.raises(kind, match=r"cast\(x, tracejit.int32\)"):
            f(tf.constant([1.0]))
        with pytest.raises(kind, match="None where the input_signature says"):
            f(None)

    def test_arguments_that_the_signature_leaves_out(self):
        @tf.function(input_signature=[tf.TensorSpec([None])])
        def f(x, training=False, *, k=2.0):
            return x * k if not training else x

        assert value(f([1.0])) == value(f([1.0], False)) == value(f([1.0], training=False)) == [2.0]
        with pytest.raises(TypeError, match=r"says nothing of 'training'.*got True"):
            f([1.0], training=True)
        with pytest.raises(TypeError, match="says nothing of 'k'"):
            f([1.0], k=5.0)

    def test_defaults_that_it_covers(self):
        f = tf.function(lambda x, y=2.0: x * y, input_signature=[tf.TensorSpec([None]), tf.TensorSpec([])])
        assert value(f([1.0])) == [2.0]
        assert value(f([1.0], y=3.0)) == [3.0]
        assert f.experimental_get_tracing_count() == 1

    def test_wrong_signatures(self):
        with pytest.raises(TypeError, match=r"not TensorSpec: write \[float32\[\?\]\]"):
            tf.function(lambda x: x, input_signature=tf.TensorSpec([None]))
        with pytest.raises(TypeError, match="consists of TensorSpecs"):
            tf.function(lambda x: x, input_signature=[tf.float32])
        with pytest.raises(TypeError, match=r"has 2 entries, .* takes 1 by position"):
            tf.function(lambda x: x, input_signature=[tf.TensorSpec([])] * 2)(1.0)

    def test_specs_have_names_that_mean_nothing(self):
        assert tf.TensorSpec(shape=[None], dtype=tf.float32, name="x") is tf.TensorSpec([None])

    def test_compatible_specs(self):
        spec = tf.TensorSpec([None, 2])
        assert spec.is_compatible_with(tf.ones([3, 2]))
        assert not spec.is_compatible_with(tf.ones([3, 3]))
        assert not spec.is_compatible_with(tf.ones([3, 2], tf.float64))
        assert tf.TensorSpec(None).is_compatible_with(tf.ones([3, 2]))
        assert tf.TensorSpec(None).is_compatible_with(tf.TensorSpec(None))
        assert spec.is_compatible_with(tf.TensorSpec(None, spec.dtype))
        assert tf.TensorSpec.from_tensor(tf.ones([2])) == tf.TensorSpec([2])


class TestInOtherTraces:
    """A concrete function of unknown sizes in a function whose sizes have names of their own."""

    ANY = tf.TensorSpec([None])

    def test_sizes_have_other_names_there(self):
        scaled = tf.function(lambda x: tf.reduce_sum(x) * tf.cast(tf.shape(x)[0], tf.float32))
        twice = tf.function(lambda x: x * 2.0)
        inner, same = scaled.get_concrete_function(self.ANY), twice.get_concrete_function(self.ANY)
        f = tf.function(lambda a, b: (inner(b), same(b), same(a)), input_signature=[self.ANY, self.ANY])
        for a, b in (([1.0, 2.0, 3.0], [5.0]), ([1.0], [2.0, 4.0])):
            found = [y.numpy().tolist() for y in f(a, b)]
            assert found == [sum(b) * len(b), [2 * x for x in b], [2 * x for x in a]]
        assert f.experimental_get_tracing_count() == 1

    def test_static_sizes_there(self):
        inner = tf.function(lambda x: x * 2.0).get_concrete_function(self.ANY)
        f = tf.function(lambda x: inner(x) + inner(x * 3.0))
        assert value(f(tf.constant([1.0, 2.0]))) == [8.0, 16.0]

    def test_assignments_happen_in_order(self):
        v = tf.Variable(1.0)

        @tf.function
        def add(x):
            v.assign_add(x)
            return v * 10.0

        inner = add.get_concrete_function(tf.TensorSpec([]))

        @tf.function
        def f(x):
            before = inner(x)
            v.assign(v * 2.0)
            return before, inner(x)

        assert value(f(tf.constant(2.0))) == [30.0, 80.0]
        assert value(v) == 8.0

    def test_its_assumptions_become_those_of_the_other(self):
        inner = tf.function(lambda x, y: x - y).get_concrete_function(self.ANY, self.ANY)
        f = tf.function(lambda a, b: inner(a, b), input_signature=[self.ANY, self.ANY])
        assert value(f([5.0, 6.0], [1.0, 1.0])) == [4.0, 5.0]
        assert value(f([5.0], [1.0])) == [4.0]
        assert f.experimental_get_tracing_count() == 1
        with pytest.raises(ValueError, match="traced for other sizes"):
            f([5.0, 6.0], [1.0])

    def test_derivatives_through_both(self):
        inner = tf.function(lambda x: x * x * x).get_concrete_function(self.ANY)
        f = tf.function(lambda x: tf.reduce_sum(inner(x)), input_signature=[self.ANY])
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            g = tape.gradient(y, x)
        assert value(g) == [3.0, 12.0]
        assert value(outer.gradient(g, x)) == [6.0, 12.0]


class TestSizesLeftOpen:
    def test_specs_alone_where_sizes_must_agree(self):
        f = tf.function(lambda x, y: x - y, input_signature=[tf.TensorSpec([None])] * 2)
        made = f.get_concrete_function()
        assert value(made(tf.constant([5.0]), tf.constant([1.0]))) == [4.0]
        assert value(f([5.0, 6.0], [1.0, 2.0])) == [4.0, 4.0]
        assert f.get_concrete_function() is made
        assert f.experimental_get_tracing_count() == 1

    def test_a_trace_made_by_a_call_serves_specs_too(self):
        f = tf.function(lambda x, y: x - y, input_signature=[tf.TensorSpec([None])] * 2)
        f([1.0, 2.0], [3.0, 4.0])
        assert f.get_concrete_function() is f.traces()[0]

    def test_a_decision_by_a_size_is_a_guard(self):
        f = tf.function(lambda x: x * 2.0 if x.shape[0] > 3 else -x)
        made = f.get_concrete_function(tf.TensorSpec([None]))
        assert value(made(tf.ones([4]))) == [2.0] * 4
        with pytest.raises(ValueError, match="traced for other sizes"):
            made(tf.ones([2]))


def test_a_trace_as_programs_for_other_libraries_look_at_it():
    v = tf.Variable(2.0)
    made = tf.function(lambda a, k=2: tf.sin(a) * v + k).get_concrete_function(tf.TensorSpec([None]))
    spec = "TensorSpec(shape=(None,), dtype=tf.float32, name=None)"
    assert str(made.function_type) == f"(a: {spec}, k: Literal[2]) -> {spec}"
    assert made.inference_fn(tf.zeros([1])).numpy().tolist() == [2.0]
    listed = made.graph.as_graph_def()
    assert [(n.name, n.op, n.input) for n in listed.node][:3] == [
        ("input", "Placeholder", []),
        ("input_1", "Placeholder", []),
        ("sin", "sin", ["input"]),
    ]
    assert listed.node[-1].op == "add" and str(listed) == str(made.graph)
    assert isinstance(made, tf.types.experimental.ConcreteFunction)


class Kind(tf.types.experimental.TraceType):
    """Arguments of one class share a trace."""

    def __init__(self, x):
        self.x = x

    def is_subtype_of(self, other):
        return self == other

    def most_specific_common_supertype(self, others):
        return self if all(self == other for other in others) else None

    def placeholder_value(self, placeholder_context=None):
        return self.x

    def __eq__(self, other):
        return isinstance(other, Kind) and type(self.x) is type(other.x)

    def __hash__(self):
        return hash(type(self.x))


def test_objects_say_which_of_them_one_trace_serves():
    class Fruit:
        def __tf_tracing_type__(self, context):
            return Kind(self)

    class Apple(Fruit):
        weight = 2.0

    class Mango(Fruit):
        weight = 3.0

    f = tf.function(lambda fruits, x: x * fruits[0].weight)
    assert isinstance(Apple(), tf.types.experimental.SupportsTracingProtocol)
    found = [float(f([kind()], tf.constant(x))) for x in (1.0, 2.0) for kind in (Apple, Mango)]
    assert found == [2.0, 3.0, 4.0, 6.0] and f.experimental_get_tracing_count() == 2
