"""Activation functions: ``tracejit.activations``. Names only."""

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
from .ops.elementwise.transcendental import exp as exponential
from .ops.elementwise.transcendental import relu, sigmoid, softplus, tanh

swish = silu
