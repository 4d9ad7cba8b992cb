"""Every statement kind and rule of the loop IR, run by the interpreter on programs written by hand."""

import math

import numpy as np
import pytest

from tracejit.compiler.loopir.interpreter import ProgramFailure, _Machine, compute, run
from tracejit.compiler.loopir.ir import (
    Allocate,
    Call,
    Combine,
    Compute,
    Fail,
    Free,
    Grow,
    If,
    Load,
    Nest,
    Program,
    Size_,
    Store,
    While,
)
from tracejit.compiler.loopir.operands import Acc, Axis, Buffer, Const, Index, View
from tracejit.compiler.loopir.verifier import verify
from tracejit.core.dim import Dim

F64, I64, BOOL = np.dtype("f8"), np.dtype("i8"), np.dtype(bool)
N = Dim.of("n")


@pytest.fixture(params=["as arrays", "by index"])
def both_ways(request, monkeypatch):
    """Nests mean the same whether they run as arrays where they may, or index by index throughout."""
    if request.param == "by index":
        monkeypatch.setattr(_Machine, "independent", lambda self, nest: False)


def buffer(name, kind="temp", size=N, dtype=F64, **where):
    return Buffer(name, dtype, size, kind, **where)


def source(size=N, dtype=F64, slot=0):
    return buffer(f"x{slot}", "input", size, dtype, slot=slot)


def target(size=N, dtype=F64, slot=0):
    return buffer(f"y{slot}", "output", size, dtype, slot=slot)


def at(*symbols, const=0):
    """The index const + the symbols; a symbol may be a (name, coefficient) pair."""
    return Index(const, tuple(s if isinstance(s, tuple) else (s, 1) for s in symbols))


def op(out, name, *args, dtype=F64, argtype=None):
    return Compute(out, name, args, dtype, argtype or dtype)


def f(value):
    return Const(value, F64)


def i(value):
    return Const(value, I64)


def execute(buffers, body, inputs=(), sizes=None, constants=(), **rest):
    program = Program("test", list(buffers), body, tuple(sizes or ()), **rest)
    verify(program)
    return run(program, [np.asarray(x) for x in inputs], sizes or {}, constants)


def first_output(*args, **keywords):
    return execute(*args, **keywords)[0][0]


# ---- scalars --------------------------------------------------------------------------------------------


def scalar(name, *args, dtype=None):
    args = [np.asarray(a) for a in args]
    return compute(name, args, np.dtype(dtype or args[-1].dtype))


@pytest.mark.parametrize("name", ["min", "max"])
def test_min_and_max_propagate_nan(name):
    assert np.isnan(scalar(name, [1.0, math.nan], [math.nan, 1.0])).all()


@pytest.mark.parametrize("dtype", ["i4", "i8", "u4", "u8"])
def test_integers_wrap_around(dtype):
    info = np.iinfo(dtype)
    top, one = np.array(info.max, dtype), np.array(1, dtype)
    with np.errstate(all="ignore"):
        assert scalar("add", top, one) == info.min
        assert scalar("neg", np.array(info.min, dtype)) == info.min


def test_integer_division_is_python_s_and_zero_by_zero_divisors():
    x, y = np.array([7, -7, 7, -7, 5]), np.array([2, 2, -2, -2, 0])
    with np.errstate(all="ignore"):
        assert scalar("floordiv", x, y).tolist() == [3, -4, -4, 3, 0]
        assert scalar("mod", x, y).tolist() == [1, 1, -1, -1, 0]


def test_integer_power():
    x, y = np.array([2, -1, -1, 1, 3, 0, 0]), np.array([10, -3, -2, -5, -1, 0, -1])
    assert scalar("pow", x, y).tolist() == [1024, -1, 1, 1, 0, 1, 0]


