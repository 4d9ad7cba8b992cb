"""``tracejit.profile``: the line where the time goes, forwards and backwards, and what holds the memory."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import tracejit as tf
from tracejit.runtime import cpu

pytestmark = pytest.mark.skipif(cpu.host().arch != "x86_64", reason="profiles read the clock of x86-64")


def hot(x):
    y = tf.sin(x)
    for _ in range(3):
        y = tf.sin(y * x)
    return y  # nothing


def program(x, w):
    y = hot(x)
    z = tf.matmul(y, w)  # the product
    return tf.reduce_sum(z * z)


@pytest.fixture(scope="module")
def profiled():
    return tf.profile(program, tf.ones([300, 200]), tf.ones([200, 5]))


def spent(profile, text):
    return next(line for line in profile.lines if line.text.startswith(text))


def test_the_line_where_the_time_goes(profiled):
    assert profiled.lines[0].text == "y = tf.sin(y * x)"
    assert profiled.lines[0].file == __file__ and profiled.lines[0].line == 20
    assert "nothing" not in profiled.text()


def test_time_forwards_and_backwards(profiled):
    for text in ("y = tf.sin(x)", "z = tf.matmul", "y = tf.sin(y * x)"):
        line = spent(profiled, text)
        assert line.forward > 0 and line.backward > 0
    total = sum(line.seconds for line in profiled.lines)
    assert total == pytest.approx(profiled.timed_seconds, rel=1e-6)
    assert sum(k.seconds for k in profiled.kernels) == pytest.approx(total)


def test_without_the_gradient():
    profile = tf.profile(program, tf.ones([30, 20]), tf.ones([20, 5]), gradient=False)
    assert not any(line.backward for line in profile.lines)
    assert spent(profile, "z = tf.matmul").forward > 0


def test_a_function_that_computes_its_gradient_itself():
    step = tf.function(tf.value_and_grad(program))
    profile = tf.profile(step, tf.ones([30, 20]), tf.ones([20, 5]))
    assert spent(profile, "z = tf.matmul").backward > 0


def test_kernels_and_how_often_they_run():
    def f(w, x):
        for _ in tf.range(50):
            x = tf.tanh(tf.linalg.matvec(w, x))
        return x

    profile = tf.profile(f, tf.ones([32, 32]), tf.ones([32]))
    calls = {k.what: k.calls for k in profile.kernels}
    assert calls["matmul 32 x 32 x 1"] == 50
    assert spent(profile, "x = tf.tanh").forward > 0


def test_what_holds_the_memory():
    def f(x):
        y = tf.exp(x)
        z = tf.reduce_max(y)  # y is needed again
        return tf.reduce_sum(y / z)

    profile = tf.profile(f, tf.ones([1000, 100]), gradient=False)
    assert 8 * 10**5 <= profile.peak < 10**6
    assert [h.what for h in profile.held[:2]] == ["argument", "temp"]
    line = spent(profile, "y = tf.exp(x)")
    assert profile.held[1].where == f"test_profile.py:{line.line}"


def test_variables_keep_their_values():
    v = tf.Variable(1.0)

    def f(x):
        v.assign_add(1.0)
        return x * v

    profile = tf.profile(f, tf.constant(2.0))
    assert v.numpy() == 1.0 and profile.seconds > 0


class _Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append(tag)
        assert not {"src", "href"} & dict(attrs).keys()  # it needs no other file

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page(profiled, tmp_path):
    profiled.save(tmp_path / "profile.html")
    text = (tmp_path / "profile.html").read_text()
    page = _Balanced()
    page.feed(text)
    assert not page.open
    assert f"hot test_profile.py:{profiled.lines[0].line}" in text  # the flame: a function in its caller
    assert re.search(r"program test_profile.py:\d+.*hot test_profile.py", text)
    profiled.save(tmp_path / "profile.txt")
    assert (tmp_path / "profile.txt").read_text() == str(profiled)


def test_it_runs_on_arrays_and_numbers():
    profile = tf.profile(lambda x, n: x * n, np.ones(10), 3)
    assert profile.name == "<lambda>" and profile.kernels
