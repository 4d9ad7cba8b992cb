"""The conversion of control flow, for programs that speak of it: ``tracejit.autograph``. Names only."""

from .core.lazy import Namespace as _Namespace
from .frontend.autograph.calls import convert
from .frontend.function.conversion_control import do_not_convert, set_loop_options, to_code, to_graph
from .frontend.recording.taken import taken_by_each_call, taken_from
from .frontend.state.variable import tracer as current_trace

__all__ = [
    "convert",
    "do_not_convert",
    "set_loop_options",
    "to_code",
    "to_graph",
    "current_trace",
    "taken_by_each_call",
    "taken_from",
    "experimental",
]

experimental: _Namespace = _Namespace(
    "tracejit.autograph.experimental", do_not_convert=do_not_convert, set_loop_options=set_loop_options
)
