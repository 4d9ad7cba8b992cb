"""Symbolic sizes: arithmetic that agrees with integers, one canonical form, guards for what is assumed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejit.core.dim import (
    Assumptions,
    Dim,
    UnknownSize,
    assuming,
    broadcast_size,
    evaluate,
    hint,
    holds,
    known,
    maximum,
    minimum,
    nonnegative,
    parse,
    product,
    same,
    substitute,
)

N, M = Dim.of("n"), Dim.of("m")

leaves = st.one_of(st.integers(-5, 9), st.sampled_from([N, M, Dim.of("t0")]))
sizes = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a - b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda a, k: a // k, inner, st.integers(1, 4)),
        st.builds(maximum, inner, inner),
    ),
    max_leaves=6,
)
values = st.fixed_dictionaries({name: st.integers(0, 50) for name in ("n", "m", "t0")})


@given(sizes, sizes, values)
def test_arithmetic_agrees_with_integers(a, b, env):
    x, y = evaluate(a, env), evaluate(b, env)
    assert evaluate(a + b, env) == x + y
    assert evaluate(a - b, env) == x - y
    assert evaluate(a * b, env) == x * y
    assert evaluate(a // 3, env) == x // 3
    assert evaluate(a % 3, env) == x % 3
    assert evaluate(maximum(a, b), env) == max(x, y)
    assert evaluate(minimum(a, b), env) == min(x, y)
    assert evaluate(product([a, b, 2]), env) == 2 * x * y
    assert x >= 0 or not nonnegative(a)


def test_what_cannot_be_negative():
    assert nonnegative(N * M + 2) and nonnegative((N + 1) // 2) and nonnegative(maximum(N - 3, 0))
    assert not nonnegative(N - 1) and not nonnegative((N - 1) // 2) and not nonnegative(maximum(N - 3, -1))
    assert maximum(N + 2, N) == N + 2 and maximum(1, N + 1) == N + 1


@given(sizes, sizes, sizes)
def test_equal_polynomials_are_the_same_object_by_value(a, b, c):
    assert a + b == b + a
    assert (a + b) - b == a
    assert a * (b + c) == a * b + a * c
    assert hash(a * b) == hash(b * a)


@given(sizes)
def test_text_is_read_back(a):
    assert parse(str(a)) == a


@given(sizes, values)
def test_substituting_everything_evaluates(a, env):
    assert substitute(a, env) == evaluate(a, env)


@given(sizes, values)
def test_substituting_in_steps(a, env):
    partly = substitute(a, {"n": env["n"]})
    assert evaluate(partly, env) == evaluate(a, env)


def test_a_constant_polynomial_is_an_int():
    assert (N - N, N * 0, (N + 3) - N) == (0, 0, 3)
    assert type((N + 3) - N) is int


def test_exact_division_leaves_no_trace():
    assert (6 * N * M) // (2 * N) == 3 * M
    assert (N * M + N) // N == M + 1
    assert str((N + 1) // 2) == "floordiv(n+1, 2)"


def test_atoms_are_found_inside_of_recipes():
    assert [a.name for a in ((N + 1) // 2 + M).atoms()] in (["n", "m"], ["m", "n"])
    assert N.atom is not None and (N + 1).atom is None and (2 * N).atom is None


# ---- guards ---------------------------------------------------------------------------------------------


def under(**hints: int) -> assuming:
    return assuming(Assumptions(hints))


def test_a_comparison_is_decided_by_the_hint_and_recorded():
    with under(n=4) as context:
        assert N == N and not context.guards
        assert N < 10
        assert not N < 2
        assert same(N, 4)
        assert not same(N, 5)
    assert list(context.guards) == [("<", N, 10), ("<=", 2, N), ("==", N, 4), ("!=", N, 5)]
    assert holds(context.guards, {"n": 4})
    assert not holds(context.guards, {"n": 5})


def test_bool_and_int_record_what_they_assume():
    with under(n=3) as context:
        assert bool(N) and int(N + 1) == 4 and known(N) == 3
        assert list(range(5))[N] == 3
    assert ("!=", N, 0) in context.guards and ("==", N + 1, 4) in context.guards


def test_structurally_equal_sizes_need_no_guard():
    with under(n=3) as context:
        assert same(N + N, 2 * N)
        assert broadcast_size(N, N) == N
    assert not context.guards


@pytest.mark.parametrize(
    ("a", "b", "hints", "result", "guards"),
    [
        (N, 1, {"n": 7}, N, []),
        (1, N, {"n": 7}, N, []),
        (N, 4, {"n": 4}, 4, [("==", N, 4)]),
        (N, M, {"n": 4, "m": 4}, N, [("==", N, M)]),
        (N, M, {"n": 1, "m": 4}, M, [("!=", N, M), ("==", N, 1)]),
        (N, 4, {"n": 3}, None, [("!=", N, 4), ("!=", N, 1)]),
    ],
)
def test_broadcasting(a, b, hints, result, guards):
    with under(**hints) as context:
        assert broadcast_size(a, b) == result
    assert list(context.guards)[: len(guards)] == guards


def test_sizes_of_loops_have_no_hint():
    with (
        under(n=3),
        pytest.raises(UnknownSize, match="depends on t0, which is known only when the function runs"),
    ):
        hint(Dim.of("t0") + N)


def test_outside_of_a_trace_there_is_nothing_to_assume():
    with pytest.raises(UnknownSize, match="no trace is active"):
        bool(N)


@pytest.mark.parametrize("text", ["", "n+", "2*", "max(n", "floordiv(n,", ")", "n)"])
def test_texts_that_are_no_size(text: str):
    with pytest.raises(ValueError, match="size"):
        parse(text)
