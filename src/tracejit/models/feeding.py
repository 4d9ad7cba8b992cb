"""Inputs of training: arrays to batches, and batches to examples, labels and weights. Knows no network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import tracejit as tf

from ..data.choosing import drawn_seed
from ..data.dataset import Dataset
from ..data.elements import as_element, as_tensors
from ..data.py_dataset import PyDataset
from ..data.regrouping import positive
from ..errors import at_user_line

BATCH_SIZE = 32  # unless another is given


def unpack(data: Any) -> tuple[Any, Any, Any]:
    """Examples, labels and weights of a batch; None for what is not there."""
    if not isinstance(data, tuple):
        return data, None, None
    if not 1 <= len(data) <= 3:
        raise ValueError(f"a batch is (x,), (x, y) or (x, y, weights), got {len(data)} parts{at_user_line()}")
    return (*data, None, None)[:3]


def rows_of(x: Any) -> Any:
    """How many examples there are: the first size of the first tensor."""
    return tf.nest.flatten(x, none_is_leaf=False)[0].shape[0]


def one_batch(x: Any, y: Any, weight: Any) -> Any:
    """All examples as one batch."""
    return as_tensors(_packed(_arrays(x, y, weight)))


def batches(x: Any, y: Any, weight: Any, batch_size: int | None, shuffle: bool) -> Iterable[Any]:
    """Batches of arrays or of a PyDataset, to be read again and again; a Dataset or a generator of batches as it is."""
    if isinstance(x, (Dataset, PyDataset)) or hasattr(x, "__next__"):
        if y is not None or weight is not None:
            raise ValueError(
                f"a {type(x).__name__} of batches holds labels and weights itself: leave y and sample_weight out"
                f"{at_user_line()}"
            )
        return _ByNumber(x, shuffle) if isinstance(x, PyDataset) else x
    return _OfArrays(_arrays(x, y, weight), BATCH_SIZE if batch_size is None else batch_size, shuffle)


class _OfArrays:
    """Batches of arrays, cut out at once: the elements of a Dataset, in a fraction of the time."""

    def __init__(self, arrays: Any, size: int, shuffle: bool):
        self.arrays = arrays
        self.size = positive("batch_size", size)
        self.shuffle = shuffle
        self.count = len(Dataset.from_tensor_slices(arrays))

    def __len__(self) -> int:
        return (self.count + self.size - 1) // self.size

    def __iter__(self) -> Iterator[Any]:
        order = np.random.default_rng(drawn_seed()).permutation(self.count) if self.shuffle else None
        for start in range(0, self.count, self.size):
            rows: Any = slice(start, start + self.size)
            rows = rows if order is None else order[rows]
            yield as_tensors(_packed(_rows(self.arrays, rows)))


class _ByNumber:
    """The batches of a PyDataset, which is told when reading them begins and ends."""

    def __init__(self, data: PyDataset, shuffle: bool):
        self.data = data
        self.shuffle = shuffle

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        self.data.on_epoch_begin()
        count = len(self)
        for i in np.random.default_rng(drawn_seed()).permutation(count) if self.shuffle else range(count):
            yield as_tensors(self.data[int(i)])
        self.data.on_epoch_end()


class Weighted:
    """Batches with a weight for each example: that of its class, times its own where it has one.

    Parameters
    ----------
    data : iterable of batches ``(x, y)`` or ``(x, y, weights)``
    weights : dict
        By class number; 1 for those that are not there.
    """

    data: Iterable[Any]
    weights: dict[int, float]

    def __init__(self, data: Iterable[Any], weights: dict[int, float]):
        self.data, self.weights = data, weights
        self.table: np.ndarray = np.ones(max(weights, default=0) + 1, np.float32)
        for number, weight in weights.items():
            self.table[number] = weight

    def __len__(self) -> int:
        return len(self.data)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        for batch in self.data:
            x, y, weight = unpack(batch)
            if y is None:
                raise ValueError(f"class_weight is of labels, and there are none{at_user_line()}")
            labels = np.asarray(y)
            one_hot = labels.ndim > 1 and labels.shape[-1] > 1
            classes = (labels.argmax(-1) if one_hot else labels.reshape(len(labels))).astype(np.int64)
            inside = (classes >= 0) & (classes < len(self.table))
            factors = np.where(inside, self.table[np.where(inside, classes, 0)], np.float32(1.0))
            yield as_tensors((x, y, factors if weight is None else factors * np.asarray(weight)))


def count_of(data: Iterable[Any]) -> int | None:
    """How many batches there are; None where that is not known before, or they have no end."""
    try:
        return len(data)  # type: ignore[arg-type]
    except TypeError:
        return None


def again(data: Iterable[Any]) -> Iterator[Any]:
    """The batches over and over, until a reading gives none."""
    some = True
    while some:
        some = False
        for batch in data:
            some = True
            yield batch


def split(x: Any, y: Any, weight: Any, part: float) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Examples, labels and weights without the part at their end, and that part."""
    whole = _arrays(x, y, weight)
    count = rows_of(whole)
    kept = int(count * (1.0 - part))
    if not 0 < kept < count:
        raise ValueError(f"validation_split={part} of {count} examples leaves none{at_user_line()}")
    return _rows(whole, slice(kept)), _rows(whole, slice(kept, None))


def _packed(parts: tuple[Any, ...]) -> Any:
    """What a step is given: examples without labels are by themselves, as in Keras, unless they are a tuple."""
    return parts[0] if len(parts) == 1 and not isinstance(parts[0], tuple) else parts


def _rows(arrays: Any, rows: Any) -> Any:
    return tf.nest.map_structure(lambda a: a[rows], arrays, none_is_leaf=False)


def _arrays(*parts: Any) -> tuple[Any, ...]:
    """Parts as nests of arrays, without those at the end that are None."""
    given = [as_element(tuple(p) if _is_list_of_arrays(p) else p) for p in parts if p is not None]
    if parts[1] is None and parts[2] is not None:
        raise ValueError(f"weights of examples need labels{at_user_line()}")
    return tuple(given)


def _is_list_of_arrays(x: Any) -> bool:
    return isinstance(x, list) and bool(x) and all(hasattr(a, "shape") and a.shape for a in x)


def taken(data: Iterator[Any], count: int) -> Iterator[Any]:
    """The first `count` batches."""
    for _, batch in zip(range(count), data, strict=False):
        yield batch
