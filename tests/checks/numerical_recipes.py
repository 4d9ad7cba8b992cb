"""What programs for NumPy take from other files: functions that fill arrays, and classes whose methods do."""

from __future__ import annotations

import numpy as np


def euler(f, y0, step, count):
    y = np.zeros(count + 1)
    y[0] = y0
    for k in range(count):
        y[k + 1] = y[k] + step * f(y[k])
    return y


class Spline:
    """A natural cubic spline through points one apart."""

    def __init__(self, y):
        self.y = y
        self.m = np.linalg.solve(self.__matrix(len(y)), self.__right_side())

    def __matrix(self, n):
        a = np.eye(n)
        for i in range(1, n - 1):
            a[i, i - 1 : i + 2] = [1.0, 4.0, 1.0]
        return a

    def __right_side(self):
        b = np.zeros(len(self.y))
        for i in range(1, len(b) - 1):
            b[i] = 6.0 * (self.y[i + 1] - 2.0 * self.y[i] + self.y[i - 1])
        return b

    def __call__(self, x):
        i = int(x)
        t = x - i
        bend = self.m[i] * ((1 - t) ** 3 - (1 - t)) + self.m[i + 1] * (t**3 - t)
        return (1 - t) * self.y[i] + t * self.y[i + 1] + bend / 6.0


class Momentum:
    """Gradient descent with momentum, which keeps its velocity."""

    def __init__(self, size, rate):
        self.rate = rate
        self.velocity = np.zeros(size)
        self.weights = np.ones(size)

    def step(self, slope):
        self.velocity *= 0.9
        self.velocity += self.rate * slope
        self.weights -= self.velocity
