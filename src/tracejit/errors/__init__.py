"""Exceptions: those that this package raises, and names by which programs for TensorFlow catch them. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from ..compiler.exporting import NotExportable
    from ..core.autodiff.backprop import NoGradient
    from ..core.errors import (
        AxisError,
        DtypeError,
        FailedAssertion,
        FailedComputation,
        GradientError,
        LeakedTensor,
        OutOfRange,
        ShapeError,
        SymbolicValue,
        TracejitError,
        UnknownSize,
        UnsetVariable,
        at_user_line,
    )
    from ..core.tracing.depth import TooDeep
    from ..core.tracing.non_finite import NonFinite
    from ..core.tracing.transaction import warn
    from ..frontend.autograph.values.built_list import ListRefused
    from ..frontend.autograph.values.kinds import UndefinedVariable
    from ..frontend.function.signature import ArgumentError, SignatureError
    from ..frontend.state.variable_init import CreationError
    from ..frontend.transforms.custom_gradient import RuleError
    from ..runtime.exported.container import BadArtifact

    OutOfRangeError = OutOfRange
    OpError = TracejitError
    InvalidArgumentError = TracejitError
    FailedPreconditionError = TracejitError
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
