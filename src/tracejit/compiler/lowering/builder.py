"""Builder: writes loop IR. What lowering rules of ops are given, and what the graph lowering is written with.

Complex numbers are taken apart here; views are turned into indices here. Knows no op by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...core.dim import Dim, Size
from ...core.errors import Location, at
from ...core.ir.graph import Constant
from ...core.spec import TensorSpec
from ..codegen import math
from ..hostcalls import spelled
from ..loopir import LOCAL_ELEMENTS, complexes
from ..loopir import slice_regions as boxes
from ..loopir.complexes import Pair, Val, lifted
from ..loopir.ir import Allocate, Combine, Compute, Fail, HostCall, Load, Nest, Size_, Store
from ..loopir.operands import Acc, Axis, Buffer, Const, Index
from ..loopir.operands import View as Operand
from ..loopir.scalar_ops import SCALAR_OPS
from ..loopir.statement import Statement
from . import merge_sort as merging
from .views import Moving, View

BOOL, INT64 = np.dtype(bool), np.dtype(np.int64)
FLOAT16, FLOAT32 = np.dtype(np.float16), np.dtype(np.float32)


def real_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the reals a buffer of `dtype` holds."""
    return np.dtype(f"float{dtype.itemsize * 4}") if dtype.kind == "c" else dtype


