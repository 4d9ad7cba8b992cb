"""``tracejit.numpy`` against NumPy: values, shapes and dtypes of the same calls, eager and compiled; gradients."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp

F = np.array([[0.5, -1.5, 2.25], [3.0, 0.0, -0.25]])
G = F.astype("float32")
I = np.array([[3, 1, 2], [0, 5, 4]])
B = np.array([[True, False, True], [False, False, True]])
V = np.array([0.25, 0.5, 0.75])
S = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
M = np.stack([S, S + np.eye(3)])

OF_FLOATS = "exp exp2 expm1 sin cos tan sinh cosh tanh arctan arcsinh"
ON_UNIT = "arcsin arccos arctanh log log2 log10 log1p sqrt"
OF_ONE = (
    "negative abs absolute sign square conj conjugate real imag isnan isinf isfinite floor ceil trunc rint"
)
OF_TWO = "add subtract multiply divide true_divide maximum minimum arctan2 hypot logaddexp"
COMPARISONS = "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor"

CALLS = [
    *((name, lambda np, x, n=name: getattr(np, n)(x), (x,)) for name in OF_FLOATS.split() for x in (F, G, I)),
    *((name, lambda np, x, n=name: getattr(np, n)(x), (x,)) for name in ON_UNIT.split() for x in (V,)),
    ("arccosh", lambda np, x: np.arccosh(x), (V + 1.0,)),
    *((name, lambda np, x, n=name: getattr(np, n)(x), (x,)) for name in OF_ONE.split() for x in (F, G, I)),
    *(
        (name, lambda np, x, y, n=name: getattr(np, n)(x, y), p)
        for name in f"{OF_TWO} {COMPARISONS}".split()
        for p in ((F, V), (G, F), (I, F), (I, I))
    ),
    *((f"{name} 2.0", lambda np, x, n=name: getattr(np, n)(x, 2.0), (x,))
       for name in OF_TWO.split() for x in (F, G, I)),
    *((f"{name} 2", lambda np, x, n=name: getattr(np, n)(2, x), (x,)) for name in OF_TWO.split() for x in (F, G, I)),
    *((name, lambda np, x, n=name: getattr(np, n)(x, 3), (x,))
       for name in ("floor_divide", "mod", "power") for x in (F, G, I)),
    ("logical_not", lambda np, x: np.logical_not(x), (I,)),
    ("where", lambda np, c, x: np.where(c, x, 0.0), (B, F)),
    ("where of numbers", lambda np, c, x: np.where(c, x, 0), (I, G)),
    ("where of literals", lambda np, c: np.where(c, 1, 2.5), (B,)),
    *(("clip", lambda np, x, a=a: np.clip(x, *a), (x,)) for x in (F, G, I) for a in ((0, 2), (None, 1), (1, None))),
    *(("round", lambda np, x, d=d: np.round(x, d), (x,)) for x in (F, G, I) for d in (0, 1)),
    *(
        (name, lambda np, x, n=name, a=a, k=k: getattr(np, n)(x, axis=a, keepdims=k), (x,))
        for name in "sum prod mean var std max min amax amin all any".split()
        for x in (F, G, I)
        for a in (None, 0, -1, (0, 1))
        for k in (False, True)
    ),
    *((name, lambda np, x, n=name: getattr(np, n)(x, 0), (B,)) for name in "sum prod mean max any all cumsum".split()),
    ("sum of small integers", lambda np, x: np.sum(x, 0), (I.astype("int8"),)),
    ("sum of unsigned", lambda np, x: np.sum(x), (I.astype("uint8"),)),
    ("sum with a dtype", lambda np, x: np.sum(x, dtype="float32"), (I,)),
    ("mean with a dtype", lambda np, x: np.mean(x, dtype="float32"), (I,)),
    ("var", lambda np, x: np.var(x, axis=1, ddof=1), (F,)),
    ("std", lambda np, x: np.std(x, ddof=1), (G,)),
    *(
        (name, lambda np, x, n=name, a=a: getattr(np, n)(x, axis=a), (x,))
        for name in "argmax argmin cumsum sort argsort".split()
        for x in (F, G, I)
        for a in (None, 0, -1)
    ),
    ("reshape", lambda np, x: np.reshape(x, (3, -1)), (F,)),
    ("reshape to a vector", lambda np, x: np.reshape(x, 6), (F,)),
    ("ravel", lambda np, x: np.ravel(x), (I,)),
    ("transpose", lambda np, x: np.transpose(x), (M,)),
    ("transpose by axes", lambda np, x: np.transpose(x, (1, 0, -1)), (M,)),
    ("moveaxis", lambda np, x: np.moveaxis(x, 0, -1), (M,)),
    ("swapaxes", lambda np, x: np.swapaxes(x, 0, 2), (M,)),
    ("squeeze", lambda np, x: np.squeeze(x), (F[None, :, None],)),
    ("squeeze an axis", lambda np, x: np.squeeze(x, axis=0), (F[None, :, None],)),
    ("expand_dims", lambda np, x: np.expand_dims(x, -1), (F,)),
    ("newaxis", lambda np, x: x[:, np.newaxis], (F,)),
    ("broadcast_to", lambda np, x: np.broadcast_to(x, (2, 3)), (V,)),
    *(("concatenate", lambda np, x, y, a=a: np.concatenate([x, y], axis=a), (F, I)) for a in (0, 1, -1, None)),
    ("stack", lambda np, x, y: np.stack([x, y], axis=1), (F, G)),
    ("vstack", lambda np, x, y: np.vstack([x, y]), (F, V)),
    ("hstack", lambda np, x, y: np.hstack([x, y]), (F, F)),
    ("hstack of vectors", lambda np, x: np.hstack([x, x]), (V,)),
    ("split", lambda np, x: np.split(x, 3, axis=1), (F,)),
    ("split at positions", lambda np, x: np.split(x, [1, 2], axis=-1), (F,)),
    *(("pad", lambda np, x, w=w: np.pad(x, w, constant_values=7), (F,)) for w in (1, (1, 2), ((0, 1), (2, 0)))),
    *(("tile", lambda np, x, r=r: np.tile(x, r), (F,)) for r in (2, (2, 1), (2, 1, 3))),
    *(("repeat", lambda np, x, a=a: np.repeat(x, 2, axis=a), (F,)) for a in (None, 0, 1)),
    *(("flip", lambda np, x, a=a: np.flip(x, axis=a), (F,)) for a in (None, 0, (0, 1))),
    *(("take", lambda np, x, a=a: np.take(x, [1, 0, -1], axis=a), (F,)) for a in (None, 0, 1)),
    ("take_along_axis", lambda np, x, i: np.take_along_axis(x, i, axis=1), (F, I % 3)),
    ("tril", lambda np, x: np.tril(x, -1), (S,)),
    ("triu", lambda np, x: np.triu(x, 1), (I,)),
    ("meshgrid", lambda np, x, y: np.meshgrid(x, y), (V, I[0])),
    ("meshgrid ij", lambda np, x, y: np.meshgrid(x, y, indexing="ij"), (V, I[0])),
    *(("dot", lambda np, x, y: np.dot(x, y), p) for p in ((V, V), (F, V), (F, S), (M, S), (V, M), (M, V), (M, M))),
    ("dot with a number", lambda np, x: np.dot(x, 2.0), (G,)),
    *(("matmul", lambda np, x, y: np.matmul(x, y), p) for p in ((V, V), (F, V), (F, S), (M, S), (M, M))),
    *(("tensordot", lambda np, x, y, a=a: np.tensordot(x, y, a), (M, S)) for a in (1, 2, ([1, 2], [0, 1]))),
    ("einsum", lambda np, x, y: np.einsum("bij,jk->bik", x, y), (M, S)),
    ("einsum", lambda np, x, y: np.einsum("bij,cj->bic", x, y), (M, S[:, :1])),
    ("einsum", lambda np, x, y: np.einsum("bij,bj->i", x[:1], y), (M, S)),
    ("outer", lambda np, x, y: np.outer(x, y), (F, V)),
    ("trace", lambda np, x: np.trace(x), (S,)),
    *((f"{f} like", lambda np, x, f=f: getattr(np, f)(x), (G,)) for f in ("zeros_like", "ones_like")),
    ("full_like", lambda np, x: np.full_like(x, 2.5), (I,)),
    *(("norm", lambda np, x, k=k: np.linalg.norm(x, **k), (F,))
       for k in ({}, {"axis": 1}, {"ord": 1, "axis": 0}, {"ord": np.inf, "axis": 1}, {"keepdims": True})),
    ("norm of integers", lambda np, x: np.linalg.norm(x), (I,)),
    ("norm of a vector", lambda np, x: np.linalg.norm(x, 3), (V,)),
    ("solve", lambda np, a, b: np.linalg.solve(a, b), (S, V)),
    ("solve many", lambda np, a, b: np.linalg.solve(a, b), (M, M)),
    *((f, lambda np, x, f=f: getattr(np.linalg, f)(x), (x,))
       for f in ("inv", "det", "cholesky", "slogdet") for x in (S, M)),
    ("det of integers", lambda np, x: np.linalg.det(x), (np.array([[1, 2], [3, 4]]),)),
]  # fmt: skip


def in_numpy(call, arguments):
    """What NumPy returns, as a list of arrays."""
    with np.errstate(all="ignore"):
        wanted = call(np, *arguments)
    wanted = wanted if isinstance(wanted, (list, tuple)) else [wanted]
    return [np.asarray(w) for w in wanted]


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
@pytest.mark.parametrize(("call", "arguments"), [c[1:] for c in CALLS], ids=[c[0] for c in CALLS])
def test_a_call_is_as_in_numpy(call, arguments, mode):
    wanted = in_numpy(call, arguments)
    found = mode(lambda *xs: call(tnp, *xs))(*(tnp.array(a) for a in arguments))
    found = found if isinstance(found, (list, tuple)) else [found]
    for a, b in zip(found, wanted, strict=True):
        a = np.asarray(a)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        tolerance = 1e-12 if b.dtype == np.float64 else 2e-6
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


MAKERS = [
    lambda np: np.array([1.0, 2.0]),
    lambda np: np.array([[1, 2], [3, 4]]),
    lambda np: np.array([True, False]),
    lambda np: np.array(3, dtype="float32"),
    lambda np: np.asarray(2.5),
    lambda np: np.zeros((2, 3)),
    lambda np: np.ones(3, dtype=int),
    lambda np: np.full((2, 2), 7),
    lambda np: np.full(2, 0.5, dtype="float32"),
    lambda np: np.eye(3),
    lambda np: np.eye(2, 3, k=1, dtype="int32"),
    lambda np: np.identity(2),
    lambda np: np.arange(5),
    lambda np: np.arange(1, 2, 0.25),
    lambda np: np.arange(5, 0, -2),
    lambda np: np.arange(3, dtype="float32"),
    lambda np: np.linspace(0, 1),
    lambda np: np.linspace(-1.0, 2.0, 7, endpoint=False),
    lambda np: np.linspace(0, 1, 5, dtype="float32"),
    lambda np: np.sin(1),
    lambda np: np.add(1, 2),
    lambda np: np.multiply(2, 1.5),
    lambda np: np.sqrt([1.0, 4.0]),
    lambda np: np.sum([1, 2, 3]),
    lambda np: np.array([np.pi, np.e, np.inf, np.nan]),
    lambda np: np.exp(np.array([1, 2], dtype=np.int8)),
    lambda np: np.array([1, 2], dtype=np.complex64) * 2.0,
    lambda np: np.array([1.0], dtype="float32") + 1.0,
]


@pytest.mark.parametrize("make", MAKERS, ids=range(len(MAKERS)))
def test_what_is_made_is_as_in_numpy(make):
    found, wanted = make(tnp), np.asarray(make(np))
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    tolerance = {"e": 1e-3, "f": 1e-6}.get(wanted.dtype.char, 1e-15)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=tolerance)


def test_lists_may_hold_tensors():
    x = tf.constant(2.0)
    assert tnp.array([x, 1.0]).shape == (2,)
    assert tf.grad(lambda x: tnp.sum(tnp.stack([x, x * x])))(3.0).item() == 7.0
    assert tnp.add(tf.Variable(1.5), 1).item() == 2.5


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_gradients(mode):
    weights, x = np.linspace(-1, 1, 9).reshape(3, 3), S / 4

    def loss(x):
        h = tnp.tanh(tnp.matmul(x, weights) + 1.0)
        spread = tnp.std(h, axis=0) + tnp.linalg.norm(h, axis=1)
        return (
            tnp.sum(tnp.sort(spread) * [1.0, 2.0, 3.0])
            + tnp.log(tnp.linalg.det(x))
            + tnp.mean(tnp.arctan2(x, 2.0))
        )

    def by_hand(x):
        h = np.tanh(np.matmul(x, weights) + 1.0)
        spread = np.std(h, axis=0) + np.linalg.norm(h, axis=1)
        return (
            np.sum(np.sort(spread) * [1.0, 2.0, 3.0]) + np.log(np.linalg.det(x)) + np.mean(np.arctan2(x, 2.0))
        )

    gradient = mode(tf.grad(loss))(x)
    assert gradient.dtype == np.float64
    for k in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[k] = 1e-6
        slope = (by_hand(x + step) - by_hand(x - step)) / 2e-6
        assert gradient.numpy()[k] == pytest.approx(slope, rel=1e-7, abs=1e-8)


def test_it_is_loaded_when_asked_for():
    code = "import sys, tracejit; a = 'tracejit.numpy' in sys.modules; print(a, tracejit.numpy.__name__)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["False", "tracejit.numpy"]


def test_names_are_listed():
    listed = {name for name in dir(tnp) if not name.startswith("_")}
    assert listed - {"linalg"} <= set(dir(np)) | {"logsumexp", "row_stack"}  # the latter until NumPy 2.5


def test_the_older_name_of_vstack():
    assert tnp.row_stack is tnp.vstack


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 2)])
def test_the_largest_of_no_elements_is_a_norm_of_0(shape):
    x = np.zeros(shape)
    for function in (tnp.linalg.vector_norm, tf.function(tnp.linalg.vector_norm)):
        np.testing.assert_array_equal(function(x, ord=np.inf), np.linalg.vector_norm(x, ord=np.inf))
        np.testing.assert_array_equal(
            function(x, ord=np.inf, axis=0), np.linalg.vector_norm(x, ord=np.inf, axis=0)
        )
        with pytest.raises(tf.ShapeError, match="no elements"):
            function(x, ord=-np.inf)
