# %% [markdown]
# # Controlling a tape, custom gradients and higher derivatives

# %%

import tracejit as tf

# %% [markdown]
# ## Pausing, starting over, stopping one path

# %%
x = tf.Variable(2.0)
y = tf.Variable(3.0)
with tf.GradientTape() as t:
    x_sq = x * x
    with t.stop_recording():
        y_sq = y * y
    z = x_sq + y_sq
grad = t.gradient(z, {"x": x, "y": y})
print("dz/dx:", grad["x"])
print("dz/dy:", grad["y"])
#> dz/dx: tf.Tensor(4.0, shape=(), dtype=float32)
#> dz/dy: None

# %%
reset = True
with tf.GradientTape() as t:
    y_sq = y * y
    if reset:
        t.reset()
    z = x * x + y_sq
grad = t.gradient(z, {"x": x, "y": y})
print("dz/dx:", grad["x"])
print("dz/dy:", grad["y"])
#> dz/dx: tf.Tensor(4.0, shape=(), dtype=float32)
#> dz/dy: None

# %% [markdown]
# `stop_gradient` does the same for one value, without touching the tape:

# %%
with tf.GradientTape() as t:
    y_sq = y**2
    z = x**2 + tf.stop_gradient(y_sq)
grad = t.gradient(z, {"x": x, "y": y})
print("dz/dx:", grad["x"])
print("dz/dy:", grad["y"])
#> dz/dx: tf.Tensor(4.0, shape=(), dtype=float32)
#> dz/dy: None

# %% [markdown]
# ## Custom gradients
#
# There are four reasons to write one: a new operation, a formula that is unstable where its derivative is not, an
# expensive value that the backward pass can reuse, and a gradient that should differ from that of the value. This is an
# example of the last: the identity with a clipped gradient.

# %%
@tf.custom_gradient
def clip_gradients(y):
    def backward(dy):
        return tf.clip_by_norm(dy, 0.5)

    return y, backward


v = tf.Variable(2.0)
with tf.GradientTape() as t:
    output = clip_gradients(v * v)
print(t.gradient(output, v))
#> tf.Tensor(2.0, shape=(), dtype=float32)

# %% [markdown]
# A function with its own gradient can be saved with the model it is part of, and is differentiated after loading:

# %%
import tempfile


class MyModule(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([])])
    def call_custom_grad(self, x):
        return clip_gradients(x)


model = MyModule()
folder = tempfile.mkdtemp()
tf.saved_model.save(model, folder)
v = tf.Variable(2.0)
loaded = tf.saved_model.load(folder)
with tf.GradientTape() as t:
    output = loaded.call_custom_grad(v * v)
print(t.gradient(output, v))
#> tf.Tensor(2.0, shape=(), dtype=float32)

# %% [markdown]
# An unstable formula: `log(1 + exp(x))` overflows at 100 and its gradient is `nan`, eagerly and compiled, because the
# compiler does not rewrite it. With a custom gradient it is 1.

# %%
def log1pexp(x):
    return tf.math.log(1 + tf.exp(x))


@tf.custom_gradient
def stable_log1pexp(x):
    e = tf.exp(x)

    def grad(upstream):
        return upstream * (1 - 1 / (1 + e))

    return tf.math.log(1 + e), grad


