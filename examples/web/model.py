"""A curve and its loss, as Python functions: a network with two hidden layers, whose parameters are one vector."""

from __future__ import annotations

import tracejit as tj

WIDTH = 16
SIZES = (WIDTH, WIDTH, WIDTH * WIDTH, WIDTH, WIDTH, 1)
PARAMETERS = sum(SIZES)


def curve(theta, x):
    w1, b1, w2, b2, w3, b3 = tj.split(theta, SIZES)
    hidden = tj.tanh(x[:, None] * w1 + b1)
    hidden = tj.tanh(hidden @ tj.reshape(w2, [WIDTH, WIDTH]) + b2)
    return tj.reduce_sum(hidden * w3, axis=1) + b3


def loss(theta, x, y):
    return tj.reduce_mean((curve(theta, x) - y) ** 2)
