"""`export`: a function and its gradient become an artifact, which leaves this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compiler.exporting import NotExportable, exported
from ..compiler.kernels import call_lane
from ..core import settings
from ..core.dim import RELATIONS, Dim, Size, evaluate, holds, nonnegative, substitute
from ..core.errors import ShapeError, TracejitError, at, user_location
from ..core.ir.graph import Graph
from ..core.ir.text import constants as constants_of
from ..core.ir.text import to_text
from ..core.spec import TensorSpec, shape_text
from ..core.tracing.dispatch import as_tensor
from ..core.tracing.trace import replay, resize_graph
from ..frontend.function.function import Function, function
from ..frontend.function.methods import BoundFunction
from ..frontend.function.signature import TYPICAL
from ..frontend.function.specialization import Specialization
from ..frontend.structure import Structure, flatten
from ..runtime.exported.interface import Interface
from .artifact import Artifact, Code, KeptGraph, Sample
from .captured import captured_names
from .choosing import Wanted, chosen_inputs
from .outputs import Derived, Kind, Named, Roles, check, derived, kinds_of
from .specs import Declared, checked_name, declared, names_of, sizes_in, unique
from .targets import DEFAULT, machines_of

#: What the size of a sample is where it may be any.
_SAMPLE_SIZE = 6


def export(
    f: Callable[..., Any],
    specs: Sequence[Any],
    *,
    name: str,
    outputs: Sequence[str] = ("value", "grad"),
    wrt: Wanted | Sequence[Wanted] | None = None,
    targets: Sequence[str] = DEFAULT,
    constants: str = "embed",
    sample: Sequence[Any] | None = None,
    keep_graph: bool = True,
    debug: bool = False,
) -> Artifact:
    """Compile a function and its gradient for programs without Python.

    Parameters
    ----------
    f : callable
        A plain or compiled function. It must not print. It may read Variables, and with ``constants="argument"``
        assign them.
    specs : sequence
        One for each argument: a TensorSpec, an example array, text such as ``"f64[n,3]"``, or a nest of them; a
        Python number becomes a constant. Sizes with the same name are equal; each name becomes a parameter.
    name : str
        Of the C function.
    outputs : str or sequence of str
        ``"value"``: the result of `f`. If it is a float scalar: ``"grad"``, its gradients; ``"hvp"``, Hessian-vector
        products, for vectors that are further parameters; ``"hessian"``. For any floats: ``"jvp"``, tangents of the
        results for given tangents of the inputs; ``"vjp"``, cotangents of the inputs for given cotangents of the
        results; ``"jacobian"``, for each result and input an array with the axes of both, by the cheaper mode.
    wrt : int, str, Variable or sequence of them, optional
        The inputs to differentiate by: arguments by position or name; parts of arguments and Variables by their
        path, ``"params.layers.0"``, ``"dense.kernel"``; or Variables themselves. By default all floats in the
        arguments.
    targets : sequence of str
        The processors to compile for, the most capable first. ``"x86-64"``, the default on such machines: every
        processor since about 2009, with code for the levels v2, v3 and v4, of which the best supported one runs.
        ``"host"``: this processor, and others with the same features. Single levels: ``"x86-64-v3"`` for example.
        Other machines: ``"aarch64"``, ``"riscv64"``, ``"wasm32"``, ``"wasm32+simd128"``, ``"thumbv7em"``.
    constants : {"embed", "argument"}
        Variables and arrays that `f` reads become constants with their present values, or further parameters. With
        ``"argument"`` `f` may assign Variables: their new values are the last results, ``new_`` and the parameter.
    sample : sequence, optional
        Arguments for :meth:`Artifact.verify`; by default the arrays among `specs`, else random numbers between 0.5
        and 1.5 and, for integers, 1.
    keep_graph : bool
        Keep what :meth:`Artifact.retarget` compiles; constants are then in a file twice.
    debug : bool
        Add debug information: debuggers and profilers show the lines of `f` and of the functions it calls. The code
        is the same; the files are larger. Linux only.

    Returns
    -------
    Artifact

    Raises
    ------
    NotExportable
        The function needs Python, assigns Variables that are constants, draws random numbers, returns nothing, or holds
        for some sizes only.
    ValueError
        For `outputs`, `wrt`, `targets`, `constants` or a `name` that there is not, and a `sample` of other arrays.
    ArgumentError
        For more or fewer specs than `f` takes arguments.
    ShapeError, DtypeError
        For derivatives that the function does not have, as it returns no float, or more than one.

    Examples
    --------
    >>> import tracejit as tf
    >>> art = tf.export(lambda x: tf.reduce_sum(x * x), ["f64[n]"], name="squares")
    >>> print(art.signature)
    squares(x: float64[n]) -> (value: float64[], gx: float64[n])
    >>> import numpy as np
    >>> art(np.array([1.0, 2.0]))
    (array(5.), array([2., 4.]))
    >>> art = tf.export(lambda x: tf.reduce_sum(x * x * x), ["f64[n]"], name="cubes", outputs=["grad", "hvp"])
    >>> print(art.signature)
    cubes(x: float64[n], vx: float64[n]) -> (gx: float64[n], hx: float64[n])
    >>> w = tf.Variable([1.0, 2.0], name="w")
    >>> def step(x):
    ...     w.assign_sub(0.1 * x)
    ...     return tf.reduce_sum(w)
    >>> print(tf.export(step, ["f32[2]"], name="step", outputs="value", constants="argument").signature)
    step(x: float32[2], w: float32[2]) -> (value: float32[], new_w: float32[2])
    """
    made = exported_program(
        f,
        specs,
        name=name,
        outputs=outputs,
        wrt=wrt,
        targets=targets,
        constants=constants,
        sample=sample,
        keep_graph=keep_graph,
        debug=debug,
        assigning=constants == "argument",
    ).artifact
    if not made.results:
        raise NotExportable(
            f"{name} returns no array, so that there is nothing to export{at(user_location())}"
        )
    return made


class Exported(NamedTuple):
    """An artifact, and what is known of it only where the function is.

    Attributes
    ----------
    artifact : Artifact
    captures : tuple of Variable or Tensor
        What the last parameters stand for, with ``constants="argument"``.
    structure : Structure
        Of what the function returns.
    """

    artifact: Artifact
    captures: tuple[Any, ...]
    structure: Structure


def exported_program(
    f: Callable[..., Any],
    specs: Sequence[Any],
    *,
    name: str,
    outputs: Sequence[str],
    wrt: Wanted | Sequence[Wanted] | None = None,
    targets: Sequence[str] = DEFAULT,
    constants: str = "embed",
    sample: Sequence[Any] | bool | None = None,
    keep_graph: bool = True,
    debug: bool = False,
    assigning: bool = False,
) -> Exported:
    """What :func:`export` makes, for whoever calls it in the place of the function; ``sample=False`` tries nothing.

    Unless `assigning`, a function that assigns Variables is refused.
    """
    kinds = kinds_of(outputs)
    if constants not in ("embed", "argument"):
        raise ValueError(f"constants are 'embed' or 'argument', got {constants!r}{at(user_location())}")
    embedded = constants == "embed"
    machines, given = [machines_of(t) for t in targets], declared(f, specs)
    with settings.settings(debug_info=debug):
        traced = _traced(f, given, checked_name(name))
        traced.require_its_own()
        read = captured_names(f, traced.captured_inputs)
        _refuse_state(traced, given, read, assigning)
        graph, checks = _with_own_names(traced, given)
        taken = set(given.taken)
        names = [*given.parameters, *(unique(n, taken) for n in read)]
        chosen = _chosen(wrt, kinds, given, traced, names, [*given.paths, *read], embedded)
        roles = _roles(graph, traced, names, chosen)
        check(kinds, roles, name, sizes_in(given.shapes))
        held = [np.asarray(x.array) for x in traced.captured_inputs]
        program = derived(graph, kinds, chosen, roles, held if embedded else [], checks)
        checks = _strongest([*checks, *(c for c in program.graph.guards if not _certain(*c))])
        program.graph.guards = ()
        if embedded:
            names, taken, held = given.parameters, given.taken, []
        interface = _interface(name, names, taken, program, chosen, checks)
        codes = [Code(target, *exported(program.graph, interface, levels)) for target, levels in machines]
    arrays = None
    if not isinstance(sample, bool):
        arrays = _sample_inputs(given, sample, checks, held, program.further)
    kept = None if arrays is None else _sampled(program.graph, arrays)
    text = KeptGraph(to_text(program.graph), constants_of(program.graph)) if keep_graph else None
    captures = () if embedded else tuple(traced.captured_inputs)
    return Exported(Artifact(codes, kept, call_lane(), text), captures, traced.structure)


# ---- tracing --------------------------------------------------------------------------------------------


def _traced(f: Callable[..., Any], given: Declared, name: str) -> Specialization:
    """The trace of the function."""
    inner = f if isinstance(f, (Function, BoundFunction)) else function(f)

    def called(*args: Any) -> Any:
        return inner(*args)

    called.__name__ = name
    traced = function(called, autograph=False).get_concrete_function(*given.args)
    return traced


def _refuse_state(traced: Specialization, given: Declared, read: Sequence[str], assigning: bool) -> None:
    """NotExportable where calls leave something behind that the interface has no place for."""
    name, where = traced.name, at(user_location())
    if traced.generators:
        raise NotExportable(
            f"{name} assigns a random generator, which stays here: take a seed as an argument, and draw with "
            f"random.stateless_normal or its like{where}"
        )
    changed = ", ".join(read[k - len(given.shapes)] for k, _ in traced.graph.state)
    if changed and not assigning:
        raise NotExportable(
            f"{name} assigns {changed}, which stays here: return the new value, and take the old one as an argument; "
            f"or pass constants='argument', which makes parameters of Variables, and results of their new values{where}"
        )


def _chosen(
    wrt: Any,
    kinds: Sequence[Kind],
    given: Declared,
    traced: Specialization,
    names: Sequence[str],
    paths: Sequence[str],
    embedded: bool,
) -> list[int]:
    """The inputs to differentiate by; none where nothing is differentiated."""
    if all(kind.name == "value" for kind in kinds):
        return []
    held = traced.captured_inputs
    chosen = chosen_inputs(wrt, given, held, names, paths, [v.spec for v in traced.graph.inputs])
    lost = [paths[k] for k in chosen if k >= len(names) - len(held)]
    if lost and embedded:
        raise ValueError(
            f"wrt names {', '.join(lost)}, which becomes a part of the code: pass constants='argument'"
            f"{at(user_location())}"
        )
    return chosen


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
                f"{traced.name} holds for {want} == {substitute(have, names)} only{_hint(have, want)}"
                f"{at(user_location())}"
            )
    found = [(r, substitute(a, names), substitute(b, names)) for r, a, b in traced.graph.guards]
    sizes = dict.fromkeys(s for _, s in pairs if isinstance(s, Dim))
    checks = _strongest([*(("<=", 0, s) for s in sizes), *(c for c in found if not _certain(*c))])
    graph = resize_graph(traced.graph, names)
    graph.guards = ()
    return graph, checks


def _hint(have: Size, want: Size) -> str:
    if have == TYPICAL:
        return ": Python looked at the size and made a program of it, a loop or a list for example"
    return f": write {have} in the place of {want}" if isinstance(have, int) else ": give both one name"


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


# ---- names and samples ----------------------------------------------------------------------------------


def _roles(graph: Graph, traced: Specialization, names: Sequence[str], chosen: Sequence[int]) -> Roles:
    """The arrays that outputs are about, by the names of parameters."""
    results = names_of(traced.structure, "value")
    values = [Named(n, v.spec) for n, v in zip(results, graph.outputs, strict=False)]
    ys = [y for y in values if y.spec.differentiable]
    changed = [Named(f"new_{names[k]}", graph.outputs[y].spec) for k, y in traced.graph.state]
    return Roles(values, ys, [Named(names[k], graph.inputs[k].spec) for k in chosen], changed)


def _interface(
    name: str,
    inputs: Sequence[str],
    taken: set[str],
    program: Derived,
    chosen: Sequence[int],
    checks: Sequence[tuple[str, Size, Size]],
) -> Interface:
    """The C function's parameters."""
    further = [unique(x.name, taken) for x in program.further]
    outputs = [unique(n, taken) for n in program.names]
    pairs = (
        [(program.gradients + k, x) for k, x in enumerate(chosen)] if program.gradients is not None else []
    )
    return Interface(name, (*inputs, *further), tuple(outputs), tuple(pairs), tuple(checks))


