"""Inputs that each call of a compiled function takes from outside, such as the next elements of iterators.

They are inputs of the graph, so that a call has one of each whatever is done with it, gradients included. There are
as many as the function says in its own body: none in branches and loops, which may run any number of times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.errors import ShapeError, Untraceable, at, user_location
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor, is_tracing
from ...core.tracing.trace import Taken
from ...core.tracing.transaction import may_be_taken_back
from ..state.variable import tracer
from ..structure import flatten, unflatten


def taken_by_each_call(take: Callable[[], Any], like: Any, source: object = None) -> Any:
    """A nest of tensors that each call of the compiled function being traced gets from ``take()``.

    Parameters
    ----------
    take : callable
        Gives a nest of arrays; called once in each call, before the compiled code runs.
    like : nest of TensorSpecs
        What the arrays are like, in each call.
    source : object, optional
        What they are taken from, for `taken_from`.

    Raises
    ------
    TracejitError
        In branches and loops, and where no function is traced.
    ShapeError
        In a call in which they are not like that.

    Examples
    --------
    >>> import itertools
    >>> import tracejit as tf
    >>> numbers = itertools.count()
    >>> def following():
    ...     return tf.constant(next(numbers)).numpy()
    >>> f = tf.function(lambda x: x + tf.autograph.taken_by_each_call(following, tf.TensorSpec([], tf.int32)))
    >>> int(f(10)), int(f(10))
    (10, 11)
    """
    now = tracer()
    where = at(user_location())
    if now is None or not is_tracing():
        raise Untraceable(f"nothing is traced, so there is no call that takes something{where}")
    if now.parent is not None or may_be_taken_back(now):
        raise Untraceable(
            "something is taken by each call in a branch or loop of a compiled function: how often, nobody knows "
            f"before it runs. Take it in the function itself, before those, or pass it as an argument{where}"
        )
    specs, nest = flatten(like)

    def checked() -> Sequence[np.ndarray]:
        arrays = [as_tensor(x).array for x in flatten(take())[0]]
        found = [TensorSpec(a.shape, a.dtype) for a in arrays]
        if found != specs:
            raise ShapeError(
                f"the function was traced for elements like {', '.join(map(str, specs))}, and takes "
                f"{', '.join(map(str, found))}: batch with drop_remainder=True, or pass each element to the "
                f"function{where}"
            )
        return arrays

    tensors = [now.add_input(spec) for spec in specs]
    now.taken.append(Taken(checked, tensors, source))
    return unflatten(nest, tensors)


def taken_from(source: object) -> int:
    """How often the function being traced takes something from `source` in each call.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.autograph.taken_from("where nothing is traced")
    0
    """
    now = tracer()
    return 0 if now is None else sum(each.source is source for each in now.taken)


def arrays_of(taken: Sequence[Taken]) -> list[np.ndarray]:
    """The arrays of one call."""
    arrays: list[np.ndarray] = []
    for each in taken:  # no generator, which turns the end of an iterator into an error
        arrays += each.take()
    return arrays


def again(taken: Sequence[Taken]) -> list[Tensor]:
    """The tensors for one call, in the trace of another function too, which takes them in each of its calls."""
    if tracer() is None:
        return [Tensor(a) for a in arrays_of(taken)]
    return [
        t
        for each in taken
        for t in taken_by_each_call(each.take, [t.spec for t in each.tensors], each.source)
    ]
