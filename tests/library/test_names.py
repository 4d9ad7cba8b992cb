"""The names that tutorials use are there: top level, faces, classic ones; faces are loaded when asked for."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys

import numpy as np
import pytest

import tracejit as tf
from tracejit.inspect.registry import gradient_of, gradient_table, type_names

NAMES = """
constant Variable convert_to_tensor Tensor TensorSpec GradientTape UnconnectedGradients function custom_gradient
stop_gradient RegisterGradient no_gradient Module nest zeros ones fill eye range linspace cast reshape transpose concat
stack unstack split gather where one_hot shape size rank identity add subtract multiply divide pow square sqrt exp log
sin cos tan tanh abs sign maximum minimum clip_by_value round floor reduce_sum reduce_mean reduce_max reduce_min
reduce_prod norm matmul tensordot einsum math nn random linalg image raw_ops cond while_loop case switch_case
vectorized_map float32 float64 int32 int64 bool complex64 complex128 layers Sequential optimizers train data queue
config test __version__ compat keras losses initializers activations saved_model gradients_function
math.reduce_std math.rsqrt nn.relu nn.sigmoid nn.softplus nn.softmax nn.moments linalg.norm linalg.global_norm
image.adjust_contrast keras.layers.Dense layers.Dense optimizers.SGD optimizers.Adam train.Checkpoint
train.CheckpointManager train.latest_checkpoint data.Dataset queue.FIFOQueue config.run_functions_eagerly
test.is_gpu_available keras.Sequential keras.Model keras.optimizers.schedules.ExponentialDecay random.normal
random.uniform random.set_seed nest.flatten nest.map_structure
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_tutorials_use_is_there(name):
    found = tf
    for part in name.split("."):
        found = getattr(found, part)
    assert found is not None


def test_every_name_is_listed_and_loads():
    for name in dir(tf):
        assert getattr(tf, name) is not None or name.startswith("_") or name == "newaxis"
    with pytest.raises(AttributeError, match="module 'tracejit' has no attribute 'nonsense'"):
        tf.nonsense  # noqa: B018


FACES = (
    "activations",
    "bitwise",
    "data",
    "image",
    "initializers",
    "keras",
    "layers",
    "linalg",
    "losses",
    "math",
    "nest",
    "nn",
    "numpy",
)


@pytest.mark.parametrize("face", [*FACES, "optimizers", "queue", "raw_ops", "test", "train", "compat.v1"])
def test_faces_can_be_imported(face):
    assert importlib.import_module(f"tracejit.{face}").__doc__


