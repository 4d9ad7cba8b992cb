"""Seams: what lower layers ask for and higher layers provide; the only edges of the package that no import shows.

Each is filled once, while the package is imported; an empty one says its own name. Whoever reads a call of a seam finds
here who answers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Seam(Generic[P, R]):
    """A function that a layer further up provides.

    Parameters
    ----------
    name : str
        What it is asked for.
    default : callable, optional
        What answers while nobody provides it; without one a call raises.
    """

    __slots__ = ("name", "provided")

    def __init__(self, name: str, default: Callable[P, R] | None = None):
        self.name: str = name
        self.provided: Callable[P, R] = default if default is not None else self._missing

    def _missing(self, *args: P.args, **kwargs: P.kwargs) -> R:
        raise RuntimeError(f"nothing provides {self.name}: import tracejit as a whole")

    def provide(self, f: Callable[P, R]) -> None:
        """Let `f` answer from now on."""
        self.provided = f

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.provided(*args, **kwargs)


class Event(Generic[P]):
    """Something that several may want to hear of."""

    __slots__ = ("name", "listeners")

    def __init__(self, name: str):
        self.name: str = name
        self.listeners: list[Callable[P, None]] = []

    def on(self, listener: Callable[P, None]) -> None:
        """Call `listener` each time from now on."""
        self.listeners.append(listener)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        for listener in self.listeners:
            listener(*args, **kwargs)


#: ``graph -> str``: how graphs print themselves; provided by `core.ir.text`.
graph_text: Seam[[Any], str] = Seam("graph_text", object.__repr__)

#: ``object -> HTML``: how tensors, Variables, graphs and functions look in a notebook; by ``tracejit.inspect``.
html: Seam[[Any], str] = Seam("html")

#: ``sequence of tensors and numbers -> Tensor``, joined along a new first axis; provided by `ops.arrays.shape`.
stacked: Seam[[Any], Any] = Seam("stacked")

#: ``symbolic tensor -> array or None``: the value of what needs no run to be known; by `ops.symbolic_values`.
known_while_tracing: Seam[[Any], Any] = Seam("known_while_tracing", lambda tensor: None)

#: ``size -> number``: the int that it stands for, among other numbers; by `frontend.autograph.values.weak`.
number_of_size: Seam[[Any], Any] = Seam("number_of_size")

#: ``graph -> (arrays -> arrays)``: what runs a called graph; provided by `frontend.execution`, which compiles it.
executable: Seam[[Any], Callable[..., Any]] = Seam("executable")

#: ``graph -> (tensors -> tuple of tensors)``: its code, where nobody listens; by `frontend.recording.direct_calls`.
direct: Seam[[Any], Callable[..., Any]] = Seam("direct")

#: ``graph -> forward and backward, or None``: a called graph split for reverse mode; provided by `frontend.execution`.
split: Seam[[Any], Any] = Seam("split", lambda graph: None)

#: ``name -> function``: the function of tensors of that public name; provided by ``tracejit._names``.
function_of_arrays: Seam[[str], Any] = Seam("function_of_arrays")

#: ``name -> function or None``: what NumPy calls so, for tensors; provided by ``tracejit.numpy``.
numpy_function: Seam[[str], Any] = Seam("numpy_function", lambda name: None)

#: ``(module, name, names) -> AttributeError`` for a name that a module does not have; provided by ``tracejit._names``.
unknown_name: Seam[[str, str, Iterable[str]], AttributeError] = Seam(
    "unknown_name", lambda module, name, names: AttributeError(f"module {module!r} has no attribute {name!r}")
)

#: ``(object, name) -> AttributeError`` for what a tensor or Variable does not have; provided by ``tracejit._names``.
unknown_attribute: Seam[[object, str], AttributeError] = Seam("unknown_attribute")

#: ``very -> None``: operators of eager tensors are called often, or very often; provided by
#: `frontend.tape.gradient_tape`, as machine code for them.
operators_are_hot: Seam[[bool], Any] = Seam("operators_are_hot", lambda very: None)

#: What `core.autodiff.straightline.straight_line` is given -> what it gives, as machine code, or None; provided by
#: `frontend.tape.operator_lane` once operators are called often.
machine_backward: Seam[..., Any] = Seam("machine_backward", lambda *backward: None)

#: ``() -> module`` that converted functions call; provided by `frontend.autograph.operators`.
converted_calls: Seam[[], Any] = Seam("converted_calls")

#: After every change of settings: for what remembers one for speed.
settings_changed: Event[[]] = Event("settings_changed")

#: ``message``: something was traced for the second time while the first still stands, a defect of ours.
traced_again: Event[[str]] = Event("traced_again")


def give_methods(kind: type, methods: Mapping[str, Any]) -> None:
    """Give a class of a lower layer methods that only a higher one can write.

    `Op` gets its ``__call__`` by `core.tracing.dispatch`, `Tensor` its operators and protocols by
    `ops.tensor.operators`, and both Tensor and Variable the assignment of parts by `frontend.state.variable_parts`.
    """
    for name, method in methods.items():
        setattr(kind, name, method)
