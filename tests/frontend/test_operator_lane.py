"""Operators of eager tensors as machine code give what those in Python give, and keep nothing."""

from __future__ import annotations

import operator
import subprocess
import sys
import threading

import numpy as np
import pytest

import tracejit as tf
from checks.guarded import WAYS, Vectors
from checks.memory import collect, grown_by
from checks.operators import in_python, lane, needs_lane  # noqa: F401  lane is a fixture
from checks.ways import outcome, random_array
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.dispatch import recording, state
from tracejit.runtime.lane.operator_words import LARGEST

pytestmark = needs_lane

OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
NUMBERS = [
    0,
    1,
    2,
    -3,
    2**24,
    2**24 + 1,
    -(2**40) - 1,
    2**70,
    10**400,
    0.0,
    -0.0,
    2.0,
    0.1,
    -1.5,
    1e300,
    3.5e38,
]
NUMBERS += [
    1e-50,
    float("nan"),
    float("inf"),
    -float("inf"),
    True,
    1j,
    None,
    "a",
    np.float32(0.1),
    np.float64(0.1),
]


def comparable(result):
    """A result in which all NaNs are the same."""
    kind, value = result
    if not isinstance(value, list):
        return result
    for dtype, shape, data, _ in value:
        if dtype.kind == "f":
            array = np.frombuffer(data, dtype).copy()
            array[np.isnan(array)] = np.nan
            value = [(dtype, shape, array.tobytes())]
    return kind, value


def same(f):
    assert comparable(outcome(f, True)) == comparable(outcome(f, False))


def layout(rng, x):
    """The tensor in some layout: as it is, transposed, every other element, read-only memory of others."""
    kind = rng.integers(4)
    if kind == 1:
        return tf.transpose(x)
    if kind == 2:
        return x[..., ::2] if x.shape else x
    return x


def is_code():
    return not hasattr(tf.Tensor.__mul__, "__code__")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(6))
def test_equal_to_python(seed):
    assert is_code()
    rng = np.random.default_rng(seed)
    for _ in range(150):
        shape = tuple(int(d) for d in rng.integers(0, 4, size=rng.integers(0, 4)))
        dtype = ["float64", "float64", "float32", "float32", "float16", "int32", "complex128", "bool"][
            rng.integers(8)
        ]
        x = layout(rng, tf.constant(random_array(rng, shape, dtype)))
        kind = rng.integers(8)
        if kind < 3:
            other = NUMBERS[rng.integers(len(NUMBERS))]
        elif kind == 3:
            other = x
        else:
            shape = [x.shape, x.shape[1:], (), (1,), (2, 1)][rng.integers(5)]
            dtype = dtype if rng.random() < 0.8 else "float32"
            other = random_array(rng, shape, dtype)
            other = layout(rng, tf.constant(other)) if kind < 7 else other
        for op in OPERATORS:
            same(lambda op=op, x=x, other=other: op(x, other))
            same(lambda op=op, x=x, other=other: op(other, x))


@pytest.mark.parametrize("n", [7, 8, 9, 23, LARGEST - 1, LARGEST, LARGEST + 1])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sizes_around_those_of_vectors_and_the_largest(n, dtype):
    x = tf.constant(np.linspace(-2, 2, n).astype(dtype))
    rows = tf.stack([x * 3.0, x - 1.0, tf.square(x)])
    for op in OPERATORS[:4]:
        same(lambda op=op: op(x, x))
        same(lambda op=op: op(x, 0.3))
        same(lambda op=op: op(0.3, x))
        same(lambda op=op: op(rows, x))
        same(lambda op=op: op(x, rows))


def test_a_result_is_a_tensor_like_any_other():
    x, serial = tf.constant([1.0, 2.0]), tf.constant(0.0).serial
    y = x * x
    assert type(y) is tf.Tensor and y.serial > serial and y.shape == (2,) and y.spec is x.spec
    assert y.dtype is x.dtype and (y + y).serial > y.serial
    assert y.numpy().flags.writeable is False


class Loud:
    """A recorder that keeps what it hears."""

    def __init__(self):
        self.records = []

    def record(self, record):
        self.records.append(record)


def heard(f):
    loud = Loud()
    with recording(loud):
        result = f()
    return result, loud.records


@pytest.mark.parametrize(
    "f", [lambda x, y: x - y, lambda x, y: y / x, lambda x, y: x**2, lambda x, y: 2.0 - x, lambda x, y: x * x]
)
def test_recorders_hear_the_same(f):
    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 5.0])
    (result, (record,)), (_, (expected,)) = heard(lambda: f(x, y)), in_python(lambda: heard(lambda: f(x, y)))
    assert record.op is expected.op and record.attrs == expected.attrs == {}
    for a, b in zip(record.inputs, expected.inputs, strict=True):
        assert a is b or (a.dtype is b.dtype and float(a) == float(b))
    assert record.outputs[0] is result and str(record.location) == str(expected.location)