def test_shifts_are_logical_for_unsigned():
    assert scalar("shr", np.array(-8), np.array(1)) == -4
    assert scalar("shr", np.array(2**63, "u8"), np.array(63, "u8")) == 1
    assert scalar("shl", np.array(3, "u4"), np.array(31, "u4")) == 2**31


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
def test_mulhi_is_the_high_half_of_the_unsigned_product(dtype):
    bits = 8 * np.dtype(dtype).itemsize
    values = [0, 1, 2**bits - 1, 2 ** (bits - 1), 0x9E3779B97F4A7C15 % 2**bits, 2 ** (bits // 2) + 1]
    words = np.array(values, f"u{bits // 8}")
    x, y = np.repeat(words, len(words)), np.tile(words, len(words))
    high = scalar("mulhi", x.view(dtype), y.view(dtype)).view(x.dtype)
    assert high.tolist() == [(a * b) >> bits for a, b in zip(x.tolist(), y.tolist(), strict=True)]


def test_round_goes_half_to_even_and_bitcast_keeps_the_bits():
    assert scalar("round", [0.5, 1.5, 2.5, -0.5]).tolist() == [0, 2, 2, 0]
    assert scalar("bitcast", -0.0, dtype="i8") == np.iinfo("i8").min
    assert scalar("cast", [1.9, -1.9], dtype="i4").tolist() == [1, -1]


def test_stable_functions():
    x = np.array([-1000.0, -1.0, 0.0, 1.0, 1000.0])
    np.testing.assert_allclose(scalar("sigmoid", x), [0, 1 / (1 + math.e), 0.5, math.e / (1 + math.e), 1])
    small = math.log1p(math.exp(-1))
    np.testing.assert_allclose(scalar("softplus", x), [0, small, math.log(2), 1 + small, 1000])
    assert scalar("erf", x).tolist() == [math.erf(v) for v in x]
    assert scalar("erfc", x).tolist() == [math.erfc(v) for v in x]
    assert scalar("sigmoid", np.float32(-100)) > 0


def test_logic_and_select():
    a, b = np.array([True, True, False]), np.array([True, False, False])
    assert scalar("and", a, b).tolist() == [True, False, False]
    assert scalar("xor", a, b).tolist() == [False, True, False]
    assert scalar("not", a).tolist() == [False, False, True]
    assert scalar("not", np.array(0)) == -1
    assert scalar("select", a, [1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]).tolist() == [1, 2, -3]


# ---- elementwise nests ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.usefixtures("both_ways")
def test_elementwise_with_a_size_a_constant_and_an_axis_as_scalar(n):
    x, y, c = source(), target(), buffer("c", "constant", 1, slot=0)
    body = [
        Size_("s", N),
        op("sf", "cast", "s", argtype=I64),
        Nest(
            [Axis("i", N)],
            [
                Load("a", x, at("i")),
                Load("b", c, at()),
                op("p", "index", "i", argtype=I64),
                op("u", "mul", "a", "b"),
                op("v", "add", "u", "p"),
                op("w", "sub", "v", "sf"),
                Store(y, at("i"), "w"),
            ],
        ),
    ]
    data = np.linspace(1, 2, n)
    got = first_output([x, y, c], body, [data], {"n": n}, [np.array([3.0])])
    assert got.tolist() == (data * 3 + np.arange(n) - n).tolist()


@pytest.mark.usefixtures("both_ways")
def test_transposed_view_of_a_noncontiguous_input():
    x, y = source(6), target(6)
    body = [
        Nest(
            [Axis("i", 3), Axis("j", 2)], [Load("a", x, at("i", ("j", 3))), Store(y, at(("i", 2), "j"), "a")]
        )
    ]
    data = np.arange(12.0).reshape(2, 6)[:, ::2]
    assert first_output([x, y], body, [data]).tolist() == data.T.ravel().tolist()


def test_complex_inputs_are_pairs():
    x, y = source(4), target(2)
    body = [Nest([Axis("i", 2)], [Load("a", x, at(("i", 2), const=1)), Store(y, at("i"), "a")])]
    assert first_output([x, y], body, [np.array([1 + 2j, 3 + 4j])]).tolist() == [2, 4]


@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.usefixtures("both_ways")
def test_guarded_load_reads_nothing_outside(n):
    x, y = source(), target(N + 2)
    body = [
        Nest(
            [Axis("i", N + 2)],
            [
                Size_("s", N),
                op("p", "index", "i", dtype=I64),
                op("low", "ge", "p", i(1), dtype=BOOL, argtype=I64),
                op("high", "le", "p", "s", dtype=BOOL, argtype=I64),
                op("inside", "and", "low", "high", dtype=BOOL),
                Load("a", x, at("i", const=-1), "inside", f(9.0)),
                Store(y, at("i"), "a"),
            ],
        )
    ]
    assert first_output([x, y], body, [np.zeros(n)], {"n": n}).tolist() == [9, *[0] * n, 9]


@pytest.mark.usefixtures("both_ways")
def test_guarded_store_writes_only_where_true():
    x, y = source(4, BOOL), target(4)
    body = [
        Nest([Axis("i", 4)], [Store(y, at("i"), f(0.0))]),
        Nest([Axis("j", 4)], [Load("g", x, at("j")), Store(y, at("j", const=0), f(1.0), guard="g")]),
    ]
    assert first_output([x, y], body, [[True, False, False, True]]).tolist() == [1, 0, 0, 1]


@pytest.mark.usefixtures("both_ways")
def test_scatter_add_counts_repeated_indices():
    x, y = source(N, I64), target(3)
    body = [
        Nest([Axis("i", 3)], [Store(y, at("i"), f(0.0))]),
        Nest([Axis("j", N)], [Load("k", x, at("j")), Store(y, at("k"), f(1.0), add=True)]),
    ]
    assert first_output([x, y], body, [[2, 0, 2, 2]], {"n": 4}).tolist() == [1, 0, 3]


def test_leaving_a_buffer_raises():
    x, z, y = source(3), source(1, I64, slot=1), target(1)
    body = [Load("k", z, at()), Load("a", x, at("k")), Store(y, at(), "a")]
    for bad in (-1, 3):
        with pytest.raises(IndexError, match=f"element {bad} of x0, which has 3"):
            execute([x, z, y], body, [np.zeros(3), [bad]])


def test_iterations_that_share_scratch_do_not_run_as_arrays():
    x, y, t = source(3), target(3), buffer("t", "local", 1)
    body = [
        Nest(
            [Axis("i", 3)],
            [Load("a", x, at("i")), Store(t, at(), "a"), Load("b", t, at()), Store(y, at("i"), "b")],
        )
    ]
    assert first_output([x, y, t], body, [[1.0, 2.0, 3.0]]).tolist() == [1, 2, 3]


def test_unwritten_memory_shows_and_temps_overlap_as_planned():
    t, u, y = buffer("t", size=1, offset=0), buffer("u", size=1, offset=0), target(2)
    body = [
        Load("a", t, at()),
        Store(y, at(), "a"),
        Store(u, at(), f(5.0)),
        Load("b", t, at()),
        Store(y, at(const=1), "b"),
    ]
    got = first_output([t, u, y], body, workspace=8)
    assert np.isnan(got[0]) and got[1] == 5


# ---- reductions -----------------------------------------------------------------------------------------


def reduction(rule, x, y, init, order=("parallel", "reduce")):
    axes = {"parallel": Axis("i", 2), "reduce": Axis("k", N, "reduce")}
    return [
        Nest(
            [axes[kind] for kind in order],
            [Load("v", x, at(("i", N), "k")), Combine(rule, ("s",), ("v",))],
            [Acc("s", x.dtype, Const(init, x.dtype))],
            [Store(y, at("i"), "s")],
        )
    ]


RULES = {"add": (np.sum, 0.0), "mul": (np.prod, 1.0), "min": (np.min, math.inf), "max": (np.max, -math.inf)}


@pytest.mark.parametrize("order", [("parallel", "reduce"), ("reduce", "parallel")])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7])
@pytest.mark.usefixtures("both_ways")
def test_reduce(rule, n, order):
    reference, init = RULES[rule]
    data = np.random.default_rng(n).normal(size=(2, n))
    if n == 7:
        data[1, 4] = math.nan
    x, y = source(2 * N), target(2)
    got = first_output([x, y], reduction(rule, x, y, init, order), [data], {"n": n})
    np.testing.assert_allclose(got, reference(data, axis=1, initial=init), rtol=1e-14)


