"""Break, continue and early return rewritten as flags, so that the rest of a function has no jumps.

What follows an ``if`` whose branch jumps moves into the other branch; elsewhere the rest of the block is guarded
by the flags that may have been set. Generated names start with ``_ag_``.
"""

from __future__ import annotations

import ast
from dataclasses import field

from ....core.dataclass import dataclass
from .effects import SCOPES, always_python, own_nodes
from .syntax import Unsupported, any_of, assign, at_line_of, load, negated
from .walking import children

VALUE, DONE = "_ag_value", "_ag_done"

_LOOPS = (ast.While, ast.For)
_JUMPS = (ast.Return, ast.Break, ast.Continue)


@dataclass
class _Loop:
    """The flags of the loop a statement is in."""

    broken: str = ""
    skipped: str = ""
    used: set[str] = field(default_factory=set)


def lower_jumps(function: ast.FunctionDef) -> None:
    """Rewrite the body of a function in place."""
    lowering = _Lowering(returns=_returns_early(function))
    body = list(function.body)
    if lowering.returns:
        if not _leaves(body):
            body.append(at_line_of(ast.Return(ast.Constant(None)), body[-1]))
        last = at_line_of(ast.Return(load(VALUE)), body[-1])
        first = at_line_of(assign(DONE, ast.Constant(False)), function.body[0])
        function.body = [first, *lowering.block(body), last]
    else:
        function.body = lowering.block(body)


def _returns_early(function: ast.FunctionDef) -> bool:
    """Is there a return inside a statement that becomes an operator?"""
    for node in own_nodes(function):
        converted = isinstance(node, _LOOPS) or (isinstance(node, ast.If) and not always_python(node.test))
        if converted and any(isinstance(n, ast.Return) for n in own_nodes(node)):
            return True
    return False


def _leaves(stmts: list[ast.stmt], kinds: tuple[type, ...] = (*_JUMPS, ast.Raise)) -> bool:
    """Does control never reach the end of these statements?"""
    if not stmts:
        return False
    last = stmts[-1]
    if isinstance(last, ast.If):
        return _leaves(last.body, kinds) and _leaves(last.orelse, kinds)
    if isinstance(last, _LOOPS) and _leaves(last.orelse, kinds):
        return not any(isinstance(n, ast.Break) for s in last.body for n in _outside_loops(s))
    if isinstance(last, ast.While):
        forever = isinstance(last.test, ast.Constant) and bool(last.test.value)
        return forever and not any(isinstance(n, ast.Break) for s in last.body for n in _outside_loops(s))
    return isinstance(last, kinds)


