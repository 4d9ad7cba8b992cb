# %% [markdown]
# # From NumPy and SciPy
#
# Changing one import makes a NumPy program differentiable. This page takes such a program, checks its gradient,
# compiles it, runs it for many cases at once, passes it to SciPy's optimizers, and asks why a gradient is missing.

# %%
import numpy as np

import tracejit as tf
import tracejit.numpy as tnp

# %% [markdown]
# ## The program
#
# A chain hangs between two nails at height 0. Its links are springs, its joints have weight. The energy is what
# the springs store and what the weights lose by hanging low. `xp` is the array library to compute with: NumPy
# first.

# %%
def energy(heights, stiffness=50.0, xp=np):
    whole = xp.concatenate([xp.zeros(1), heights, xp.zeros(1)])
    count = whole.shape[0] - 1
    lengths = xp.hypot(1.0 / count, xp.diff(whole))
    return 0.5 * stiffness * xp.sum((lengths - 1.0 / count) ** 2) * count + xp.sum(heights) / count


heights = -0.3 * np.sin(np.pi * np.linspace(0.0, 1.0, 10)[1:-1])
print(f"{energy(heights):.6f}")
#> 1.167108

# %% [markdown]
# With `tracejit.numpy` in its place the values are the same, in float64 as NumPy's are.

# %%
value = energy(heights, xp=tnp)
print(f"{value:.6f}", value.dtype.name)
#> 1.167108 float64

# %% [markdown]
# NumPy's element-wise functions return a tensor for a tensor. Other functions, such as `np.sum`, read its values and
# return NumPy numbers without a gradient: those are the calls to rename.

# %%
tensor = tf.constant(heights)
print(type(np.sin(tensor)).__name__, type(np.sum(tensor)).__name__, type(tnp.sum(tensor)).__name__)
#> Tensor float64 Tensor

# %% [markdown]
# ## Its gradient, checked
#
# `tf.grad` makes a function that returns the derivative. Central differences agree to their own accuracy.

# %%
def hanging(heights):
    return energy(heights, xp=tnp)


slopes = tf.grad(hanging)(heights)
step = 1e-6
differences = [
    (energy(heights + step * unit) - energy(heights - step * unit)) / (2 * step)
    for unit in np.eye(len(heights))
]
print(np.allclose(slopes, differences, rtol=1e-7, atol=1e-8))
#> True
print(np.round(slopes.numpy()[:4], 3))
#> [-3.056 -4.647 -3.449 -0.655]

# %% [markdown]
# ## Compiled
#
# With `tf.function` around it, value and gradient are one piece of machine code and give the same numbers.

# %%
both = tf.function(tf.value_and_grad(hanging))
value, slopes_again = both(heights)
print(f"{value:.6f}", np.allclose(slopes_again, slopes, rtol=1e-12))
#> 1.167108 True

# %% [markdown]
# ## Many cases at once
#
# `tf.vmap` turns a function of one case into one of many, gradients included: here, of three different springs.

# %%
stiffness = np.array([20.0, 50.0, 100.0])
of_many = tf.vmap(lambda k: tf.value_and_grad(lambda h: energy(h, k, xp=tnp))(heights))
values, gradients = of_many(stiffness)
print(np.round(values.numpy(), 3), gradients.shape)
#> [0.353 1.167 2.523] (3, 8)
print(np.allclose(values, [energy(heights, k) for k in stiffness]))
#> True

# %% [markdown]
# ## Second derivatives
#
# Second derivatives work the same way. A Hessian-vector product costs about as much as a gradient, so use it where the
# Hessian would be too large. This Hessian is tridiagonal, because each joint is connected to its neighbours only.

# %%
hessian = tf.hessian(hanging)(heights)
vector = np.cos(np.arange(len(heights)))
product = tf.hvp(hanging, [heights], [vector])
print(np.allclose(product, hessian.numpy() @ vector))
#> True
print(hessian.shape, np.abs(np.triu(hessian.numpy(), 2)).max() < 1e-12)
#> (8, 8) True

# %% [markdown]
# ## The shape of the chain, by SciPy
#
# The chain hangs where its energy is least. SciPy's `minimize` takes what `value_and_grad` returns with
# `jac=True`, and the product with the Hessian as `hessp`. Without SciPy, Newton's method finds the same with
# the functions above.

# %%
try:
    import scipy.optimize as optimize
except ImportError:
    optimize = None


@tf.function
def curvature(heights, vector):
    return tf.hvp(hanging, [heights], [vector])


def by_scipy():
    assert optimize
    first = optimize.minimize(both, heights, jac=True, method="L-BFGS-B", tol=1e-12)
    accurate = {"gtol": 1e-9}
    second = optimize.minimize(both, heights, jac=True, hessp=curvature, method="trust-ncg", options=accurate)
    assert np.allclose(first.x, second.x, atol=1e-4)
    return np.asarray(second.x)


def by_newton():
    found = heights
    for _ in range(20):
        found = found - np.linalg.solve(tf.hessian(hanging)(found).numpy(), both(found)[1].numpy())
    return found


shape = by_scipy() if optimize else by_newton()
print(np.round(shape[:4], 4), np.allclose(shape, shape[::-1], atol=1e-5))
#> [-0.0295 -0.0562 -0.0795 -0.0979] True
print(f"{energy(shape):.4f}", np.abs(both(shape)[1].numpy()).max() < 1e-6)
#> -0.0436 True

# %%
try:
    import matplotlib.pyplot as plt
except ImportError:
    plt = None
if plt:
    places = np.linspace(0.0, 1.0, len(shape) + 2)
    plt.plot(places, [0.0, *shape, 0.0], marker="o")
    plt.title("a hanging chain")
    plt.show()

# %% [markdown]
# ## When a gradient is None
#
# A step that converts tensors to NumPy arrays ends the recorded history: the value is right, but no gradient passes.
# The tape names the line, and what to write instead.

# %%
x = tf.Variable(heights)
with tf.GradientTape(persistent=True) as tape:
    smoothed = np.convolve(x.numpy(), [0.25, 0.5, 0.25], mode="same")
    loss = tnp.sum(smoothed**2)
print(tape.gradient(loss, x))
#> None
why = tape.explain(loss, x)
print(why.cause)
#> numpy
print(why.remedy)
#> use the tracejit function instead of NumPy's, or stay with tensors: gradients do not pass arrays

# %%
with tf.GradientTape() as tape:
    smoothed = tnp.convolve(x, [0.25, 0.5, 0.25], mode="same")
    loss = tnp.sum(smoothed**2)
print(np.round(tape.gradient(loss, x).numpy()[:3], 3))
#> [-0.193 -0.363 -0.489]
