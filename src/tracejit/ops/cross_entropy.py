"""Cross entropies of logits as single ops, which eager programs call instead of a dozen: one kernel, one record.

Each has its slope as an op too, so that a backward is one kernel as well; the slope's own derivatives are written with
ordinary ops. Compiled, they are their parts. Classes are the last axis; every other axis is one of examples.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..core.autodiff.batching import Batch
from ..core.dim import same
from ..core.errors import require
from ..core.op import defop, ops, real, sample
from ..core.spec import TensorSpec
from ..core.tracing.dispatch import state
from .arrays.reduce import expand
from .lowering import Compose

INT64 = np.dtype(np.int64)
#: Classes that are few, and examples of them that are many.
FEW_CLASSES, MANY = 16, 32


# ---- parts, written with ops ----------------------------------------------------------------------------


def _last(x: Any) -> tuple[int]:
    return (len(x.shape) - 1,)


def _over_classes(x: Any, like: Any) -> Any:
    """One number per example, for each of its classes."""
    return expand(x, like, _last(like))


def _sum(x: Any) -> Any:
    return ops.reduce_sum(x, axis=_last(x))


def _shifted(x: Any) -> Any:
    """Logits less the largest of their example: what the exponential takes without overflow."""
    return x - _over_classes(ops.stop_gradient(ops.reduce_max(x, axis=_last(x))), x)


def _softmax(x: Any) -> Any:
    e = ops.exp(_shifted(x))
    return e / _over_classes(_sum(e), e)


def _log_softmax(x: Any) -> Any:
    s = _shifted(x)
    return s - _over_classes(ops.log(_sum(ops.exp(s))), s)


def _one_hot(labels: Any, logits: Any) -> Any:
    """One at the class of each example, else zero, like the logits."""
    classes = ops.iota(size=logits.shape[-1], dtype=INT64)
    mine = ops.equal(_over_classes(ops.cast(labels, dtype=INT64), logits), classes)
    return ops.cast(mine, dtype=logits.dtype)


def _chosen(x: Any, labels: Any) -> Any:
    """``x[..., label]``; a negative label is refused as one too large is."""
    rank = len(labels.shape)
    beyond = ops.cast(ops.size_value(size=x.shape[-1]), dtype=INT64)
    wide = ops.cast(labels, dtype=INT64)
    return ops.gather(x, ops.where(ops.less(wide, 0), beyond, wide), axis=rank, batch_dims=rank)


def _softmax_pulled(h: Any, g: Any, p: Any) -> Any:
    """Through a softmax `p`, weighted by `g` per example, back to its logits."""
    return _over_classes(g, p) * p * (h - _over_classes(_sum(h * p), p))


# ---- kernels --------------------------------------------------------------------------------------------


def _by_class(x: np.ndarray) -> np.ndarray:
    """``[classes, examples]``; few classes of many examples lie one behind the other, as NumPy likes long rows."""
    turned = x.T if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1]).T
    classes, examples = turned.shape
    return np.ascontiguousarray(turned) if classes <= FEW_CLASSES and examples >= MANY else turned


def _scores(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The shifted logits by class, their exponentials, and the sum of these per example."""
    logits = _by_class(x)
    shifted = logits - np.maximum.reduce(logits, axis=0, initial=-np.inf)
    e = np.exp(shifted)
    return shifted, e, np.add.reduce(e, axis=0, dtype=x.dtype)


@lru_cache(maxsize=8)
def _counted_once(examples: int) -> np.ndarray:
    counted = np.arange(examples)
    counted.flags.writeable = False
    return counted


def _counted(examples: int) -> np.ndarray:
    """0, 1, …: the same array for all batches of a size that is not large."""
    return _counted_once(examples) if examples <= 1024 else np.arange(examples)


