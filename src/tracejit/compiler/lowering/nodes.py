"""Graph to loop IR: each node becomes a nest, a view, or a structure; the rule is in the op's declaration.

Values are views over buffers. A node that updates a tensor takes over its buffer when nothing reads it
afterwards. Fusing nests, dropping dead buffers and placing the rest is left to later passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.dim import Size, product, substitute
from ...core.errors import Location, TracejitError, at
from ...core.ir.graph import Graph, Node, Value
from ...core.spec import TensorSpec
from ...core.tracing.trace import resize, trace
from ...ops.linalg.kernels import LEAST_SYMMETRIC
from ...ops.lowering import Compose, Formula, Library, Nests, Reduce, Reindex, Scalar, Structure, is_by_kernel
from ..loopir.called_kernels import KERNELS, LANES, LARGE, MOST_ROWS
from ..loopir.ir import Allocate, Call, Nest, Store, While
from ..loopir.operands import Buffer, BufferAlias, Index
from ..loopir.operands import View as Operand
from .builder import FLOAT16, FLOAT32, Builder, real_dtype
from .liveness import Liveness
from .topological_order import topological_order
from .views import View, row_major

Env = dict[Value, View]

#: Lowers a node with structure: ``(lowering, node, views, liveness, position) -> views of the outputs``.
Structures = Mapping[str, Callable[..., Sequence[View]]]

#: Products of sizes up to which a matrix product is a plain nest.
SMALL_MATMUL = 512

#: Statements after which an element-wise nest is closed.
MAX_STATEMENTS = 480


class OpenNest:
    """The element-wise nest at the end of a block, to which more of the same shape can be added.

    Values computed or loaded in it are used directly; this does no more than `fuse` would, but sooner.
    """

    ix: list[Any]
    strides: tuple[Size, ...]

    def __init__(self, b: Builder, shape: Sequence[Size]):
        self.b = b
        self.shape: tuple[Size, ...] = tuple(shape)
        axes, self.ix = b.axes(shape)
        self.nest: Nest = Nest(axes, [], location=b.location)
        self.values: dict[int, tuple[View, Any]] = {}
        self.written: dict[Any, View] = {}
        self.size: Size | None = None
        b.block.append(self.nest)

    def takes(self, block: Sequence[Any], views: Sequence[View]) -> bool:
        """Is it still the last statement, not too long, and read only where it was just written?"""
        if not block or block[-1] is not self.nest or len(self.nest.body) > MAX_STATEMENTS:
            return False
        return all(
            v.buffer not in self.written or id(v) in self.values or v == self.written[v.buffer] for v in views
        )

    def value(self, view: View) -> Any:
        entry = self.values.get(id(view))
        if entry is None:
            same = self.written.get(view.buffer) if view.buffer is not None else None
            loaded = (
                self.values[id(same)][1]
                if same is not None
                else self.b.load(view.broadcast(self.shape), self.ix)
            )
            entry = self.values[id(view)] = (view, loaded)
        return entry[1]

    def keep(self, out: TensorSpec, value: Any) -> View:
        """Store a value into a buffer of its own."""
        b = self.b
        if out.dtype.kind == "c":
            view = b.empty(out)
            b.store(view, self.ix, value)
        else:
            if self.size is None:
                self.size, self.strides = out.size, row_major(out.shape)
                self.index: Index = View(None, self.shape, self.strides, out.dtype).index(self.ix)
                self.kind: str = b.empty_kind(out)
            view = View(b.buffer(out.dtype, self.size, self.kind), self.shape, self.strides, out.dtype)
            b.block.append(Store(view.memory, self.index, value.operand))
        self.values[id(view)] = (view, value)
        self.written[view.buffer] = view
        return view


class Lowering:
    """Lowers graphs and their regions into one builder.

    `known` are the size atoms that have a value so far; `sizes` maps the trip-count atoms of graphs to the
    program's own, which are unique. `structures` lower the ops with structure, by name.
    `swapped` are buffers whose memory loops exchange, so that none of them can be an output; `moves` are temps
    that will be rows of a loop's stacks.
    """

    def __init__(self, builder: Builder, known: set[str], structures: Structures):
        self.b = builder
        self.known = known
        self.structures = structures
        self.sizes: dict[str, Size] = {}
        self.swapped: set[Buffer] = set()
        self.open: OpenNest | None = None
        self.moves: list[BufferAlias] = []

    # ---- one graph ---------------------------------------------------------------------------------------

    def nodes(
        self,
        graph: Graph,
        env: Env,
        donatable: set[Value],
        held: Sequence[Value] | None = None,
        location: Location | None = None,
    ) -> None:
        """Lower the nodes of a graph; `env` has its inputs, those in `donatable` may be overwritten.

        `held` are the values read after the last node, by default the graph's outputs; `location` is the line of the
        op that they all stand for, if they do.
        """
        order = topological_order(graph)
        life = Liveness(graph, donatable, graph.outputs if held is None else held, order)
        for position, node in enumerate(order):
            self.b.location = location or node.location
            views = [env[v] for v in node.inputs]
            results = self.node(node, views, life, position)
            env.update(zip(node.outputs, results, strict=True))

    def node(self, node: Node, views: list[View], life: Liveness, position: int) -> Sequence[View]:
        """The views of a node's outputs."""
        lower = node.op.lower
        if isinstance(lower, Structure):
            return self.structures[lower.name](self, node, views, life, position)
        if lower == "constant":
            return [self.b.literal(node.attrs["value"])]
        attrs = self.attrs(node)
        if calls_python(node):
            return self.b.host_call(node.op.name, views, attrs, [self.spec(v.spec) for v in node.outputs])
        out = self.spec(node.outputs[0].spec)
        match lower:
            case Scalar(name):
                return [self.elementwise(name, out, views)]
            case Formula(name, leading):
                numbers = leading(**attrs) if leading else ()
                return [self.elementwise(name(**attrs), out, views, numbers)]
            case Reindex(rule):
                return [self.reindexed(rule, out, views[0], attrs)]
            case Reduce(rule, init):
                return [self.reduced(rule, init, out, views[0], attrs["axis"])]
            case Nests(rule):
                views = self.donating(node, views, life, position)
                result = rule(self.b, out, *views, **attrs)
                self.b.shared = None
                return [result]
            case Library(name, sizes):
                return self.call_kernel(name, node, views, sizes(*views, **attrs))
            case Compose(rule):
                return self.inline(composed(node, rule), views, self.b.location)
        raise TracejitError(f"the op {node.op} has no lowering{at(node.location)}")

    def spec(self, spec: TensorSpec) -> TensorSpec:
        """A spec of the graph with the program's own size atoms."""
        if not spec.symbolic or not self.sizes:
            return spec
        return spec.with_shape(substitute(s, self.sizes) for s in spec.shape)

    def attrs(self, node: Node) -> Mapping[str, Any]:
        if not self.sizes:
            return node.attrs
        return {k: v if isinstance(v, Graph) else resize(v, self.sizes) for k, v in node.attrs.items()}

    def inline(self, graph: Graph, views: Sequence[View], location: Location | None = None) -> list[View]:
        """Lower another graph's nodes here, all as those of one line if that is given."""
        env: Env = dict(zip(graph.inputs, views, strict=True))
        self.nodes(graph, env, set(), location=location)
        return [env[v] for v in graph.outputs]

    # ---- kinds of lowering -------------------------------------------------------------------------------

    def elementwise(
        self, name: str, out: TensorSpec, views: Sequence[View], leading: Sequence[float] = ()
    ) -> View:
        """Into the nest that is being written, if it has this shape and its values line up; else a nest of its own."""
        b, nest = self.b, self.open
        if b.is_late(out):
            stretched = [v.broadcast(out.shape) for v in views]
            return b.map(out, lambda ix: self.scalar(name, out, [b.load(v, ix) for v in stretched], leading))
        if nest is None or nest.shape != out.shape or not nest.takes(b.block, views):
            nest = self.open = OpenNest(b, out.shape)
        saved, b.block = b.block, nest.nest.body  # `b.writing` spelt out: this runs for nearly every node
        try:
            loaded = [nest.value(v) for v in views]
            return nest.keep(out, self.scalar(name, out, loaded, leading))
        finally:
            b.block = saved

    def scalar(self, name: str, out: TensorSpec, args: Sequence[Any], leading: Sequence[float] = ()) -> Any:
        numbers = [self.b.constant(number, args[0].dtype) for number in leading]
        return self.b.compute(name, *numbers, *args, dtype=out.dtype)

    def reindexed(
        self, rule: Callable[..., Any], out: TensorSpec, view: View, attrs: Mapping[str, Any]
    ) -> View:
        reindexed = rule(view, out, **attrs)
        return reindexed if reindexed is not None else rule(self.b.copied(view), out, **attrs)

    def reduced(
        self, rule: str, init: Callable[[np.dtype], Any], out: TensorSpec, view: View, axis: Any
    ) -> View:
        start = init(view.dtype)
        if isinstance(axis, int):
            return self.b.arg_reduce(out, view, axis, rule, start)
        if not axis:
            return self.b.copied(view)
        if view.dtype.kind == "b":
            rule = {"max": "or", "min": "and"}[rule]
        return self.b.fold(out, view.shape, axis, rule, start, lambda ix: self.b.load(view, ix))

    def call_kernel(self, name: str, node: Node, views: list[View], sizes: tuple[Size, ...]) -> list[View]:
        """A call of a library kernel, on the inputs and new memory for the outputs."""
        b, arguments = self.b, KERNELS[name].arguments
        for k, (v, argument) in enumerate(zip(views, arguments, strict=False)):
            scattered = v.strides[-1:] not in ((), (1,)) and (argument.dense or argument.integer)
            if v.buffer is None or v.moving or scattered:
                views[k] = b.copied(v)
        outputs = [b.empty(self.spec(v.spec)) for v in node.outputs]
        _calls(b, name, [*views, *outputs], sizes)
        return outputs

    def donating(self, node: Node, views: list[View], life: Liveness, position: int) -> list[View]:
        """Decide whether an update may take over its operand's buffer; other operands must not alias it."""
        self.b.shared = None
        lower = node.op.lower
        assert isinstance(lower, Nests)
        if lower.updates is None:
            return views
        target = views[lower.updates]
        if (
            target.is_whole
            and target.memory.kind in ("temp", "local", "heap")
            and (life.ends(node.inputs[lower.updates], position))
            and not self.is_better_apart(node, lower, target, life)
        ):
            self.b.shared = target.buffer
            return [
                self.b.copied(v) if v.buffer is target.buffer and k != lower.updates else v
                for k, v in enumerate(views)
            ]
        return views

    def is_better_apart(self, node: Node, lower: Nests, target: View, life: Liveness) -> bool:
        """Is it less work to write the result beside the old value than over it?

        A stencil reads neighbours of what it replaces: over the old value it needs a temporary of its own, and
        beside it only what it leaves alone is copied.
        """
        if lower.parts is None or target.memory.kind == "local":
            return False
        parts = lower.parts(**self.attrs(node))
        if not all(_is_most(part, target.shape) for part in parts):
            return False
        old = node.inputs[lower.updates or 0]
        read = [life.views_in(v, old) for k, v in enumerate(node.inputs) if k != lower.updates]
        return any(views - {part} for views, part in zip(read, lower.parts(**node.attrs), strict=True))

    # ---- outputs -----------------------------------------------------------------------------------------

    def place_output(self, view: View, slot: int) -> None:
        """Make `view` the output of a slot: its buffer becomes the output where it can, else it is copied."""
        b = self.b
        buffer = view.buffer
        late = b.is_late(TensorSpec(view.shape, view.dtype))
        free = buffer is not None and view.is_whole and buffer.slot < 0 and buffer not in self.swapped
        if free and buffer is not None and buffer.kind in ("temp", "heap"):
            buffer.kind, buffer.slot = ("output" if buffer.kind == "temp" else "heap"), slot
            return
        size = product(view.shape) * view.unit
        target = View.whole(
            b.buffer(real_dtype(view.dtype), size, "heap" if late else "output", slot), view.shape, view.dtype
        )
        if late:
            b.block.append(Allocate(target.memory, size))
        b.copy(view, target)