@pytest.mark.parametrize(("rule", "reference"), [("and", np.all), ("or", np.any)])
def test_reduce_logic(rule, reference):
    data = np.array([[True, False, True], [True, True, True]])
    x, y = source(2 * N, BOOL), target(2, BOOL)
    got = first_output([x, y], reduction(rule, x, y, rule == "and"), [data], {"n": 3})
    assert got.tolist() == reference(data, axis=1).tolist()


@pytest.mark.parametrize("kind", ["reduce", "scan"])
@pytest.mark.parametrize("rule", ["argmax", "argmin"])
@pytest.mark.parametrize(
    "row",
    [
        [3.0],
        [1.0, 3.0, 3.0, 1.0],
        [1.0, math.nan, 3.0, math.nan],
        [math.nan] * 2,
        [-math.inf] * 3,
        [math.inf] * 5,
    ],
)
@pytest.mark.usefixtures("both_ways")
def test_argmax_takes_the_first_of_ties_and_the_first_nan(rule, row, kind):
    x, y, z = source(), target(1, I64), target(1, slot=1)
    body = [
        Nest(
            [Axis("k", N, kind)],
            [
                Load("v", x, at("k")),
                op("p", "index", "k", dtype=I64),
                Combine(rule, ("best", "pos"), ("v", "p")),
            ],
            [Acc("best", F64, f(-math.inf if rule == "argmax" else math.inf)), Acc("pos", I64, i(0))],
            [Store(y, at(), "pos"), Store(z, at(), "best")],
        )
    ]
    (position, value), _ = execute([x, y, z], body, [row], {"n": len(row)})
    assert position[0] == getattr(np, rule)(row)
    np.testing.assert_array_equal(value[0], row[position[0]])


