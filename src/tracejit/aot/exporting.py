"""`export`: a function and its gradient become an artifact, which leaves this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..compiler.cache import call_lane
from ..compiler.exporting import NotExportable, exported
from ..core.dim import RELATIONS, Assumptions, Dim, Size, evaluate, holds, nonnegative, substitute
from ..core.errors import TracejitError, at, user_location
from ..core.ir.graph import Graph
from ..core.ir.text import constants as constants_of
from ..core.ir.text import to_text
from ..core.spec import TensorSpec
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor, state
from ..core.tracing.trace import Trace, replay, resize_graph, trace
from ..frontend.function.function import Function, function
from ..frontend.function.methods import BoundFunction
from ..frontend.function.signature import TYPICAL
from ..frontend.function.specialization import Specialization
from ..frontend.state.variable import Variable
from ..frontend.structure import Nest, flatten
from ..frontend.transforms.grad import value_and_grad
from ..runtime.exported.interface import Interface
from .artifact import Artifact, Code, KeptGraph, Sample
from .specs import Declared, checked_name, declared, names_of, unique
from .targets import machine_of

_OUTPUTS = ("value", "grad")
#: What the size of a sample is where it may be any.
_SAMPLE_SIZE = 6


def export(
    f: Callable[..., Any],
    specs: Sequence[Any],
    *,
    name: str,
    outputs: Sequence[str] = ("value", "grad"),
    wrt: int | str | Sequence[int | str] | None = None,
    targets: Sequence[str] = ("host",),
    constants: str = "embed",
    sample: Sequence[Any] | None = None,
    keep_graph: bool = True,
) -> Artifact:
    """Compile a function and its gradient for programs without Python.

    Parameters
    ----------
    f : callable
        A plain or compiled function. What prints cannot leave Python; Variables may be read, not assigned.
    specs : sequence
        One for each argument: a TensorSpec, an array that is like it, text such as ``"f64[n,3]"``, or a nest of
        them; a Python number is part of the program. Sizes with the same name are equal, and become parameters.
    name : str
        Of the C function.
    outputs : sequence of str
        ``"value"``: what `f` returns. ``"grad"``: the gradients of that, which then is a scalar.
    wrt : int, str or sequence of them, optional
        The arguments, by position or name, to differentiate by; by default all that are floats.
    targets : sequence of str
        The processors to make code for, the best first: ``"host"``, this one and those that can do as much, levels,
        such as ``"x86-64-v3"``, or other machines: ``"aarch64"``, ``"riscv64"``, ``"wasm32"``, ``"wasm32+simd128"``,
        ``"thumbv7em"``.
    constants : {"embed", "argument"}
        What becomes of Variables and arrays that `f` reads: a part of the code with their present values, or
        further parameters.
    sample : sequence, optional
        Arguments that :meth:`Artifact.verify` tries; by default the arrays among `specs`, else random numbers between
        0.5 and 1.5 and, for integers, 1.
    keep_graph : bool
        Keep what :meth:`Artifact.retarget` compiles; constants are then in a file twice.

    Returns
    -------
    Artifact

    Raises
    ------
    NotExportable
        The function needs Python, assigns Variables, or holds for some sizes only.
    ValueError
        For `outputs`, `wrt`, `targets`, `constants` or a `name` that there is not, and a `sample` of other arrays.

    Examples
    --------
    >>> import tracejit as tf
    >>> art = tf.export(lambda x: tf.reduce_sum(x * x), ["f64[n]"], name="squares")
    >>> print(art.signature)
    squares(x: float64[n]) -> (value: float64[], gx: float64[n])
    >>> import numpy as np
    >>> art(np.array([1.0, 2.0]))
    (array(5.), array([2., 4.]))
    """
    if not outputs or any(o not in _OUTPUTS for o in outputs) or len(set(outputs)) < len(outputs):
        raise ValueError(f"outputs are of {_OUTPUTS}, got {tuple(outputs)}{at(user_location())}")
    if constants not in ("embed", "argument"):
        raise ValueError(f"constants are 'embed' or 'argument', got {constants!r}{at(user_location())}")
    parts = tuple(o for o in _OUTPUTS if o in outputs)
    machines, given = [machine_of(t) for t in targets], declared(f, specs)
    chosen = _chosen(given, wrt) if "grad" in parts else []
    traced = _traced(f, given, parts, chosen, checked_name(name))
    graph, checks = _with_own_names(traced, given)
    held = traced.captured_inputs
    captured = [np.asarray(x.array) for x in held]
    if constants == "embed" and held:
        graph, held, captured = _embedded(graph, captured), [], []
    interface = _interface(name, given, traced, held, parts, chosen, checks)
    codes = [Code(machine, *exported(graph, interface, machine)) for machine in machines]
    arrays = _sample_inputs(given, sample, checks)
    kept = None if arrays is None else _sampled(graph, [*arrays, *captured])
    program = KeptGraph(to_text(graph), constants_of(graph)) if keep_graph else None
    return Artifact(codes, kept, call_lane(), program)


# ---- tracing --------------------------------------------------------------------------------------------


def _chosen(given: Declared, wrt: int | str | Sequence[int | str] | None) -> list[int]:
    """The positions of the arguments to differentiate by."""
    if wrt is None:
        found = [k for k, arg in enumerate(given.args) if _is_float(arg)]
        if not found:
            raise NotExportable(
                f"no argument is a float to differentiate by: pass outputs=('value',){at(user_location())}"
            )
        return found
    return [_position(w, given.arguments) for w in ([wrt] if isinstance(wrt, (int, str)) else wrt)]


def _is_float(arg: Any) -> bool:
    leaves, _ = flatten(arg)
    return bool(leaves) and all(isinstance(x, TensorSpec) and x.differentiable for x in leaves)


def _position(wanted: int | str, names: Sequence[str]) -> int:
    if isinstance(wanted, str) and wanted in names:
        return names.index(wanted)
    if isinstance(wanted, int) and -len(names) <= wanted < len(names):
        return wanted % len(names)
    raise ValueError(f"wrt={wanted!r}, and the arguments are {', '.join(names)}{at(user_location())}")


def _traced(
    f: Callable[..., Any], given: Declared, parts: Sequence[str], chosen: Sequence[int], name: str
) -> Specialization:
    """The trace of the function that gives the parts, as a tuple."""
    inner = f if isinstance(f, (Function, BoundFunction)) else function(f)

    def both(*args: Any) -> tuple:
        if "grad" not in parts:
            return (inner(*args),)
        value, gradients = value_and_grad(inner, list(chosen))(*args)
        return (value, gradients) if "value" in parts else (gradients,)

    both.__name__ = name
    traced = function(both, autograph=False).get_concrete_function(*given.args)
    if traced.graph.state or traced.generators:
        changed = [traced.captured_inputs[k - len(given.shapes)].name for k, _ in traced.graph.state]
        raise NotExportable(
            f"{name} assigns {', '.join(changed) or 'a random generator'}, which stays here: return the new value, and "
            f"take the old one as an argument{at(user_location())}"
        )
    return traced


# ---- sizes ----------------------------------------------------------------------------------------------


def _with_own_names(traced: Specialization, given: Declared) -> tuple[Graph, list[tuple[str, Size, Size]]]:
    """The graph with the sizes' own names, and what must hold of them."""
    names: dict[str, Size] = {name: given.shapes[i][axis] for name, i, axis in traced.atoms}
    inputs = traced.graph.inputs[: len(given.shapes)]
    pairs = [
        (have, want)
        for value, shape in zip(inputs, given.shapes, strict=True)
        for have, want in zip(value.spec.shape, shape, strict=True)
    ]
    for have, want in pairs:
        if substitute(have, names) != want:
            raise NotExportable(
                f"{traced.name} holds for {want} == {substitute(have, names)} only{_hint(have)}{at(user_location())}"
            )
    found = [(r, substitute(a, names), substitute(b, names)) for r, a, b in traced.graph.guards]
    sizes = dict.fromkeys(s for _, s in pairs if isinstance(s, Dim))
    checks = _strongest([*(("<=", 0, s) for s in sizes), *(c for c in found if not _certain(*c))])
    graph = resize_graph(traced.graph, names)
    graph.guards = ()
    return graph, checks


