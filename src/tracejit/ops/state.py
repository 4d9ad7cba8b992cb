"""State: what it means, for derivatives, to read a Variable.

The cotangent of a read goes to the handle, which stands for the Variable, and never to the value, which may
have been computed and assigned: reading starts a new history.
"""

from __future__ import annotations

from typing import Any

from ..core.errors import require
from ..core.op import Joint, defop, ops, sample
from ..core.spec import TensorSpec
from .lowering import Compose


def _vjp(record: Any, gs: list[Any], needs: list[bool]) -> list[Any]:
    return [None, gs[0] if needs[1] else None]  # rows of it stay rows


def _jvp(record: Any, tangents: list[Any]) -> list[Any]:
    return [tangents[1]]


@defop(
    vjp=Joint(_vjp),
    jvp=_jvp,
    kernel=lambda value, handle: value,
    lower=Compose(lambda value, handle: value),
    batch=lambda batch, *both: ops.read(*batch.all_spread(both)),
    traits=("view", "row_local", "internal"),
    samples=(sample((2, 3), (2, 3), complex=True),),
)
def read(value: TensorSpec, handle: TensorSpec) -> TensorSpec:
    """The `value` a Variable has, as something that depends on the Variable, known by `handle`."""
    require(value == handle, f"a Variable of {handle} cannot hold {value}")
    return value
