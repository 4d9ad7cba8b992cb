"""ForwardAccumulator: directional derivatives computed alongside the operations themselves, by forward mode.

Tangents are carried on as each operation happens, so nothing is kept for later. What computes them is seen by the
recorders around the accumulator, and by none inside of it.
"""

from __future__ import annotations

from typing import Any

from ...core.autodiff.pushforward import pushforward
from ...core.errors import DtypeError, ShapeError, at, user_location
from ...core.op import ops
from ...core.spec import DIFFERENTIABLE
from ...core.tensor import Tensor
from ...core.tracing.dispatch import Record, as_tensor, recording_only, start_recording, state, stop_recording
from ..state.variable import Variable
from ..structure import flatten, leaves_like, unflatten
from .unconnected import UnconnectedGradients, wants_zeros


class ForwardAccumulator:
    """Compute Jacobian-vector products while the operations run.

    Parameters
    ----------
    primals : Tensor, Variable or nest
        What to differentiate with respect to, float or complex.
    tangents : nest like `primals`
        The direction: a tensor like each primal.

    Raises
    ------
    ShapeError, DtypeError
        A tangent has another shape or dtype than its primal.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.constant([2.0, 3.0])
    >>> with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 0.0])) as accumulator:
    ...     y = x * x
    >>> print(accumulator.jvp(y))
    tf.Tensor([4. 0.], shape=(2,), dtype=float32)
    """

    #: Nothing that only a backward reads is kept for it.
    reverse = False

    def __init__(self, primals: Any, tangents: Any):
        leaves, structure = flatten(primals)
        self._tangents: dict[int, Tensor] = {}
        self._recording = False
        for x, t in zip(leaves, leaves_like(structure, tangents), strict=True):
            if not isinstance(x, (Tensor, Variable)):
                raise DtypeError(
                    f"a primal is a tensor or a Variable, got {type(x).__name__}{at(user_location())}"
                )
            key = x.key() if isinstance(x, Variable) else x
            tangent = as_tensor(t, key.np_dtype)
            if key.np_dtype.kind not in DIFFERENTIABLE or tangent.np_dtype != key.np_dtype:
                raise DtypeError(
                    f"a tangent of {tangent.spec} for a primal of {key.spec}{at(user_location())}"
                )
            if tangent.shape != key.shape:
                raise ShapeError(
                    f"a tangent of {tangent.spec} for a primal of {key.spec}{at(user_location())}"
                )
            old = self._tangents.get(key.serial)
            self._tangents[key.serial] = tangent if old is None else ops.add(old, tangent)

    def __enter__(self) -> ForwardAccumulator:
        if self._recording:
            raise ValueError("Accumulator is already recording.")
        start_recording(state.mode, self)
        self._recording = True
        return self

    def __exit__(self, *exc: object) -> None:
        if self._recording:
            stop_recording(state.mode, self)
            self._recording = False

    def record(self, record: Record) -> None:
        """Carry tangents through one call, `record`."""
        tangents = self._tangents
        for t in record.inputs:
            if t.serial in tangents:
                break
        else:
            return
        around = state.recorders[: state.recorders.index(self)]
        with recording_only(around):
            pushforward([record], tangents, ())

    def jvp(self, primals: Any, unconnected_gradients: Any = UnconnectedGradients.NONE) -> Any:
        """The directional derivatives of what was computed inside of the ``with`` block.

        Parameters
        ----------
        primals : Tensor, Variable or nest
        unconnected_gradients : UnconnectedGradients or str
            ``"none"`` or ``"zero"``: what to give for what does not depend on the primals.

        Returns
        -------
        nest like `primals`
        """
        zero = wants_zeros(unconnected_gradients)
        leaves, structure = flatten(primals)
        tangents = []
        for x in leaves:
            key = x.key() if isinstance(x, Variable) else as_tensor(x)
            t = self._tangents.get(key.serial)
            if t is None and zero:
                t = ops.fill(shape=key.shape, value=0.0, dtype=key.np_dtype)
            tangents.append(t)
        return unflatten(structure, tangents)
