"""Wrong programs: the same error eagerly and compiled, which names the line, what is wrong, and what may be written."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import pytest

import tracejit as tf

#: An expression of ``x``, three floats, with its error and what that says before the line.
CASES: list[tuple[str, type[Exception], str]] = [
    (
        "tf.cast(x, 'floot32')",
        tf.DtypeError,
        "cast: 'floot32' is no dtype: write 'float32', 'int64', 'bool' or",
    ),
    ("tf.constant([1.0], dtype='foo')", tf.DtypeError, "'foo' is no dtype: write 'float32'"),
    ("tf.ones((2,), dtype='foo')", tf.DtypeError, "'foo' is no dtype: write 'float32'"),
    ("tf.TensorSpec((1,), 'foo')", tf.DtypeError, "'foo' is no dtype: write 'float32'"),
    ("tf.py_function(abs, [x], 'foo')", tf.DtypeError, "'foo' is no dtype: write 'float32'"),
    (
        "tf.TensorSpec('a', 'float32')",
        tf.ShapeError,
        "sizes are integers, None or of tensors, got the shape ('a',)",
    ),
    (
        "tf.zeros((2**40, 2**40))",
        tf.ShapeError,
        "no memory holds an array of float32 and the shape (1099511627776, ",
    ),
    ("tf.eye(-1)", tf.ShapeError, "sizes are not negative, got the shape (-1, -1)"),
    ("tf.one_hot([0], -1)", tf.ShapeError, "sizes are not negative, got the shape (-1,)"),
    ("tf.random.normal((-1,))", tf.ShapeError, "sizes are not negative, got the shape (-1,)"),
    ("tf.random.uniform((2, -3))", tf.ShapeError, "sizes are not negative, got the shape (2, -3)"),
    (
        "tf.random.stateless_normal((-1,), [1, 2])",
        tf.ShapeError,
        "sizes are not negative, got the shape (-1,)",
    ),
    (
        "tf.TensorArray('float32', size=-2)",
        tf.ShapeError,
        "the size of a TensorArray is not negative, got -2",
    ),
    ("tf.range([1.0, 2.0])", tf.ShapeError, "a range is of numbers, got 0, [1.0, 2.0], 1"),
    ("x[0.5:]", tf.DtypeError, "the ends of a slice are integers or None, got 0.5:None"),
    ("x[:'a']", tf.DtypeError, "the ends of a slice are integers or None, got None:'a'"),
    ("x[::1.5]", tf.DtypeError, "the step of a slice is an integer, not 1.5"),
    (
        "x @ 2.0",
        tf.ShapeError,
        "@ takes tensors of rank 1 and more, got float32[3] and float32[]; use * for scalars",
    ),
    (
        "tf.cond(x[0] > 0.0, x, x)",
        TypeError,
        "cond takes two functions, got one that is a Tensor: write lambda: ...",
    ),
    (
        "twice(x)",
        RuntimeError,
        "A non-persistent GradientTape can only be used to compute one set of gradients",
    ),
    ("again(x)", ValueError, "Tape is still recording, this can happen if you try to re-enter"),
    (
        "tf.stack([x, x[1:]])",
        tf.ShapeError,
        "stack needs tensors of equal shape, and tensor 0 has (3,), tensor 1 (2,)",
    ),
    ("tf.split(x, 2)", tf.ShapeError, "split: an axis of size 3 has no 2 equal parts; give the sizes"),
    (
        "tf.logical_or(x, x)",
        tf.DtypeError,
        "logical_or: takes bools, got float32[3], float32[3]; compare numbers first",
    ),
    ("float(x)", ValueError, "only a tensor of one element is a number, this one is float32[3]"),
    (
        "tf.grad(lambda x: x)(x)",
        tf.ShapeError,
        "it returned float32[3]; reduce it, as by tracejit.reduce_sum",
    ),
    (
        "tf.grad(lambda x: (x[0], x))(x)",
        tf.ShapeError,
        "returned a tuple of 2: return the scalar, or (scalar, other)",
    ),
    ("tf.grad(lambda x: None)(x)", tf.ShapeError, "it returned None: is a return statement missing?"),
    (
        "tf.grad(tf.reduce_sum, argnums=1)(x)",
        ValueError,
        "argnums 1 for a call with 1 positional argument: argnums ",
    ),
    (
        "tf.jvp(tf.sin, [x], [x[1:]])",
        tf.ShapeError,
        "the tangent of an argument must be float32[3], got float32[2]",
    ),
    (
        "tf.vjp(tf.sin, x)[1](x[1:])",
        tf.ShapeError,
        "the cotangent of a result must be float32[3], got float32[2]",
    ),
    (
        "tf.einsum('ij->i', x)",
        tf.ShapeError,
        "einsum: 'ij' of 'ij->i' does not name the 1 axes of float32[3]",
    ),
    (
        "tf.nn.softmax_cross_entropy_with_logits(labels=[0, 1], logits=tf.ones((2, 3)))",
        tf.ShapeError,
        "for class numbers use sparse_softmax_cross_entropy_with_logits",
    ),
    (
        "tf.nn.conv2d(tf.ones((8, 8, 3)), tf.ones((2, 2, 3, 1)), 1, 'SAME')",
        tf.ShapeError,
        "needs a batch, 2 axes and channels, got float32[8,8,3]; one example alone is x[tracejit.newaxis]",
    ),
    ("unconnected(x)", ValueError, "Unknown value for unconnected_gradients: 'foo'; it is 'none' or 'zero'"),
]


def twice(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    return tape.gradient(y, x)


def again(x: Any) -> Any:
    with tf.GradientTape() as tape, tape:
        return x


def unconnected(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, x, unconnected_gradients="foo")


def program(text: str, file: str) -> Callable[[], Any]:
    """A function in a file of its own, whose only line is the expression."""
    source = f"def program():\n    return {text}\n"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names = {
        "tf": tf,
        "x": tf.constant([1.0, 2.0, 3.0]),
        "twice": twice,
        "again": again,
        "unconnected": unconnected,
    }
    exec(compile(source, file, "exec"), names)
    return names["program"]


def raised(call: Callable[[], Any]) -> Exception:
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


@pytest.mark.parametrize(("text", "kind", "message"), CASES, ids=[text for text, _, _ in CASES])
def test_the_error_says_what_and_where(text: str, kind: type[Exception], message: str, tmp_path: Any) -> None:
    file = str(tmp_path / "wrong.py")
    eager, compiled = raised(program(text, file)), raised(tf.function(program(text, file)))
    for error in (eager, compiled):
        what, where = str(error).split("\n  at ")
        assert isinstance(error, kind) and message in what
        own = text.split("(")[0] in ("twice", "again", "unconnected")
        assert where.startswith(f"{__file__ if own else file}:"), "the line of the program, not one of ours"
    assert type(eager) is type(compiled) and str(eager) == str(compiled)