class _Lowering:
    def __init__(self, returns: bool):
        self.returns = returns
        self.loops: list[_Loop] = []
        self.count = 0

    def block(self, stmts: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for k, s in enumerate(stmts):
            rest = stmts[k + 1 :]
            if isinstance(s, _JUMPS):
                return out + self.jump(s)
            flags = self.flags(s)
            if isinstance(s, ast.If) and flags and rest:
                if _leaves(s.body):
                    return out + self.statement(ast.copy_location(ast.If(s.test, s.body, s.orelse + rest), s))
                if _leaves(s.orelse):
                    return out + self.statement(ast.copy_location(ast.If(s.test, s.body + rest, s.orelse), s))
            out += self.statement(s)
            if flags and rest:
                out.append(self.guarded(flags, self.block(rest), rest[0]))
                return out
        return out

    def guarded(self, flags: list[str], body: list[ast.stmt], model: ast.AST) -> ast.stmt:
        return at_line_of(ast.If(negated(any_of(flags)), body, []), model)

    def jump(self, s: ast.stmt) -> list[ast.stmt]:
        if isinstance(s, ast.Return):
            if not self.returns:
                return [s]
            value = s.value if s.value is not None else ast.Constant(None)
            made = [assign(VALUE, value), assign(DONE, ast.Constant(True))]
        else:
            loop = self.loops[-1]
            made = [assign(loop.broken if isinstance(s, ast.Break) else loop.skipped, ast.Constant(True))]
        return [at_line_of(m, s) for m in made]

    def flags(self, s: ast.stmt) -> list[str]:
        """The flags of this block that a statement may set."""
        flags = set()
        if self.returns and _returns([s]):
            flags.add(DONE)
        if self.loops and not isinstance(s, (ast.FunctionDef, ast.ClassDef)):
            for n in _outside_loops(s):
                if isinstance(n, ast.Break):
                    flags.add(self.loops[-1].broken)
                elif isinstance(n, ast.Continue):
                    flags.add(self.loops[-1].skipped)
        return sorted(flags)

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        """A statement, with the jumps inside of it lowered."""
        if isinstance(s, _LOOPS):
            return self.loop(s)
        if isinstance(s, ast.Try):
            return [self.attempt(s)]
        if isinstance(s, ast.If):
            s.body, s.orelse = self.block(s.body) or [at_line_of(ast.Pass(), s)], self.block(s.orelse)
        elif isinstance(s, ast.With):
            s.body = self.block(s.body)
        elif isinstance(s, (ast.AsyncFor, ast.AsyncWith)) or type(s).__name__ == "TryStar":
            raise Unsupported(type(s).__name__)
        return [s]

    def attempt(self, s: ast.Try) -> ast.stmt:
        leaves = (n for part in s.finalbody for n in _outside_loops(part))
        if _returns(s.finalbody) or any(isinstance(n, (ast.Break, ast.Continue)) for n in leaves):
            raise Unsupported("a jump out of `finally`")
        flags = sorted({f for part in s.body for f in self.flags(part)})
        s.body = self.block(s.body)
        s.orelse = self.block(s.orelse)
        if flags and s.orelse:
            s.orelse = [self.guarded(flags, s.orelse, s.orelse[0])]
        for handler in s.handlers:
            handler.body = self.block(handler.body)
        s.finalbody = self.block(s.finalbody)
        return s

    def loop(self, s: ast.While | ast.For) -> list[ast.stmt]:
        self.count += 1
        jumps = [n for part in s.body for n in _outside_loops(part)]
        breaks = any(isinstance(n, ast.Break) for n in jumps)
        skips = any(isinstance(n, ast.Continue) for n in jumps)
        returns = self.returns and _returns(s.body)
        self._hoist_walrus(s)
        breaks = breaks or any(isinstance(n, ast.Break) for part in s.body for n in _outside_loops(part))
        flags = _Loop(f"_ag_broken_{self.count}", f"_ag_skipped_{self.count}")
        before = [at_line_of(assign(flags.broken, ast.Constant(False)), s)] if breaks else []
        stops = [flags.broken] * breaks + [DONE] * returns
        self.loops.append(flags)
        body = self.block(s.body) or [at_line_of(ast.Pass(), s)]
        self.loops.pop()
        if skips:
            body.insert(0, at_line_of(assign(flags.skipped, ast.Constant(False)), s.body[0]))
        orelse, s.orelse, s.body = s.orelse, [], body
        if stops:
            self._stop_on(s, stops)
        after = self.block(orelse)
        if after and stops:
            after = [self.guarded(stops, after, after[0])]
        return [*before, s, *after]

    def _stop_on(self, s: ast.While | ast.For, stops: list[str]) -> None:
        going = negated(any_of(stops))
        if isinstance(s, ast.For):
            s.going = at_line_of(going, s.iter)  # type: ignore[attr-defined]
        elif isinstance(s.test, ast.Constant) and s.test.value:
            s.test = at_line_of(going, s.test)
        else:
            whole = s.test if isinstance(s.test, (ast.Compare, ast.BoolOp)) else negated(negated(s.test))
            s.test = at_line_of(ast.BoolOp(ast.And(), [going, whole]), s.test)

    def _hoist_walrus(self, s: ast.While | ast.For) -> None:
        """``while (y := f()) > 0`` assigns for its body: the test moves into the body."""
        if isinstance(s, ast.While) and any(isinstance(n, ast.NamedExpr) for n in own_nodes(s.test)):
            if s.orelse:
                raise Unsupported("`else` of a `while` whose condition assigns")
            stop = at_line_of(ast.If(negated(s.test), [ast.Break()], []), s.test)
            true = ast.copy_location(ast.Constant(True), s.test)
            s.body, s.test = [stop, *s.body], true


def _returns(stmts: list[ast.stmt]) -> bool:
    """Is there a return among these statements that leaves the function they are in?"""
    below = (s for s in stmts if not isinstance(s, SCOPES))
    return any(isinstance(n, ast.Return) for n in own_nodes(*below))


def _outside_loops(s: ast.AST) -> list[ast.AST]:
    """The nodes of a statement whose break and continue belong to the loop around it."""
    if isinstance(s, _LOOPS):
        return [n for part in s.orelse for n in _outside_loops(part)]
    if isinstance(s, SCOPES):
        return []
    return [s, *(n for child in children(s) for n in _outside_loops(child))]
