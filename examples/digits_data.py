"""The data of the digits example: 1,797 scanned handwritten digits, split and cut into batches.

Knows nothing of the network or of who trains it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

CLASSES = 10
SIDE = 8
PIXELS = SIDE * SIDE


class Digits(NamedTuple):
    """Images as float32 ``[n, 64]`` in 0..1 and labels as int64 ``[n]``, for training and for testing."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def load() -> Digits:
    """Return the digits, a fifth of each class held out for testing."""
    images, labels = load_digits(return_X_y=True)
    scaled = (images / 16.0).astype(np.float32)
    return split(scaled, labels.astype(np.int64))


def split(images: np.ndarray, labels: np.ndarray) -> Digits:
    """Return images and labels parted in four fifths and one fifth, each with its share of every class."""
    train, test, train_labels, test_labels = train_test_split(
        images, labels, test_size=0.2, stratify=labels, random_state=0
    )
    return Digits(train, train_labels, test, test_labels)


def batches(
    images: np.ndarray, labels: np.ndarray, size: int, epochs: int, seed: int = 0
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield shuffled batches of exactly ``size`` rows, ``len(images) // size`` of them per epoch.

    Each image is moved by up to a pixel each way, at random: a digit is the same digit a little to the left.
    """
    generator = np.random.default_rng(seed)
    for _ in range(epochs):
        order = generator.permutation(len(images))
        for start in range(0, len(images) - size + 1, size):
            rows = order[start : start + size]
            yield moved(images[rows], generator), labels[rows]


def moved(images: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return every image moved by -1, 0 or 1 pixels along both axes, the rest filled with background."""
    padded = np.pad(images.reshape(-1, SIDE, SIDE), ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (SIDE, SIDE), axis=(1, 2))
    down, right = generator.integers(0, 3, (2, len(images)))
    return windows[np.arange(len(images)), down, right].reshape(len(images), PIXELS)
