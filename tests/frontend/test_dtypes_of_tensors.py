"""``x.dtype`` stands for a dtype of NumPy, which takes it for its own, and answers what programs ask of it."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp

ALL = [
    *(tf.float16, tf.float32, tf.float64, tf.complex64, tf.complex128, tf.bool, tf.string),
    *(tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64),
]


@pytest.fixture(autouse=True)
def deprecations_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        yield


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_each_stands_for_one_of_numpy(dtype):
    of_numpy = dtype.dtype
    assert dtype == of_numpy and of_numpy == dtype and hash(dtype) == hash(of_numpy)
    assert dtype == of_numpy.type and of_numpy.type == dtype and dtype == of_numpy.name
    assert dtype in {of_numpy} and {dtype: "found"}[of_numpy] == "found"
    assert pickle.loads(pickle.dumps(dtype)) is copy.copy(dtype) is copy.deepcopy([dtype])[0] is dtype
    for (
        name
    ) in "kind char type str itemsize byteorder num alignment isnative hasobject names base shape".split():
        assert getattr(dtype, name) == getattr(of_numpy, name)
    for made in (
        np.zeros(3, dtype),
        np.ones(3, dtype=dtype),
        np.zeros(3).astype(dtype),
        np.dtype([("a", dtype)])["a"],
    ):
        assert getattr(made, "dtype", made) is of_numpy
    assert np.dtype(dtype) is of_numpy and tf.as_dtype(dtype) is tf.as_dtype(of_numpy) is dtype
    assert dtype != None and dtype != "nonsense" and dtype != 3 and dtype != object()  # noqa: E711


def test_functions_of_numpy_that_take_dtypes():
    dtype = tf.constant([1.0]).dtype
    assert np.issubdtype(dtype, np.floating) and np.finfo(dtype).bits == 32 and np.iinfo(tf.int8).max == 127
    assert np.result_type(dtype, tf.float64) == np.float64 and np.promote_types(dtype, tf.int32) == tf.float64
    assert np.can_cast(dtype, tf.float64) and not np.can_cast(tf.float64, dtype)
    assert tnp.isdtype(dtype, "real floating") and tnp.isdtype(dtype, tnp.float32)
    assert tnp.asarray([1.0]).dtype == tnp.float64 == tnp.result_type(dtype, tnp.float64)
    assert tnp.__array_namespace_info__().dtypes()["float32"] == dtype


def test_what_is_asked_of_it():
    facts = {
        name: [d.name for d in ALL if getattr(d, f"is_{name}")]
        for name in ("floating", "complex", "integer", "unsigned", "bool")
    }
    assert facts["floating"] == ["float16", "float32", "float64"] and facts["complex"] == [
        "complex64",
        "complex128",
    ]
    assert facts["unsigned"] == ["uint8", "uint16", "uint32", "uint64"] and facts["bool"] == ["bool"]
    assert facts["integer"] == ["int8", "int16", "int32", "int64", *facts["unsigned"]]
    assert [d.name for d in ALL if not d.is_numeric] == ["bool", "string"]
    assert (
        tf.float32.size == 4
        and tf.float32.as_numpy_dtype is np.float32
        and tf.float32.base_dtype is tf.float32
    )
    assert tf.complex64.real_dtype is tf.float32 and tf.int8.real_dtype is tf.int8
    assert (tf.int8.min, tf.int8.max, tf.int8.limits) == (-128, 127, (0, 127))
    assert tf.float32.max == np.finfo(np.float32).max and tf.float32.limits == (0, 1)
    assert tf.float32.is_compatible_with("float32") and not tf.float32.is_compatible_with(tf.float64)
    with pytest.raises(tf.errors.DtypeError, match="complex64 has no least"):
        _ = tf.complex64.min
    with pytest.raises(AttributeError, match=r"tf\.float32 has no attribute 'is_small'"):
        _ = tf.float32.is_small
    with pytest.raises(AttributeError, match="does not change"):
        tf.float32.name = "float64"


def test_how_it_prints():
    assert (repr(tf.float32), str(tf.float32), f"{tf.string}") == (
        "tf.float32",
        "<dtype: 'float32'>",
        "<dtype: 'string'>",
    )
    with pytest.raises(TypeError, match="mixed dtypes float32 and int32: write"):
        with tf.settings(dtype_promotion="strict"):
            tf.zeros(2) + tf.zeros(2, tf.int32)


def test_wherever_a_dtype_is_taken():
    x, v = tf.constant([1.0, 2.0]), tf.Variable([1, 2], dtype=tf.int64)
    assert x.dtype is tf.float32 and v.dtype is tf.int64 and v.dtype.is_integer
    assert tf.TensorSpec([2], x.dtype) is tf.TensorSpec([2], np.float32) is x.spec
    assert tf.cast(x, v.dtype).dtype is tf.int64 and tf.zeros(2, v.dtype).dtype is tf.int64
    assert x.astype(v.dtype).dtype is v.dtype and tnp.zeros(2, dtype=x.dtype).dtype is x.dtype
    assert tf.keras.layers.Dense(2, dtype=tf.float64)(tf.zeros((1, 2), tf.float64)).dtype is tf.float64


def test_it_is_one_static_argument_with_that_of_numpy():
    @tf.function
    def made(x, dtype):
        assert x.dtype is tf.float32
        return tf.cast(x, dtype) * 2 + tf.ones(2, x.dtype.real_dtype if dtype.kind == "f" else dtype)

    for dtype in (tf.int32, tf.int32, np.dtype("int32"), tf.int32):
        assert made(tf.constant([1.5, 2.5]), dtype).dtype is tf.int32
    assert made.experimental_get_tracing_count() == 1
