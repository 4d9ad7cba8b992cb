"""Convolutions by blocks of windows: the same values whatever a block is, on any number of threads, in few loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from tracejit.compiler import cache
from tracejit.compiler.loopir.passes import parallelize
from tracejit.compiler.lowering import convolutions
from tracejit.core.settings import settings

#: What a block may be: so many bytes of windows; windows at least, and of a sum; bytes of a table.
BLOCKS = {
    "everything": (1 << 19, 1 << 20, 1 << 20, 0),
    "some images": (1 << 19, 60, 120, 1 << 16),
    "one image": (1 << 19, 1, 1, 1 << 16),
    "one image, in order": (1 << 19, 1, 1, 0),
    "some rows": (1 << 11, 1, 1, 1 << 16),
    "one row": (1, 1, 1, 0),
}


@pytest.fixture
def in_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of that kind, products of all sizes by the kernel, loops shared however short they are."""
    for name, value in zip(("ROOM", "LEAST", "DEEP", "TABLE"), BLOCKS[request.param], strict=True):
        monkeypatch.setattr(convolutions, name, value)
    monkeypatch.setattr(convolutions, "SMALL_MATMUL", 0)
    monkeypatch.setattr(parallelize, "LEAST", 0)
    monkeypatch.setattr(cache, "_objects", {})
    with settings(cache=False):
        yield


def both(x: Any, w: Any, strides: Any, padding: str, dilations: Any) -> Sequence[Any]:
    """A layer, and its gradients."""
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        y = tf.nn.relu(tf.nn.convolution(x, w, strides, padding, dilations=dilations))
        loss = tf.reduce_sum(tf.sin(y))
    return [y, *tape.gradient(loss, [x, w])]


CASES = {
    "images": ((6, 6, 5, 2), (3, 2, 2, 5), 1, "SAME", 1),
    "few outputs": ((4, 6, 6, 5), (3, 3, 5, 1), 1, "VALID", 1),
    "many outputs": ((4, 6, 6, 1), (3, 3, 1, 8), 1, "SAME", 1),
    "strides": ((6, 9, 7, 3), (3, 2, 3, 4), (2, 3), "SAME", 1),
    "dilations": ((3, 9, 9, 2), (3, 3, 2, 2), 1, "SAME", (2, 1)),
    "a line": ((3, 40, 2), (7, 2, 3), 2, "VALID", 1),
    "space": ((2, 5, 4, 3, 2), (2, 2, 2, 2, 3), 1, "SAME", 1),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("in_blocks", BLOCKS, indirect=True)
@pytest.mark.parametrize("case", CASES)
def test_values_do_not_depend_on_blocks(in_blocks: None, case: str) -> None:
    shape, filters, *how = CASES[case]
    random = np.random.default_rng(0)
    x, w = tf.constant(random.normal(size=shape)), tf.constant(random.normal(size=filters))
    compiled = tf.function(both)
    for threads in (1, 3):
        with settings(num_threads=threads):
            found = [y.numpy() for y in compiled(x, w, *how)]
        if threads == 1:
            alone = found
    for y, same, expected in zip(alone, found, both(x, w, *how), strict=True):
        np.testing.assert_array_equal(y, same)
        np.testing.assert_allclose(
            y, expected.numpy(), rtol=1e-12, atol=1e-12 * np.abs(expected.numpy()).max()
        )


@pytest.mark.parametrize("in_blocks", ["some images", "one row"], indirect=True)
def test_open_batches_and_none_at_all(in_blocks: None) -> None:
    w = tf.constant(np.random.default_rng(1).normal(size=(2, 2, 1, 3)))
    signature = [tf.TensorSpec([None, 4, 4, 1], tf.float64)]
    compiled = tf.function(lambda x: both(x, w, 1, "SAME", 1), input_signature=signature)
    for images in (0, 1, 5):
        x = tf.constant(np.random.default_rng(images).normal(size=(images, 4, 4, 1)))
        for y, expected in zip(compiled(x), both(x, w, 1, "SAME", 1), strict=True):
            np.testing.assert_allclose(y.numpy(), expected.numpy(), rtol=1e-12, atol=1e-12)


def test_windows_of_many_places_are_few_loops() -> None:
    """They were two slices and nests for each place, and minutes of compiling."""
    x, w = tf.ones((1, 3000, 1)), tf.ones((301, 1, 1))
    compiled = tf.function(both)
    compiled(x, w, 1, "SAME", 1)
    assert str(compiled.loops(x, w, 1, "SAME", 1)).count("  for ") < 40


def test_sums_over_nothing_are_no_loops() -> None:
    """LLVM takes minutes for large results of loops that never run."""
    compiled = tf.function(lambda x: (tf.reduce_sum(x, (1, 2)), tf.reduce_max(x, 1)))
    zeros, lowest = compiled(tf.ones((40, 0, 3)))
    assert not zeros.numpy().any() and (lowest.numpy() == -np.inf).all()
    assert "reduce" not in str(compiled.loops(tf.ones((40, 0, 3))))
