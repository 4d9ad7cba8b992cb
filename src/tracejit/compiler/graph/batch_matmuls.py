"""Matrix products that a loop computes row by row, replaced by one product of all rows outside of the loop.

`multiply_rows` moves the product of a scanned row with a captured matrix in front of the loop. `sum_products` moves
a sum of products over the iterations, as the gradient of a captured matrix is, behind it, and `multiply_results`
products with a captured matrix that are only written, as the gradient of the rows is. One large product reads the
matrix once, not once per row. Results differ by the order in which products are summed. Knows nothing of gradients.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from ...core.dim import Size, UnknownSize
from ...core.errors import Location
from ...core.ir.graph import Graph, Node, Value
from ...core.op import Op, ops
from ...core.tracing.loop_form import LoopForm, Results
from ...core.tracing.prune import prune
from ..report import REWRITES, fired, wants
from .rematerialize import may_keep, nbytes, usual
from .scan_edit import reading, writing

#: Multiplications from which a product is worth moving; fewer are written out in registers.
SMALLEST = 512
#: Terms of each inner product from which the product of a row costs more than reading it.
SHORTEST = 8
#: Bytes that rows added for one product may take.
LARGEST = 256 * 2**20


def multiply_rows(graph: Graph) -> Graph:
    """A valid graph of the same values, but for the order of sums: rows times a captured matrix are one product."""
    return _rewritten(graph, _RowProducts)


def sum_products(graph: Graph) -> Graph:
    """A valid graph of the same values, but for the order of sums: products summed over a loop are one product."""
    return _rewritten(graph, _SummedProducts)


def multiply_results(graph: Graph) -> Graph:
    """A valid graph of the same values, but for the order of sums: rows that are products with one captured matrix
    are one product of the rows of their operand."""
    return _rewritten(graph, _ProductRows)


def _rewritten(graph: Graph, rewriter: Callable[[Graph], _Rewriter]) -> Graph:
    """The graph and its regions with every loop rewritten; itself when there is none."""
    if not any(isinstance(a, Graph) for n in graph.nodes for a in n.attrs.values()):
        return graph
    return prune(rewriter(graph).run())


class _Rewriter(ABC):
    """Copies a graph; loops go through `loop`."""

    def __init__(self, graph: Graph):
        self.old = graph
        self.new = Graph(graph.name, state=graph.state, guards=graph.guards, finished=True)
        self.made: dict[Value, Node] = {}
        self.location: Location | None = None

    def run(self) -> Graph:
        env = {v: self.new.add_input(v.spec) for v in self.old.inputs}
        for old in self.old.nodes:
            self.location = old.location
            attrs = {
                k: _rewritten(a, type(self)) if isinstance(a, Graph) else a for k, a in old.attrs.items()
            }
            node = Node(old.op, tuple([env[v] for v in old.inputs]), attrs, old.outputs, old.location)
            env.update(zip(old.outputs, self._copied(node), strict=False))
        self.new.outputs = [env[v] for v in self.old.outputs]
        return self.new

    def _copied(self, node: Node) -> Sequence[Value]:
        try:
            loop = LoopForm.of(node)
            rewritten = None if loop is None else self.loop(_Body(loop), node.location)
        except UnknownSize:  # sizes that are equal by an assumption of the trace, which is over
            rewritten = None
        if rewritten is not None and wants(REWRITES):
            fired(type(self).loop, node.location, type(self).__name__.lstrip("_"))
        return self.add(node) if rewritten is None else rewritten

    def add(self, node: Node) -> tuple[Value, ...]:
        outputs = self.new.add(
            node.op, node.inputs, node.attrs, tuple([v.spec for v in node.outputs]), node.location
        )
        self.made.update(dict.fromkeys(outputs, self.new.nodes[-1]))
        return outputs

    def make(self, op: Op, *values: Value, **attrs: Any) -> Value:
        specs = op.specs(tuple(v.spec for v in values), attrs)
        return self.add(Node(op, values, attrs, tuple(Value(s, self.new) for s in specs), self.location))[0]

    def viewed(self, stack: Value, views: Sequence[Node]) -> Value:
        """An array of rows, each looked at through the views."""
        for view in views:
            assert view.op.over_rows is not None
            stack = self.make(view.op, stack, **view.op.over_rows(stack.spec.shape[0], view.attrs))
        return stack

    def reshaped(self, value: Value, *shape: Size) -> Value:
        return value if value.spec.shape == shape else self.make(ops.reshape, value, shape=shape)

    def turned(self, value: Value, *perm: int) -> Value:
        return self.make(ops.transpose, value, perm=perm)

    def multiplied(self, stack: Value, matrix: Value, side: int) -> Value:
        """``stack[i] @ matrix`` (side 0) or ``matrix @ stack[i]`` (side 1) for every i."""
        if side:
            return self.across(self.multiplied(self.across(stack), self.turned(matrix, 1, 0), 0))
        count, m, k = stack.spec.shape
        flat = self.make(ops.matmul, self.reshaped(stack, count * m, k), matrix)
        return self.reshaped(flat, count, m, matrix.spec.shape[1])

    def across(self, stack: Value) -> Value:
        """Every matrix of the stack transposed."""
        count, m, n = stack.spec.shape
        if 1 in (m, n):
            return self.reshaped(stack, count, n, m)
        return self.turned(stack, 0, 2, 1)

    @abstractmethod
    def loop(self, body: _Body, location: Location | None) -> Sequence[Value] | None:
        """The values of a rewritten loop's outputs, or None to leave it as it is."""


