"""The three modes of running a program, and when two results are the same.

A program is a graph: kernels run it, the loop IR's interpreter runs it, machine code runs it. Where every op
is exact the results are equal bit by bit; else they differ by no more than four times the spread of eight
runs in which every result is moved by a rounding error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tracejit.core.autodiff.backprop import gradient_graph
from tracejit.core.ir.graph import Graph, walk
from tracejit.core.ir.text import to_text
from tracejit.core.op import Op
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.dispatch import interpreting
from tracejit.core.tracing.interpreters import Perturb
from tracejit.core.tracing.trace import replay, trace
from tracejit.ops.elementwise.formulas.families import ITERATED
from tracejit.ops.lowering import Callback, Compose, Formula, Scalar

from .cases import Case
from .derivatives import directions

Arrays = list[np.ndarray]

#: Scalar operations of the loop IR whose result is the one nearest to the true value, on real numbers.
ROUNDED = frozenset(
    "add sub mul div neg sqrt abs sign min max floor round cast select lt le gt ge eq ne and or not isnan "
    "floordiv mod conj real imag complex".split()
)
#: Ops whose result is a sum of many terms.
SUMS = frozenset(
    "reduce_sum cumsum matmul convolution convolution_filters convolution_inputs place scatter_add window_add "
    "slice_add".split()
)
#: Ops that LAPACK does in another order than machine code.
FACTORED = frozenset("solve triangular_solve det slogdet inverse cholesky cholesky_pullback".split())
#: Ops of which the kernel does what else many ops do.
OF_PARTS = frozenset(
    {"dense", *(f"{k}_cross_entropy{s}" for k in ("sparse", "dense") for s in ("", "_slope"))}
)
#: Units in the last place that a sum may be off, of the sum of the magnitudes of its terms.
SUM_ULPS = 8
#: The same of a formula that iterates, of its value: exponents in it are as large as logarithms of floats, which is
#: 1000, and along parameters differences of such terms.
ITERATED_ULPS = 4000


def eager(graph: Graph, arrays: Sequence[np.ndarray]) -> Arrays:
    """Run kernel by kernel."""
    return [t.array for t in replay(graph, [Tensor(a) for a in arrays])]


def is_exact(graph: Graph) -> bool:
    """Must all modes agree bit by bit?"""
    return all(_exact(n.op, [v.spec.dtype for v in (*n.inputs, *n.outputs)]) for _, n in walk(graph))


def _exact(op: Op, dtypes: list[np.dtype]) -> bool:
    floating = any(d.kind in "fc" for d in dtypes)
    if isinstance(op.lower, Scalar):
        return op.lower.name in ROUNDED and not (op.name in PRODUCTS and _complex(dtypes))
    if op.name in SUMS:
        return not floating
    if op.name in FACTORED or iterates(op):
        return False
    exact = op.name in EXACT_COMPOSED or not isinstance(op.lower, Compose)
    return exact and not (op.name in PRODUCTS and _complex(dtypes))


def iterates(op: Op) -> bool:
    """Is it by a formula whose loops run until its elements are exact?"""
    return isinstance(op.lower, Formula) or (isinstance(op.lower, Scalar) and op.lower.name in ITERATED)


def _complex(dtypes: list[np.dtype]) -> bool:
    return any(d.kind == "c" for d in dtypes)


#: Exact ops that are written with other ops.
EXACT_COMPOSED = frozenset({"square", "relu", "read", "is_nan"})
#: Ops that multiply within one complex number: NumPy itself rounds these in more than one way.
PRODUCTS = frozenset({"multiply", "divide", "square", "abs", "sqrt"})


class Moved(Perturb):
    """Perturb, with sums moved by what sums may be off."""

    def seen(self, op: Op, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if op.name in SUMS and outputs[0].dtype.kind in "fc":
            return outputs  # moved in `run`, where the attributes are known
        return super().seen(op, inputs, outputs)

    def run(self, op, inputs, attrs, location):  # type: ignore[no-untyped-def]
        if op.name in OF_PARTS:  # as sensitive as its parts are, each of which moves
            return (op.lower.rule(*inputs, **attrs),)
        outputs = super().run(op, inputs, attrs, location)
        if iterates(op):
            y = outputs[0].array
            step = ITERATED_ULPS / 4 * np.finfo(np.float64).eps * np.abs(y.astype(np.float64))
            return (Tensor(np.asarray(y + step * self.random.uniform(-1, 1, y.shape), y.dtype)),)
        if op.name not in SUMS or outputs[0].dtype.kind not in "fc":
            return outputs
        y = outputs[0].array
        sizes = [np.abs(t.array) if t.dtype.kind in "fc" else t.array for t in inputs]
        magnitude = op.kernel(*sizes, **attrs)
        step = SUM_ULPS / 4 * np.finfo(y.dtype).eps * np.abs(magnitude)
        return (Tensor(np.asarray(y + step * self.random.uniform(-1, 1, y.shape), y.dtype)),)


def bounds(graph: Graph, arrays: Arrays, expected: Arrays) -> Iterator[Arrays]:
    """Per element of each output, how far another mode may be off, as each perturbed run widens it."""
    floors = [_floor(y) for y in expected]
    yield floors  # most modes are this near, and nothing has to be run
    spread = [np.zeros(y.shape) for y in expected]
    for seed in range(8):
        with interpreting(Moved(seed)), np.errstate(all="ignore"):
            moved = replay(graph, [Tensor(a) for a in arrays])
        for s, m, y in zip(spread, moved, expected, strict=True):
            if y.dtype.kind in "fc":
                with np.errstate(all="ignore"):
                    distance = np.abs(m.array.astype(complex) - y)
                np.maximum(s, np.where(np.isfinite(distance), distance, 0), out=s)
        yield [4 * s + floor for s, floor in zip(spread, floors, strict=True)]


def _floor(y: np.ndarray) -> np.ndarray:
    """What the two modes' elementary functions may be off in the last step, and denormals flushed nowhere."""
    if y.dtype.kind not in "fc":
        return np.zeros(y.shape)
    ulps = 8 if y.dtype.kind == "c" else 4
    limits = np.finfo(y.dtype)
    with np.errstate(all="ignore"):
        size = np.abs(y).astype(float)
    return ulps * (limits.eps * np.where(np.isfinite(size), size, 0) + float(limits.smallest_subnormal))


