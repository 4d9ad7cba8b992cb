"""Kinds of outputs: each is what the transform gives eagerly, alone and with others; names, sharing, refusals."""

from __future__ import annotations

import inspect
import re
from collections import Counter, namedtuple
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from checks.exports import KINDS, Expected, compare, drawn
from tracejit.aot import exporting
from tracejit.compiler.graph.passes import GRAPH_PASSES
from tracejit.core.ir.graph import walk

FIRST = ("value", "jvp", "vjp", "jacobian")
LOSS = (*FIRST, "grad", "hvp", "hessian")


# ---- functions, their specs, what of their inputs is a float ---------------------------------------------


def quadratic(x, y):
    return tf.reduce_sum(tf.sin(x) * tf.square(y)) + tf.reduce_sum(x * tf.exp(y))


def number(a, b):
    return tf.exp(a * b) / (1.0 + a * a)


def until_close(a):
    x = a
    while tf.abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
    return x


def steps(x, w):
    h = x
    for _ in tf.range(4):
        h = tf.tanh(h * w + x)
    return tf.reduce_sum(h * h)


def rows(x, w, k):
    return {"far": tf.tanh(x @ w)[1:], "count": k + 1, "near": tf.reduce_sum(x) * tf.cast(k, tf.float64)}


def single(x):
    return tf.reduce_sum(tf.nn.softmax(x) * x)


def longer(x):
    return tf.concat([x * x, tf.sin(x)], axis=0)


def parts(z, w):
    return tf.real(tf.reduce_sum(z * z * tf.conj(w))), z * w


FUNCTIONS: dict[str, tuple[Callable[..., Any], list[str], tuple[str, ...]]] = {
    "quadratic": (quadratic, ["f64[n,3]", "f64[3]"], LOSS),
    "number": (number, ["f64", "f64"], LOSS),
    "until_close": (until_close, ["f64"], LOSS),
    "steps": (steps, ["f64[n]", "f64"], LOSS),
    "rows": (rows, ["f64[n,3]", "f64[3,2]", "i64"], FIRST),
    "single": (single, ["f32[4]"], LOSS),
    "longer": (longer, ["f64[n]"], FIRST),
    "parts": (parts, ["c128[2]", "c128[2]"], ("value", "jvp", "vjp")),
}


def arguments(specs: Sequence[str], seed: int = 0) -> list[np.ndarray]:
    random, found = np.random.default_rng(seed), []
    for text in specs:
        spec, sizes = tf.aot.specs.parse(text)
        shape = tuple(s if isinstance(s, int) else 4 for s in sizes)
        found.append(np.asarray(np.abs(drawn(random, shape, spec.dtype)) + 0.1).astype(spec.dtype))
    return found


def chosen(specs: Sequence[str]) -> list[int]:
    return [k for k, text in enumerate(specs) if not text.startswith("i")]


def combos(kinds: Sequence[str]) -> list[tuple[str, ...]]:
    """Each kind by itself or with one other, and all together: every pair stands in one of them."""
    return [tuple(kinds), *(pair for k, pair in enumerate(combinations(kinds, 2)) if k % 5 == 0)]


