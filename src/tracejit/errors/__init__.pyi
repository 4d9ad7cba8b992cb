from tracejit.compiler.exporting import NotExportable as NotExportable
from tracejit.core.autodiff.backprop import NoGradient as NoGradient
from tracejit.core.errors import AxisError as AxisError
from tracejit.core.errors import DtypeError as DtypeError
from tracejit.core.errors import FailedAssertion as FailedAssertion
from tracejit.core.errors import FailedComputation as FailedComputation
from tracejit.core.errors import GradientError as GradientError
from tracejit.core.errors import LeakedTensor as LeakedTensor
from tracejit.core.errors import OutOfRange as OutOfRange
from tracejit.core.errors import ShapeError as ShapeError
from tracejit.core.errors import SymbolicValue as SymbolicValue
from tracejit.core.errors import TracejitError as TracejitError
from tracejit.core.errors import UnknownSize as UnknownSize
from tracejit.core.errors import UnsetVariable as UnsetVariable
from tracejit.core.errors import at_user_line as at_user_line
from tracejit.core.tracing.depth import TooDeep as TooDeep
from tracejit.core.tracing.non_finite import NonFinite as NonFinite
from tracejit.core.tracing.transaction import warn as warn
from tracejit.frontend.autograph.values.built_list import ListRefused as ListRefused
from tracejit.frontend.autograph.values.kinds import UndefinedVariable as UndefinedVariable
from tracejit.frontend.function.signature import ArgumentError as ArgumentError
from tracejit.frontend.function.signature import SignatureError as SignatureError
from tracejit.frontend.state.variable_init import CreationError as CreationError
from tracejit.frontend.transforms.custom_gradient import RuleError as RuleError
from tracejit.runtime.exported.container import BadArtifact as BadArtifact

FailedPreconditionError = TracejitError
InvalidArgumentError = TracejitError
OpError = TracejitError
OutOfRangeError = OutOfRange
