"""The scalar operations of the loop IR, one record each: what the verifier, the interpreter, costs and the lowering of
complex numbers ask. Code generation has its own tables of instructions (``emit.scalars``) and functions (``math``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...core.op import OPS
from ...ops.elementwise.formulas.families import ITERATED
from ...ops.elementwise.formulas.iterated import computed
from . import complexes


class ScalarOp(NamedTuple):
    """One scalar operation.

    Attributes
    ----------
    name : str
    arity : int
        Number of arguments. They share a dtype, but for the first of ``select``, which is a bool.
    kinds : str
        What the arguments may be, as NumPy's kinds: bool, int, unsigned, float.
    meaning : callable
        NumPy arrays in, array out, to be converted to the dtype of the result. Integers wrap around; their x // 0 and
        x % 0 are 0; shifts of unsigned ones are logical. ``round`` goes half to even; ``and``, ``or``, ``xor``, ``not``
        are bitwise; ``min`` and ``max`` propagate NaN.
    cycles : float
        About what one costs as a lane of a vector.
    complex_rule : callable, optional
        ``(builder, *pairs) -> pair or value``: what it is of complex numbers.
    result : str
        ``same`` (as the arguments), ``bool``, or ``asked`` (any dtype that the statement says).
    on_bools : str
        Of bools it is this operation.
    traits : tuple of str
        ``elementary`` (many instructions: its code is a function), ``cheap`` (about a load that hits the nearest
        cache), ``combines`` (associative: a rule of `Combine` too), ``rounded`` (the float nearest to the true result;
        what is neither this nor elementary is exact), ``commutes``, ``even`` (of -x the same), ``odd`` (of -x the
        negative), ``blind`` (of -0 the same as of +0), ``zeros`` (of zeros that differ in sign, zeros or the same).
    """

    name: str
    arity: int
    kinds: str
    meaning: Callable[..., Any]
    cycles: float = 0.5
    complex_rule: Callable[..., Any] | None = None
    result: str = "same"
    on_bools: str = ""
    traits: tuple[str, ...] = ()


def _same(x: np.ndarray) -> np.ndarray:
    return x


def _power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of integers, a negative exponent gives the reciprocal truncated to an integer, and 0 for x = 0."""
    if x.dtype.kind == "f":
        return np.power(x, y)
    unit = np.where((x == 1) | (x == -1), np.power(x, y & 1), 0)
    return np.where(y < 0, unit, np.power(x, np.maximum(y, 0)))


