# %% [markdown]
# # Gradients with a tape
#
# A `GradientTape` records the operations inside its `with` block and then differentiates them in reverse order. This
# page shows what it records, what it returns, and every way in which it returns `None`.

# %%
import numpy as np

import tracejit as tf

# %% [markdown]
# ## One number

# %%
x = tf.Variable(3.0)
with tf.GradientTape() as tape:
    y = x**2
print(tape.gradient(y, x).numpy())
#> 6.0

# %% [markdown]
# ## Weights of a layer
#
# Sources may be a list, a tuple, a dict or any nest of them: the gradients come in the same structure, each with the
# shape of its source. Operands may be plain Python lists and NumPy arrays.

# %%
w = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="w")
b = tf.Variable(tf.zeros(2, dtype=tf.float32), name="b")
inputs = [[1.0, 2.0, 3.0]]

with tf.GradientTape(persistent=True) as tape:
    y = inputs @ w + b
    loss = tf.reduce_mean(y**2)

dl_dw, dl_db = tape.gradient(loss, [w, b])
print(w.shape, dl_dw.shape)
#> (3, 2) (3, 2)
print(tape.gradient(loss, {"w": w, "b": b})["b"])
#> tf.Tensor([22. 28.], shape=(2,), dtype=float32)

# %% [markdown]
# A layer knows its own weights:

# %%
layer = tf.keras.layers.Dense(2, activation="relu")
data = tf.constant([[1.0, 2.0, 3.0]])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(layer(data) ** 2)
for variable, g in zip(layer.trainable_variables, tape.gradient(loss, layer.trainable_variables)):
    print(f"{variable.name}, shape: {g.shape}")
#> dense/kernel:0, shape: (3, 2)
#> dense/bias:0, shape: (2,)

# %% [markdown]
# ## What is watched
#
# A tape watches trainable Variables when they are read, and nothing else unless you call `watch`.

# %%
x0 = tf.Variable(3.0, name="x0")
x1 = tf.Variable(3.0, name="x1", trainable=False)
x2 = tf.Variable(2.0, name="x2") + 1.0  # a tensor, not a Variable
x3 = tf.constant(3.0, name="x3")

with tf.GradientTape() as tape:
    y = (x0**2) + (x1**2) + (x2**2)
for g in tape.gradient(y, [x0, x1, x2, x3]):
    print(g)
#> tf.Tensor(6.0, shape=(), dtype=float32)
#> None
#> None
#> None
print([variable.name for variable in tape.watched_variables()])
#> ['x0:0']

# %%
x = tf.constant(3.0)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = x**2
print(tape.gradient(y, x).numpy())
#> 6.0

# %%
x0 = tf.Variable(0.0)
x1 = tf.Variable(10.0)
with tf.GradientTape(watch_accessed_variables=False) as tape:
    tape.watch(x1)
    y0 = tf.math.sin(x0)
    y1 = tf.nn.softplus(x1)
    y = y0 + y1
    ys = tf.reduce_sum(y)
grad = tape.gradient(ys, {"x0": x0, "x1": x1})
print("dy/dx0:", grad["x0"])
print("dy/dx1:", grad["x1"].numpy())
#> dy/dx0: None
#> dy/dx1: 0.9999546

# %% [markdown]
# ## Intermediate results, several gradients
#
# Anything computed inside the block can be a source. A tape computes one set of gradients and then frees its records; a
# persistent tape computes as many as you ask for.

# %%
x = tf.constant(3.0)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = x * x
    z = y * y
print(tape.gradient(z, y).numpy())
#> 18.0

# %%
x = tf.constant([1, 3.0])
with tf.GradientTape(persistent=True) as tape:
    tape.watch(x)
    y = x * x
    z = y * y
print(tape.gradient(z, x).numpy())
print(tape.gradient(y, x).numpy())
del tape
#> [  4. 108.]
#> [2. 6.]

# %% [markdown]
# ## Targets that are not one number
#
# The gradient of several targets, or of a tensor, is the gradient of their sum.

# %%
x = tf.Variable(2.0)
with tf.GradientTape() as tape:
    y0 = x**2
    y1 = 1 / x
print(tape.gradient({"y0": y0, "y1": y1}, x).numpy())
#> 3.75

# %%
x = tf.Variable(2.0)
with tf.GradientTape() as tape:
    y = x * [3.0, 4.0]
