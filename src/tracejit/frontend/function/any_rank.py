"""Traces without a call: for each rank that arguments of unknown rank have, and for sizes that ops can take."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ...core.dim import Size, evaluate
from ...core.errors import ShapeError, at, user_location
from ...core.spec import TensorSpec
from ...core.tracing.dispatch import as_tensor
from ...ops.tensor.memory.made import Site
from ..autograph.array_writers import traced_with_arrays
from ..autograph.places.reachable import attempt_with
from ..structure import flatten, leaves_like, unflatten
from .signature import TYPICAL, ArgumentError, Call, fits, of_rank

T = TypeVar("T")

#: Up to which size one is looked for that fits where no straight line leads there.
LARGEST = 1024


class AnyRank:
    """What ``get_concrete_function`` gives where a TensorSpec leaves the rank open.

    Parameters
    ----------
    concrete : callable
        Gives the trace for arguments whose ranks are known.
    args, kwargs
        The arguments, with TensorSpecs in place of arrays.
    signature : inspect.Signature, optional
        Of the Python function.
    """

    def __init__(
        self,
        concrete: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        signature: inspect.Signature | None,
    ):
        self.concrete = concrete
        self.structured_input_signature: tuple[tuple[Any, ...], dict[str, Any]] = (args, kwargs)
        self.signature = signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the trace for arguments of these ranks, which is made if there is none."""
        leaves, structure = flatten(self.structured_input_signature)
        given = self._given(args, kwargs, structure, leaves)
        known = [self._ranked(spec, x) for spec, x in zip(leaves, given, strict=True)]
        own_args, own_kwargs = unflatten(structure, known)
        return self.concrete(*own_args, **own_kwargs)(*args, **kwargs)

    def for_rank(self, rank: int) -> Any:
        """The trace for tensors of this rank wherever the rank is open, and of any sizes."""
        leaves, structure = flatten(self.structured_input_signature)
        known = [of_rank(x, rank) if isinstance(x, TensorSpec) else x for x in leaves]
        own_args, own_kwargs = unflatten(structure, known)
        return self.concrete(*own_args, **own_kwargs)

    def _given(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], structure: Any, leaves: list[Any]
    ) -> list[Any]:
        """What is given in the place of each leaf, with None for what is left out."""
        places = [i for i, x in enumerate(leaves) if isinstance(x, TensorSpec)]
        if not kwargs and len(args) == len(places):
            flat: list[Any] = [None] * len(leaves)
            for i, x in zip(places, args, strict=True):
                flat[i] = x
            return flat
        try:
            assert self.signature is not None
            own = self.signature.bind(
                *self.structured_input_signature[0], **self.structured_input_signature[1]
            )
            bound = self.signature.bind_partial(*args, **kwargs)
            own.arguments.update(bound.arguments)
            return leaves_like(structure, (own.args, own.kwargs))
        except (TypeError, ValueError, AssertionError) as error:
            raise ArgumentError(f"{error}{at(user_location())}") from None

    @staticmethod
    def _ranked(spec: Any, x: Any) -> Any:
        if not isinstance(spec, TensorSpec) or spec.ranked:
            return spec
        if x is None or x is spec:
            raise ArgumentError(f"an argument is missing: a tensor of {spec}{at(user_location())}")
        have = x if isinstance(x, TensorSpec) else as_tensor(x).spec
        return of_rank(spec, have.rank) if fits(spec, have.shape) else spec

    def __repr__(self) -> str:
        return f"<ConcreteFunction of any rank {self.structured_input_signature}>"


# ---- open sizes -----------------------------------------------------------------------------------------


def traced_with_sizes(once: Callable[[], T], f: Any, call: Call, tensors: set[Site]) -> T:
    """``once()``, which traces `f` for this call, until arrays that have to be `tensors` are and open sizes fit.

    An op may take one size only of an axis that a TensorSpec leaves open, which is that size then.
    """
    if all(isinstance(size, int) for spec in call.specs for size in spec.shape):
        return traced_with_arrays(once, f, call.leaves, tensors)
    while True:
        with attempt_with(f, call.leaves) as attempt:
            try:
                return traced_with_arrays(once, f, call.leaves, tensors)
            except ShapeError:
                if not _fit(call):
                    attempt.tell()
                    raise
                attempt.rollback()


def _fit(call: Call) -> bool:
    """Find an open size that makes equal what an op asked to be; not one found before."""
    if call.assumed is None or call.assumed.missed is None:
        return False
    hints = call.assumed.hints
    for name in reversed([n for n, size in hints.items() if size == TYPICAL and n not in call.fitted]):
        size = _size_that_fits(*call.assumed.missed, hints, name)
        if size is not None:
            call.fitted[name] = size
            return True
    return False


def _size_that_fits(a: Size, b: Size, hints: dict[str, int], name: str) -> int | None:
    def off(size: int) -> int:
        env = hints | {name: size}
        return evaluate(a, env) - evaluate(b, env)

    try:
        slope = off(1) - off(0)
        line = -off(0) // slope if slope else 0  # right where both are linear in it
        return next((size for size in (line, *range(1, LARGEST)) if size > 0 and off(size) == 0), None)
    except (KeyError, ZeroDivisionError):  # trip counts have no value, and sizes divide
        return None
