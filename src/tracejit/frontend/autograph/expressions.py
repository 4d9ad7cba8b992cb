"""The rewriting of expressions: calls, and whatever asks for a truth value.

``a and b`` becomes ``_ag.and_(a, lambda: b)``: operands stay lazy and are evaluated once.
"""

from __future__ import annotations

import ast

from .effects import always_python, own_nodes
from .syntax import at_line_of, load, thunk

#: Builtins that are the same for tensors, or that look at the frame they are called from.
PLAIN_BUILTINS = frozenset(
    "len isinstance issubclass hasattr getattr setattr callable type super locals globals vars str repr tuple dict "
    "set id print format iter object staticmethod classmethod property".split()
)

OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}

COMPARISONS = {
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

OPERATORS_NAME = "_ag"


def operator(name: str, *arguments: ast.expr) -> ast.Call:
    """A call of one of the operators."""
    return ast.Call(ast.Attribute(load(OPERATORS_NAME), name, ast.Load()), list(arguments), [])


class Expressions(ast.NodeTransformer):
    """Rewrites expressions in place."""

    def __init__(self) -> None:
        self.first_parameters: list[str] = []
        self.class_name: str | None = None
        self.free: set[str] = set()

    def _at(self, made: ast.expr, model: ast.expr) -> ast.expr:
        return at_line_of(made, model)  # type: ignore[return-value]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        f = node.func
        plain = isinstance(f, ast.Name) and f.id in PLAIN_BUILTINS
        self.generic_visit(node)
        if plain:
            if isinstance(f, ast.Name) and f.id == "super" and not node.args and "__class__" in self.free:
                node.args = [
                    self._at(load("__class__"), node),
                    self._at(load(self.first_parameters[0]), node),
                ]
            return node
        node.func = self._at(operator("callee", node.func), node.func)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        if always_python(node) or _assigns(*node.values[1:]):
            return self.generic_visit(node)  # type: ignore[return-value]
        values = [self.visit(v) for v in node.values]
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return self._at(operator(name, values[0], *(thunk(v) for v in values[1:])), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not) or always_python(node.operand):
            return node
        return self._at(operator("not_", node.operand), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        plain = always_python(node.test) or _assigns(node.body, node.orelse)
        self.generic_visit(node)
        if plain:
            return node
        return self._at(operator("if_exp", node.test, thunk(node.body), thunk(node.orelse)), node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        lazy = len(node.ops) > 1 and not always_python(node) and not _assigns(*node.comparators[1:])
        self.generic_visit(node)
        if not lazy:
            return node
        steps: list[ast.expr] = []
        for op, right in zip(node.ops, node.comparators, strict=True):
            steps += [ast.Constant(COMPARISONS[type(op)]), thunk(right)]
        return self._at(operator("chain", node.left, *steps), node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        self.generic_visit(node)
        only = node.generators[0]
        if len(node.generators) > 1 or only.ifs or only.is_async or not isinstance(only.target, ast.Name):
            return node
        if _assigns(node.elt):
            return node
        each = ast.Lambda(ast.arguments([], [ast.arg(only.target.id)], None, [], [], None, []), node.elt)
        return self._at(operator("comprehension", only.iter, each), node)


def _assigns(*nodes: ast.expr) -> bool:
    """Is a walrus inside, which a lambda would keep to itself?"""
    return any(isinstance(n, ast.NamedExpr) for node in nodes for n in own_nodes(node))
