"""Which dtypes layers compute in and keep their weights in: dtype policies, for ``tracejit.keras.mixed_precision``."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tf

from ..errors import at_user_line

_MIXED = "mixed_"
_SHORT = ("float16", "bfloat16")


class DTypePolicy:
    """The dtype in which a layer computes, and the one of its weights.

    Parameters
    ----------
    name : str
        A dtype, which both are, or ``"mixed_float16"`` or ``"mixed_bfloat16"``: computed in that, with weights in
        float32.

    Attributes
    ----------
    compute_dtype, variable_dtype : str
        The names of both.

    Examples
    --------
    >>> import tracejit as tf
    >>> policy = tf.keras.mixed_precision.Policy("mixed_float16")
    >>> policy.compute_dtype, policy.variable_dtype
    ('float16', 'float32')
    """

    def __init__(self, name: str):
        mixed = isinstance(name, str) and name.startswith(_MIXED)
        if mixed and name.removeprefix(_MIXED) not in _SHORT:
            known = " and ".join(f"{_MIXED}{short}" for short in _SHORT)
            raise ValueError(f"a mixed policy is one of {known}, got {name!r}{at_user_line()}")
        self.name: str = name if mixed else tf.as_dtype(name).name
        self.compute: tf.DType = tf.as_dtype(self.name.removeprefix(_MIXED))
        self.variables: tf.DType = tf.as_dtype("float32") if mixed else self.compute

    @property
    def compute_dtype(self) -> str:
        """The name of the dtype that layers compute in."""
        return self.compute.name

    @property
    def variable_dtype(self) -> str:
        """The name of that of their weights."""
        return self.variables.name

    def get_config(self) -> dict[str, str]:
        """Its name."""
        return {"name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, str]) -> DTypePolicy:
        """The policy that :meth:`get_config` has described in `config`."""
        return cls(config["name"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DTypePolicy) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f'<DTypePolicy "{self.name}">'


_chosen: list[DTypePolicy] = []


def set_global_policy(policy: Any) -> None:
    """Let layers that are made from now on have that `policy`, or one of that name, unless they are given their own.

    None stands for that of Python floats, which it is at the start.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.keras.mixed_precision.set_global_policy("mixed_float16")
    >>> tf.layers.Dense(3)(tf.ones((1, 2))).dtype
    tf.float16
    >>> tf.keras.mixed_precision.set_global_policy(None)
    """
    _chosen[:] = [] if policy is None else [policy_of(policy)]


def global_policy() -> DTypePolicy:
    """The policy of layers that are not given one.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.keras.mixed_precision.global_policy()
    <DTypePolicy "float32">
    """
    return _chosen[0] if _chosen else DTypePolicy(tf.as_dtype(float).name)


def policy_of(dtype: Any) -> DTypePolicy:
    """The policy meant by a policy, its name, or a dtype; that of all layers where it is None."""
    if dtype is None:
        return global_policy()
    if isinstance(dtype, DTypePolicy):
        return dtype
    return DTypePolicy(dtype if isinstance(dtype, str) else tf.as_dtype(dtype).name)


def is_short(dtype: tf.DType) -> bool:
    """Is it a float of two bytes?"""
    return dtype.is_floating and dtype.size == 2


def in_dtype(x: Any, wanted: tf.DType) -> Any:
    """A tensor of floats in the dtype `wanted`, if that or its own is of two bytes; anything else as it is."""
    if not isinstance(x, (tf.Tensor, tf.Variable)) or x.dtype is wanted:
        return x
    short = is_short(x.dtype) or is_short(wanted)
    return tf.cast(x, wanted) if short and x.dtype.is_floating and wanted.is_floating else x


def as_computed(x: Any, wanted: tf.DType) -> Any:
    """A tensor of floats in the dtype `wanted`, anything else as it is."""
    if not isinstance(x, (tf.Tensor, tf.Variable)) or x.dtype is wanted:
        return x
    return tf.cast(x, wanted) if x.dtype.is_floating and wanted.is_floating else x


def labels_as(y: Any, y_pred: Any) -> Any:
    """Labels no wider than predictions: those of NumPy are often of eight bytes."""
    if not all(isinstance(t, (tf.Tensor, np.ndarray)) for t in (y, y_pred)):
        return y
    wider = y.dtype.kind == y_pred.dtype.kind == "f" and y.dtype.itemsize > y_pred.dtype.itemsize
    return tf.cast(y, dtype=y_pred.dtype) if wider else y


class Weight(tf.Variable):
    """A Variable that is read in the dtype in which the layer computes that is being called."""

    __slots__ = ()

    def __tensor__(self) -> tf.Tensor:
        value, wanted = self.as_kept(), tf.config.weights_dtype
        return in_dtype(value, tf.as_dtype(wanted)) if wanted else value

    def __copy__(self) -> Weight:
        return Weight(np.array(self.array), self.trainable, name=self.name.removesuffix(":0"))

    def __reduce__(self) -> tuple[Any, ...]:
        return _weight, (np.array(self.array), self.trainable, self.name.removesuffix(":0"))


def _weight(array: np.ndarray, trainable: bool, name: str) -> Weight:
    return Weight(array, trainable, name=name)