def test_parts_of_keras_can_be_imported():
    code = (
        "from tracejit.keras.layers import Dense; import tracejit.keras.optimizers as o; print(Dense, o.Adam)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "tracejit.layers.core.Dense" in shown and "Adam" in shown
    assert importlib.import_module("tracejit.keras.losses") is tf.losses


def test_faces_are_not_loaded_before_they_are_asked_for():
    code = "import sys, tracejit; tracejit.function; print([m for m in sys.modules if m.startswith('tracejit.')])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "tracejit.core.tensor" in loaded
    for face in (*FACES, "optimizers", "train", "compat"):
        assert f"'tracejit.{face}'" not in loaded, face


# ---- the registry ---------------------------------------------------------------------------------------


def test_raw_ops():
    assert tf.raw_ops.Add(1.0, 2.0).item() == 3.0 and tf.raw_ops.Sin(0.0).item() == 0.0
    assert {"Add", "Matmul", "ReduceSum", "AdjustContrastv2"} <= set(dir(tf.raw_ops))
    image = np.array([[[1.0], [3.0]]])
    assert tf.raw_ops.AdjustContrastv2(images=image, contrast_factor=2.0).numpy().ravel().tolist() == [
        0.0,
        4.0,
    ]
    with pytest.raises(AttributeError, match="no op has the type name 'Nonsense'"):
        tf.raw_ops.Nonsense  # noqa: B018


def test_the_page_of_gradients_is_the_registry():
    table = gradient_table()
    assert (
        "| `Sin` | yes |" in table
        and "| `Floor` | None |" in table
        and "| `AdjustContrastv2` | missing |" in table
    )
    assert "| `Matmul` | yes |" in table and "| `Concat` | yes |" in table
    assert table.count("\n") == len(tf.core.op.OPS) + 2
    assert {gradient_of(op) for op in tf.core.op.OPS.values()} == {"yes", "None", "missing"}
    assert len(type_names()) > 50


def test_name_is_accepted_and_what_has_no_meaning_refused():
    assert tf.add(1.0, 2.0, name="sum").item() == 3.0 and tf.nn.relu(-1.0, name="r").item() == 0.0
    assert tf.concat([[1.0], [2.0]], 0, name="c").shape == (2,) and tf.stack([1.0], name="s").shape == (1,)
    assert tf.clip_by_value([3.0], clip_value_min=0.0, clip_value_max=1.0, name="c").item() == 1.0
    assert tf.argmax([1.0, 2.0], output_type=tf.int32).dtype == tf.int32
    for call, message in (
        (
            lambda: tf.reshape([1.0], shape=[1], order="F"),
            r"reshape\(\) has no argument 'order'.*by keyword shape",
        ),
        (
            lambda: tf.multiply(1.0, x=2.0),
            r"multiply\(\) has no argument 'x': it takes the tensors x, y",
        ),
        (lambda: tf.raw_ops.Cumsum([1.0], exclusive=True), "has no argument 'exclusive'"),
    ):
        with pytest.raises(TypeError, match=message):
            call()


# ---- 2018 -----------------------------------------------------------------------------------------------


def test_the_tutorial_of_2018():
    from tracejit.compat import v1 as tf

    tf.enable_eager_execution()
    tfe = tf.contrib.eager
    f = lambda x: tf.square(tf.sin(x))
    assert f(math.pi / 2).numpy() == 1.0
    (gradient,) = tfe.gradients_function(f)(math.pi / 2)
    assert abs(gradient.numpy()) < 1e-7
    x = tf.lin_space(-2 * math.pi, 2 * math.pi, 100)
    assert x.shape == (100,) and x.dtype == tf.float32
    grad = lambda f: lambda x: tfe.gradients_function(f)(x)[0]
    third = grad(grad(grad(f)))(x).numpy()
    np.testing.assert_allclose(third, -4 * np.sin(2 * x.numpy()), atol=2e-5)


def test_transforms_of_2018():
    from tracejit.compat import v1 as tf

    tfe = tf.contrib.eager
    value, gradients = tfe.value_and_gradients_function(lambda a, b: a * b)(2.0, 3.0)
    assert value.item() == 6.0 and [g.item() for g in gradients] == [3.0, 2.0]
    w = tfe.Variable(3.0)
    ((gradient, variable),) = tfe.implicit_gradients(lambda x: w * w * x)(2.0)
    assert gradient.item() == 12.0 and variable is w
    with pytest.raises(ValueError, match="reads no trainable Variables"):
        tfe.implicit_gradients(lambda: tf.constant(1.0))()
    assert tfe.num_gpus() == 0 and not tf.test.is_gpu_available() and tf.executing_eagerly()
    with tf.device("/cpu:0"):
        assert tf.to_int32(2.7).item() == 2 and tf.to_float(1).dtype == tf.float32
    assert tf.Variable is tfe.Variable and tf.reduce_sum is not None


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("GradientDescentOptimizer", (0.5,), 0.5),
        ("MomentumOptimizer", (0.5, 0.9), 0.5),
        ("AdamOptimizer", (0.5,), 0.5),
        ("AdagradOptimizer", (0.5,), 1 - 0.5 / math.sqrt(1.1)),
        ("RMSPropOptimizer", (0.5,), 0.5),  # its running mean starts with 1
    ],
)
def test_optimizers_of_2018(name, arguments, expected):
    from tracejit.compat import v1 as tf

    w, step = tf.Variable(1.0), tf.train.get_or_create_global_step()
    before = int(step)
    optimizer = getattr(tf.train, name)(*arguments)
    optimizer.apply_gradients([(tf.constant(1.0), w)], global_step=step)
    assert w.numpy() == pytest.approx(expected, rel=1e-5) and int(step) == before + 1


# ---- the machine ----------------------------------------------------------------------------------------


def test_questions_about_the_machine():
    assert tf.test.is_gpu_available() is False and tf.test.is_built_with_cuda() is False
    assert tf.executing_eagerly()
    seen = []
    tf.function(lambda: seen.append(tf.executing_eagerly()))()
    assert seen == [False]
    with tf.device("/gpu:0"), tf.name_scope("part") as scope:
        assert scope == "part"
