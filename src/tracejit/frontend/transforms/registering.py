"""RegisterGradient and no_gradient: a derivative for an op that was declared without one, under the op's type name.

A type name is the op's own in camel case: ``AdjustContrast`` for ``adjust_contrast``. Each name is registered once,
for the whole process, as the op itself is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.autodiff.scattered import dense
from ...core.errors import GradientError, at, user_location
from ...core.op import OPS, Joint, Op, ops
from ...core.tensor import Tensor
from ...core.tracing.dispatch import Record, as_tensor, rule_of

Rule = Callable[..., Any]

_registered: dict[str, Rule | None] = {}


class RegisterGradient:
    """Decorate the gradient rule of an op that has none.

    The rule is called as ``rule(op, *gradients)``, with one gradient per output, zeros where nothing arrives.
    ``op.inputs``, ``op.outputs`` are tuples of tensors, ``op.get_attr(name)`` gives an attribute. It returns one
    gradient per input, or None for those that have none; a single one need not be in a list.

    Parameters
    ----------
    op_type : str
        The op's type name. A name that no op has may be registered too, ahead of an op of that name.

    Raises
    ------
    KeyError
        The name has a gradient already.

    Examples
    --------
    >>> import tracejit as tf
    >>> @tf.defop(kernel=lambda x: x * x * x, lower=None)
    ... def docs_cube(x):
    ...     "The third power."
    ...     return x
    >>> @tf.RegisterGradient("DocsCube")
    ... def _cube_gradient(op, g):
    ...     return g * 3.0 * op.inputs[0] ** 2
    >>> x = tf.constant(2.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = docs_cube(x)
    >>> float(tape.gradient(y, x))
    12.0
    """

    def __init__(self, op_type: str):
        if not isinstance(op_type, str):
            raise TypeError(f"an op's type name is a string, got {op_type!r}{at(user_location())}")
        self.op_type = op_type

    def __call__(self, rule: Rule) -> Rule:
        """Register the rule, and return it."""
        _register(self.op_type, rule)
        return rule


def no_gradient(op_type: str) -> None:
    """Declare that the op `op_type` without a derivative has none: gradients through it are None instead of an error.

    Raises
    ------
    KeyError
        The name has a gradient already.

    Examples
    --------
    >>> import tracejit as tf
    >>> @tf.defop(kernel=lambda x: x // 2, lower=None)
    ... def docs_half(x):
    ...     "Half of it, rounded down."
    ...     return x
    >>> tf.no_gradient("DocsHalf")
    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = docs_half(x)
    >>> print(tape.gradient(y, x))
    None
    """
    _register(op_type, None)


def _register(name: str, rule: Rule | None) -> None:
    op = next((op for op in OPS.values() if name in (op.name, op.type_name)), None)
    if name in _registered or (op is not None and op.differentiable):
        raise KeyError(
            f"Registering two gradient with name {name!r}! It has one already{at(user_location())}"
        )
    _registered[name] = rule
    if op is not None:
        op.vjp = Joint(_adapted(op, rule))


class Operation:
    """What a registered rule sees of a call."""

    __slots__ = ("type", "inputs", "outputs", "_attrs")

    def __init__(self, record: Record):
        self.type: str = record.op.type_name
        self.inputs: tuple[Any, ...] = tuple(record.inputs)
        self.outputs: tuple[Any, ...] = tuple(record.outputs)
        self._attrs = record.attrs

    def get_attr(self, name: str) -> Any:
        """An attribute of the op by name."""
        return self._attrs[name]


def _adapted(op: Op, rule: Rule | None) -> Callable[[Record, Sequence[Any], Sequence[bool]], list[Any]]:
    """A registered rule as the registry's own kind."""

    def joint(record: Record, gs: Sequence[Any], needs: Sequence[bool]) -> list[Any]:
        if rule is None:
            return [None] * len(needs)
        given = [_zeros(y) if g is None else dense(g) for g, y in zip(gs, record.outputs, strict=True)]
        with rule_of(op.type_name, record.location):
            returned = rule(Operation(record), *given)
        several = list(returned) if returned.__class__ in (list, tuple) else [returned]
        if len(several) != len(needs):
            raise GradientError(
                f"the gradient registered for {op.type_name} returned {len(several)} gradients for "
                f"{len(needs)} inputs{at(record.location)}"
            )
        return [
            None if g is None or not need else as_tensor(g) for g, need in zip(several, needs, strict=True)
        ]

    return joint


def _zeros(y: Tensor) -> Tensor:
    from_spec = y.spec
    return ops.fill(shape=from_spec.shape, value=0.0, dtype=from_spec.dtype)
