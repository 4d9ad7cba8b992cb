"""GradientTape: what was recorded in a ``with`` block, differentiated: gradients, Jacobians, and why there is none.

The derivative itself is `core.autodiff.backprop`; this is about how derivatives are asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import seams
from ...core.autodiff.backplan import ones, planned, repeated, unshared
from ...core.autodiff.backprop import NOBODY, backprop
from ...core.autodiff.scattered import add_cotangents, dense
from ...core.dim import same
from ...core.errors import ShapeError, Untraceable, at, user_location
from ...core.lazy import Later
from ...core.op import ops
from ...core.spec import DIFFERENTIABLE
from ...core.tensor import Tensor
from ...core.tracing.dispatch import Mode, Record, as_tensor, pausing, state
from ...core.tracing.transaction import remember, warn
from ...ops.batch import moved
from .. import config
from ..recording.merged import check_sources
from ..state.either import Either
from ..state.indexed_slices import rows_or_dense
from ..state.variable import COMPUTED, Variable
from ..structure import flatten, leaves_like, unflatten
from .history import History, Step, step_of
from .unconnected import NONE, UnconnectedGradients, wants_zeros, zeros, zeros_for_none
from .watching import GradientWarning, Tape

if TYPE_CHECKING:
    from ..transforms import jacobians
    from . import chosen, operator_lane, vanishing
    from . import explain as explaining
else:
    explaining, vanishing = Later(".explain", __package__), Later(".vanishing", __package__)
    chosen = Later(".chosen", __package__)
    operator_lane = Later(".operator_lane", __package__)
    jacobians = Later("..transforms.jacobians", __package__)

__all__ = ["GradientTape", "GradientWarning", "UnconnectedGradients"]


_USED = "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)"


class GradientTape(Tape):
    """Record operations for automatic differentiation.

    Parameters
    ----------
    persistent : bool
        Allow several calls of :meth:`gradient`; keeps what they need until the tape is deleted.
    watch_accessed_variables : bool
        Watch every trainable Variable that is read.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     y = x**2
    >>> print(tape.gradient(y, x))
    tf.Tensor(6.0, shape=(), dtype=float32)
    """

    __slots__ = ()
    records: list[Record]
    tracked: set[int]

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of `target` with respect to `sources`.

        Parameters
        ----------
        target : Tensor, Variable or nest
            Differentiated is the sum over all elements of all of them.
        sources : Tensor, Variable or nest
            Watched, or computed from what is watched.
        output_gradients : nest like `target`, optional
            Weights of the elements of the targets; None is 1.
        unconnected_gradients : UnconnectedGradients or str
            ``"none"`` or ``"zero"``: what to give where nothing connects.

        Returns
        -------
        nest like `sources`
            Each leaf has the shape and dtype of its source. That of a Variable of which only rows were read, by
            :func:`tracejit.gather`, is a Tensor that keeps to these rows, :class:`tracejit.IndexedSlices`.

        Raises
        ------
        RuntimeError
            When a tape that is not persistent is used a second time.
        """
        mode = state.mode
        if output_gradients is None and unconnected_gradients is NONE and target.__class__ is Tensor:
            kind = sources.__class__
            if kind is list or kind is Variable or kind is Tensor:
                g = self._repeated(mode, target, sources)
                if g is not None:
                    return g
            elif kind is tuple or kind is dict:
                leaves, structure = flatten(sources)
                g = self._repeated(mode, target, leaves)
                if g is not None:
                    return unflatten(structure, g)
        zero = unconnected_gradients is not NONE and wants_zeros(unconnected_gradients)
        if mode.interpreter is not None and any(
            leaf.__class__ is Either for leaf in (*flatten(target)[0], *flatten(sources)[0])
        ):
            return chosen.gradient(self, target, sources, output_gradients, unconnected_gradients)
        records = self._begin(mode)
        if mode.interpreter is not None:
            check_sources(flatten(sources)[0], flatten(target)[0], records)
        seeds = self._seeds(mode, target, output_gradients)
        if sources.__class__ is Variable or sources.__class__ is Tensor:  # what most calls come to
            (g,) = self._pulled(mode, records, seeds, [self._followed(sources, seeds)])
            if g.__class__ is Tensor:
                return g
            g = _given(g, sources)
            if g is None:
                g = zeros(sources) if zero else None
                if config.explain_none:
                    self._warn(target, [sources])
            return g
        leaves, structure = flatten(sources)
        grads = self._pulled(mode, records, seeds, [self._followed(leaf, seeds) for leaf in leaves])
        grads = [_given(g, leaf) for g, leaf in zip(grads, leaves, strict=True)]
        if zero:
            grads = [zeros(leaf) if g is None else g for g, leaf in zip(grads, leaves, strict=True)]
        if config.explain_none:
            self._warn(target, [leaf for leaf, g in zip(leaves, grads, strict=True) if g is None])
        return unflatten(structure, grads)

    def _repeated(self, mode: Mode, target: Tensor, sources: Any) -> Any:
        """The gradient of a tape like the last of its kind, with nothing else to be done; None for all others."""
        records, history = self.records, self._history
        if mode.busy or mode.slow or mode.attempt is not None or not records:
            return None
        if self._used or self._recording or (history is not None and history.events):
            return None
        g = repeated(mode, records, target, sources, self.tracked)
        if g is not None and not self.persistent:
            self._used = True
            self.records, self.tracked = [], set()
        return g

    def _followed(self, source: Any, seeds: dict[int, Any]) -> int:
        """The serial number that stands for a source on this tape; nobody's where the tape does not follow it."""
        key = source if source.__class__ is Tensor else _key(source)
        if key is None:
            return NOBODY
        serial = key.serial
        return serial if serial in self.tracked or serial in seeds else NOBODY

    def _pulled(self, mode: Mode, records: list[Any], seeds: dict[int, Any], sources: list[int]) -> list[Any]:
        """The cotangents of the sources, scattered or not; a spent tape keeps what explains those that are None."""
        cotangents = planned(mode, records, seeds, sources)
        weights = dict(seeds) if cotangents is None else seeds
        if self.persistent:
            if cotangents is None:
                cotangents = unshared(backprop(records, seeds, sources, scattered=True))
            if any(looks_spoiled(g) for g in cotangents):
                self._weights = weights
            return cotangents
        steps = [step_of(r) for r in records] if cotangents is None and self.large else None
        if cotangents is None:
            cotangents = unshared(backprop(records, seeds, sources, consume=self.large, scattered=True))
        for g in cotangents:
            if g is None or looks_spoiled(g):
                self._keep(cotangents, records, steps, weights)
                break
        else:
            if self._history is not None and self._history.events:
                self._keep(cotangents, records, steps, weights)
        self.records, self.tracked = [], set()
        return cotangents

    def _keep(
        self,
        cotangents: list[Any],
        records: list[Any],
        steps: list[Any] | None,
        weights: dict[int, Any] | None,
    ) -> None:
        """Keep of a tape that is spent what explains a gradient that is None, zero, NaN or not whole."""
        missing = self._history is not None and bool(self._history.events)
        for g in cotangents:
            if g is None:
                missing = True
            elif looks_spoiled(g):
                self._weights = weights
                self._spent = (records if steps is None else steps, self.tracked)
                return
        if missing:
            self._spent = ([step_of(r) for r in records] if steps is None else steps, self.tracked)

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The derivatives of every element of `target` with respect to `sources`.

        Parameters
        ----------
        target : Tensor or Variable
        sources : Tensor, Variable or nest
        unconnected_gradients : UnconnectedGradients or str
            What to give where nothing connects.
        parallel_iterations : int, optional
            Accepted for programs written for other libraries, and ignored.
        experimental_use_pfor : bool
            All rows at once (see :func:`tracejit.vmap`); False takes one after the other.

        Returns
        -------
        nest like `sources`
            Of tensors of shape ``target.shape + source.shape``.

        Examples
        --------
        >>> import tracejit as tf
        >>> x = tf.constant([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> print(tape.jacobian(y, x))
        tf.Tensor(
        [[2. 0.]
         [0. 4.]], shape=(2, 2), dtype=float32)
        """
        y = self._one_target(target, "jacobian")
        leaves, structure = flatten(sources)
        rows = self._rows(y, jacobians.basis, leaves, experimental_use_pfor)
        derivatives = [None if g is None else ops.reshape(g, shape=(*y.shape, *g.shape[1:])) for g in rows]
        return unflatten(structure, zeros_for_none(derivatives, y.shape, leaves, unconnected_gradients))

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The Jacobian of each example: where row i of `target` depends on row i of `source` only.

        Parameters
        ----------
        target, source : Tensor or Variable
            Of rank 2 or more, with as many rows.
        parallel_iterations, experimental_use_pfor
            As for :meth:`jacobian`.
        unconnected_gradients : UnconnectedGradients or {'none', 'zero'}
            Taken for TensorFlow's sake, whose result is zeros for both where nothing connects.

        Returns
        -------
        Tensor
            Of shape ``(rows, *target.shape[1:], *source.shape[1:])``; zeros where nothing connects.

        Raises
        ------
        ValueError
            For ranks below 2, for different numbers of rows and for `unconnected_gradients` that are no such choice.
        """
        wants_zeros(unconnected_gradients)  # refuses what is no such choice
        y, x = self._one_target(target, "batch_jacobian"), _key(source)
        if x is None or len(y.shape) < 2 or len(x.shape) < 2:
            given = type(source).__name__ if x is None else str(x.spec)
            raise ValueError(
                f"batch_jacobian takes tensors of rank 2 or more, got {y.spec} and {given}{at(user_location())}"
            )
        if not same(y.shape[0], x.shape[0]):
            raise ValueError(
                f"batch_jacobian: the target has {y.shape[0]} rows and the source {x.shape[0]}{at(user_location())}"
            )
        (rows,) = self._rows(y, jacobians.batch_seeds, [source], experimental_use_pfor)
        if rows is None:
            return ops.fill(shape=(*y.shape, *x.shape[1:]), value=0.0, dtype=x.np_dtype)
        return ops.reshape(moved(rows, 0, 1), shape=(x.shape[0], *y.shape[1:], *x.shape[1:]))

    def _one_target(self, target: Any, what: str) -> Tensor:
        y = _key(target)
        if y is None:
            raise TypeError(f"{what} takes one tensor as target, got {target!r}{at(user_location())}")
        return y

    def _rows(
        self, y: Tensor, seeds: Callable[[Tensor], Tensor], leaves: list[Any], vectorized: bool
    ) -> list[Tensor | None]:
        """Per source its cotangents for each seed, stacked; None where nothing connects."""
        records = self._begin(state.mode)
        check_sources(leaves, [y], records)
        keys = [_key(leaf) for leaf in leaves]
        wanted = [
            k.serial if k is not None and (k.serial in self.tracked or k is y) else NOBODY for k in keys
        ]
        rows: list[Tensor | None] = [None] * len(keys)
        if any(wanted) and y.np_dtype.kind in DIFFERENTIABLE:
            rows = jacobians.rows_of(records, y, seeds(y), wanted, vectorized)
        if not self.persistent:
            self._keep(rows, records, [step_of(r) for r in records] if self.large else None, None)
            self.records, self.tracked = [], set()
        return rows

    def explain(self, target: Any, source: Any) -> explaining.Explanation:
        """Why the gradient of `target` with respect to `source` is None, zero or NaN.

        Parameters
        ----------
        target, source : Tensor or Variable

        Returns
        -------
        Explanation
            Its `cause`, `file` and `line`, the nearest value that does depend on the source, and what to write
            instead; ``print`` shows all of it. A gradient of which a part was lost is told too. The cause of one that
            is zero or NaN is looked for in the values, of which a tape that is not persistent gives large ones away
            once its gradient is computed.

        Raises
        ------
        TypeError
            For a list or another structure of tensors.

        Examples
        --------
        >>> import tracejit as tf
        >>> x = tf.constant(3.0)
        >>> with tf.GradientTape() as tape:
        ...     y = x * x
        >>> tape.gradient(y, x) is None
        True
        >>> tape.explain(y, x).cause
        'not watched'
        """
        y, x = _key(target), _key(source)
        if y is None or x is None:
            other = source if x is None else target
            raise TypeError(
                f"explain takes tensors and Variables, got {type(other).__name__}{at(user_location())}"
            )
        if self._used and self._spent is None and not self.persistent:
            text = (
                "the gradients that the tape has given are neither None nor zero, and it keeps nothing more"
            )
            return explaining.Explanation("connected", text)
        records, tracked = self._spent or (self.records, self.tracked)
        history = self._history or History()
        name = source.name if isinstance(source, Variable) else "the source"
        steps, events = history.all_steps(records), tuple(history.events)
        question = explaining.Question(
            y, x, steps, events, tracked, self._started, name, COMPUTED.get(x.serial)
        )
        explanation = explaining.explain(question)
        if explanation.cause != "connected" or state.interpreter is not None:
            return (explanation.cause == "connected" and explaining.partly_lost(question)) or explanation
        if records and records[0].__class__ is Step:
            vanished = explaining.vanished_unseen(question) if self._weights is not None else None
        else:
            with pausing():
                seed = (self._weights or {}).get(y.serial)
                seeds = {y.serial: ones(state.mode, y) if seed is None else seed}
                vanished = vanishing.vanishing(records, seeds, y, x.serial)
        if vanished is not None:
            return explaining.Explanation(*vanished)
        text = f"the gradient with respect to {name} is finite and not all zero"
        return explaining.partly_lost(question) or explaining.Explanation("connected", text)

    def _warn(self, target: Any, sources: list[Any]) -> None:
        for y in flatten(target)[0]:
            for x in sources:
                if _key(x) is None:
                    text = f"the source is of the type {type(x).__name__}, which no tape follows"
                    remedy = (
                        f"{at(user_location())}\n  remedy: take a Variable, or a tensor that the tape watches"
                    )
                    warn(f"gradient is None: {text}{remedy}", GradientWarning)
                elif _key(y) is not None:
                    warn(f"gradient is None: {self.explain(y, x)}", GradientWarning)

    def _begin(self, mode: Mode) -> list[Any]:
        """Check that the tape may be used now; returns its records."""
        if self._used:
            raise RuntimeError(f"{_USED}: write GradientTape(persistent=True){at(user_location())}")
        if mode.attempt is not None:
            remember(self, self._saved)
        if self._recording:
            if self.persistent:
                warn(
                    "Calling GradientTape.gradient on a persistent tape inside its context is significantly less "
                    "efficient than calling it outside the context (it causes the gradient ops to be recorded on the "
                    "tape, leading to increased CPU and memory usage). Only call GradientTape.gradient inside the "
                    "context if you actually want to trace the gradient in order to compute higher order derivatives.",
                    GradientWarning,
                )
            else:
                self._stop()
        self._used = not self.persistent
        return self.records

    def _seeds(self, mode: Mode, target: Any, output_gradients: Any) -> dict[int, Any]:
        if target.__class__ is Tensor and output_gradients is None:  # what most calls come to
            serial = target.serial
            connects = serial in self.tracked and target.np_dtype.kind in DIFFERENTIABLE
            return {serial: ones(mode, target)} if connects else {}
        leaves, structure = flatten(target)
        weights = leaves_like(structure, output_gradients)
        seeds: dict[int, Any] = {}
        for leaf, weight in zip(leaves, weights, strict=True):
            key = _key(leaf)
            if key is None or key.np_dtype.kind not in DIFFERENTIABLE:
                continue
            if key.serial not in self.tracked and not isinstance(leaf, Variable):
                continue
            g = ones(mode, key) if weight is None else _weight(weight, key)
            seeds[key.serial] = g if key.serial not in seeds else add_cotangents(seeds[key.serial], g)
        return seeds


def _given(g: Any, source: Any) -> Any:
    """A cotangent as users get it: a Tensor, or None; rows of a Variable stay rows."""
    if g is None or g.__class__ is Tensor:
        return g
    return rows_or_dense(g) if isinstance(source, Variable) else dense(g)


def looks_spoiled(g: Any) -> bool:
    """Is it all zero, or does it begin with NaN? What costs no more than a look at most gradients."""
    if g.__class__ is not Tensor:
        parts = (
            () if g is None else (*(piece[-1] for piece in g.pieces), *(() if g.base is None else (g.base,)))
        )
        return bool(parts) and all(map(looks_spoiled, parts))
    array = g._payload
    if array.__class__ is not np.ndarray or not array.size:
        return False
    first = array.item(0)
    if first:  # NaN, too
        return first != first
    return not array.item(-1) and not np.count_nonzero(array)


def _key(leaf: Any) -> Tensor | None:
    """What stands for a target or source on the tape; None for what can only be a constant."""
    if isinstance(leaf, Tensor):
        return as_tensor(leaf)
    if isinstance(leaf, Either):
        raise Untraceable(
            "this asks about one of several Variables, which one being known only when the compiled function runs: ask "
            f"for all of them, and choose{at(user_location())}"
        )
    return leaf.key() if isinstance(leaf, Variable) else None


def _weight(weight: Any, target: Tensor) -> Tensor:
    g = as_tensor(weight, target.np_dtype)
    g = g if g.np_dtype == target.np_dtype else ops.cast(g, dtype=target.np_dtype)
    try:
        return g if g.shape == target.shape else ops.broadcast_to(g, shape=target.shape)
    except ShapeError:
        raise ShapeError(
            f"output_gradients of {g.spec} for a target of {target.spec}{at(user_location())}"
        ) from None


def _operators_are_hot(very: bool) -> None:
    """Let machine code do what operators of eager tensors do, and write what tapes keep of them.

    Unless they are `very` hot nothing is made, and no compiler loaded. Where nothing can be made they stay in Python.
    """
    if very or "tracejit.compiler.cache" in sys.modules:
        with suppress(Exception):
            operator_lane.use(GradientTape, make=very)


seams.operators_are_hot.provide(_operators_are_hot)
