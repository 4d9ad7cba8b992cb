"""Python floats among the arguments of compiled functions: inputs, or part of the trace.

A float is an input, a number that takes the dtype of what it meets, as Python's numbers do: one trace serves all.
Where tracing needs the value (Python control flow that is not converted, a size, an attribute of an op, text of it,
`isinstance`, a pattern of a class, something that keeps it), the attempt is taken back, and from then on the floats of
that function are part of its traces, as ints, bools and strings are. So are those of functions that are not converted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ...core.errors import ShapeError, Untraceable
from ..autograph.places.reachable import Reachable, leaves
from ..autograph.values.weak import Weak, floats_are_inputs
from .signature import Call

T = TypeVar("T")

#: What is raised where a number stands in place of a float, by us, by Python and by libraries.
_RAISED = (Untraceable, TypeError, ValueError, AttributeError, ArithmeticError, LookupError)


class ValuesNeeded(Exception):
    """Floats cannot be inputs here: the trace needs their values."""


def traced_with_floats(f: Callable[..., Any], call: Call, trace: Callable[[], T]) -> T:
    """What ``trace()`` returns; ValuesNeeded, with all that `f` did taken back, where its floats cannot be inputs."""
    if not call.floats:
        return trace()
    around = Reachable((), (f, *call.leaves))
    token = floats_are_inputs.set(True)
    try:
        with around.attempt():
            made = trace()
            if any(
                leaf.__class__ is Weak for change in around.changes() for leaf in leaves(change.place.get())
            ):
                raise ValuesNeeded
            return made
    except _RAISED as error:
        if isinstance(error, ShapeError) and not isinstance(error, Untraceable):
            raise
        raise ValuesNeeded from error
    finally:
        floats_are_inputs.reset(token)