def _is_most(part: Sequence[tuple[Size, Size, int]], shape: Sequence[Size]) -> bool:
    """Are the slices contiguous along every axis and, together, at least half of the array?"""
    if any(step != 1 for _, _, step in part):
        return False
    left = product(size for _, size, _ in part)
    whole = product(shape)
    if isinstance(left, int) and isinstance(whole, int):
        return 2 * left >= whole > 0
    return all(isinstance(d - size, int) for (_, size, _), d in zip(part, shape, strict=True))


def calls_python(node: Node) -> bool:
    """Is it computed by the kernel of its op, which machine code calls?"""
    return is_by_kernel(node.op, node.outputs[0].spec.dtype, node.attrs)


def composed(node: Node, rule: Callable[..., Any]) -> Graph:
    """The graph of an op written with other ops."""
    specs = tuple(v.spec for v in node.inputs)
    key = (specs, tuple(node.attrs.items()))
    known = node.op.__dict__.setdefault("composed", {})
    if key not in known:
        known[key] = trace(lambda *xs: [rule(*xs, **node.attrs)], specs, node.op.name).graph
    return known[key]


# ---- library calls ----------------------------------------------------------------------------------------


def _calls(b: Builder, name: str, views: list[View], sizes: tuple[Size, ...]) -> None:
    """Call a kernel for each matrix of a batch, whose axes lead; for small ones many at once."""
    leading = len(views[0].shape) - len(KERNELS[name].arguments[0].extents)
    if leading == 1 and name + LANES in KERNELS and isinstance(sizes[0], int) and sizes[0] <= MOST_ROWS:
        name, sizes, leading = name + LANES, (views[0].shape[0], *sizes), 0
    elif name + LARGE in KERNELS and not (isinstance(sizes[0], int) and sizes[0] < LEAST_SYMMETRIC):
        name = name + LARGE
    if leading == 0:
        operands = tuple([Operand(v.memory, v.index((0,) * len(v.shape)), v.strides) for v in views])
        b.block.append(Call(name, operands, sizes))
        return
    index = b.fresh("n")
    with b.writing([]) as body:
        _calls(b, name, [v.row(index) for v in views], sizes)
    b.block.append(While(index, views[0].shape[0], body))


