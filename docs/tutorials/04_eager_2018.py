# %% [markdown]
# # Programs for the API of 2018
#
# Programs written for the first eager tutorials run under `tracejit.compat.v1`.

# %%
from math import pi

import tracejit.compat.v1 as tf

tf.enable_eager_execution()
tfe = tf.contrib.eager

# %% [markdown]
# ## Derivatives of a function

# %%
def f(x):
    return tf.square(tf.sin(x))


assert f(pi / 2).numpy() == 1.0
grad_f = tfe.gradients_function(f)
assert tf.abs(grad_f(pi / 2)[0]).numpy() < 1e-7
print(f(pi / 2).numpy())
#> 1.0

# %% [markdown]
# The result is a function, so gradients of gradients can be taken to any order.

# %%
def grad(f):
    return lambda x: tfe.gradients_function(f)(x)[0]


x = tf.lin_space(-2 * pi, 2 * pi, 100)
curves = [f(x), grad(f)(x), grad(grad(f))(x), grad(grad(grad(f)))(x)]
print([f"{float(tf.reduce_max(tf.abs(curve))):.3f}" for curve in curves])
#> ['1.000', '1.000', '2.000', '3.999']

# %%
try:
    import matplotlib.pyplot as plt
except ImportError:
    plt = None
if plt:
    for curve, label in zip(curves, ("f", "first derivative", "second derivative", "third derivative")):
        plt.plot(x, curve, label=label)
    plt.legend()
    plt.show()

# %% [markdown]
# ## Loops and powers

# %%
def power(x, y):
    output = tf.constant(1.0)
    for i in range(int(y)):
        output = tf.multiply(output, x)
    return output


def g(x, y):
    return tfe.gradients_function(power)(x, y)[0]


print(power(3.0, 2).numpy(), g(3.0, 2).numpy(), power(4.0, 3).numpy(), g(4.0, 3).numpy())
#> 9.0 6.0 64.0 48.0

# %% [markdown]
# ## Tapes

# %%
x = tf.ones((2, 2))
with tf.GradientTape(persistent=True) as t:
    t.watch(x)
    y = tf.reduce_sum(x)
    z = tf.multiply(y, y)
print(t.gradient(z, y).numpy())
print(t.gradient(z, x).numpy())
#> 8.0
#> [[8. 8.]
#>  [8. 8.]]

# %%
x = tf.constant(1.0)
with tf.GradientTape() as t:
    with tf.GradientTape() as t2:
        t2.watch(x)
        y = x * x * x
    dy_dx = t2.gradient(y, x)
d2y_dx2 = t.gradient(dy_dx, x)
print(dy_dx.numpy(), d2y_dx2.numpy())
#> 3.0 6.0

# %% [markdown]
# ## A line through noisy points, by hand

# %%
tf.set_random_seed(3)
inputs = tf.random_normal([1000])
outputs = inputs * 3 + 2 + tf.random_normal([1000])
W, B = tfe.Variable(5.0), tfe.Variable(10.0)


def loss(w, b):
    return tf.reduce_mean(tf.square(inputs * w + b - outputs))


for _ in range(200):
    with tf.GradientTape() as tape:
        current = loss(W, B)
    dw, db = tape.gradient(current, [W, B])
    W.assign_sub(dw * 0.1)
    B.assign_sub(db * 0.1)
print(f"{abs(W.numpy() - 3) < 0.1} {abs(B.numpy() - 2) < 0.1} {0.8 < loss(W, B).numpy() < 1.2}")
#> True True True
