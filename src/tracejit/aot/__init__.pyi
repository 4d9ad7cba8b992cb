from tracejit.aot.artifact import Artifact as Artifact
from tracejit.aot.exporting import export as export
from tracejit.aot.loading import load as load
from tracejit.aot.verification import NotVerified as NotVerified
from tracejit.aot.verification import Verification as Verification
from tracejit.compiler.exporting import NotExportable as NotExportable
from tracejit.runtime.exported.container import BadArtifact as BadArtifact
