"""Checkpoints, and logs that are not written: ``tracejit.train``. Names only.

Written by ``python -m stubs`` in `tests`: do not edit.
"""
from tracejit.train.checkpoint.checkpoint import Checkpoint as Checkpoint
from tracejit.train.checkpoint.checkpoint import MismatchedCheckpoint as MismatchedCheckpoint
from tracejit.train.checkpoint.checkpoint import Restored as Restored
from tracejit.train.checkpoint.contents import CheckpointReader as CheckpointReader
from tracejit.train.checkpoint.contents import list_variables as list_variables
from tracejit.train.checkpoint.contents import load_checkpoint as load_checkpoint
from tracejit.train.checkpoint.contents import load_variable as load_variable
from tracejit.train.checkpoint.index import latest_checkpoint as latest_checkpoint
from tracejit.train.checkpoint.rotation import CheckpointManager as CheckpointManager
from tracejit.train.checkpoint.store import DamagedCheckpoint as DamagedCheckpoint
from tracejit.train import summary as summary
