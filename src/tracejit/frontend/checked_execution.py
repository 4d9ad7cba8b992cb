"""Checked execution: code compiled under ``settings(nans=True)`` reports where the first NaN or infinity was made.

It fails where not all was finite; then the graph is run again op by op, which raises at the first op that made what is
not finite of what is. Results are those of the graph compiled as ever.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..compiler.cache import compile_graph
from ..compiler.graph.storage import with_bits
from ..compiler.graph.watch_numerics import guarded
from ..compiler.pipeline import optimized
from ..core import settings
from ..core.ir.graph import Graph, silent, walk
from ..core.lazy import without_collection
from ..core.tensor import Tensor
from ..core.tracing.dispatch import interpreting
from ..core.tracing.trace import replay
from ..runtime.executable import Executable


class CheckedExecutable:
    """A compiled graph that raises at the first op that makes a NaN or an infinity of finite numbers.

    Parameters
    ----------
    graph : Graph
    """

    def __init__(self, graph: Graph):
        self.graph = graph
        with without_collection(), settings.settings(fastmath=False):  # that leaves out what looks at numbers
            simplified = optimized(graph)
            self.executable: Executable = compile_graph(guarded(simplified))
        self.bits = any(v.spec.dtype.kind == "V" for v in (*graph.inputs, *graph.outputs))
        #: Was something that is not finite computed ahead?
        self.found_ahead: bool = bool(_non_finite_literals(simplified) - _non_finite_literals(graph))

    def __call__(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run the code.

        Raises
        ------
        FloatingPointError
            With the op, its inputs and the user's line.
        """
        try:
            outputs = self._by_bits(inputs) if self.bits else self.executable(inputs)
        except FloatingPointError:
            self._find(inputs)  # nothing is found where they came from outside, as the -inf of masks
            return compile_graph(self.graph)(inputs)
        except Exception:
            self._find(inputs)  # what fails on a NaN fails where it is, not where that was made
            raise
        if self.found_ahead:
            self._find(inputs)
        return outputs

    @property
    def complete(self) -> Executable | None:
        """Code that fails unless its outputs are those of a call, if there is such code."""
        return None if self.found_ahead or self.bits else self.executable

    def _by_bits(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Of bfloat16 the code knows the bits."""
        specs = [v.spec for v in self.graph.outputs]
        outputs = self.executable([with_bits(np.asarray(x)) for x in inputs])
        return [y.view(s.dtype) if s.dtype.kind == "V" else y for y, s in zip(outputs, specs, strict=True)]

    def _find(self, inputs: Sequence[np.ndarray]) -> None:
        """Run the graph op by op, up to the first that makes what is not finite."""
        with interpreting(None):
            replay(silent(self.graph), [Tensor(np.asarray(x)) for x in inputs])


def _non_finite_literals(graph: Graph) -> set[str]:
    """The keys of the constants that are not finite, those of regions too."""
    literals = [node.attrs["value"] for _, node in walk(graph) if node.op.literal]
    return {c.key for c in literals if c.array.dtype.kind in "fc" and not np.isfinite(c.array).all()}


def checked(graph: Graph) -> CheckedExecutable:
    """Checked code for a graph, made once."""
    made: CheckedExecutable | None = graph.derived.get("checked")
    if made is None:
        made = graph.derived["checked"] = CheckedExecutable(graph)
    return made
