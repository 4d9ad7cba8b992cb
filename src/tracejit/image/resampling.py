"""What each new pixel takes of the old ones along one axis: matrices ``[new, old]`` whose rows sum to 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray


def _lanczos(radius: float) -> Callable[[Array], Array]:
    return lambda x: np.sinc(x) * np.sinc(x / radius)


def _keys(x: Array) -> Array:
    near = (1.5 * x - 2.5) * x * x + 1.0
    return np.where(x < 1.0, near, ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0)


def _mitchell(x: Array) -> Array:
    near = (7.0 / 6.0 * x - 2.0) * x * x + 8.0 / 9.0
    return np.where(x < 1.0, near, ((-7.0 / 18.0 * x + 2.0) * x - 10.0 / 3.0) * x + 16.0 / 9.0)


#: By name: how far a pixel reaches, and its weight at a distance. Keys, "Cubic convolution interpolation for digital
#: image processing" (1981), with a = -1/2; Mitchell, Netravali, "Reconstruction filters in computer graphics" (1988),
#: with B = C = 1/3.
KERNELS: dict[str, tuple[float, Callable[[Array], Array]]] = {
    "bilinear": (1.0, lambda x: 1.0 - x),
    "bicubic": (2.0, _keys),
    "lanczos3": (3.0, _lanczos(3.0)),
    "lanczos5": (5.0, _lanczos(5.0)),
    "gaussian": (1.5, lambda x: np.exp(-2.0 * x * x)),
    "mitchellcubic": (2.0, _mitchell),
}


def sampled(method: str, old: int, new: int, antialias: bool) -> Array:
    """Return the weights by a kernel; with `antialias` it is as much wider as pixels become larger."""
    radius, kernel = KERNELS[method]
    stretch = max(old / new, 1.0) if antialias else 1.0
    centres = (np.arange(new) + 0.5) * (old / new)
    distance = np.abs(np.arange(old) + 0.5 - centres[:, None]) / stretch
    weights = np.where(distance < radius, kernel(np.minimum(distance, radius)), 0.0)
    return weights / weights.sum(axis=1, keepdims=True)


def covered(old: int, new: int) -> Array:
    """Return the part of each new pixel that each old one covers."""
    edges = np.arange(new + 1) * (old / new)
    places = np.arange(old)
    ends = np.minimum(edges[1:, None], places + 1.0)
    overlap = np.maximum(ends - np.maximum(edges[:-1, None], places), 0.0)
    return overlap / (old / new)


def weights(method: str, old: int, new: int, antialias: bool) -> Array:
    """Return the weights of a method: ``"area"`` or a kernel's name."""
    return covered(old, new) if method == "area" else sampled(method, old, new, antialias)
