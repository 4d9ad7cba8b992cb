"""tracejit.print: text as promised, once each time the program runs, in order, in every mode."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.settings import settings

MODES = [lambda f: f, tf.function]
every_mode = pytest.mark.parametrize("mode", MODES, ids=["eager", "compiled"])


def printed(capsys, f, *args):
    capsys.readouterr()
    f(*args)
    return capsys.readouterr().err


VALUES = [
    (np.float32(1.0), "1"),
    (np.float32(np.pi), "3.14159274"),
    (np.float32(0.1), "0.1"),
    (np.float64(1 / 3), "0.33333333333333331"),
    (np.float64(0.1), "0.1"),
    (np.float64(1e-20), "1e-20"),
    (np.array([np.nan, np.inf, -np.inf, -0.0]), "[nan inf -inf -0]"),
    (np.array([True, False]), "[1 0]"),
    (np.int64(-7), "-7"),
    (np.array(255, np.uint8), "255"),
    (np.array([1 + 2j, -0.5j], np.complex64), "[(1,2) (-0,-0.5)]"),
    (np.arange(7), "[0 1 2 ... 4 5 6]"),
    (np.arange(6), "[0 1 2 3 4 5]"),
    (np.arange(4).reshape(2, 2), "[[0 1]\n [2 3]]"),
    (np.arange(8).reshape(2, 2, 2), "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]"),
    (np.arange(8).reshape(8, 1), "[[0]\n [1]\n [2]\n ...\n [5]\n [6]\n [7]]"),
    (np.zeros((0, 3)), "[]"),
    (np.zeros((2, 0)), "[[]\n []]"),
]


@every_mode
@pytest.mark.parametrize(("value", "text"), VALUES, ids=[text for _, text in VALUES])
def test_elements(capsys, mode, value, text):
    assert printed(capsys, mode(lambda x: tf.print(x)), tf.constant(value)) == text + "\n"


@every_mode
def test_views_and_computed_values(capsys, mode):
    def f(x):
        tf.print(tf.transpose(x), x[::-1, 1], x[:, None, 0] * 2.0, tf.reduce_sum(x))

    assert (
        printed(capsys, mode(f), np.array([[1.0, 2.0], [3.0, 4.0]]))
        == "[[1 3]\n [2 4]] [4 2] [[2]\n [6]] 10\n"
    )


@every_mode
def test_inputs_of_all_kinds(capsys, mode):
    v = tf.Variable(2.0)

    def f(x):
        tf.print("x:", x, {"a": x, "b": [1, None]}, (v,), 1.5, None, "{}", sep="|", end="!{}\n")

    assert printed(capsys, mode(f), tf.constant(3.0)) == "x:|3|{'a': 3, 'b': [1, None]}|(2,)|1.5|None|{}!{}\n"
    assert printed(capsys, mode(lambda: tf.print())) == "\n"


@every_mode
def test_how_many_elements(capsys, mode):
    x = tf.constant(np.arange(10))
    assert printed(capsys, mode(lambda: tf.print(x, summarize=-1))) == "[0 1 2 3 4 5 6 7 8 9]\n"
    assert printed(capsys, mode(lambda: tf.print(x, summarize=1))) == "[0 ... 9]\n"
    with pytest.raises(ValueError, match="summarize"):
        tf.print(x, summarize=-2)


@every_mode
def test_where_to(capsys, mode, tmp_path: Path):
    x, file = tf.constant(1.0), tmp_path / "out.txt"

    def f():
        tf.print("a", x, output_stream=sys.stdout)
        tf.print("b", x, output_stream=sys.stderr)
        tf.print("c", x, output_stream=f"file://{file}")

    capsys.readouterr()
    g = mode(f)
    g()
    g()
    found = capsys.readouterr()
    assert (found.out, found.err) == ("a 1\n" * 2, "b 1\n" * 2)
    assert file.read_text(encoding="utf-8") == "c 1\n" * 2
    with pytest.raises(ValueError, match="output_stream"):
        tf.print(x, output_stream="somewhere")


def halved(x):
    tf.print("from", x)
    n = 0
    while x > 1.0:
        x = x / 2.0
        n += 1
        if x < 1.0:
            tf.print("below", x)
        else:
            tf.print(n, x)
    tf.print("to", x)
    return x


TEXT = "from 5\n1 2.5\n2 1.25\nbelow 0.625\nto 0.625\n"


@every_mode
def test_in_loops_and_branches_in_order_each_time(capsys, mode):
    f = mode(halved)
    for _ in range(2):
        assert printed(capsys, f, tf.constant(5.0)) == TEXT


def forward(f):
    return lambda x: tf.jvp(f, [x], [tf.ones_like(x)])[1]


def taped(f):
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return gradient


@pytest.mark.parametrize("derivative", [tf.grad, forward, taped])
def test_what_is_differentiated_prints_once(capsys, derivative):
    x = tf.constant(5.0)
    for f in (
        derivative(halved),
        tf.function(derivative(halved)),
        derivative(tf.function(halved)),
        tf.function(derivative(tf.function(halved))),
        derivative(derivative(halved)),
        tf.function(derivative(derivative(halved))),
        derivative(derivative(tf.function(halved))),
    ):
        assert printed(capsys, f, x) == TEXT


@pytest.mark.parametrize("f", [tf.fori_loop, tf.scan], ids=lambda f: f.__name__)
def test_loops_of_other_kinds_print_once_when_differentiated(capsys, f):
    def step(i, c):
        tf.print(c)
        return c * c

    def looped(x):
        if f is tf.scan:
            return tf.scan(lambda c, i: (step(i, c), c), x, np.arange(2))[0]
        return tf.fori_loop(0, 2, step, x)

    for g in (
        tf.function(tf.grad(looped)),
        tf.grad(tf.function(looped)),
        tf.function(tf.grad(tf.grad(looped))),
    ):
        assert printed(capsys, g, tf.constant(3.0)) == "3\n9\n"


def test_a_loop_that_computes_its_carries_again_prints_once(capsys):
    def step(i, c):
        tf.print(c)
        return tf.sin(c) + c

    for memory in ("save", "recompute", 100):
        g = tf.function(tf.grad(lambda x, m=memory: tf.fori_loop(0, 30, step, x, memory=m)))
        assert len(printed(capsys, g, tf.constant(1.0)).splitlines()) == 30


@every_mode
def test_each_example_of_a_batch(capsys, mode):
    f = mode(tf.vmap(lambda x: tf.print("x", x)))
    assert printed(capsys, f, np.arange(4.0).reshape(2, 2)) == "x [0 1]\nx [2 3]\n"


def test_sizes_known_when_it_runs(capsys):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float64)])
    def f(x):
        tf.print(x)
        _, rows = tf.scan(lambda c, r: (c + r, c * r), tf.constant(0.0, tf.float64), x)
        tf.print(rows)

    assert printed(capsys, f, np.arange(3.0)) == "[0 1 2]\n[0 0 2]\n"
    assert printed(capsys, f, np.zeros(0)) == "[]\n[]\n"
    assert f.experimental_get_tracing_count() == 1


def test_prints_are_neither_merged_nor_left_out(capsys):
    @tf.function
    def f(x):
        tf.print(x)
        tf.print(x)
        return tf.constant(1.0)

    assert printed(capsys, f, tf.constant(2.0)) == "2\n2\n"


def test_a_check_that_fails_comes_after_what_was_printed(capsys):
    @tf.function
    def f(x):
        tf.print("before")
        assert x > 0.0
        tf.print("after")
        return x

    capsys.readouterr()
    with pytest.raises(AssertionError):
        f(tf.constant(-1.0))
    assert capsys.readouterr().err == "before\n"


def test_an_error_while_printing_arrives(monkeypatch):
    class Broken:
        def write(self, text):
            raise OSError("the disk is full")

        def flush(self):
            raise OSError("the disk is full")

    f = tf.function(lambda x: tf.print(x))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", Broken())
        with pytest.raises(OSError, match="the disk is full"):
            f(tf.constant(1.0))
    f(tf.constant(1.0))


def test_the_loop_program_prints_too(capsys):
    from checks.levels import by_loops
    from tracejit.core.tracing.trace import trace

    graph = trace(lambda x: [tf.print("x", x, x[0]) or x], [tf.TensorSpec((2,), np.dtype(float))]).graph
    with settings(check=True):
        assert printed(capsys, by_loops, graph, [np.ones(2)]) == "x [1 1] 1\n"


def test_a_compiled_function_from_the_disk_prints(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(
        "import tracejit as tf\nf = tf.function(lambda x: tf.print('x:', x * 2.0))\nf(tf.constant([1.0, 2.0]))\n",
        encoding="utf-8",
    )
    source = str(Path(tf.__file__).parents[1])
    environment = {"PYTHONPATH": source, "TRACEJIT_CACHE_DIR": str(tmp_path), "PATH": ""}
    for _ in range(2):
        done = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "x: [2 4]\n")


def test_pythons_own_print_happens_while_tracing(capsys):
    @tf.function
    def f(x):
        print("tracing", x)
        return x

    f(tf.constant(1.0))
    f(tf.constant(2.0))
    assert capsys.readouterr().out == "tracing tf.Tensor(shape=(), dtype=float32, traced)\n"
