"""Datasets made of parts of several: drawn, chosen, or put into groups by what elements are.

Part of what `Dataset` is.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import tracejit as tf

from ..errors import at_user_line
from ..random.generators import get_global_generator
from .elements import as_tensors
from .regrouping import UNKNOWN, padded, positive


class Choosing:
    """The methods of a dataset that say which element is next."""

    __slots__ = ()

    _source: Callable[[], Iterator[Any]]
    _like: Callable[..., Any]

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Any],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Any:
        """Elements of several datasets, each drawn at random.

        Parameters
        ----------
        datasets : sequence of Dataset
        weights : sequence of float, optional
            How likely each is to be drawn from; alike by default.
        seed : int, optional
            Draws the same again.
        stop_on_empty_dataset : bool
            End with the first of them; by default the others go on.
        rerandomize_each_iteration : bool, optional
            Draw anew for each reading, also with a seed.

        Raises
        ------
        ValueError
            For other than one weight for each dataset, or negative ones.

        Examples
        --------
        >>> import tracejit as tf
        >>> low, high = tf.data.Dataset.range(3), tf.data.Dataset.range(10, 12)
        >>> both = tf.data.Dataset.sample_from_datasets([low, high], [0.5, 0.5], seed=1)
        >>> sorted(int(x) for x in both)
        [0, 1, 2, 10, 11]
        """
        count = len(datasets)
        given = np.ones(count) if weights is None else np.asarray(weights, float)
        if given.shape != (count,) or not count or (given < 0).any():
            raise ValueError(
                f"{count} datasets need as many weights of 0 and more, got {weights}{at_user_line()}"
            )
        rounds = iter(range(2**62))

        def source() -> Iterator[Any]:
            first = drawn_seed() if seed is None else seed
            random = np.random.default_rng([first, next(rounds)] if rerandomize_each_iteration else first)
            left, sources = given.copy(), [iter(d._source()) for d in datasets]
            while left.sum() > 0:
                i = int(random.choice(count, p=left / left.sum()))
                for element in sources[i]:
                    yield element
                    break
                else:
                    if stop_on_empty_dataset:
                        return
                    left[i] = 0

        return datasets[0]._like(source, UNKNOWN)

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Any], choice_dataset: Any, stop_on_empty_dataset: bool = True
    ) -> Any:
        """Elements of `datasets`, the next of that whose number `choice_dataset` gives.

        With `stop_on_empty_dataset` the end is where one has no more, else it is passed over. IndexError for a number
        that is none of them.

        Examples
        --------
        >>> import tracejit as tf
        >>> low, high = tf.data.Dataset.range(3), tf.data.Dataset.range(10, 12)
        >>> order = tf.data.Dataset.from_tensor_slices([1, 0, 0])
        >>> [int(x) for x in tf.data.Dataset.choose_from_datasets([low, high], order)]
        [10, 0, 1]
        """

        def source() -> Iterator[Any]:
            sources = [iter(d._source()) for d in datasets]
            for choice in choice_dataset._source():
                if not 0 <= int(choice) < len(sources):
                    raise IndexError(f"there are {len(sources)} datasets, got {int(choice)}{at_user_line()}")
                for element in sources[int(choice)]:
                    yield element
                    break
                else:
                    if stop_on_empty_dataset:
                        return

        return datasets[0]._like(source, UNKNOWN)

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[[Any, Any], Any],
        window_size: int | None = None,
        window_size_func: Callable[[Any], Any] | None = None,
        name: str | None = None,
    ) -> Any:
        """The elements of datasets made of groups: those of the same key, up to some number at a time.

        Parameters
        ----------
        key_func : callable
            The key of an element, an integer.
        reduce_func : callable
            The dataset for a key and the dataset of a group.
        window_size : int, optional
            How many a group is, or a function of the key gives it:
        window_size_func : callable, optional

        Raises
        ------
        ValueError
            For a group of none.

        Examples
        --------
        >>> import tracejit as tf
        >>> numbers = tf.data.Dataset.range(7)
        >>> groups = numbers.group_by_window(lambda x: x % 2, lambda key, group: group.batch(3), window_size=3)
        >>> [g.numpy().tolist() for g in groups]
        [[0, 2, 4], [1, 3, 5], [6]]
        """

        def made(key: int, group: list[Any]) -> Iterator[Any]:
            reduced = reduce_func(tf.constant(key, tf.int64), self._like(lambda: iter(group), len(group)))
            return iter(reduced._source())

        def size_of(key: int) -> int:
            return positive("window_size", window_size if window_size_func is None else window_size_func(key))

        def source() -> Iterator[Any]:
            groups: dict[int, list[Any]] = defaultdict(list)
            for element in self._source():
                key = _number(key_func, element)
                groups[key].append(element)
                if len(groups[key]) == size_of(key):
                    yield from made(key, groups.pop(key))
            for key in sorted(groups):
                yield from made(key, groups[key])

        return self._like(source, UNKNOWN)

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Any:
        """Batches of elements of similar length, each filled up to the largest of its batch.

        Parameters
        ----------
        element_length_func : callable
            The length of an element, an integer.
        bucket_boundaries : sequence of int
            A bucket is for lengths from one boundary up to the next, without it.
        bucket_batch_sizes : sequence of int
            How many elements a batch has, of each bucket: one more than boundaries.
        padded_shapes, padding_values
            As for :meth:`padded_batch`.
        pad_to_bucket_boundary : bool
            Fill axes without a size up to the boundary less 1. ValueError for an element beyond the last one.
        no_padding : bool
            Batch elements of one shape without filling them up.
        drop_remainder : bool
            Leave batches out that are smaller.

        Examples
        --------
        >>> import tracejit as tf
        >>> rows = tf.data.Dataset.from_generator(lambda: ([1] * n for n in (1, 4, 2, 5)), tf.int32)
        >>> batches = rows.bucket_by_sequence_length(lambda row: tf.shape(row)[0], [3], [2, 2])
        >>> [b.numpy().tolist() for b in batches]
        [[[1, 0], [1, 1]], [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]]
        """
        boundaries, sizes = list(bucket_boundaries), list(bucket_batch_sizes)
        if len(sizes) != len(boundaries) + 1:
            raise ValueError(
                f"{len(boundaries)} bucket_boundaries need {len(boundaries) + 1} bucket_batch_sizes, got "
                f"{len(sizes)}{at_user_line()}"
            )

        def joined(bucket: int, taken: list[Any]) -> Any:
            if no_padding:
                return padded(taken, tf.nest.map_structure(lambda x: x.shape, taken[0]), 0)
            if pad_to_bucket_boundary and bucket == len(boundaries):
                raise ValueError(f"an element is longer than all bucket_boundaries{at_user_line()}")
            size = boundaries[bucket] - 1 if pad_to_bucket_boundary else None
            return padded(taken, padded_shapes, padding_values, size)

        def source() -> Iterator[Any]:
            buckets: dict[int, list[Any]] = defaultdict(list)
            for element in self._source():
                bucket = bisect.bisect_right(boundaries, _number(element_length_func, element))
                buckets[bucket].append(element)
                if len(buckets[bucket]) == sizes[bucket]:
                    yield joined(bucket, buckets.pop(bucket))
            for bucket in [] if drop_remainder else sorted(buckets):
                yield joined(bucket, buckets[bucket])

        return self._like(source, UNKNOWN)


def _number(f: Callable[..., Any], element: Any) -> int:
    """An integer that `f` finds for an element, at once."""
    with tf.init_scope(), tf.autodiff.stop_recording():
        tensors = as_tensors(element)
        found = f(*tensors) if element.__class__ is tuple else f(tensors)
        return int(tf.convert_to_tensor(found).array)


def drawn_seed() -> int:
    """A seed from the default generator, which :func:`tracejit.random.set_seed` sets."""
    with tf.init_scope():  # also where a function is traced, which reads orders that stay the same
        return int(get_global_generator().uniform((), 0, 2**31 - 1, "int64").array)
