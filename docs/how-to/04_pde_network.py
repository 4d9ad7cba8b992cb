# %% [markdown]
# # A network that solves an equation
#
# A physics-informed network: its output obeys `u'' = -sin(x)` with `u(0) = u(pi) = 0`, so it is `sin(x)`. The second
# derivative by the input is taken inside of the loss, and the loss is differentiated by the weights.

# %%
import numpy as np

import tracejit as tf

tf.random.set_seed(0)
rng = np.random.default_rng(0)
x = np.linspace(0.0, np.pi, 64)
weights = [
    tf.Variable(rng.normal(size=(1, 24))),
    tf.Variable(rng.normal(size=24)),
    tf.Variable(rng.normal(size=(24, 1)) / 5),
]


# %% [markdown]
# ## The network and its derivatives
#
# `u` is a function of one number; `grad` twice and `vmap` give its second derivative at all points.

# %%
def u(point):
    inside = tf.tanh(point * weights[0][0] + weights[1])
    return tf.reduce_sum(inside * weights[2][:, 0]) * point * (np.pi - point)


curvature = tf.vmap(tf.grad(tf.grad(u)))


@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((curvature(tf.constant(x)) + np.sin(x)) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


# %% [markdown]
# ## Training

# %%
optimizer = tf.optimizers.Adam(0.02)
losses = [float(step()) for _ in range(1500)]
print(losses[-1] < 1e-3 * losses[0])
#> True
error = np.max(np.abs(tf.vmap(u)(tf.constant(x)).numpy() - np.sin(x)))
print(bool(error < 0.01))
#> True

# %% [markdown]
# ## Plot

# %%
try:
    import matplotlib.pyplot as plt
except ImportError:
    plt = None
if plt:
    left, right = plt.subplots(1, 2)[1]
    left.semilogy(losses)
    left.set(xlabel="step", ylabel="loss")
    right.plot(x, np.sin(x), label="sin(x)")
    right.plot(x, tf.vmap(u)(tf.constant(x)), "--", label="the network")
    right.legend()
    plt.show()
