"""``match`` rewritten as ``if``, as guards and compared values may be known only when the compiled function runs.

Values and guards become conditions; what a pattern says about structure stays a ``match``, which is Python's.
"""

from __future__ import annotations

import ast

from .syntax import assign, at_line_of, load


def lower_matches(function: ast.FunctionDef) -> None:
    """Rewrite the body of a function in place; those defined inside stay as they are."""
    matches = _Matches()
    function.body = [lowered for s in function.body for lowered in matches.replaced(s)]


class _Matches(ast.NodeTransformer):
    def replaced(self, s: ast.stmt) -> list[ast.stmt]:
        made = self.visit(s)
        return made if isinstance(made, list) else [made]

    def visit_Match(self, s: ast.Match) -> list[ast.stmt]:
        self.generic_visit(s)
        name = f"_ag_subject_{s.lineno}_{s.col_offset}"
        return [at_line_of(assign(name, s.subject), s), *_chain(name, s.cases, s)]

    def _other(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _other


def _chain(name: str, cases: list[ast.match_case], s: ast.Match) -> list[ast.stmt]:
    if not cases:
        return []
    case, *rest = cases
    pattern = case.pattern
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
        return _capturing(name, pattern, case, _chain(name, rest, s))
    test = _comparison(name, pattern)
    before: list[ast.stmt] = []
    if test is None:
        flag = f"_ag_matched_{pattern.lineno}_{pattern.col_offset}"
        before, test = _matched(name, flag, pattern), load(flag)
    if case.guard is not None:
        test = ast.BoolOp(ast.And(), [test, case.guard])
    branch = ast.If(test, case.body, _chain(name, rest, s))
    return [at_line_of(x, pattern) for x in (*before, branch)]


def _capturing(name: str, pattern: ast.MatchAs, case: ast.match_case, rest: list[ast.stmt]) -> list[ast.stmt]:
    """``case x:`` and ``case _:``, which fit anything."""
    before = [at_line_of(assign(pattern.name, load(name)), pattern)] if pattern.name else []
    if case.guard is None:
        return [*before, *case.body]
    return [*before, at_line_of(ast.If(case.guard, case.body, rest), pattern)]


def _comparison(name: str, pattern: ast.pattern) -> ast.expr | None:
    """The condition that a pattern of values is; None for one of structure."""
    if isinstance(pattern, ast.MatchValue):
        return at_line_of(ast.Compare(load(name), [ast.Eq()], [pattern.value]), pattern)
    if isinstance(pattern, ast.MatchSingleton):
        return ast.Compare(load(name), [ast.Is()], [ast.Constant(pattern.value)])
    if isinstance(pattern, ast.MatchOr):
        tests = [_comparison(name, p) for p in pattern.patterns]
        known = [t for t in tests if t is not None]
        return ast.BoolOp(ast.Or(), list(known)) if len(known) == len(tests) else None
    return None


def _matched(name: str, flag: str, pattern: ast.pattern) -> list[ast.stmt]:
    """``flag``: whether the pattern fits; binds its names."""
    case = ast.match_case(pattern, None, [assign(flag, ast.Constant(True))])
    return [assign(flag, ast.Constant(False)), ast.Match(load(name), [case])]