def _sample_inputs(
    given: Declared,
    sample: Sequence[Any] | None,
    checks: Sequence[tuple[str, Size, Size]],
    constants: Sequence[np.ndarray],
    further: Sequence[Named],
) -> list[np.ndarray] | None:
    """Arguments to try; None where there are none for which the function holds."""
    dtypes = [s.dtype for s in flatten(given.args)[0] if isinstance(s, TensorSpec)]
    sizes = {name: _SAMPLE_SIZE + k for k, name in enumerate(sizes_in(given.shapes))}
    random = np.random.default_rng(0)
    if sample is not None:
        leaves = flatten(list(sample))[0]
        if len(leaves) != len(dtypes):
            raise ValueError(f"the sample has {len(leaves)} arrays for {len(dtypes)}{at(user_location())}")
        found = [np.asarray(x, dtype) for x, dtype in zip(leaves, dtypes, strict=True)]
        sizes = _sizes_of(given.shapes, found)
    elif not holds(checks, sizes):
        return None
    else:
        specs = zip(given.shapes, dtypes, given.arrays, strict=True)
        found = [
            _drawn(random, shape, dtype, sizes) if array is None else array for shape, dtype, array in specs
        ]
    drawn = [_drawn(random, x.spec.shape, x.spec.dtype, sizes) for x in further]
    return [*found, *constants, *drawn]


