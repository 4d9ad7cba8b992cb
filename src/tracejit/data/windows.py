"""Windows of steps of a series of values, as a Dataset."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tf

from ..errors import at_user_line
from .dataset import Dataset
from .regrouping import positive


def timeseries_dataset_from_array(
    data: Any,
    targets: Any,
    sequence_length: int,
    sequence_stride: int = 1,
    sampling_rate: int = 1,
    batch_size: int | None = 128,
    shuffle: bool = False,
    seed: int | None = None,
    start_index: int | None = None,
    end_index: int | None = None,
) -> Dataset:
    """Windows of `data`, each with its target, in batches.

    Parameters
    ----------
    data : array-like
        Axis 0 counts steps.
    targets : array-like or None
        ``targets[i]`` goes with the window that begins at step `i`; without them elements are windows alone.
    sequence_length, sampling_rate : int
        How many steps a window has, and from one of them to the next.
    sequence_stride : int
        From the begin of a window to that of the next.
    batch_size : int or None
        None: one window an element.
    shuffle : bool
        Windows in random order, which `seed` repeats.
    start_index, end_index : int, optional
        The part of `data` and `targets` that is used.

    Raises
    ------
    ValueError
        For sizes that are not positive, and where no window fits.

    Examples
    --------
    >>> import tracejit as tf
    >>> series = tf.range(5)
    >>> windows = tf.keras.utils.timeseries_dataset_from_array(series[:-1], series[2:], sequence_length=2)
    >>> for x, y in windows:
    ...     print(x.numpy().tolist(), y.numpy().tolist())
    [[0, 1], [1, 2], [2, 3]] [2, 3, 4]
    """
    length = positive("sequence_length", sequence_length)
    rate, stride = positive("sampling_rate", sampling_rate), positive("sequence_stride", sequence_stride)
    part = slice(start_index, end_index)
    steps = np.asarray(tf.convert_to_tensor(data).array)[part]
    goals = None if targets is None else np.asarray(tf.convert_to_tensor(targets).array)[part]
    count = len(steps) - (length - 1) * rate
    count = count if goals is None else min(count, len(goals))
    if count < 1:
        raise ValueError(f"of {len(steps)} steps no window of {length} is taken{at_user_line()}")

    def window(start: Any) -> Any:
        first = int(start)
        x = steps[first : first + length * rate : rate]
        return x if goals is None else (x, goals[first])

    starts = Dataset.from_tensor_slices(np.arange(0, count, stride))
    if shuffle:
        starts = starts.shuffle(max(len(starts), 1), seed=seed)
    windows = starts.map(window)
    return windows if batch_size is None else windows.batch(batch_size)
