"""Sizes of which 64 bits, or the memory, are too few for what a function needs: an error, never a wrapped number."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tracejit as tf
from tracejit.aot import Artifact

#: An argument without elements, of which the function makes ``n * n``.
SIZES = [2**29, 2**30, 2**31, 2**33]


def sorted_products(x):
    y = tf.reduce_sum(tf.cast(x, tf.float64), axis=1)
    products = tf.reshape(tf.expand_dims(y, 0) * tf.expand_dims(y, 1), (-1,))
    return tf.reduce_sum(tf.sort(products) * tf.cumsum(products))


@pytest.fixture(scope="module")
def art() -> Artifact:
    return tf.export(
        sorted_products, ["u8[n,0]"], name="products", outputs=["value"], targets=["host"], keep_graph=False
    )


@pytest.fixture(scope="module")
def compiled() -> Callable:
    return tf.function(sorted_products, input_signature=[tf.TensorSpec((None, 0), tf.uint8)])


@pytest.mark.parametrize("n", SIZES)
def test_no_memory_is_enough(art: Artifact, compiled: Callable, n: int) -> None:
    for call in (art, compiled):
        with pytest.raises(MemoryError, match=r"cannot allocate \d{19,} bytes"):
            call(np.zeros((n, 0), np.uint8))
        assert call(np.zeros((3, 0), np.uint8)) == 0.0


def test_the_workspace_of_a_c_function_never_wraps(art: Artifact, tmp_path: Path) -> None:
    art.write(tmp_path / "products.so")
    library = ctypes.CDLL(str(tmp_path / "products.so"))
    library.products_workspace.argtypes, library.products_workspace.restype = [ctypes.c_int64], ctypes.c_int64
    library.products_error.restype = ctypes.c_char_p
    needed = [library.products_workspace(n) for n in (0, 1, 10, 1000, 10**6, 10**8)]
    assert needed == sorted(needed) and 2 * 10**12 * 8 < needed[-2] < needed[-1] < 2**62
    for n in [*SIZES, 2**40, 2**62, 2**63 - 1]:
        assert library.products_workspace(n) == 2**63 - 1, "of so many bytes malloc has none"
        status = library.products(None, None, ctypes.c_int64(n), None)
        assert library.products_error(status) == b"out of memory"


def test_axes_longer_than_32_bits() -> None:
    """Positions are numbers of 64 bits; memory that nobody writes to costs nothing."""
    picked = tf.export(
        lambda x, i: x[i] + x[-1],
        ["u8[n]", "i64"],
        name="picked",
        outputs=["value"],
        targets=["host"],
        keep_graph=False,
    )
    x = np.zeros(2**32 + 7, np.uint8)
    x[-1], x[2**31 + 3] = 5, 7
    assert picked(x, 2**31 + 3) == 12 and picked(x, 2**32 + 6) == 10 and picked(x, -1) == 10
