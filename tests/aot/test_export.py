"""Exporting: what comes out here, in other processes and from files; names, sizes, constants, refusals."""

from __future__ import annotations

import ctypes
import inspect
import json
import random
import re
import subprocess
import sys
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tracejit as tf
from tracejit.aot import Artifact, BadArtifact, NotExportable, NotVerified, writing
from tracejit.runtime import cpu, elf
from tracejit.runtime.exported import container

VECTOR = np.linspace(-1.0, 1.5, 7)


def rosenbrock(x):
    return tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def root(a, b):
    """The flagship: how long it runs depends on the data, and it has a gradient."""
    x = a
    while tf.abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
    if x > b:
        x = x * b
    return x


@pytest.fixture(scope="module")
def rosen() -> Artifact:
    return tf.export(rosenbrock, ["f64[n]"], name="rosen")


@pytest.fixture(scope="module")
def roots() -> Artifact:
    return tf.export(root, ["f64", "f64"], name="root")


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def library(artifact: Artifact, folder: Path) -> ctypes.CDLL:
    path = folder / f"lib{artifact.name}.so"
    artifact.write(path)
    found = ctypes.CDLL(str(path))
    getattr(found, f"{artifact.name}_error").restype = ctypes.c_char_p
    return found


# ---- calling --------------------------------------------------------------------------------------------


def test_value_and_gradient_are_those_of_the_function(rosen: Artifact) -> None:
    value, gradient = rosen(VECTOR)
    wanted, slope = tf.value_and_grad(rosenbrock)(tf.constant(VECTOR, tf.float64))
    np.testing.assert_allclose(value, wanted, rtol=1e-14)
    np.testing.assert_allclose(gradient, slope, rtol=1e-12)
    assert rosen.signature == "rosen(x: float64[n]) -> (value: float64[], gx: float64[n])"
    found = rosen.verify()
    assert found.sample < 1e-13 and found.gradient < 1e-6


def test_data_decides_how_long_a_loop_runs(roots: Artifact, tmp_path: Path) -> None:
    for a, b in [(2.0, 5.0), (1e6, 3.0), (0.25, 0.1)]:
        value, ga, gb = roots(a, b)
        wanted, slopes = tf.value_and_grad(tf.function(root), (0, 1))(np.float64(a), np.float64(b))
        np.testing.assert_allclose([value, ga, gb], [wanted, *slopes], rtol=1e-12)
    assert roots.verify().gradient < 1e-4
    found = library(roots, tmp_path)
    x, b, *outputs = (np.array(v) for v in (2.0, 5.0, 0.0, 0.0, 0.0))
    assert found.root(pointer(x), pointer(b), *map(pointer, outputs)) == 0
    np.testing.assert_array_equal(outputs, roots(2.0, 5.0))


