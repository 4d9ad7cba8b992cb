"""Activation functions: ``tracejit.activations``. Names only."""

from . import exp as exponential
from . import relu, sigmoid, softplus, tanh
from .models.configuration import deserialize_keras_object as deserialize
from .models.configuration import serialize_keras_object as serialize
from .nn.activations import (
    elu,
    gelu,
    get,
    hard_sigmoid,
    leaky_relu,
    linear,
    log_softmax,
    mish,
    relu6,
    selu,
    silu,
    softmax,
    softsign,
)

__all__ = [
    "exponential",
    "relu",
    "sigmoid",
    "softplus",
    "tanh",
    "elu",
    "gelu",
    "get",
    "hard_sigmoid",
    "leaky_relu",
    "linear",
    "log_softmax",
    "mish",
    "relu6",
    "selu",
    "serialize",
    "deserialize",
    "silu",
    "softmax",
    "softsign",
    "swish",
]

swish = silu
