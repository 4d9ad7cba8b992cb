"""Run a program eagerly, compiled, with exact derivatives and with differences, and say whether they agree."""

from __future__ import annotations

import itertools
import linecache
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tracejit as tf
from tracejit.core.autodiff.backprop import NoGradient
from tracejit.core.errors import TracejitError

from ..outcome import Outcome
from . import exact
from .names import REFERENCE, taped
from .programs import Program, program

_TAPED = re.compile(r"with tf\.GradientTape.*?return tape\.(gradient|jacobian)\([^)]*\)", re.DOTALL)
_ACCUMULATED = re.compile(r"with tf\.autodiff.*?y = (\w+)\(x\)\n *return acc[^\n]*", re.DOTALL)
_files = itertools.count()


@dataclass(frozen=True)
class _Expected:
    """What is right at `x`.

    Attributes
    ----------
    value, tangent : ndarray
        Of the program, and its derivative along `direction`.
    spread : pair of float
        How far a little rounding of `x` moves them.
    margin : float
        How near a branch was to the other side.
    """

    x: np.ndarray
    direction: np.ndarray
    value: np.ndarray
    tangent: np.ndarray
    spread: tuple[float, float]
    margin: float

    @property
    def trusted(self) -> bool:
        """Is the point away from jumps, and the program no amplifier of rounding there?"""
        sizes = [1.0 + np.max(np.abs(y), initial=0.0) for y in (self.value, self.tangent)]
        calm = all(s <= 1e-9 * size for s, size in zip(self.spread, sizes, strict=True))
        return calm and self.margin > 1e-4 and all(np.isfinite(sizes))

    def tolerance(self, which: int) -> float:
        """For the value, or for the tangent."""
        y = (self.value, self.tangent)[which]
        return 1e-9 * (1.0 + np.max(np.abs(y), initial=0.0)) + 100.0 * self.spread[which]


def check(seed: int) -> Outcome:
    """The verdict on the program of this seed."""
    made = program(seed)
    text = f"# seed {seed}: {', '.join(made.used)}\nimport numpy as np\nimport tracejit as tf\n\n{made.text}"
    with np.errstate(all="ignore"):
        for attempt in range(20):
            expected = _expected(made, np.random.default_rng([seed, attempt]).uniform(-1.2, 1.2, made.given))
            if expected.trusted:
                break
        else:
            return Outcome("agree", "no point away from jumps")
        shown = f"{text}\nx = tf.constant(np.array({expected.x.tolist()}), tf.float64)\n"
        return _compared(made, shown, expected)


def _expected(made: Program, x: np.ndarray) -> _Expected:
    scope: dict[str, Any] = {"tf": REFERENCE, "np": np, "taped": taped, "jacobian": exact.whole_jacobian}
    exec(_without_tapes(made.text), scope)
    v = np.cos(np.arange(x.size) + 1.0).reshape(x.shape)
    exact.margins.clear()
    y, t = map(exact.value, exact.push(scope["main"], [x], [v]))
    margin = min(exact.margins, default=np.inf)
    moved = [exact.push(scope["main"], [x * (1.0 + s)], [v]) for s in (1e-14, -2e-14)]
    spread = [
        max(np.max(np.abs(exact.value(pair[k]) - right), initial=0.0) for pair in moved)
        for k, right in enumerate((y, t))
    ]
    return _Expected(x, v, y, t, (spread[0], spread[1]), margin)


def _without_tapes(text: str) -> str:
    """The oracle has neither tapes nor accumulators: the same by definition."""

    def definition(match: re.Match) -> str:
        inside = re.search(r"y = (\w+)\(x\)", match[0])
        assert inside is not None
        return f"return {'taped' if match[1] == 'gradient' else 'jacobian'}({inside[1]})(x)"

    text = _ACCUMULATED.sub(r"return tf.jvp(\1, [x], [tf.cos(x)])[1]", text)
    return _TAPED.sub(definition, text)


def loaded(text: str) -> dict[str, Any]:
    """The names that a program defines, with its source where Python looks for it."""
    name = f"<composition {next(_files)}>.py"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"__name__": "composition"}
    exec(compile(text, name, "exec"), scope)
    return scope


def _compared(made: Program, text: str, expected: _Expected) -> Outcome:
    refused = ""
    for mode in ("eager", "compiled"):
        try:
            scope = loaded(text)
            main = scope["main"] if mode == "eager" else tf.function(scope["main"])
            wrong = _difference(mode, np.asarray(main(scope["x"])), expected, 0)
            if not wrong and mode == "eager":
                wrong = _wrong_tangent(main, made.exact, expected)
        except Exception as problem:
            verdict = _verdict(problem, mode, text)
            if verdict.kind == "wrong":
                return verdict
            refused = refused or verdict.reason
            continue
        if wrong:
            return Outcome("wrong", wrong, text)
    return Outcome("refused", refused, text) if refused else Outcome("agree", "", text)


def _verdict(problem: Exception, mode: str, text: str) -> Outcome:
    """A refusal says where; anything else comes from the inside."""
    message = str(problem)
    if isinstance(problem, TracejitError) and "\n  at " in message:
        first = message.split("\n  at ")[0]
        return Outcome("refused", re.sub(r"\d+", "n", re.sub(r"\bf\d+(_\w+)?\b|\[[^]]*\]", "_", first)), text)
    return Outcome("wrong", f"{mode}: {type(problem).__name__}: {message}", text)


def _difference(what: str, found: np.ndarray, expected: _Expected, which: int) -> str:
    right = (expected.value, expected.tangent)[which]
    if found.shape == right.shape and np.all(np.abs(found - right) <= expected.tolerance(which)):
        return ""
    return f"{what}: {found.tolist()}\nexact: {right.tolist()}"


def _wrong_tangent(main: Callable[..., Any], smooth: bool, expected: _Expected) -> str:
    """The derivative of the whole, exact and by differences of values where these agree at two scales."""
    x, v = expected.x, expected.direction
    try:
        tangent = np.asarray(tf.jvp(main, [tf.constant(x)], [tf.constant(v)])[1])
    except NoGradient:
        return ""  # forward mode through a custom gradient
    wrong = _difference("jvp", tangent, expected, 1)
    if wrong or not smooth:
        return wrong
    coarse, fine = (_by_differences(main, x, v, h) for h in (1e-3, 2e-4))
    size = 1.0 + np.max(np.abs(tangent), initial=0.0) + np.max(np.abs(expected.value), initial=0.0)
    if np.all(np.abs(coarse - fine) < 1e-7 * size) and np.any(np.abs(fine - tangent) > 1e-6 * size):
        return f"jvp: {tangent.tolist()}\ndifferences: {fine.tolist()}"
    return ""


def _by_differences(main: Callable[..., Any], x: np.ndarray, v: np.ndarray, h: float) -> np.ndarray:
    """Central differences with one step of Richardson's."""

    def central(h: float) -> np.ndarray:
        ahead, behind = (np.asarray(main(tf.constant(x + s * h * v))) for s in (1.0, -1.0))
        return (ahead - behind) / (2.0 * h)

    return (4.0 * central(h / 2) - central(h)) / 3.0
