"""Compiled functions as type checkers see them: called as what they were made of.

Never imported at run time; `tracejit.function` is that of `function.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from .function import Function

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

class Compiled(Function, Generic[P, R_co]):
    """A compiled function of the parameters `P`; numbers that it returns are tensors."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Compiled[P, R_co]: ...
    @overload
    def __get__(
        self: Compiled[Concatenate[Any, Q], R_co], instance: object, owner: type | None = None
    ) -> Compiled[Q, R_co]: ...

class Compiling(Protocol):
    """What ``function(...)`` without a function gives: a decorator."""

    def __call__(self, f: Callable[P, R]) -> Compiled[P, R]: ...

@overload
def function(
    f: Callable[P, R],
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    memory: int | str | None = None,
    fastmath: bool | None = None,
    **accepted: Any,
) -> Compiled[P, R]:
    """Compile a function: trace it once per signature and run the compiled graph.

    Without `f`, a decorator. `input_signature` states the arguments, `autograph` converts Python's own control flow,
    `reduce_retracing` makes sizes that differ unknown ones, `memory` is what gradients of loops may keep,
    `fastmath` makes divisions cheaper and less exact.
    """

@overload
def function(
    f: None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    memory: int | str | None = None,
    fastmath: bool | None = None,
    **accepted: Any,
) -> Compiling: ...
