"""Executables of hand-written IR: layouts, sizes, statuses, memory and threads."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import threading

import numpy as np
import pytest

from tracejit.compiler.codegen import llvm
from tracejit.core.dim import Dim
from tracejit.runtime import abi, objects
from tracejit.runtime.executable import Executable
from tracejit.runtime.pool import POOL, SMALLEST
from tracejit.runtime.signature import Signature

F8 = np.dtype("f8")
N = Dim.of("n")


def make(text: str, signature: Signature, **options) -> Executable:
    loaded = objects.load(llvm.compile_text(text))
    return Executable(loaded.address("entry"), signature, **options)


def unary(shape) -> Signature:
    return Signature(((F8, shape),), ((F8, shape),))


# out[i] = 2 * in[i] for dims[0] elements
DOUBLE = """
define i32 @entry(ptr %buffers, ptr %dims, ptr %ctx) "no-builtins" nounwind {
entry:
  %in = load ptr, ptr %buffers
  %slot = getelementptr ptr, ptr %buffers, i64 1
  %out = load ptr, ptr %slot
  %n = load i64, ptr %dims
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %from = getelementptr double, ptr %in, i64 %i
  %x = load double, ptr %from
  %y = fmul double %x, 2.0
  %to = getelementptr double, ptr %out, i64 %i
  store double %y, ptr %to
  %next = add i64 %i, 1
  br label %head
done:
  ret i32 0
}
"""
FOUR = DOUBLE.replace("load i64, ptr %dims", "add i64 0, 4")
DYNAMIC = Signature(((F8, (N,)),), ((F8, (N,)),), atoms=(("n", 0, 0),))

# counts up to in[0], allocates that many doubles, fills them with 0, 1, 2, ... and binds the trip count
COUNT = f"""
define i32 @entry(ptr %buffers, ptr %dims, ptr %ctx) "no-builtins" nounwind {{
entry:
  %in = load ptr, ptr %buffers
  %limit = load i64, ptr %in
  store i64 %limit, ptr %dims
  %bytes = mul i64 %limit, 8
  %more = add i64 %bytes, 63
  %rounded = and i64 %more, -64
  %alloc.slot = getelementptr i8, ptr %ctx, i64 {abi.offset("alloc")}
  %alloc = load ptr, ptr %alloc.slot
  %out = call ptr %alloc(i64 64, i64 %rounded)
  %count.slot = getelementptr i8, ptr %ctx, i64 {abi.offset("allocations")}
  %count = load i64, ptr %count.slot
  %count1 = add i64 %count, 1
  store i64 %count1, ptr %count.slot
  %out.slot = getelementptr ptr, ptr %buffers, i64 1
  store ptr %out, ptr %out.slot
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %go = icmp slt i64 %i, %limit
  br i1 %go, label %body, label %done
body:
  %to = getelementptr double, ptr %out, i64 %i
  %v = sitofp i64 %i to double
  store double %v, ptr %to
  %next = add i64 %i, 1
  br label %head
done:
  %bad = icmp eq i64 %limit, 13
  %detail = getelementptr i8, ptr %ctx, i64 {abi.offset("detail")}
  store i64 %limit, ptr %detail
  %status = select i1 %bad, i32 1, i32 0
  ret i32 %status
}}
"""
I8 = np.dtype("i8")
TRIPS = Dim.of("trips")
COUNTED = Signature(((I8, ()),), ((F8, (TRIPS,)),), bound=("trips",), callee_allocated=frozenset({0}))


def test_static_function_and_every_input_layout() -> None:
    double = make(FOUR, unary((4,)))
    x = np.arange(4.0)
    frozen = x.copy()
    frozen.flags.writeable = False
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(F8)
    for given in (x, x[::-1][::-1], np.arange(8.0)[::2] / 2, x.astype(">f8"), frozen, unaligned):
        (result,) = double([given])
        np.testing.assert_array_equal(result, 2 * np.arange(4.0))
        assert result.dtype == F8 and result.flags.carray and result is not given
    np.testing.assert_array_equal(double([x[::-1]])[0], [6, 4, 2, 0])


@pytest.mark.parametrize("n", [0, 1, 3, 1000, 100_000])
def test_sizes_read_from_inputs(n: int) -> None:
    double = make(DOUBLE, DYNAMIC)
    x = np.random.default_rng(0).normal(size=n)
    for _ in range(3):
        (result,) = double([x])
        np.testing.assert_array_equal(result, 2 * x)


def test_rank_zero() -> None:
    one = make(DOUBLE.replace("load i64, ptr %dims", "add i64 0, 1"), unary(()))
    (result,) = one([np.array(1.5)])
    assert result.shape == () and result[()] == 3.0
    assert one([np.array(1.5, ">f8")])[0][()] == 3.0


def test_scalars_and_subclasses_are_converted() -> None:
    one = make(DOUBLE.replace("load i64, ptr %dims", "add i64 0, 1"), unary(()))
    assert one([np.float64(1.5)])[0][()] == 3.0  # type: ignore[list-item]
    double = make(FOUR, unary((4,)))
    masked = np.ma.MaskedArray(np.arange(4.0))
    assert type(double([masked])[0]) is np.ndarray
    with pytest.raises(ValueError, match="zip"):
        double([])


@pytest.mark.parametrize("n", [0, 1, 5, 50_000])
def test_callee_allocated_output_takes_the_trip_count(n: int) -> None:
    count = make(COUNT, COUNTED)
    (result,) = count([np.array(n)])
    np.testing.assert_array_equal(result, np.arange(float(n)))
    assert result.flags.writeable and result.flags.aligned and count.allocations == 1


def test_callee_allocated_memory_lives_as_long_as_views_of_it() -> None:
    count = make(COUNT, COUNTED)
    views = [count([np.array(1000)])[0][10:20] for _ in range(50)]
    for view in views:
        np.testing.assert_array_equal(view, np.arange(10.0, 20.0))


def test_status_raises_the_message_with_details() -> None:
    for message, error in (("no {0}{1}s {x}", RuntimeError), (("ValueError", "no {0}{1}s {x}"), ValueError)):
        count = make(COUNT, COUNTED, messages=[message])
        with pytest.raises(error, match=r"^no 130s \{x\}$"):
            count([np.array(13)])
        assert count([np.array(3)])[0].shape == (3,)


@pytest.mark.parametrize(
    "status, error",
    [(abi.STATUS_OUT_OF_MEMORY, MemoryError), (abi.STATUS_INTERRUPTED, KeyboardInterrupt), (7, RuntimeError)],
)
def test_reserved_and_unknown_statuses(status: int, error: type[BaseException]) -> None:
    broken = make(f"define i32 @entry(ptr %b, ptr %d, ptr %c) {{ ret i32 {status} }}", Signature((), ()))
    with pytest.raises(error):
        broken([])


def test_given_outputs_are_used() -> None:
    double = make(FOUR, unary((4,)))
    mine = np.empty(4)
    assert double([np.arange(4.0)], out=[mine])[0] is mine
    np.testing.assert_array_equal(mine, [0, 2, 4, 6])
    assert double([np.arange(4.0)], out=[None])[0].shape == (4,)
    frozen = np.empty(4)
    frozen.flags.writeable = False
    for wrong in (np.empty(5), np.empty(4, "f4"), np.empty(8)[::2], np.empty(4, ">f8"), frozen):
        with pytest.raises(ValueError, match="output 0"):
            double([np.arange(4.0)], out=[wrong])
    with pytest.raises(ValueError, match="2 arrays given for 1"):
        double([np.arange(4.0)], out=[None, None])


CTX_PROBE = f"""
define i32 @entry(ptr %buffers, ptr %dims, ptr %ctx) {{
  %out = load ptr, ptr %buffers
  %version = load i64, ptr %ctx
  store i64 %version, ptr %out
  %ws.slot = getelementptr i8, ptr %ctx, i64 {abi.offset("workspace")}
  %ws = load i64, ptr %ws.slot
  %o1 = getelementptr i64, ptr %out, i64 1
  store i64 %ws, ptr %o1
  %size.slot = getelementptr i8, ptr %ctx, i64 {abi.offset("workspace_bytes")}
  %size = load i64, ptr %size.slot
  %o2 = getelementptr i64, ptr %out, i64 2
  store i64 %size, ptr %o2
  %constants.slot = getelementptr i8, ptr %ctx, i64 {abi.offset("constants")}
  %constants = load ptr, ptr %constants.slot
  %c1.slot = getelementptr ptr, ptr %constants, i64 1
  %c1 = load ptr, ptr %c1.slot
  %c = load i64, ptr %c1
  %o3 = getelementptr i64, ptr %out, i64 3
  store i64 %c, ptr %o3
  %functions.slot = getelementptr i8, ptr %ctx, i64 {abi.offset("functions")}
  %functions = load ptr, ptr %functions.slot
  %f = load ptr, ptr %functions
  %r = call i32 %f(ptr %ctx)
  %wide = sext i32 %r to i64
  %o4 = getelementptr i64, ptr %out, i64 4
  store i64 %wide, ptr %o4
  ret i32 0
}}
"""


def test_context_carries_workspace_constants_and_functions() -> None:
    seen = []
    callback = abi.POLL_TYPE(lambda ctx: seen.append(ctx) or 42)
    for size in (100, 5 << 20):
        probe = make(
            CTX_PROBE,
            Signature((), ((I8, (5,)),)),
            constants=[np.array(1), np.array([77, 8, 78])[::2]],
            functions=[callback],
            workspace=size,
        )
        for _ in range(2):
            version, workspace, available, constant, result = probe([])[0].tolist()
            assert (version, constant, result) == (abi.VERSION, 77, 42)
            assert workspace % abi.WORKSPACE_ALIGN == 0 and available >= size
    assert len(seen) == 4


def test_context_layout() -> None:
    """Offsets are fixed for a version: code in the cache knows them."""
    assert abi.VERSION == 1
    assert {name: abi.offset(name) for name, *_ in abi.Context._fields_} == {
        "version": 0,
        "alloc": 8,
        "free": 16,
        "workspace": 24,
        "workspace_bytes": 32,
        "constants": 40,
        "functions": 48,
        "poll": 56,
        "allocations": 64,
        "detail": 72,
        "loops": 104,
        "alloc_large": 152,
        "free_large": 160,
    }
    assert abi.offset("detail", abi.DETAIL_COUNT) == abi.offset("loops")
    assert ctypes.sizeof(abi.Context) == 168


def test_large_outputs_are_recycled() -> None:
    double = make(DOUBLE, DYNAMIC)
    x = np.ones(SMALLEST)
    address = double([x])[0].__array_interface__["data"][0]
    gc.collect()
    again = double([x])[0]
    assert again.__array_interface__["data"][0] == address and address % 64 == 0
    held = [double([x])[0] for _ in range(4)]
    assert len({a.__array_interface__["data"][0] for a in (again, *held)}) == 5
    del again, held
    assert POOL.idle_bytes() >= 5 * x.nbytes
    POOL.trim()
    assert POOL.idle_bytes() == 0


def resident_kb() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_calls_do_not_leak() -> None:
    double, dynamic, count = (
        make(FOUR, unary((4,))),
        make(DOUBLE, DYNAMIC),
        make(COUNT, COUNTED, messages=["no"]),
    )
    small, large, n = [np.arange(4.0)], [np.ones(SMALLEST)], [np.array(700)]

    def calls(times: int) -> None:
        for _ in range(times):
            double(small)
            count(n)
        for k in range(times // 100):
            dynamic(large)
            dynamic([np.ones(k % 100)])
            with pytest.raises(RuntimeError):
                count([np.array(13)])

    def growth() -> int:
        before = resident_kb()
        calls(50_000)
        return resident_kb() - before

    calls(2000)
    assert any(
        growth() < 1024 for _ in range(4)
    )  # what leaks grows each time; an allocator does so now and then


def test_threads_call_at_once() -> None:
    dynamic, count = make(DOUBLE, DYNAMIC), make(COUNT, COUNTED)
    wrong = []

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        for _ in range(150):
            x = generator.normal(size=generator.integers(0, 30_000))
            n = int(generator.integers(0, 2000))
            if not np.array_equal(dynamic([x])[0], 2 * x) or count([np.array(n)])[0].sum() != n * (n - 1) / 2:
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_signature_survives_json() -> None:
    signature = Signature(
        ((F8, (N, 3)), (np.dtype("?"), ())),
        ((F8, (N * 2 + 1, 3)), (np.dtype("c16"), (TRIPS * N, 4))),
        atoms=(("n", 0, 0),),
        bound=("trips",),
        callee_allocated=frozenset({1}),
    )
    assert Signature.from_json(signature.to_json()) == signature
    with pytest.raises(ValueError, match="output 0 needs"):
        Signature((), ((F8, (N,)),))