def test_memory_comes_from_the_caller_and_goes_back(roots: Artifact, tmp_path: Path) -> None:
    held: dict[int, ctypes.Array] = {}
    asked = []

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
    def allocate(align, size):
        if asked and asked[0] is None:
            return None
        block = ctypes.create_string_buffer(size + align)
        address = -(-ctypes.addressof(block) // align) * align
        held[address] = block
        asked.append(size)
        return address

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def release(address):
        del held[address]

    found = library(roots, tmp_path)
    found.root_allocator(allocate, release)
    x, b, *outputs = (np.array(v) for v in (2.0, 5.0, 0.0, 0.0, 0.0))
    arguments = [pointer(x), pointer(b), *map(pointer, outputs)]
    assert found.root(*arguments) == 0
    assert asked and not held
    np.testing.assert_array_equal(outputs, roots(2.0, 5.0))
    asked[:] = [None]
    status = found.root(*arguments)
    assert found.root_error(status) == b"out of memory"
    found.root_allocator(None, None)
    assert found.root(*arguments) == 0


def test_arrays_in_any_memory_are_taken(rosen: Artifact) -> None:
    np.testing.assert_array_equal(rosen(tf.constant(VECTOR))[1], rosen(VECTOR)[1])
    wide = np.stack([VECTOR, VECTOR], 1)[:, 0]
    np.testing.assert_array_equal(rosen(wide)[1], rosen(VECTOR)[1])


def test_wrong_arguments_are_refused(rosen: Artifact) -> None:
    with pytest.raises(tf.DtypeError, match=r"x is float64\[n\], got float32\[7\]"):
        rosen(VECTOR.astype(np.float32))
    with pytest.raises(tf.ShapeError, match=r"x is float64\[n\], got float64\[1,7\]"):
        rosen(VECTOR[None])
    assert [y.tolist() for y in rosen(VECTOR[:1])] == [0.0, [0.0]], "sums of nothing"
    with pytest.raises(tf.ShapeError, match=r"made for 1 <= n"):
        rosen(VECTOR[:0])
    with pytest.raises(TypeError, match="takes 1 arrays, got 2"):
        rosen(VECTOR, VECTOR)


# ---- sizes and names ------------------------------------------------------------------------------------


def test_sizes_are_shared_and_checked(tmp_path: Path) -> None:
    def loss(x, w, y):
        return tf.reduce_mean((tf.reduce_sum(x * w, axis=1) - y) ** 2)

    art = tf.export(loss, ["f64[n,3]", "f64[3]", "f64[n]"], name="fit", wrt="w")
    assert (
        art.signature
        == "fit(x: float64[n,3], w: float64[3], y: float64[n]) -> (value: float64[], gw: float64[3])"
    )
    rng = np.random.default_rng(0)
    x, w, y = rng.normal(size=(10, 3)), rng.normal(size=3), rng.normal(size=10)
    residual = x @ w - y
    value, gw = art(x, w, y)
    np.testing.assert_allclose(value, np.mean(residual**2), rtol=1e-13)
    np.testing.assert_allclose(gw, 2 * x.T @ residual / 10, rtol=1e-12)
    with pytest.raises(tf.ShapeError, match=r"y is float64\[n\] where n = 10, got the shape \(9,\)"):
        art(x, w, y[:9])
    found = library(art, tmp_path)
    assert found.fit(None, None, None, None, None, ctypes.c_int64(-1), None) > 0
    assert found.fit_error(1).startswith(b"the sizes must be such that")


def test_an_array_that_is_nowhere_is_refused(tmp_path: Path) -> None:
    """NULL stands for an array without elements alone, as ``malloc(0)`` may give it."""
    art = tf.export(lambda x, y: tf.reduce_sum(x[:, None] * y), ["f64[n]", "f64[n,2]"], name="scaled", wrt=0)
    assert "those without elements may be\n * NULL" in art.header()
    art.write(tmp_path / "libscaled.so")
    found = ctypes.CDLL(str(tmp_path / "libscaled.so"))
    found.scaled_error.restype = ctypes.c_char_p
    arrays = {"x": np.ones(2), "y": np.ones((2, 2)), "value": np.ones(()), "gx": np.ones(2)}

    def status(n: int, *missing: str) -> bytes:
        pointers = [ctypes.c_void_p(None if k in missing else a.ctypes.data) for k, a in arrays.items()]
        return bytes(found.scaled_error(found.scaled(*pointers, ctypes.c_int64(n))))

    assert status(2) == b"success" and arrays["gx"].tolist() == [2.0, 2.0]
    for name in arrays:
        assert status(2, name) == name.encode() + b" is NULL"
    assert status(0, "x", "y", "gx") == b"success" and arrays["value"] == 0.0
    assert status(0, "value") == b"value is NULL"
    assert status(-1, *arrays) == b"the sizes must be such that 0 <= n"


def test_identities_of_a_size_that_is_given_later() -> None:
    art = tf.export(lambda a: tf.eye(a.shape[0]) - 2.0 * a, ["f32[n,n]"], name="turned", outputs=("value",))
    for n in (1, 4):
        a = np.ones((n, n), np.float32)
        assert np.array_equal(art(a), np.eye(n) - 2.0 * a)


def test_sizes_that_must_be_equal_need_one_name() -> None:
    def dot(x, y):
        return tf.reduce_sum(x * y)

    with pytest.raises(NotExportable, match="holds for n == m only: give both one name"):
        tf.export(dot, ["f64[n]", "f64[m]"], name="dot")
    with pytest.raises(NotExportable, match="Python looked at the size"):
        tf.export(lambda x: sum(x[i] for i in range(x.shape[0])), ["f64[n]"], name="unrolled")


def test_nests_become_parameters_with_readable_names() -> None:
    Pair = namedtuple("Pair", "low high")

    def model(params, x, double):
        y = tf.tanh(x @ params["w"] + params["layers"][0])
        return tf.reduce_sum(y * double.low) + tf.reduce_sum(double.high)

    params = {"w": "f64[3,2]", "layers": ["f64[2]"]}
    art = tf.export(model, [params, "f64[n,3]", Pair("f64", "f64[2]")], name="model", wrt=[0])
    inputs, outputs = art.signature.split(" -> ")
    assert "params_layers_0: float64[2], params_w: float64[3,2], x: float64[n,3], double_low" in inputs
    assert outputs == "(value: float64[], gparams_layers_0: float64[2], gparams_w: float64[3,2])"
    rng = np.random.default_rng(1)
    values = {"w": rng.normal(size=(3, 2)), "layers": [rng.normal(size=2)]}
    x = rng.normal(size=(5, 3))
    nested = art(values, x, Pair(2.0, np.ones(2)))
    flat = art(values["layers"][0], values["w"], x, np.array(2.0), np.ones(2))
    for a, b in zip(nested, flat, strict=True):
        np.testing.assert_array_equal(a, b)
    assert art.verify().gradient < 1e-6


def test_words_of_c_are_no_parameters() -> None:
    def f(int, value, gx, x):
        return tf.reduce_sum(int * value * gx * x)

    art = tf.export(f, ["f64[2]"] * 4, name="f")
    assert art.signature == (
        "f(int_: float64[2], value: float64[2], gx: float64[2], x: float64[2]) -> (value_: float64[], "
        "gint_: float64[2], gvalue: float64[2], ggx: float64[2], gx_: float64[2])"
    )
    with pytest.raises(ValueError, match="no name for a C function"):
        tf.export(f, ["f64"] * 4, name="a b")


def test_all_that_a_function_returns(tmp_path: Path) -> None:
    def f(x, k):
        return {"low": x + 1.0, "high": (x * 2.0 > 3.0, tf.cast(x, tf.int32) + k)}

    art = tf.export(f, ["f32[4]", "i32"], name="many", outputs=["value"])
    assert art.signature.endswith("(value_high_0: bool[4], value_high_1: int32[4], value_low: float32[4])")
    x = np.array([0.5, 1.0, 2.0, 3.0], np.float32)
    high, number, low = art(x, 3)
    assert high.tolist() == [False, False, True, True] and number.tolist() == [3, 4, 5, 6]
    np.testing.assert_array_equal(low, x + 1)
    assert "uint8_t *value_high_0, int32_t *value_high_1, float *value_low" in art.header()
    assert art.verify().gradient is None


@pytest.mark.parametrize(
    "spec, message",
    [
        ("f64[n", "no spec"),
        ("f65[3]", "no spec"),
        ("f64[-1]", "no name for a size"),
        ("f64[t0]", "no name"),
        ("", "no spec"),
    ],
)
def test_specs_that_are_none(spec: str, message: str) -> None:
    with pytest.raises(tf.ShapeError, match=message):
        tf.export(lambda x: x, [spec], name="f")


def test_what_fails_while_it_runs_says_so(tmp_path: Path) -> None:
    def pick(x, k):
        return tf.reduce_sum(tf.gather(x, k) ** 2)

    art = tf.export(pick, ["f64[n]", "i64[2]"], name="pick")
    np.testing.assert_array_equal(art(VECTOR, np.array([6, 6]))[1], np.eye(7)[6] * 4 * VECTOR[6])
    with pytest.raises(IndexError, match="index is out of range"):
        art(VECTOR, np.array([0, 7]))
    found = library(art, tmp_path)
    value, gradient, wrong = np.empty(()), np.empty(7), np.array([0, 7])
    work = np.empty(1 << 16, np.uint8)
    status = found.pick(*map(pointer, (VECTOR, wrong, value, gradient)), ctypes.c_int64(7), pointer(work))
    assert status > 0 and b"index is out of range" in found.pick_error(status)
    assert found.pick_error(-77) == b"unknown status"


def test_threads_do_not_meet(roots: Artifact, tmp_path: Path) -> None:
    found = library(roots, tmp_path)

    def slopes(seed: int) -> bool:
        numbers = np.random.default_rng(seed).uniform(0.5, 1e4, 200)
        x, b, *outputs = (np.array(v) for v in (0.0, 5.0, 0.0, 0.0, 0.0))
        for number in numbers:
            x[()] = number
            assert found.root(*map(pointer, (x, b, *outputs))) == 0
            if not np.array_equal(outputs, roots(number, 5.0)):
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(slopes, range(8)))


