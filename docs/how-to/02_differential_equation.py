# %% [markdown]
# # Fit a differential equation
#
# Estimate the rates of a predator-prey model from measurements. The solver is a plain `for` loop, and its gradient is
# compiled with it.

# %%
import numpy as np
from scipy.optimize import minimize

import tracejit as tf

# %% [markdown]
# ## The equation and a solver
#
# Four evaluations per step, the classical Runge-Kutta method. The loop is ordinary Python; it becomes a loop of machine
# code, forwards and backwards.

# %%
def rate_of_change(z, p):
    prey, predators = z[0], z[1]
    return tf.stack([p[0] * prey - p[1] * prey * predators, p[2] * prey * predators - p[3] * predators])


def solution(p, z0, step, count):
    z = z0
    rows = tf.TensorArray(z0.dtype, size=count)
    for k in tf.range(count):
        a = rate_of_change(z, p)
        b = rate_of_change(z + step / 2 * a, p)
        c = rate_of_change(z + step / 2 * b, p)
        d = rate_of_change(z + step * c, p)
        z = z + step / 6 * (a + 2 * b + 2 * c + d)
        rows = rows.write(k, z)
    return rows.stack()


# %% [markdown]
# ## Measurements

# %%
true_rates = np.array([1.1, 0.4, 0.1, 0.4])
start = np.array([10.0, 5.0])
solve = tf.function(lambda p: solution(p, tf.constant(start), 0.05, 400))
rng = np.random.default_rng(0)
measured = solve(true_rates).numpy() * np.exp(0.02 * rng.normal(size=(400, 2)))
print(measured.shape)
#> (400, 2)


# %% [markdown]
# ## The fit
#
# Fitting the logarithms of the rates keeps the rates positive. SciPy gets value and gradient from one call.

# %%
def misfit(log_rates):
    z = solution(tf.exp(log_rates), tf.constant(start), 0.05, 400)
    return tf.reduce_mean((tf.math.log(z) - np.log(measured)) ** 2)


compiled = tf.function(tf.value_and_grad(misfit))
guess = np.log([1.0, 0.5, 0.12, 0.5])
fit = minimize(lambda q: [x.numpy() for x in compiled(q)], guess, jac=True, method="L-BFGS-B")
print(np.round(np.exp(fit.x), 2))
#> [1.1 0.4 0.1 0.4]

# %% [markdown]
# ## Plot

# %%
try:
    import matplotlib.pyplot as plt
except ImportError:
    plt = None
if plt:
    times = 0.05 * np.arange(1, 401)
    found = solve(np.exp(fit.x))
    for column, (name, color) in enumerate((("prey", "C0"), ("predators", "C3"))):
        plt.plot(times, measured[:, column], ".", color=color, alpha=0.25)
        plt.plot(times, found[:, column], color=color, label=name)
    plt.xlabel("time")
    plt.legend()
    plt.show()
