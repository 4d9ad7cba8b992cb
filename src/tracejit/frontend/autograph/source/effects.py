"""What a piece of syntax reads and assigns, in the scope of one function.

Over-approximates: a name that a nested function mentions counts as read whenever that function may run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from .walking import below, children, fields_of

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


_LISTS = (ast.List, ast.ListComp)

#: Methods that change a list, dict or set in place.
_CHANGING = frozenset(
    "append extend insert pop remove clear sort reverse update setdefault popitem add discard".split()
)


class Effects(ast.NodeVisitor):
    """Names read and written.

    Attributes
    ----------
    reads, writes : set of str
        A name counts as written also when what it stands for is changed in place.
    changed : set of str
        Names of what is changed in place.
    bound : set of str
        Names that are assigned as such: the function's own, unless declared otherwise.
    captured : set of str
        Names that nested functions mention: they may be read at any time.
    walrus : set of str
        Names assigned inside of expressions.
    attributes : dict
        Text of each assigned attribute (``self.x``) to its syntax.
    calls : bool
        Something is called.
    appended : set of str
        Names to which items are appended: lists that grow.
    """

    def __init__(self) -> None:
        self.reads: set[str] = set()
        self.writes: set[str] = set()
        self.changed: set[str] = set()
        self.bound: set[str] = set()
        self.captured: set[str] = set()
        self.walrus: set[str] = set()
        self.attributes: dict[str, ast.Attribute] = {}
        self.appended: set[str] = set()
        self.calls: bool = False
        self.hidden: list[set[str]] = []  # names of comprehensions around

    @staticmethod
    def of(*nodes: ast.AST | Iterable[ast.AST] | None) -> Effects:
        effects = Effects()
        for node in nodes:
            for part in [node] if isinstance(node, ast.AST) else node or ():
                effects.visit(part)
        return effects

    def generic_visit(self, node: ast.AST) -> None:
        for child in children(node):
            self.visit(child)

    def visit_Constant(self, node: ast.Constant) -> None:
        """It reads nothing, and `ast` looks for methods of older versions."""

    def visit_Name(self, node: ast.Name) -> None:
        if self.hidden and any(node.id in names for names in self.hidden):
            return
        if isinstance(node.ctx, ast.Load):
            self.reads.add(node.id)
        else:
            self._bind(node.id)

    def _bind(self, name: str | None) -> None:
        if name:
            self.writes.add(name)
            self.bound.add(name)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self._bind(node.target.id)
        self.walrus.add(node.target.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load) and dotted(node):
            self.attributes[ast.unparse(node)] = node
        self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        self.visit(node.slice)
        if not isinstance(node.ctx, ast.Load):
            self._changed(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            self.reads.add(node.target.id)
            if isinstance(node.op, ast.Add) and isinstance(node.value, _LISTS):
                self.appended.add(node.target.id)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        added = node.value
        if isinstance(added, ast.BinOp) and isinstance(added.op, ast.Add) and isinstance(added.right, _LISTS):
            if [ast.unparse(t) for t in node.targets] == [ast.unparse(added.left)]:
                self.appended.add(ast.unparse(added.left))

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        self.calls = True
        f = node.func
        if isinstance(f, ast.Attribute) and f.attr in _CHANGING and dotted(f.value):
            self._changed(f.value)
            if f.attr in ("append", "extend"):
                self.appended.add(ast.unparse(f.value))

    def _changed(self, node: ast.expr) -> None:
        """The object that a name or attribute stands for, or a part of it, is changed in place."""
        while isinstance(node, ast.Subscript):
            node = node.value
        if (array := array_of_flat(node)) is not None:
            self._changed(array)
        if isinstance(node, ast.Name):
            if not any(node.id in names for names in self.hidden):
                self.writes.add(node.id)
                self.changed.add(node.id)
        elif isinstance(node, ast.Attribute) and dotted(node):
            self.attributes[ast.unparse(node)] = node

    # ---- nested scopes ----------------------------------------------------------------------------------

    def _scope(self, node: ast.AST) -> None:
        inner = {n.id for n in below(node) if isinstance(n, ast.Name)}
        for part in below(node):
            if isinstance(part, (ast.Nonlocal, ast.Global)):
                inner.update(part.names)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._bind(node.name)
        self.captured |= inner
        self.reads |= inner

    visit_FunctionDef = _scope
    visit_AsyncFunctionDef = _scope
    visit_Lambda = _scope
    visit_ClassDef = _scope

    def _comprehension(self, node: ast.AST) -> None:
        targets = {
            n.id
            for g in node.generators  # type: ignore[attr-defined]
            for n in below(g.target)
            if isinstance(n, ast.Name)
        }
        self.hidden.append(targets)
        self.generic_visit(node)
        self.hidden.pop()
        if isinstance(node, ast.GeneratorExp):
            self.captured |= {n.id for n in below(node) if isinstance(n, ast.Name)} - targets

    visit_ListComp = _comprehension
    visit_SetComp = _comprehension
    visit_DictComp = _comprehension
    visit_GeneratorExp = _comprehension

    # ---- other statements that bind ---------------------------------------------------------------------

    def visit_alias(self, node: ast.alias) -> None:
        self._bind((node.asname or node.name).split(".")[0])

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._bind(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        self._bind(node.name)
        self.generic_visit(node)

    visit_MatchStar: Any = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self._bind(node.rest)
        self.generic_visit(node)


def dotted(node: ast.expr) -> bool:
    """Is it a name, or an attribute of an attribute … of a name?"""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def array_of_flat(node: ast.expr) -> ast.Name | None:
    """The name of the array that is written to as ``a.flat``; None for anything else."""
    if isinstance(node, ast.Attribute) and node.attr == "flat" and isinstance(node.value, ast.Name):
        return node.value
    return None


def own_nodes(*roots: ast.AST) -> Iterable[ast.AST]:
    """The nodes below, nested functions and classes left out (comprehensions are in)."""
    stack = list(roots)
    while stack:
        node = stack.pop()
        yield node
        if fields_of(node) and (not isinstance(node, SCOPES) or node in roots):
            stack += children(node)


def always_python(test: ast.expr) -> bool:
    """Is a condition a Python bool whatever it is applied to, as ``x is None`` and ``isinstance`` are?"""
    if isinstance(test, ast.Compare):
        return all(isinstance(op, (ast.Is, ast.IsNot)) for op in test.ops)
    if isinstance(test, ast.BoolOp):
        return all(always_python(v) for v in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return always_python(test.operand)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name):
        return test.func.id in ("isinstance", "callable", "hasattr", "issubclass")
    return isinstance(test, ast.Constant)