@pytest.mark.usefixtures("both_ways")
def test_tail_runs_per_parallel_index_and_inner_nests_feed_the_outer_accumulator():
    x, y = source(2 * N), target(2)
    body = [
        Nest(
            [Axis("i", 2)],
            [
                Nest(
                    [Axis("k", N, "reduce")],
                    [Load("v", x, at(("i", N), "k")), Combine("add", ("s",), ("v",))],
                ),
                Combine("add", ("s",), (f(100.0),)),
            ],
            [Acc("s", F64, f(0.0))],
            [op("h", "mul", "s", f(0.5)), Store(y, at("i"), "h")],
        )
    ]
    for n, sums in ((0, [50, 50]), (1, [50, 50.5]), (3, [51.5, 56])):
        assert first_output([x, y], body, [np.arange(2.0 * n)], {"n": n}).tolist() == sums


@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.usefixtures("both_ways")
def test_softmax_of_rows_as_nested_nests(n):
    x, y = source(3 * N), target(3 * N)
    row = ("i", N)
    loads = {axis: Load(f"v{axis}", x, at(row, axis)) for axis in ("j", "k", "l")}
    body = [
        Nest(
            [Axis("i", 3)],
            [
                Nest(
                    [Axis("j", N, "reduce")],
                    [loads["j"], Combine("max", ("m",), ("vj",))],
                    [Acc("m", F64, f(-math.inf))],
                    [Store(top := buffer("top", "local", 1), at(), "m")],
                ),
                Load("t", top, at()),
                Nest(
                    [Axis("k", N, "reduce")],
                    [
                        loads["k"],
                        op("d", "sub", "vk", "t"),
                        op("e", "exp", "d"),
                        Combine("add", ("s",), ("e",)),
                    ],
                    [Acc("s", F64, f(0.0))],
                    [Store(total := buffer("total", "local", 1), at(), "s")],
                ),
                Load("u", total, at()),
                Nest(
                    [Axis("l", N)],
                    [
                        loads["l"],
                        op("d2", "sub", "vl", "t"),
                        op("e2", "exp", "d2"),
                        op("q", "div", "e2", "u"),
                        Store(y, at(row, "l"), "q"),
                    ],
                ),
            ],
        )
    ]
    data = np.random.default_rng(0).normal(size=(3, n))
    got = first_output([x, y, top, total], body, [data], {"n": n}).reshape(3, n)
    expected = np.exp(data) / np.exp(data).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(got, expected, rtol=1e-14)


# ---- scans and loops ------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("n", [0, 1, 4])
def test_scan_reads_the_running_value(n, order):
    x, y, z = source(2 * N), target(2 * N), target(2, slot=1)
    axes = [Axis("i", 2), Axis("k", N, "scan")]
    cell = at(("i", N), "k")
    body = [
        Nest(
            [axes[p] for p in order],
            [Store(y, cell, "s"), Load("v", x, cell), Combine("add", ("s",), ("v",))],
            [Acc("s", F64, f(0.0))],
            [Store(z, at("i"), "s")],
        )
    ]
    data = np.arange(2.0 * n).reshape(2, n)
    (running, last), _ = execute([x, y, z], body, [data], {"n": n})
    assert running.tolist() == (np.cumsum(data, axis=1) - data).ravel().tolist()
    assert last.tolist() == data.sum(axis=1).tolist()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_counted_loop(n, reverse):
    y, state = target(N, I64), buffer("state", "temp", 1, I64)
    body = [
        Store(state, at(), i(0)),
        While(
            "t",
            N,
            [
                Load("s", state, at()),
                Store(y, at("t"), "s"),
                op("s1", "add", "s", i(1), dtype=I64),
                Store(state, at(), "s1"),
            ],
            reverse=reverse,
        ),
    ]
    order = range(n)[::-1] if reverse else range(n)
    assert first_output([y, state], body, sizes={"n": n}).tolist() == list(order)


