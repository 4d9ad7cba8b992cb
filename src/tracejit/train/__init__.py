"""Checkpoints, and logs that are not written: ``tracejit.train``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from . import summary
    from .checkpoint.checkpoint import Checkpoint, MismatchedCheckpoint, Restored
    from .checkpoint.contents import CheckpointReader, list_variables, load_checkpoint, load_variable
    from .checkpoint.index import latest_checkpoint
    from .checkpoint.rotation import CheckpointManager
    from .checkpoint.store import DamagedCheckpoint
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
