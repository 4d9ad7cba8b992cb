"""The vector math library against extended precision: accuracy on ranges, special values, every width, with
and without fused multiply-add, and no symbol left undefined."""

from __future__ import annotations

import ctypes
import platform
from functools import cache

import llvmlite.binding as llvm
import numpy as np
import pytest

from compiler.special_references import RULES, extended
from tracejit.compiler.codegen import math as vector_math
from tracejit.compiler.codegen.llvm import compile_text
from tracejit.compiler.codegen.math import NAMES, MathFunction, function, largest_error
from tracejit.ops.elementwise.formulas.families import ITERATED
from tracejit.runtime.cpu import baseline

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant <= 52, reason="the reference needs a long double wider than double"
)

PLAIN = sorted(NAMES - ITERATED.keys())
PAIRS = {"pow", "atan2"}
REFERENCES = {
    "acos": np.arccos,
    "asin": np.arcsin,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "pow": np.power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: np.where(x < 0, np.exp(-np.abs(x)), 1) / (1 + np.exp(-np.abs(x))),
    "sin": np.sin,
    "sinh": np.sinh,
    "softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    "tan": np.tan,
    "tanh": np.tanh,
}
WIDTHS = {"float64": (1, 8), "float32": (1, 16)}
VARIANTS = [(dtype, width, level) for dtype in WIDTHS for width in WIDTHS[dtype] for level in ("v2", "v3")]
VARIANTS += [("float64", 8, "v4"), ("float64", 16, "v4"), ("float32", 16, "v4"), ("float32", 32, "v4")]


# ---- running a function ---------------------------------------------------------------------------------

_ENGINES = []  # LLVM may end the process when an engine is collected in a cycle


def closure(f: MathFunction) -> list[MathFunction]:
    """`f` and everything it needs, once each."""
    found: dict[str, MathFunction] = {}
    stack = [f]
    while stack:
        g = stack.pop()
        if g.symbol not in found:
            found[g.symbol] = g
            stack.extend(g.needs)
    return list(found.values())


def module_text(f: MathFunction, dtype: str, width: int, operands: int) -> str:
    """A module with a loop ``run(n, out, x0, x1)`` over whole vectors."""
    parts = closure(f)
    scalar = {"float32": "float", "float64": "double"}[dtype]
    vector = f"<{width} x {scalar}>" if width > 1 else scalar
    align = np.dtype(dtype).itemsize
    loads = "".join(
        f"  %p{k} = getelementptr {scalar}, ptr %x{k}, i64 %i\n"
        f"  %l{k} = load {vector}, ptr %p{k}, align {align}\n"
        for k in range(operands)
    )
    arguments = ", ".join(f"{vector} %l{k}" for k in range(operands))
    lines = sorted({d for g in parts for d in g.declares})
    lines += dict.fromkeys(text for g in parts for text in g.globals)
    lines += [g.text for g in parts]
    lines.append(f"""define void @run(i64 %n, ptr %out, ptr %x0, ptr %x1) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{loads}  %r = call {vector} {f.symbol}({arguments})
  %q = getelementptr {scalar}, ptr %out, i64 %i
  store {vector} %r, ptr %q, align {align}
  %next = add i64 %i, {width}
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}}""")
    return "\n".join(lines)


def options(level: str) -> dict[str, bool]:
    """What a processor level means to `function`."""
    return {"fma": level != "v2", "avx512": level == "v4"}


def target(level: str) -> str:
    """The CPU name to compile for, if this machine can run it."""
    features = llvm.get_host_cpu_features()
    needed = {"v2": ("sse4.2",), "v3": ("avx2", "fma"), "v4": ("avx512dq", "avx512vl")}[level]
    if not all(features.get(f) for f in needed):
        pytest.skip(f"this machine is below x86-64-{level}")
    return f"x86-64-{level}"


