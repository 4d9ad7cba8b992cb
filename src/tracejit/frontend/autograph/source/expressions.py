"""The rewriting of expressions that ask for a truth value.

``a and b`` becomes ``_ag.and_(a, lambda: b)``: operands stay lazy and are evaluated once.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection

from .effects import always_python
from .rewriting import OPERATORS, Rewriter, assigns, index_value, operator
from .syntax import at_line_of, load, no_arguments, thunk
from .walking import below

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


class Expressions(Rewriter):
    """Rewrites expressions, and assignments of attributes, in place."""

    def __init__(self, modules: Collection[str]):
        super().__init__()
        self.modules = modules
        self.called: set[ast.expr] = set()

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.called.add(node.func)  # a method: it is converted when it is known
        return super().visit_Call(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        module = isinstance(node.value, ast.Name) and node.value.id in self.modules
        self.generic_visit(node)
        if module or node in self.called or not isinstance(node.ctx, ast.Load):
            return node
        return at_line_of(operator("attribute_of", node.value, ast.Constant(self._mangle(node.attr))), node)

    def visit_Match(self, s: ast.Match) -> ast.Match:
        self.generic_visit(s)
        patterns = [n for case in s.cases for n in ast.walk(case.pattern) if isinstance(n, ast.MatchClass)]
        if patterns:
            classes = [at_line_of(copy.copy(p.cls), s) for p in patterns]
            s.subject = at_line_of(operator("subject_of", s.subject, *classes), s.subject)
        return s

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.MatchClass:
        """Patterns name classes in no other way than Python has it."""
        node.patterns = [self.visit(p) for p in node.patterns]
        node.kwd_patterns = [self.visit(p) for p in node.kwd_patterns]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or is_literal(node.slice):
            return node
        return at_line_of(operator("item_of", node.value, index_value(node.slice)), node)

    def visit_Assign(self, s: ast.Assign) -> ast.stmt | list[ast.stmt]:
        target = s.targets[0]
        if len(s.targets) > 1 or not isinstance(target, ast.Attribute):
            return super().visit_Assign(s)
        name = ast.Constant(self._mangle(target.attr))
        call = operator("set_attribute", self.visit(s.value), self.visit(target.value), name)
        return at_line_of(ast.Expr(call), s)

    def visit_AugAssign(self, s: ast.AugAssign) -> ast.stmt:
        target = s.target
        if not isinstance(target, ast.Attribute) or assigns(s.value):
            return super().visit_AugAssign(s)
        how, name = ast.Constant(OPERATORS[type(s.op)]), ast.Constant(self._mangle(target.attr))
        call = operator("update_attribute", how, self.visit(target.value), name, thunk(self.visit(s.value)))
        return at_line_of(ast.Expr(call), s)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        if always_python(node) or assigns(*node.values[1:]):
            self.generic_visit(node)
            return node
        values = [self.visit(v) for v in node.values]
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return at_line_of(operator(name, values[0], *(thunk(v) for v in values[1:])), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not) or always_python(node.operand):
            return node
        return at_line_of(operator("not_", node.operand), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        plain = always_python(node.test) or assigns(node.body, node.orelse)
        self.generic_visit(node)
        if plain:
            return node
        return at_line_of(operator("if_exp", node.test, thunk(node.body), thunk(node.orelse)), node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        plain = not asks(node) or assigns(*node.comparators)
        self.generic_visit(node)
        if plain:
            return node
        steps: list[ast.expr] = []
        for op, right in zip(node.ops, node.comparators, strict=True):
            steps += [ast.Constant(COMPARISONS[type(op)]), thunk(right)]
        return at_line_of(operator("chain", node.left, *steps), node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        self.generic_visit(node)
        only = node.generators[0]
        if len(node.generators) > 1 or only.is_async or assigns(node.elt, *only.ifs):
            return node
        parts = [only.iter, _of_item(only.target, node.elt)]
        if only.ifs:
            kept = only.ifs[0] if len(only.ifs) == 1 else self._joined(only.ifs)
            parts.append(_of_item(only.target, kept))
        return at_line_of(operator("comprehension", *parts), node)

    def _joined(self, tests: list[ast.expr]) -> ast.expr:
        return at_line_of(operator("and_", tests[0], *(thunk(t) for t in tests[1:])), tests[0])


def _of_item(target: ast.expr, value: ast.expr) -> ast.expr:
    """``lambda item: value`` where the item is unpacked into `target`."""
    if isinstance(target, ast.Name):
        return ast.Lambda(no_arguments(target.id), value)
    unpacked = ast.comprehension(target, ast.List([load("_ag_item")], ast.Load()), [], 0)
    only = ast.Subscript(ast.ListComp(value, [unpacked]), ast.Constant(0), ast.Load())
    return ast.Lambda(no_arguments("_ag_item"), only)


def is_literal(index: ast.expr) -> bool:
    """Is an index of literals alone, which needs no look at its value?"""
    plain = (ast.Constant, ast.Slice, ast.Tuple, ast.UnaryOp)
    return all(isinstance(n, plain) for n in below(index))


def asks(node: ast.Compare) -> bool:
    """Does Python ask for a truth value to work it out, or may what it says be known only when the program runs?"""
    if always_python(node):
        return not any(isinstance(x, ast.Constant) for x in (node.left, *node.comparators))
    return len(node.ops) > 1 or isinstance(node.ops[0], (ast.In, ast.NotIn))
