"""The rewriting of a function: statements become calls of `operators`, their bodies nested functions.

Local names that a body assigns become cells, which the operators read and write through the nested function's
closure; names that no other statement reads stay local to the body. Positions in the file are kept.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import field
from typing import Any

from ....core.dataclass import dataclass
from .effects import Effects, always_python, own_nodes
from .expressions import Expressions
from .jumps import lower_jumps
from .liveness import Liveness
from .matching import lower_matches
from .rewriting import OPERATORS, guarded, operator, without_values
from .syntax import (
    Definition,
    Unsupported,
    assign,
    at_line_of,
    load,
    no_arguments,
    parameters,
    store,
    texts,
    thunk,
)


@dataclass
class _Scope:
    """A function of the result: which names are its own, and which of them inner functions assign."""

    owned: set[str]
    shared: set[str] = field(default_factory=set)


@dataclass
class _Unit:
    """A function of the source while it is rewritten."""

    live: Liveness
    assignable: set[str]
    globals: set[str]
    remote: set[str]  # names that nested functions assign: any call may change them
    remotely_appended: set[str]
    set_in_loops: set[str]


def rewritten(
    node: Definition,
    free: Collection[str],
    class_name: str | None,
    modules: Collection[str] = (),
    numeric: bool = False,
) -> Definition:
    """The definition with its control flow as operators; Unsupported where Python's own form must stay.

    `modules` are names of modules: what is read from them is no property. Is it `numeric`, a program for NumPy alone?
    """
    transformer = _Transformer(set(free), class_name, modules)
    transformer.looks_at(node, numeric)
    return transformer.definition(node)


class _Transformer(Expressions):
    def __init__(self, free: set[str], class_name: str | None, modules: Collection[str]):
        super().__init__(modules)
        self.free = free
        self.class_name = class_name
        self.scopes: list[_Scope] = []
        self.units: list[_Unit] = []

    # ---- functions --------------------------------------------------------------------------------------

    def definition(self, node: Definition) -> Definition:
        if isinstance(node, ast.Lambda):
            if suspends(node):
                raise Unsupported("generators stay plain Python")
            self.first_parameters.append((parameters(node.args) or [""])[0])
            node.body = self.visit(node.body)
            return node
        self._function(node)
        node.decorator_list, node.returns = [], None
        without_values(node.args)
        return node

    def _function(self, node: ast.FunctionDef) -> None:
        if suspends(node):
            raise Unsupported("generators stay plain Python")
        lower_matches(node)
        lower_jumps(node)
        declared: dict[type, set[str]] = {ast.Nonlocal: set(), ast.Global: set()}
        for n in own_nodes(*node.body):
            if isinstance(n, (ast.Nonlocal, ast.Global)):
                declared[type(n)].update(n.names)
        given = parameters(node.args)
        outliving = declared[ast.Nonlocal] | declared[ast.Global]
        owned = (Effects.of(node.body).bound | set(given)) - outliving
        for name in declared[ast.Nonlocal]:
            self._share(name)
        live = Liveness(node.body, outliving)
        remote = _by_nested(node)
        self.units.append(
            _Unit(live, owned | outliving, declared[ast.Global], *remote, _set_in_loops(node) & owned)
        )
        self.scopes.append(_Scope(owned))
        self.first_parameters.append((given or [""])[0])
        body = self.block(node.body)
        self.first_parameters.pop()
        scope = self.scopes.pop()
        self.units.pop()
        own = [_declared(n) for n in sorted(scope.shared - set(given))]
        node.body = [*(at_line_of(d, node.body[0]) for d in own), *body]

    def _share(self, name: str) -> None:
        """An inner function assigns this name: the function that owns it must bind it."""
        for scope in reversed(self.scopes):
            if name in scope.owned:
                scope.shared.add(name)
                return

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args = self.visit(node.args)
        if not suspends(node):
            self._function(node)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        node.args = self.visit(node.args)
        self.first_parameters.append((parameters(node.args) or [""])[0])
        if not suspends(node):
            node.body = self.visit(node.body)
        self.first_parameters.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node

    visit_AsyncFunctionDef: Any = visit_ClassDef

    # ---- statements -------------------------------------------------------------------------------------

    def block(self, stmts: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in stmts:
            if isinstance(s, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Delete)):
                out += self._announced(s)
            made = self.visit(s)
            out += made if isinstance(made, list) else [made]
        return out

    def _announced(self, s: ast.stmt) -> list[ast.stmt]:
        """``_ag.changing(self, "x")`` before an attribute is assigned."""
        statements, effects = [], Effects.of(s)
        for text, node in effects.attributes.items():
            owner = _unplaced(ast.parse(ast.unparse(node.value), mode="eval").body)
            call = operator("changing", owner, ast.Constant(self._mangle(node.attr)))
            _keyword(call, "grows", ast.Constant(True) if text in effects.appended else None)
            statements.append(_statement(call, s))
        return statements

    @property
    def live(self) -> Liveness:
        return self.units[-1].live

    def _nested(
        self, name: str, body: list[ast.stmt], assigned: set[str], outer: set[str], *given: str
    ) -> ast.FunctionDef:
        """A function of no name but `given` for the body; names in `outer` stay those of the functions around."""
        shared = sorted(assigned & outer)
        everywhere = [n for n in shared if n in self.units[-1].globals]
        around = [n for n in shared if n not in everywhere]
        for n in around:
            self._share(n)
        self.scopes.append(_Scope(assigned - outer))
        inner = self.block(body)
        scope = self.scopes.pop()
        head: list[ast.stmt] = [_declared(n) for n in sorted(scope.shared)]
        head += [ast.Nonlocal(around)] if around else []
        head += [ast.Global(everywhere)] if everywhere else []
        made = ast.FunctionDef(name, no_arguments(*given), [*head, *inner], [], None, None)
        return at_line_of(made, body[0])

    def _written(self, effects: Effects) -> set[str]:
        unit = self.units[-1]
        return (effects.writes | (unit.remote if effects.calls else set())) & unit.assignable

    def visit_With(self, s: ast.With) -> ast.With:
        s.items, s.body = [self.visit(item) for item in s.items], self.block(s.body)
        return s

    def visit_Try(self, s: ast.Try) -> ast.Try:
        s.body, s.orelse, s.finalbody = self.block(s.body), self.block(s.orelse), self.block(s.finalbody)
        for h in s.handlers:
            h.type = self.visit(h.type) if h.type is not None else None
            h.body = self.block(h.body)
            guarded(h)
        if s.handlers:
            s.body = [at_line_of(ast.With([ast.withitem(operator("trying"))], s.body), s)]
        return s

    def visit_Raise(self, s: ast.Raise) -> ast.Raise:
        self.generic_visit(s)
        if s.exc is not None:
            s.exc = at_line_of(operator("raising", s.exc), s.exc)
        return s

    def visit_If(self, s: ast.If) -> list[ast.stmt]:
        if always_python(s.test):
            s.test, s.body, s.orelse = self.visit(s.test), self.block(s.body), self.block(s.orelse)
            return [s]
        after = self.live.after[s]
        parts = [Effects.of(s.body), Effects.of(s.orelse)]
        written = [self._written(e) for e in parts]
        changed = set().union(*(e.changed - e.bound for e in parts)) & self.units[-1].assignable
        read = (written[0] | written[1]) & (after | self.live.always)
        state = read | changed  # what is changed in place may have other names, which are read
        before = self.live.block(s.body, after) | self.live.block(s.orelse, after)
        scratch = ((written[0] | written[1]) - state) & before
        line = s.lineno
        names = (f"_ag_then_{line}", f"_ag_else_{line}")
        test = self.visit(s.test)
        branches = [self._nested(names[0], s.body, written[0], state | scratch)]
        if s.orelse:
            branches.append(self._nested(names[1], s.orelse, written[1], state | scratch))
        arguments = [
            test,
            load(names[0]),
            load(names[1]) if s.orelse else ast.Constant(None),
            texts(self._mangled(state)),
        ]
        call = operator("if_stmt", *arguments)
        _keyword(call, "scratch", texts(self._mangled(scratch)) if scratch else None)
        _keyword(call, "attributes", self._attributes(parts, written[0] | written[1]))
        _keyword(call, "unread", texts(self._mangled(state - read)) if state - read else None)
        return [*branches, _statement(call, s)]

    def visit_While(self, s: ast.While) -> list[ast.stmt]:
        effects = Effects.of(s.body)
        written = self._written(effects)
        state = written & (self.live.after[s] | self.live.always)
        names = (f"_ag_test_{s.lineno}", f"_ag_body_{s.lineno}")
        answer = at_line_of(ast.Return(s.test), s.test)
        test = self._nested(names[0], [answer], set(), set())
        body = self._nested(names[1], s.body, written, state)
        call = operator("while_stmt", load(names[0]), load(names[1]), texts(self._mangled(state)))
        self._more(call, s, effects, written, state)
        return [test, body, _statement(call, s)]

    def visit_For(self, s: ast.For) -> list[ast.stmt]:
        effects = Effects.of(s.body, s.target)
        written = self._written(effects)
        state = written & (self.live.after[s] | self.live.always)
        item, name = "_ag_item", f"_ag_body_{s.lineno}"
        taking = at_line_of(ast.Assign([s.target], load(item)), s.target)
        iterated = self.visit(s.iter)
        body = self._nested(name, [taking, *s.body], written, state, item)
        call = operator("for_stmt", iterated, load(name), texts(self._mangled(state)))
        going = getattr(s, "going", None)
        _keyword(call, "going", thunk(self.visit(going)) if going is not None else None)
        self._more(call, s, effects, written, state)
        return [body, _statement(call, s)]

    def _more(
        self, call: ast.Call, s: ast.stmt, effects: Effects, written: set[str], state: set[str]
    ) -> None:
        attributes = self._attributes([effects], written)
        _keyword(call, "attributes", attributes)
        known = {*state, *(t for t in effects.attributes if attributes is not None)}
        remote = self.units[-1].remotely_appended if effects.calls else set()
        lists = sorted((effects.appended | remote) & known)
        _keyword(call, "lists", texts(self._mangled(lists)) if lists else None)
        inner = state - self.live.beyond[s] - self.live.always
        _keyword(call, "inner", texts(self._mangled(inner)) if inner else None)

    def _attributes(self, parts: list[Effects], written: set[str]) -> ast.Tuple | None:
        """``_ag.attribute("self.x", lambda: self, "x")`` for every attribute that is assigned."""
        made: dict[str, ast.expr] = {}
        for effects in parts:
            for text, node in effects.attributes.items():
                if text.split(".")[0] not in effects.bound and text.split(".")[0] not in written:
                    owner = ast.parse(text.rsplit(".", 1)[0], mode="eval").body
                    name = ast.Constant(self._mangle(node.attr))
                    made[text] = operator("attribute", ast.Constant(text), thunk(_unplaced(owner)), name)
        return ast.Tuple([made[t] for t in sorted(made)], ast.Load()) if made else None

    def _mangled(self, names: Collection[str]) -> list[str]:
        return [self._mangle(n) for n in sorted(names)]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and any(node.id in unit.set_in_loops for unit in self.units):
            return at_line_of(operator("defined", node), node)
        return node

    def visit_AugAssign(self, s: ast.AugAssign) -> Any:
        made = super().visit_AugAssign(s)
        if isinstance(s.target, ast.Name):
            name, how = s.target.id, ast.Constant(OPERATORS[type(s.op)])
            made = at_line_of(assign(name, operator(self.augmenting(name), how, load(name), s.value)), s)
        if isinstance(s.target, ast.Name) and s.target.id in self.units[-1].set_in_loops:
            known = at_line_of(assign(s.target.id, operator("defined", load(s.target.id))), s)
            return [known, made]
        return made

    def visit_Return(self, s: ast.Return) -> ast.Return:
        if isinstance(s.value, ast.Name):
            s.value = at_line_of(operator("defined", s.value), s)
        elif s.value is not None:
            s.value = self.visit(s.value)
        return s

    def visit_Assert(self, s: ast.Assert) -> ast.stmt:
        message = thunk(self.visit(s.msg)) if s.msg is not None else ast.Constant(None)
        return _statement(operator("assert_stmt", self.visit(s.test), message), s)

    def is_assignable(self, name: str) -> bool:
        return name in self.units[-1].assignable


def _set_in_loops(function: ast.FunctionDef) -> set[str]:
    """Names that loops of a function assign: nothing may have set them."""
    loops = [n for n in own_nodes(*function.body) if isinstance(n, (ast.For, ast.While))]
    return {name for loop in loops for name in Effects.of(loop).bound}


def _by_nested(function: ast.FunctionDef) -> tuple[set[str], set[str]]:
    """Names of a function that those inside of it assign or change in place, and lists that they append to."""
    assigned: set[str] = set()
    appended: set[str] = set()
    for inner in (n for n in own_nodes(*function.body) if isinstance(n, (ast.FunctionDef, ast.Lambda))):
        effects = Effects.of(inner.body)
        own = (effects.bound - _outer(inner)) | set(parameters(inner.args))
        more = _by_nested(inner) if isinstance(inner, ast.FunctionDef) else (set(), set())
        assigned |= (effects.writes | more[0]) - own
        appended |= (effects.appended | more[1]) - own
    return assigned, appended


def _outer(function: ast.FunctionDef | ast.Lambda) -> set[str]:
    """Names that a function declares to be those of functions around it."""
    return {name for n in own_nodes(function) if isinstance(n, ast.Nonlocal) for name in n.names}


def suspends(node: ast.AST) -> bool:
    """Is it a generator or a coroutine?"""
    return any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)) for n in own_nodes(node))


def _declared(name: str) -> ast.AnnAssign:
    """``name: ...``, which makes a name local and does nothing else."""
    return ast.AnnAssign(store(name), ast.Constant(...), None, 1)


def _keyword(call: ast.Call, name: str, value: ast.expr | None) -> None:
    if value is not None:
        call.keywords.append(ast.keyword(name, value))


def _statement(call: ast.expr, model: ast.stmt) -> ast.stmt:
    """The call as a statement at the line of `model`'s head."""
    made = ast.Expr(call)
    line = getattr(model, "test", None) or getattr(model, "iter", None) or model
    at_line_of(made, line)
    return made


def _unplaced(node: ast.expr) -> ast.expr:
    """A tree without positions: it takes those of where it is put."""
    for n in ast.walk(node):
        for key in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            if hasattr(n, key):
                delattr(n, key)
    return node
