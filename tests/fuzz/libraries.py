"""Random programs of many dtypes and open sizes as C libraries, called as C calls them, against eager code.

Arguments hold NaN, infinities, zeros of both signs and numbers below the normal ones; arrays are empty, of one element
or longer, and stand beside memory that nobody may touch (`checks.guarded`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

import tracejit as tf
import tracejit.numpy as tnp
from checks.exports import Expected
from checks.guarded import WAYS, Library
from tracejit.core.dim import holds
from tracejit.core.errors import TracejitError

from .outcome import Outcome

Arrays = list[np.ndarray]
_DTYPES = ("float64", "float64", "float32", "int64", "int32", "uint8", "bool", "complex128", "complex64")
_SIZES = (0, 1, 2, 3, 5, 8, 17)
_SHAPES = ("n", "n", "m", "n,m", "", "1,m", "n,3", "1")
#: Expressions by the kind of dtype that they take, and give.
_UNARY = {
    "f": (
        "-{x}|abs({x})|tf.sin({x})|tf.tanh({x})|tf.exp(-abs({x}))|tf.sqrt(abs({x}))|tf.floor({x})|tf.sign({x})"
        "|tnp.cbrt({x})|tf.math.log1p(abs({x}))|tf.sigmoid({x})|{x} * {x}|tnp.frexp({x})[0]|tnp.spacing({x})"
    ).split("|"),
    "i": "-{x}|abs({x})|~{x}|{x} * {x}|{x} // 3|{x} % 5|{x} << 2|{x} >> 1|tf.sign({x})".split("|"),
    "u": "~{x}|{x} // 3|{x} % 5|{x} << 2|{x} >> 1|{x} + {x}".split("|"),
    "b": ("~{x}", "{x} & {x}", "{x} | ~{x}"),
    "c": "-{x}|tf.math.conj({x})|{x} * {x}|{x} + 1j|tf.exp(-{x} * tf.math.conj({x}))".split("|"),
}
_BINARY = {
    "f": (
        "{x} + {y}|{x} - {y}|{x} * {y}|{x} / ({y} * {y} + 1)|tf.maximum({x}, {y})|tf.minimum({x}, {y})"
        "|tf.where({x} < {y}, {x}, {y})|tf.atan2({x}, abs({y}) + 1.0)|tnp.hypot({x}, {y})|tnp.nextafter({x}, {y})"
    ).split("|"),
    "i": (
        "{x} + {y}|{x} - {y}|{x} * {y}|{x} // {y}|{x} % {y}|{x} & {y}|{x} ^ {y}|tf.maximum({x}, {y})"
        "|tnp.gcd({x}, {y})|tf.where({x} < {y}, {x}, {y})"
    ).split("|"),
    "u": "{x} + {y}|{x} * {y}|{x} // {y}|{x} % {y}|{x} | {y}|tf.minimum({x}, {y})|tnp.lcm({x}, {y})".split("|"),
    "b": ("{x} & {y}", "{x} | {y}", "{x} ^ {y}", "tf.where({x}, {y}, ~{y})"),
    "c": "{x} + {y}|{x} - {y}|{x} * {y}|tf.where(tf.math.real({x}) < 0, {x}, {y})".split("|"),
}
_TO_OTHERS = {
    "f": "tf.cast({x} < 0.5, tf.float32)|{x} <= 0|tf.complex({x}, {x})|tnp.signbit({x})|tnp.frexp({x})[1]".split("|"),
    "i": "tf.cast({x}, tf.float64)|{x} == 2|tf.cast({x}, tf.uint8)|tnp.bitwise_count({x})".split("|"),
    "u": "tf.cast({x}, tf.int32)|{x} > 2|tf.cast({x}, tf.float32)".split("|"),
    "b": "tf.cast({x}, tf.float32)|tf.cast({x}, tf.int64)|tf.where({x}, 1.5, -0.0)".split("|"),
    "c": "tf.math.real({x})|tf.math.imag({x})|abs({x})".split("|"),
}
_ANY = (
    "{x}[::-1]|{x}[1:]|{x}[:2]|tf.concat([{x}, {x}], 0)|{x}[None]|tf.tile({x}, [2] + [1] * (len({x}.shape) - 1))"
).split("|")
_FOLDS = {
    "f": (
        "tf.reduce_sum({x}, {a})|tf.reduce_mean({x}, {a})|tf.reduce_max({x}, {a})|tf.cumsum({x}, {a})"
        "|tf.sort({x}, {a})|tf.argmax({x}, {a})|tf.argsort({x}, {a})|tf.reduce_prod({x}, {a})"
    ).split("|"),
    "i": (
        "tf.reduce_sum({x}, {a})|tf.reduce_min({x}, {a})|tf.cumsum({x}, {a})|tf.sort({x}, {a})|tf.argmin({x}, {a})"
    ).split("|"),
    "u": "tf.reduce_max({x}, {a})|tf.sort({x}, {a})|tf.cumsum({x}, {a})".split("|"),
    "b": ("tf.reduce_any({x}, {a})", "tf.reduce_all({x}, {a})"),
    "c": ("tf.reduce_sum({x}, {a})", "tf.reduce_mean({x}, {a})", "tf.cumsum({x}, {a})"),
}


class Program(NamedTuple):
    """A function of arrays, its text, and what its arguments are."""

    text: str
    f: Callable[..., Any]
    dtypes: tuple[str, ...]
    shapes: tuple[str, ...]

    @property
    def specs(self) -> list[str]:
        return [f"{d}[{s}]" if s else d for d, s in zip(self.dtypes, self.shapes, strict=True)]


def program(seed: int) -> Program:
    """The program of this seed."""
    rng = Random(seed)
    count = rng.randint(1, 3)
    dtypes = tuple(rng.choice(_DTYPES) for _ in range(count))
    shapes = tuple(rng.choice(_SHAPES) for _ in range(count))
    names, kinds = [f"x{k}" for k in range(count)], [np.dtype(d).kind for d in dtypes]
    known = dict(zip(names, _tried(dtypes, shapes), strict=True))
    lines: list[str] = []
    for _ in range(rng.randint(2, 7)):
        k = rng.randrange(len(names))
        x, kind = names[k], kinds[k]
        right = [n for n, v in zip(names, kinds, strict=True) if v == kind]
        forms = rng.choice((_UNARY[kind], _BINARY[kind], _BINARY[kind], _TO_OTHERS[kind], _ANY, _FOLDS[kind]))
        made = rng.choice(forms).format(x=x, y=rng.choice(right), a=rng.choice((0, -1)))
        name = f"y{len(lines)}"
        try:
            with np.errstate(all="ignore"):
                known[name] = eval(made, {"tf": tf, "tnp": tnp, **known})
        except (TracejitError, ValueError, TypeError, IndexError):
            continue  # of shapes or dtypes that do not go together
        lines.append(f"{name} = {made}")
        names.append(name)
        kinds.append(known[name].dtype.kind)
    results = list(dict.fromkeys(names[-rng.randint(1, 3) :]))
    body = "".join(f"    {line}\n" for line in lines)
    text = f"def f({', '.join(names[:count])}):\n{body}    return {', '.join(results)}\n"
    space: dict[str, Any] = {"tf": tf, "tnp": tnp}
    exec(text, space)
    return Program(text, space["f"], dtypes, shapes)


def _tried(dtypes: Sequence[str], shapes: Sequence[str]) -> list[Any]:
    """Arguments whose sizes tell apart what cannot be joined."""
    return [tf.constant(a, a.dtype) for a in arguments(Random(0), dtypes, shapes, {"n": 6, "m": 7})]


def arguments(rng: Random, dtypes: Sequence[str], shapes: Sequence[str], sizes: dict[str, int]) -> Arrays:
    """Arrays of these sizes, some of whose elements are special."""
    found: Arrays = []
    for dtype, shape in zip(map(np.dtype, dtypes), shapes, strict=True):
        known = tuple(sizes[s] if s in sizes else int(s) for s in shape.split(",") if s)
        random = np.random.default_rng(rng.randrange(1 << 30))
        if dtype.kind in "fc":
            x = random.uniform(-2.0, 2.0, known) + (1j * random.uniform(-2, 2, known) if dtype.kind == "c" else 0)
            x = np.asarray(x, dtype)
            about = np.finfo(dtype)
            special = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, about.smallest_subnormal, -about.tiny]
            odd = random.random(known) < rng.choice((0.0, 0.0, 0.3))
            x = np.where(odd, random.choice(np.array(special, dtype), known), x)
        elif dtype.kind == "b":
            x = random.random(known) < 0.5
        else:
            ends = np.iinfo(dtype)
            x = random.integers(max(-9, ends.min), 9, known)
            x = np.where(random.random(known) < 0.1, random.choice([0, ends.max, ends.min], known), x)
        found.append(np.asarray(x, dtype))
    return found


def check(seed: int) -> Outcome:
    """The verdict on the program of this seed, at several sizes."""
    made, rng = program(seed), Random(seed)
    chosen = [k for k, d in enumerate(made.dtypes) if np.dtype(d).kind in "fc"]
    target = rng.choice(("x86-64", "x86-64-v2", "x86-64-v3")) if _IS_X86 else "host"
    text = f"# seed {seed}, {target}: {', '.join(made.specs)}\n{made.text}"
    kinds = ["value", "vjp"] if chosen and rng.random() < 0.6 else ["value"]
    try:
        art = _exported(made, kinds, chosen, target)
    except TracejitError as problem:
        return Outcome("refused", str(problem).split("\n  at ")[0], text)
    with tempfile.TemporaryDirectory() as folder:
        library = Library(art, Path(folder))
    with np.errstate(all="ignore"):
        for _ in range(4):
            sizes = {name: rng.choice(_SIZES) for name in ("n", "m")}
            wrong = _compared(made, art, library, arguments(rng, made.dtypes, made.shapes, sizes), chosen, kinds)
            if wrong:
                return Outcome("wrong", f"at {sizes}: {wrong}", text)
    return Outcome("agree", "")


_IS_X86 = tf.export(lambda x: x, ["f64"], name="f", outputs="value").targets[0].startswith("x86")


def _exported(made: Program, kinds: list[str], chosen: list[int], target: str) -> Any:
    try:
        return tf.export(made.f, made.specs, name="f", outputs=kinds, wrt=chosen or None, targets=[target])
    except tf.DtypeError:
        if len(kinds) == 1:
            raise
    kinds.pop()  # no result is a float
    return _exported(made, kinds, chosen, target)


def _compared(
    made: Program, art: Any, library: Library, arrays: Arrays, chosen: list[int], kinds: list[str]
) -> str:
    """What is wrong with a call; empty where nothing is."""
    expected: Expected | None = None
    further: Arrays = []
    right: Arrays = []
    refusal: Exception | None = None
    try:
        expected = Expected(made.f, arrays, chosen)
        further = expected.further("vjp", np.random.default_rng(0)) if "vjp" in kinds else []
        right = [y for kind in kinds for y in expected.of(kind, further if kind == "vjp" else [])]
    except (TracejitError, ValueError, IndexError, ArithmeticError) as problem:
        expected, refusal = None, problem
        if "vjp" in kinds:
            return ""  # the shapes of cotangents are unknown
    inputs = [*arrays, *further]
    found = [library.call(inputs, way) for way in WAYS[:3]]
    sizes = library.sizes(inputs)
    if not holds(art._interface.checks, sizes):
        return "" if all(status for status, _ in found) else f"{sizes} are accepted"
    if len({status for status, _ in found}) > 1:
        return f"statuses differ: {[status for status, _ in found]}"
    status, results = found[0]
    if expected is None:
        return "" if status else f"eager code raises {refusal}, the library gives {results}"
    if status:
        return f"the library says {status!r}, eager code gives {right}"
    if any(a.tobytes() != b.tobytes() for _, other in found[1:] for a, b in zip(results, other, strict=True)):
        return "results depend on what was in memory"
    near = _moved(made, arrays, chosen, kinds, further)
    for k, (y, z) in enumerate(zip(results, right, strict=True)):
        least = 0.0 if k < len(expected.values) else 1.0  # parts of a derivative cancel
        if wrong := differs(y, z, [m[k] for m in near], least):
            return f"result {k} of {art.signature}: {wrong}\n{y.tolist()}\neager: {z.tolist()}\nof {arrays}"
    return ""


def _moved(
    made: Program, arrays: Arrays, chosen: list[int], kinds: list[str], further: Arrays
) -> list[Arrays]:
    """The results of arguments a few units beside those given."""
    found = []
    for units in (4, -4):
        beside = [a * (1 + units * np.finfo(a.dtype).eps) if a.dtype.kind in "fc" else a for a in arrays]
        beside = [np.asarray(b, a.dtype) for a, b in zip(arrays, beside, strict=True)]
        expected = Expected(made.f, beside, chosen)
        found.append([y for kind in kinds for y in expected.of(kind, further if kind == "vjp" else [])])
    return found


def differs(y: np.ndarray, z: np.ndarray, near: Sequence[np.ndarray], least: float = 0.0) -> str:
    """How two results differ by more than their arguments' own rounding explains; empty where they do not.

    What they are made of is as large as the largest result, and `least`.
    """
    if (y.shape, y.dtype) != (z.shape, z.dtype):
        return f"{y.dtype}{y.shape} for {z.dtype}{z.shape}"
    if y.dtype.kind not in "fc":
        steady = np.all([m == z for m in near], axis=0)
        return "other numbers" if (y[steady] != z[steady]).any() else ""
    if y.dtype.kind == "c":  # parts cancel to what is small beside the whole
        least = max(least, float(np.max(np.abs(z[np.isfinite(z)]), initial=0.0)))
        parts = [differs(p(y), p(z), [p(m) for m in near], least) for p in (np.real, np.imag)]
        return "" if not all(parts) and np.isnan(z).any() else next(filter(None, parts), "")
    steady = np.all([np.isfinite(m) == np.isfinite(z) for m in near], axis=0)
    finite = np.isfinite(z)
    odd = steady & ~finite
    if not np.array_equal(y[odd], z[odd], equal_nan=True):
        return "other infinities or NaN"
    usual = steady & finite
    spread = np.max([np.abs(m - z) for m in near], axis=0)[usual]
    about = np.finfo(z.dtype)
    size = np.max(np.abs(z[usual]), initial=least)
    allowed = 20 * spread + 64 * about.eps * size + 4 * about.tiny
    return "other numbers" if (np.abs(y[usual] - z[usual]) > allowed).any() else ""
