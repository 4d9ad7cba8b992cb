"""Random nests as machine code against the interpreter: views, broadcasts, guards, accumulators, inner nests."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.native import B1, F4, F8, HOST, I4, I8, Native, at, op, result, same
from tracejit.compiler.loopir import interpreter as loopinterp
from tracejit.compiler.loopir.ir import Combine, Compute, Load, Nest, Program, Store
from tracejit.compiler.loopir.operands import Acc, Axis, Buffer, Const, Index
from tracejit.compiler.loopir.passes.schedule import Target
from tracejit.core.dim import Dim, Size

SIZES = (1, 2, 3, 5, 8, 17, 40)
MOST_STEPS = 1 << 17
"""Of a program, which the interpreter does one by one: sizes are 2 from there on."""
AVX2 = Target(32, has_masks=False, has_permute=False)


class Writer:
    """A random valid program over one nest, which may hold others."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.symbolic = bool(self.rng.integers(2))
        self.sizes: dict[str, int] = {}
        self.buffers: list[Buffer] = []
        self.inputs: list[np.ndarray] = []
        self.count = 0
        self.steps = 1

    def pick(self, *options):
        return options[self.rng.integers(len(options))]

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def axis(self, kind: str) -> Axis:
        name, size = self.fresh("i"), int(self.pick(*SIZES))
        size = size if self.steps * size <= MOST_STEPS else 2
        self.steps *= size
        if self.symbolic and self.rng.random() < 0.7:
            atom = self.fresh("n")
            self.sizes[atom] = size
            return Axis(name, Dim.of(atom), kind)
        return Axis(name, size, kind)

    def extent(self, axis: Axis) -> int:
        return self.sizes[str(axis.size)] if isinstance(axis.size, Dim) else axis.size

    # -- loads --

    def place(self, axes: list[Axis]) -> tuple[Index, Size]:
        """An index over some of the axes, in any order and direction, and the size it needs."""
        kept = [axes[p] for p in self.rng.permutation(len(axes)) if self.rng.random() < 0.8]
        if self.rng.random() < 0.5:
            kept.sort(key=axes.index)
        const: Size = 0
        step: Size = int(self.pick(1, 1, 1, 2))
        terms = []
        for axis in reversed(kept):
            if self.rng.random() < 0.2:
                const, coefficient = const + step * (axis.size - 1), step * -1
            else:
                coefficient = step
            terms.append((axis.name, coefficient))
            step = step * axis.size + int(self.pick(0, 0, 0, 3))
        return Index(const, tuple(terms[::-1])), step + 1

    def load(self, axes: list[Axis], dtype: np.dtype, body: list) -> str:
        index, size = self.place(axes)
        b = Buffer(self.fresh("x"), dtype, size, "input", len(self.inputs))
        self.buffers.append(b)
        count = loopinterp.evaluate(size, self.sizes)
        values = self.rng.integers(-4, 5, count)
        self.inputs.append((values > 1) if dtype == B1 else values.astype(dtype))
        out = self.fresh("v")
        guard = self.guard(axes, body) if self.rng.random() < 0.3 else None
        body.append(Load(out, b, index, guard, None if guard is None else Const(3, dtype)))
        return out

    def guard(self, axes: list[Axis], body: list) -> str:
        axis, number, out = self.pick(*axes), self.fresh("p"), self.fresh("g")
        body.append(op(number, "index", axis.name, dtype=I8))
        limit = Const(int(self.rng.integers(0, 20)), I8)
        body.append(op(out, self.pick("lt", "ge", "ne"), number, limit, dtype=B1, argtype=I8))
        return out

    # -- bodies --

    def value(self, axes: list[Axis], dtype: np.dtype, body: list, depth: int = 2) -> str:
        if depth == 0 or self.rng.random() < 0.3:
            return self.load(axes, dtype, body)
        a = self.value(axes, dtype, body, depth - 1)
        b = self.value(axes, dtype, body, depth - 1) if self.rng.random() < 0.7 else Const(2, dtype)
        out, test = self.fresh("v"), self.fresh("t")
        if self.rng.random() < 0.3:
            body.append(op(test, "lt", a, b, dtype=B1, argtype=dtype))
            body.append(op(out, "select", test, a, b, dtype=dtype))
        else:
            body.append(Compute(out, self.pick("add", "sub", "mul", "max", "min"), (a, b), dtype, dtype))
        return out

    def store(self, axes: list[Axis], value: str, dtype: np.dtype, body: list) -> None:
        order = [axes[p] for p in self.rng.permutation(len(axes))] if self.rng.random() < 0.4 else axes
        step: Size = 1
        terms = []
        for axis in reversed(order):
            terms.append((axis.name, step))
            step = step * axis.size
        outputs = sum(b.kind == "output" for b in self.buffers)
        b = result(self.fresh("z"), dtype, step, outputs)
        self.buffers.append(b)
        body.append(Store(b, at(*terms[::-1]), value))

    def nest(self, outer: list[Axis], depth: int) -> Nest:
        parallel = [self.axis("parallel") for _ in range(self.rng.integers(0 if outer else 1, 3))]
        kind = self.pick("reduce", "reduce", "scan")
        inner = [self.axis(kind) for _ in range(self.rng.integers(0, 3))]
        dtype = self.pick(F8, F4, I4, I8)
        around, everywhere = [*outer, *parallel], [*outer, *parallel, *inner]
        nest = Nest([*parallel, *inner], [])
        value = self.value(everywhere, dtype, nest.body)
        if inner:
            acc, rule = self.fresh("s"), self.pick("add", "max", "min")
            nest.accs.append(Acc(acc, dtype, Const({"add": 0, "max": -1000, "min": 1000}[rule], dtype)))
            nest.body.append(Combine(rule, (acc,), (value,)))
            self.store(around, acc, dtype, nest.tail)
            if kind == "scan":
                self.store(everywhere, acc, dtype, nest.body)
        if not inner or self.rng.random() < 0.3:
            self.store(everywhere, value, dtype, nest.body)
        if depth and self.rng.random() < 0.4:
            (nest.tail if inner else nest.body).append(self.nest(around, depth - 1))
        if self.rng.random() < 0.3 and len(nest.axes) > 1 and not nest.accs:
            nest.axes.reverse()
        return nest

    def program(self) -> Program:
        body = [self.nest([], 1)]
        return Program("random", self.buffers, body, tuple(self.sizes), contract=False)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(59))  # the next one takes as long as forty of these
@pytest.mark.parametrize("target", [HOST, AVX2], ids=["host", "avx2"])
def test_random_nests(seed: int, target: Target) -> None:
    """Small integers: sums are exact whatever their order."""
    writer = Writer(seed)
    program = writer.program()
    with np.errstate(all="ignore"):
        expected, _ = loopinterp.run(program, writer.inputs, writer.sizes)
    status, found, _ = Native(program, target, opt=0)(writer.inputs, writer.sizes)
    assert status == 0
    for mine, theirs in zip(found, expected, strict=True):
        same(mine + 0, theirs + 0)