class _Body:
    """The body of a loop: who makes a value, how often it is read, and what is behind its inputs."""

    def __init__(self, loop: LoopForm):
        self.form = loop
        self.graph = loop.body
        self.scanned = dict(zip(loop.xs_in, loop.xs, strict=True))
        self.fixed = dict(zip(loop.consts_in, loop.consts, strict=True))
        self.made = {v: n for n in self.graph.nodes for v in n.outputs}
        self.reads = Counter(v for n in self.graph.nodes for v in n.inputs) + Counter(self.graph.outputs)

    def base(self, value: Value) -> tuple[Value, list[Node]]:
        """The value that `value` is a view of, and the views, first to last."""
        views: list[Node] = []
        while (node := self.made.get(value)) is not None and node.op.over_rows is not None:
            views.append(node)
            value = node.inputs[0]
        return value, views[::-1]


def _is_product(node: Node | None) -> bool:
    """A product of two matrices of floats that is not tiny?"""
    if node is None or node.op is not ops.matmul:
        return False
    a, b = (v.spec for v in node.inputs)
    if len(a.shape) != 2 or len(b.shape) != 2 or a.dtype not in (np.float32, np.float64):
        return False
    return usual(a.size) * usual(b.shape[1]) > SMALLEST


# ---- in front of the loop -------------------------------------------------------------------------------


class _RowProducts(_Rewriter):
    """Moves products of rows and captured matrices in front of loops; equal ones of several loops are one."""

    def __init__(self, graph: Graph):
        super().__init__(graph)
        self.known: dict[tuple[Any, ...], Value] = {}

    def loop(self, body: _Body, location: Location | None) -> Sequence[Value] | None:
        if body.form.cond is not None or not may_keep(body.form):
            return None  # with a condition it may end before the last row
        moved: dict[Value, Value] = {}
        for n in body.graph.nodes:
            if _is_product(n) and usual(n.inputs[0].spec.shape[1]) >= SHORTEST:
                product = self._product(n, body)
                if product is not None:
                    moved[n.outputs[0]] = product
        return self.add(reading(body.form, moved).node(location)) if moved else None

    def _product(self, node: Node, body: _Body) -> Value | None:
        """All rows' products, one below the other, when one operand is a row and the other is captured."""
        rows = body.scanned
        for side in (0, 1):
            row, views = body.base(node.inputs[side])
            matrix = body.fixed.get(node.inputs[1 - side])
            if row not in rows or matrix is None:
                continue
            count = rows[row].spec.shape[0]
            if nbytes(node.outputs[0]) * usual(count) > LARGEST:
                continue
            looks = tuple((v.op, tuple(v.attrs.items())) for v in views)
            key = (side, rows[row], matrix, looks)
            if key not in self.known:
                self.known[key] = self.multiplied(self.viewed(rows[row], views), matrix, side)
            return self.known[key]
        return None


