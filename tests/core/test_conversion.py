"""Python values as tensors: lists with tensors inside are joined, and what is wrong with arguments has a line."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.errors import DtypeError, LeakedTensor, ShapeError
from tracejit.core.op import ops


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_lists_with_tensors_inside_are_joined_and_differentiated(run):
    w = tf.Variable([5.0, 6.0])

    @run
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum([x, 3.0 * x, 1.0]) + tf.reduce_sum(w * [x, 2.0]) + tf.reduce_sum([[x, 1.0], w])
        return y, *tape.gradient(y, [x, w])

    y, dx, dw = f(tf.constant(2.0))
    assert float(y) == 9.0 + 22.0 + 14.0
    assert float(dx) == 4.0 + 5.0 + 1.0
    np.testing.assert_array_equal(dw, [2.0 + 1.0, 2.0 + 1.0])


def test_lists_of_tensors_are_assigned():
    v, t = tf.Variable([1.0, 2.0]), tf.constant(7.0)
    v.assign([t, 2 * t])
    np.testing.assert_array_equal(v, [7.0, 14.0])
    v.assign_add((t, 1))
    np.testing.assert_array_equal(v, [14.0, 15.0])


def test_lists_take_the_dtype_that_their_elements_share():
    x = tf.constant(np.float64(1.0))
    assert tf.convert_to_tensor([x, 2.0]).dtype == np.float64
    assert tf.convert_to_tensor([x, tf.constant(1.0)]).dtype == np.float64
    assert tf.convert_to_tensor([x, 2.0], dtype="float32").dtype == np.float32
    with pytest.raises(DtypeError):
        tf.convert_to_tensor([x, "a"])
    with pytest.raises(ShapeError):
        tf.convert_to_tensor([x, [1.0, 2.0]])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tf.reduce_sum(x, axis=5),
        lambda x: tf.transpose(x, perm=[0, 3]),
        lambda x: tf.gather(x, [0.5]),
        lambda x: ops.reshape(x, shape=(-1, 3)),
    ],
)
@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_arguments_that_are_wrong_name_the_line_once(call, run):
    with pytest.raises((ShapeError, DtypeError)) as caught:
        run(call)(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    assert str(caught.value).count("\n  at ") == 1 and __file__ in str(caught.value)


def test_constants_of_traces_are_freed_with_them():
    def traced() -> weakref.ref:
        array = np.ones(1000)
        held = tf.function(lambda x: x + array)
        held(tf.constant(1.0))
        (node,) = [n for n in held.graph(tf.constant(1.0)).nodes if n.op.name == "constant"]
        return weakref.ref(node.attrs["value"].array)

    inside = traced()
    gc.collect()
    assert inside() is None


def test_a_leaked_tensor_is_a_type_error():
    leaked = []
    tf.function(lambda x: leaked.append(x) or x)(tf.constant(1.0))
    with pytest.raises(TypeError) as caught:
        leaked[0].numpy()
    assert isinstance(caught.value, LeakedTensor)


def test_python_integers_are_as_wide_as_they_must_be():
    assert tf.constant(2**31 - 1).dtype == np.int32
    assert tf.constant(2**31).dtype == np.int64
    np.testing.assert_array_equal(tf.constant([1, 2**40]), [1, 2**40])
    for wrong in (lambda: tf.constant(2**40, tf.int32), lambda: tf.constant(2**70)):
        with pytest.raises(DtypeError, match=r"too large|out of bounds"):
            wrong()


@pytest.mark.parametrize("value", [1.5, 2.0, [1, 2.5], 1j])
def test_fractions_are_not_dropped_silently(value):
    with pytest.raises(DtypeError, match="has none: write integers"):
        tf.constant(value, dtype=tf.int32)


@pytest.mark.parametrize("dtype", [tf.float64, tf.float32, tf.int32])
@pytest.mark.parametrize("value", [np.array([1j, 2.0]), np.complex64(1j)])
def test_imaginary_parts_are_not_dropped_silently(value, dtype):
    compiled = tf.function(lambda x: x * 2, input_signature=[tf.TensorSpec(value.shape, dtype)])
    for call in (lambda: tf.constant(value, dtype), lambda: compiled(value)):
        with pytest.raises(DtypeError, match=f"imaginary part, which {dtype.name} does not hold: write x.real"):
            call()
    assert tf.constant(value, tf.bool).numpy().all()


def test_empty_lists_and_bools_are_integers_when_asked():
    assert tf.constant([], dtype=tf.int32).dtype == np.int32
    assert tf.constant([True, False], dtype=tf.int32).numpy().tolist() == [1, 0]


def test_python_complex_numbers_keep_their_digits():
    assert tf.constant(0.1 + 0.2j).dtype == np.complex128
    assert (tf.constant(1.0) * 2j).dtype == np.complex64  # as NumPy promotes


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_tensors_by_name(run):
    @run
    def f(x):
        row = tf.reshape(tensor=tf.concat(values=[x, tf.add(x=x, y=1.0)], axis=0), shape=(1, 4))
        small = tf.logical_and(x=tf.less(x, y=1.5), y=tf.logical_not(x=tf.math.is_nan(x=x)))
        return tf.matmul(a=row, b=tf.transpose(a=row)), tf.where(condition=small, x=x, y=0.0)

    product, chosen = f(tf.constant([1.0, 2.0]))
    assert float(product[0, 0]) == 1 + 4 + 4 + 9 and chosen.numpy().tolist() == [1.0, 0.0]


@pytest.mark.parametrize("call", [lambda x: tf.add(x, z=x), lambda x: tf.add(y=x), lambda x: tf.exp(x, y=x)])
def test_names_that_no_tensor_has(call):
    with pytest.raises(TypeError, match=r"takes the tensors x") as caught:
        call(tf.constant(1.0))
    assert __file__ in str(caught.value)


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_conditions_and_positions_of_a_wrong_dtype(run):
    x = tf.constant([1.0, 2.0])
    for f, message in (
        (lambda v: tf.where(v, v, v), "where: takes a bool condition, got float32: compare first"),
        (lambda v: tf.gather(v, v), "gather: indices are integers, got float32: cast them"),
    ):
        with pytest.raises(DtypeError, match=message):
            run(f)(x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: tf.reshape(x, (1.5, 4)), "reshape: a size is an integer, not 1.5"),
        (lambda x: tf.reshape(x, (-1, -1)), "one size at most may be -1"),
        (lambda x: tf.reshape(x, (-1, 0)), "0 times the size that -1 stands for must be 4"),
        (lambda x: tf.zeros((2.7,)), "a size is an integer, not 2.7"),
        (lambda x: tf.zeros(2.7), "a size is an integer, not 2.7"),
        (lambda x: tf.ones(None), "a size is an integer, not None"),
        (lambda x: tf.zeros((x[0, 0],)), "a size is an integer, not"),
        (lambda x: tf.expand_dims(x, 0.5), "an axis is an integer, not 0.5"),
        (lambda x: tf.expand_dims(x, 4), "axis 4 is out of range for rank 3"),
        (lambda x: tf.squeeze(x, axis=0), r"cannot squeeze axes \[0\] of \(2, 2\)"),
        (lambda x: tf.transpose(x, [0.0, 1.0]), "transpose: an axis is an integer, not 0.0"),
        (lambda x: tf.reduce_sum(x, axis=0.5), "reduce_sum: an axis is an integer, not 0.5"),
        (lambda x: tf.concat([x, x], axis=1.5), "concat: an axis is an integer, not 1.5"),
        (lambda x: tf.stack([]), "stack needs at least one tensor"),
    ],
)
@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_sizes_and_axes_that_are_none(call, message, run):
    with pytest.raises((ShapeError, DtypeError), match=message) as caught:
        run(call)(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    assert str(caught.value).count("\n  at ") == 1 and __file__ in str(caught.value)


def test_axes_and_sizes_are_integers_of_any_kind():
    x = tf.constant([[[1.0, 2.0, 3.0]]])
    assert tf.reduce_sum(x, axis=tf.constant(2)).shape == tf.reduce_sum(x, axis=np.int64(2)).shape == (1, 1)
    assert tf.reduce_sum(x, axis=tf.constant([0, 2])).shape == (1,)
    assert tf.squeeze(x, axis=np.int64(0)).shape == (1, 3) and tf.squeeze(x, axis=(0, 1)).shape == (3,)
    for size in (3, np.int8(3), tf.constant(3), tf.Variable(3)):
        assert tf.reshape(x, (size, 1)).shape == (3, 1)


@pytest.mark.parametrize(
    "take",
    [tf.constant, tf.Variable, tf.numpy.sum, tf.function(lambda x: x), lambda x: tf.ones(3, tf.float64) * x,
     lambda x: tf.convert_to_tensor([x, x]), tf.function(lambda x: x, [tf.TensorSpec([3], tf.float64)])],
    ids=["constant", "variable", "numpy", "argument", "operand", "list", "signature"],
)  # fmt: skip
def test_masked_elements_are_not_taken_for_numbers(take):
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[True, False, False])
    with pytest.raises(DtypeError, match=r"1 of 3 elements are masked: write x\.filled"):
        take(masked)
    take(masked.filled(0.0))
    take(np.ma.array([1.0, 2.0, 3.0]))  # none is masked
