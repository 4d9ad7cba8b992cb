"""Writes of programs for NumPy, eagerly, in helpers and across dtypes: NumPy's result, or an error with its lines."""

from __future__ import annotations

import types

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.tracing.dispatch import state
from tracejit.ops.tensor.memory import holders, programs

A = np.array([[0.3, 1.7], [2.2, 0.9], [1.1, 0.6]])

MODES = {
    "eager": lambda f: f(tf.constant(A)),
    "function": lambda f: tf.function(f)(A.copy()),
    "grad": lambda f: tf.value_and_grad(f)(A.copy())[0],
    "compiled grad": lambda f: tf.function(tf.value_and_grad(f))(A.copy())[0],
    "vmap": lambda f: tf.vmap(f)(A[None])[0],
}


def program(body, imports="import numpy as np"):
    """A function of `a` in a module of its own."""
    module = types.ModuleType("a_program")
    exec(compile(f"{imports}\ndef f(a):\n    {body}\n", "<a program>", "exec"), vars(module))
    return module.f


REFUSED_EAGERLY = """
y = a * 1.0; rows = list(y); rows[0] += 1.0; return np.sum(y)
y = a * 1.0; d = {"top": y[0]}; d["top"] *= 2.0; return np.sum(y ** 2)
y = a * 1.0; r = y[0]; y += 1.0; return np.sum(r)
y = a * 1.0; r = y[0]; y[0, 1] = 5.0; return np.sum(r)
y = a * 1.0; t = y.T; t += 1.0; return np.sum(y)
y = a * 1.0; z = y; z += 1.0; return np.sum(y)
y = a * 1.0; z = y.astype(float, copy=False); z += 1.0; return np.sum(y)
y = a * 1.0; r = np.asarray(y); y += 1.0; return np.sum(r)
y = a * 1.0; r = np.split(y, 3); y += 1.0; return np.sum(r[0])
y = a * 1.0; y[0], y[1] = y[1], y[0]; return np.sum(y ** 2)
y = a * 1.0; r = y[0]; y[1] = 5.0; y *= 2.0; return np.sum(r)
y = a * 1.0; r = y[0]; y[1] = 5.0; r += 2.0; return np.sum(y)
z = a * 1j; im = z.imag; im += 1.0; return np.sum(abs(z) ** 2)
y = a * 1.0; y.sort(); return np.sum(y[0])
""".strip().splitlines()


@pytest.mark.parametrize("body", REFUSED_EAGERLY)
def test_no_stale_value_is_read_eagerly(body):
    f = program(body)
    f(A.copy())
    with pytest.raises(TypeError):
        f(tf.constant(A))


RIGHT_EAGERLY = """
y = a * 1.0; y += 1.0; y *= y; return np.sum(y)
y = a * 1.0; r = y[0]; y[1] += 1.0; return np.sum(r) + np.sum(y)
y = a * 1.0; r = y[0].copy(); y += r; return np.sum(r) + np.sum(y)
y = a * 1.0; z = +y; z += 1.0; return np.sum(y) * np.sum(z)
y = a * 1.0; z = y.copy(); z += 1.0; return np.sum(y) * np.sum(z)
y = a * 1.0; z = y.astype(float); z += 1.0; return np.sum(y) * np.sum(z)
y = a[0] * 1.0; y[0], y[1] = y[1], y[0]; return y[0] * 3.0 + y[1]
y = a * 1.0; s = y[0, 1]; y[0, 1] = 5.0; return s * np.sum(y)
y = a * 1.0; y[:, 1] -= np.dot(y[:, 0], y[:, 1]) * y[:, 0]; return np.sum(y)
y = a * 1.0; p, q = y[:1], y[1:]; p += 1.0; return np.sum(p) * np.sum(q)
""".strip().splitlines()


@pytest.mark.parametrize("body", RIGHT_EAGERLY)
def test_what_is_not_stale_is_not_refused_eagerly(body):
    f = program(body)
    assert float(f(tf.constant(A))) == pytest.approx(f(A.copy()), rel=1e-12)


def test_nobody_listens_when_the_old_memory_is_gone():
    y = program("y = a * 1.0; r = y[0]; y += 1.0; return y")(tf.constant(A))
    assert float(tf.reduce_sum(y)) == pytest.approx(np.sum(A + 1.0))
    y = y + 1.0
    assert state.recorders == ()


def test_the_caller_does_not_read_its_old_array_either():
    x = tf.constant(A)
    f = program("a += 1.0; return np.sum(a)")
    assert float(f(x)) == pytest.approx(np.sum(A + 1.0))
    with pytest.raises(TypeError, match="a shows in NumPy what was written"):
        f(x)