class Reference:
    """What the kernels return for a graph, and how far another mode may be off: found once for all modes."""

    def __init__(self, graph: Graph, arrays: Arrays):
        self.graph, self.arrays = graph, arrays
        self.expected = eager(graph, arrays)
        self.exact = is_exact(graph)
        self.ties = any(n.op.name in ("reduce_max", "reduce_min") for n in graph.nodes)  # 0.0 or -0.0

        self._wider = bounds(graph, arrays, self.expected)
        self._bounds = next(self._wider)

    def assert_same(self, found: Arrays, mode: str, contracted: bool = False) -> None:
        """Compare a mode's results with the eager ones, by the rule for this graph.

        Where products and sums may be `contracted` into one rounding, nothing is exact.
        """
        assert len(found) == len(self.expected)
        exact = self.exact and not contracted
        bounds = [np.zeros(y.shape) for y in self.expected] if exact else self._bounds
        while (error := self._difference(found, mode, bounds, exact)) is not None:
            wider = None if exact else next(self._wider, None)
            if wider is None:
                raise AssertionError(error)
            bounds = self._bounds = wider

    def _difference(self, found: Arrays, mode: str, bounds: Arrays, exact: bool) -> str | None:
        for position, (a, b, bound) in enumerate(zip(found, self.expected, bounds, strict=True)):
            assert (a.dtype, a.shape) == (b.dtype, b.shape), self._where(mode, position)
            wrong = differing(a, b, bound, signs=exact and not self.ties)
            if wrong.any():
                shown = {"found": a, "expected": b, "allowed": bound}
                lines = [self._where(mode, position), *(f"{k}: {v[wrong][:4]}" for k, v in shown.items())]
                return "\n".join(lines)
        return None

    def _where(self, mode: str, position: int) -> str:
        return f"{mode}, output {position} of\n{to_text(self.graph)}"


def assert_same(graph: Graph, arrays: Arrays, found: Arrays, mode: str, contracted: bool = False) -> None:
    """Compare one mode's results with the eager ones."""
    Reference(graph, arrays).assert_same(found, mode, contracted)


