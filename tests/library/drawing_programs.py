"""Functions that draw random numbers in every kind of place."""

from __future__ import annotations

import tracejit as tf
from tracejit.random import uniform

PROGRAMS = []
OWN = tf.random.Generator.from_seed(1)


def program(f):
    """One of the programs that are compared."""
    PROGRAMS.append(f)
    return f


@program
def while_(x, n):
    i = n * 0
    t = x
    while i < n:
        t = t * 0.5 + uniform(())
        i += 1
    return t


@program
def for_(x, n):
    t = x
    for _ in tf.range(n):
        t = t * 0.5 + tf.random.normal(())
    return t


@program
def for_unused(x, n):
    for _ in tf.range(n):
        uniform((2,))
    return x + uniform(())


@program
def dead(x, n):
    uniform((5,))
    tf.random.normal((3,))
    return uniform(()) * x


@program
def invariant(x, n):
    t = x
    for _ in tf.range(n):
        t = t + tf.reduce_sum(tf.random.stateless_uniform((3,), seed=[1, 2])) + uniform((), seed=4)
    return t


@program
def shared(x, n):
    return tf.stack([uniform(()), uniform(()), tf.random.normal(()), tf.random.normal(())])


@program
def branch(x, n):
    if x > 0.5:
        y = uniform(())
    else:
        y = x
    return y + uniform(())


@program
def branch_unused(x, n):
    if x > 0.5:
        uniform((7,))
    return uniform(())


@program
def cond_(x, n):
    y = tf.cond(x > 0.5, lambda: uniform(()), lambda: tf.random.normal(()) + uniform(()))
    return y + uniform(())


@program
def expression(x, n):
    y = uniform(()) if x > 0.5 else x
    z = (uniform(()) > 0.5 and uniform(()) > 0.2) or uniform(()) > 0.5
    return y + uniform(()) + tf.cast(z, tf.float32)


@program
def scan_(x, n):
    def body(c, r):
        return c * 0.5 + uniform(()), c + uniform((), seed=3)

    a, ys = tf.scan(body, x, tf.range(4))
    return a, ys, uniform(())


@program
def scan_tf(x, n):
    return tf.scan(lambda c, r: c * 0.5 + uniform(()), tf.range(4), x), uniform(())


@program
def fori(x, n):
    return tf.fori_loop(0, n, lambda i, c: c * 0.5 + uniform(()), x), uniform(())


@program
def fori_py(x, n):
    return tf.fori_loop(0, 3, lambda i, c: c * 0.5 + uniform(()), x), uniform(())


@program
def while_loop_(x, n):
    return tf.while_loop(lambda i, c: i < n, lambda i, c: (i + 1, c * 0.5 + uniform(())), (0, x)), uniform(())


@program
def map_fn_(x, n):
    return tf.map_fn(lambda r: r + uniform(()), tf.constant([1.0, 2.0, 3.0])), uniform(())


@program
def foldl_(x, n):
    return tf.foldl(lambda c, r: c * 0.5 + uniform(()), tf.constant([1.0, 2.0, 3.0])), uniform(())


@program
def vmap_(x, n):
    return tf.vmap(lambda r: r + uniform((2,)) + tf.random.normal(()))(tf.constant([1.0, 2.0, 3.0])), uniform(
        ()
    )


@program
def vmap_unused(x, n):
    def g(r):
        uniform(())
        return r

    return tf.vmap(g)(tf.constant([1.0, 2.0, 3.0])), uniform(())


@program
def vmap_branch(x, n):
    def g(r):
        if r > 1.5:
            r = r + uniform(())
        return r + uniform(())

    return tf.vmap(g)(tf.constant([1.0, 2.0, 3.0])), uniform(())


@program
def vmap_loop(x, n):
    def g(r):
        while r < 3.0:
            r = r + uniform(()) + 0.1
        return r

    return tf.vmap(g)(tf.constant([1.0, 2.0, 3.0])), uniform(())


@program
def vmap_vmap(x, n):
    return tf.vmap(tf.vmap(lambda r: r + uniform(())))(tf.zeros((2, 3))), uniform(())


@program
def vectorized(x, n):
    return tf.vectorized_map(lambda r: r + uniform(()), tf.zeros((3,))), uniform(())


@program
def nested(x, n):
    @tf.function
    def g(z):
        return z + uniform(())

    y = g(x)
    if x > 0.5:
        y = y + g(y)
    return y + g(y), uniform(())


@program
def loop_nested(x, n):
    @tf.function
    def g(z):
        return z * 0.5 + uniform(())

    for _ in tf.range(n):
        x = g(x)
    return x, uniform(())


@program
def lists(x, n):
    out = []
    for _ in tf.range(n):
        if uniform(()) > 0.3:
            out.append(uniform(()))
    out.append(uniform(()))
    return tf.stack(out)


@program
def arrays(x, n):
    ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for _ in tf.range(n):
        ta = ta.write(ta.size(), uniform(()))
    ta = ta.write(ta.size(), uniform(()))
    return ta.stack()


@program
def begun(x, n):
    best = None
    for _ in tf.range(n + 1):
        z = uniform(())
        if best is None or z > best:
            best = z
    return best, uniform(())


