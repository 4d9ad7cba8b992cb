"""Functions of programs that are in no file: their source is found where somebody has it, else a warning says so."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

import tracejit as tf
from tracejit.frontend.autograph.source.texts import SourceWarning, source_lines

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
    assert "1.0" in "".join(source_lines(made[0].python_function))


def test_a_program_given_to_python_and_a_text_that_it_runs():
    """Python keeps the program of ``-c`` under the name that every text without one has."""
    text = "import tracejit as tf\n\ndef h(x):\n    if x > 0.0:\n        return x\n    return x / 2.0\n"
    program = PROGRAM + f"\nnames = {{}}\nexec({text!r}, names)\nprint(f(tf.ones([2])).numpy().tolist())\n"
    program += "h = tf.function(names['h'])\nprint(float(h(tf.constant(-3.0))))\nh(tf.constant([1.0, 2.0]))\n"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert done.stdout == "[64.0, 64.0]\n-1.5\n", done.stderr
    assert "at <string>:4\n" in done.stderr and "def doubled" not in done.stderr.rpartition("Error: ")[2], done.stderr


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
