"""bfloat16: a dtype that is stored in two bytes and computed in float32, rounded once by every op, in both modes."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tf
from tracejit.core.op import ops

ml_dtypes = pytest.importorskip("ml_dtypes")
SHORT = np.dtype(ml_dtypes.bfloat16)
ALL = np.arange(1 << 16, dtype=np.uint16).view(SHORT)


def bits(x):
    """What two results have in common that are the same: all bits, but those of NaN."""
    array = np.array(x)
    with np.errstate(invalid="ignore"):
        nan = np.isnan(array.astype(np.complex128))
    if nan.any():
        array[nan] = np.nan
    return array.dtype, array.shape, array.tobytes()


def both(f, *args):
    """The results of a function, as they come and compiled, which are the same bit for bit."""
    eager, compiled = f(*args), tf.function(f)(*args)
    assert list(map(bits, tf.nest.flatten(eager))) == list(map(bits, tf.nest.flatten(compiled)))
    return eager


def test_every_number_is_itself_in_float32_and_back():
    x = tf.constant(ALL)
    wide, back = both(lambda x: (tf.cast(x, tf.float32), tf.cast(tf.cast(x, tf.float32), tf.bfloat16)), x)
    assert bits(wide) == bits(ALL.astype(np.float32)) and bits(back) == bits(ALL)


def test_float32_is_rounded_to_the_nearest_and_of_two_to_the_even_one():
    words = np.random.default_rng(0).integers(0, 1 << 32, 1 << 16, dtype=np.uint32)
    halfway = (np.arange(1 << 16, dtype=np.uint32) << 16) + 0x8000
    floats = np.concatenate([words, halfway, halfway - 1, halfway + 1]).view(np.float32)
    with np.errstate(invalid="ignore"):
        assert bits(both(lambda x: tf.cast(x, tf.bfloat16), tf.constant(floats))) == bits(
            floats.astype(SHORT)
        )
        # NaN stays a quiet NaN of its sign
        assert ops.bfloat16_bits(floats).numpy().tobytes() == floats.astype(SHORT).tobytes()
    for dtype in ("float64", "int64", "uint8", "bool", "complex64", "float16"):
        numbers = np.random.default_rng(1).uniform(0, 200, 99).astype(dtype)
        there = both(lambda x: tf.cast(x, tf.bfloat16), tf.constant(numbers))
        real = numbers.real.astype(np.float32).astype(SHORT)
        assert bits(there) == bits(real)
        expected = real.astype(np.float32).astype(dtype)
        assert bits(both(lambda x, to=dtype: tf.cast(x, to), there)) == bits(expected)


UNARY = "abs exp tanh sqrt sigmoid relu square floor sign log softplus round negative".split()
BINARY = "add subtract multiply divide maximum minimum".split()
MOVES = (
    lambda x: tf.transpose(x)[::-1],
    lambda x: tf.concat([x[1:], x[:1]], 0),
    lambda x: tf.gather(x, [2, 0, 1]),
    lambda x: tf.broadcast_to(x[:1], x.shape),
    lambda x: tf.where(x > 0, x, x * 0.5),
    lambda x: x + tf.reduce_sum(x, axis=-1, keepdims=True),
    lambda x: tf.reduce_max(x, axis=0) + x,
    lambda x: tf.matmul(x, x),
    lambda x: tf.cast(tf.cast(x, tf.float32) * 1.001, tf.bfloat16),
)
STEPS = st.lists(
    st.tuples(st.sampled_from((*UNARY, *BINARY, *range(len(MOVES)))), st.integers(0, 9)),
    min_size=2,
    max_size=8,
)


def _program(steps):
    def f(x, y):
        values = [x, y]
        for step, place in steps:
            a, b = values[place % len(values)], values[-1]
            if isinstance(step, int):
                values.append(MOVES[step](a))
            elif step in BINARY:
                values.append(getattr(tf, step)(a, b))
            else:
                values.append(getattr(tf, step)(a))
        total = y
        for _ in tf.range(2):
            total = total * 0.5 + values[-1]
        return values[-1], total

    return f


@settings(max_examples=12, deadline=None, derandomize=True)
@given(STEPS, st.integers(0, 1 << 30))
def test_programs_and_their_gradients_are_the_same_in_both_modes(steps, seed):
    draw = np.random.default_rng(seed)
    x, y = (tf.constant(draw.standard_normal((3, 3)).astype(SHORT)) for _ in range(2))
    f = _program(steps)
    results = both(f, x, y)
    assert all(r.dtype == tf.bfloat16 for r in results)
    if np.isfinite(results[0].numpy().astype(np.float32)).all():
        g = both(tf.grad(lambda x, y: tf.reduce_sum(f(x, y)[0])), x, y)
        assert g.dtype == tf.bfloat16


def test_values_are_those_that_tensorflow_prints():
    x = tf.constant([[1.0, 2.0, 3.3], [4.0, -5.0, 6.0]], tf.bfloat16)
    assert str(x[0]) == "tf.Tensor([1 2 3.29688], shape=(3,), dtype=bfloat16)"
    for value, text in (
        (x * 1.7, "[[1.70312 3.40625 5.625]\n [6.8125 -8.5 10.25]]"),
        (tf.exp(x), "[[2.71875 7.375 27]\n [54.5 0.00674438 404]]"),
        (tf.reduce_sum(x, 1), "[6.3125 5]"),
        (tf.matmul(x, x, transpose_b=True), "[[15.875 13.75]\n [13.75 77]]"),
        (1 / x, "[[1 0.5 0.302734]\n [0.25 -0.200195 0.166992]]"),
        (tf.nn.relu(x), "[[1 2 3.29688]\n [4 0 6]]"),
    ):
        assert value.dtype == tf.bfloat16 and str(value.numpy()) == text
    assert (x > 2).dtype == tf.bool and tf.argmax(x, 1).numpy().tolist() == [2, 2]


def test_dtypes_that_meet():
    x, half = tf.constant([1.0, 2.0], tf.bfloat16), tf.constant([1.0, 2.0], tf.float16)
    meets = {
        "float32": "float32",
        "float64": "float64",
        "int8": "bfloat16",
        "int32": "float64",
        "bool": "bfloat16",
    }
    for other, joint in meets.items():  # as float16 with these
        assert (x + tf.cast([1, 0], other)).dtype == joint
        assert joint.replace("b", "") == (half + tf.cast([1, 0], other)).dtype.name
    assert (x + half).dtype == tf.float32  # neither holds the other's
    assert [(x + n).dtype.name for n in (True, 1, 1.5, 1j)] == ["bfloat16"] * 3 + ["complex64"]
    with pytest.raises(TypeError, match="bfloat16 and float32"), tf.settings(dtype_promotion="strict"):
        x + tf.constant([1.0, 2.0])


def test_what_the_dtype_says():
    short = tf.bfloat16
    assert tf.as_dtype("bfloat16") is short is tf.dtypes.bfloat16 and tf.zeros([2], "bfloat16").dtype is short
    assert (short.is_floating, short.size, short.name, repr(short)) == (True, 2, "bfloat16", "tf.bfloat16")
    assert float(short.max) == -float(short.min) == 3.3895313892515355e38
    assert tf.saturate_cast([3.4e38, -7.0], short).numpy().tolist() == [float(short.max), -7.0]
    assert tf.saturate_cast(tf.constant([400.0, -3.0], short), tf.uint8).numpy().tolist() == [255, 0]
    assert np.asarray(tf.constant([1.5], short)).dtype == SHORT and float(tf.constant(1.5, short)) == 1.5
    assert tf.strings.as_string(tf.constant([1.0, 3.3], short)).numpy().tolist() == [b"1.000000", b"3.296875"]
    drawn = tf.random.Generator(3).uniform((1000,), 1.0, 2.0, dtype=short)
    assert drawn.dtype is short and tf.random.Generator(3).normal((3,), dtype="float16").dtype == tf.float16
    assert bits(drawn) == bits(tf.cast(tf.random.Generator(3).uniform((1000,), 1.0, 2.0), short))
    with pytest.raises(TypeError, match="float8"):
        tf.constant(np.zeros(2, ml_dtypes.float8_e5m2))


def test_second_derivatives_tapes_and_variables():
    v = tf.Variable([1.0, 2.0, 3.0], dtype=tf.bfloat16)
    with tf.GradientTape() as outer, tf.GradientTape() as inner:
        y = tf.reduce_sum(v**3 + tf.exp(v) * 0.0)
    with outer:
        g = inner.gradient(y, v)
    assert g.dtype == tf.bfloat16 and g.numpy().tolist() == [3.0, 12.0, 27.0]

    @tf.function
    def second(x):
        return tf.hessian(lambda x: tf.reduce_sum(x**3))(x), tf.jvp(tf.square, (x,), (x,))[1]

    h, along = second(v)
    assert np.diag(h.numpy()).tolist() == [6.0, 12.0, 18.0] and along.numpy().tolist() == [2.0, 8.0, 18.0]
    v.assign_add([0.001, 1.0, 1.0])
    assert v.numpy().tolist() == [1.0, 3.0, 4.0]
    assert tf.vmap(lambda row: tf.reduce_sum(row) * row)(tf.stack([v, v])).dtype == tf.bfloat16


def test_loops_branches_arrays_and_functions_of_python():
    x = tf.constant([1.0, 2.0, 3.0], tf.bfloat16)

    def f(x):
        rows = tf.TensorArray(tf.bfloat16, 3)
        total = tf.zeros([], tf.bfloat16)
        for i in tf.range(3):
            total = total + x[i] * 0.1 if x[i] > 1.0 else total
            rows = rows.write(i, total)
        called = tf.py_function(lambda a: a * a, [x], tf.bfloat16)
        return (
            rows.stack() + called,
            tf.bitcast(x, tf.uint16),
            tf.bitcast(tf.bitcast(x, tf.uint16), tf.bfloat16),
        )

    first, words, again = both(f, x)
    assert words.dtype == tf.uint16 and bits(again) == bits(x)
    both(tf.grad(lambda x: tf.reduce_sum(f(x)[0])), x)
    with tf.settings(nans=True):
        assert tf.function(f)(x)[0].numpy().tolist() == first.numpy().tolist()
        with pytest.raises(FloatingPointError, match="log"):
            tf.function(lambda x: tf.math.log(x - 5.0))(x)
    with tf.settings(check=True):
        both(f, x)


def test_without_its_package_there_is_a_word_of_what_to_install():
    program = (
        "import sys; sys.modules['ml_dtypes'] = None\n"
        "import tracejit as tf\n"
        "x = tf.constant(1.5)\n"
        "for ask in (lambda: tf.cast(x, tf.bfloat16), lambda: tf.zeros([2], 'bfloat16'), lambda: tf.bfloat16.max):\n"
        "    try: ask()\n"
        "    except ImportError as error: print('tracejit[bfloat16]' in str(error))\n"
        "print(x.dtype == tf.bfloat16, tf.bfloat16.name, tf.bfloat16.is_floating, x.numpy())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 3 + ["False", "bfloat16", "True", "1.5"]
