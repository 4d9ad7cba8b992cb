"""Runs a generated program eagerly and compiled, each on state of its own, and compares all that can be seen.

Seen are results, gradients, Variables, random states, what was printed and in which order, and exceptions. Two
differences are documented and allowed for: a compiled call that raises has assigned no Variable, where an eager
one may have assigned some; and Python's own ``print`` prints while tracing.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tracejit as tf
from tracejit.core.errors import FAILURES, LeakedTensor, TracejitError
from tracejit.core.tracing.dispatch import state
from tracejit.random.generators import _by_seed

from ..outcome import Outcome
from .functional import CAPTURED

#: What compiled code raises.
AT_RUN_TIME = tuple(e for e in FAILURES.values() if issubclass(e, TracejitError))
RTOL, ATOL = 2e-3, 2e-4
NUDGE = 1e-6
_NUMBER = re.compile(r"[-+]?(?:nan|inf|\d+\.?\d*(?:e[-+]?\d+)?)")


@dataclass
class Seen:
    """What one call showed."""

    results: Any = None
    printed: str = ""
    once: list[str] = field(default_factory=list)
    copies: dict[str, int] = field(default_factory=dict)
    arguments: Any = None
    before: dict[str, np.ndarray] = field(default_factory=dict)
    state: dict[str, np.ndarray] = field(default_factory=dict)
    error: BaseException | None = None
    traces: int = 0


# ---- programs as modules --------------------------------------------------------------------------------


def load(text: str, name: str) -> dict[str, Any]:
    """Run the module of a program; `name` is its file in messages."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, name, "exec"), names)
    return names


def variables(names: dict[str, Any]) -> dict[str, tf.Variable]:
    """The Variables of a module and its objects, and the state of its generators."""
    found: dict[str, tf.Variable] = {"random": tf.random.get_global_generator().state}
    found |= {f"seed {seed}": generator.state for seed, generator in _by_seed.items()}
    objects = [(name, x) for name, x in names.items() if type(x).__module__ == "program"]
    attributes = [(f"{name}.{attribute}", part) for name, x in objects for attribute, part in vars(x).items()]
    seen: set[int] = set()
    for name, value in (*names.items(), *attributes):  # one Variable may have several names
        if isinstance(value, tf.Variable) and id(value) not in seen:
            seen.add(id(value))
            found[name] = value
        elif isinstance(value, tf.random.Generator):
            found[name] = value.state
    return found


def _values(names: dict[str, Any]) -> dict[str, np.ndarray]:
    return {name: np.array(v.array) for name, v in variables(names).items()}


# ---- ways to call ---------------------------------------------------------------------------------------


def total(ys: Any) -> Any:
    """What is differentiated: the sum of all results."""
    return sum(tf.reduce_sum(tf.cast(y, tf.float32)) for y in tf.nest.flatten(ys))


def _trainable(names: dict[str, Any]) -> list[tf.Variable]:
    return [v for v in variables(names).values() if v.trainable]


def _plain(f: Any, names: dict[str, Any], x: Any, s: Any, n: Any) -> Any:
    return f(x, s, n)


def _twice(f: Any, names: dict[str, Any], x: Any, s: Any, n: Any) -> Any:
    return f(x, s, n), f(x * 0.5, s, n)


def _tape(f: Any, names: dict[str, Any], x: Any, s: Any, n: Any) -> Any:
    sources = [x, s, *_trainable(names)]
    with tf.GradientTape() as tape:
        tape.watch([x, s])
        y = f(x, s, n)
        loss = total(y)
    return y, tape.gradient(loss, sources, unconnected_gradients="zero")


def _grad(f: Any, names: dict[str, Any], x: Any, s: Any, n: Any) -> Any:
    return tf.value_and_grad(lambda x, s: total(f(x, s, n)), argnums=(0, 1))(x, s)


def _jvp(f: Any, names: dict[str, Any], x: Any, s: Any, n: Any) -> Any:
    return tf.jvp(lambda x: total(f(x, s, n)), (x,), (tf.constant(1.0),))


DRIVERS: dict[str, Callable[..., Any]] = {
    "plain": _plain,
    "signature": _plain,
    "relaxed": _plain,
    "twice": _twice,
    "tape": _tape,
    "memory": _tape,
    "grad": _grad,
    "jvp": _jvp,
}
_SIGNATURE = [tf.TensorSpec([], tf.float32), tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.int32)]


def _function(names: dict[str, Any]) -> Any:
    """`f` as a compiled function, called as the driver says."""
    driver = names["DRIVER"]
    if driver == "signature":
        return tf.function(names["f"], input_signature=_SIGNATURE)
    if driver == "outer":
        inner = tf.function(names["f"])
        names["DRIVER"] = "plain"
        return tf.function(lambda x, s, n: (inner(x, s, n), inner(x * 0.5, s, n)))
    memory = "recompute" if driver == "memory" else None
    return tf.function(names["f"], reduce_retracing=driver == "relaxed", memory=memory)


