"""Dim: a size that is not known until the function is called, as an integer polynomial over atoms.

An atom is an axis of an input, the trip count of a loop, or an opaque expression (an inexact division, a
maximum) that keeps its recipe. Polynomials are canonical, so ``==`` is structural in the compiler. What cannot be
decided structurally is assumed by recording a guard, which the dispatcher checks at entry; a miss traces anew. So is
what traced programs compare: their branches on sizes are those of the call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import field
from functools import lru_cache
from math import prod
from typing import Any, Union

from .asking import asked_by_program
from .dataclass import dataclass
from .errors import UnknownSize as UnknownSize
from .errors import at, take, user_location
from .seams import number_of_size

Size = Union[int, "Dim"]


@dataclass(frozen=True, slots=True)
class Atom:
    """One unknown. ``recipe`` is empty for an axis or a trip count, else the operation's name."""

    name: str
    recipe: str = ""
    args: tuple[Size, ...] = ()

    def __str__(self) -> str:
        if not self.recipe:
            return self.name
        return f"{self.recipe}({', '.join(map(str, self.args))})"


Monomial = tuple[Atom, ...]


def _order(monomial: Monomial) -> tuple[int, str]:
    return (-len(monomial), "*".join(map(str, monomial)))


class Dim:
    """An integer polynomial; immutable, hashable, compared by structure.

    Build one with :meth:`of` from an atom, then with ``+ - * // %``. A polynomial without atoms is always a
    plain ``int``, never a Dim.
    """

    __slots__ = ("terms", "_hash")
    __array_priority__ = 1000
    weak_kind = int  # to ops it is a Python number, which takes the dtype of what it meets

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]):
        self.terms: tuple[tuple[Monomial, int], ...] = terms
        self._hash = hash(terms)

    @staticmethod
    def of(name: str) -> Dim:
        """The Dim that is just the atom called `name`."""
        return Dim((((Atom(name),), 1),))

    @property
    def atom(self) -> Atom | None:
        """The atom when this Dim is one plain atom, else None."""
        (monomial, factor), *rest = self.terms
        return monomial[0] if not rest and factor == 1 and len(monomial) == 1 else None

    def atoms(self) -> tuple[Atom, ...]:
        """The plain atoms (no recipes) this Dim depends on, each once, in canonical order."""
        atoms: dict[Atom, None] = {}
        for monomial, _ in self.terms:
            for atom in monomial:
                if not atom.recipe:
                    atoms[atom] = None
                for arg in atom.args:
                    atoms.update(dict.fromkeys(arg.atoms() if isinstance(arg, Dim) else ()))
        return tuple(atoms)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        """By structure; but what a traced program asks is answered for its call, and becomes a guard."""
        if isinstance(other, Dim) and self.terms == other.terms:
            return True
        if _assumptions.get() is None or not asked_by_program():
            return False
        if other.__class__ is float and other.is_integer():
            other = int(other)
        return assume("==", self, other) if isinstance(other, (int, Dim)) else NotImplemented

    def __add__(self, other: Size) -> Size:
        return _collect([*self.terms, *_terms(other)])

    def __mul__(self, other: Size) -> Size:
        return _collect(
            [(tuple(sorted(m + n, key=str)), a * b) for m, a in self.terms for n, b in _terms(other)]
        )

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Size:
        return self * -1

    def __sub__(self, other: Size) -> Size:
        return self + other * -1

    def __rsub__(self, other: Size) -> Size:
        return self * -1 + other

    def __floordiv__(self, other: Size) -> Size:
        return divide(self, other)

    def __rfloordiv__(self, other: int) -> Size:
        return divide(other, self)

    def __mod__(self, other: Size) -> Size:
        return self - divide(self, other) * other

    def __lt__(self, other: Size) -> bool:
        return assume("<", self, other)

    def __le__(self, other: Size) -> bool:
        return assume("<=", self, other)

    def __gt__(self, other: Size) -> bool:
        return assume("<", other, self)

    def __ge__(self, other: Size) -> bool:
        return assume("<=", other, self)

    def __bool__(self) -> bool:
        return not assume("==", self, 0)

    def __int__(self) -> int:
        return known(self)

    __index__ = __int__

    def in_dtype(self, dtype: Any) -> Any:
        """The int that it stands for, as a tensor of `dtype`."""
        return number_of_size(self).in_dtype(dtype)

    def __str__(self) -> str:
        parts = []
        for monomial, factor in self.terms:
            body = "*".join(map(str, monomial))
            scale = {1: "", -1: "-"}.get(factor, f"{factor}*")
            parts.append(f"{scale}{body}" if body else str(factor))
        return "+".join(parts).replace("+-", "-")

    __repr__ = __str__


