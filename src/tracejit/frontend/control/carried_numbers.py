"""Python numbers that a loop carries take the dtype of the values that they are combined with.

In a trace the body tells: it is traced again with the number in the dtype that it gave. Eagerly the first iteration
tells, and it gets the number as a `Weak` where something wider is in sight, so that no digit is lost.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from ...core.arrays import default_dtype
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ...core.tracing.promotion import joint_dtype
from ...core.tracing.transaction import Attempt
from ..autograph.places.reachable import Reachable
from ..autograph.values.weak import WIDE, Weak
from ..recording.merged import merge
from ..regions.loop_builder import LoopBuilder
from ..regions.region import Region, check_carry
from ..structure import Nest, Structure, alike, flatten, unflatten

#: The kinds of dtype that a number takes in place of its own.
_TAKES = {int: "iufcV", float: "fcV", complex: "c"}


def takes(kind: Any, dtype: np.dtype) -> bool:
    """May a Python number of that type be one of `dtype`?"""
    return kind in _TAKES and dtype.kind in _TAKES[kind]


def _becomes(x: Any, before: TensorSpec, after: TensorSpec) -> bool:
    """Is `x` a number that went round as `before` and becomes another kind or width of number?"""
    return before.shape == after.shape == () and takes(getattr(x, "weak_kind", x.__class__), after.dtype)


class CarriedNest:
    """The nest that goes round in a loop that is written as a function.

    Eagerly it is given to one iteration after the other; in a trace it is the `Carry` of a :class:`LoopBuilder`.

    Parameters
    ----------
    what : str
        How messages name the function that returns the nest anew.
    init : nest
        What the first iteration gets.
    functions
        The user's, the body last: an attempt at tracing takes back what they did.

    Attributes
    ----------
    ys : Structure
        In a trace, of what an iteration returns besides.
    """

    ys: Structure
    around: Reachable
    leaves: list[Any]
    structure: Structure
    tensors: list[Tensor]
    types: list[TensorSpec]
    left: int

    def __init__(self, what: str, init: Any, *functions: Any):
        self.what = what
        self.functions = functions
        self.leaves, self.structure = flatten(init)
        self.tensors = [as_tensor(x) for x in self.leaves]
        self.first: list[Any] | None = None
        self.types = [t.spec for t in self.tensors]  # in a trace
        self.left = len(_TAKES)  # times that the dtypes may change

    def nest(self, tensors: Sequence[Any]) -> Any:
        """The nest of these leaves."""
        return unflatten(self.structure, tensors)

    # ---- eagerly ----------------------------------------------------------------------------------------

    def begin(self, beside: Sequence[Tensor] = ()) -> None:
        """Let the first iteration get numbers as exact as Python's where something wide is in sight, or `beside`."""
        pairs = list(zip(self.leaves, self.tensors, strict=True))
        seen: set[np.dtype] = set()
        if any(x.__class__ in _TAKES for x in self.leaves):
            others = [*(t for x, t in pairs if x.__class__ not in _TAKES), *beside]
            seen = {*(t.np_dtype for t in others), *_dtypes_in(self.functions[-1])}
        self.first = [Weak(as_tensor(x, WIDE[x.__class__])) if _is_wider(seen, x) else t for x, t in pairs]

    def given(self) -> Any:
        """What the next iteration gets."""
        return self.nest(self.tensors if self.first is None else self.first)

    def take(self, new: Any, free_shapes: bool = False) -> None:
        """Go on with what an iteration returned, which must be like what it was given."""
        leaves, structure = flatten(new)
        tensors = [as_tensor(y) for y in leaves]
        specs = [t.spec for t in self.tensors]
        if self.first is not None and structure == self.structure:
            rounds = zip(self.leaves, self.tensors, self.first, tensors, strict=True)
            specs = [_after_first(*leaf) for leaf in rounds]
        same = structure == self.structure and all(
            a.dtype == b.np_dtype if free_shapes else a is b.spec for a, b in zip(specs, tensors, strict=True)
        )
        if not same:
            check_carry(self.what, self.structure, specs, structure, [t.spec for t in tensors])
        self.tensors, self.first = tensors, None

    def last(self) -> Any:
        """What the last iteration returned."""
        return self.nest(self.tensors)

    # ---- in a trace -------------------------------------------------------------------------------------

    def loop(
        self,
        step: Callable[[Tensor, Any, Sequence[Tensor]], tuple[Any, Any]],
        what: str,
        **parts: Any,
    ) -> tuple[Any, Any]:
        """The nest after the loop of ``nest, ys = step(i, nest, rows)``, and the stacked ys."""
        self.around = Reachable((), self.functions)

        def body(i: Tensor, xs: Sequence[Tensor], rows: Sequence[Tensor]) -> tuple[Any, Any]:
            self._merge(xs)
            return step(i, self.nest(xs), rows)

        outputs = LoopBuilder(body, self, what, **parts).build()
        self._merge(outputs.carry)
        return self.nest(outputs.carry), unflatten(self.ys, outputs.ys)

    def _merge(self, carry: Sequence[Tensor]) -> None:
        """Note that what goes round may be what went in."""
        for t, x in zip(carry, self.tensors, strict=True):
            merge(t, [x])

    def specs(self) -> list[TensorSpec]:
        return self.types

    def join(self, body: Region) -> bool:
        """Let numbers take the dtypes that the body gives them; it must return the rest as it was."""
        assert isinstance(body.structure, Nest)
        structure, self.ys = body.structure.children[:2]
        before, outputs = self.types, body.outputs[: len(self.types)]
        if self.left and alike(self.structure, structure):
            pairs = zip(self.leaves, before, outputs, strict=True)
            self.types = [b if _becomes(x, a, b) else a for x, a, b in pairs]
        if self.types == before:
            check_carry(self.what, self.structure, before, structure, outputs)
            return False
        self.left -= 1
        return True

    def initial(self) -> list[Tensor]:
        triples = zip(self.leaves, self.tensors, self.types, strict=True)
        return [t if t.spec is spec else as_tensor(x, spec.dtype) for x, t, spec in triples]

    def attempt(self) -> Attempt:
        return self.around.attempt()

    def tested(self) -> bool:
        self.around.refuse_changes("the body of a loop")
        return False


