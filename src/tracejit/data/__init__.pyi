from tracejit.core.lazy import Namespace as _Namespace
from tracejit.data.dataset import Dataset as Dataset
from tracejit.data.dataset import Options as Options
from tracejit.data.reading import DatasetIterator as DatasetIterator
from tracejit.data.reading import NumpyIterator as NumpyIterator
from tracejit.data.text_files import CsvDataset as CsvDataset
from tracejit.data.text_files import TextLineDataset as TextLineDataset

AUTOTUNE: int
INFINITE_CARDINALITY: int
UNKNOWN_CARDINALITY: int
experimental: _Namespace