def _terms(size: Size) -> Iterable[tuple[Monomial, int]]:
    return size.terms if isinstance(size, Dim) else (((), int(size)),)


def _collect(terms: list[tuple[Monomial, int]]) -> Size:
    total: dict[Monomial, int] = {}
    for monomial, factor in terms:
        total[monomial] = total.get(monomial, 0) + factor
    kept = tuple((m, total[m]) for m in sorted(total, key=_order) if total[m])
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0]:
        return kept[0][1]
    return Dim(kept)


def divide(a: Size, b: Size) -> Size:
    """``a // b``: exact where every term divides, else an opaque atom that remembers the division."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    exact = _exact_quotient(a, b)
    return exact if exact is not None else _opaque("floordiv", a, b)


def _exact_quotient(a: Size, b: Size) -> Size | None:
    (monomial, factor), *rest = _terms(b)
    if rest:
        return 1 if a == b else None
    parts = []
    for other, value in _terms(a):
        left = list(other)
        for atom in monomial:
            if atom not in left:
                return None
            left.remove(atom)
        if factor == 0 or value % factor:
            return None
        parts.append((tuple(left), value // factor))
    return _collect(parts)


def _opaque(recipe: str, *args: Size) -> Dim:
    return Dim((((Atom(f"{recipe}({', '.join(map(str, args))})", recipe, args),), 1),))


def maximum(a: Size, b: Size) -> Size:
    """The larger of two sizes, without a guard."""
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    if nonnegative(a - b):
        return a
    return b if nonnegative(b - a) else _opaque("max", a, b)


def minimum(a: Size, b: Size) -> Size:
    """The smaller of two sizes, without a guard."""
    return a + b - maximum(a, b)


def nonnegative(size: Size) -> bool:
    """Is `size` at least 0 whatever its atoms are? They are sizes, thus at least 0 themselves."""
    if isinstance(size, int):
        return size >= 0
    return all(f > 0 and all(map(_nonnegative_atom, monomial)) for monomial, f in size.terms)


def _nonnegative_atom(atom: Atom) -> bool:
    signs = map(nonnegative, atom.args)
    return any(signs) if atom.recipe == "max" else all(signs)


RECIPES: dict[str, Callable[[int, int], int]] = {"floordiv": lambda a, b: a // b, "max": max}


def evaluate(size: Size, env: Mapping[str, int]) -> int:
    """The value of `size` where each atom has the value `env` gives its name."""
    if isinstance(size, int):
        return size
    return sum(f * prod(_atom_value(a, env) for a in monomial) for monomial, f in size.terms)


def _atom_value(atom: Atom, env: Mapping[str, int]) -> int:
    if not atom.recipe:
        return env[atom.name]
    return RECIPES[atom.recipe](*(evaluate(a, env) for a in atom.args))


def substitute(size: Size, mapping: Mapping[str, Size]) -> Size:
    """`size` with plain atoms replaced by name; atoms that `mapping` does not name stay."""
    if isinstance(size, int) or not mapping:
        return size
    total: Size = 0
    for monomial, factor in size.terms:
        term: Size = factor
        for atom in monomial:
            term = term * _replaced(atom, mapping)
        total = total + term
    return total


def _replaced(atom: Atom, mapping: Mapping[str, Size]) -> Size:
    if not atom.recipe:
        return mapping.get(atom.name, Dim((((atom,), 1),)))
    args = [substitute(a, mapping) for a in atom.args]
    return divide(*args) if atom.recipe == "floordiv" else maximum(*args)


# ---- guards ---------------------------------------------------------------------------------------------


@dataclass
class Assumptions:
    """What a trace knows and assumes about sizes: the sizes of the call that caused it, and guards.

    Attributes
    ----------
    hints : dict
        Atom name to the size it had in the call being traced; trip counts have none.
    guards : dict
        ``(relation, left, right)`` triples that must hold for the trace to be valid, in order of discovery.
    settled : frozenset
        Such triples that hold whatever the sizes are: guards of an earlier trace of the same program.
    missed : pair of sizes, optional
        The last two that an op asked to be equal and that are not in this call.
    """

    hints: dict[str, int] = field(default_factory=dict)
    guards: dict[tuple[str, Size, Size], None] = field(default_factory=dict)
    settled: frozenset[tuple[str, Size, Size]] = frozenset()
    missed: tuple[Size, Size] | None = None


_assumptions: ContextVar[Assumptions | None] = ContextVar("tracejit_assumptions", default=None)


RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}
_NEGATION = {"==": "!=", "!=": "=="}
_OPPOSITE = {"<": "<=", "<=": "<"}  # with the sides exchanged


def hint(size: Size) -> int:
    """The value `size` has in the call being traced; UnknownSize when it has none."""
    if isinstance(size, int):
        return size
    context = _assumptions.get()
    if context is None:
        raise UnknownSize(f"the size {size} is symbolic and no trace is active")
    try:
        return evaluate(size, context.hints)
    except KeyError as missing:
        depends = "" if str(size) == missing.args[0] else f" depends on {missing.args[0]}, which"
        late = f"the size {size}{depends} is known only when the function runs, and what is done here needs it before"
        raise UnknownSize(f"{late}: say it by tracejit.ensure_shape(x, shape){at(user_location())}") from None


def assume(relation: str, a: Size, b: Size) -> bool:
    """Decide `a` relation `b` by the hints and record the outcome as a guard."""
    if isinstance(a, int) and isinstance(b, int):
        return RELATIONS[relation](a, b)
    if relation == "==" and a == b:
        return True
    holds = (relation, a, b)
    fails = (_NEGATION[relation], a, b) if relation in _NEGATION else (_OPPOSITE[relation], b, a)
    context = _assumptions.get()
    settled = () if context is None else context.settled
    if holds in settled:
        return True
    if fails in settled:
        return False
    outcome = RELATIONS[relation](hint(a), hint(b))
    assert context is not None  # hint() raised otherwise
    context.guards[holds if outcome else fails] = None
    return outcome


def unknown(size: Size) -> bool:
    """Is there no value for `size` in the call being traced?"""
    try:
        hint(size)
    except UnknownSize as error:
        take(error)
        return True
    return False


def known(size: Size) -> int:
    """`size` as an int, recording the guard that it keeps this value."""
    value = hint(size)
    assume("==", size, value)
    return value


def same(a: Size, b: Size) -> bool:
    """Are two sizes equal? Structurally, or by a recorded guard; False when they differ in this call."""
    if a is b or a == b:
        return True
    if isinstance(a, int) and isinstance(b, int):
        return False
    if assume("==", a, b):
        return True
    context: Any = _assumptions.get()  # assume() has raised where there is none
    context.missed = a, b
    return False


class GuardMark:
    """How many guards there are at a point, to drop those that come after it."""

    __slots__ = ("guards", "length")

    def __init__(self) -> None:
        context = _assumptions.get()
        self.guards: dict[Any, Any] = {} if context is None else context.guards
        self.length: int = len(self.guards)

    def rollback(self) -> None:
        """Drop the guards recorded since."""
        while len(self.guards) > self.length:
            self.guards.popitem()


class assuming:
    """Use `context` for guards and hints inside a ``with`` block."""

    def __init__(self, context: Assumptions | None):
        self.context = context

    def __enter__(self) -> Assumptions | None:
        self.before: Assumptions | None = _assumptions.get()
        self.put(self.context)
        return self.context

    def __exit__(self, *exc: object) -> None:
        self.put(self.before)

    def put(self, context: Assumptions | None) -> None:
        try:
            _assumptions.set(context)
        except BaseException:  # a signal's
            _assumptions.set(self.before)
            raise


def holds(guards: Iterable[tuple[str, Size, Size]], env: Mapping[str, int]) -> bool:
    """Do all guards hold for the sizes in `env`?"""
    return all(RELATIONS[r](evaluate(a, env), evaluate(b, env)) for r, a, b in guards)


# ---- shapes and text ------------------------------------------------------------------------------------


def product(sizes: Iterable[Size]) -> Size:
    """Product of sizes; 1 for none."""
    total: Size = 1
    for size in sizes:
        total = total * size
    return total


def broadcast_size(a: Size, b: Size) -> Size | None:
    """The size two axes broadcast to, or None when they do not; symbolic sizes record guards."""
    if a is b or a == b:
        return a
    if isinstance(a, int) and a == 1:
        return b
    if isinstance(b, int) and b == 1:
        return a
    if isinstance(a, int) and isinstance(b, int):
        return None
    if same(a, b):
        return a if isinstance(a, int) or isinstance(b, Dim) else b
    if assume("==", a, 1):
        return b
    return a if assume("==", b, 1) else None


_LONGEST = 1 << 13  # characters, and terms, of a size in a file
_TOKEN = r"\s*(\d+|[A-Za-z_][A-Za-z_0-9]*|[-+*(),])"


@lru_cache(maxsize=4096)
def parse(text: str) -> Size:
    """The inverse of ``str``: read a size written by this module; ValueError for anything else."""
    if len(text) > _LONGEST:
        raise ValueError(f"a size is written in {len(text)} characters")
    tokens = re.findall(_TOKEN, text)
    stream = iter([*tokens, ""])
    try:
        value, rest = _sum(next(stream), stream)
    except StopIteration:
        raise ValueError(f"the size {text!r} ends too early") from None
    if rest:
        raise ValueError(f"cannot read the size {text!r} at {rest!r}")
    return value


def _sum(token: str, stream: Iterator[str]) -> tuple[Size, str]:
    total: Size = 0
    sign = 1
    while True:
        if token in "+-" and token:
            sign = -1 if token == "-" else 1
            token = next(stream)
        term, token = _term(token, stream)
        total = total + term * sign
        if token not in ("+", "-"):
            return total, token


def _term(token: str, stream: Iterator[str]) -> tuple[Size, str]:
    value, token = _factor(token, stream)
    while token == "*":
        other, token = _factor(next(stream), stream)
        if len(getattr(value, "terms", ())) * len(getattr(other, "terms", ())) > _LONGEST:
            raise ValueError("a size has too many terms")
        value = value * other
    return value, token


def _factor(token: str, stream: Iterator[str]) -> tuple[Size, str]:
    if token.isdigit():
        return int(token), next(stream)
    following = next(stream)
    if not token.isidentifier():
        raise ValueError(f"a size cannot begin with {token!r}")
    if following != "(":
        return Dim.of(token), following
    args: list[Size] = []
    while following != ")":
        arg, following = _sum(next(stream), stream)
        args.append(arg)
    made = divide(*args) if token == "floordiv" else maximum(*args)
    return made, next(stream)
