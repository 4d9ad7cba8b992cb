"""The short and the long way of eager calls compared: what a call gives, or how it fails, by either."""

from __future__ import annotations

import re

import numpy as np

import tracejit as tf

DTYPES = ["float64", "float32", "int64", "int8", "uint16", "bool", "complex64"]


def outcome(f, fast):
    """What a call gives, or the kind and text of its error."""
    with tf.settings(fast=fast):
        try:
            results = f()
        except Exception as error:
            return type(error), re.sub(r"np\.\w+\(([^()]*)\)", r"\1", str(error))
    arrays = [np.asarray(r) for r in (results if isinstance(results, (list, tuple)) else [results])]
    return type(results), [(a.dtype, a.shape, a.tobytes(), a.flags.writeable) for a in arrays]


def same(f):
    fast, slow = outcome(f, True), outcome(f, False)
    assert fast == slow


def random_array(rng, shape, dtype):
    values = rng.normal(size=shape) * 3
    special = rng.random(size=shape)
    if np.dtype(dtype).kind in "fc":
        values = np.where(special < 0.1, np.nan, np.where(special < 0.2, -0.0, values))
        values = np.where(special > 0.95, np.inf, values)
    else:
        values = np.abs(values)
    return values.astype(dtype)
