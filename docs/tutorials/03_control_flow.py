# %% [markdown]
# # Gradients of ordinary Python
#
# What a tape gives for loops and branches, and the same program compiled, with one decorator.

# %%
import tracejit as tf

# %% [markdown]
# ## A vector times itself

# %%
x = tf.range(4, dtype=tf.float32)
print(x)
#> tf.Tensor([0. 1. 2. 3.], shape=(4,), dtype=float32)
x = tf.Variable(tf.reshape(x, (4, 1)))
with tf.GradientTape() as t:
    y = 2 * tf.matmul(tf.transpose(x), x)
print(y)
#> tf.Tensor([[28.]], shape=(1, 1), dtype=float32)
x_grad = t.gradient(y, x)
print(x_grad)
#> tf.Tensor(
#> [[ 0.]
#>  [ 4.]
#>  [ 8.]
#>  [12.]], shape=(4, 1), dtype=float32)
print(tf.reduce_all(x_grad == 4 * x).numpy())
#> True

# %% [markdown]
# ## Detaching a part
#
# `u` has the value of `y` and none of its history.

# %%
x = tf.Variable(tf.range(4, dtype=tf.float32))
with tf.GradientTape(persistent=True) as t:
    y = x * x
    u = tf.stop_gradient(y)
    z = u * x
print(tf.reduce_all(t.gradient(z, x) == u).numpy(), tf.reduce_all(t.gradient(y, x) == 2 * x).numpy())
#> True True

# %% [markdown]
# ## Loops whose length depends on the data
#
# The number of iterations depends on the size of `a`, and the branch that is taken on its sign. The function is piecewise
# linear: its gradient is the slope of the piece.

# %%
def f(a):
    b = a * 2
    while tf.norm(b) < 1000:
        b = b * 2
    if tf.reduce_sum(b) > 0:
        c = b
    else:
        c = 100 * b
    return c


for value in (0.7, 3.0, 800.0, -5.0):
    a = tf.Variable(value)
    with tf.GradientTape() as t:
        d = f(a)
    g = t.gradient(d, a)
    print(f"{value:>6}: {g.numpy():>8} {bool(abs(g - d / a) <= 1e-6 * abs(g))}")
#>    0.7:   2048.0 True
#>    3.0:    512.0 True
#>  800.0:      2.0 True
#>   -5.0:  25600.0 True

# %% [markdown]
# Compiled, the loop and its gradient are machine code, traced once for any number of iterations:

# %%
@tf.function
def value_and_gradient(a):
    with tf.GradientTape() as t:
        t.watch(a)
        d = f(a)
    return d, t.gradient(d, a)


for value in (0.7, 3.0, 800.0, -5.0):
    print(f"{value:>6}: {value_and_gradient(tf.constant(value))[1].numpy():>8}")
print("traces:", value_and_gradient.experimental_get_tracing_count())
#>    0.7:   2048.0
#>    3.0:    512.0
#>  800.0:      2.0
#>   -5.0:  25600.0
#> traces: 1

# %% [markdown]
# ## The derivative of a sine, without knowing it

# %%
x = tf.linspace(0.0, 6.0, 61)
with tf.GradientTape() as t:
    t.watch(x)
    y = tf.sin(x)
slope = t.gradient(y, x)
print(f"{float(tf.reduce_max(tf.abs(slope - tf.cos(x)))):.0e}")
#> 0e+00

# %%
try:
    import matplotlib.pyplot as plt
except ImportError:
    plt = None
if plt:
    plt.plot(x, y, label="sin")
    plt.plot(x, slope, label="its derivative")
    plt.legend()
    plt.show()