# ---- behind the loop ------------------------------------------------------------------------------------


class _Behind(_Rewriter):
    """What passes that move work behind loops share."""

    def writing(
        self, body: _Body, location: Location | None, values: Sequence[Value], sums: Sequence[_Sum] = ()
    ) -> tuple[Results, dict[Value, Value]] | None:
        """Add the loop with `values` of its body as rows, some carries adding less.

        Returns its results and the arrays by their values, or None where that would be too large.
        """
        loop, scanned = body.form, body.scanned
        rows, present = loop.rows, set(loop.ys_out)
        added = [v for v in dict.fromkeys(values) if v not in present and v not in scanned]
        if rows is None or not may_keep(loop) or sum(map(nbytes, added)) * usual(rows) > LARGEST:
            return None
        if any(scanned[v].spec.shape[0] != rows for v in values if v in scanned):
            return None  # equal when it runs, but not known to be
        copy, env = _adding(loop, sums)
        made = self.add(writing(loop, copy, [env[v] for v in added], self.new).node(location))
        results = loop.split_results(made)
        own = len(loop.ys_out)
        stacks = {**scanned, **dict(zip((*loop.ys_out, *added), results.ys, strict=True))}
        return Results(list(results.carry), results.trips, list(results.ys[:own])), stacks


class _SummedProducts(_Behind):
    """Moves products that a carry only adds up behind the loop, over rows of their operands."""

    def loop(self, body: _Body, location: Location | None) -> Sequence[Value] | None:
        loop = body.form
        sums = [s for k in range(len(loop.init)) if (s := _Sum.of(k, body)) is not None]
        if not sums or loop.cond is not None:
            return None
        bases = [body.base(v)[0] for s in sums for product in s.products for v in product.inputs]
        written = self.writing(body, location, bases, sums)
        if written is None:
            return None
        (carry, trips, ys), stacks = written
        totals = list(carry)
        for s in sums:
            terms = [self._total(product, body, stacks, views) for product, views in s.products.items()]
            if s.rest or not self._is_zero(loop.init[s.carry]):
                terms.insert(0, carry[s.carry])
            totals[s.carry] = reduce(partial(self.make, ops.add), terms)
        return Results(totals, trips, ys).of_loop()

    def _is_zero(self, value: Value) -> bool:
        node = self.made.get(value)
        return node is not None and node.op is ops.fill and node.attrs["value"] == 0

    def _total(
        self, product: Node, body: _Body, stacks: Mapping[Value, Value], views: Sequence[Node]
    ) -> Value:
        """The sum over all rows i of ``a[i] @ b[i]``, seen through `views`: all a side by side times all b stacked."""
        (a, a_views), (b, b_views) = (body.base(v) for v in product.inputs)
        turned = bool(a_views) and a_views[-1].attrs.get("perm") == (1, 0)
        left = self.viewed(stacks[a], a_views[:-1] if turned else a_views)
        if not turned:
            left = self.turned(left, 0, 2, 1)
        right = self.viewed(stacks[b], b_views)
        (count, k, m), n = left.spec.shape, right.spec.shape[2]
        left, right = self.reshaped(left, count * k, m), self.reshaped(right, count * k, n)
        total = self.make(ops.matmul, self.turned(left, 1, 0), right)
        for view in views:
            total = self.make(view.op, total, **view.attrs)
        return total


# ---- rows of products ----------------------------------------------------------------------------------


