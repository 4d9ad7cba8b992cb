"""Products that share a loop over rows with what is around them: the same values, and which ones do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from checks.levels import assert_levels_agree, complete, derived
from tracejit.compiler import cache, pipeline
from tracejit.compiler.loopir.ir import Call, Nest, Program, While, walk
from tracejit.compiler.loopir.passes import parallelize
from tracejit.compiler.loopir.passes.rows import product_rows
from tracejit.core.settings import settings
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

FILTERS = np.random.default_rng(0).normal(size=(3, 3, 2, 3))
OTHERS = np.random.default_rng(1).normal(size=(2, 2, 3, 2))


@pytest.fixture(autouse=True)
def all_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """None is too small, and no loop too short to be shared."""
    for name, value in {"LARGE": 0, "SHORTEST": 2, "FEWEST": 2}.items():
        monkeypatch.setattr(product_rows, name, value)
    monkeypatch.setattr(parallelize, "LEAST", 0)
    monkeypatch.setattr(cache, "_objects", {})
    with settings(cache=False):
        yield


def convolved(strides: Any, padding: Any, dilations: Any) -> Callable[[Any], Sequence[Any]]:
    def f(x: Any) -> Sequence[Any]:
        y = tf.nn.relu(tf.nn.conv2d(x, FILTERS, strides, padding, dilations=dilations) + 0.1)
        return [tf.nn.conv2d(y, OTHERS, 1, "SAME")]

    return f


def network(x: Any) -> Sequence[Any]:
    y = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, FILTERS, 1, "SAME")), 2, 2, "VALID")
    return [tf.sin(tf.nn.conv2d(y, OTHERS, 1, "SAME")), tf.reduce_sum(y, 0)]


def dense(x: Any) -> Sequence[Any]:
    """The rows of an image, times a matrix, in each image."""
    y = tf.tanh(tf.reshape(x, (x.shape[0], -1, 2)) @ FILTERS[0, 0, :, :])
    return [tf.nn.softmax(y), tf.reduce_max(y, (1, 2))]


def across(x: Any) -> Sequence[Any]:
    """What one row needs of another one."""
    rows = tf.roll(tf.reshape(tf.sin(x), (-1, 2)), 1, 0)
    return [tf.reshape(rows @ FILTERS[0, 0], (*x.shape[:-1], 3)) + tf.roll(x, 1, 0)[..., :1]]


CASES = {
    "same": convolved(1, "SAME", None),
    "valid": convolved(1, "VALID", None),
    "strides": convolved((2, 1), "SAME", None),
    "padded": convolved(1, [[0, 0], [2, 0], [0, 1], [0, 0]], None),
    "apart": convolved(1, "VALID", (2, 1)),
    "network": network,
    "dense": dense,
    "across": across,
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "order"), [
    *((name, "gradient") for name in CASES),
    ("same", "value"), ("across", "value"), ("strides", "jvp"), ("dense", "jvp"),
    ("same", "second"), ("network", "second"),
])  # fmt: skip
def test_levels_agree(name: str, order: str) -> None:
    shape = (3, 6, 5, 2)
    source = trace(CASES[name], [TensorSpec(shape, "float64")], name).graph
    graph = derived(source, order)
    if graph is not None:
        x = np.random.default_rng(2).standard_normal(shape)
        assert_levels_agree(graph, complete(graph, [x], source, order))


@pytest.mark.parametrize(
    "shape", [(2, 6, 5, 2), (5, 6, 5, 2), (1, 6, 5, 2), (0, 6, 5, 2), (4, 6, 1, 2)], ids=str
)
def test_values_are_those_of_whole_products(shape: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the bit, with gradients."""

    def value(x: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
        y = tf.nn.relu(tf.nn.conv2d(x, w, 1, "SAME"))
        return tf.reduce_sum(tf.nn.conv2d(y * y, OTHERS, 1, "SAME") ** 2)

    x = np.random.default_rng(3).normal(size=shape)
    found = tf.function(tf.value_and_grad(value, (0, 1)))(x, FILTERS)
    monkeypatch.setattr(product_rows, "FEWEST", 1 << 40)
    whole = tf.function(tf.value_and_grad(value, (0, 1)))(x, FILTERS)
    assert found[0].numpy().tobytes() == whole[0].numpy().tobytes()
    for mine, theirs in zip(found[1], whole[1], strict=True):
        assert mine.numpy().tobytes() == theirs.numpy().tobytes()


def lowered(f: Callable[..., Sequence[Any]], order: str = "value", batch: Any = 4) -> Program:
    source = trace(f, [TensorSpec((batch, 6, 5, 2), "float64")], "f").graph
    graph = derived(source, order)
    assert graph is not None
    return pipeline.lower_graph(graph)


def test_a_convolution_passes_image_by_image() -> None:
    program = lowered(CASES["same"])
    (loop,) = (s for s in program.body if isinstance(s, While))
    assert loop.count == 4 and sum(isinstance(s, Call) for s in walk(loop.body)) == 2
    assert not any(isinstance(s, (Nest, Call)) for s in program.body)
    assert all(b.size < 4 * 6 * 5 * 3 for b in program.buffers if b.kind == "temp"), "memory of one image"


def test_sums_over_all_images_stay_behind() -> None:
    program = lowered(CASES["network"], "gradient")
    loops = [s for s in program.body if isinstance(s, While)]
    assert loops and any(isinstance(s, Call) for s in walk(loops[0].body))


def test_rows_that_need_each_other_stay_whole() -> None:
    program = lowered(across)
    inside = [s for loop in program.body if isinstance(loop, While) for s in walk(loop.body)]
    assert not any(isinstance(s, Call) for s in inside)


def test_threads_change_nothing() -> None:
    x = np.random.default_rng(4).normal(size=(6, 12, 10, 2))
    f = tf.function(tf.value_and_grad(lambda x: tf.reduce_sum(network(x)[0] ** 2)))
    found = []
    for threads in (1, 2, 3, 8):
        with settings(num_threads=threads):
            found.append([part.numpy().tobytes() for part in f(x)])
    assert found[1:] == found[:1] * 3
