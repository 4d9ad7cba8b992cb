"""What layers need of strings: Python's functions of them, which compiled functions call too. Names only."""

from ..ops.text_values import as_text as as_text
from ..ops.text_values import computed as computed
from ..ops.text_values import each as each
from ..ops.text_values import frozen as frozen
