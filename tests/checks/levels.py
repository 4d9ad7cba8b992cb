"""The three levels of a whole program: kernels, loop IR, machine code; which of them diverges first, and where.

Knows what the same values are from ``modes``; knows nothing of single ops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np

from tracejit.compiler import cache, pipeline
from tracejit.compiler.loopir import interpreter as loopinterp
from tracejit.compiler.loopir.ir import Program
from tracejit.compiler.loopir.verifier import InvalidProgram, verify
from tracejit.core.autodiff.backprop import gradient_graph
from tracejit.core.autodiff.pushforward import jvp_graph
from tracejit.core.dim import Dim, evaluate
from tracejit.core.errors import at
from tracejit.core.ir.graph import Graph
from tracejit.core.ir.text import constants, parse, to_text
from tracejit.core.settings import current, settings
from tracejit.runtime.executable import Executable

from . import modes
from .derivatives import directions

Arrays = list[np.ndarray]


class Diverges(AssertionError):
    """Two levels disagree."""


def sizes_of(graph: Graph, arrays: Sequence[np.ndarray]) -> dict[str, int]:
    """Size atoms of a graph's inputs, for these arrays."""
    found = {}
    for value, array in zip(graph.inputs, arrays, strict=True):
        for size, n in zip(value.spec.shape, array.shape, strict=True):
            if isinstance(size, Dim) and size.atom is not None and not size.atom.recipe:
                found.setdefault(size.atom.name, n)
    return found


def lowered(graph: Graph) -> tuple[Program, dict[str, np.ndarray]]:
    """The loop program of a graph and its constants, valid after all passes; with the setting `check`, after each."""
    program, constants = pipeline._lowered(graph)
    try:
        verify(program)
    except InvalidProgram:  # checked after each pass, which takes as long as all of these, it names the pass
        with settings(check=True):
            pipeline._lowered(graph)
        raise
    graph.derived[("loop program", *current().shaping)] = program, constants
    return program, constants


def machine_code(graph: Graph) -> Executable:
    """Machine code of the loop program that `lowered` made, if it did: lowering is half of the work but LLVM's."""
    kept = graph.derived.pop(("loop program", *current().shaping), None)
    if kept is None:
        return cache.compile_graph(graph)
    with patch.object(pipeline, "_lowered", lambda *_: kept):
        return cache.compile_graph(graph)


def by_loops(graph: Graph, arrays: Arrays) -> Arrays:
    """Run the loop IR with its interpreter; it is made once, as machine code is."""
    key = ("loops", *current().shaping)
    if key not in graph.derived:
        graph.derived[key] = lowered(graph)
    program, constants = graph.derived[key]
    given = {k: v for k, v in sizes_of(graph, arrays).items() if k in program.atoms}
    flat, bound = loopinterp.run(program, arrays, given, [*constants.values()])
    sizes = {**given, **bound}
    outputs = []
    for values, v, shape in zip(flat, graph.outputs, program.output_shapes, strict=True):
        shape = [evaluate(s, sizes) for s in shape]
        unit = 2 if v.spec.dtype.kind == "c" else 1
        outputs.append(values[: int(np.prod(shape)) * unit].view(v.spec.dtype).reshape(shape))
    return outputs


def by_machine(graph: Graph, arrays: Arrays) -> Arrays:
    """Compile and run, twice: what a first call leaves behind must not change the second."""
    run = machine_code(graph)
    first = list(run(arrays))
    again = run(arrays)
    for position, (a, b) in enumerate(zip(first, again, strict=True)):
        if not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
            raise Diverges(f"output {position} differs from one call to the next")
    return first


LEVELS: Mapping[str, Callable[[Graph, Arrays], Arrays]] = {"loop IR": by_loops, "machine code": by_machine}


def assert_levels_agree(
    graph: Graph, arrays: Arrays, contract: bool = False, each_pass: bool = False, interpreted: bool = True
) -> None:
    """Run a graph at every level; the error names the first that diverges and the user's line.

    With `each_pass`, what every pass makes is verified, not only what the last one does. Without `interpreted`,
    machine code alone is run, which the loop IR's interpreter is a thousand times slower than.
    """
    kept = [a.copy() for a in arrays]
    reference = modes.Reference(graph, arrays)
    for level, run in LEVELS.items():
        if run is by_loops and not interpreted:
            continue
        with settings(contract=contract, check=each_pass and run is by_loops, cache=False):
            found = run(graph, arrays)
        wrong = difference(reference, found, level, contract)
        if wrong:
            raise Diverges(
                f"{level} differs from the kernels{at(culprit(graph, arrays, run, contract))}\n{wrong}"
            )
        for a, b in zip(arrays, kept, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"{level} wrote to an argument")


def difference(reference: modes.Reference, found: Arrays, level: str, contract: bool) -> str:
    """What differs from the kernels' results, or an empty string."""
    try:
        reference.assert_same(found, level)
    except AssertionError as error:
        if contract and reference.exact:  # joined roundings: judge as sums are
            return (
                ""
                if all(
                    np.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True)
                    for a, b in zip(found, reference.expected, strict=True)
                )
                else str(error)
            )
        return str(error)
    return ""


def culprit(graph: Graph, arrays: Arrays, run: Callable[[Graph, Arrays], Arrays], contract: bool) -> Any:
    """Location of the first node whose value differs when every value is returned."""
    seen = parse(to_text(graph), constants(graph))
    origins = [(k, n.location) for k, n in enumerate(graph.nodes)]
    for k, location in origins:
        seen.outputs = list(seen.nodes[k].outputs)
        seen.derived.clear()
        try:
            with settings(contract=contract, cache=False):
                found = run(seen, arrays)
            if difference(modes.Reference(seen, arrays), found, "", contract):
                return location
        except Exception:
            return location
    return None


# ---- derivatives of programs ---------------------------------------------------------------------


def derived(graph: Graph, order: str) -> Graph | None:
    """The graph of a derivative; None when nothing is differentiable."""
    if order == "value":
        return graph
    wanted = tuple(v.spec.differentiable for v in graph.inputs)
    if not any(wanted) or not any(v.spec.differentiable for v in graph.outputs):
        return None
    if order == "jvp":
        return jvp_graph(graph, wanted)[0]
    if order == "jvp of gradient":
        inner = derived(graph, "gradient")
        return None if inner is None else derived(inner, "jvp")
    inner, _ = gradient_graph(graph, wanted)
    if not inner.outputs:
        return None
    return derived(inner, "gradient") if order == "second" else inner


def complete(graph: Graph, arrays: Arrays, source: Graph, order: str, seed: int = 7) -> Arrays:
    """The program's arguments followed by random directions for the further inputs of a derivative.

    Shapes of cotangents whose size only a run tells are those of the results they belong to.
    """
    sizes = sizes_of(source, arrays)
    if len(arrays) < len(graph.inputs) and order not in ("value", "jvp"):
        results = [y for y in modes.eager(source, arrays) if y.dtype.kind in "fc"]
        for value, result in zip(graph.inputs[len(arrays) :], results, strict=False):
            for size, n in zip(value.spec.shape, result.shape, strict=True):
                if isinstance(size, Dim) and size.atom is not None:
                    sizes.setdefault(size.atom.name, n)
    further = [
        np.zeros([evaluate(s, sizes) for s in v.spec.shape], v.spec.dtype)
        for v in graph.inputs[len(arrays) :]
    ]
    return [*arrays, *directions(further, seed)]
