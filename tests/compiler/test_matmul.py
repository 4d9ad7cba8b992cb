"""Matrix product kernels against products in extended precision, for shapes and strides that go wrong."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from compiler.parts import backwards
from tracejit.compiler.codegen.llvm import compile_text
from tracejit.compiler.codegen.matmul import kernel_text, symbol, workspace_bytes
from tracejit.runtime import cpu, elf, objects

DTYPES = ["float32", "float64"]
TARGETS = [(64, True), (32, True), (16, False)]
SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 16, 17, 24, 31, 33, 40, 48, 64, 65, 100, 150]

Product = Callable[..., np.ndarray]


@cache
def gemm(dtype: str, register_bytes: int = 64, fma: bool = True, shares: bool = False) -> Product:
    """``gemm(a, b, out, accumulate)`` by compiled code, on operands as they lie in memory."""
    fma = fma and "fma" in cpu.host().enabled | ({"fma"} if cpu.host().arch != "x86_64" else set())
    image = compile_text(kernel_text(dtype, register_bytes=register_bytes, fma=fma, shares=shares), opt=1)
    return product_of(image, symbol(dtype, register_bytes, shares), dtype)


def product_of(image: bytes, name: str, dtype: str) -> Product:
    """The product that an object defines under this name."""
    address, shares = objects.load(image).address(name), name.endswith("_shared")
    i, p = ctypes.c_int64, ctypes.c_void_p
    entry = ctypes.CFUNCTYPE(None, i, i, i, p, i, i, p, i, i, p, i, i, p, p)(address)

    def call(a: np.ndarray, b: np.ndarray, out: np.ndarray, accumulate: int = 0) -> np.ndarray:
        size, bytes_ = a.itemsize, workspace_bytes(dtype)
        work = np.full(bytes_ + 128, 0xFF, np.uint8)  # NaN: nothing may be read before it is written
        start = -work.ctypes.data % 64
        strides = [[s // size for s in x.strides] for x in (a, b, out)]
        entry(
            a.shape[0], b.shape[1], a.shape[1], a.ctypes.data, *strides[0], b.ctypes.data, *strides[1],
            out.ctypes.data, strides[2][0], accumulate, work.ctypes.data + start, backwards() if shares else None,
        )  # fmt: skip
        assert (work[:start] == 0xFF).all() and (work[start + bytes_ :] == 0xFF).all()
        return out

    return call


def operand(rng: np.random.Generator, rows: int, columns: int, dtype: str) -> np.ndarray:
    """A random matrix in a random memory layout."""
    layouts: list[Callable[[], np.ndarray]] = [
        lambda: rng.standard_normal((rows, columns)).astype(dtype),
        lambda: rng.standard_normal((columns, rows)).astype(dtype).T,
        lambda: rng.standard_normal((rows, columns + 3)).astype(dtype)[:, 1 : columns + 1],
        lambda: rng.standard_normal((columns + 3, rows)).astype(dtype)[1 : columns + 1].T,
        lambda: rng.standard_normal((2 * rows, 3 * columns)).astype(dtype)[::2, ::3],
        lambda: rng.standard_normal((rows, columns)).astype(dtype)[::-1, ::-1],
        lambda: rng.standard_normal((rows, columns)).astype(dtype)[::-1],
        lambda: np.broadcast_to(rng.standard_normal((1, columns)).astype(dtype), (rows, columns)),
    ]
    return layouts[rng.integers(len(layouts))]()


def check(product: Product, a: np.ndarray, b: np.ndarray, accumulate: int, padding: int = 0) -> None:
    """Compare with a wider precision, and see that nothing around the result is written."""
    rows, columns = a.shape[0], b.shape[1]
    frame = np.full((rows + 2, columns + padding), 0.75, a.dtype)
    out = frame[1 : rows + 1, :columns]
    out[...] = np.linspace(-1, 1, out.size).reshape(out.shape)
    before, outside = out.copy(), frame.copy()
    product(a, b, out, accumulate)
    wide = np.longdouble if a.dtype == np.float64 else np.float64  # NumPy multiplies long doubles slowly
    exact = a.astype(wide) @ b.astype(wide) + (before if accumulate else 0)
    terms = np.abs(a).astype(float) @ np.abs(b).astype(float) + (np.abs(before) if accumulate else 0)
    unit = np.spacing(terms.astype(a.dtype))
    assert (np.abs(out - exact) <= 8 * unit).all(), (a.shape, b.shape, a.strides, b.strides, accumulate)
    outside[1 : rows + 1, :columns] = out
    np.testing.assert_array_equal(frame, outside)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("register_bytes", "fma"), TARGETS)
def test_random_sizes_and_strides(dtype: str, register_bytes: int, fma: bool) -> None:
    rng = np.random.default_rng(register_bytes)
    product = gemm(dtype, register_bytes, fma)
    for _ in range(300):
        m, n, k = (int(size) for size in rng.choice(SIZES, 3))
        a, b = operand(rng, m, k, dtype), operand(rng, k, n, dtype)
        check(product, a, b, int(rng.integers(2)), int(rng.integers(4)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
@pytest.mark.parametrize(
    "shape", [(200, 400, 70), (70, 200, 1100), (13, 1000, 33), (260, 385, 37), (401, 97, 129), (96, 400, 72)]
)
@pytest.mark.parametrize("register_bytes", [64, 32])
def test_sizes_beyond_one_block(
    dtype: str, transposed: str, shape: tuple[int, int, int], register_bytes: int
) -> None:
    rng = np.random.default_rng(0)
    m, k, n = shape
    a = (
        rng.standard_normal((k, m)).astype(dtype).T
        if "a" in transposed
        else rng.standard_normal((m, k)).astype(dtype)
    )
    b = (
        rng.standard_normal((n, k)).astype(dtype).T
        if "b" in transposed
        else rng.standard_normal((k, n)).astype(dtype)
    )
    for accumulate in (0, 1):
        check(gemm(dtype, register_bytes), a, b, accumulate)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("register_bytes", [32, 16])
def test_vectors_that_are_filled_take_no_masks(dtype: str, register_bytes: int) -> None:
    """Without registers for masks, a masked store takes as long as 40 multiplications."""
    text = kernel_text(dtype, register_bytes=register_bytes)
    functions = {part.split("@")[1].split("(")[0]: part for part in text.split("define ")[1:]}
    filled = {name: part for name, part in functions.items() if "filled" in name}
    assert len(filled) == 3  # strips of two widths, and squares that are transposed
    assert not any("@llvm.masked" in part for part in filled.values())
    # Products with a vector: of three loops over strips of four vectors one is for the rest.
    assert functions["combine_block"].count("@llvm.masked.store") == 4


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 37), (37, 1), (1, 300), (300, 1)])
def test_products_with_a_vector(dtype: str, m: int, n: int) -> None:
    rng = np.random.default_rng(1)
    for k in (1, 2, 15, 16, 17, 100, 700):
        for _ in range(12):
            a, b = operand(rng, m, k, dtype), operand(rng, k, n, dtype)
            check(gemm(dtype), a, b, int(rng.integers(2)), int(rng.integers(3)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_long_strided_vector_goes_through_the_workspace_in_parts(dtype: str) -> None:
    k = workspace_bytes(dtype) // np.dtype(dtype).itemsize + 1000
    a = np.zeros((2, k), dtype)
    a[:, ::1000] = 1
    b = np.ones((k, 3), dtype)[:, 1:2]
    out = gemm(dtype)(a, b, np.zeros((2, 1), dtype))
    np.testing.assert_array_equal(out, np.full((2, 1), len(range(0, k, 1000)), dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("register_bytes", "fma"), TARGETS)
def test_empty_depth_gives_zeros_or_keeps_the_result(dtype: str, register_bytes: int, fma: bool) -> None:
    product = gemm(dtype, register_bytes, fma)
    a, b = np.empty((3, 0), dtype), np.empty((0, 35), dtype)
    assert (product(a, b, np.full((3, 35), np.nan, dtype)) == 0).all()
    assert (product(a, b, np.full((3, 35), 2, dtype), 1) == 2).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("m", "k", "n"), [(5, 6, 7), (20, 40, 33), (1, 40, 33), (40, 33, 1), (100, 300, 100)]
)
@pytest.mark.parametrize("order", ["CC", "CF", "FC"])
def test_special_values_reach_exactly_their_row_and_column(
    dtype: str, m: int, k: int, n: int, order: str
) -> None:
    a, b = np.zeros((m, k), dtype, order[0]), np.ones((k, n), dtype, order[1])
    b[k // 2, n - 1] = np.inf
    a[m - 1, 0] = np.nan
    with np.errstate(invalid="ignore"):
        wanted = np.zeros((m, n), dtype)
        wanted[:, n - 1] = np.nan  # 0 * inf
        wanted[m - 1] = np.nan
    np.testing.assert_array_equal(gemm(dtype)(a, b, np.empty((m, n), dtype)), wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("register_bytes", [64, 32])
def test_reads_and_writes_end_at_the_operands(dtype: str, register_bytes: int) -> None:
    """Operands that end exactly at a page nobody may touch: a vector too many ends the process."""
    shapes = [(7, 9, 11), (64, 30, 100), (1, 50, 70), (70, 50, 1), (150, 260, 140), (64, 96, 48)]
    script = f"""
