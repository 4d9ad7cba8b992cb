"""The protocol ``__tf_tracing_type__``, by which objects say which of them can share a trace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable


class TracingContext:
    """What ``__tf_tracing_type__`` is given; it holds nothing."""


class TraceType(ABC):
    """What arguments have in common that one trace of a compiled function serves.

    Arguments whose types are equal share a trace, in which :meth:`placeholder_value` stands for them. So types are
    equal only where the function does the same with both: what an argument holds is not looked at again.

    Examples
    --------
    >>> import tracejit as tf
    >>> class Same(tf.types.experimental.TraceType):
    ...     def __init__(self, fruit):
    ...         self.fruit = fruit
    ...     def is_subtype_of(self, other):
    ...         return self == other
    ...     def most_specific_common_supertype(self, others):
    ...         return self if all(self == other for other in others) else None
    ...     def placeholder_value(self, placeholder_context=None):
    ...         return self.fruit
    ...     def __eq__(self, other):
    ...         return type(self.fruit) is type(other.fruit)
    ...     def __hash__(self):
    ...         return hash(type(self.fruit))
    >>> class Apple:
    ...     weight = 2.0
    ...     def __tf_tracing_type__(self, context):
    ...         return Same(self)
    >>> f = tf.function(lambda fruit, x: fruit.weight * x)
    >>> float(f(Apple(), 1.0)), float(f(Apple(), 2.0)), f.experimental_get_tracing_count()
    (2.0, 4.0, 1)
    """

    @abstractmethod
    def is_subtype_of(self, other: Any) -> bool:
        """Does a trace for `other` serve this one too? Only equal types share traces here."""

    @abstractmethod
    def most_specific_common_supertype(self, others: Sequence[Any]) -> Any:
        """A type that serves this one and all `others`, or None; nobody asks here."""

    @abstractmethod
    def placeholder_value(self, placeholder_context: Any = None) -> Any:
        """What the function gets for such an argument while it is traced."""

    @abstractmethod
    def __eq__(self, other: object) -> bool:
        """Does one trace serve both?"""

    @abstractmethod
    def __hash__(self) -> int:
        """The same for equal types."""


@runtime_checkable
class SupportsTracingProtocol(Protocol):
    """What has a method ``__tf_tracing_type__``, which gives its :class:`TraceType`."""

    def __tf_tracing_type__(self, context: TracingContext) -> TraceType:
        """Which arguments share a trace with this one."""
        ...


class OfType:
    """The part of the cache key that stands for an argument that has such a type."""

    __slots__ = ("type",)

    def __init__(self, x: SupportsTracingProtocol):
        self.type: TraceType = x.__tf_tracing_type__(TracingContext())

    def __hash__(self) -> int:
        return hash(self.type)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OfType) and bool(self.type == other.type)

    @property
    def value(self) -> Any:
        """What stands for the argument while the function is traced."""
        return self.type.placeholder_value(TracingContext())