print(tape.gradient(y, x).numpy())
#> 7.0

# %% [markdown]
# If each element of the target depends only on the same element of the source, that gradient is the derivative of each
# element: one call gives the derivative of a curve.

# %%
x = tf.linspace(-10.0, 10.0, 200 + 1)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.nn.sigmoid(x)
dy_dx = tape.gradient(y, x)
print(f"{dy_dx[100]:.3f} {dy_dx[0]:.7f}")
#> 0.250 0.0000454

# %%
try:
    import matplotlib.pyplot as plt
except ImportError:
    plt = None
if plt:
    plt.plot(x, y, label="y")
    plt.plot(x, dy_dx, label="dy/dx")
    plt.legend()
    plt.xlabel("x")
    plt.show()

# %% [markdown]
# ## Control flow
#
# A tape records what ran. The branch that was not taken has no gradient, and neither has the condition.

# %%
x = tf.constant(1.0)
v0 = tf.Variable(2.0)
v1 = tf.Variable(2.0)
with tf.GradientTape(persistent=True) as tape:
    tape.watch(x)
    if x > 0.0:
        result = v0
    else:
        result = v1**2
dv0, dv1 = tape.gradient(result, [v0, v1])
print(dv0)
print(dv1)
print(tape.gradient(result, x))
#> tf.Tensor(1.0, shape=(), dtype=float32)
#> None
#> None

# %% [markdown]
# ## Every way to get `None`, and how to ask why
#
# `tape.explain(target, source)` names the cause, the line, and what to write instead.

# %%
x = tf.Variable(2.0)
y = tf.Variable(3.0)
with tf.GradientTape() as tape:
    z = y * y
print(tape.gradient(z, x), "-", tape.explain(z, x).cause)
#> None - not connected

# %% [markdown]
# A Variable replaced by a tensor: `x = x + 1` where `x.assign_add(1)` was meant.

# %%
x = tf.Variable(2.0)
for epoch in range(2):
    with tf.GradientTape() as tape:
        y = x + 1
    print(type(x).__name__, ":", tape.gradient(y, x))
    if epoch == 0:
        x = x + 1
print(tape.explain(y, x).cause)
#> Variable : tf.Tensor(1.0, shape=(), dtype=float32)
#> Tensor : None
#> replaced

# %% [markdown]
# A computation in NumPy:

# %%
x = tf.Variable([[1.0, 2.0], [3.0, 4.0]], dtype=tf.float32)
with tf.GradientTape() as tape:
    x2 = x**2
    y = np.mean(x2, axis=0)
    y = tf.reduce_mean(y, axis=0)
print(tape.gradient(y, x), "-", tape.explain(y, x).cause)
#> None - numpy

# %% [markdown]
# Integers (watching one warns):

# %%
import warnings

x = tf.constant(10)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
print(tape.gradient(y, x), "-", tape.explain(y, x).cause)
print(caught[0].message)
#> None - integer
#> The dtype of the watched tensor must be floating (e.g. tf.float32), got tf.int32

# %% [markdown]
# State: reading a Variable gives its value, not the history of that value.

# %%
x0 = tf.Variable(3.0)
x1 = tf.Variable(0.0)
with tf.GradientTape() as tape:
    x1.assign_add(x0)
    y = x1**2
print(tape.gradient(y, x0), "-", tape.explain(y, x0).cause)
#> None - state

# %% [markdown]
# An operation without a gradient is an error, not a silent `None`:

# %%
image = tf.Variable([[[0.5, 0.0, 0.0]]])
delta = tf.Variable(0.1)
with tf.GradientTape() as tape:
    new_image = tf.image.adjust_contrast(image, delta)
try:
    print(tape.gradient(new_image, [image, delta]))
    raise AssertionError("this should not happen")
except LookupError as e:
    print("LookupError:", str(e).splitlines()[0])
#> LookupError: gradient registry has no entry for: AdjustContrastv2

# %% [markdown]
# ## Zeros instead of `None`

# %%
x = tf.Variable([2.0, 2.0])
y = tf.Variable(3.0)
with tf.GradientTape() as tape:
    z = y**2
print(tape.gradient(z, x, unconnected_gradients=tf.UnconnectedGradients.ZERO))
#> tf.Tensor([0. 0.], shape=(2,), dtype=float32)