HELPERS = {
    "parts": "r = [a[:2]]; a = a + 0.0; b = a[0]; a += 1.0; return (b ** 2).sum() + r[0].sum()",
    "transposed": "a = a * 1.0; z = a.T; a += 1.0; return (z ** 2).sum()",
    "same": "a = a * 1.0; z = a; z += 1.0; return (a ** 2).sum()",
    "not copied": "a = a * 1.0; z = a.astype(float, copy=False); z += 1.0; return (a ** 2).sum()",
}


@pytest.mark.parametrize("mode", ["eager", "function", "grad"])
@pytest.mark.parametrize("name", HELPERS)
def test_helpers_that_name_no_library_are_refused_where_nobody_knows(name, mode):
    """Their module has NumPy and this package, and so has their caller."""
    f = program(HELPERS[name], "import numpy as np\nimport tracejit")
    with pytest.raises((TypeError, tf.errors.TracejitError), match="shows in NumPy what was written"):
        MODES[mode](lambda a: f(a) + tf.reduce_sum(a) * 0.0)


@pytest.mark.parametrize(
    "imports, body, answer",
    [
        ("import numpy as np", "return np.sin(a)", True),
        ("import numpy as np", "return a", True),
        ("import tracejit as tj", "return a", ""),
        ("import tracejit as tj; import numpy as np", "return tj.sin(np.sin(a))", False),
        ("import tracejit as tj; import numpy as np", "return a", None),
        ("", "return a", None),
    ],
)
def test_who_is_a_program_for_numpy(imports, body, answer):
    f = program(body, imports)
    assert programs._decide(f.__code__, f.__globals__) == answer


RAISING = """
n = np.arange(4) + 0 * a.shape[0]; n += 0.5; return np.sum(n)
n = (a * 3.0).astype(int); n += 0.5; return np.sum(n) + 0.0
n = (a * 3.0).astype(int); n /= 2; return np.sum(n) + 0.0
n = (a * 3.0).astype(int); n[1:] += 0.5; return np.sum(n) + 0.0
n = (a * 3.0).astype(int); n[n > 1] += 0.5; return np.sum(n) + 0.0
n = np.zeros((3, 2), dtype=int); n += a; return np.sum(n) + 0.0
y = a * 1.0; y += a * 1j; return np.sum(abs(y))
y = a[0] * 1.0; y += a; return np.sum(y)
y = a > 1.0; y &= 3; return np.sum(y) + 0.0
""".strip().splitlines()


@pytest.mark.parametrize("mode", ["eager", "function"])
@pytest.mark.parametrize("body", RAISING)
def test_writes_that_numpy_refuses(body, mode):
    f = program(body)
    with pytest.raises((TypeError, ValueError)):
        f(A.copy())
    with pytest.raises((TypeError, ValueError, tf.errors.TracejitError)):
        MODES[mode](f)


@pytest.mark.parametrize("mode", MODES)
def test_an_array_keeps_its_dtype_when_it_is_added_to(mode):
    f = program("y = a.astype(np.float32); y += a; return np.sum(y * a) + y.dtype.itemsize")
    assert float(MODES[mode](f)) == pytest.approx(f(A.copy()), rel=1e-7)
    slopes = np.asarray(tf.grad(f)(A)), np.asarray(tf.function(tf.grad(f))(A))
    np.testing.assert_allclose(slopes[0], 4.0 * A, rtol=1e-6)
    np.testing.assert_allclose(slopes[1], 4.0 * A, rtol=1e-6)


def test_other_programs_promote_as_ever():
    def f(n):
        n += tf.constant(0.5)
        return n

    assert f(tf.constant([1, 2])).dtype == tf.float64


def test_the_error_names_what_is_read_and_shows_all_lines():
    f = program("y = a * 1.0\n    rows = [y[0], y[1]]\n    y += 1.0\n    return np.sum(rows[1])")
    with pytest.raises(tf.errors.TracejitError) as caught:
        tf.function(f)(A)
    text = str(caught.value)
    assert text.startswith("rows[1] shows in NumPy")
    assert [text.index(f"<a program>:{line}") for line in (5, 4, 6)] == sorted(
        text.index(f"<a program>:{line}") for line in (5, 4, 6)
    )
    assert ".copy()" in text


@pytest.mark.skipif(not holders.KNOWN, reason="an interpreter that does not count what names hold")
def test_a_sorted_tensor_that_nobody_takes_is_an_error():
    x = tf.constant([2.0, 1.0])
    with pytest.raises(TypeError, match=r"x = x\.sort"):
        x.sort()
    assert np.asarray(x.sort()).tolist() == [1.0, 2.0]