TABLE = [(name, combo) for name, (_, _, kinds) in FUNCTIONS.items() for combo in combos(kinds)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name, kinds", TABLE, ids=["-".join([n, *c]) for n, c in TABLE])
def test_each_kind_is_what_the_transform_gives(name: str, kinds: tuple[str, ...]) -> None:
    f, specs, _ = FUNCTIONS[name]
    art = tf.export(f, specs, name=name, outputs=kinds)
    tolerance = 1e-4 if name == "single" else 1e-9
    for seed in (0, 1):
        expected = Expected(tf.function(f), arguments(specs, seed), chosen(specs))
        compare(art, expected, kinds, tolerance, seed)
    assert art.verify(1e-3 if name == "single" else None).sample is not None


@pytest.mark.parametrize("name", ["quadratic", "number", "until_close", "steps"])
def test_second_order_against_differences_of_the_first(name: str) -> None:
    """By the artifact alone: products with the Hessian are differences of its gradient."""
    f, specs, _ = FUNCTIONS[name]
    art = tf.export(f, specs, name=name, outputs=["grad", "hvp"])
    xs, random, step = arguments(specs, 2), np.random.default_rng(3), 1e-5
    vs = [drawn(random, x.shape, x.dtype) for x in xs]
    n = len(xs)
    ahead, behind = (art(*(x + s * v for x, v in zip(xs, vs, strict=True)), *vs)[:n] for s in (step, -step))
    for a, b, product in zip(ahead, behind, art(*xs, *vs)[n:], strict=True):
        np.testing.assert_allclose((a - b) / (2 * step), product, rtol=1e-6, atol=1e-6)


# ---- names ----------------------------------------------------------------------------------------------


def test_names_say_what_of_what() -> None:
    art = tf.export(number, ["f64", "f64"], name="f", outputs=KINDS)
    assert art.signature == (
        "f(a: float64[], b: float64[], ta: float64[], tb: float64[], cvalue: float64[], va: float64[], vb: float64[]) "
        "-> (value: float64[], ga: float64[], gb: float64[], tvalue: float64[], ca: float64[], cb: float64[], "
        "ha: float64[], hb: float64[], ja: float64[], jb: float64[], ha_a: float64[], ha_b: float64[], "
        "hb_a: float64[], hb_b: float64[])"
    )
    art = tf.export(rows, FUNCTIONS["rows"][1], name="g", outputs=["jvp", "vjp", "jacobian"], wrt="w")
    assert art.signature == (
        "g(x: float64[n,3], w: float64[3,2], k: int64[], tw: float64[3,2], cvalue_far: float64[n-1,2], "
        "cvalue_near: float64[]) -> (tvalue_far: float64[n-1,2], tvalue_near: float64[], cw: float64[3,2], "
        "jvalue_far_w: float64[n-1,2,3,2], jvalue_near_w: float64[3,2])"
    )


def test_names_that_are_taken_get_another_end() -> None:
    def odd(x, tx, cvalue, tvalue, vx):
        return x * tx * cvalue * tvalue * vx

    art = tf.export(odd, ["f64"] * 5, name="odd", outputs=["jvp", "vjp", "hvp"], wrt="x")
    inputs, outputs = art.signature.split(" -> ")
    assert re.findall(r"(\w+):", inputs)[5:] == ["tx_", "cvalue_", "vx_"]
    assert re.findall(r"(\w+):", outputs) == ["tvalue_", "cx", "hx"]
    compare(art, Expected(odd, [np.array(v) for v in (2.0, 3.0, 4.0, 5.0, 6.0)], [0]), ["jvp", "vjp", "hvp"])


def test_one_kind_may_be_said_without_a_list() -> None:
    art = tf.export(longer, ["f64[2]"], name="f", outputs="jacobian")
    found = art(np.array([1.0, 2.0]))
    np.testing.assert_allclose(found, [[2, 0], [0, 4], [np.cos(1), 0], [0, np.cos(2)]], atol=1e-15)


# ---- what to differentiate by ---------------------------------------------------------------------------


def test_parts_of_arguments() -> None:
    Pair = namedtuple("Pair", "low high")

    def model(params, x, pair):
        return tf.reduce_sum(tf.tanh(x @ params["w"] + params["layers"][0]) * pair.low * pair.high)

    specs = [{"w": "f64[3,2]", "layers": ["f64[2]"]}, "f64[n,3]", Pair("f64", "i64")]

    def names(wrt: Any) -> list[str]:
        art = tf.export(model, specs, name="m", outputs=["grad"], wrt=wrt)
        return re.findall(r"(\w+):", art.signature.split(" -> ")[1])

    assert names("params.layers") == names('params["layers"]') == ["gparams_layers_0"]
    assert names(["pair", "params/w"]) == ["gpair_low", "gparams_w"]
    assert names([-1, 1]) == ["gpair_low", "gx"]
    assert names(None) == ["gparams_layers_0", "gparams_w", "gx", "gpair_low"]
    with pytest.raises(TypeError, match=r"by wrt='pair.high': pair_high is int64\[\]; name a float"):
        names("pair.high")
    with pytest.raises(ValueError, match=r"wrt='params' names params_w again"):
        names(["params.w", "params"])
    with pytest.raises(ValueError, match=r"arguments are params, x, pair, .*: did you mean 'pair.low'"):
        names("pair.lo")
    with pytest.raises(ValueError, match="wrt is empty"):
        names([])


# ---- one graph ------------------------------------------------------------------------------------------


def counted(
    monkeypatch: pytest.MonkeyPatch, f: Callable[..., Any], specs: Sequence[str], outputs: Any
) -> Counter:
    """How often each op stands in the program, loops included, after the passes on graphs."""
    graphs: list[Any] = []
    with monkeypatch.context() as patched:
        patched.setattr(exporting, "exported", lambda graph, *_: graphs.append(graph) or 1 / 0)
        with pytest.raises(ZeroDivisionError):
            tf.export(f, specs, name="f", outputs=outputs)
    (graph,) = graphs
    for _, improved in GRAPH_PASSES:
        graph = improved(graph)
    return Counter(node.op.name for _, node in walk(graph))


def test_what_outputs_share_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def network(x, w, v):
        return tf.reduce_sum(tf.tanh(x @ w) @ v)

    specs = ["f64[n,3]", "f64[3,4]", "f64[4,1]"]
    value, gradient, second, everything = (
        counted(monkeypatch, network, specs, kinds)
        for kinds in (["value"], ["value", "grad"], ["hvp"], ["value", "grad", "hvp", "jvp", "vjp"])
    )
    both = counted(monkeypatch, network, specs, ["value", "grad", "hvp"])
    assert value["tanh"] == both["tanh"] == everything["tanh"] == 1
    assert both["matmul"] <= gradient["matmul"] + second["matmul"] - value["matmul"]


@pytest.mark.parametrize("f, specs", [(until_close, ["f64"]), (steps, ["f64[n]", "f64"])])
def test_loops_are_not_run_for_each_output(
    monkeypatch: pytest.MonkeyPatch, f: Callable[..., Any], specs: Sequence[str]
) -> None:
    def loops(*kinds: str) -> int:
        return counted(monkeypatch, f, specs, kinds)["loop"]

    assert loops("value", "grad") == loops("grad") == 2
    assert loops("value", "grad", "vjp") <= 3  # one pass forward, one back for each
    assert loops("value", "grad", "hvp") <= 4  # no more than forward mode of value_and_grad


# ---- refusals -------------------------------------------------------------------------------------------


def refused(kind: type[Exception], message: str, line: int, f: Any, specs: list[str], **more: Any) -> None:
    with pytest.raises(kind, match=message) as raised:
        tf.export(f, specs, name="f", **more)
    assert f"test_outputs.py:{line}" in str(raised.value)


def test_outputs_that_there_are_not_are_refused_with_the_line() -> None:
    line = inspect.getsourcelines(refused)[1] + 2
    many = r"is of a function that returns one float, and f returns \(value: float64\[2\*n\]\)"
    for kind in ("grad", "hvp", "hessian"):
        refused(tf.ShapeError, f"'{kind}' {many}", line, longer, ["f64[n]"], outputs=[kind])
    refused(tf.ShapeError, r"\(value_count: int64", line, rows, FUNCTIONS["rows"][1], outputs=["grad"])
    refused(
        ValueError, "got 'jacobain': did you mean 'jacobian'", line, longer, ["f64[n]"], outputs=["jacobain"]
    )
    refused(ValueError, "outputs name 'jvp' twice", line, longer, ["f64[n]"], outputs=["jvp", "value", "jvp"])
    refused(ValueError, "outputs are one or more of 'value'", line, longer, ["f64[n]"], outputs=[])
    complex_ = r"'jacobian' is of functions of real numbers, and z is complex128\[2\]"
    refused(TypeError, complex_, line, parts, ["c128[2]", "c128[2]"], outputs=["jacobian"])
    refused(TypeError, "returns floats, and f returns", line, tf.argmax, ["f64[3]"], outputs=["jvp"])


def test_cotangents_of_unknown_size_are_refused() -> None:
    def halves(x):
        found = []
        while x > 1.0:
            x = x / 2.0
            found.append(x)
        return tf.stack(found)

    with pytest.raises(tf.aot.NotExportable, match="the size of value is known only when halves has run"):
        tf.export(halves, ["f64"], name="halves", outputs=["vjp"])