def _hint(size: Size) -> str:
    if size == TYPICAL:
        return ": Python looked at the size and made a program of it, a loop or a list for example"
    return ": give both one name"


def _certain(relation: str, a: Size, b: Size) -> bool:
    """Does it hold whatever the sizes are? NotExportable where it never does."""
    apart = b - a
    if isinstance(apart, int):
        if not RELATIONS[relation](0, apart):
            raise NotExportable(f"it would hold for {a} {relation} {b} only{at(user_location())}")
        return True
    return (relation == "<=" and nonnegative(apart)) or (relation == "<" and nonnegative(apart - 1))


def _strongest(checks: Sequence[tuple[str, Size, Size]]) -> list[tuple[str, Size, Size]]:
    """The checks without those that follow from another: of ``0 <= n`` and ``1 < n`` remains ``2 <= n``."""
    bounds = list(dict.fromkeys(b - a - (r == "<") for r, a, b in checks if r in ("<", "<=")))
    kept = [p for p in bounds if not any(isinstance(d := p - q, int) and d > 0 for q in bounds)]
    least = [(-sum(f for monomial, f in p.terms if not monomial), p) for p in kept if isinstance(p, Dim)]
    return [*(("<=", n, p + n) for n, p in least), *(c for c in checks if c[0] in ("==", "!="))]