import ctypes, mmap, sys
import numpy as np
sys.path[:0] = {sys.path!r}
from test_matmul import gemm
def guarded(shape, order):
    count = shape[0] * shape[1]
    size = count * np.dtype({dtype!r}).itemsize
    pages = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    area = mmap.mmap(-1, pages + mmap.PAGESIZE)
    keep.append(area)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    libc = ctypes.CDLL(None)
    assert libc.mprotect(ctypes.c_void_p(start + pages), mmap.PAGESIZE, 0) == 0
    flat = np.frombuffer(area, {dtype!r}, count, pages - size)
    flat[...] = np.arange(count) % 7
    return flat.reshape(shape, order=order)
keep = []
for m, k, n in {shapes!r}:
    for orders in ("CC", "CF", "FC", "FF"):
        print("at", m, k, n, orders, flush=True)
        a, b, out = guarded((m, k), orders[0]), guarded((k, n), orders[1]), guarded((m, n), "C")
        gemm({dtype!r}, {register_bytes})(a, b, out)
        assert (out == a.astype(float) @ b.astype(float)).all()
import os
sys.stdout.flush(); os._exit(0)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment, timeout=300)


@pytest.mark.parametrize("dtype", DTYPES)
def test_operands_need_only_the_alignment_of_an_element(dtype: str) -> None:
    rng = np.random.default_rng(2)
    size = np.dtype(dtype).itemsize

    def shifted(rows: int, columns: int) -> np.ndarray:
        raw = np.zeros(rows * columns * size + 64 + size, np.uint8)
        start = -raw.ctypes.data % 64 + size
        view = raw[start : start + rows * columns * size].view(dtype).reshape(rows, columns)
        view[...] = rng.standard_normal((rows, columns))
        return view

    a, b, out = shifted(30, 50), shifted(50, 70), shifted(30, 70)
    np.testing.assert_allclose(gemm(dtype)(a, b, out), a @ b, rtol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_threads_and_repetition_give_the_same_bits(dtype: str) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((90, 300)).astype(dtype), rng.standard_normal((300, 80)).astype(dtype)
    wanted = gemm(dtype)(a, b, np.empty((90, 80), dtype))
    results = [np.empty_like(wanted) for _ in range(8)]
    threads = [threading.Thread(target=gemm(dtype), args=(a, b, out)) for out in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for out in results:
        np.testing.assert_array_equal(out, wanted)


def test_positive_terms_keep_within_the_error_bound() -> None:
    """All terms of one sign: rounding errors that grow with the depth would show here first."""
    rng = np.random.default_rng(4)
    for k in (100, 192, 384, 1000, 2500):
        check(gemm("float32"), rng.random((40, k), np.float32), rng.random((k, 40), np.float32), 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("register_bytes", "fma"), TARGETS)
def test_text_is_deterministic_cached_and_self_contained(dtype: str, register_bytes: int, fma: bool) -> None:
    text = kernel_text(dtype, register_bytes=register_bytes, fma=fma)
    assert kernel_text(dtype, register_bytes=register_bytes, fma=fma) is text
    times = []
    for _ in range(3):  # Python's collector may come once
        kernel_text.cache_clear()
        start = time.process_time()
        assert kernel_text(dtype, register_bytes=register_bytes, fma=fma) == text
        times.append(time.process_time() - start)
    assert min(times) < 0.1
    assert ("llvm.fma" in "".join(line for line in text.splitlines() if "declare" not in line)) == fma
    level = cpu.CpuTarget("x86_64", "x86-64", ",".join(f"+{f}" for f in sorted(cpu.LEVELS["x86-64"][1])))
    if not fma and cpu.host().arch == "x86_64":
        assert not elf.parse(compile_text(text, opt=1, cpu=level)).undefined()


@pytest.mark.parametrize(("dtype", "register_bytes"), [("int64", 64), ("float32", 8), ("complex64", 32)])
def test_what_there_is_no_kernel_for_is_refused(dtype: str, register_bytes: int) -> None:
    with pytest.raises(ValueError, match=r"matmul kernels exist|register_bytes must be"):
        kernel_text(dtype, register_bytes=register_bytes)  # type: ignore[arg-type]


LARGE = [(200, 300, 100), (97, 401, 400), (190, 1003, 500), (1000, 33, 100), (61, 64, 1000), (301, 777, 23)]
#: Rows, columns and depth of products whose depth is divided.
DEEP = [
    (144, 32, 4000),
    (9, 16, 20_000),
    (192, 128, 1537),
    (192, 16, 1536),
    (35, 13, 5001),
    (33, 7, 9000),
    (32, 144, 4001),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("register_bytes", "fma"), TARGETS)
@pytest.mark.parametrize("size", LARGE + DEEP, ids=str)
def test_products_in_parts_are_bitwise_the_whole(
    dtype: str, register_bytes: int, fma: bool, size: tuple[int, int, int]
) -> None:
    rng = np.random.default_rng(sum(size))
    m, n, k = size
    for accumulate in (0, 1):
        a, b = operand(rng, m, k, dtype), operand(rng, k, n, dtype)
        found, whole = (
            gemm(dtype, register_bytes, fma, shares)(a, b, np.full((m, n), 0.5, dtype), accumulate)
            for shares in (True, False)
        )
        assert found.tobytes() == whole.tobytes()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("register_bytes", "fma"), TARGETS)
@pytest.mark.parametrize("size", DEEP, ids=str)
def test_long_sums_in_parts(dtype: str, register_bytes: int, fma: bool, size: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(sum(size))
    m, n, k = size
    for shares in (True, False):
        a, b = operand(rng, m, k, dtype), operand(rng, k, n, dtype)
        check(gemm(dtype, register_bytes, fma, shares), a, b, int(shares), padding=3)
