"""Which optimizer a name means."""

from __future__ import annotations

from typing import Any

from ..errors import at_user_line
from ..models.configuration import deserialize_keras_object
from .adadelta import Adadelta
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .adam_like import Adamax, Lion, Nadam
from .ftrl import Ftrl
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD

_CLASSES = (SGD, RMSprop, Adam, AdamW, Adadelta, Adagrad, Adamax, Nadam, Lion, Ftrl)


def get(identifier: Any) -> Optimizer:
    """The optimizer meant by `identifier`, a name (``"adam"``, ``"SGD"``), or the one given; ValueError for others.

    A dict describes one as :func:`serialize` does.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.optimizers.get("rmsprop").name
    'rm_sprop'
    """
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, dict):
        return deserialize_keras_object({"module": "tracejit.optimizers", **identifier})
    names = {c.__name__.lower(): c for c in _CLASSES}
    if not isinstance(identifier, str) or identifier.lower() not in names:
        raise ValueError(
            f"no optimizer is called {identifier!r}; there are {', '.join(sorted(names))}{at_user_line()}"
        )
    return names[identifier.lower()]()