@pytest.mark.parametrize("start", [1.0, 300.0, 5000.0])
def test_tested_loop_counts_its_trips_and_binds_a_size(start):
    x, y, state = source(1), target(2), buffer("state", "temp", 1)
    body = [
        Load("x", x, at()),
        Store(state, at(), "x"),
        While(
            "t",
            None,
            [Load("b", state, at()), op("b2", "mul", "b", f(2.0)), Store(state, at(), "b2")],
            cond=[Load("a", state, at()), op("go", "lt", "a", f(1000.0), dtype=BOOL, argtype=F64)],
            test="go",
            trips="k",
            binds="m",
        ),
        Load("r", state, at()),
        Store(y, at(), "r"),
        Size_("m1", Dim.of("m") * 1),
        op("same", "eq", "k", "m1", dtype=BOOL, argtype=I64),
        op("sf", "cast", "same", argtype=BOOL),
        Store(y, at(const=1), "sf"),
    ]
    outputs, bound = execute([x, y, state], body, [[start]], bound=("m",))
    trips = max(0, math.ceil(math.log2(1000 / start)))
    assert outputs[0].tolist() == [start * 2**trips, 1] and bound == {"m": trips}


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_swaps_exchange_memory(trips):
    x, a, b, y = source(1, I64), buffer("a", size=1), buffer("b", size=1), target(1)
    body = [
        Load("n0", x, at()),
        Store(a, at(), f(1.0)),
        While(
            "t",
            "n0",
            [Load("v", a, at()), op("w", "mul", "v", f(3.0)), Store(b, at(), "w")],
            swaps=[(a, b)],
        ),
        Load("r", a, at()),
        Store(y, at(), "r"),
    ]
    assert first_output([x, a, b, y], body, [[trips]]).tolist() == [3.0**trips]


@pytest.mark.parametrize("trips", [0, 1, 6])
def test_heap_output_grows_with_a_loop_of_unknown_length(trips):
    x, stack, spare = source(1, I64), buffer("stack", "heap", Dim.of("m"), slot=0), buffer("spare", "heap", 2)
    body = [
        Allocate(stack, 1),
        Allocate(spare, 2),
        Load("limit", x, at()),
        While(
            "t",
            None,
            [Grow(stack, at("t", const=1)), op("v", "index", "t", argtype=I64), Store(stack, at("t"), "v")],
            cond=[op("p", "index", "t", dtype=I64), op("go", "lt", "p", "limit", dtype=BOOL, argtype=I64)],
            test="go",
            binds="m",
        ),
        Free(spare),
    ]
    outputs, bound = execute([x, stack, spare], body, [[trips]], bound=("m",))
    assert outputs[0].tolist() == list(range(trips)) and bound == {"m": trips}


# ---- branches, failures, kernels ------------------------------------------------------------------------


@pytest.mark.parametrize("test", [True, False])
def test_if(test):
    x, y = source(1, BOOL), target(1)
    body = [Load("c", x, at()), If("c", [Store(y, at(), f(1.0))], [Store(y, at(), f(2.0))])]
    assert first_output([x, y], body, [[test]]).tolist() == [1 if test else 2]


def test_fail_names_the_message_and_the_values():
    x = source(1, I64)
    body = [
        Load("k", x, at()),
        op("bad", "lt", "k", i(0), dtype=BOOL, argtype=I64),
        Fail("bad", 1, ("k",)),
    ]
    execute([x], body, [[0]], messages=("other", "negative"))
    with pytest.raises(ProgramFailure, match="negative") as failure:
        execute([x], body, [[-7]], messages=("other", "negative"))
    assert (failure.value.code, failure.value.details) == (1, (-7,))


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("k", [0, 1, 3])
def test_matmul_with_a_transposed_operand_and_an_offset(k, accumulate):
    a, b, c = source(2 * N), source(4 * N, slot=1), target(9)
    views = (
        View(a, at(), (1, 2)),  # stored as [k, m]
        View(b, at(), (4, 1)),
        View(c, at(const=1), (4, 1)),
    )
    body = [
        Nest([Axis("i", 9)], [Store(c, at("i"), f(10.0))]),
        Call("matmul", views, (2, N, 4), accumulate),
    ]
    rng = np.random.default_rng(k)
    left, right = rng.normal(size=(k, 2)), rng.normal(size=(k, 4))
    got = first_output([a, b, c], body, [left, right], {"n": k})
    np.testing.assert_allclose(got[1:].reshape(2, 4), left.T @ right + 10 * accumulate, rtol=1e-13)
    assert got[0] == 10


def test_inputs_must_have_the_size_the_program_says():
    x, y = source(), target()
    with pytest.raises(ValueError, match="input x0 has 2 elements, not 3"):
        execute([x, y], [], [np.zeros(2)], {"n": 3})