def test_gradients_of_any_order():
    x = tf.constant([1.0, -2.0, 0.5])

    def f(x):
        return tf.reduce_sum((x * x - 2.0 / x + x**2 * 3.0) / (x + 4.0))

    def derivatives():
        return [
            tf.grad(f)(x),
            tf.grad(lambda x: tf.reduce_sum(tf.grad(f)(x) ** 2))(x),
            tf.function(tf.grad(f))(x),
        ]

    for a, b in zip(derivatives(), in_python(derivatives), strict=True):
        np.testing.assert_array_equal(a, b)


def test_traces_settings_and_errors_go_the_python_way():
    x = tf.constant([1.0, 2.0])
    np.testing.assert_array_equal(tf.function(lambda y: x * y * 2.0)(x), [2.0, 8.0])
    with tf.settings(check=True):
        np.testing.assert_array_equal(x * 2.0, [2.0, 4.0])
    with pytest.raises(tf.ShapeError, match=r"test_operator_lane\.py"):
        x * tf.constant([1.0, 2.0, 3.0])
    with pytest.raises(TypeError):
        x * "a"
    with pytest.raises(TypeError):
        tf.Tensor.__mul__(1.0, x)
    with pytest.raises(TypeError):
        pow(x, 2, 3)
    leaked = []
    tf.function(lambda x: leaked.append(x) or x)(x)
    with pytest.raises(tf.LeakedTensor):
        leaked[0] * leaked[0]


def test_threads_have_modes_of_their_own():
    x, results = tf.constant([1.0, 2.0]), {}

    def work(i):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            for _ in range(200):
                y = y * 1.0 + x * float(i)
        results[i] = np.asarray(tape.gradient(y, x))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for _ in range(2000):
        x * x
    for t in threads:
        t.join()
    assert state.recorders == ()
    for i in range(8):
        np.testing.assert_allclose(results[i], 2 * np.asarray(x) + 200 * i)


def test_nothing_is_kept():
    x, y = tf.constant([1.0, 2.0]), tf.constant(3.0)
    watched = [
        x,
        y,
        x._payload,
        y._payload,
        tf.Tensor,
        None,
        state,
        (),
        np.dtype(np.float32),
        1.5,
        np.ndarray,
    ]

    def work(n):
        for _ in range(n):
            x * y
            2.5 - x
            x**2
            x + x
            try:
                x * "a"
            except TypeError:
                pass

    def taped(n):
        for _ in range(n):
            with tf.GradientTape() as tape:
                tape.watch(x)
                z = x * y + x**2
            tape.gradient(z, x)

    work(100)
    taped(100)
    collect()
    before = [sys.getrefcount(w) for w in watched]
    grown = grown_by(lambda: (work(3000), taped(300)))
    assert max(abs(sys.getrefcount(w) - b) for w, b in zip(watched, before, strict=True)) < 40
    assert grown < 20_000


def test_operators_called_often_become_machine_code_by_themselves():
    program = (
        "import tracejit as tf\n"
        "from tracejit.ops.tensor import operators\n"
        "x = tf.constant([1.0, 2.0])\n"
        "y = x\n"
        "for _ in range(operators.OFTEN + 10): y = y * 1.0\n"
        "assert not hasattr(tf.Tensor.__mul__, '__code__'), tf.Tensor.__mul__\n"
        "assert (y * y).numpy().tolist() == [1.0, 4.0]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def test_where_the_compiler_is_loaded_and_the_code_was_made_before_it_is_taken_sooner(cache_dir):
    program = (
        "import sys, tracejit as tf\n"
        "from tracejit.ops.tensor import operators\n"
        "if sys.argv[1] == 'compiler': import tracejit.compiler.cache\n"
        "x = tf.constant([1.0, 2.0])\n"
        "for _ in range(operators.SOON + 10): y = x**2\n"
        "print(hasattr(tf.Tensor.__pow__, '__code__'))\n"
        "if sys.argv[2] == 'make':\n"
        "    from tracejit.frontend.tape import operator_lane\n"
        "    operator_lane.use(tf.GradientTape)\n"
    )

    def taken_at_once(*how):
        ran = subprocess.run(
            [sys.executable, "-c", program, *how], check=True, timeout=300, capture_output=True, text=True
        )
        return ran.stdout.split() == ["True"]

    assert taken_at_once("compiler", "make")
    assert taken_at_once("none", "no")
    assert not taken_at_once("compiler", "no")


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_operators_read_nothing_beside_their_operands(dtype, step):
    """Memory beside them ends the process when it is touched: the tails of vectors of every length are tried."""
    for n in (*range(1, 20), 31, 33, 63, 65):
        x, y = (np.linspace(a, a + 1.0, n, dtype=dtype) for a in (0.5, 1.5))
        for way in WAYS:
            with Vectors() as vectors:
                a, b = Tensor(vectors.holding(x, step, way)), Tensor(vectors.holding(y, 1, way))
                for operate in OPERATORS[:4]:
                    np.testing.assert_array_equal(operate(a, b), operate(x, y))
                    with tf.GradientTape() as tape:
                        tape.watch([a, b])
                        made = operate(a, b) ** 2
                    assert all(g.shape == (n,) for g in tape.gradient(made, [a, b]))
                del a, b, made, tape