def _is_wider(seen: set[np.dtype], x: Any) -> bool:
    """Is `x` a number, and something among these dtypes that is wider than it?"""
    return any(takes(x.__class__, d) and joint_dtype(d, default_dtype(x)) != default_dtype(x) for d in seen)


def _dtypes_in(f: Any, depth: int = 3) -> Iterator[np.dtype]:
    """The dtypes of what a function holds or names, and the functions that it holds."""
    if isinstance(f, functools.partial):
        yield from (v.dtype for v in (*f.args, *f.keywords.values()) if isinstance(v, _ARRAYS) or _is_read(v))
        f = f.func
    f = getattr(f, "__func__", f)
    code = getattr(f, "__code__", None)
    if code is None:
        return
    held = [cell.cell_contents for cell in f.__closure__ or () if _is_set(cell)]
    named = [f.__globals__[name] for name in code.co_names if name in f.__globals__]
    for v in (*held, *named, *(f.__defaults__ or ())):
        if isinstance(v, _ARRAYS) or _is_read(v):
            yield v.dtype
        elif depth and isinstance(v, (FunctionType, MethodType, functools.partial)):
            yield from _dtypes_in(v, depth - 1)


_ARRAYS = (Tensor, np.ndarray, np.generic)


def _is_read(v: Any) -> bool:
    return hasattr(v.__class__, "__tensor__") and hasattr(v, "dtype")


def _is_set(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def alike_numbers(values: Sequence[Any]) -> list[Tensor]:
    """Tensors of one dtype from what iterations gave: numbers of the first take the dtype of the others."""
    others = [as_tensor(v).np_dtype for v in values if v.__class__ is not Weak]
    return [v.in_dtype(others[0]) if v.__class__ is Weak and others else as_tensor(v) for v in values]


def _after_first(x: Any, before: Tensor, given: Any, after: Tensor) -> TensorSpec:
    """What goes round from the first iteration on: a number as it came back, if no digit of it was lost."""
    if not _becomes(x, before.spec, after.spec):
        return before.spec
    exact = given is not before or (not before.is_symbolic and before.array.item() == x)
    return after.spec if exact else before.spec
