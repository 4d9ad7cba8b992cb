# %% [markdown]
# # A Gaussian process
#
# The marginal likelihood of a Gaussian process and its gradient by the Cholesky factor, then a prediction with its
# uncertainty.

# %%
import numpy as np
from scipy.optimize import minimize

import tracejit as tf

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0.0, 6.0, 40))
y = np.sin(x) + 0.1 * rng.normal(size=x.size)


# %% [markdown]
# ## The likelihood
#
# There are three parameters, all given by their logarithms: the length scale and the sizes of signal and noise.

# %%
def kernel(a, b, log_scale, log_size):
    apart = (a[:, None] - b[None, :]) / tf.exp(log_scale)
    return tf.exp(2 * log_size - 0.5 * apart**2)


def negative_log_likelihood(p):
    covariance = kernel(x, x, p[0], p[1]) + tf.exp(2 * p[2]) * np.eye(x.size)
    factor = tf.linalg.cholesky(covariance)
    white = tf.linalg.triangular_solve(factor, y[:, None], lower=True)
    return 0.5 * tf.reduce_sum(white**2) + tf.reduce_sum(tf.math.log(tf.linalg.diag_part(factor)))


compiled = tf.function(tf.value_and_grad(negative_log_likelihood))
fit = minimize(lambda p: [v.numpy() for v in compiled(p)], np.zeros(3), jac=True, method="L-BFGS-B")
scale, size, noise = np.exp(fit.x)
print(f"length {scale:.1f}, noise {noise:.2f}")
#> length 1.7, noise 0.11


# %% [markdown]
# ## A prediction
#
# The same functions, eagerly or compiled.

# %%
@tf.function
def predicted(p, new):
    covariance = kernel(x, x, p[0], p[1]) + tf.exp(2 * p[2]) * np.eye(x.size)
    factor = tf.linalg.cholesky(covariance)
    across = kernel(x, new, p[0], p[1])
    white = tf.linalg.triangular_solve(factor, across, lower=True)
    mean = tf.linalg.matvec(white, tf.linalg.triangular_solve(factor, y[:, None], lower=True)[:, 0], transpose_a=True)
    return mean, tf.sqrt(tf.exp(2 * p[1]) - tf.reduce_sum(white**2, axis=0))


mean, deviation = predicted(fit.x, np.array([1.0, 3.0, 9.0]))
print(bool(np.all(np.abs(mean.numpy()[:2] - np.sin([1.0, 3.0])) < 0.2)), bool(deviation[2] > 3 * deviation[0]))
#> True True

# %% [markdown]
# ## Plot

# %%
try:
    import matplotlib.pyplot as plt
except ImportError:
    plt = None
if plt:
    places = np.linspace(-1.0, 9.0, 300)
    mean, deviation = (v.numpy() for v in predicted(fit.x, places))
    plt.fill_between(places, mean - 2 * deviation, mean + 2 * deviation, alpha=0.2, label="two deviations")
    plt.plot(places, mean, label="mean")
    plt.plot(x, y, "k.", label="data")
    plt.legend()
    plt.show()
