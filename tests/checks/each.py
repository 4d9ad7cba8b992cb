"""Tests of many cases: one per op, because a test for each case costs more than most of the cases do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from .cases import Case


def each(cases: Sequence[Case]) -> Callable[[Callable[[Case], None]], Callable[[str], None]]:
    """One test per op, which asks for all of its cases; an error says which of them failed."""
    by_op: dict[str, list[Case]] = {}
    for case in cases:
        by_op.setdefault(case.op.name, []).append(case)

    def of_every_op(check: Callable[[Case], None]) -> Callable[[str], None]:
        @pytest.mark.parametrize("op", by_op)
        def test(op: str) -> None:
            for case in by_op[op]:
                try:
                    check(case)
                except BaseException as error:
                    error.add_note(f"the case is {case}")
                    raise

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return of_every_op
