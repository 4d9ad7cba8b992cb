"""``tracejit.types``: types that programs written for other libraries name. Names only."""

from ..core.lazy import Namespace
from ..frontend.function.function import Function
from ..frontend.function.specialization import Specialization
from ..frontend.recording.tracing_types import SupportsTracingProtocol, TraceType, TracingContext

types: Namespace = Namespace(
    "tracejit.types",
    experimental=Namespace(
        "tracejit.types.experimental",
        ConcreteFunction=Specialization,
        GenericFunction=Function,
        PolymorphicFunction=Function,
        SupportsTracingProtocol=SupportsTracingProtocol,
        TraceType=TraceType,
        TracingContext=TracingContext,
    ),
)