# ---- matrix products ------------------------------------------------------------------------------------


def lower_matmul(
    low: Lowering, node: Node, views: list[View], life: Liveness, position: int
) -> Sequence[View]:
    out = low.spec(node.outputs[0].spec)
    a, c = (v.broadcast((*out.shape[:-2], *v.shape[-2:])) for v in views)
    m, k, n = a.shape[-2], a.shape[-1], c.shape[-1]
    work = product((m, k, n))
    small = isinstance(work, int) and work <= SMALL_MATMUL
    if small or out.dtype not in (np.float32, np.float64):
        return [_matmul_nest(low.b, out, a, c, k)]
    return [_matmul_calls(low, out, a, c)]


def _matmul_nest(b: Builder, out: TensorSpec, a: View, c: View, k: Size) -> View:
    """A product written out: multiply over (…, i, j, k), summed over k."""
    lead, (m, n) = out.shape[:-2], out.shape[-2:]
    rank = len(lead) + 3
    left = a.with_axis(rank - 2, n)
    right = c.transposed((*range(len(lead)), len(lead) + 1, len(lead))).with_axis(rank - 3, m)

    def product_at(ix: Sequence[Any]) -> Any:
        x, y = b.load(left, ix), b.load(right, ix)
        if out.dtype == FLOAT16:  # its products are added up in float32, as those of NumPy
            x, y = (b.compute("cast", v, dtype=FLOAT32) for v in (x, y))
        return b.compute("mul", x, y)

    return b.fold(out, (*lead, m, n, k), (rank - 1,), "add", 0, product_at)


def _matmul_calls(low: Lowering, out: TensorSpec, a: View, c: View) -> View:
    """One kernel call per matrix of the batch; matrices that share the right operand are one."""
    b = low.b
    a, c = (b.copied(v) if v.buffer is None or v.moving else v for v in (a, c))
    result = b.empty(out)
    views: list[View] | None = [a, c, result]
    while views is not None:
        joined, views = views, _with_joined_rows(*views)
    _calls(b, "matmul", joined, (*(v.shape[-2] for v in joined[:2]), joined[1].shape[-1]))
    return result


def _with_joined_rows(a: View, c: View, result: View) -> list[View] | None:
    """The last axis of the batch among the rows; None where each of its matrices has a right operand of its own."""
    if len(a.shape) == 2 or c.strides[-3] != 0:
        return None
    left, out = (v.reshaped((*v.shape[:-3], v.shape[-3] * v.shape[-2], v.shape[-1])) for v in (a, result))
    if left is None or out is None:
        return None
    right = replace(c, shape=(*c.shape[:-3], *c.shape[-2:]), strides=(*c.strides[:-3], *c.strides[-2:]))
    return [left, right, out]