# ---- runs -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _captured() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield out, err


def _arguments(call: tuple[float, list[float], int]) -> tuple[Any, Any, Any]:
    x, s, n = call
    return tf.constant(x), tf.constant(s), tf.constant(n)


class Run:
    """A program in one mode."""

    def __init__(self, text: str, name: str, eager: bool):
        self.eager = eager
        tf.random.set_seed(11)
        with tf.settings(eager=eager):
            self.names = load(text, name)
            self.function = _function(self.names)

    def call(self, arguments: tuple[float, list[float], int]) -> Seen:
        """Call it once."""
        seen = Seen()
        drive = DRIVERS[self.names["DRIVER"]]
        before = self.function.experimental_get_tracing_count()
        with tf.settings(eager=self.eager), _captured() as (out, err):
            try:
                found = drive(self.function, self.names, *_arguments(arguments))
                seen.results = [np.asarray(tf.convert_to_tensor(y)) for y in tf.nest.flatten(found)]
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # what unwinds a trace must not come through either
                seen.error = error
        seen.printed, seen.once = err.getvalue(), out.getvalue().split()
        seen.traces = self.function.experimental_get_tracing_count() - before
        seen.state = _values(self.names)
        return seen

    def restore(self, state: dict[str, np.ndarray]) -> bool:
        """Give the Variables these values; were all there before?"""
        found = variables(self.names)
        for name, value in state.items():
            found[name].assign(value)
        return found.keys() == state.keys()


WRITTEN_OUT = 9  # iterations at most


def check_text(text: str, name: str) -> Outcome:
    """Run a program in both modes."""
    try:
        wanted = history(text, name, True)
    except SyntaxError as error:
        return Outcome("agree", f"no program: {error}")
    found = history(text, name, False)
    for number, (a, b) in enumerate(zip(wanted, found, strict=False)):
        a.copies = copies_of_prints(text)
        if b.error is not None and (a.error is None or not isinstance(b.error, AT_RUN_TIME)):
            refused = refusal(b.error, name, CAPTURED in text)
            if not refused.startswith("!"):
                return Outcome("refused", refused, text)
            if a.error is None:
                return Outcome("wrong", f"call {number}: {refused[1:]}", text)
        difference = compare(a, b)
        if difference and is_edge(text, name, number, a):
            return Outcome("edge", difference, text)
        if difference:
            return Outcome("wrong", f"call {number}{a.arguments}: {difference}", text)
    return Outcome("agree", "", text)


def is_edge(text: str, name: str, number: int, seen: Seen) -> bool:
    """Do roundings decide what this call shows? So they do where numbers overflow, or the last digits of the arguments
    make as much of a difference eagerly."""
    if seen.error is None and _overflows(text, name, number):
        return True
    for factor in (1 - NUDGE, 1 + NUDGE):
        other = history(text, name, True, factor)
        if number >= len(other) or compare(seen, other[number]):
            return True
    return False


def _overflows(text: str, name: str, number: int) -> bool:
    """Is any number too large for its dtype on the way?"""
    state.ignoring_fp_errors.run(np.seterr, over="raise")
    try:
        return any(seen.error is not None for seen in history(text, name, True)[: number + 1])
    finally:
        state.ignoring_fp_errors.run(np.seterr, over="ignore")


def copies_of_prints(text: str) -> dict[str, int]:
    """How often each of Python's prints may stand in one trace: loops over Python's values are written out."""
    twice = 2 if any(f"DRIVER = {d!r}" in text for d in ("outer", "twice")) else 1
    found: dict[str, int] = {}

    def visit(node: ast.AST, copies: int) -> None:
        if isinstance(node, ast.For) and not ast.unparse(node.iter).startswith(
            ("range(n", "range(1, n", "tf.range")
        ):
            copies *= WRITTEN_OUT
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
            found[str(ast.literal_eval(node.args[0]))] = copies
        for inner in ast.iter_child_nodes(node):
            visit(inner, copies)

    visit(ast.parse(text), twice)
    return found


def history(text: str, name: str, eager: bool, factor: float = 1.0) -> list[Seen]:
    """What the calls of a program show in one mode; after one that raises all is as it was before.

    The floats of the arguments are multiplied by `factor`.
    """
    run = Run(text, name, eager)
    seen: list[Seen] = []
    for arguments in run.names["CALLS"]:
        before = _values(run.names)
        x, s, n = arguments
        now = run.call((x * factor, [y * factor for y in s], n))
        now.arguments, now.before = arguments, {} if run.names["DRIVER"] == "twice" else before
        seen.append(now)
        if now.error is not None and not run.restore(before):
            break
    return seen


