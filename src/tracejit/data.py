"""Sequences of examples: ``tracejit.data``. Names only."""

from types import SimpleNamespace

from .library.data.dataset import Dataset, Options
from .library.data.reading import DatasetIterator, NumpyIterator

AUTOTUNE = -1
INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = -1, -2
experimental = SimpleNamespace(AUTOTUNE=AUTOTUNE, cardinality=Dataset.cardinality)
