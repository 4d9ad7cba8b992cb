# %% [markdown]
# # Give SciPy a compiled function and its gradient
#
# SciPy's optimizers, integrators and root finders call a function many times. A compiled function is fast to call, and
# provides the derivatives that they would otherwise estimate.

# %%
import numpy as np
from scipy import integrate, optimize

import tracejit as tf

# %% [markdown]
# ## Minimize
#
# `value_and_grad` gives what `jac=True` asks for. The Hessian times a vector, by `hvp`, is what Newton's method wants:
# no matrix is made.


# %%
@tf.function
def rosenbrock(x):
    return tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


value_and_grad = tf.function(tf.value_and_grad(rosenbrock))
product = tf.function(lambda x, v: tf.hvp(rosenbrock, [x], [v]))

found = optimize.minimize(
    lambda x: [part.numpy() for part in value_and_grad(x)],
    np.zeros(10),
    jac=True,
    method="Newton-CG",
    hessp=lambda x, v: product(x, v).numpy(),
)
print(found.success, np.round(found.x, 3))
#> True [1. 1. 1. 1. 1. 1. 1. 1. 1. 1.]


# %% [markdown]
# ## Find a root
#
# The Jacobian of a system, forward: as many columns as there are unknowns.


# %%
@tf.function
def system(x):
    return tf.stack([x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1.0, 0.5 * (x[1] - x[0]) ** 3 + x[1]])


jacobian = tf.function(tf.jacfwd(system))
root = optimize.root(lambda x: system(x).numpy(), np.zeros(2), jac=lambda x: jacobian(x).numpy())
print(np.round(root.x, 4))
#> [0.8412 0.1588]


# %% [markdown]
# ## Integrate
#
# `quad` calls the function with Python floats. These are inputs, not constants, so the function is traced once.


# %%
@tf.function
def bump(x, width):
    return tf.exp(-((x / width) ** 2))


area, error = integrate.quad(bump, -np.inf, np.inf, args=(2.0,))
print(round(area, 6), round(2.0 * np.sqrt(np.pi), 6))
#> 3.544908 3.544908