def _places(scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The scores made flat, without a copy, and where in them the label's is of each example."""
    flat, (classes, examples) = labels.reshape(-1), scores.shape
    if examples and np.maximum.reduce(flat.astype(np.uint64)) >= classes:
        wrong = flat[(flat < 0) | (flat >= classes)][0]
        raise IndexError(f"index {wrong} is out of bounds for the last axis with size {classes}")
    own = flat.astype(np.int64, copy=False)
    if scores.flags.c_contiguous:
        return scores.reshape(-1), own * examples + _counted(examples)
    return scores.T.reshape(-1), own + _counted(examples) * classes


def _sparse_kernel(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    shifted, _, total = _scores(x)
    scores, places = _places(shifted, labels)
    return np.negative(scores[places] - np.log(total)).reshape(labels.shape)


def _sparse_slope_kernel(g: np.ndarray, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    _, e, total = _scores(x)
    e /= total
    scores, places = _places(e, labels)
    scores[places] -= 1
    e *= g.reshape(-1)
    return np.ascontiguousarray(e.T).reshape(x.shape)


def _dense_kernel(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    shifted, _, total = _scores(x)
    products = _by_class(labels) * (shifted - np.log(total))
    return np.negative(np.add.reduce(products, axis=0, dtype=x.dtype)).reshape(x.shape[:-1])


def _dense_slope_kernel(g: np.ndarray, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    _, e, total = _scores(x)
    wanted = _by_class(labels)
    e *= np.add.reduce(wanted, axis=0, dtype=x.dtype) / total
    e -= wanted
    e *= g.reshape(-1)
    return np.ascontiguousarray(e.T).reshape(x.shape)


# ---- class numbers as labels ----------------------------------------------------------------------------


def _with_lanes(name: str) -> Any:
    """The rule for many lanes: they are more examples."""

    def rule(batch: Batch, *inputs: Any) -> Any:
        return getattr(ops, name)(*batch.all_spread(inputs))

    return rule


def _examples(logits: TensorSpec, labels: TensorSpec) -> TensorSpec:
    """The spec of one number per example; requires that the labels are class numbers of them."""
    require(len(logits.shape) > 0, "logits have a last axis, of classes")
    lead = logits.shape[:-1]
    fits = len(labels.shape) == len(lead) and all(same(a, b) for a, b in zip(labels.shape, lead, strict=True))
    require(fits and labels.dtype.kind in "iu", f"labels of {labels} for logits of {logits}")
    return real(logits).with_shape(lead)


@defop(
    vjp=(
        lambda g, y, logits, labels: ops.sparse_cross_entropy_slope(g, logits, labels),
        None,
    ),
    kernel=_sparse_kernel,
    lower=Compose(lambda logits, labels: ops.negative(_chosen(_log_softmax(logits), labels))),
    batch=_with_lanes("sparse_cross_entropy"),
    traits=("may_fail", "internal"),
    samples=(
        sample((4, 5), (4,), dtypes=("float", "index:5")),
        sample((2, 3, 4), (2, 3), dtypes=("float", "index:4")),
        sample((5,), (), dtypes=("float", "index:5")),
    ),
)
def sparse_cross_entropy(logits: TensorSpec, labels: TensorSpec) -> TensorSpec:
    """Minus the logarithm of the softmax of `logits` at the class number `labels` of each example.

    The shape of `labels`, the dtype of `logits`. OutOfRange for a label that is no class, ShapeError for labels of
    another shape than the logits without their last axis.
    """
    return _examples(logits, labels)


def _sparse_slope(g: Any, logits: Any, labels: Any) -> Any:
    return _over_classes(g, logits) * (_softmax(logits) - _one_hot(labels, logits))


@defop(
    vjp=(
        lambda h, y, g, logits, labels: _sum(h * (_softmax(logits) - _one_hot(labels, logits))),
        lambda h, y, g, logits, labels: _softmax_pulled(h, g, _softmax(logits)),
        None,
    ),
    kernel=_sparse_slope_kernel,
    lower=Compose(_sparse_slope),
    batch=_with_lanes("sparse_cross_entropy_slope"),
    traits=("may_fail", "internal"),
    samples=(
        sample((4,), (4, 5), (4,), dtypes=("float", "float", "index:5")),
        sample((), (5,), (), dtypes=("float", "float", "index:5")),
    ),
)
def sparse_cross_entropy_slope(g: TensorSpec, logits: TensorSpec, labels: TensorSpec) -> TensorSpec:
    """The cotangent of the logits for the cotangent `g` of their :func:`sparse_cross_entropy`."""
    require(_examples(logits, labels) is g, f"a cotangent of {g} for logits of {logits}")
    return logits


# ---- distributions as labels ----------------------------------------------------------------------------


def _distributions(logits: TensorSpec, labels: TensorSpec) -> TensorSpec:
    require(labels is logits and len(logits.shape) > 0, f"labels of {labels} for logits of {logits}")
    return real(logits).with_shape(logits.shape[:-1])


@defop(
    vjp=(
        lambda g, y, logits, labels: ops.dense_cross_entropy_slope(g, logits, labels),
        lambda g, y, logits, labels: ops.negative(_over_classes(g, logits) * _log_softmax(logits)),
    ),
    kernel=_dense_kernel,
    lower=Compose(lambda logits, labels: ops.negative(_sum(labels * _log_softmax(logits)))),
    batch=_with_lanes("dense_cross_entropy"),
    traits=("internal",),
    samples=(sample((4, 5), (4, 5)), sample((2, 3, 4), (2, 3, 4)), sample((5,), (5,))),
)
def dense_cross_entropy(logits: TensorSpec, labels: TensorSpec) -> TensorSpec:
    """Minus the sum of `labels` times the logarithm of the softmax of `logits`, over the classes of each example.

    The shape without the last axis, the dtype of both; ShapeError where their shapes differ.
    """
    return _distributions(logits, labels)


def _dense_slope(g: Any, logits: Any, labels: Any) -> Any:
    return _over_classes(g, logits) * (_softmax(logits) * _over_classes(_sum(labels), labels) - labels)


def _to_labels(h: Any, g: Any, logits: Any) -> Any:
    return _over_classes(g, logits) * (_over_classes(_sum(h * _softmax(logits)), logits) - h)


@defop(
    vjp=(
        lambda h, y, g, logits, labels: _sum(
            h * (_softmax(logits) * _over_classes(_sum(labels), labels) - labels)
        ),
        lambda h, y, g, logits, labels: _softmax_pulled(h, g * _sum(labels), _softmax(logits)),
        lambda h, y, g, logits, labels: _to_labels(h, g, logits),
    ),
    kernel=_dense_slope_kernel,
    lower=Compose(_dense_slope),
    batch=_with_lanes("dense_cross_entropy_slope"),
    traits=("internal",),
    samples=(sample((4,), (4, 5), (4, 5)), sample((), (5,), (5,))),
)
def dense_cross_entropy_slope(g: TensorSpec, logits: TensorSpec, labels: TensorSpec) -> TensorSpec:
    """The cotangent of the logits for the cotangent `g` of their :func:`dense_cross_entropy`."""
    require(_distributions(logits, labels) is g, f"a cotangent of {g} for logits of {logits}")
    return logits


def in_one(logits: Any, labels: Any) -> bool:
    """May one of these ops be called on them? Not in traces, which get the parts, nor on what the ops refuse."""
    if state.mode.interpreter is not None or logits.is_symbolic or labels.is_symbolic:
        return False
    scores, classes = logits.array, labels.array  # whose shapes are tuples, which are quicker
    if scores.dtype.kind != "f" or not scores.shape:
        return False
    if classes.dtype is scores.dtype:
        return classes.shape == scores.shape
    return classes.dtype.kind in "iu" and classes.shape == scores.shape[:-1]