def _embedded(graph: Graph, captured: Sequence[np.ndarray]) -> Graph:
    """The graph with what it has captured as constants."""
    specs = [v.spec for v in graph.inputs[: len(graph.inputs) - len(captured)]]
    atoms = {
        a.name: TYPICAL for s in specs for size in s.shape if isinstance(size, Dim) for a in size.atoms()
    }

    def body(*tensors: Tensor) -> Sequence[Tensor]:
        tracer = state.interpreter
        assert isinstance(tracer, Trace)
        return replay(graph, [*tensors, *map(tracer.constant, captured)])

    return trace(body, specs, graph.name, Assumptions(hints=atoms)).graph


# ---- names and samples ----------------------------------------------------------------------------------


def _interface(
    name: str,
    given: Declared,
    traced: Specialization,
    held: Sequence[Any],
    parts: Sequence[str],
    chosen: Sequence[int],
    checks: Sequence[tuple[str, Size, Size]],
) -> Interface:
    """The C function's parameters."""
    inputs = [n for names in given.names for n in names]
    wanted = [n for k in chosen for n in given.names[k]]
    gradients = [unique(f"g{n}", given.taken) for n in wanted]
    assert isinstance(traced.structure, Nest)
    values = names_of(traced.structure.children[0], "value") if "value" in parts else []
    values = [unique(n, given.taken) for n in values]
    pairs = [(len(values) + k, inputs.index(n)) for k, n in enumerate(wanted)]
    captured = [x.name.removesuffix(":0") if isinstance(x, Variable) else "constant" for x in held]
    return Interface(
        name,
        (*inputs, *(unique(n, given.taken) for n in captured)),
        (*values, *gradients),
        tuple(pairs) if values else (),
        tuple(checks),
    )


def _sample_inputs(
    given: Declared, sample: Sequence[Any] | None, checks: Sequence[tuple[str, Size, Size]]
) -> list[np.ndarray] | None:
    """Arguments to try; None where there are none for which the function holds."""
    dtypes = [s.dtype for s in flatten(given.args)[0] if isinstance(s, TensorSpec)]
    if sample is not None:
        leaves = flatten(list(sample))[0]
        if len(leaves) != len(dtypes):
            raise ValueError(f"the sample has {len(leaves)} arrays for {len(dtypes)}{at(user_location())}")
        return [np.asarray(x, dtype) for x, dtype in zip(leaves, dtypes, strict=True)]
    names = dict.fromkeys(a.name for s in given.shapes for d in s if isinstance(d, Dim) for a in d.atoms())
    sizes = {name: _SAMPLE_SIZE + k for k, name in enumerate(names)}
    if not holds(checks, sizes):
        return None
    random, found = np.random.default_rng(0), []
    for shape, dtype, array in zip(given.shapes, dtypes, given.arrays, strict=True):
        known = tuple(evaluate(s, sizes) for s in shape)
        made = random.uniform(0.5, 1.5, known) if dtype.kind in "fc" else np.ones(known)
        found.append(np.asarray(made, dtype) if array is None else array)
    return found


def _sampled(graph: Graph, inputs: Sequence[np.ndarray]) -> Sample | None:
    """What the graph gives for the sample, op by op and without the compiler; None where that fails."""
    try:
        outputs = replay(graph, [as_tensor(x) for x in inputs])
    except (TracejitError, ArithmeticError, ValueError, IndexError):
        return None
    return Sample(tuple(inputs), tuple(y.array for y in outputs))