def _mulhi(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """High half of the unsigned product, schoolbook on half words."""
    word = np.dtype(f"u{x.itemsize}")
    half = word.type(4 * x.itemsize)
    mask = (word.type(1) << half) - word.type(1)
    a, b = x.view(word), y.view(word)
    middle = (a >> half) * (b & mask) + ((a & mask) * (b & mask) >> half)
    carry = (a & mask) * (b >> half) + (middle & mask)
    return ((a >> half) * (b >> half) + (middle >> half) + (carry >> half)).view(x.dtype)


def _rsqrt(x: np.ndarray) -> np.ndarray:
    return 1 / np.sqrt(x)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _kernel(name: str) -> Callable[[np.ndarray], np.ndarray]:
    """The kernel of the op of this name, whose family is loaded when it is first needed."""
    return lambda x: OPS[name].kernel(x)


def _formula(rule: Callable[..., Any]) -> Callable[..., np.ndarray]:
    def meaning(*xs: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return computed(rule, *(np.asarray(x, np.float64) for x in xs))

    return meaning


_CHEAP, _CHEAP_RULE, _ELEMENTARY = ("cheap",), ("cheap", "combines", "commutes"), ("elementary",)
_ROUNDED = ("cheap", "rounded")
_EVEN, _ODD, _BLIND = (*_ELEMENTARY, "even"), (*_ELEMENTARY, "odd"), (*_ELEMENTARY, "blind")
_RECORDS = (
    # arithmetic
    ScalarOp(
        "add",
        2,
        "iuf",
        np.add,
        complex_rule=complexes.add,
        on_bools="or",
        traits=("combines", "commutes", *_ROUNDED),
    ),
    ScalarOp("sub", 2, "iuf", np.subtract, complex_rule=complexes.sub, traits=_ROUNDED),
    ScalarOp(
        "mul",
        2,
        "iuf",
        np.multiply,
        complex_rule=complexes.mul,
        on_bools="and",
        traits=("combines", "commutes", *_ROUNDED),
    ),
    ScalarOp("div", 2, "f", np.divide, 2.0, complexes.div, traits=("rounded",)),
    ScalarOp("neg", 1, "iuf", np.negative, complex_rule=complexes.neg, traits=_CHEAP),
    ScalarOp("abs", 1, "iuf", np.abs, complex_rule=complexes.hypot, traits=("cheap", "even")),
    ScalarOp("sign", 1, "iuf", np.sign, traits=("odd",)),
    ScalarOp("sqrt", 1, "f", np.sqrt, 2.0, complexes.sqrt, traits=("rounded", "zeros")),
    ScalarOp("rsqrt", 1, "f", _rsqrt, 2.0, traits=_ELEMENTARY),
    ScalarOp("min", 2, "biuf", np.minimum, traits=(*_CHEAP_RULE, "zeros")),
    ScalarOp("max", 2, "biuf", np.maximum, traits=(*_CHEAP_RULE, "zeros")),
    ScalarOp("floordiv", 2, "iuf", np.floor_divide, traits=_ELEMENTARY),
    ScalarOp("mod", 2, "iuf", np.remainder, traits=_ELEMENTARY),
    ScalarOp("floor", 1, "f", np.floor, traits=("zeros",)),
    ScalarOp("ceil", 1, "f", np.ceil, traits=("zeros",)),
    ScalarOp("round", 1, "f", np.rint, traits=("odd",)),
    ScalarOp("trunc", 1, "f", np.trunc, traits=("odd",)),
    # comparison and choice
    ScalarOp("lt", 2, "biuf", np.less, result="bool", traits=("cheap", "blind")),
    ScalarOp("le", 2, "biuf", np.less_equal, result="bool", traits=("cheap", "blind")),
    ScalarOp(
        "eq",
        2,
        "biuf",
        np.equal,
        complex_rule=complexes.eq,
        result="bool",
        traits=("cheap", "blind", "commutes"),
    ),
    ScalarOp(
        "ne",
        2,
        "biuf",
        np.not_equal,
        complex_rule=complexes.ne,
        result="bool",
        traits=("cheap", "blind", "commutes"),
    ),
    ScalarOp("gt", 2, "biuf", np.greater, result="bool", traits=("cheap", "blind")),
    ScalarOp("ge", 2, "biuf", np.greater_equal, result="bool", traits=("cheap", "blind")),
    ScalarOp("isnan", 1, "f", np.isnan, complex_rule=complexes.isnan, result="bool", traits=("blind",)),
    ScalarOp("select", 3, "biuf", np.where, traits=_CHEAP),
    # bits
    ScalarOp("and", 2, "biu", np.bitwise_and, traits=_CHEAP_RULE),
    ScalarOp("or", 2, "biu", np.bitwise_or, traits=_CHEAP_RULE),
    ScalarOp("xor", 2, "biu", np.bitwise_xor, traits=("cheap", "commutes")),
    ScalarOp("not", 1, "biu", np.invert, traits=_CHEAP),
    ScalarOp("shl", 2, "iu", np.left_shift),
    ScalarOp("shr", 2, "iu", np.right_shift),
    ScalarOp("mulhi", 2, "iu", _mulhi),
    # conversion: to another dtype, of an axis or loop index, and of the bits, which are kept
    ScalarOp("cast", 1, "biuf", _same, result="asked", traits=_ROUNDED),
    ScalarOp("index", 1, "biuf", _same, result="asked"),
    ScalarOp("bitcast", 1, "biuf", _same, result="asked"),
    # elementary functions
    ScalarOp("exp", 1, "f", np.exp, 4.0, complexes.exp, traits=_BLIND),
    ScalarOp("exp2", 1, "f", np.exp2, 6.0, traits=_BLIND),
    ScalarOp("expm1", 1, "f", np.expm1, 5.0, traits=(*_ELEMENTARY, "zeros")),
    ScalarOp("log", 1, "f", np.log, 5.0, complexes.log, traits=_BLIND),
    ScalarOp("log2", 1, "f", np.log2, 6.0, traits=_BLIND),
    ScalarOp("log10", 1, "f", np.log10, 6.0, traits=_BLIND),
    ScalarOp("log1p", 1, "f", np.log1p, 5.0, traits=(*_ELEMENTARY, "zeros")),
    ScalarOp("pow", 2, "iuf", _power, 12.0, complexes.power, traits=_ELEMENTARY),
    ScalarOp("sin", 1, "f", np.sin, 5.0, complexes.sin, traits=_ODD),
    ScalarOp("cos", 1, "f", np.cos, 5.0, complexes.cos, traits=_EVEN),
    ScalarOp("tan", 1, "f", np.tan, 6.0, complexes.tan, traits=_ODD),
    ScalarOp("asin", 1, "f", np.arcsin, 6.0, traits=_ODD),
    ScalarOp("acos", 1, "f", np.arccos, 6.0, traits=_BLIND),
    ScalarOp("atan", 1, "f", np.arctan, 6.0, traits=_ODD),
    ScalarOp("atan2", 2, "f", np.arctan2, 10.0, traits=_ELEMENTARY),
    ScalarOp("sinh", 1, "f", np.sinh, 6.0, complexes.sinh, traits=_ODD),
    ScalarOp("cosh", 1, "f", np.cosh, 6.0, complexes.cosh, traits=_EVEN),
    ScalarOp("tanh", 1, "f", np.tanh, 5.0, complexes.tanh, traits=_ODD),
    ScalarOp("sigmoid", 1, "f", _sigmoid, 5.0, complexes.sigmoid, traits=_BLIND),
    ScalarOp("softplus", 1, "f", _softplus, 10.0, traits=_BLIND),
    ScalarOp("erf", 1, "f", np.vectorize(math.erf, otypes=[np.float64]), 6.0, traits=_ODD),
    ScalarOp("erfc", 1, "f", np.vectorize(math.erfc, otypes=[np.float64]), 12.0, traits=_BLIND),
    *(
        ScalarOp(name, 1, "f", _kernel(name), cycles, traits=_ELEMENTARY)
        for name, cycles in (
            ("lgamma", 20.0),
            ("digamma", 20.0),
            ("trigamma", 14.0),
            ("erfinv", 18.0),
            ("ndtri", 18.0),
            ("bessel_i0e", 20.0),
            ("bessel_i1e", 20.0),
        )
    ),
    *(
        ScalarOp(name, operands, "f", _formula(rule), 500.0, traits=_ELEMENTARY)
        for name, (rule, operands) in ITERATED.items()
    ),
)

#: Every scalar operation by name.
SCALAR_OPS: Mapping[str, ScalarOp] = {op.name: op for op in _RECORDS}
#: Those whose code is a function, and those that cost about as much as a load.
ELEMENTARY, CHEAP = (
    frozenset(op.name for op in _RECORDS if trait in op.traits) for trait in ("elementary", "cheap")
)
