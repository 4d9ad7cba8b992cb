"""Sequences of examples: ``tracejit.data``. Names only."""

from ..core.lazy import Namespace as _Namespace
from .dataset import Dataset, Options
from .reading import DatasetIterator, NumpyIterator
from .tables import make_csv_dataset as _make_csv_dataset
from .text_files import CsvDataset, TextLineDataset

__all__ = [
    "Dataset",
    "Options",
    "DatasetIterator",
    "NumpyIterator",
    "CsvDataset",
    "TextLineDataset",
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "experimental",
]

AUTOTUNE = -1
INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = -1, -2
experimental: _Namespace = _Namespace(
    "tracejit.data.experimental",
    AUTOTUNE=AUTOTUNE,
    CsvDataset=CsvDataset,
    cardinality=Dataset.cardinality,
    Counter=Dataset.counter,
    sample_from_datasets=Dataset.sample_from_datasets,
    choose_from_datasets=Dataset.choose_from_datasets,
    make_csv_dataset=_make_csv_dataset,
)
