"""The types of op dispatch: records of calls, interpreters, and listeners. Knows no thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np

from .errors import Location
from .op import Op
from .tensor import Tensor

#: The parameters and the result of a function that a transform keeps.
P = ParamSpec("P")
R = TypeVar("R")


class Record:
    """One op call that happened: the same five fields as a graph's Node."""

    __slots__ = ("op", "inputs", "attrs", "outputs", "location")

    def __init__(
        self,
        op: Op,
        inputs: tuple[Any, ...],
        attrs: Mapping[str, Any],
        outputs: tuple[Any, ...],
        location: Location | None,
    ):
        self.op: Op = op
        self.inputs: tuple[Any, ...] = inputs
        self.attrs: Mapping[str, Any] = attrs
        self.outputs: tuple[Any, ...] = outputs
        self.location: Location | None = location


class Interpreter(Protocol):
    """What an op call means."""

    def run(
        self, op: Op, inputs: tuple[Tensor, ...], attrs: Mapping[str, Any], location: Location | None
    ) -> tuple[Tensor, ...]: ...

    def constant(self, array: np.ndarray) -> Tensor: ...


class Recorder(Protocol):
    """Something that listens to op calls."""

    def record(self, record: Record) -> None: ...


class Guard(Recorder, Protocol):
    """A recorder that answers for whole derivatives: it hears of values that leave also from inside of a trace."""

    def on_event(self, kind: str, tensor: Tensor, owner: int) -> None: ...

    def carries(self, tensor: Tensor) -> bool: ...

    def writing(self) -> None: ...

    def note_written(self, tensor: Tensor, new: Tensor | None, index: Any) -> None: ...
