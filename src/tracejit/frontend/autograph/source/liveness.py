"""Liveness of names: which names are read later, and so are results of branches and loops.

Works backwards over a function without jumps. Where control may leave in the middle (``try``), nothing that was
assigned inside is taken to be overwritten.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from .effects import Effects
from .walking import below

Names = frozenset[str]


class Liveness:
    """Live names around the branches and loops of a function.

    Attributes
    ----------
    after : dict
        Statement to the names read after it; for a loop also those its next iteration reads.
    beyond : dict
        Loop to the names read after it, those that only its next iteration reads left out.
    always : frozenset of str
        Names that may be read at any time: nested functions mention them, or they outlive the call.
    """

    def __init__(self, body: Sequence[ast.stmt], outliving: Iterable[str]):
        self.after: dict[ast.AST, Names] = {}
        self.beyond: dict[ast.AST, Names] = {}
        self.always: Names = frozenset(Effects.of(body).captured) | frozenset(outliving)
        self.block(body, frozenset())

    def block(self, stmts: Sequence[ast.stmt], out: Names) -> Names:
        """The names live before these statements, when `out` is live after them."""
        for s in reversed(stmts):
            out = self.statement(s, out)
        return out

    def statement(self, s: ast.stmt, out: Names) -> Names:
        if isinstance(s, ast.If):
            self.after[s] = out
            reads = Effects.of(s.test).reads
            return self.block(s.body, out) | self.block(s.orelse, out) | reads
        if isinstance(s, ast.While):
            return self._loop(s, s.body, out, Effects.of(s.test), frozenset())
        if isinstance(s, ast.For):
            targets = Effects.of(s.target)
            before = self._loop(
                s,
                s.body,
                out,
                Effects.of(getattr(s, "going", None)),
                frozenset(targets.writes),
                targets.reads,
            )
            return before | Effects.of(s.iter).reads
        if isinstance(s, ast.Try):
            return self._attempt(s, out)
        if isinstance(s, ast.With):
            inner = self.block(s.body, out)
            for item in reversed(s.items):
                effects = Effects.of(item)
                inner = (inner - (effects.writes - effects.walrus)) | effects.reads
            return inner
        if isinstance(s, ast.Match):
            inside = [self.block(case.body, out) for case in s.cases]
            return out.union(*inside, Effects.of(s).reads)
        return self._simple(s, out)

    def _simple(self, s: ast.stmt, out: Names) -> Names:
        effects = Effects.of(s)
        if isinstance(s, ast.Return):
            return frozenset(effects.reads)
        return (out - _overwritten(s)) | effects.reads

    def _loop(
        self,
        s: ast.stmt,
        body: Sequence[ast.stmt],
        out: Names,
        test: Effects,
        targets: Names,
        more: Iterable[str] = (),
    ) -> Names:
        head = out | test.reads
        while True:
            grown = head | (self.block(body, head) - targets) | frozenset(more)
            if grown == head:
                break
            head = grown
        self.after[s], self.beyond[s] = head, out
        return head

    def _attempt(self, s: ast.Try, out: Names) -> Names:
        parts = [s.body, *(h.body for h in s.handlers), s.orelse, s.finalbody]
        everything = out.union(Effects.of(*parts, *(h.type for h in s.handlers)).reads)
        for part in parts:
            self.block(part, everything)
        return everything


def _overwritten(s: ast.stmt) -> set[str]:
    """Names that a simple statement assigns as a whole, whatever happens."""
    targets: list[ast.expr] = []
    if isinstance(s, ast.Assign):
        targets = s.targets
    elif isinstance(s, ast.AnnAssign) and s.value is not None:
        targets = [s.target]
    elif isinstance(s, ast.Delete):
        targets = s.targets
    elif isinstance(s, (ast.FunctionDef, ast.ClassDef)):
        return {s.name}
    return {
        n.id for t in targets for n in below(t) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    }
