"""Compilation of the graph of an artifact for other processors: the only use of the compiler by a loaded artifact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..compiler.exporting import exported
from ..compiler.kernels import call_lane
from ..core.errors import at, user_location
from ..core.ir.attributes import NotAdmitted
from ..core.spec import TensorSpec
from ..core.tracing.admission import admitted
from ..runtime.exported.container import BadArtifact
from .artifact import Artifact, Code, KeptGraph, Sample
from .targets import machines_of


def retargeted(first: Code, graph: KeptGraph, sample: Sample | None, targets: Sequence[str]) -> Artifact:
    """The artifact with code for `targets`.

    Parameters
    ----------
    first : Code
        Any of the present ones: what the function takes, and its names.
    graph : KeptGraph
        From anywhere: it is admitted, as graphs in files are.
    sample : Sample or None
    targets : sequence of str

    Raises
    ------
    BadArtifact
        The graph is damaged, or of another function.
    ValueError
        There is no such target.
    """
    machines = [machines_of(t) for t in targets]
    if not machines:
        raise ValueError(f"retarget to at least one target{at(user_location())}")
    specs = [TensorSpec(shape, dtype) for dtype, shape in first.compiled.signature.inputs]
    try:
        program = admitted(graph.text, graph.constants, specs)
    except NotAdmitted as error:
        raise BadArtifact(f"the graph of {first.interface.name} is damaged: {error}") from None
    found = [(v.spec.dtype, v.spec.shape) for v in program.outputs]
    if found != list(first.compiled.signature.outputs):
        raise BadArtifact(f"the graph of {first.interface.name} gives {found}: it is another function's")
    interface = replace(first.interface, work=0)
    codes = [Code(target, *exported(program, interface, levels)) for target, levels in machines]
    return Artifact(codes, sample, call_lane(), graph)
