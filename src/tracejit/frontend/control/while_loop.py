"""`while_loop` as users call it: over nests of tensors, and over TensorArrays, which are written to in place.

Which way a loop takes is decided here; what it becomes is known to `control` and to `autograph`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.op import ops
from ...core.tracing.dispatch import as_tensor
from ..autograph.flow.tensor_array import TensorArray
from ..autograph.operators import while_stmt
from ..regions.memory_policies import policy, under
from ..structure import flatten, map_structure
from . import loop_functions as control
from .cond import require_choice


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: str | None = None,
    memory: int | str | None = None,
) -> Any:
    """Run ``loop_vars = body(*loop_vars)`` while ``cond(*loop_vars)`` holds.

    Parameters
    ----------
    cond : callable
        Returns a scalar bool; DtypeError for anything else.
    body : callable
        Returns the new loop variables, in the same structure, shapes and dtypes.
    loop_vars : list or tuple of nests of tensors and TensorArrays
        A single tensor is allowed too.
    shape_invariants : nest of shapes, optional
        With it the variables may change their shapes in eager mode; what is compiled refuses that.
    maximum_iterations : int or integer scalar, optional
        Stop after so many.
    memory : int or str, optional
        What the gradient may keep, as in :func:`function`; by default what the traced function says.

    Returns
    -------
    nest like `loop_vars`

    Notes
    -----
    The other arguments are accepted for programs written for other libraries, and ignored.

    Examples
    --------
    >>> import tracejit as tf
    >>> i, x = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), (0, 1.0))
    >>> float(x)
    8.0
    """
    if any(isinstance(x, TensorArray) for x in flatten(loop_vars)[0]):
        with under(None if memory is None else policy(memory)):
            return _with_arrays(cond, body, loop_vars, maximum_iterations)
    free = shape_invariants is not None
    return control.while_loop(cond, body, loop_vars, maximum_iterations, memory, free)


def _with_arrays(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, maximum_iterations: Any
) -> Any:
    """As a `while` statement, which hands on what its body does to arrays."""
    several = loop_vars.__class__ in (list, tuple)
    state = map_structure(_carried, tuple(loop_vars) if several else (loop_vars,))
    done = as_tensor(0, "int64")

    def test() -> Any:
        going = require_choice(cond(*state), "the condition of while_loop returns")
        return going if maximum_iterations is None else ops.logical_and(done < maximum_iterations, going)

    def step() -> None:
        nonlocal state, done
        new = body(*state)
        state = map_structure(_carried, tuple(new) if several and new.__class__ in (list, tuple) else (new,))
        done = ops.add(done, as_tensor(1, "int64"))

    while_stmt(test, step, ("state", "done"))
    return loop_vars.__class__(state) if several else state[0]


def _carried(x: Any) -> Any:
    return x if isinstance(x, TensorArray) else as_tensor(x)