def differing(a: np.ndarray, b: np.ndarray, bound: np.ndarray, signs: bool = False) -> np.ndarray:
    """Where `a` is not `b` within `bound`: NaN equals NaN, and with `signs` zeros must have the same one."""
    if a.dtype.kind == "c":
        ok = ~differing(a.real, b.real, bound, signs) & ~differing(a.imag, b.imag, bound, signs)
        return np.asarray(~ok)
    if a.dtype.kind != "f":
        return np.asarray(a != b)
    with np.errstate(all="ignore"):
        near = np.abs(a.astype(float) - b.astype(float)) <= bound
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | near
    if signs:
        same &= (np.signbit(a) == np.signbit(b)) | np.isnan(a)
    return np.asarray(~same)


# ---- programs made of cases -----------------------------------------------------------------------------


def program(cases: Sequence[Case], order: int) -> Graph:
    """All cases side by side as one graph, differentiated `order` times."""
    bounds = np.cumsum([0, *(len(c.specs) for c in cases)])

    def run(*xs: Tensor) -> list[Tensor]:
        return [y for c, a, b in zip(cases, bounds[:-1], bounds[1:], strict=True) for y in c(*xs[a:b])]

    graph = trace(run, [s for c in cases for s in c.specs], "cases").graph
    wanted = [i in c.active for c in cases for i in range(len(c.specs))]
    for _ in range(order):
        graph, _ = gradient_graph(graph, tuple(wanted))
        wanted = [v.spec.differentiable for v in graph.inputs]
    return graph


def program_arguments(cases: Sequence[Case], graph: Graph) -> Arrays:
    """The cases' arguments, then random cotangents for the graph's further inputs."""
    arrays = [a for c in cases for a in c.arguments()]
    further = [np.zeros(v.spec.shape, v.spec.dtype) for v in graph.inputs[len(arrays) :]]
    return arrays + directions(further, 5)


# ---- special values -------------------------------------------------------------------------------------


def special_values(dtype: np.dtype) -> np.ndarray:
    """NaN, infinities, zeros of both signs, denormals and the limits, and ordinary numbers between."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.array([limits.min, limits.max, 0, 1, 2, limits.min + 1] + [-1] * (dtype.kind == "i"), dtype)
    if dtype.kind == "c":
        parts = special_values(np.dtype(f"float{dtype.itemsize * 4}"))[:8]
        return (parts[:, None] + 1j * parts[None, :]).reshape(-1).astype(dtype)
    limits = np.finfo(dtype)
    tiny = limits.smallest_subnormal
    positive = [0.0, np.inf, tiny, 3.5 * limits.tiny, limits.tiny / 2, 1.0, 0.5, 2.5, limits.max, 88.0, 1e-3]
    return np.array([np.nan, *positive, *(-np.array(positive))], dtype)


def grid(dtypes: Sequence[np.dtype]) -> Arrays:
    """Every combination of special values, one array per input."""
    found = np.meshgrid(*(special_values(d) for d in dtypes), indexing="ij")
    return [np.ascontiguousarray(a.reshape(-1)) for a in found]


def in_domain(op: Op, arrays: list[np.ndarray], case: Case) -> list[np.ndarray]:
    """The values that have one right result: what floats out of range are as integers is left to the machine.

    Integers to negative integer powers are refused. What calls NumPy in every mode is asked for some of the
    combinations of two or three arguments, each value with several others: kernels that integrate take a second for
    a thousand.
    """
    if isinstance(op.lower, Callback) and len(arrays) > 1:
        return [a[:: 7 if len(arrays) == 2 else 41] for a in arrays]
    target, (first, *rest) = case.sample.attrs.get("dtype"), arrays
    if op.name == "cast" and target.kind in "iu" and first.dtype.kind == "f":
        return [first[np.abs(first) < 1e9]]  # NaN is not
    if op.name == "pow" and first.dtype.kind in "iu":
        return [a[rest[0] >= 0] for a in arrays]
    return arrays


def rows(dtype: np.dtype) -> np.ndarray:
    """One row per special value among ordinary numbers, one of it alone, and mixtures of two."""
    values = special_values(dtype)
    random = np.random.default_rng(0)
    n = 37
    ordinary = random.integers(0, 2 if dtype.kind == "b" else 5, (len(values), n)).astype(dtype)
    single, mixed = ordinary.copy(), ordinary.copy()
    single[:, 20] = values
    mixed[:, 3], mixed[:, 30] = values, values[::-1]
    return np.concatenate([single, mixed, np.repeat(values[:, None], n, axis=1)])
