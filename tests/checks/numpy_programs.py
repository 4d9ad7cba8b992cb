"""Functions of one array as scientists write them: ``import numpy as np`` alone, updates in place, loops that fill."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from checks import numerical_recipes

PROGRAMS: dict[str, tuple[Callable, np.ndarray]] = {}


def program(*shape, low=0.3, high=1.7):
    """Adds a function to the programs, with an argument of this shape whose elements differ."""
    size = int(np.prod(shape))
    order = np.random.default_rng(7).permutation(size)
    argument = (low + (high - low) * (order + 0.5) / size).reshape(shape)

    def add(f):
        PROGRAMS[f.__name__] = (f, argument)
        return f

    return add


def spd(x):
    """A matrix with positive eigenvalues that lie apart."""
    return x @ x.T + np.diag(np.arange(1.0, len(x) + 1))


# Sums, means and norms


@program(6)
def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@program(5)
def log_sum_exp(x):
    highest = np.max(x)
    return highest + np.log(np.sum(np.exp(x - highest)))


@program(4, 3)
def standardised(x):
    z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    return np.sum(z**3 * np.arange(3))


@program(3, 4)
def softmax_entropy(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    return -np.mean(np.sum(p * np.log(p), axis=1))


@program(8)
def huber(x):
    r = x - 1.0
    return np.where(np.abs(r) < 0.3, 0.5 * r**2, 0.3 * (np.abs(r) - 0.15)).sum()


@program(4, 2)
def pairwise_distances(x):
    d = x[:, None, :] - x[None, :, :]
    r2 = np.sum(d**2, axis=-1) + np.eye(len(x))
    return np.sum(np.triu(1.0 / np.sqrt(r2), k=1))


@program(6)
def skewness(x):
    m = np.mean(x)
    return np.mean((x - m) ** 3) / np.mean((x - m) ** 2) ** 1.5


@program(5)
def norms(x):
    return (
        np.linalg.norm(x) + np.linalg.norm(x, 1) + np.linalg.norm(x, np.inf) + np.linalg.norm(np.outer(x, x))
    )


@program(7)
def robust_location(x):
    return np.median(x) ** 2 + np.percentile(x, 30.0) * np.ptp(x)


@program(4, 5)
def weighted_average(x):
    return np.average(x[0], weights=x[1]) * np.average(x, axis=0, weights=[1.0, 2.0, 3.0, 4.0]).prod()


# Arrays that are filled


@program(5)
def logistic_map(r):
    x = np.zeros((len(r), 6))
    x[:, 0] = 0.3
    for t in range(5):
        x[:, t + 1] = r * x[:, t] * (1 - x[:, t])
    return np.sum(x[:, -1] ** 2)


@program(6)
def recurrence(x):
    y = np.zeros(len(x) + 2)
    y[0], y[1] = 1.0, 0.5
    for i in range(len(x)):
        y[i + 2] = y[i + 1] * x[i] - 0.3 * y[i]
    return y[-1] * y.sum()


@program(4)
def vandermonde_by_hand(x):
    v = np.ones((len(x), 3))
    for k in range(1, 3):
        v[:, k] = v[:, k - 1] * x
    return np.linalg.det(v.T @ v)


@program(6)
def heat_equation(u):
    u = u.copy()
    for _ in range(4):
        u[1:-1] += 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


@program(4, 4)
def red_black_relaxation(u):
    u = np.array(u)
    for _ in range(2):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u[0] = u[1]
    return (u * np.arange(16.0).reshape(4, 4)).sum()


@program(5)
def tridiagonal_solver(d):
    n = len(d)
    c, y = np.empty(n), np.empty(n)
    c[0], y[0] = 0.2 / (d[0] + 2), 1.0 / (d[0] + 2)
    for i in range(1, n):
        m = d[i] + 2 - 0.2 * c[i - 1]
        c[i] = 0.2 / m
        y[i] = (1.0 - 0.2 * y[i - 1]) / m
    for i in range(n - 2, -1, -1):
        y[i] -= c[i] * y[i + 1]
    return np.sum(y**2)


@program(2)
def runge_kutta(p):
    def slope(y):
        return np.array([p[0] * y[0] - y[0] * y[1], -p[1] * y[1] + y[0] * y[1]])

    y, h = np.array([1.0, 0.5]), 0.1
    path = np.zeros((6, 2))
    for t in range(6):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path[t] = y
    return np.sum(path**2)


@program(3, 3)
def cholesky_by_hand(x):
    a = spd(x)
    factor = np.zeros_like(a)
    for i in range(3):
        for j in range(i + 1):
            s = a[i, j] - np.dot(factor[i, :j], factor[j, :j])
            factor[i, j] = np.sqrt(s) if i == j else s / factor[j, j]
    return np.log(np.diag(factor)).sum()


@program(3, 3)
def gaussian_elimination(x):
    a = spd(x).copy()
    for k in range(2):
        for i in range(k + 1, 3):
            a[i] -= a[i, k] / a[k, k] * a[k]
    return a[0, 0] * a[1, 1] * a[2, 2]


@program(5)
def dynamic_programme(cost):
    best = np.zeros(len(cost))
    best[0] = cost[0]
    best[1] = cost[1] + 0.1
    for i in range(2, len(cost)):
        best[i] = cost[i] + min(best[i - 1], best[i - 2])
    return best[-1] ** 2


@program(6)
def clipped_in_place(x):
    y = x * 2
    y[y > 2.0] = 2.0
    y[::2] *= 3
    y -= y.mean()
    return np.sum(y**2)


@program(5)
def histogram_by_hand(x):
    h = np.zeros(3)
    for value, place in zip(x, [0, 2, 1, 2, 0], strict=True):
        h[place] += value
    return np.sum(h**3)


@program(6)
def exponential_smoothing(x):
    s = np.empty_like(x)
    s[0] = x[0]
    for t in range(1, x.shape[0]):
        s[t] = 0.3 * x[t] + 0.7 * s[t - 1]
    return np.mean((x - s) ** 2)


@program(4)
def matrix_by_rows(x):
    a = np.zeros((4, 4))
    a[np.arange(4), np.arange(4)] = x
    a[0, 1:] = x[1:] ** 2
    a[1:, 0] = x[:-1]
    return np.linalg.slogdet(a + 3 * np.eye(4))[1]


@program(3)
def list_of_steps(x):
    steps = []
    for k in range(4):
        steps.append(x**k / (k + 1.0))
    return np.sum(np.stack(steps).prod(axis=0))


# Choosing, sorting, indexing


@program(7)
def fancy_indexing(x):
    i = np.array([0, 3, 3, 6])
    return np.sum(x[i] ** 2 * np.array([1.0, 2.0, 3.0, 4.0])) + x[[1, 2]].prod()


@program(3, 4)
def points_of_a_grid(x):
    return x[np.ix_([0, 2], [1, 3])].prod() + x[[0, 1], [2, 3]].sum() + x[..., ::-1][1, 0]


@program(8)
def masked_mean(x):
    return x[x > 1.0].mean() ** 2


@program(6)
def order_statistics(x):
    s = np.sort(x)
    return np.sum(s * np.arange(6.0)) / x[np.argmax(x)] + x[np.argsort(x)][2]


@program(5)
def interpolation(x):
    return np.sum(np.interp([0.5, 1.5, 2.7], np.arange(5.0), x) ** 2)


@program(6)
def select_pieces(x):
    return np.sum(np.select([x < 0.7, x < 1.2], [x**2, np.sin(x)], default=np.log(x)))


@program(3, 4)
def rolled_and_flipped(x):
    return np.sum(np.roll(x, 1, axis=1) * np.flip(x, 0)) + np.sum(np.rot90(x)[0] * x[:, -1])


@program(2, 3)
def glued(x):
    y = np.concatenate([x, np.ones((1, 3))])
    z = np.hstack([y, y[:, :1] * 2])
    return np.vstack([z, np.tile(x[0, :2], 2)]).cumprod(axis=0).sum()


@program(5)
def argument_of_minimum(x):
    grid = np.linspace(0, 2, 9)
    energy = ((grid[:, None] - x) ** 2).sum(axis=1)
    k = int(np.argmin(energy))
    return energy[k] * grid[k]


@program(5)
def meshes(x):
    a, b = np.meshgrid(x, x[:3])
    return np.sum(np.hypot(a, b) * np.arctan2(a, b))


# Linear algebra


@program(3, 3)
def gaussian_log_density(x):
    s = spd(x)
    r = x[0] - 0.5
    return -0.5 * (r @ np.linalg.solve(s, r) + np.linalg.slogdet(s)[1] + 3 * np.log(2 * np.pi))


@program(6)
def least_squares_line(y):
    a = np.stack([np.ones(6), np.arange(6.0)], axis=1)
    beta, *_ = np.linalg.lstsq(a, y**2, rcond=None)
    return np.sum((a @ beta - y) ** 2)


@program(3, 3)
def eigenvalues(x):
    w, v = np.linalg.eigh(spd(x))
    return np.sum(np.log(w)) + np.sum((v @ np.diag(np.sqrt(w)) @ v.T)[0])


@program(3, 4)
def singular_values(x):
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    return s.sum() + np.sum((u * s) @ vt * x) + np.linalg.cond(x[:, :3])


@program(3, 3)
def qr_least_squares(x):
    q, r = np.linalg.qr(x + 2 * np.eye(3))
    return np.sum(np.linalg.inv(r) @ q.T) + np.trace(np.linalg.matrix_power(x, 3))


@program(4, 3)
def einsum_chain(x):
    return np.einsum("ij,kj,k->i", x, x, np.arange(4.0)).max() + np.einsum("ij,ij->", x, x)


@program(3, 3)
def kron_and_outer(x):
    return np.sum(np.kron(x, np.eye(2)) ** 2) + np.sum(
        np.outer(x[0], x[1]) * np.tensordot(x, x, axes=([1], [0]))
    )


@program(5)
def gaussian_process(x):
    k = np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2 / 0.3**2) + 0.1 * np.eye(5)
    factor = np.linalg.cholesky(k)
    alpha = np.linalg.solve(factor.T, np.linalg.solve(factor, np.sin(x)))
    return 0.5 * np.sin(x) @ alpha + np.sum(np.log(np.diagonal(factor)))


@program(3, 3)
def power_iteration(x):
    a, v = spd(x), np.ones(3)
    for _ in range(30):
        v = a @ v
        v /= np.linalg.norm(v)
    return v @ a @ v


@program(2, 3)
def rotations(x):
    return np.cross(x[0], x[1]).dot(x[0] ** 2) + np.linalg.multi_dot([x, x.T, x]).sum()


# Series, signals, complex numbers


@program(8)
def power_spectrum(x):
    s = np.abs(np.fft.rfft(x * np.hanning(8))) ** 2
    return np.sum(s * np.fft.rfftfreq(8))


@program(4)
def impedance(x):
    w = np.linspace(1.0, 2.0, 3)
    z = x[0] + 1j * w * x[1] + 1 / (1j * w * x[2] + x[3])
    return np.sum(np.abs(z) + np.angle(z)) + np.sum((z * np.conj(z)).real)


@program(5)
def roots_by_newton(c):
    z = 0.5 + 1.5j
    for _ in range(6):
        z = z - np.polyval(c, z) / np.polyval(np.polyder(c), z)
    return z.real**2 + z.imag


@program(8)
def moving_average(x):
    y = np.convolve(x, np.ones(3) / 3, mode="valid")
    return np.sum(np.diff(y) ** 2) + np.correlate(x, x[:4]).sum()


@program(6)
def cumulative(x):
    equity = np.cumprod(1 + 0.1 * x)
    peak = np.maximum.accumulate(equity * np.array([1, 0.9, 1.1, 0.7, 1.2, 0.8]))
    return np.cumsum(x)[-2] * np.sum(peak)


@program(7)
def quadrature(x):
    t = np.cumsum(x)
    return np.trapezoid(np.sin(t), t) + np.gradient(x, 0.5)[2] ** 2


@program(5)
def polynomial_fit(y):
    c = np.polyfit(np.arange(5.0), y, 2)
    return np.sum(c**2) + np.polyval(c, 1.5)


@program(6)
def ufunc_methods(x):
    table = np.add.outer(x, x[:2]) * np.multiply.outer(x, [1.0, 2.0])
    return np.add.reduce(np.multiply.reduce(table, axis=1)) + np.logaddexp.reduce(x)


@program(4)
def sorted_events(x):
    total = np.zeros(())
    for i, wait in enumerate(x):
        total = total + np.exp(-wait) / (i + 1) if wait > 0.9 else total - wait**2
    return np.float64(2.0) * total


# Of several files, with classes


@program(3)
def recipe_from_a_module(p):
    return numerical_recipes.euler(lambda y: p[0] * y - p[1] * y**2, p[2], 0.1, 5)[-1]


@program(5)
def object_that_fills_arrays(y):
    s = numerical_recipes.Spline(y)
    return sum([s(x) ** 2 for x in (0.3, 1.7, 2.2, 3.9)])


@program(4)
def object_that_adds_in_place(x):
    fitted = numerical_recipes.Momentum(4, 0.1)
    for _ in range(3):
        fitted.step(2.0 * x * (fitted.weights - 0.5))
    return np.sum(fitted.weights * x)


@program(4, 2)
def leapfrog(x):
    velocity = np.zeros((4, 2))
    for _ in range(3):
        d = x[:, None] - x[None]
        force = -(d / (np.sum(d**2, axis=2, keepdims=True) + 0.1) ** 1.5).sum(axis=1)
        velocity += 0.05 * force
        x = x + 0.05 * velocity
    return np.sum(x**2) + 0.5 * np.sum(velocity**2)


# Lists that NumPy's functions make arrays of


@program(4)
def lists_of_numbers(x):
    highest = np.max([np.sin(v) for v in x])
    return (
        np.sum([x[0] ** 2, x[1] * x[2]]) * highest
        + np.exp([x[3], 0.5])[0]
        + np.average([x[0], x[3]], weights=x[1:3])
    )


@program(4)
def lists_of_lists(x):
    rotation = [[np.cos(x[0]), -np.sin(x[0])], [np.sin(x[0]), np.cos(x[0])]]
    return np.linalg.norm(np.dot(rotation, [x[1], x[2]]) + [x[3], 1.0]) + np.linalg.det(
        [[x[0], x[1]], [x[2], x[3]]]
    )


@program(5)
def list_that_a_loop_builds(x):
    squares = []
    for v in x:
        squares.append(v * v)
    return np.prod(squares) + np.dot(squares, np.arange(5.0))
