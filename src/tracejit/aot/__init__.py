"""Ahead of time: functions with their gradients as small libraries that need no Python. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from ..compiler.exporting import NotExportable
    from ..runtime.exported.container import BadArtifact
    from .artifact import Artifact
    from .exporting import export
    from .loading import load
    from .verification import NotVerified, Verification
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