@cache
def compiled(name: str, dtype: str, width: int, level: str, inline: bool = False):
    """The function as a callable on arrays."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu = target(level)
    operands = 2 if name in PAIRS else 1
    f = function(name, dtype, width, inline=inline, **options(level))
    module = llvm.parse_assembly(module_text(f, dtype, width, operands))
    module.verify()
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=cpu, opt=1, codemodel="jitdefault", jit=True
    )
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _ENGINES.append((engine, module, machine))
    run = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * 3)(engine.get_function_address("run"))

    def call(*operands):
        arrays = np.broadcast_arrays(*(np.asarray(x, dtype) for x in operands))
        size = arrays[0].size
        padded = [np.append(a.ravel(), np.ones(-size % width, dtype)).astype(dtype) for a in arrays]
        out = np.empty_like(padded[0])
        run(len(out), out.ctypes.data, padded[0].ctypes.data, padded[-1].ctypes.data)
        return out[:size].reshape(arrays[0].shape)

    return call


def reference(name: str, *operands: np.ndarray) -> np.ndarray:
    """The value in extended precision, not yet rounded."""
    with np.errstate(all="ignore"):
        if name == "erf":
            return erf_extended(operands[0].astype(np.longdouble))
        if name == "erfc":
            return erfc_extended(operands[0].astype(np.longdouble))
        if name in RULES:
            return extended(name, operands[0])
        return REFERENCES[name](*(x.astype(np.longdouble) for x in operands))


def erf_extended(x: np.ndarray) -> np.ndarray:
    """erf by its Taylor series near zero and a continued fraction of erfc beyond."""
    square = x * x
    term = x.copy()
    total = x.copy()
    for n in range(1, 80):
        term = -term * square / n
        total = total + term / (2 * n + 1)
    root = np.sqrt(np.longdouble(2) * np.arccos(np.longdouble(0)))
    near = 2 * total / root
    a = np.maximum(np.abs(x), 2)
    fraction = np.zeros_like(a)
    for n in range(120, 0, -1):
        fraction = (np.longdouble(n) / 2) / (a + fraction)
    far = 1 - np.exp(-a * a) / root / (a + fraction)
    return np.where(np.isnan(x), x, np.copysign(np.where(np.abs(x) < 2.25, np.abs(near), far), x))


def erfc_extended(x: np.ndarray) -> np.ndarray:
    """erfc from erf up to 1, by the continued fraction beyond, where the square of a double's first half is exact."""
    a = np.clip(np.abs(x), 1, 30)
    fraction = np.zeros_like(a)
    for n in range(400, 0, -1):
        fraction = (np.longdouble(n) / 2) / (a + fraction)
    root = np.sqrt(np.longdouble(2) * np.arccos(np.longdouble(0)))
    first = a.astype(np.float32).astype(np.longdouble)
    far = np.exp(-first * first) * np.exp(-(a - first) * (a + first)) / root / (a + fraction)
    return np.where(
        np.abs(x) < 1, 1 - erf_extended(x), np.where(x < 0, 2 - far, np.where(np.isnan(x), x, far))
    )