class Builder:
    """State of one lowering: names, buffers, messages, and the block being written.

    `depth` counts the loops and branches around the block; buffers made inside of one may be locals.
    """

    def __init__(self) -> None:
        self.block: list[Statement] = []
        self.buffers: list[Buffer] = []
        self.constants: dict[str, np.ndarray] = {}  # by content hash, in the order of their slots
        self.messages: list[tuple[str, str]] = []
        self.depth = 0
        self.location: Location | None = None
        self.bound: list[str] = []  # size atoms that loops bind while the program runs
        self.shared: Buffer | None = None  # what `updated` may take over in the op being lowered
        self._counts: dict[str, int] = {}
        self._constant_views: dict[str, View] = {}

    # ---- names, buffers, values --------------------------------------------------------------------------

    def fresh(self, prefix: str) -> str:
        count = self._counts[prefix] = self._counts.get(prefix, -1) + 1
        return f"{prefix}{count}"

    def buffer(self, dtype: np.dtype, size: Size, kind: str, slot: int = -1) -> Buffer:
        made = Buffer(
            self.fresh({"input": "x", "constant": "c", "local": "r"}.get(kind, "b")), dtype, size, kind, slot
        )
        self.buffers.append(made)
        return made

    def empty(self, spec: TensorSpec, kind: str | None = None) -> View:
        """A fresh buffer for a tensor; one whose size is known only by now is allocated here."""
        size = spec.size * (2 if spec.dtype.kind == "c" else 1)
        late = kind in (None, "temp") and self.is_late(spec)
        if kind is None or late:
            kind = "heap" if late else self.empty_kind(spec)
        buffer = self.buffer(real_dtype(spec.dtype), size, kind)
        if late:
            self.block.append(Allocate(buffer, size))
        return View.whole(buffer, spec.shape, spec.dtype)

    def is_late(self, spec: TensorSpec) -> bool:
        """Does the size depend on how often a loop of this program ran?"""
        return spec.symbolic and any(
            a.name in self.bound for s in spec.shape if isinstance(s, Dim) for a in s.atoms()
        )

    def empty_kind(self, spec: TensorSpec) -> str:
        """local for small tensors inside of loops and branches, else temp."""
        size = spec.size * (2 if spec.dtype.kind == "c" else 1)
        small = isinstance(size, int) and 0 < size <= LOCAL_ELEMENTS
        return "local" if small and self.depth > 0 else "temp"

    def literal(self, constant: Constant) -> View:
        """A constant of the graph: one element is a literal, more are a buffer."""
        array = constant.array
        if array.size == 1:
            return View.literal(array.reshape(())[()], array.dtype, array.shape)
        if constant.key not in self._constant_views:
            dtype = real_dtype(array.dtype)
            size = array.size * (2 if array.dtype.kind == "c" else 1)
            made = self.buffer(dtype, size, "constant", len(self.constants))
            self.constants[constant.key] = array.view(dtype) if array.dtype.kind == "c" else array
            self._constant_views[constant.key] = View.whole(made, array.shape, array.dtype)
        return self._constant_views[constant.key]

    def scalar_constant(self, value: Any, dtype: np.dtype) -> View:
        return View.literal(value, dtype)

    def constant(self, value: Any, dtype: np.dtype) -> Any:
        """A literal scalar."""
        if dtype.kind == "c":
            number = complex(value)
            return Pair(
                self.constant(number.real, real_dtype(dtype)), self.constant(number.imag, real_dtype(dtype))
            )
        return Val(Const(np.asarray(value).astype(dtype).item(), dtype), dtype)

    # ---- scalars inside of a nest ------------------------------------------------------------------------

    def compute(self, op: str, *args: Any, dtype: np.dtype | None = None) -> Any:
        """Apply a scalar operation; complex arguments go by the rules in its record."""
        if any(isinstance(a, Pair) for a in args):
            return self._complex(op, args, dtype)
        if op in ("conj", "real"):
            return args[0]
        if op == "imag":
            return self.constant(0, args[0].dtype)
        if op == "complex":
            return Pair(*args)
        if op == "cast":
            return self._cast(args[0], dtype)
        argtype = args[-1].dtype
        if argtype == BOOL:
            op = SCALAR_OPS[op].on_bools or op
        if argtype == FLOAT16 and op in math.NAMES:  # elementary functions are written for wider floats
            return self._cast(self.compute(op, *[self._cast(a, FLOAT32) for a in args]), argtype)
        if dtype is None:
            dtype = BOOL if SCALAR_OPS[op].result == "bool" else argtype
        name = self.fresh("v")
        self.block.append(Compute(name, op, tuple(a.operand for a in args), dtype, argtype))
        return Val(name, dtype)

    def _complex(self, op: str, args: Sequence[Any], dtype: np.dtype | None) -> Any:
        if op == "cast":
            return self._cast(args[0], dtype)
        if op == "select":
            x, y = lifted(self, args[1]), lifted(self, args[2])
            return Pair(*(self.compute("select", args[0], p, q) for p, q in zip(x, y, strict=True)))
        rule: Any = complexes.PARTS.get(op) or SCALAR_OPS[op].complex_rule
        return rule(self, *(lifted(self, a) for a in args))

    def _cast(self, x: Any, dtype: np.dtype | None) -> Any:
        assert dtype is not None
        if dtype.kind == "c":
            return Pair(*(self._cast(part, real_dtype(dtype)) for part in lifted(self, x)))
        if isinstance(x, Pair):
            if dtype.kind == "b":
                zero = self.constant(0.0, x.dtype)
                return complexes.ne(self, x, zero)
            x = x.re
        if x.dtype == dtype:
            return x
        if dtype.kind == "b":
            return self.compute("ne", x, self.constant(0, x.dtype))
        name = self.fresh("v")
        self.block.append(Compute(name, "cast", (x.operand,), dtype, x.dtype))
        return Val(name, dtype)

    def position(self, axis: Any, dtype: np.dtype) -> Val:
        """An axis of the nest as a scalar."""
        if isinstance(axis, int):
            return self.constant(axis, dtype)
        name = self.fresh("v")
        self.block.append(Compute(name, "index", (axis,), dtype, INT64))
        return Val(name, dtype)

    def size(self, size: Size) -> Val:
        """A size as an int64 scalar."""
        if isinstance(size, int):
            return self.constant(size, INT64)
        name = self.fresh("v")
        self.block.append(Size_(name, size))
        return Val(name, INT64)

    def load(self, view: View, ix: Sequence[Any]) -> Any:
        """An element of a view; positions are axes, int64 scalars or ints."""
        if view.buffer is None:
            return self.constant(view.value, view.dtype)
        index = self._index(view, ix)
        if view.dtype.kind != "c":
            return self._load(view.buffer, index)
        return Pair(
            self._load(view.buffer, index), self._load(view.buffer, Index(index.const + 1, index.terms))
        )

    def _load(self, buffer: Buffer, index: Index) -> Val:
        name = self.fresh("v")
        self.block.append(Load(name, buffer, index))
        return Val(name, buffer.dtype)

    def store(self, view: View, ix: Sequence[Any], value: Any, add: bool = False) -> None:
        """Write (or add to) an element of a view."""
        assert view.buffer is not None
        index = self._index(view, ix)
        if view.dtype.kind != "c":
            self.block.append(Store(view.buffer, index, value.operand, add))
            return
        for part, shift in zip(lifted(self, value), (0, 1), strict=True):
            self.block.append(Store(view.buffer, Index(index.const + shift, index.terms), part.operand, add))

    def _index(self, view: View, ix: Sequence[Any]) -> Index:
        positions = []
        for p in ix:
            if isinstance(p, Val):
                p = p.operand.value if isinstance(p.operand, Const) else p.operand
            positions.append(p)
        extra = [(self._start(m), m.stride) for m in view.moving]
        const: Size = 0
        terms = []
        for start, stride in extra:
            if isinstance(start.operand, Const):
                const = const + int(start.operand.value) * stride
            else:
                terms.append((start.operand, stride))
        index = view.index(positions, terms)
        return Index(index.const + const, index.terms)

    def _start(self, moving: Moving) -> Val:
        start = self.load(moving.starts, (moving.position,))
        low = self.compute("max", start, self.constant(0, INT64))
        return self.compute("min", low, self.size(moving.room))

    def positions(self, starts: View, shape: Sequence[Size], sizes: Sequence[Size]) -> tuple[Moving, ...]:
        """Offsets of a window of `sizes` in `shape`, read from `starts` when the program runs.

        Where it is known only then whether the window fits, the program fails if it does not.
        """
        for d, n in zip(shape, sizes, strict=True):
            if not isinstance(d - n, int):
                larger = self.compute("lt", self.size(d), self.size(n))
                self.fail(larger, "ValueError", f"a window of {n} elements in an axis of size {d}")
        return tuple(Moving(starts, k, d - n, 0) for k, (d, n) in enumerate(zip(shape, sizes, strict=True)))

    def wrapped(self, index: Val, size: Size) -> Val:
        """An index with negative ones counted from the end, kept inside whatever it is."""
        limit = self.size(size)
        negative = self.compute("lt", index, self.constant(0, INT64))
        index = self.compute("select", negative, self.compute("add", index, limit), index)
        last = self.compute("sub", limit, self.constant(1, INT64))
        return self.compute("max", self.compute("min", index, last), self.constant(0, INT64))

    # ---- nests -------------------------------------------------------------------------------------------

    @contextmanager
    def writing(self, block: list[Statement]) -> Any:
        """Write into `block` for a while."""
        saved, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = saved

    def axes(self, shape: Sequence[Size], kinds: Sequence[str] | None = None) -> tuple[list[Axis], list[Any]]:
        """Fresh axes for a shape and the positions to index with; an axis of size 1 is just position 0."""
        axes: list[Axis] = []
        ix: list[Any] = []
        for k, size in enumerate(shape):
            if size == 1:
                ix.append(0)
                continue
            axes.append(Axis(self.fresh("i"), size, "parallel" if kinds is None else kinds[k]))
            ix.append(axes[-1].name)
        return axes, ix

    def each(
        self,
        shape: Sequence[Size],
        body: Callable[[Sequence[Any]], None],
        kinds: Sequence[str] | None = None,
    ) -> None:
        """A nest over `shape` around the statements that `body(positions)` writes."""
        axes, ix = self.axes(shape, kinds)
        with self.writing([]) as block:
            body(ix)
        self.block.append(Nest(axes, block, location=self.location))

    def map(self, out: TensorSpec, element: Callable[[Sequence[Any]], Any]) -> View:
        """A fresh buffer with ``element(positions)`` everywhere."""
        view = self.empty(out)
        self.each(out.shape, lambda ix: self.store(view, ix, element(ix)))
        return view

    def copy(self, source: View, target: View) -> None:
        """``target = source``, of equal shapes."""
        self.each(target.shape, lambda ix: self.store(target, ix, self.load(source, ix)))

    def copied(self, view: View) -> View:
        """The view's elements in a buffer of their own."""
        return self.map(TensorSpec(view.shape, view.dtype), lambda ix: self.load(view, ix))

    def add_into(self, source: View, target: View) -> None:
        """``target += source``, of equal shapes and without overlap inside of `target`."""

        def body(ix: Sequence[Any]) -> None:
            self.store(target, ix, self.compute("add", self.load(target, ix), self.load(source, ix)))

        self.each(target.shape, body)

    def placed(self, values: Sequence[View], out: TensorSpec, slices: Sequence[Any]) -> View:
        """Zeros with each value added at its slices: every element is written once where sizes tell how."""
        result = self.empty(out)
        zeros = self.scalar_constant(0, out.dtype).broadcast(out.shape)
        if boxes.overlap(out.shape, slices):
            self._add_parts(zeros, values, result, slices)
            return result
        alone = boxes.disjoint(slices)
        if not alone or sum(map(boxes.volume, slices)) != boxes.volume([(0, d, 1) for d in out.shape]):
            self.copy(zeros, result)
        for value, part in zip(values, slices, strict=True):
            if alone:
                self.sum_of([zeros.sliced(part), value], result.sliced(part))
            else:
                self.add_into(value, result.sliced(part))
        return result

    def added(self, view: View, values: Sequence[View], slices: Sequence[Any]) -> View:
        """`view`'s contents with each value added to its slices: over what it is, or written beside it."""
        if self.may_update(view) or not boxes.overlap(view.shape, slices):
            result = self.updated(view)
            self._add_parts(result, values, result, slices)
        else:
            result = self.empty(TensorSpec(view.shape, view.dtype))
            self._add_parts(view, values, result, slices)
        return result

    def _add_parts(self, source: View, values: Sequence[View], target: View, slices: Sequence[Any]) -> None:
        """Where several parts meet, as the arms of a stencil do, one nest adds them all; else one by one."""
        if not boxes.overlap(target.shape, slices):
            for v, s in zip(values, slices, strict=True):
                self.add_into(v, target.sliced(s))
            return
        for box, covering in boxes.divided(target.shape, slices):
            parts = [values[p].sliced(boxes.relative(box, slices[p])) for p in covering]
            if parts or target is not source:
                self.sum_of([source.sliced(box), *parts], target.sliced(box))

    def sum_of(self, values: Sequence[View], target: View) -> None:
        """``target = values[0] + values[1] + …``, of equal shapes."""

        def body(ix: Sequence[Any]) -> None:
            total = self.load(values[0], ix)
            for v in values[1:]:
                total = self.compute("add", total, self.load(v, ix))
            self.store(target, ix, total)

        self.each(target.shape, body)

    def may_update(self, view: View) -> bool:
        """May the view's own buffer be written?"""
        return view.buffer is not None and view.buffer is self.shared

    def updated(self, view: View) -> View:
        """`view`'s contents in a buffer that may be written: its own when nothing else needs it, else a copy."""
        return view if self.may_update(view) else self.copied(view)

    def replaced(
        self, view: View, part: Sequence[tuple[Size, Size, int]], element: Callable[[Sequence[Any]], Any]
    ) -> View:
        """`view`'s contents with ``element(positions)`` at the slices `part`, written before the rest is copied."""
        apart = not self.may_update(view) and all(step == 1 for _, _, step in part)
        result = self.empty(TensorSpec(view.shape, view.dtype)) if apart else self.updated(view)
        target = result.sliced(part)
        self.each(target.shape, lambda ix: self.store(target, ix, element(ix)))
        for box in (
            reversed(boxes.around(view.shape, part)) if apart else ()
        ):  # columns beside the part come first
            self.copy(view.sliced(box), result.sliced(box))
        return result

    def fold(
        self,
        out: TensorSpec,
        shape: Sequence[Size],
        axis: Sequence[int],
        rule: str,
        init: Any,
        element: Callable[[Sequence[Any]], Any],
    ) -> View:
        """Fold ``element(positions)`` over the axes `axis` of `shape` with a Combine rule into a fresh buffer.

        As in NumPy, float16 is added up in float32. Of nothing it is `init`, by no loop: LLVM takes minutes to find out
        that a nest whose inner loops never run does nothing else.
        """
        view = self.empty(out)
        if any(shape[k] == 0 for k in axis):
            self.copy(View.literal(init, out.dtype).broadcast(out.shape), view)
            return view
        axes, ix = self.axes(shape, ["reduce" if k in axis else "parallel" for k in range(len(shape))])
        with self.writing([]) as body:
            value = element(ix)
            narrow = rule == "add" and value.dtype == FLOAT16
            accs, folded = self._combined(self._cast(value, FLOAT32) if narrow else value, rule, init)
        with self.writing([]) as tail:
            total = self._cast(folded, out.dtype) if folded.dtype == FLOAT32 else folded
            self.store(view, [p for k, p in enumerate(ix) if k not in axis], total)
        self.block.append(Nest(axes, body, accs, tail, location=self.location))
        return view

    def _combined(self, value: Any, rule: str, init: Any) -> tuple[list[Acc], Any]:
        """Fold a scalar into fresh accumulators: them, and their value as a scalar."""
        accs = []
        for part in value if isinstance(value, Pair) else (value,):
            accs.append(Acc(self.fresh("a"), part.dtype, self.constant(init, part.dtype).operand))
            self.block.append(Combine(rule, (accs[-1].name,), (part.operand,)))
        folded = [Val(a.name, a.dtype) for a in accs]
        return accs, Pair(*folded) if len(folded) == 2 else folded[0]

    def arg_reduce(self, out: TensorSpec, x: View, axis: int, rule: str, init: Any) -> View:
        """The position of the best element along `axis`."""
        view = self.empty(out)
        axes, ix = self.axes(x.shape, ["reduce" if k == axis else "parallel" for k in range(len(x.shape))])
        best = Acc(self.fresh("a"), x.dtype, self.constant(init, x.dtype).operand)
        where = Acc(self.fresh("a"), INT64, Const(0, INT64))
        with self.writing([]) as body:
            value = self.load(x, ix)
            position = self.position(ix[axis], INT64)
            self.block.append(Combine(rule, (best.name, where.name), (value.operand, position.operand)))
        with self.writing([]) as tail:
            self.store(view, [p for k, p in enumerate(ix) if k != axis], Val(where.name, INT64))
        self.block.append(Nest(axes, body, [best, where], tail, location=self.location))
        return view

    def scan(self, x: View, target: View, axis: int, rule: str, init: Any) -> None:
        """Running fold of `x` along `axis`, written to `target`."""
        if x.shape[axis] == 1:
            return self.copy(x, target)
        kinds = ["scan" if k == axis else "parallel" for k in range(len(x.shape))]
        axes, ix = self.axes(x.shape, kinds)
        with self.writing([]) as body:
            accs, running = self._combined(self.load(x, ix), rule, init)
            self.store(target, ix, running)
        self.block.append(Nest(axes, body, accs, location=self.location))

    def merge_sorted(self, keys: View, order: View) -> View:
        """`order` with each row rearranged so that the row of `keys` ascends; both are written to."""
        return merging.merge_sorted(self, keys, order)

    # ---- scalars between nests, and checks ---------------------------------------------------------------

    def scalar(self, view: View) -> Val:
        """A rank-0 view as a scalar for the statements that follow in this block."""
        return self.load(view, (0,) * len(view.shape))

    def check_indices(self, indices: View, size: Size) -> None:
        """Fail when an index lies outside of ``[-size, size)``."""
        flag = self.empty(TensorSpec((), BOOL))
        axes, ix = self.axes(indices.shape, ["reduce"] * len(indices.shape))
        acc = Acc(self.fresh("a"), BOOL, Const(False, BOOL))
        with self.writing([]) as body:
            index, limit = self.load(indices, ix), self.size(size)
            low = self.compute("lt", self.compute("add", index, limit), self.constant(0, INT64))
            wrong = self.compute("or", low, self.compute("ge", index, limit))
            if axes:
                self.block.append(Combine("or", (acc.name,), (wrong.operand,)))
            else:
                self.store(flag, (), wrong)
        with self.writing([]) as tail:
            if axes:
                self.store(flag, (), Val(acc.name, BOOL))
        self.block.append(Nest(axes, body, [acc] if axes else [], tail, location=self.location))
        self.fail(self.scalar(flag), "IndexError", f"an index is out of range for an axis of size {size}")

    def host_call(
        self, op: str, views: Sequence[View], attrs: Mapping[str, Any], outs: Sequence[TensorSpec] = ()
    ) -> list[View]:
        """Run the kernel of an op in Python on the views, each copied into memory of its own; its results."""
        given = [self.empty(TensorSpec(v.shape, v.dtype), "temp") for v in views]
        for view, target in zip(views, given, strict=True):
            self.copy(view, target)
        written = [self.empty(out, "temp") for out in outs]
        whole = [*given, *written]
        operands = tuple([Operand(v.memory, v.index((0,) * len(v.shape)), ()) for v in whole])
        name = spelled(op, [(v.dtype, len(v.shape)) for v in whole], attrs, len(written))
        sizes = tuple([d for v in whole for d in v.shape])
        self.block.append(HostCall(name, operands, sizes, len(written)))
        return written

    def fail(self, test: Val, kind: str, message: str) -> None:
        """Raise the builtin exception `kind` with `message` and the user's line when `test` holds."""
        self.messages.append((kind, f"{message}{at(self.location)}"))
        self.block.append(Fail(test.operand, len(self.messages) - 1))

    def place(self, location: Location | None) -> int:
        """The message that says where a loop stands in the user's program: empty when nobody knows."""
        self.messages.append(("loop", "" if location is None else f"{location.file}:{location.line}"))
        return len(self.messages) - 1
