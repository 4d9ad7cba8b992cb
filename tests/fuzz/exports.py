"""Random programs, exported with random outputs and inputs to differentiate by, against the transforms run eagerly."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracejit as tf
from checks.exports import KINDS, Expected
from compiler.test_random_programs import SHAPES, Writer
from tracejit.core.autodiff.backprop import NoGradient
from tracejit.core.errors import TracejitError

from .compositions.programs import program
from .compositions.verdict import loaded
from .outcome import Outcome

Arrays = list[np.ndarray]


def check(seed: int) -> Outcome:
    """The verdict on the program of this seed."""
    rng = random.Random(seed)
    text, f, shapes = _composed(seed) if seed % 2 else _written(seed)
    scalar = [k for k in KINDS if k in ("grad", "hvp", "hessian")]
    kinds = [k for k in KINDS if rng.random() < 0.4] or ["value"]
    if rng.random() < 0.5:
        f = _as_number(f)
    else:
        kinds = [k for k in kinds if k not in scalar] or ["jacobian"]
    chosen = sorted(rng.sample(range(len(shapes)), rng.randint(1, len(shapes))))
    specs = [_spec(s, bool(seed % 2) and rng.random() < 0.5) for s in shapes]
    arrays = [np.random.default_rng([seed, k]).uniform(-1.2, 1.2, s) for k, s in enumerate(shapes)]
    text += f"\n# outputs={kinds}, wrt={chosen}, {specs}"
    with np.errstate(all="ignore"):
        try:
            return _compared(f, specs, arrays, chosen, kinds, text)
        except NoGradient as problem:
            return Outcome("refused", str(problem).split("\n")[0], text)
        except Exception as problem:
            return _verdict(problem, text)


def _composed(seed: int) -> tuple[str, Callable[..., Any], list]:
    made = program(seed)
    text = f"import numpy as np\nimport tracejit as tf\n\n{made.text}"
    return text, loaded(text)["main"], [made.given]


def _written(seed: int) -> tuple[str, Callable[..., Any], list]:
    places = np.random.default_rng(seed).integers(0, len(SHAPES), 3)
    return f"# Writer({seed})", lambda *xs: Writer(seed).program(*xs), [SHAPES[k] for k in places]


def _as_number(f: Callable[..., Any]) -> Callable[..., Any]:
    def number(*xs: Any) -> Any:
        found = f(*xs)
        ys = found if isinstance(found, list) else [found]
        return tf.add_n([tf.reduce_sum(tf.sin(y)) for y in ys])

    return number


def _spec(shape: Sequence[int], open_: bool) -> str:
    """The spec; a program that another was chosen for by its sizes must not have open ones."""
    sizes = [f"s{n}" if open_ else str(n) for n in shape]
    return f"f64[{','.join(sizes)}]" if sizes else "f64"


def _compared(
    f: Callable[..., Any], specs: list[str], arrays: Arrays, chosen: list[int], kinds: list[str], text: str
) -> Outcome:
    further, right = _expected(f, arrays, chosen, kinds)
    moved = [_expected(f, [a * (1.0 + s) for a in arrays], chosen, kinds)[1] for s in (1e-14, -2e-14)]
    spread = [max(_apart(m[k], y) for m in moved) for k, y in enumerate(right)]
    if any(s > 1e-9 * (1.0 + _size(y)) for s, y in zip(spread, right, strict=True)):
        return Outcome("agree", "near a jump")
    art = tf.export(f, specs, name="f", outputs=kinds, wrt=chosen)
    found = art(*arrays, *further)
    found = list(found) if isinstance(found, tuple) else [found]
    if len(found) != len(right):
        return Outcome("wrong", f"{len(found)} results for {len(right)}: {art.signature}", text)
    for k, (y, z) in enumerate(zip(found, right, strict=True)):
        allowed = 1e-9 * (1.0 + _size(z)) + 100.0 * spread[k]
        if y.shape != z.shape or not _apart(y, z) <= allowed:
            return Outcome(
                "wrong", f"result {k} of {art.signature}:\n{y.tolist()}\neagerly: {z.tolist()}", text
            )
    return Outcome("agree", "")


def _expected(
    f: Callable[..., Any], arrays: Arrays, chosen: list[int], kinds: list[str]
) -> tuple[Arrays, Arrays]:
    """Further inputs and all results."""
    expected, rng = Expected(f, arrays, chosen), np.random.default_rng(1)
    further = {kind: expected.further(kind, rng) for kind in kinds}
    results = [y for kind in kinds for y in expected.of(kind, further[kind])]
    return [a for kind in kinds for a in further[kind]], results


def _apart(y: np.ndarray, z: np.ndarray) -> float:
    """The largest difference; what is not finite must be the same."""
    finite = np.isfinite(z)
    if not np.array_equal(y[~finite], z[~finite], equal_nan=True):
        return np.inf
    return float(np.max(np.abs(y[finite] - z[finite]), initial=0.0))


def _size(y: np.ndarray) -> float:
    """The largest finite number."""
    return float(np.max(np.abs(y[np.isfinite(y)]), initial=0.0))


def _verdict(problem: Exception, text: str) -> Outcome:
    """A refusal says where; anything else comes from the inside."""
    message = str(problem)
    if isinstance(problem, TracejitError) and "\n  at " in message:
        return Outcome("refused", re.sub(r"\d+", "n", message.split("\n  at ")[0]), text)
    return Outcome("wrong", f"{type(problem).__name__}: {message}", text)
