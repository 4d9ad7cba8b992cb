"""Inspection of compiled functions: source, graphs, loop programs, code, memory, and their HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.autodiff.backprop import gradient_graph
from ...core.ir.graph import Graph
from ...core.seams import html
from ..autograph.calls import converted_source
from ..execution import compiler
from ..regions.memory_policies import LoopMemory
from .methods import Method
from .signature import Call
from .specialization import Specialization


class Inspected:
    """The part of a compiled function that looks inside; it changes nothing but that it may trace."""

    __qualname__: str
    python_function: Callable[..., Any]
    input_signature: tuple[Any, ...] | None
    autograph: bool
    memory: Any
    signature: Any
    traces: Callable[[], Sequence[Specialization]]
    _specialized: Callable[..., tuple[Call, Specialization]]

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """Parameters, result and captures of each trace so far, as text."""
        return ("\n\n" if verbose else "\n").join(
            made.pretty_printed_signature(verbose) for made in self.traces()
        )

    def autograph_source(self) -> str:
        """The function as it is traced: what its control flow became, as Python text."""
        f = self.python_function
        return converted_source(f.f if isinstance(f, Method) else f)

    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """The traced graph for these arguments."""
        return self._specialized(args, kwargs)[1].graph

    def gradient_graph(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph of the gradient with respect to every float input, for these arguments."""
        return gradient_graph(self.graph(*args, **kwargs))[0]

    def memory_report(self, *args: Any, **kwargs: Any) -> list[LoopMemory]:
        """What the gradient of each loop keeps for these arguments, and how often it runs an iteration again.

        Examples
        --------
        >>> import tracejit as tf
        >>> f = tf.function(lambda x: tf.fori_loop(0, 1000, lambda i, y: tf.sin(y), x), memory=160)
        >>> (loop,) = f.memory_report(tf.constant(1.0))
        >>> loop.kept, loop.bytes, round(loop.recompute_factor, 2)
        (13, 156, 3.44)
        """
        call, made = self._specialized(args, kwargs)
        return made.memory_report(call.ndarrays())

    def loops(self, *args: Any, **kwargs: Any) -> str:
        """The loop program that these arguments are compiled to, as text."""
        made = self._specialized(args, kwargs)[1]
        with made.compiling():
            return str(compiler().loops_text(made.graph))

    def llvm(self, *args: Any, **kwargs: Any) -> str:
        """The LLVM IR that these arguments are compiled to, as text."""
        made = self._specialized(args, kwargs)[1]
        with made.compiling():
            return str(compiler().llvm_text(made.graph))

    def __repr__(self) -> str:
        traces = len(self.traces())
        parameters = "" if self.signature is None else self.signature
        return f"<tracejit.function {self.__qualname__}{parameters}, {traces} trace{'s' * (traces != 1)}>"

    def _repr_html_(self) -> str:
        return html(self)


def plain_body(x: Any) -> Callable[..., Any] | None:
    """The Python function that a compiled function runs as it stands, on its arguments as they are; None of others."""
    plain = isinstance(x, Inspected) and x.autograph and x.input_signature is None and x.memory is None
    return x.python_function if plain else None
