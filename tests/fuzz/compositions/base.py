"""Small smooth functions, the leaves of compositions, as text."""

from __future__ import annotations

import random

Shape = tuple[int, ...]

_UNARY = [
    *("tf.sin({a})", "tf.cos({a})", "tf.tanh({a})", "tf.exp(0.3 * {a})", "tf.sigmoid({a})", "tf.atan({a})"),
    *("tf.log(1.5 + tf.square({a}))", "tf.sqrt(1.0 + tf.square({a}))", "tf.math.softplus({a})"),
    *("tf.math.erf({a})", "1.0 / (1.0 + {a} * {a})", "0.2 * {a} ** 3", "0.5 * {a} ** 2", "-{a}", "0.7 - {a}"),
    *("tf.stop_gradient({a}) * {a}",),
]
_BINARY = [
    *(
        "{a} * {b}",
        "{a} + 0.5 * {b}",
        "{a} - {b}",
        "{a} / (2.5 + tf.cos({b}))",
        "tf.sin({a}) * tf.exp(0.2 * {b})",
    ),
    *("tf.tanh({a} * {b} + 0.1)",),
]
#: Of vectors of `n` elements: square matrices are made where they are needed.
_VECTOR = [
    *(
        "tf.cumsum({a})",
        "{a}[::-1]",
        "tf.nn.softmax({a})",
        "{a} - tf.reduce_mean({a})",
        "tf.einsum('ij,j->i', W{n}, {a})",
    ),
    *(
        "tf.roll({a}, 1, 0)",
        "{a} * {a}[0]",
        "tf.gather({a}, [*range({n})][::-1])",
        "tf.where(M{n}, {a}, tf.sin({a}))",
    ),
    *(
        "tf.concat([{a}[1:], {a}[:1]], 0)",
        "tf.linalg.solve(2.0 * E{n} + 0.2 * W{n} * {a}[0], {a}[:, None])[:, 0]",
    ),
    *("tf.matmul(W{n}, {a}[:, None])[:, 0]", "tf.stack([{a}[k] * {a}[k - 1] for k in range({n})])"),
]
_TO_SCALAR = [
    *(
        "tf.reduce_sum({a} * {a})",
        "tf.reduce_mean(tf.sin({a}))",
        "tf.reduce_logsumexp({a})",
        "tf.norm({a} + 3.0)",
    ),
    *("tf.reduce_sum({a}) * tf.reduce_mean({a})",),
]

#: What programs may name besides: constants by size, a Variable, and the gradient of a tape.
HEADER = """\
W{n} = tf.constant(np.sin(np.arange({n} * {n}, dtype=float) + 1.0).reshape({n}, {n}), tf.float64)
E{n} = tf.constant(np.eye({n}), tf.float64)
M{n} = np.arange({n}) % 2 == 0
"""


def small_function(rng: random.Random, name: str, given: Shape) -> tuple[list[str], Shape]:
    """The lines of ``name(x)`` for an `x` of this shape, and the shape of its result."""
    lines = [f"def {name}(x):"]
    known = ["x"]
    for k in range(rng.randint(1, 3)):
        pool = _BINARY * 2 + _UNARY + (_VECTOR if len(given) == 1 else [])
        text = rng.choice(pool).format(a=rng.choice(known), b=rng.choice(known), n=given[0] if given else 0)
        lines.append(f"    a{k} = {text}")
        known.append(f"a{k}")
    last = known[-1]
    kind = rng.random()
    if given and kind < 0.6:
        lines.append(f"    return {rng.choice(_TO_SCALAR).format(a=last)}")
        return lines, ()
    if not given and kind < 0.3:
        lines.append(f"    return tf.stack([{last}, 0.5 * x * x])")
        return lines, (2,)
    if not given and kind < 0.4:
        lines.append(f"    return V * {last}")
        return lines, ()
    lines.append(f"    return {last} + 0.3 * x")
    return lines, given
