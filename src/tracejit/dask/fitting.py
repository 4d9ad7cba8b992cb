"""`fit`: a network on Dask arrays, with the optimizer and the loss that it was compiled with."""

from __future__ import annotations

from typing import Any

import dask.array as da

import tracejit as tf

from ..callbacks.callback import History
from ..core.errors import at, user_location
from .trainer import Trainer


def fit(model: tf.keras.Model, x: da.Array, y: da.Array | None = None, **options: Any) -> History:
    """Train a network on Dask arrays: gradients are computed where the data are, the network stays here.

    Parameters
    ----------
    model : Model
        Compiled with an optimizer and a loss. Its metrics are not computed; layers that draw random numbers or assign
        Variables while they train, as Dropout and BatchNormalization do, are refused.
    x, y : dask.array.Array
        Examples and labels, cut alike along their rows.
    **options
        As for :meth:`Trainer.fit`: ``epochs``, ``blocks_per_step``, ``shuffle``, ``seed``, ``checkpoint`` …

    Returns
    -------
    History
        Which is the network's ``history`` too.

    Raises
    ------
    RuntimeError
        The network was not compiled.
    NotExportable
        The network assigns Variables or draws random numbers while it trains.

    Examples
    --------
    >>> import dask.array as da, numpy as np, tracejit as tf, tracejit.dask as td
    >>> model = tf.Sequential([tf.layers.Dense(1, kernel_initializer="zeros")])
    >>> model.compile(optimizer="sgd", loss="mse")
    >>> x = da.from_array(np.ones((4, 2), np.float32), chunks=(2, 2))
    >>> history = td.fit(model, x, x[:, :1], epochs=3, verbose=0)
    >>> len(history.history["loss"])
    3
    """
    if model.optimizer is None:
        raise RuntimeError(f"say how to train first: compile(optimizer, loss){at(user_location())}")
    if not model.built:
        model(tf.zeros((1, *x.shape[1:]), tf.as_dtype(x.dtype)), training=False)

    def loss(x: Any, y: Any = None) -> Any:
        return model.compute_loss(x, y, model(x, training=True))

    trainer = Trainer(loss, model.trainable_variables, model.optimizer)
    model.history = trainer.fit(*((x,) if y is None else (x, y)), **options)
    return model.history
