"""Checkpoints: ``tracejit.train``. Names only."""

from .checkpoint.checkpoint import Checkpoint, MismatchedCheckpoint, Restored
from .checkpoint.contents import list_variables, load_variable
from .checkpoint.index import latest_checkpoint
from .checkpoint.rotation import CheckpointManager
from .checkpoint.store import DamagedCheckpoint