def test_a_training_step_with_variables() -> None:
    """What a tape gives is a result as any other; the Variables that it watches become parameters."""
    rng = np.random.default_rng(3)
    layers = [
        tf.Variable(rng.normal(size=s), dtype=tf.float32, name=n) for s, n in (((8, 16), "w"), ((16, 3), "v"))
    ]

    @tf.function
    def step(x, labels):
        with tf.GradientTape() as tape:
            logits = tf.nn.relu(x @ layers[0]) @ layers[1]
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            )
        return loss, tape.gradient(loss, layers)

    art = tf.export(step, ["f32[n,8]", "i32[n]"], name="step", outputs=["value"], constants="argument")
    assert art.signature == (
        "step(x: float32[n,8], labels: int32[n], w: float32[8,16], v: float32[16,3]) -> "
        "(value_0: float32[], value_1_0: float32[8,16], value_1_1: float32[16,3])"
    )
    x, labels = rng.normal(size=(20, 8)).astype("f4"), rng.integers(0, 3, 20).astype("i4")
    loss, gradients = step(x, labels)
    found = art(x, labels, *(v.numpy() for v in layers))
    for a, b in zip(found, [loss, *gradients], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_a_python_module_needs_numpy_alone(tmp_path: Path) -> None:
    def fit(x, lambda_, scale):
        return tf.reduce_sum((x[1:] * lambda_) ** 2) * scale + tf.reduce_sum(tf.reshape(x, [-1, 2])[:, 0])

    art = tf.export(
        fit, ["f64[in,3]", "f64[3]", "f64"], name="fit", sample=[np.ones((4, 3)), np.ones(3), 2.0]
    )
    art.write(tmp_path / "libfit.so")
    art.write(tmp_path / "fit.py")
    x = np.random.default_rng(4).normal(size=(6, 3))
    np.save(tmp_path / "x.npy", x)
    code = (
        "import sys, numpy as np, fit\n"
        "x = np.load('x.npy')\n"
        "np.savez('y.npz', *fit.fit(np.asfortranarray(x), np.arange(3.0), 2.0))\n"
        "for wrong in (x[:, :2], x[0], x[:0], x.astype('f4')):\n"
        "    try:\n"
        "        fit.fit(wrong, np.arange(3.0), 2.0)\n"
        "    except (ValueError, TypeError, RuntimeError) as error:\n"
        "        print(error)\n"
        "assert not [m for m in sys.modules if m.startswith(('llvmlite', 'tracejit'))]\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert (
        len(done.stdout.splitlines()) == 4 and "x has the shape (6, 2) where (6, 3) is needed" in done.stdout
    )
    found = np.load(tmp_path / "y.npz")
    for a, b in zip(found.values(), art(x, np.arange(3.0), 2.0), strict=True):
        np.testing.assert_array_equal(a, b)


# ---- constants ------------------------------------------------------------------------------------------


def test_constants_and_products_of_matrices(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    weights = tf.Variable(rng.normal(size=(40, 30)), dtype=tf.float64, name="weights")
    offset = tf.constant(rng.normal(size=30), tf.float64)

    def loss(x):
        return tf.reduce_sum(tf.tanh(x @ weights + offset) ** 2)

    x = rng.normal(size=(50, 40))
    wanted, slope = tf.value_and_grad(loss)(tf.constant(x, tf.float64))
    embedded = tf.export(loss, ["f64[n,40]"], name="net")
    assert embedded.signature.startswith("net(x: float64[n,40]) ->")
    arguments = tf.export(loss, ["f64[n,40]"], name="net", constants="argument")
    assert arguments.signature.startswith(
        "net(x: float64[n,40], offset: float64[30], weights: float64[40,30]) ->"
    )
    for found in (embedded(x), arguments(x, offset.numpy(), weights.numpy())):
        np.testing.assert_allclose(found[0], wanted, rtol=1e-12)
        np.testing.assert_allclose(found[1], slope, rtol=1e-10, atol=1e-12)
    weights.assign(weights * 0.0)
    np.testing.assert_allclose(embedded(x)[0], wanted, rtol=1e-12)
    found = library(embedded, tmp_path)
    found.net_workspace.restype = ctypes.c_int64
    work = np.empty(found.net_workspace(ctypes.c_int64(50)) + 1, np.uint8)[1:]  # whatever its alignment
    value, gradient = np.empty(()), np.empty_like(x)
    assert found.net(*map(pointer, (x, value, gradient)), ctypes.c_int64(50), pointer(work)) == 0
    np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-12)


# ---- refusals -------------------------------------------------------------------------------------------


def test_what_needs_python_is_refused_with_its_line() -> None:
    def loud(x):
        tf.print("x is", x)
        return x * x

    line = inspect.getsourcelines(loud)[1] + 1
    with pytest.raises(NotExportable, match=rf"print needs Python(.|\n)*test_export.py:{line}"):
        tf.export(loud, ["f64"], name="loud")

    def halved(x):
        return x / 2

    with pytest.raises(NotExportable, match=r"^halved needs Python"):
        tf.export(lambda x: tf.py_function(halved, [x], tf.float64), ["f64"], name="calls")
    with pytest.raises(NotExportable, match=r"^an op on strings needs Python"):
        tf.export(lambda x: tf.strings.as_string(x), ["f64"], name="text", outputs="value")


def test_what_changes_something_here_is_refused() -> None:
    count = tf.Variable(0.0, name="count")

    def counted(x):
        count.assign_add(1.0)
        return x * count

    with pytest.raises(NotExportable, match="counted assigns count"):
        tf.export(counted, ["f32"], name="counted")


def test_results_of_unknown_size_are_refused() -> None:
    def halves(x):
        found = []
        while x > 1.0:
            x = x / 2.0
            found.append(x)
        return tf.stack(found)

    with pytest.raises(NotExportable, match="the size of value is known only when halves has run"):
        tf.export(halves, ["f64"], name="halves", outputs=["value"])


def test_arguments_of_export_are_checked() -> None:
    with pytest.raises(ValueError, match=r"outputs are of .* did you mean .hessian"):
        tf.export(rosenbrock, ["f64[n]"], name="f", outputs=["hesian"])
    with pytest.raises(ValueError, match="a target is 'host' or one of"):
        tf.export(rosenbrock, ["f64[n]"], name="f", targets=["x87"])
    with pytest.raises(ValueError, match="wrt='y', and the arguments are x"):
        tf.export(rosenbrock, ["f64[n]"], name="f", wrt="y")
    with pytest.raises(NotExportable, match="no argument is a float"):
        tf.export(lambda k: k, ["i64"], name="f")
    with pytest.raises(ValueError, match="'embed' or 'argument'"):
        tf.export(rosenbrock, ["f64[n]"], name="f", constants="drop")


# ---- processors -----------------------------------------------------------------------------------------


@pytest.mark.skipif(cpu.host().arch != "x86_64", reason="levels of x86-64")
def test_the_best_code_that_runs_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    art = tf.export(rosenbrock, ["f64[n]"], name="rosen", targets=["x86-64-v3", "x86-64-v2"])
    assert art.targets == ("x86_64/x86-64-v3", "x86_64/x86-64-v2")
    wanted = art(VECTOR)
    art.save(tmp_path / "rosen.tja")
    art.write(tmp_path / "librosen.so", target="x86_64/x86-64-v2")
    with pytest.raises(ValueError, match="there is code for"):
        art.write(tmp_path / "librosen.so", target="riscv64")
    monkeypatch.setattr(cpu, "host", lambda: cpu.baseline("x86-64-v2"))
    old = tf.load(tmp_path / "rosen.tja")
    np.testing.assert_allclose(old(VECTOR)[1], wanted[1], rtol=1e-12)
    monkeypatch.setattr(cpu, "host", lambda: cpu.baseline("x86-64"))
    with pytest.raises(BadArtifact, match=r"this processor is x86_64 without .*sse4.2"):
        tf.load(tmp_path / "rosen.tja")(VECTOR)


# ---- files ----------------------------------------------------------------------------------------------


def test_a_file_holds_everything(roots: Artifact, tmp_path: Path) -> None:
    roots.save(tmp_path / "root.tja")
    again = tf.load(tmp_path / "root.tja")
    assert again.signature == roots.signature and again.header() == roots.header()
    np.testing.assert_array_equal(again(2.0, 5.0), roots(2.0, 5.0))
    assert again.verify() == roots.verify()
    for end in (".so", ".o", ".h"):
        for art, name in ((roots, "a"), (again, "b")):
            art.write(tmp_path / f"{name}{end}")
    assert (tmp_path / "a.o").read_bytes() == (tmp_path / "b.o").read_bytes()
    known = ", ".join(sorted(writing.FILES))
    with pytest.raises(
        ValueError, match=rf"write to one of {re.escape(known)}, and save to \.tja; got '\.dll'"
    ):
        roots.write(tmp_path / "root.dll")


def test_each_language_has_bindings(roots: Artifact, tmp_path: Path) -> None:
    for language, (suffix, *_) in writing.LANGUAGES.items():
        try:
            text = roots.bindings(language)
        except ValueError as error:  # for other machines than those that there is code for
            assert "there is code for" in str(error)
            continue
        roots.write(tmp_path / f"root{suffix}")
        assert (tmp_path / f"root{suffix}").read_text() == text and "root" in text
    with pytest.raises(ValueError, match=r"there are bindings for 'python'.*, got 'cobol'"):
        roots.bindings("cobol")


def test_verification_finds_what_is_wrong(rosen: Artifact, tmp_path: Path) -> None:
    rosen.save(tmp_path / "rosen.tja")
    header, blobs = container.read(tmp_path / "rosen.tja")
    values = np.frombuffer(blobs["sample 2"]).copy()
    values[1] *= 1.001
    container.write(tmp_path / "wrong.tja", header, {**blobs, "sample 2": values.tobytes()})
    with pytest.raises(NotVerified, match="rosen: gx is off by"):
        tf.load(tmp_path / "wrong.tja").verify()
    header["codes"][0][1]["gradients"] = [[0, 0]]
    container.write(tmp_path / "wrong.tja", header, blobs)
    with pytest.raises(NotVerified, match=r"rosen: value is off by .* from differences"):
        tf.load(tmp_path / "wrong.tja").verify()


def test_gradients_of_zeros_agree_with_differences_of_zeros() -> None:
    art = tf.export(lambda x: tf.reduce_sum(tf.nn.relu(-x)), ["f32[n]"], name="none")
    assert art.verify().gradient == 0.0


def test_files_that_are_none_or_newer(rosen: Artifact, tmp_path: Path) -> None:
    path = tmp_path / "rosen.tja"
    rosen.save(path)
    whole = path.read_bytes()
    for content, message in [
        (b"", "is not an artifact"),
        (b"\x7fELF" + whole[4:], "is not an artifact"),
        (whole[:8] + b"\x02" + whole[9:], "has format 2, this version of tracejit reads 1"),
        (whole[:70], "is cut off"),
        (whole[:-1], "is cut off"),
        (whole[:-1] + bytes([whole[-1] ^ 1]), "is damaged"),
    ]:
        path.write_bytes(content)
        with pytest.raises(BadArtifact, match=message):
            tf.load(path)
    with pytest.raises(OSError):
        tf.load(tmp_path / "nothing.tja")
    container.write(path, {}, {})
    with pytest.raises(BadArtifact, match="does not describe an artifact"):
        tf.load(path)


def test_damaged_files_raise(rosen: Artifact, tmp_path: Path) -> None:
    """Flipped bits, cut ends, and headers edited with a digest that fits: a Python exception, or the same result."""
    path, rng = tmp_path / "rosen.tja", random.Random(0)
    rosen.save(path)
    whole = path.read_bytes()
    for k in range(300):
        image = bytearray(whole)
        if k % 3:
            image[rng.randrange(len(image))] ^= 1 << rng.randrange(8)
        else:
            del image[rng.randrange(len(image)) :]
        path.write_bytes(image)
        try:
            found = tf.load(path)
        except BadArtifact:
            continue
        np.testing.assert_array_equal(found(VECTOR)[1], rosen(VECTOR)[1])  # between two blobs
    path.write_bytes(whole)
    header, blobs = container.read(path)
    for damage in (
        {"codes": []},
        {"codes": 3},
        {"codes": [[["a"], {}]]},
        {"sample": [["<f8", [3]]]},
        {"sample": 1},
    ):
        container.write(path, {**header, **damage}, blobs)
        with pytest.raises(BadArtifact):
            tf.load(path)
    text = json.dumps(header)
    for _ in range(200):
        place = rng.randrange(len(text))
        try:
            edited = json.loads(text[:place] + rng.choice('0123456789"[]{},:ab-') + text[place + 1 :])
        except ValueError:
            continue
        container.write(path, edited, blobs)
        try:
            found = tf.load(path)
        except BadArtifact:
            continue
        assert found.signature and found.header()


def test_a_new_process_needs_no_compiler(rosen: Artifact, tmp_path: Path) -> None:
    rosen.save(tmp_path / "rosen.tja")
    code = (
        "import sys, numpy as np, tracejit\n"
        f"f = tracejit.load({str(tmp_path / 'rosen.tja')!r})\n"
        "value, gradient = f(np.array([1.0, 1.0, 2.0])); f.verify()\n"
        "print(value, gradient.tolist())\n"
        "assert not [m for m in sys.modules if m.startswith(('llvmlite', 'tracejit.compiler'))]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "100.0 [0.0, -400.0, 200.0]\n"


@pytest.mark.skipif(cpu.host().arch != "x86_64", reason="x86-64 only")
@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "x86-64"])
def test_half_precision_where_the_processor_has_none(target: str) -> None:
    """Level 2 converts by functions of the object's own."""
    x = np.array([1.5, 2.0, -3.0, np.inf, 6e-8, np.nan, 65504.0, 0.1, -0.0], np.float16)
    f = lambda x: tf.cast(tf.cast(x, tf.float32) * 1.1, tf.float16) + x * x
    if not cpu.baseline("x86-64-v3" if target == "x86-64" else target).runs_on(cpu.host()):
        pytest.skip("this processor does not run it")
    art = tf.export(f, ["f16[n]"], name="halves", outputs="value", targets=[target])
    np.testing.assert_array_equal(art(x), np.asarray(f(tf.constant(x))))
    assert not elf.parse(art._codes[0].compiled.image).undefined()


@pytest.mark.parametrize("count", [1, 3])
def test_a_spec_for_each_argument(count: int) -> None:
    def f(x, y):
        return tf.reduce_sum(x * y)

    for g in (f, tf.function(f)):
        with pytest.raises(TypeError, match=rf"{count} specs were given for f\(x, y\).*\n  at .*test_export"):
            tf.export(g, ["f32[n]"] * count, name="f")