@program
def early(x, n):
    for _ in tf.range(n + 3):
        x = x + uniform(())
        if x > 1.5:
            break
        if uniform(()) > 0.9:
            return x, uniform(())
    return x, uniform(())


@program
def reseed(x, n):
    tf.random.set_seed(4)
    return uniform(()) + x, uniform((), seed=5)


@program
def trunc(x, n):
    t = x
    for _ in tf.range(n):
        t = t + tf.random.truncated_normal((20,))[0]
    return t, uniform(())


@program
def shuffle_(x, n):
    t = tf.range(6)
    for _ in tf.range(n):
        t = tf.random.shuffle(t)
    return t, uniform(())


@program
def sized(x, n):
    return tf.reduce_sum(uniform((n,))), tf.random.normal((n + 1,))[0], uniform(())


@program
def size_in_loop(x, n):
    t = x
    for i in tf.range(n):
        t = t + tf.reduce_sum(uniform((i + 1,)))
    return t, uniform(())


@program
def cat(x, n):
    t = n * 0
    for _ in tf.range(n):
        t = t + tf.cast(tf.random.categorical(tf.zeros((1, 5)), 1)[0, 0], tf.int32)
    return t, uniform(())


@program
def dropout(x, n):
    t = tf.ones((8,)) * x
    for _ in tf.range(n):
        t = tf.nn.dropout(t, 0.5)
    return t, uniform(())


@program
def tape_loop(x, n):
    g = x
    for _ in tf.range(n):
        with tf.GradientTape() as t:
            t.watch(g)
            y = g * g * uniform(())
        g = t.gradient(y, g) + uniform(())
    return g, uniform(())


@program
def tape_twice(x, n):
    with tf.GradientTape() as t:
        t.watch(x)
        y = x
        for _ in tf.range(n):
            y = tf.sin(y * uniform(())) + tf.random.normal(())
    return y, t.gradient(y, x, unconnected_gradients="zero"), uniform(())


@program
def inner_grad(x, n):
    f = lambda z: z * z * uniform(()) + tf.random.normal(())
    return tf.grad(f)(x), tf.value_and_grad(f)(x), uniform(())


@program
def inner_jvp(x, n):
    f = lambda z: z * z * uniform(()) + tf.random.normal(())
    return tf.jvp(f, (x,), (tf.constant(1.0),)), uniform(())


@program
def hess(x, n):
    f = lambda z: tf.reduce_sum(z * z * z * uniform((2,)))
    return tf.hessian(f)(tf.stack([x, x + 1.0])), uniform(())


@program
def jacrev_(x, n):
    f = lambda z: z * z * uniform((2,))
    return tf.jacrev(f)(tf.stack([x, x + 1.0])), tf.jacfwd(f)(tf.stack([x, x + 1.0])), uniform(())


@program
def recompute_(x, n):
    @tf.recompute_grad
    def g(z):
        return tf.sin(z * 2.0) * tf.random.stateless_uniform((), seed=[1, 2])

    with tf.GradientTape() as t:
        t.watch(x)
        y = g(x)
    return y, t.gradient(y, x), uniform(())


@program
def comprehension(x, n):
    return (
        tf.stack([uniform(()) for _ in range(3)]),
        tf.reduce_sum(tf.stack([r + uniform(()) for r in tf.zeros((3,))])),
        uniform(()),
    )


@program
def case_(x, n):
    return tf.switch_case(
        tf.minimum(n, 2), [lambda: uniform(()), lambda: uniform(()) + uniform(()), lambda: x]
    ), uniform(())


@program
def try_(x, n):
    try:
        y = uniform(())
        if x > 0.5:
            y = y + uniform(())
    finally:
        y = y + uniform(())
    return y


@program
def helper_state(x, n):
    class B:
        pass

    b = B()
    b.t = x
    for _ in tf.range(n):

        def step():
            b.t = b.t * 0.5 + uniform(())

        step()
    return b.t, uniform(())


@program
def gen_reset(x, n):
    a = OWN.uniform(())
    if x > 0.5:
        OWN.reset_from_seed(9)
    return a, OWN.uniform(()), OWN.normal((3,))


@program
def assign_state(x, n):
    s = OWN.state.read_value()
    a = OWN.uniform(())
    OWN.state.assign(s)
    return a, OWN.uniform(())


@program
def seeded_in_the_function(x, n):
    g = tf.random.Generator.from_seed(3)
    a = g.uniform(())
    for _ in tf.range(n):
        a = a * 0.5 + g.uniform(())
    return a + x, uniform(())


@program
def seeded_in_a_loop(x, n):
    for _ in tf.range(n):
        x = x + tf.random.Generator.from_seed(3).uniform(())
    return x


@program
def seeded_in_a_branch(x, n):
    if x > 0.5:
        x = x + tf.random.Generator.from_seed(3).uniform(())
    return x, uniform(())


@program
def seeded_in_each_example(x, n):
    def each(r):
        g = tf.random.Generator.from_seed(3)
        return r + g.uniform(()) + g.uniform(())

    return tf.vmap(each)(tf.stack([x, x]))


@program
def initializer(x, n):
    return tf.initializers.RandomNormal(seed=2)((2,)) + x
