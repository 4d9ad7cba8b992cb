"""Checkpoints: ``tracejit.train``. Names only."""

from .library.checkpoint.checkpoint import Checkpoint, MismatchedCheckpoint, Restored
from .library.checkpoint.contents import list_variables, load_variable
from .library.checkpoint.index import latest_checkpoint
from .library.checkpoint.rotation import CheckpointManager
from .library.checkpoint.store import DamagedCheckpoint
