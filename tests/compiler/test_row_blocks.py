"""Products with the rows of a matrix, and sums over these, in one pass: the same values, and which ones share it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from checks.levels import assert_levels_agree, complete, derived
from tracejit.compiler import cache, pipeline
from tracejit.compiler.loopir.ir import Call, Nest, Program, While, walk
from tracejit.compiler.loopir.passes import parallelize
from tracejit.compiler.loopir.passes.rows import row_blocks
from tracejit.compiler.lowering import nodes
from tracejit.core.settings import settings
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

COLUMNS = 7
WEIGHTS = np.random.default_rng(0).normal(size=(COLUMNS, 3))
TARGETS = np.random.default_rng(1).normal(size=300)


@pytest.fixture(autouse=True)
def all_products(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No matrix is too small, no product is written out, no loop is too short to be shared."""
    for name, value in {"LARGE": 0, "BLOCK": 8 * COLUMNS * 16, "FEWEST": 2, "SHARE": 1}.items():
        monkeypatch.setattr(row_blocks, name, value)
    monkeypatch.setattr(nodes, "SMALL_MATMUL", 0)
    monkeypatch.setattr(parallelize, "LEAST", 0)
    monkeypatch.setattr(cache, "_objects", {})
    with settings(cache=False):
        yield


def logistic(x: Any, w: Any) -> Any:
    signs = np.sign(TARGETS[: x.shape[0]])
    return tf.reduce_mean(tf.nn.softplus(-signs * (x @ w[:, 0])))


def least_squares(x: Any, w: Any) -> Any:
    return tf.reduce_sum((x @ w[:, 0] - TARGETS[: x.shape[0]]) ** 2)


def softmax(x: Any, w: Any) -> Any:
    labels = np.arange(x.shape[0]) % 3
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, x @ w))


def turned(x: Any, w: Any) -> Any:
    return tf.reduce_sum(tf.tanh(w[:, 0] @ tf.transpose(x)))


def layers(x: Any, w: Any) -> Any:
    """With an offset for each column, and a second product with the same rows."""
    y = tf.tanh(x @ w + w[0])
    return tf.reduce_sum(tf.sin(y @ w[:3, :2])) + tf.reduce_max(y[:, 0])


def normalized(x: Any, w: Any) -> Any:
    """Every row needs a sum over all of them."""
    return tf.reduce_sum(tf.nn.softmax(x @ w, axis=0) ** 2)


def neighbours(x: Any, w: Any) -> Any:
    """A row needs the one before."""
    y = x @ w
    return tf.reduce_sum(y * tf.roll(y, 1, 0) ** 2)


CASES = {f.__name__: f for f in (logistic, least_squares, softmax, turned, layers, normalized, neighbours)}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rows", [64, 101])
@pytest.mark.parametrize("name", CASES)
def test_levels_agree(name: str, rows: int) -> None:
    source = trace(
        lambda x, w: [CASES[name](x, w)],
        [TensorSpec((rows, COLUMNS), "float64"), TensorSpec((COLUMNS, 3), "float64")],
        name,
    ).graph
    graph = derived(source, "gradient")
    assert graph is not None
    x = np.random.default_rng(2).standard_normal((rows, COLUMNS))
    assert_levels_agree(graph, complete(graph, [x, WEIGHTS], source, "gradient"))


def found(name: str, x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    value, gradient = tf.function(tf.value_and_grad(CASES[name], 1))(x, w)
    return [value.numpy(), gradient.numpy()]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows", [0, 1, 31, 33, 257])
@pytest.mark.parametrize("name", ["logistic", "least_squares", "turned", "layers"])
def test_compiled_is_eager(name: str, rows: int, dtype: str) -> None:
    if name == "layers" and rows == 0:
        pytest.skip("the largest of nothing")
    x = np.random.default_rng(rows).normal(size=(rows, COLUMNS)).astype(dtype)
    w = WEIGHTS.astype(dtype)
    value, gradient = tf.value_and_grad(CASES[name], 1)(tf.constant(x), tf.constant(w))
    tolerance = {"rtol": 64 * np.finfo(dtype).eps, "atol": 64 * max(rows, 1) * np.finfo(dtype).eps}
    for mine, theirs in zip(found(name, x, w), (value, gradient), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs.numpy(), **tolerance)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, -0.0, 5e-324])
def test_special_values(special: float) -> None:
    """In the first block, in the middle, and in the rows behind the last whole block."""
    for row in (0, 50, 100):
        x = np.random.default_rng(4).normal(size=(101, COLUMNS))
        x[row, 2] = special
        with np.errstate(all="ignore"):
            value, gradient = tf.value_and_grad(logistic, 1)(tf.constant(x), tf.constant(WEIGHTS))
            mine = found("logistic", x, WEIGHTS)
        np.testing.assert_allclose(mine[0], value.numpy(), rtol=1e-13)
        np.testing.assert_allclose(mine[1], gradient.numpy(), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", CASES)
def test_threads_change_nothing(name: str) -> None:
    x = np.random.default_rng(5).normal(size=(299, COLUMNS))
    made = []
    for threads in (1, 2, 3, 8):
        with settings(num_threads=threads):
            made.append([part.tobytes() for part in found(name, x, WEIGHTS)])
    assert made[1:] == made[:1] * 3


def lowered(f: Callable[..., Any], rows: int = 101) -> Program:
    specs: Sequence[Any] = [TensorSpec((rows, COLUMNS), "float64"), TensorSpec((COLUMNS, 3), "float64")]
    graph = derived(trace(lambda x, w: [f(x, w)], specs, "f").graph, "gradient")
    assert graph is not None
    return pipeline.lower_graph(graph)


def test_a_linear_model_reads_its_samples_once() -> None:
    program = lowered(lambda x, w: least_squares(tf.stop_gradient(x), w))
    (loop,) = (s for s in program.body if isinstance(s, While))
    assert loop.count == 6 and sum(isinstance(s, Call) for s in walk(loop.body)) == 2
    behind = program.body[program.body.index(loop) + 1 :]
    assert sum(isinstance(s, Call) for s in behind) == 2, "the five rows that make no block"
    rows = [b for b in program.buffers if b.kind == "temp" and b.size in (101, 96)]
    assert not rows, "memory of one block"


def test_an_even_number_of_blocks_leaves_no_rest() -> None:
    program = lowered(lambda x, w: least_squares(tf.stop_gradient(x), w), 96)
    assert not any(isinstance(s, Call) for s in program.body)
    assert any(isinstance(s, While) for s in program.body)


@pytest.mark.parametrize("f", [normalized, neighbours])
def test_rows_that_need_each_other_stay_whole(f: Callable[..., Any]) -> None:
    program = lowered(lambda x, w: f(tf.stop_gradient(x), w))
    inside = [s for loop in program.body if isinstance(loop, While) for s in walk(loop.body)]
    calls = [s for s in inside if isinstance(s, Call)]
    assert not any(isinstance(s, Nest) for s in inside) or len(calls) < 2


def test_a_small_matrix_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_blocks, "LARGE", 1 << 19)
    assert not any(isinstance(s, While) for s in lowered(least_squares).body)


def test_what_is_between_makes_way() -> None:
    """The factor that comes from outside is worked out in front of the loop."""
    program = lowered(lambda x, w: logistic(tf.stop_gradient(x), w), 96)
    (loop,) = (s for s in program.body if isinstance(s, While))
    assert sum(isinstance(s, Call) for s in walk(loop.body)) == 2
    assert program.body.index(loop) == 1
