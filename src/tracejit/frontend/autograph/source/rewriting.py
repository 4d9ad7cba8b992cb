"""Rewrites that every mode needs: calls convert their callee, and ``x[i] = v`` rebinds `x` to the changed value.

Tensors do not change, so assigning to a part of one assigns the name, or the attribute, that it was reached by.
Alone, this is what a function becomes that runs eagerly; where control flow is converted too, that builds on it.
"""

from __future__ import annotations

import ast
import copy
from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any

from .effects import Effects, array_of_flat, own_nodes
from .sharing import shared_names
from .syntax import Definition, assign, at_line_of, load, parameters, store, thunk
from .walking import below, fields_of

#: Builtins that are the same for tensors, or that look at the frame they are called from.
PLAIN_BUILTINS = frozenset(
    "issubclass getattr setattr callable super locals globals vars str repr tuple dict "
    "set id format iter object staticmethod classmethod property".split()
)

OPERATORS: dict[type[ast.operator], str] = {
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

OPERATORS_NAME = "_ag"
#: Methods that change an array of NumPy's.
IN_PLACE = frozenset(("sort", "partition", "fill", "put"))


def operator(name: str, *arguments: ast.expr) -> ast.Call:
    """A call of one of the operators."""
    return ast.Call(ast.Attribute(load(OPERATORS_NAME), name, ast.Load()), list(arguments), [])


class Rewriter(ast.NodeTransformer, ABC):
    """Rewrites calls and assignments to parts, in place."""

    converter = "callee"  # the operator that says what to call in place of something

    def __init__(self) -> None:
        self.first_parameters: list[str] = []
        self.class_name: str | None = None
        self.free: set[str] = set()
        self.shared: frozenset[str] = frozenset()
        self.numeric = False

    def looks_at(self, node: ast.AST, numeric: bool) -> None:
        """Learn which names of a function stand for one array; is it a program for NumPy alone?"""
        self.shared, self.numeric = shared_names(node), numeric
        if numeric:  # the caller has a name for each parameter, too
            functions = [n for n in below(node) if isinstance(n, ast.FunctionDef)]
            self.shared |= frozenset(name for f in functions for name in parameters(f.args))

    def augmenting(self, name: str) -> str:
        """The operator for ``name += v``."""
        if name in self.shared:
            return "augmented_in_place" if self.numeric else "augmented"
        return "augmented_alone"

    @abstractmethod
    def is_assignable(self, name: str) -> bool:
        """May the function being rewritten assign this name?"""

    def _mangle(self, name: str) -> str:
        """A private name of a class as its code has it."""
        private = name.startswith("__") and not name.endswith("__") and self.class_name is not None
        return f"_{str(self.class_name).lstrip('_')}{name}" if private else name

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """As `ast` has it, without contexts and operators: nodes are replaced by what visiting them gives."""
        for name in fields_of(node):
            old = getattr(node, name, None)
            if old.__class__ is list:
                old[:] = self._visited(old)
            elif isinstance(old, ast.AST):
                new = self.visit(old)
                if new is None:
                    delattr(node, name)
                else:
                    setattr(node, name, new)
        return node

    def _visited(self, items: list[Any]) -> list[Any]:
        out: list[Any] = []
        for item in items:
            made = self.visit(item) if isinstance(item, ast.AST) else item
            if made.__class__ is list:
                out += made
            elif made is not None or item is None:
                out.append(made)
        return out

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """It stays, and `ast` looks for methods of older versions."""
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        f = node.func
        plain = isinstance(f, ast.Name) and f.id in PLAIN_BUILTINS
        self.generic_visit(node)
        if plain:
            if isinstance(f, ast.Name) and f.id == "super" and not node.args and "__class__" in self.free:
                node.args = [
                    at_line_of(load("__class__"), node),
                    at_line_of(load(self.first_parameters[0]), node),
                ]
            return node
        node.func = at_line_of(operator(self.converter, node.func), node.func)
        return node

    def visit_Expr(self, s: ast.Expr) -> ast.Expr:
        """``x.sort()`` changes an array of NumPy's; of a tensor it would give another one, which nobody takes."""
        call = s.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in IN_PLACE:
            how = ast.Constant(call.func.attr)
            call.func = at_line_of(operator("in_place_method", call.func.value, how), call.func)
        s.value = self.visit(call)
        return s

    # ---- assignment to parts ----------------------------------------------------------------------------

    def visit_Assign(self, s: ast.Assign) -> ast.stmt | list[ast.stmt]:
        s.value = self.visit(s.value)
        if not any(map(_has_part, s.targets)):
            s.targets = [self.visit(t) for t in s.targets]
            return s
        if len(s.targets) == 1:
            return self._assigned(s.targets[0], s.value, s, "0")
        value = _temporary(s, "")
        made: list[ast.stmt] = [at_line_of(assign(value, s.value), s)]
        for k, target in enumerate(s.targets):
            made += self._assigned(target, load(value), s, str(k))
        return made

    def visit_AnnAssign(self, s: ast.AnnAssign) -> ast.stmt | list[ast.stmt]:
        if isinstance(s.target, ast.Attribute):
            self.generic_visit(s)
            return s
        if s.value is None:  # makes a name local, unless it is another function's; a subscript is left alone
            never: ast.stmt = ast.Pass()
            if isinstance(s.target, ast.Name):
                never = assign(s.target.id, ast.Constant(None))
            return at_line_of(ast.If(ast.Constant(False), [at_line_of(never, s)], []), s)
        return self.visit_Assign(at_line_of(ast.Assign([s.target], s.value), s))

    def visit_AugAssign(self, s: ast.AugAssign) -> ast.stmt:
        s.value = self.visit(s.value)
        if not isinstance(s.target, ast.Subscript):
            s.target = self.visit(s.target)
            return s
        how = ast.Constant(OPERATORS[type(s.op)])
        return self._changed(s.target, s, "update_item", [how], [s.value])

    def _assigned(self, target: ast.expr, value: ast.expr, s: ast.stmt, path: str) -> list[ast.stmt]:
        """``target = value``; the items of a tuple with parts in it are assigned one by one, left to right."""
        if isinstance(target, ast.Subscript):
            return [self._changed(target, s, "set_item", [value], [])]
        if not isinstance(target, (ast.Tuple, ast.List)) or not _has_part(target):
            return [at_line_of(ast.Assign([self.visit(target)], value), s)]
        items: list[tuple[ast.expr, str]] = []
        taken: list[ast.expr] = []
        made: list[ast.stmt] = []
        for k, item in enumerate(target.elts):
            name = _temporary(s, f"{path}_{k}")
            starred = isinstance(item, ast.Starred)
            taken.append(ast.Starred(store(name), ast.Store()) if starred else store(name))
            items.append((item.value if isinstance(item, ast.Starred) else item, name))
        first = ast.Assign([ast.Tuple(taken, ast.Store())], value)
        for k, (item, name) in enumerate(items):
            made += self._assigned(item, load(name), s, f"{path}_{k}")
        return [at_line_of(first, s), *made]

    def _changed(
        self, target: ast.Subscript, s: ast.stmt, what: str, first: list[ast.expr], last: list[ast.expr]
    ) -> ast.stmt:
        """``x[i] = v`` as ``x = set_item(v, x, (i,))``: what cannot change is replaced where it was found."""
        indices: list[ast.expr] = []
        base: ast.expr = target
        while isinstance(base, ast.Subscript):
            indices.insert(0, index_value(self.visit(base.slice)))
            base = base.value
        where = ast.Tuple(indices, ast.Load())
        array = array_of_flat(base)
        if array is not None and self.is_assignable(array.id):
            what, base = what.replace("item", "flat"), array
        if isinstance(base, ast.Name) and self.is_assignable(base.id):
            if base.id in self.shared:
                what = f"{what}_shared"
            call = operator(what, *first, load(base.id), where, *last)
            return at_line_of(assign(base.id, call), s)
        if isinstance(base, ast.Attribute):
            name = ast.Constant(self._mangle(base.attr))
            call = operator(f"{what}_of", *first, self.visit(base.value), name, where, *last)
        else:
            call = operator(f"{what}_in", *first, self.visit(base), where, *last)
        return at_line_of(ast.Expr(call), s)


def eagerly_rewritten(
    node: Definition,
    free: Collection[str],
    class_name: str | None,
    converter: str = "eager_callee",
    numeric: bool = False,
) -> Definition:
    """The definition as it is to run eagerly: control flow stays as it is. Is it `numeric`, for NumPy alone?"""
    rewriter = _EagerRewriter(set(free), class_name, converter)
    rewriter.looks_at(node, numeric)
    made: Definition = rewriter.visit(node)
    if isinstance(made, ast.FunctionDef):
        made.decorator_list, made.returns = [], None
    without_values(made.args)
    return made


class _EagerRewriter(Rewriter):
    """Calls and assignments to parts, in a function and those defined inside."""

    def __init__(self, free: set[str], class_name: str | None, converter: str):
        super().__init__()
        self.converter = converter
        self.free = free
        self.class_name = class_name
        self.scopes: list[set[str]] = []

    def is_assignable(self, name: str) -> bool:
        return bool(self.scopes) and name in self.scopes[-1]

    def visit_AugAssign(self, s: ast.AugAssign) -> ast.stmt:
        target, how = s.target, ast.Constant(OPERATORS[type(s.op)])
        if isinstance(target, ast.Name) and self.is_assignable(target.id):
            changed = operator(self.augmenting(target.id), how, load(target.id), self.visit(s.value))
            return at_line_of(assign(target.id, changed), s)
        if isinstance(target, ast.Attribute) and not assigns(s.value):
            owner, name = self.visit(target.value), ast.Constant(self._mangle(target.attr))
            changed = operator("update_attribute", how, owner, name, thunk(self.visit(s.value)))
            return at_line_of(ast.Expr(changed), s)
        return super().visit_AugAssign(s)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        declared = [n for n in own_nodes(*node.body) if isinstance(n, (ast.Nonlocal, ast.Global))]
        given = parameters(node.args)
        named = {name for n in declared for name in n.names}
        self.scopes.append(Effects.of(node.body).bound | {*given} | named)
        self.first_parameters.append((given or [""])[0])
        self.generic_visit(node)
        self.first_parameters.pop()
        self.scopes.pop()
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        self.first_parameters.append((parameters(node.args) or [""])[0])
        self.generic_visit(node)
        self.first_parameters.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        self.generic_visit(node)
        return guarded(node)

    visit_AsyncFunctionDef: Any = visit_ClassDef


def guarded(handler: ast.ExceptHandler) -> ast.ExceptHandler:
    """``_ag.handling(E)`` stands first in each ``except E:``, since some errors are not the program's own."""
    named = [] if handler.type is None else [copy.deepcopy(handler.type)]
    first = at_line_of(ast.Expr(operator("handling", *named)), handler)
    handler.body = [first, *handler.body]
    return handler


def _has_part(target: ast.expr) -> bool:
    """Is one of the targets a subscript?"""
    if isinstance(target, (ast.Tuple, ast.List)):
        return any(map(_has_part, target.elts))
    return isinstance(target.value if isinstance(target, ast.Starred) else target, ast.Subscript)


def _temporary(s: ast.stmt, path: str) -> str:
    return f"_ag_item_{s.lineno}_{s.col_offset}_{path}"


def index_value(node: ast.expr) -> ast.expr:
    """What stands in brackets, as an expression: slices are written as calls."""
    if isinstance(node, ast.Slice):
        bounds = [b if b is not None else ast.Constant(None) for b in (node.lower, node.upper, node.step)]
        return at_line_of(operator("slice", *bounds), node)
    if isinstance(node, ast.Tuple):
        return ast.copy_location(ast.Tuple([index_value(e) for e in node.elts], ast.Load()), node)
    return node


def assigns(*nodes: ast.expr) -> bool:
    """Is a walrus inside, which a lambda would keep to itself?"""
    return any(isinstance(n, ast.NamedExpr) for node in nodes for n in own_nodes(node))


def without_values(arguments: ast.arguments) -> None:
    """Defaults and annotations were evaluated when the function was defined."""
    arguments.defaults = [at_line_of(ast.Constant(None), d) for d in arguments.defaults]
    arguments.kw_defaults = [
        None if d is None else at_line_of(ast.Constant(None), d) for d in arguments.kw_defaults
    ]
    everyone = [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ]
    for a in everyone:
        if a is not None:
            a.annotation = None