# ---- comparing ------------------------------------------------------------------------------------------


def compare(wanted: Seen, found: Seen) -> str:
    """What differs, or nothing."""
    if wanted.error is not None:
        return _compare_errors(wanted.error, found)
    if len(wanted.results) != len(found.results):
        return f"{len(wanted.results)} results eagerly, {len(found.results)} compiled"
    for k, (a, b) in enumerate(zip(wanted.results, found.results, strict=True)):
        if not close(a.astype(b.dtype) if _weak(a, b) else a, b):
            return f"result {k} is {a!r} eagerly, {b!r} compiled"
    more = {k for k in found.state if k.startswith("seed ")}  # made while tracing a branch that is not taken
    if wanted.state.keys() | more != found.state.keys():
        return f"Variables {sorted(wanted.state)} eagerly, {sorted(found.state)} compiled"
    for key, a in wanted.state.items():
        if not close(a, found.state[key]):
            return f"Variable {key} is {a!r} eagerly, {found.state[key]!r} compiled"
    return _compare_text(wanted, found)


def _weak(a: np.ndarray, b: np.ndarray) -> bool:
    """May it be a Python integer, where another path gives a float? What is compiled has one dtype for both."""
    return a.shape == b.shape == () and a.dtype == np.int32 and b.dtype == np.float32


def _compare_text(wanted: Seen, found: Seen) -> str:
    if not same_text(wanted.printed, found.printed):
        return f"prints\n{wanted.printed}eagerly, compiled\n{found.printed}"
    for tag in set(found.once):
        copies = wanted.copies.get(tag, 1)
        if found.once.count(tag) > max(found.traces, 0) * max(copies, wanted.once.count(tag)):
            return f"Python's print of {tag!r} came {found.once.count(tag)} times in {found.traces} traces"
    if found.traces and set(wanted.once) - set(found.once):
        return f"Python's print of {set(wanted.once) - set(found.once)} is missing"
    return ""


def _compare_errors(error: BaseException, found: Seen) -> str:
    if found.error is None:
        return f"eagerly {type(error).__name__}: {error}; compiled {found.results}"
    kinds = type(error), type(found.error)
    related = issubclass(*kinds) or issubclass(*reversed(kinds))
    builtin = {k for kind in kinds[:1] for k in kind.__mro__ if k.__module__ == "builtins"}
    shared = builtin - {Exception, BaseException, object, ValueError}
    if not related and not any(issubclass(kinds[1], k) for k in shared):
        return f"eagerly {kinds[0].__name__}: {error}; compiled {kinds[1].__name__}: {found.error}"
    for key, value in found.before.items():
        if key in found.state and not close(value, found.state[key]):
            return f"Variable {key} is {found.state[key]!r} after {kinds[1].__name__}, before {value!r}"
    return ""


def close(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal up to rounding, in value, shape and dtype."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "fc":
        scale = max(1.0, float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a))))
        return bool(np.allclose(a, b, rtol=RTOL, atol=ATOL * scale, equal_nan=True))
    return bool(np.array_equal(a, b))


def same_text(a: str, b: str) -> bool:
    """Equal but for the last digits of numbers."""
    if _NUMBER.sub("#", a) != _NUMBER.sub("#", b):
        return False
    numbers = [np.array([float(t) for t in _NUMBER.findall(text)]) for text in (a, b)]
    return close(*numbers)


# ---- refusals -------------------------------------------------------------------------------------------


def refusal(error: BaseException, name: str, captured: bool) -> str:
    """Why a program is refused, without names and numbers; with ``!`` in front where that is no documented error.

    Tensors leak where a function handed to a loop or map changes objects outside of it (`captured`), else never.
    """
    message = str(error)
    text = f"{type(error).__name__}: {message}"
    if any("whatever its condition" in note for note in getattr(error, "__notes__", [])):
        return "a raise under a traced condition raises while tracing, whatever the condition"
    if isinstance(error, LeakedTensor):
        return normalized(text, name) if captured else "!" + text
    at_line = re.search(re.escape(name) + r":\d+", message)
    if not isinstance(error, (TracejitError, ValueError, TypeError, IndexError)) or not at_line:
        last = "".join(traceback.format_tb(error.__traceback__)[-3:])
        return f"!{text}\n{last}"
    return normalized(text, name)


def normalized(text: str, name: str) -> str:
    """A message without locations, names and numbers."""
    first = text.split(name)[0]
    first = re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", first)
    first = re.sub(r"\b[A-Za-z_]*\d+\b|\d+(\.\d+)?", "#", first)
    first = re.sub(r"\(#?(, ?#)*,?\)|\[[#, ]*\]", "[#]", first)
    return " ".join(first.split())[:160].removesuffix(" at")