for f in (log1pexp, stable_log1pexp, tf.function(log1pexp), tf.function(stable_log1pexp)):
    x = tf.constant(100.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = f(x)
    print(t.gradient(y, x).numpy())
#> nan
#> 1.0
#> nan
#> 1.0

# %% [markdown]
# ## Several tapes

# %%
x0 = tf.constant(0.0)
x1 = tf.constant(0.0)
with tf.GradientTape() as tape0, tf.GradientTape() as tape1:
    tape0.watch(x0)
    tape1.watch(x1)
    y0 = tf.math.sin(x0)
    y1 = tf.nn.sigmoid(x1)
    y = y0 + y1
    ys = tf.reduce_sum(y)
print(tape0.gradient(ys, x0).numpy())
print(tape1.gradient(ys, x1).numpy())
#> 1.0
#> 0.25

# %% [markdown]
# ## Higher derivatives
#
# Gradients taken inside another tape are recorded by it.

# %%
x = tf.Variable(1.0)
with tf.GradientTape() as t2:
    with tf.GradientTape() as t1:
        y = x * x * x
    dy_dx = t1.gradient(y, x)
d2y_dx2 = t2.gradient(dy_dx, x)
print("dy_dx:", dy_dx.numpy())
print("d2y_dx2:", d2y_dx2.numpy())
#> dy_dx: 3.0
#> d2y_dx2: 6.0

# %% [markdown]
# A penalty on how strongly a network reacts to its input is a gradient of a gradient, too:

# %%
tf.random.set_seed(1)
x = tf.random.normal([7, 5])
layer = tf.keras.layers.Dense(10, activation=tf.nn.relu)
with tf.GradientTape() as t2:
    with tf.GradientTape(watch_accessed_variables=False) as t1:
        t1.watch(x)
        y = layer(x)
        out = tf.reduce_sum(layer(x) ** 2)
    g1 = t1.gradient(out, x)
    g1_mag = tf.norm(g1)
dg1_mag = t2.gradient(g1_mag, layer.trainable_variables)
print([variable.shape for variable in dg1_mag])
#> [TensorShape([5, 10]), TensorShape([10])]

# %% [markdown]
# ## Jacobians
#
# All rows at once, not one backward after the other.

# %%
x = tf.linspace(-10.0, 10.0, 200 + 1)
delta = tf.Variable(0.0)
with tf.GradientTape() as tape:
    y = tf.nn.sigmoid(x + delta)
dy_dx = tape.jacobian(y, delta)
print(y.shape, dy_dx.shape)
#> (201,) (201,)

# %%
x = tf.random.normal([7, 5])
layer = tf.keras.layers.Dense(10, activation=tf.nn.relu)
with tf.GradientTape(persistent=True) as tape:
    y = layer(x)
j = tape.jacobian(y, layer.kernel)
print(layer.kernel.shape, j.shape)
#> (5, 10) (7, 10, 5, 10)
g = tape.gradient(y, layer.kernel)
print("g.shape:", g.shape)
print("delta:", bool(tf.reduce_max(tf.abs(g - tf.reduce_sum(j, axis=[0, 1]))) < 1e-3))
#> g.shape: (5, 10)
#> delta: True

# %% [markdown]
# The Hessian, and one step of Newton's method with it:

# %%
x = tf.random.normal([7, 5])
layer1 = tf.keras.layers.Dense(8, activation=tf.nn.relu)
layer2 = tf.keras.layers.Dense(6, activation=tf.nn.relu)
with tf.GradientTape() as t2:
    with tf.GradientTape() as t1:
        x = layer1(x)
        x = layer2(x)
        loss = tf.reduce_mean(x**2)
    g = t1.gradient(loss, layer1.kernel)
h = t2.jacobian(g, layer1.kernel)
print(f"layer.kernel.shape: {layer1.kernel.shape}")
print(f"h.shape: {h.shape}")
#> layer.kernel.shape: (5, 8)
#> h.shape: (5, 8, 5, 8)

n_params = tf.reduce_prod(tf.constant(layer1.kernel.shape))
g_vec = tf.reshape(g, [40, 1])
h_mat = tf.reshape(h, [40, 40])
print(int(n_params), bool(tf.reduce_max(tf.abs(h_mat - tf.transpose(h_mat))) < 1e-5))
#> 40 True
update = tf.linalg.solve(h_mat + 1e-3 * tf.eye(40), g_vec)
_ = layer1.kernel.assign_sub(tf.reshape(update, [5, 8]))

# %% [markdown]
# Where each row of the target depends on its own row of the source only, `batch_jacobian` skips the zeros:

# %%
x = tf.random.normal([7, 5])
layer1 = tf.keras.layers.Dense(8, activation="elu")
layer2 = tf.keras.layers.Dense(6, activation="elu")
with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
    tape.watch(x)
    y = layer2(layer1(x))
j = tape.jacobian(y, x)
print(j.shape)
#> (7, 6, 7, 5)
jb = tape.batch_jacobian(y, x)
print(jb.shape, bool(tf.reduce_max(tf.abs(jb - tf.reduce_sum(j, axis=2))) < 1e-6))
#> (7, 6, 5) True