def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Error in units of the last place of the rounded result; infinite where a special value differs."""
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
        finite = np.isfinite(rounded) & np.isfinite(got)
        same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        error = np.abs(got.astype(np.longdouble) - want) / np.spacing(np.abs(rounded))
        return np.where(finite, error, np.where(same, 0, np.inf))


def assert_close(name: str, got: np.ndarray, operands: tuple[np.ndarray, ...], limit: float) -> None:
    want = reference(name, *operands)
    error = ulps(got, want)
    worst = np.unravel_index(np.argmax(error), error.shape)
    at = ", ".join(repr(x[worst]) for x in operands)
    size = float(error[worst])
    assert size <= limit, f"{name}({at}) is {got[worst]!r}, {size:.2f} ULP from {want[worst]!r}"


# ---- accuracy -------------------------------------------------------------------------------------------


def scattered(rng: np.random.Generator, low: float, high: float, n: int) -> np.ndarray:
    """Random magnitudes between 2**low and 2**high, either sign."""
    return np.exp2(rng.uniform(low, high, n)) * rng.choice([-1.0, 1.0], n)


def special_arguments(
    rng: np.random.Generator, near: np.ndarray, full: np.ndarray
) -> dict[str, list[np.ndarray]]:
    """Few, for their references take long; of the gamma family positive ones, beside its zeros and joints, too."""
    m = len(near) // 10
    near, full = near[:m], full[:m]
    gamma = [np.abs(full), rng.uniform(0, 3, m), rng.uniform(0, 20, m), rng.uniform(7.9, 8.1, m)]
    gamma += [zero + scattered(rng, -50, -2, m) for zero in (1.0, 2.0, 1.4616321449683622)]
    fraction = [rng.uniform(-1, 1, m), near, 1 - np.exp2(rng.uniform(-50, -1, m))]
    bessel = [rng.uniform(-15, 15, m), near, full]
    return {
        **dict.fromkeys(("lgamma", "digamma", "trigamma"), gamma),
        "erfinv": fraction,
        "ndtri": [rng.uniform(0, 1, m), *map(np.abs, fraction[1:])],
        **dict.fromkeys(("bessel_i0e", "bessel_i1e"), bessel),
    }


def arguments(name: str, dtype: str, n: int = 2000) -> list[tuple[np.ndarray, ...]]:
    """Ranges that reach every branch, denormal operands and denormal results included."""
    rng = np.random.default_rng(7)
    double = dtype == "float64"
    smallest, largest = (-1070, 1023) if double else (-148, 127)
    near = scattered(rng, smallest, 0, n)
    full = scattered(rng, smallest, largest, n)
    if name == "pow":
        bases = [np.abs(full), rng.uniform(0.5, 2, n), 1 + rng.uniform(-1e-4, 1e-4, n)]
        values = [(b, rng.uniform(smallest, largest, n) / np.log2(b)) for b in bases]
        values += [
            (rng.uniform(0, 5, n), rng.uniform(-3, 3, n)),
            (-np.abs(full), rng.integers(-9, 9, n) + 0.0),
        ]
    elif name == "atan2":
        other = scattered(rng, smallest, largest, n)
        values = [(rng.uniform(-3, 3, n), rng.uniform(-3, 3, n)), (full, other), (other, other * near)]
    else:
        overflow, underflow = (709.7, -745.0) if double else (88.7, -103.9)
        exponential = [
            rng.uniform(underflow, overflow, n),
            rng.uniform(-2, 2, n),
            rng.uniform(-20, 20, n),
            near,
        ]
        trigonometric = [rng.uniform(-4, 4, n), rng.uniform(-99, 99, n), near, scattered(rng, 0, 40, n), full]
        fraction = [
            rng.uniform(-1, 1, n),
            near,
            1 - np.exp2(rng.uniform(-20, -1, n)),
            rng.uniform(-0.51, -0.49, n),
        ]
        logarithmic = [np.abs(full), rng.uniform(0.5, 2, n), rng.uniform(0.99, 1.01, n)]
        ranges = {
            "exp2": [rng.uniform(smallest - 4, largest + 1, n), *exponential[1:]],
            **dict.fromkeys(("log", "log2", "log10", "rsqrt"), logarithmic),
            "log1p": [np.abs(full), rng.uniform(-1, 1, n), rng.uniform(-0.01, 0.01, n), near],
            "erfc": [rng.uniform(-6, 28, n), rng.uniform(0, 10.5, n), rng.uniform(-1, 1, n), near, full],
            "erf": [rng.uniform(-6, 6, n), rng.uniform(-1, 1, n), near, full],
            "atan": [rng.uniform(-4, 4, n), full],
            **dict.fromkeys(("sin", "cos", "tan"), trigonometric),
            **dict.fromkeys(("asin", "acos"), fraction),
            **special_arguments(rng, near, full),
        }
        values = [(x,) for x in ranges.get(name, exponential)]
    return [tuple(x.astype(dtype) for x in operands) for operands in values]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("dtype", "width", "level"), VARIANTS)
@pytest.mark.parametrize("name", PLAIN)
def test_accuracy(name, dtype, width, level):
    f = compiled(name, dtype, width, level)
    for operands in arguments(name, dtype):
        assert_close(name, f(*operands), operands, largest_error(name, dtype))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("dtype", "width"),
    [("float64", 2), ("float64", 4), ("float64", 16), ("float32", 4), ("float32", 8), ("float32", 32)],
)
@pytest.mark.parametrize("name", PLAIN)
def test_every_width_computes_the_same(name, dtype, width):
    f, scalar = compiled(name, dtype, width, "v3"), compiled(name, dtype, 1, "v3")
    for operands in arguments(name, dtype, 100):
        np.testing.assert_array_equal(f(*operands), scalar(*operands))


@pytest.mark.parametrize("name", PLAIN)
def test_inlined_variant_is_another_symbol_with_the_same_value(name):
    assert function(name, "float64", 8, inline=True).symbol != function(name, "float64", 8).symbol
    operands = arguments(name, "float64", 100)[0]
    got = compiled(name, "float64", 8, "v3", inline=True)(*operands)
    np.testing.assert_array_equal(got, compiled(name, "float64", 8, "v3")(*operands))


# ---- special values -------------------------------------------------------------------------------------


def special_values(dtype: str) -> np.ndarray:
    info = np.finfo(dtype)
    positive = [
        0.0,
        info.smallest_subnormal,
        info.smallest_normal / 2,
        info.smallest_normal,
        info.eps,
        0.5,
        1.0,
        1 + info.eps,
        1.5,
        2.0,
        3.0,
        4.0,
        1e9,
        1e10 + 1,
        info.max / 2,
        info.max,
        np.inf,
    ]
    return np.array(positive + [-x for x in positive] + [np.nan], dtype)


@pytest.mark.parametrize(("dtype", "width", "level"), VARIANTS)
@pytest.mark.parametrize("name", PLAIN)
def test_special_values(name, dtype, width, level):
    x = special_values(dtype)
    operands = tuple(v.ravel() for v in np.meshgrid(x, x)) if name in PAIRS else (x,)
    got = compiled(name, dtype, width, level)(*operands)
    assert_close(name, got, operands, largest_error(name, dtype))
    with np.errstate(over="ignore"):
        want = reference(name, *operands).astype(dtype)
    zero = want == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


@pytest.mark.parametrize(("dtype", "width", "level"), VARIANTS)
def test_powers_of_two_and_ten_are_exact(dtype, width, level):
    n = np.arange(-1074.0, 1024.0) if dtype == "float64" else np.arange(-149.0, 128.0)
    powers = np.ldexp(np.ones_like(n), n.astype(int)).astype(dtype)
    np.testing.assert_array_equal(compiled("log2", dtype, width, level)(powers), n)
    np.testing.assert_array_equal(compiled("exp2", dtype, width, level)(n), powers)
    tens = np.arange(0, 23 if dtype == "float64" else 11)
    np.testing.assert_array_equal(compiled("log10", dtype, width, level)(10.0**tens), tens)


HARDEST = 6381956970095103.0 * 2.0**797
"""The double nearest to a multiple of pi/2 among all."""


@pytest.mark.parametrize("level", ["v2", "v3"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_angles(name, level):
    x = np.array([HARDEST, 1e22, 2.0**1023, 1e308, np.pi * 2.0**60, 2.0**38 + 1, 2.0**20, 2.0**20 + 0.5])
    x = np.concatenate([x, -x, np.round(np.arange(1, 400) * np.pi / 2 * 2.0**40)])
    assert_close(name, compiled(name, "float64", 8, level)(x), (x,), 2.5)


@pytest.mark.parametrize(("dtype", "width", "level"), VARIANTS)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_next_to_multiples_of_a_right_angle(name, dtype, width, level):
    n = np.concatenate([np.arange(1, 2000), np.round(np.exp2(np.linspace(11, 40, 2000)))])
    x = (n * np.longdouble(2) * np.arccos(np.longdouble(0)) / 2).astype(dtype)
    assert_close(name, compiled(name, dtype, width, level)(x), (x,), 3.0)


RARE = {
    "sin": (1e5, 1e12, 1e30),
    "cos": (1e5, 1e12, 1e30),
    "tan": (1e5, 1e12, 1e30),
    "pow": (0.0, -2.0, 1e30),
    **dict.fromkeys(("lgamma", "trigamma"), (-1.5, -2.0, -0.1)),
    "digamma": (-1.5, -2.5, -0.1),
    "ndtri": (1e-30, 0.0, 1.0),
}


@pytest.mark.parametrize(("dtype", "width", "level"), [v for v in VARIANTS if v[1] > 1])
@pytest.mark.parametrize("name", sorted(RARE))
def test_a_lane_does_not_depend_on_its_neighbours(name, dtype, width, level):
    f = compiled(name, dtype, width, level)
    x, y = np.linspace(0.25, 3, width, dtype=dtype), np.full(width, 9.0, dtype)
    plain = f(x, y) if name in PAIRS else f(x)
    for lane, rare in enumerate(np.resize(RARE[name], width)):
        mixed = x.copy()
        mixed[lane] = rare
        got = f(mixed, y) if name in PAIRS else f(mixed)
        np.testing.assert_array_equal(np.delete(got, lane), np.delete(plain, lane))
        alone = np.full(width, rare, dtype)
        assert got[lane] == (f(alone, y) if name in PAIRS else f(alone))[0]


@pytest.mark.parametrize(("dtype", "width", "level"), VARIANTS)
@pytest.mark.parametrize("name", ["lgamma", "digamma", "trigamma"])
def test_reflection(name, dtype, width, level):
    """Below 0 the error is that of the terms, which near zeros are larger than the value."""
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(-4, 0, 300), rng.uniform(-170, 0, 100), scattered(rng, -40, -2, 100) - 3])
    x = np.concatenate([x, -scattered(rng, 0, 52, 50), -(2.0**51) - np.arange(8) / 2, [-(2.0**60)]])
    x = -np.abs(x).astype(dtype)
    got, want = compiled(name, dtype, width, level)(x), extended(name, x)
    other = extended(name, 1 - x.astype(np.float64))
    finite = np.isfinite(want.astype(dtype))
    terms = np.maximum(np.abs(want), np.abs(other))[finite]
    error = np.abs(got[finite] - want[finite]) / np.spacing(terms.astype(dtype))
    assert np.max(error) <= 8.0
    np.testing.assert_array_equal(got[~finite], want[~finite].astype(dtype))


# ---- the text -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["v2", "v3", "v4"])
def test_texts_share_a_module_without_undefined_symbols(level):
    functions = [
        function(name, dtype, width, **options(level))
        for name in PLAIN
        for dtype in WIDTHS
        for width in (1, 2, 4, 8, 16)
    ]
    parts = {g.symbol: g for f in functions for g in closure(f)}
    texts = sorted({d for g in parts.values() for d in g.declares})
    texts += dict.fromkeys(text for g in parts.values() for text in g.globals)
    texts += [g.text for g in parts.values()]
    module = llvm.parse_assembly("\n".join(texts))
    module.verify()
    declared = {f.name for f in module.functions if f.is_declaration}
    assert all(name.startswith("llvm.") for name in declared)
    assert any(".avx512." in name for name in declared) == (level == "v4")
    if level == "v2":
        assert not any(".fma." in name for name in declared)


CPUS = {"x86-64": "v2", "x86-64-v2": "v2", "x86-64-v3": "v3", "x86-64-v4": "v4", "aarch64": "v3"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("cpu", [c for c in CPUS if c != "aarch64" or platform.machine() == "aarch64"])
@pytest.mark.parametrize("name", PLAIN)
def test_machine_code_calls_nothing_outside(name, cpu):
    for dtype in WIDTHS:
        f = function(name, dtype, 16, **options(CPUS[cpu]))
        text = module_text(f, dtype, 16, 2 if name in PAIRS else 1)
        compile_text(text, cpu=baseline(cpu))  # refuses undefined symbols


def test_one_symbol_never_has_two_texts():
    seen: dict[str, str] = {}
    for name in PLAIN:
        for dtype in WIDTHS:
            for width in (1, 4, 16):
                for inline in (False, True):
                    for level in ("v2", "v3", "v4"):
                        for g in closure(function(name, dtype, width, inline=inline, **options(level))):
                            assert seen.setdefault(g.symbol, g.text) == g.text, g.symbol


def test_functions_are_cached_and_named_after_what_they_are():
    assert function("exp", np.float64, 8) is function("exp", np.dtype("float64"), 8)
    assert function("exp", "float64", 8).symbol == "@tj_exp_v8f64"
    assert function("exp", "float32", 1).symbol == "@tj_exp_f32"


def test_what_is_not_there_is_refused():
    with pytest.raises(KeyError, match="no vector function named 'gamma'; there are"):
        function("gamma", "float64", 8)
    with pytest.raises(TypeError, match="only for float32 and float64"):
        function("exp", "int32", 8)
    assert vector_math.NAMES >= {"exp", "log", "sin", "cos", "tanh", "sigmoid", "pow", "expm1", "log1p"}
