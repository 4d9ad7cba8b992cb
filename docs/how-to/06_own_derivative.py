# %% [markdown]
# # Define a custom derivative
#
# Define your own derivative where it is more accurate or cheaper than the automatic one, or where the function has
# none.

# %%

import numpy as np

import tracejit as tf

# %% [markdown]
# ## A better formula
#
# `log(1 + exp(x))` overflows, and so does its derivative by the chain rule. `custom_gradient` gives both in a stable
# form. The rule is made of tensors, so it is differentiated again.

# %%
@tf.custom_gradient
def log1pexp(x):
    e = tf.exp(-tf.abs(x))

    def backward(g):
        return g * tf.sigmoid(x)

    return tf.maximum(x, 0.0) + tf.math.log1p(e), backward


slope = tf.grad(log1pexp)
print(float(log1pexp(tf.constant(1000.0))), float(slope(tf.constant(1000.0))))
#> 1000.0 1.0
print(round(float(tf.grad(slope)(tf.constant(0.0))), 4))
#> 0.25


# %% [markdown]
# ## Functions without a derivative
#
# The derivative of rounding is zero. Quantization-aware training uses the derivative of the identity instead.

# %%
@tf.custom_gradient
def rounded(x):
    return tf.round(x), lambda g: g


print(tf.grad(lambda x: tf.reduce_sum(rounded(x) ** 2))(tf.constant([0.4, 1.6])).numpy())
#> [0. 4.]


# %% [markdown]
# ## Functions that the program does not see into
#
# What autograd writes with `primitive` and `defvjp`, and JAX with `custom_vjp`, is `custom_gradient`: the rule closes
# over the arguments and the result. NumPy is called through `numpy_function`, which says what comes back; so it can be
# compiled. A rule that calls its own function, and not the result it has, can be differentiated again.

# %%
def by_numpy(x):
    return np.log(np.sum(np.exp(x - x.max()))) + x.max()


@tf.custom_gradient
def logsumexp(x):
    value = tf.numpy_function(by_numpy, [x], x.dtype, output_shapes=())

    def backward(g):
        return g * tf.exp(x - logsumexp(x))

    return value, backward


x = tf.constant([0.0, 1.0, 2.0], tf.float64)
print(np.round(tf.grad(logsumexp)(x), 4))
#> [0.09   0.2447 0.6652]
first_slope = tf.function(lambda x: tf.grad(logsumexp)(x)[0])
print(np.round(tf.grad(first_slope)(x), 4))
#> [ 0.0819 -0.022  -0.0599]


# %% [markdown]
# ## The solution of an equation
#
# A solver need not be differentiated step by step: `root` differentiates the equation itself.

# %%
@tf.function
def wright(x):
    return tf.root(lambda w: w + tf.math.log(w) - x, tf.constant(1.0, tf.float64))


x = tf.constant(2.0, tf.float64)
w = wright(x)
print(round(float(w), 6), round(float(tf.grad(wright)(x)), 6), round(float(w / (1 + w)), 6))
#> 1.557146 0.608939 0.608939
