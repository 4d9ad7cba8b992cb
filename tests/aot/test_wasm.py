"""WebAssembly in Node: what comes out there is what comes out here, whatever goes in; memory does not grow."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tf
from tracejit.aot import Artifact
from tracejit.runtime import cpu

from .node import Case, called, needs_node, node, ulps

TARGETS = ("wasm32", "wasm32+simd128")
#: The level with vectors as long as those of WebAssembly, so that sums are taken in the same order.
NATIVE = "x86-64-v2" if cpu.host().arch == "x86_64" else "host"
#: With instructions for half-precision numbers.
LATER = "x86-64-v3" if cpu.host().arch == "x86_64" else "host"
pytestmark = needs_node

random = np.random.default_rng(0)
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, -5e-324, 1.0, -1.0, 0.5, 1e300, -1e300, 2.0**53, 1e-8]
NUMBERS = np.array(
    [*SPECIAL, *random.normal(size=37), *random.normal(size=20) * 1e4, *random.uniform(0, 1, 20)]
)
with np.errstate(over="ignore"):
    SINGLE = NUMBERS.astype("f4")


class Program(NamedTuple):
    """A function, what it is exported for, and arguments to call it with."""

    f: Callable[..., Any]
    specs: list[str]
    calls: list[tuple[Any, ...]]
    outputs: tuple[str, ...] = ("value",)
    ulps: int = 4
    native: str = NATIVE


def elementary(x):
    y = tf.abs(x)
    return {
        "exponential": [tf.exp(x), tf.math.expm1(x), tf.sigmoid(x), tf.nn.softplus(x), tf.tanh(x)],
        "hyperbolic": [tf.sinh(x), tf.cosh(x), tf.asinh(x), tf.acosh(x), tf.atanh(x)],
        "logarithm": [tf.math.log(y), tf.math.log1p(x), tf.sqrt(y), tf.math.rsqrt(y), tf.pow(y, 0.3)],
        "angle": [tf.sin(x), tf.cos(x), tf.tan(x), tf.asin(x), tf.acos(x), tf.atan(x), tf.atan2(x, y)],
        "error": [tf.math.erf(x), tf.math.erfc(x)],
        "whole": [tf.floor(x), tf.math.ceil(x), tf.round(x), tf.sign(x), x // 2.5, x % 2.5],
        "compared": [tf.maximum(x, 0.5), tf.minimum(x, 0.5), tf.where(x > 0.0, x, -x), x != y],
    }


def reduced(x):
    return [
        tf.reduce_sum(x, axis=1), tf.reduce_sum(x, axis=0), tf.reduce_mean(x), tf.reduce_prod(x, axis=1),
        tf.reduce_max(x, axis=0), tf.reduce_min(x), tf.argmax(x, axis=1), tf.nn.softmax(x), tf.reduce_any(x > 1.0),
    ]  # fmt: skip


def products(x, w, b):
    return tf.reduce_sum(tf.tanh(x @ w + b) ** 2)


def ordered(x):
    return tf.sort(x), tf.argsort(x), tf.math.top_k(x, 2)


def picked(x, k):
    return tf.reduce_sum(tf.gather(x, k) ** 2 * 1.5)


def root(a):
    x = a
    while tf.abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
    return x


def nested(a, n):
    """Loops in a loop, each of a length that the data decide."""
    total = a
    while n > 0:
        step = total
        while step > 1.0:
            step = step * 0.7 + 0.1 * tf.sin(step)
        total = total + 0.3 * step
        n = n - 1
    return total


def kinds(f, h, i8, i16, i32, i64, u8, u16, u32, u64, b, c, d):
    return {
        "f": f * 1.5, "h": h * h + tf.cast(f, tf.float16), "i8": i8 * i8, "i16": i16 // 3, "i32": i32 % 7,
        "i64": i64 * i64, "u8": u8 + u8, "u16": u16 * u16, "u32": u32 // 3, "u64": u64 * u64, "b": ~b,
        "c": c * tf.exp(c), "d": d / (d + 1.0),
        "to": [tf.cast(f, tf.int32), tf.cast(h, tf.float64), tf.cast(u64, tf.float32)],
    }  # fmt: skip


def normal(*shape: int, dtype: str = "f8") -> np.ndarray:
    return np.asarray(random.normal(size=shape)).astype(dtype)


def factored(a, b):
    return {"x": tf.linalg.cholesky_solve(tf.linalg.cholesky(a), b), "y": tf.linalg.inv(a)}


def definite(n: int) -> np.ndarray:
    a = normal(n, n)
    return a @ a.T + n * np.eye(n)


WEIGHTS = normal(300, 900)
KINDS = "f32 f16 i8 i16 i32 i64 u8 u16 u32 u64 bool c128 c64".split()
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
HALVES = np.array([0, -0.0, 1e-7, 6e-8, -3e-5, 65504, np.inf, np.nan, 0.333, 2.5], "f2")
MIXED = (
    np.resize(np.array([0.1, 65519.0, 65520.0, 2.0**-25, 2.0**-24, 3e-8, -1e-6, 1e4, 7.7, 1e-5], "f4"), 10),
    HALVES,
    *(random.integers(0, 100, 10).astype(kind) * random.integers(1, 3, 10).astype(kind) for kind in INTEGERS),
    random.integers(0, 2, 10).astype(bool), normal(10) + 1j * normal(10), (normal(10) + 1j * normal(10)).astype("c8"),
)  # fmt: skip
PROGRAMS = {
    "elementary": Program(elementary, ["f64[n]"], [(NUMBERS,), (NUMBERS[:1],), (NUMBERS[:0],)]),
    "single": Program(elementary, ["f32[n]"], [(SINGLE,), (SINGLE[:3],)]),
    "reduced": Program(reduced, ["f64[n,m]"], [(normal(7, 33), {"n": 7, "m": 33}), (normal(1, 1), {"n": 1, "m": 1})]),
    "products": Program(
        products,
        ["f64[n,m]", "f64[m,k]", "f64[k]"],
        [(normal(n, m), normal(m, k), normal(k)) for n, m, k in ((5, 7, 9), (40, 30, 20), (0, 3, 4), (1, 1, 1))],
        ("value", "grad"),
        64,
    ),
    "singles": Program(
        products, ["f32[n,30]", "f32[30,8]", "f32[8]"],
        [(normal(50, 30, dtype="f4"), normal(30, 8, dtype="f4"), normal(8, dtype="f4"))], ("value", "grad"), 256,
    ),
    "factored": Program(
        factored,
        ["f64[n,n]", "f64[n,m]"],
        [(definite(n), normal(n, 2), {"n": n, "m": 2}) for n in (1, 6, 110)],
        ulps=64,
    ),
    "ordered": Program(ordered, ["f64[n]"], [(NUMBERS,), (normal(1000),), (NUMBERS[:2],)]),
    "picked": Program(
        picked, ["f64[n]", "i64[k]"], [(NUMBERS[9:], np.array([3, 0, 3, 11])), (normal(3), np.zeros(0, "i8"))],
        ("value", "grad"),
    ),
    "root": Program(root, ["f64"], [(np.array(2.0),), (np.array(1e9),)], ("value", "grad")),
    "nested": Program(
        nested, ["f64", "i64"], [(np.array(9.0), np.array(40)), (np.array(3.0), np.array(0))], ("value", "grad")
    ),
    "kinds": Program(kinds, [f"{kind}[n]" for kind in KINDS], [MIXED], native=LATER),
    "weighted": Program(
        lambda x: tf.tanh(x @ WEIGHTS), ["f64[n,300]"], [(normal(4, 300),), (normal(0, 300),)], ulps=64
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wasm")


def exported(name: str, folder: Path) -> Artifact:
    """A program for here and for WebAssembly, whose modules are written too."""
    made = PROGRAMS[name]
    art = tf.export(made.f, made.specs, name=name, outputs=made.outputs, targets=[made.native, *TARGETS])
    for target in TARGETS:
        (folder / target).mkdir(exist_ok=True)
        for end in ("wasm", "mjs"):
            art.write(folder / target / f"{name}.{end}", target=target)
    return art


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_native_code(name: str, folder: Path) -> None:
    art, made = exported(name, folder), PROGRAMS[name]
    cases, wanted = [], []
    for given in made.calls:
        sizes = given[-1] if isinstance(given[-1], dict) else None
        inputs = [x for x in given if not isinstance(x, dict)]
        outputs = art(*inputs)
        names = art._interface.outputs
        wanted.append(dict(zip(names, outputs if isinstance(outputs, tuple) else (outputs,), strict=True)))
        cases += [Case(f"{target}/{name}.mjs", inputs, wanted[-1], sizes) for target in TARGETS]
    for case, found in zip(cases, called(cases, folder), strict=True):
        assert isinstance(found, dict), found
        for output, y in case.outputs.items():
            far = ulps(np.asarray(found[output]), np.asarray(y))
            assert far <= made.ulps, f"{case.module}: {output} is {far} numbers off"


# ---- memory ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_calls_in_any_number_take_the_memory_of_one(target: str, folder: Path) -> None:
    """Loops that take and give back memory in each iteration of another; sizes that come and go."""
    for name in ("nested", "ordered"):
        exported(name, folder)
    script = f"""
    import {{ instantiate as nested }} from "./{target}/nested.mjs";
    import {{ instantiate as ordered }} from "./{target}/ordered.mjs";
    const loop = await nested();
    const bytes = (call, sizes) => call.arrays(sizes).memory.wasm.memory.buffer.byteLength;
    const taken = [];
    for (let k = 0; k < 2000; k++) {{
      loop(9.0, 40n);
      if (k % 500 < 2) taken.push(bytes(loop));
    }}
    const sort = await ordered();
    for (let k = 0; k < 60; k++) {{
      const n = k % 3 ? 10 + k : 20000;
      sort(new Float64Array(n));
      if (k > 1) taken.push(bytes(sort, {{ n }}));
    }}
    console.log(new Set(taken).size, Math.max(...taken));
    """
    kinds, most = map(int, node(script, folder).split())
    assert kinds == 2 and most < 4e6


@pytest.mark.parametrize("target", TARGETS)
def test_memory_that_ran_out_is_an_error_and_comes_back(target: str, folder: Path) -> None:
    def endless(a):
        while a > 0.0:
            a = tf.sin(a) + 1.0
        return a

    art = tf.export(endless, ["f64"], name="endless", targets=[target], sample=[-1.0])
    for end in ("wasm", "mjs"):
        art.write(folder / f"endless.{end}")
    script = """
    import { instantiate } from "./endless.mjs";
    const call = await instantiate();
    call.arrays().memory.wasm.endless_reserve(2 ** 32 - 2 ** 24);
    for (let k = 0; k < 3; k++) {
      try { call(1.0); } catch (error) { console.log(error.message); }
    }
    console.log(call(-1.0).value, call(-1.0).ga);
    """
    assert node(script, folder).splitlines() == ["endless: out of memory"] * 3 + ["-1 1"]


# ---- from JavaScript ------------------------------------------------------------------------------------


def fit(x, w, y):
    return tf.reduce_mean((tf.reduce_sum(x * w, axis=1) - y) ** 2)


@pytest.fixture(scope="module")
def fitted(folder: Path) -> Path:
    art = tf.export(fit, ["f64[n,m]", "f64[m]", "f64[n]"], name="fit", wrt="w", targets=["wasm32+simd128"])
    for end in ("wasm", "mjs"):
        art.write(folder / f"fit.{end}")
    return folder


def test_modules_import_nothing_and_are_small(fitted: Path) -> None:
    script = """
    import { readFileSync } from "node:fs";
    const module = new WebAssembly.Module(readFileSync("fit.wasm"));
    console.log(JSON.stringify([WebAssembly.Module.imports(module), WebAssembly.Module.exports(module)]));
    """
    imports, exports = json.loads(node(script, fitted))
    assert imports == []
    assert {(e["name"], e["kind"]) for e in exports} == {
        ("fit", "function"), ("fit_error", "function"), ("fit_workspace", "function"), ("fit_reserve", "function"),
        ("memory", "memory"), ("__heap_base", "global"),
    }  # fmt: skip
    assert (fitted / "fit.wasm").stat().st_size < 8192


def test_arguments_may_be_lists_and_sizes_are_found(fitted: Path) -> None:
    script = """
    import { instantiate } from "./fit.mjs";
    const fit = await instantiate();
    console.log(JSON.stringify(fit([[1, 2, 3], [4, 5, 6]], [1, 2, 3], [0, 1])));
    console.log(fit([], [1, 2], []).value, JSON.stringify([...fit([], [1, 2], []).gw]));
    """
    x, w, y = np.array([[1.0, 2, 3], [4, 5, 6]]), np.array([1.0, 2, 3]), np.array([0.0, 1])
    first, empty = node(script, fitted).splitlines()
    found = json.loads(first)
    assert found["value"] == np.mean((x @ w - y) ** 2)
    np.testing.assert_allclose([*found["gw"].values()], x.T @ (x @ w - y), rtol=1e-14)
    assert empty == "NaN [0,0]"


@pytest.mark.parametrize(
    "given, message",
    [
        ("[1, 2], [1]", "TypeError: fit takes x, w, y, got 2 arguments"),
        ("[1, 2, 3], [1, 2], [1]", "RangeError: x has 3 numbers where [1, 2] takes 2"),
        ("new Float32Array(2), [1, 2], [1]", "TypeError: x is Float32Array where Float64Array is needed"),
        ("[1, 2], [1, 2], [1], 2", "TypeError: fit takes x, w, y, got 4 arguments"),
        ("null, [1, 2], [1]", "TypeError: x is null where Float64Array is needed"),
        ("[1, 2], [1, 2], [1], { n: 2 }", "RangeError: x has 2 numbers where [2, 2] takes 4"),
        ("[1, 2], [1, 2], [1], { n: 0.5 }", "RangeError: fit needs the size n as a number, got 0.5"),
        ("[], [1, 2], [], { n: 2 ** 40 }", "RangeError: fit needs 43980465113487 bytes of memory"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(given: str, message: str, fitted: Path) -> None:
    script = f"""
    import {{ instantiate }} from "./fit.mjs";
    const fit = await instantiate();
    try {{ fit({given}); }} catch (error) {{ console.log(`${{error.name}}: ${{error.message}}`); }}
    """
    assert node(script, fitted).startswith(message)


def test_what_the_function_refuses_is_an_error_with_its_text(folder: Path) -> None:
    art = exported("picked", folder)
    case = Case("wasm32/picked.mjs", [np.ones(3), np.array([0, 3])], {})
    (found,) = called([case], folder)
    assert isinstance(found, str) and found.startswith("Error: picked: ") and "index is out of range" in found
    with pytest.raises(IndexError):
        art(*case.inputs)


def test_sizes_that_lengths_do_not_tell_are_passed(folder: Path) -> None:
    exported("reduced", folder)
    script = """
    import { instantiate } from "./wasm32/reduced.mjs";
    const call = await instantiate();
    try { call([1, 2]); } catch (error) { console.log(error.message); }
    console.log(call([1, 2, 3, 4], { n: 2 }).value_0.join());
    try { call([1, 2, 3, 4]); } catch (error) { console.log(error.name); }
    """
    refused, sums, still = node(script, folder).splitlines()
    assert "reduced needs the size" in refused and "arguments of 2 numbers do not tell it" in refused
    assert (sums, still) == ("3,7", "RangeError")


def test_arrays_in_memory_are_used_in_place(fitted: Path) -> None:
    script = """
    import { instantiate } from "./fit.mjs";
    const fit = await instantiate();
    const arrays = fit.arrays({ n: 2, m: 3 });
    arrays.inputs.x.set([1, 2, 3, 4, 5, 6]);
    arrays.inputs.w.fill(1);
    arrays.run();
    console.log(arrays.outputs.value[0], arrays.outputs.gw.join());
    fit([[1]], [1], [1]);
    try { arrays.run(); } catch (error) { console.log(error.message); }
    """
    first, refused = node(script, fitted).splitlines()
    assert first == "130.5 66,87,108"
    assert refused == "fit was called with other sizes: take its arrays again"


def test_modules_come_from_anywhere(fitted: Path) -> None:
    script = """
    import { readFileSync } from "node:fs";
    import { instantiate } from "./fit.mjs";
    const code = readFileSync("fit.wasm");
    const data = `data:application/wasm;base64,${code.toString("base64")}`;
    const places = [undefined, "fit.wasm", new URL("./fit.wasm", import.meta.url), code, data,
      new WebAssembly.Module(code), new Response(code), `${new URL("./fit.wasm", import.meta.url)}`];
    for (const place of places) console.log((await instantiate(place))([[2]], [3], [1]).value);
    try { await instantiate("nothing.wasm"); } catch (error) { console.log(error.code); }
    """
    assert node(script, fitted).split() == ["25"] * 8 + ["ENOENT"]


def test_files_keep_modules_and_make_new_ones(tmp_path: Path) -> None:
    """A module comes out of a file as it went in, and another is made of the graph there."""
    art = tf.export(fit, ["f64[n,m]", "f64[m]", "f64[n]"], name="fit", wrt="w", targets=["host", "wasm32"])
    art.save(tmp_path / "fit.tja")
    art.write(tmp_path / "fit.wasm")
    again = tf.load(tmp_path / "fit.tja")
    again.write(tmp_path / "again.wasm")
    assert (tmp_path / "again.wasm").read_bytes() == (tmp_path / "fit.wasm").read_bytes()
    vectors = again.retarget("wasm32+simd128")
    for end in ("wasm", "mjs"):
        vectors.write(tmp_path / f"fit.{end}")
    assert vectors.bindings("js") == (tmp_path / "fit.mjs").read_text()
    inputs = [np.arange(6.0).reshape(2, 3), np.ones(3), np.array([0.0, 1.0])]
    value, gw = art(*inputs)
    (found,) = called([Case("fit.mjs", inputs, {"value": value, "gw": gw})], tmp_path)
    assert isinstance(found, dict) and ulps(found["gw"], gw) <= 4 and found["value"] == value
    with pytest.raises(ValueError, match="there is code for wasm32/wasm32\\+simd128, not for x86_64"):
        vectors.write(tmp_path / "libfit.so")


def test_every_kind_of_output_leaves(folder: Path) -> None:
    options = {"name": "outputs", "outputs": ["value", "grad", "jvp", "hvp", "hessian"]}
    art = tf.export(
        lambda x: tf.reduce_sum(tf.sin(x) * x**3), ["f64[n]"], targets=["host", "wasm32"], **options
    )
    for end in ("wasm", "mjs"):
        art.write(folder / f"outputs.{end}")
    count = len(art._interface.inputs)
    inputs = [normal(4) for _ in range(count)]
    wanted = dict(zip(art._interface.outputs, art(*inputs), strict=True))
    (found,) = called([Case("outputs.mjs", inputs, wanted)], folder)
    assert isinstance(found, dict), found
    for name, y in wanted.items():
        np.testing.assert_allclose(found[name], y, rtol=1e-12, atol=1e-12)


def test_what_the_page_about_libraries_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "aot.md").read_text(encoding="utf-8")
    section = page[page.index("## WebAssembly") :].split("\n## ")[0]
    (python,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(python, {"tj": tf, "fit": fit})
    script = "".join(re.findall(r"```js\n(.*?)```", section, re.DOTALL))
    first, second = node(script, tmp_path).splitlines()
    assert first == "116 Float64Array(3) [ 62, 82, 102 ]" and first.endswith(second)