def _sizes_of(shapes: Sequence[Sequence[Size]], arrays: Sequence[np.ndarray]) -> dict[str, int]:
    """The sizes that have names, in arrays of these shapes."""
    found: dict[str, int] = {}
    for shape, x in zip(shapes, arrays, strict=True):
        pairs = zip(shape, x.shape, strict=False)
        found.update({s.atom.name: size for s, size in pairs if isinstance(s, Dim) and s.atom})
    for shape, x in zip(shapes, arrays, strict=True):
        if x.shape != tuple(evaluate(s, found) for s in shape):
            raise ShapeError(
                f"the sample has the shape {shape_text(x.shape)} where {shape_text(shape)} is needed"
                f"{at(user_location())}"
            )
    return found


def _drawn(
    random: np.random.Generator, shape: Sequence[Size], dtype: np.dtype, sizes: Mapping[str, int]
) -> np.ndarray:
    known = tuple(evaluate(s, sizes) for s in shape)
    return np.asarray(random.uniform(0.5, 1.5, known) if dtype.kind in "fcV" else np.ones(known), dtype)


def _sampled(graph: Graph, inputs: Sequence[np.ndarray]) -> Sample | None:
    """What the graph gives for the sample, op by op and without the compiler; None where that fails."""
    try:
        outputs = replay(graph, [as_tensor(x) for x in inputs])
    except (TracejitError, ArithmeticError, ValueError, IndexError):
        return None
    return Sample(tuple(inputs), tuple(y.array for y in outputs))
