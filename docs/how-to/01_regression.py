# %% [markdown]
# # Fit a curve with error bars
#
# Least squares with SciPy and a Jacobian from tracejit: you write no derivative by hand, and the covariance of the
# parameters comes from the same Jacobian.

# %%
import numpy as np
from scipy.optimize import least_squares

import tracejit as tf

# %% [markdown]
# ## Data
#
# A decaying oscillation with noise of a known size.

# %%
rng = np.random.default_rng(0)
t = np.linspace(0.0, 4.0, 200)
noise = 0.05
measured = 2.0 * np.exp(-0.5 * t) * np.cos(3.0 * t) + noise * rng.normal(size=t.size)


# %% [markdown]
# ## The model and its Jacobian
#
# The residuals are one function of an array of parameters. Its Jacobian is compiled: one call of machine code per
# iteration of the optimizer.

# %%
@tf.function
def residuals(p):
    amplitude, rate, frequency = p[0], p[1], p[2]
    return (amplitude * tf.exp(-rate * t) * tf.cos(frequency * t) - measured) / noise


jacobian = tf.function(tf.jacfwd(residuals))
start = np.array([1.0, 1.0, 2.5])
fit = least_squares(lambda p: residuals(p).numpy(), start, jac=lambda p: jacobian(p).numpy())

# %% [markdown]
# ## Error bars
#
# Near the minimum the covariance is the inverse of `J^T J`, as residuals are in units of their noise.

# %%
J = jacobian(fit.x).numpy()
errors = np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
for name, value, error in zip(("amplitude", "rate", "frequency"), fit.x, errors):
    print(f"{name:9} {value:.2f} +- {error:.2f}")
#> amplitude 1.98 +- 0.01
#> rate      0.50 +- 0.01
#> frequency 3.00 +- 0.00

# %% [markdown]
# ## Plot

# %%
try:
    import matplotlib.pyplot as plt
except ImportError:
    plt = None
if plt:
    fitted = measured + noise * residuals(fit.x).numpy()
    plt.errorbar(t, measured, noise, fmt=".", color="0.7", label="measured")
    plt.plot(t, fitted, zorder=3, label="fitted")
    plt.xlabel("t")
    plt.legend()
    plt.show()
