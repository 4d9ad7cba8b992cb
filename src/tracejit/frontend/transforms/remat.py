"""checkpoint: a function that is run again in the backward instead of having its intermediate values kept."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import TracejitError, at, user_location
from ...core.protocols import P, R
from ...core.tensor import Tensor, next_serial
from ...core.tracing.depth import too_deep
from ...core.tracing.dispatch import as_tensor, state
from ...core.tracing.forms import RecomputedForm
from ...core.tracing.trace import trace
from ..autograph.operators import eager_callee
from ..function.function import Function
from ..function.specialization import apart, converted
from ..state.variable import tracer
from ..structure import Structure, flatten, unflatten


def checkpoint(f: Callable[P, R]) -> Callable[P, R]:
    """The same function, of which a gradient keeps the arguments and not what is computed from them.

    The backward computes it again. Works on tapes and in compiled functions, nested, and at any order, by forward mode
    too. While something records, `f` is traced, as :func:`function` does, each time it is called.

    Parameters
    ----------
    f : callable
        Takes and returns nests of tensors; other arguments are passed on. May use Variables, but not assign them.

    Raises
    ------
    TracejitError
        When `f` assigns a Variable.

    Examples
    --------
    >>> import tracejit as tf
    >>> layer = tf.checkpoint(lambda x: tf.sin(tf.exp(x)))
    >>> print(tf.grad(layer)(0.0))
    tf.Tensor(0.5403023, shape=(), dtype=float32)
    """
    compiled = Function(f)

    @functools.wraps(f)
    def run(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        inputs = [as_tensor(x) if isinstance(x, (Tensor, np.ndarray, np.generic)) else x for x in leaves]
        if tracer() is None and not state.recorders:
            try:
                return _once(f, inputs, structure)
            except RecursionError as error:
                raise too_deep(error) from None
        return _recomputed(compiled, inputs, structure)

    return run


def _once(f: Callable[..., Any], inputs: list[Any], structure: Structure) -> Any:
    """Where nothing records: the function itself, with the arguments and results that it has elsewhere."""
    args, kwargs = unflatten(structure, inputs)
    since = next_serial()
    results, nest = flatten(eager_callee(f)(*args, **kwargs))
    return unflatten(nest, apart([converted(y, f) for y in results], since))


def _recomputed(compiled: Function, inputs: list[Any], structure: Structure) -> Any:
    """One op that holds the graph of the function, traced anew: what it uses of its surroundings may change.

    A tensor that is given twice is one tensor in the function, too: a tape in there may watch it.
    """
    given = {x.serial: x for x in inputs if x.__class__ is Tensor}
    returned: list[Any] = []

    def body(*tensors: Tensor) -> list[Tensor]:
        own = dict(zip(given, tensors, strict=True))
        args, kwargs = unflatten(structure, [own[x.serial] if x.__class__ is Tensor else x for x in inputs])
        results, nest = flatten(compiled.run_python(args, kwargs))
        returned.append(nest)
        return [converted(y) for y in results]

    traced = trace(body, [t.spec for t in given.values()], compiled.__name__)
    if any(h.assigned for h in traced.held):
        raise TracejitError(
            f"{compiled.__name__} is run again by its gradient, so it cannot assign a Variable: return the new value "
            f"instead{at(user_location())}"
        )
    outer = (*given.values(), *traced.captured, *(h.owner.as_kept() for h in traced.held))
    return unflatten(returned[0], list(RecomputedForm.make(outer, traced.graph).apply()))


recompute_grad = checkpoint  # its other name
