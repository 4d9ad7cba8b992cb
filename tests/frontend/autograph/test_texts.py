"""Functions of programs that are in no file: their source is found where somebody has it, else a warning says so."""

from __future__ import annotations

import warnings

import pytest

import tracejit as tf
from tracejit.frontend.autograph.source.texts import SourceWarning, lines_of

PROGRAM = """
import tracejit as tf

def doubled(x):
    if tf.reduce_sum(x) > 0.0:
        return x * 2.0
    return x

@tf.function
def f(x):
    while tf.reduce_sum(x) < 100.0:
        x = doubled(x)
    return x
"""


def compiled_here(text: str):
    return compile(text.replace("@@", "@"), "<made here>", "exec")


def run(text: str) -> dict:
    names: dict = {}
    exec(compiled_here(text), names)
    return names


def test_a_text_in_a_variable_of_the_caller():
    names: dict = {}
    exec(PROGRAM, names)
    assert names["f"](tf.ones([2])).numpy().tolist() == [64.0, 64.0]


def test_a_text_written_in_the_call_and_indented():
    names: dict = {}
    exec("import tracejit as tf\n@tf.function\ndef g(x):\n    return -x if x > 0.0 else x\n", names)
    assert names["g"](tf.constant(2.0)) == -2.0


def test_two_texts_of_one_name_are_told_apart():
    made = []
    for number in (1.0, 2.0):
        text = f"import tracejit as tf\n@tf.function\ndef g(x):\n    return x + {number} if x > 0.0 else x\n"
        names: dict = {}
        exec(text, names)
        made.append(names["g"])
    assert [float(g(tf.constant(1.0))) for g in made] == [2.0, 3.0]
    assert "1.0" in "".join(lines_of(made[0].python_function.__code__))


def test_a_warning_where_nobody_has_it():
    program = "import tracejit as tf\n@@tf.function\ndef g(x):\n    return -x if x > 0.0 else x\n"
    with pytest.warns(SourceWarning, match="the source of g is not available"):
        g = run(program)["g"]
    with pytest.raises(TypeError, match="the source of g is not available"):
        g(tf.constant(2.0))


def test_no_warning_where_nothing_would_be_converted():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g = run("import tracejit as tf\n@@tf.function\ndef g(x):\n    return x * 2.0\n")["g"]
    assert g(tf.constant(2.0)) == 4.0
