"""Names that are not there: the nearest one, the namespace that has it, or what to use instead."""

from __future__ import annotations

import pickle

import pytest

import tracejit as tf
from tracejit._names.unknown import nearest


def said(namespace, name):
    with pytest.raises(AttributeError) as error:
        getattr(namespace, name)
    return str(error.value)


@pytest.mark.parametrize(
    ("namespace", "name", "meant"),
    [
        (tf, "reduce_maen", "reduce_mean"),
        (tf, "concatt", "concat"),
        (tf, "gradient_tape", "GradientTape"),
        (tf.math, "redcue_sum", "reduce_sum"),
        (tf.nn, "sofmax", "softmax"),
        (tf.keras, "sequential", "Sequential"),
        (tf.keras.layers, "Dence", "Dense"),
        (tf.keras.utils, "to_categoricals", "to_categorical"),
        (tf.linalg, "choleski", "cholesky"),
        (tf.random, "unifrom", "uniform"),
        (tf.dtypes, "flaot32", "float32"),
        (tf.config, "list_physical_device", "list_physical_devices"),
        (tf.data.experimental, "cardinalty", "cardinality"),
    ],
)
def test_the_nearest_name(namespace, name, meant):
    text = said(namespace, name)
    assert "has no attribute" in text and text.endswith(f"Did you mean: {meant!r}?")


def test_the_namespace_that_has_it():
    assert said(tf, "softmax").endswith("; there is tracejit.nn.softmax")
    assert said(tf, "lgamma").endswith("; there is tracejit.math.lgamma")


@pytest.mark.parametrize(
    ("namespace", "name", "remark"),
    [
        (tf, "Session", "ops run at once"),
        (tf.compat.v1, "Session", "ops run at once"),
        (tf, "RaggedTensor", "ragged tensors are out of scope"),
        (tf, "sparse", "sparse tensors are out of scope: tracejit.scatter_nd"),
        (tf, "distribute", "distribution strategies are out of scope"),
        (tf, "estimator", "estimators are out of scope: tracejit.keras.Model"),
        (tf, "Graph", "compile it by tracejit.function"),
        (tf.keras, "datasets", "not downloaded"),
        (tf, "sets", "sparse tensors are out of scope"),
        (tf.keras.utils, "get_file", "not downloaded"),
        (tf.keras.utils, "image_dataset_from_directory", "Dataset.from_generator"),
        (tf.keras.utils, "load_img", "PIL.Image.open(path)"),
        (tf.io, "decode_jpeg", "PIL.Image.open(path)"),
        (tf.data, "TFRecordDataset", "files of NumPy"),
        (tf.train, "Example", "files of NumPy"),
        (tf.keras.layers, "Hashing", "StringLookup"),
        (tf.config, "set_logical_device_configuration", "there is one machine"),
        (tf, "signal", "tracejit.numpy.fft"),
        (tf, "experimental", "tracejit.numpy"),
        (tf.numpy, "copyto", "write x[index] = value"),
        (tf, "version", "tracejit.__version__"),
        (tf, "jit", "tracejit.function"),
        (tf, "no_grad", "tape.stop_recording()"),
        (tf, "lax", "fori_loop"),
        (tf, "optim", "tracejit.optimizers"),
        (tf.random, "PRNGKey", "tracejit.random.Generator(seed)"),
        (tf.numpy, "random", "drawn by numpy.random"),
        (tf, "custom_vjp", "tracejit.custom_gradient"),
        (tf, "defvjp", "tracejit.custom_gradient"),
        (tf, "make_jvp", "tracejit.jvp"),
        (tf, "elementwise_grad", "tracejit.grad of the sum"),
        (tf.constant(1.0), "backward", "tape.gradient(y, x)"),
        (tf.Variable(1.0), "requires_grad", "tapes follow Variables"),
        (tf.Variable(1.0), "detach", "tracejit.stop_gradient(x)"),
        (tf.constant(1.0), "mul_", "v.assign_add"),
        (
            tf.function(lambda x: x).get_concrete_function(tf.TensorSpec([])).graph,
            "as_graph_element",
            "print one",
        ),
    ],
)
def test_what_to_use_instead(namespace, name, remark):
    assert remark in said(namespace, name)


def test_the_package_lists_what_it_has():
    said(tf, "zzzzzz")
    assert "newaxis" in dir(tf) and all(hasattr(tf, name) for name in dir(tf) if not name.startswith("_"))


def test_plain_errors_where_nothing_is_near():
    assert said(tf, "zzzzzz") == "module 'tracejit' has no attribute 'zzzzzz'"
    assert said(tf, "__array__") == "module 'tracejit' has no attribute '__array__'"
    assert not hasattr(tf, "Sessions") and getattr(tf.nn, "relu7", None) is None
    with pytest.raises(ImportError):
        from tracejit import reduce_maen  # noqa: F401


def test_how_near():
    assert nearest("adn", ["anm", "and", "or"]) == "and"  # letters swapped cost less than two
    assert nearest("xy", ["abcdef", "relu"]) is None


def test_attributes_that_are_not_there_are_asked_for_quietly():
    x = tf.constant([1.0])
    assert not hasattr(x, "backward") and getattr(x, "__array_of_mine__", None) is None
    with pytest.raises(AttributeError, match=r"no attribute 'reshpae'$") as error:
        x.reshpae  # noqa: B018
    assert error.value.obj is x  # by which Python finds what was meant


def test_errors_of_properties_stay():
    with pytest.raises(AttributeError, match="strings have no array interface"):
        tf.constant(["a"]).__array_interface__  # noqa: B018


@pytest.mark.parametrize(
    ("namespace", "name", "instead"),
    [
        (tf.keras, "ops", "tracejit.numpy"),
        (tf.keras, "random", "tracejit.random"),
        (tf.random, "gamma", "NumPy"),
        (tf.random, "poisson", "NumPy"),
        (tf.keras.optimizers, "Adafactor", "Adam"),
        (tf.config.experimental, "get_memory_info", "resource"),
    ],
)
def test_names_of_keras_and_experimental_ones_say_what_to_use(namespace, name, instead):
    assert instead in said(namespace, name).split("has no attribute")[1]


def test_an_error_about_arguments_calls_functions_by_their_public_names():
    with pytest.raises(TypeError, match=r"^print\(\) got an unexpected keyword argument 'sumarize'"):
        tf.print(1, sumarize=1)


def test_errors_are_named_as_users_catch_them():
    public = {name: x for name in tf.errors.__all__ if isinstance(x := getattr(tf.errors, name), type)}
    assert len(public) > 20
    assert {x.__module__ for x in public.values()} == {"tracejit.errors"}
    assert pickle.loads(pickle.dumps(tf.ShapeError("sizes differ"))).args == ("sizes differ",)


def test_random_operations_that_repeat_need_no_switch():
    assert tf.config.experimental.enable_op_determinism() is None
    assert tf.config.experimental.tensor_float_32_execution_enabled() is False