class _ProductRows(_Behind):
    """Writes the rows of an operand instead of those of its product with a captured matrix."""

    def loop(self, body: _Body, location: Location | None) -> Sequence[Value] | None:
        moved = {k: p for k, v in enumerate(body.form.ys_out) if (p := self._product(v, body))}
        operands = [p.inputs[side] for p, side in moved.values()]
        written = self.writing(body, location, operands) if moved else None
        if written is None:
            return None
        (carry, trips, ys), stacks = written
        rows = list(ys)
        for k, (product, side) in moved.items():
            result = self.multiplied(stacks[product.inputs[side]], body.fixed[product.inputs[1 - side]], side)
            rows[k] = self.viewed(result, body.base(body.form.ys_out[k])[1])
        return Results(carry, trips, rows).of_loop()

    def _product(self, row: Value, body: _Body) -> tuple[Node, int] | None:
        """The product that the row is, and which of its operands changes from row to row."""
        base, views = body.base(row)
        node = body.made.get(base)
        if node is None or not _is_product(node) or any(body.reads[v] != 1 for v in _seen(base, views)):
            return None
        for side in (0, 1):
            operand = node.inputs[side]
            room = operand in body.form.ys_out or nbytes(operand) <= 2 * nbytes(base)
            if room and node.inputs[1 - side] in body.fixed and operand not in body.fixed:
                return node, side
        return None


def _seen(base: Value, views: Sequence[Node]) -> list[Value]:
    """A value and its views."""
    return [base, *(v.outputs[0] for v in views)]


class _Sum:
    """A carry whose new value is the old one, plus `products`, each seen through views, plus the `rest`."""

    def __init__(self, carry: int, products: dict[Node, list[Node]], rest: list[Value]):
        self.carry = carry
        self.products = products
        self.rest = rest

    @staticmethod
    def of(carry: int, body: _Body) -> _Sum | None:
        old, new = body.form.carry_in[carry], body.form.carry_out[carry]
        terms = _terms(new, body)
        if body.reads[old] != 1 or body.reads[new] != 1 or old not in terms or old is new:
            return None
        terms.remove(old)
        products: dict[Node, list[Node]] = {}
        rest = []
        for term in terms:
            base, looks = body.base(term)
            product = body.made.get(base)
            once = all(body.reads[v] == 1 for v in _seen(base, looks))
            if once and term.spec == old.spec and product is not None and _worth_moving(product, body):
                products[product] = looks
            else:
                rest.append(term)
        return _Sum(carry, products, rest) if products else None


def _terms(value: Value, body: _Body) -> list[Value]:
    """The values whose sum this is, each of its shape."""
    node = body.made.get(value)
    parts = node.inputs if node is not None and node.op is ops.add and body.reads[value] == 1 else ()
    if not parts or any(p.spec != value.spec for p in parts):
        return [value]
    return [t for p in parts for t in _terms(p, body)]


def _worth_moving(product: Node, body: _Body) -> bool:
    """Do the rows that would be written weigh less than the sum that is read and written in every iteration?"""
    if not _is_product(product):
        return False
    there = {*body.scanned, *body.form.ys_out}
    new = sum(nbytes(v) for v in (body.base(v)[0] for v in product.inputs) if v not in there)
    return new <= 2 * nbytes(product.outputs[0])


def _adding(loop: LoopForm, sums: Sequence[_Sum]) -> tuple[Graph, dict[Value, Value]]:
    """A copy of the loop's body in which the carries of these sums add the rest alone, and its values by the body's."""
    body = loop.body
    copy = Graph(body.name, guards=body.guards, finished=True)
    env = {v: copy.add_input(v.spec) for v in body.inputs}
    for n in body.nodes:
        copy.add_copy(n, env)
    carry = [env[v] for v in loop.carry_out]
    for s in sums:
        total = env[loop.carry_in[s.carry]]
        for term in s.rest:
            total = copy.add(ops.add, (total, env[term]), {}, (term.spec,))[0]
        carry[s.carry] = total
    copy.outputs = Results(carry, None, [env[v] for v in loop.ys_out]).of_body()
    return copy, env
