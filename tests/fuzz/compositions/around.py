"""What programs are made of besides small functions: transforms and control flow around a function, as text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from .base import Shape


@dataclass(frozen=True)
class Around:
    """A transform: its text with ``{f}`` for what is inside and ``{h}`` for itself.

    Attributes
    ----------
    shapes : callable
        From the shapes that the inside takes and returns to those of the whole; None where it does not fit.
    """

    name: str
    text: str
    shapes: Callable[[Shape, Shape], tuple[Shape, Shape] | None]
    weight: float = 1.0


def _scalar(s: Shape, o: Shape) -> tuple[Shape, Shape] | None:
    return (s, s) if o == () else None


def _like_argument(s: Shape, o: Shape) -> tuple[Shape, Shape]:
    return s, s


def _kept(s: Shape, o: Shape) -> tuple[Shape, Shape]:
    return s, o


def _def(text: str) -> str:
    return "def {h}(x):\n" + textwrap.indent(textwrap.dedent(text).strip("\n"), "    ")


def _tape(method: str) -> str:
    return _def(f"""
        with tf.GradientTape(persistent={method == "tape.jacobian"}) as tape:
            tape.watch(x)
            y = {{f}}(x)
        return {method}(y, x, unconnected_gradients="zero")
    """)


AROUND = [
    Around("grad", "{h} = tf.grad({f})", _scalar, 2.0),
    Around("value_and_grad", _def("y, d = tf.value_and_grad({f})(x)\nreturn y * d"), _scalar, 1.5),
    Around("jvp", _def("y, t = tf.jvp({f}, [x], [tf.cos(x)])\nreturn 0.5 * y + t"), _kept, 1.5),
    Around("jvp", _def("return tf.jvp({f}, [x], [tf.ones_like(x)])[1]"), _kept),
    Around("vjp", _def("y, pull = tf.vjp({f}, x)\nreturn pull(tf.sin(y))[0]"), _like_argument, 1.5),
    Around(
        "vjp", _def("y, pull = tf.vjp({f}, x)\nreturn pull(y)[0] + pull(tf.ones_like(y))[0]"), _like_argument
    ),
    Around("linearize", _def("y, push = tf.linearize({f}, x)\nreturn push(x) + push(tf.cos(x)) * y"), _kept),
    Around("jacfwd", "{h} = tf.jacfwd({f})", lambda s, o: (s, o + s), 1.5),
    Around("jacrev", "{h} = tf.jacrev({f})", lambda s, o: (s, o + s), 1.5),
    Around("hessian", "{h} = tf.hessian({f})", lambda s, o: (s, s + s) if o == () else None),
    Around("hvp", _def("return tf.hvp({f}, [x], [tf.sin(x)])"), _scalar),
    Around("vmap", "{h} = tf.vmap({f})", lambda s, o: ((3, *s), (3, *o)), 1.5),
    Around("vmap", "{h} = tf.vmap({f}, in_axes=-1, out_axes=-1)", lambda s, o: ((*s, 2), (*o, 2)), 0.7),
    Around(
        "vmap", _def("return tf.vmap({f})(tf.stack([x, 0.5 * x, tf.sin(x)]))"), lambda s, o: (s, (3, *o)), 1.5
    ),
    Around(
        "vmap",
        _def(
            "xs = tf.stack([x, tf.cos(x)])\nreturn tf.vmap(lambda k, z: {f}(k * z), in_axes=(None, 0))(x, xs)"
        ),
        lambda s, o: (s, (2, *o)),
    ),
    Around("map_fn", _def("return tf.map_fn({f}, tf.stack([x, 0.5 * x]))"), lambda s, o: (s, (2, *o))),
    Around("function", "{h} = tf.function({f})", _kept, 2.0),
    Around("recompute", "{h} = tf.function({f}, memory='recompute')", _kept, 0.5),
    Around("checkpoint", "{h} = tf.checkpoint({f})", _kept, 1.5),
    Around(
        "scan",
        _def("""
            def step(c, w):
                y = {f}(x * w + 0.1 * c)
                return 0.5 * c + 0.2 * tf.tanh(tf.reduce_mean(y)), y * c
            c, ys = tf.scan(step, tf.constant(0.3, tf.float64), tf.constant([0.9, 1.0, 1.2], tf.float64))
            return tf.reduce_mean(ys, axis=0) + c
        """),
        _kept,
        1.5,
    ),
    Around(
        "scan",
        _def("""
            def step(c, z):
                return 0.5 * c + 0.3 * tf.sin({f}(z)), tf.reduce_mean(c)
            start = tf.zeros_like({f}(x))
            c, ys = tf.scan(step, start, tf.stack([x, tf.sin(x), 0.3 * x]), reverse=True)
            return c * tf.reduce_sum(ys)
        """),
        _kept,
    ),
    Around(
        "scan memory",
        _def("""
            def step(c, w):
                y = 0.4 * {f}(c * w)
                return 0.5 * c + 0.2 * tf.reduce_mean(y), y
            c, ys = tf.scan(step, x, tf.constant([0.9, 1.0, 1.2], tf.float64), memory={memory})
            return tf.reduce_sum(ys, axis=0) + tf.reduce_mean(c)
        """),
        _kept,
    ),
    Around(
        "fori_loop",
        _def("return tf.fori_loop(0, 3, lambda i, z: z * 0.5 + 0.3 * tf.tanh({f}(z)), x)"),
        lambda s, o: (s, s) if o in (s, ()) else None,
        2.0,
    ),
    Around(
        "fori_loop",
        _def("""
            def body(i, c):
                return c * 0.5 + {f}(x * tf.reduce_mean(tf.cos(c)) + 0.1 * tf.cast(i, tf.float64))
            return tf.fori_loop(1, 4, body, {f}(x))
        """),
        _kept,
    ),
    Around(
        "while_loop",
        _def("""
            def body(k, z):
                return k + 1.0, z * 1.7 + 0.1 * tf.reduce_mean({f}(0.1 * z))
            test = lambda k, z: tf.reduce_sum(z * z) + k < 9.0
            k, z = tf.while_loop(test, body, (tf.constant(0.0, tf.float64), x))
            return z * k
        """),
        _like_argument,
        1.5,
    ),
    Around(
        "while",
        _def("""
            y, k = {f}(x), 0
            while tf.reduce_sum(y * y) < 4.0:
                k = k + 1
                if k > 4:
                    break
                y = y * 1.5 + 0.2 * tf.reduce_mean(x)
            return y
        """),
        _kept,
        1.5,
    ),
    Around(
        "for",
        _def("""
            y = 0.0 * {f}(x)
            for w in tf.constant([0.5, 1.0], tf.float64):
                y = 0.5 * y + {f}(w * x) * w
            return y
        """),
        _kept,
    ),
    Around(
        "cond",
        _def("return tf.cond(tf.reduce_sum(x) > 0.3, lambda: {f}(x), lambda: 0.5 * {f}(tf.sin(x)))"),
        _kept,
        1.5,
    ),
    Around(
        "if",
        _def("""
            y = {f}(x)
            if tf.reduce_mean(y) > 0.2:
                y = tf.sin(y) * tf.reduce_sum(x)
            else:
                y = y * y
            return y
        """),
        _kept,
        1.5,
    ),
    Around(
        "custom_gradient",
        "@tf.custom_gradient\ndef {h}(x):\n    y, pull = tf.vjp({f}, x)\n    return y, lambda u: 2.0 * pull(u)[0]",
        _kept,
    ),
    Around(
        "custom_gradient itself",
        "@tf.custom_gradient\ndef {h}(x):\n    e = tf.exp(-{f}(x) * {f}(x))\n"
        "    return e, lambda u: tf.vjp({f}, x)[1](-2.0 * u * {f}(x) * {h}(x))[0]",
        _kept,
    ),
    Around(
        "custom_jvp",
        "@tf.custom_jvp\ndef {h}(x):\n    return {f}(x)\n\n\n@{h}.defjvp\ndef {h}_tangent(primals, tangents):\n"
        "    y, t = tf.jvp({f}, primals, tangents)\n    return y, 3.0 * t",
        _kept,
    ),
    Around(
        "custom_jvp itself",
        "@tf.custom_jvp\ndef {h}(x):\n    return tf.tanh({f}(x))\n\n\n@{h}.defjvp\n"
        "def {h}_tangent(primals, tangents):\n    y = {h}(primals[0])\n"
        "    return y, (1.0 - y * y) * tf.jvp({f}, primals, tangents)[1]",
        _kept,
    ),
    Around("stop_gradient", _def("return {f}(x) * tf.stop_gradient(tf.reduce_mean(tf.cos(x)))"), _kept),
    Around("tape", _tape("tape.gradient"), _like_argument, 1.5),
    Around("tape jacobian", _tape("tape.jacobian"), lambda s, o: (s, o + s), 0.7),
    Around(
        "fixed_point",
        _def("""
            y = {f}(x)
            return tf.fixed_point(lambda z, a: 0.3 * tf.cos(z) + 0.2 * a, tf.zeros_like(y), y)
        """),
        _kept,
        0.7,
    ),
    Around(
        "root",
        _def("""
            a = tf.reduce_mean({f}(x))
            return {f}(x) * tf.root(lambda z, a: z * z * z + 2.0 * z - a, tf.zeros_like(a), a)
        """),
        _kept,
        0.5,
    ),
    Around(
        "argnums",
        _def("""
            g = lambda a, b: {f}(a * tf.reduce_mean(tf.cos(b)))
            da, db = tf.grad(g, argnums=(0, 1))(x, tf.sin(x))
            return da + db
        """),
        _scalar,
    ),
    Around(
        "nests",
        _def("""
            d = tf.grad(lambda p: {f}(p["a"] * p["b"][0]))({"a": x, "b": [tf.cos(x)]})
            return d["a"] + 2.0 * d["b"][0]
        """),
        _scalar,
    ),
    Around(
        "jvp",
        _def("""
            g = lambda a, b: {f}(a) * tf.reduce_mean(b)
            y, t = tf.jvp(g, [x, tf.sin(x)], [None, x])
            return y + t + tf.jvp(g, [x, tf.sin(x)], [tf.cos(x), x])[1]
        """),
        _kept,
    ),
    Around(
        "closure",
        _def("""
            y, pull = tf.vjp(lambda z: {f}(z * tf.reduce_mean(tf.cos(x))), tf.sin(x))
            return pull(y)[0] * x
        """),
        _like_argument,
        1.5,
    ),
    Around(
        "closure",
        _def("return tf.vmap(lambda w: {f}(x * w))(tf.constant([0.5, 1.1], tf.float64))"),
        lambda s, o: (s, (2, *o)),
    ),
    Around(
        "closure",
        _def("""
            inner = tf.function(lambda z: {f}(z) * tf.reduce_sum(x))
            return inner(x) + tf.jvp(inner, [tf.cos(x)], [x])[1]
        """),
        _kept,
    ),
    Around(
        "unknown sizes",
        "{h} = tf.function({f}, input_signature=[tf.TensorSpec({unknown}, tf.float64)])",
        lambda s, o: (s, o) if s else None,
        1.5,
    ),
    Around(
        "accumulator",
        _def("""
            with tf.autodiff.ForwardAccumulator(x, tf.cos(x)) as acc:
                y = {f}(x)
            return acc.jvp(y, unconnected_gradients="zero")
        """),
        _kept,
        0.7,
    ),
    Around(
        "foldl",
        _def("""
            xs = tf.stack([x, tf.cos(x), 0.5 * x])
            return tf.foldl(lambda c, z: 0.4 * c * c + {f}(z), xs, tf.zeros_like({f}(x)))
        """),
        _kept,
        0.7,
    ),
    Around(
        "associative_scan",
        _def("""
            ys = tf.stack([{f}(x), {f}(0.5 * x), tf.cos({f}(x))])
            return tf.associative_scan(lambda a, b: a + b + a * b, ys)[-1]
        """),
        _kept,
        0.7,
    ),
    Around(
        "switch_case",
        _def("""
            total = tf.reduce_sum(x)
            k = tf.cast(total > -0.3, tf.int32) + tf.cast(total > 0.5, tf.int32)
            return tf.switch_case(k, [lambda: {f}(x), lambda: {f}(tf.sin(x)), lambda: 0.5 * {f}(x) * total])
        """),
        _kept,
        0.7,
    ),
    Around(
        "while_loop memory",
        _def("""
            def body(k, z):
                return k + 1.0, 0.3 * tf.sin({f}(z)) * z + 0.5 * z + 0.4
            test = lambda k, z: k < 2.5 + 2.0 * tf.sin(tf.reduce_sum(x))
            k, z = tf.while_loop(test, body, (tf.constant(0.0, tf.float64), x), memory={memory})
            return z * tf.cos(k)
        """),
        lambda s, o: (s, s) if o in (s, ()) else None,
    ),
    Around(
        "early return",
        _def("""
            if tf.reduce_sum(x) > 0.3:
                return {f}(x) * tf.reduce_mean(x)
            return 0.5 * {f}(tf.cos(x))
        """),
        _kept,
    ),
    Around(
        "break",
        _def("""
            y = {f}(x)
            for w in tf.constant([0.5, 1.0, 0.8], tf.float64):
                y = 0.6 * y + {f}(w * x)
                if tf.reduce_sum(y) > 0.5:
                    break
            return y
        """),
        _kept,
    ),
    Around("product", _def("return tf.sin({f}(x)) * tf.reduce_mean(x) + {f}(0.5 * x)"), _kept, 0.7),
    Around("sum", _def("return tf.reduce_sum(tf.sin({f}(x)))"), lambda s, o: (s, ()) if o else None, 2.5),
]
