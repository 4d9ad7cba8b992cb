"""Templates of prints: places for values and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.op import ops
from tracejit.ops.prints import pieces

PLAIN = {"template": "{}\n", "summarize": 3, "stream": "stdout"}
REACHING = [
    "{0}",
    "{0.__class__}",
    "{.__init__.__globals__}",
    "{!r}",
    "{:>10}",
    "{a}",
    "{[0]}",
    "{",
    "}",
    "{}}",
    "{{}",
]


@pytest.mark.parametrize(
    ("template", "parts"),
    [
        ("", ("",)),
        ("{}", ("", "")),
        ("a{}b{}", ("a", "b", "")),
        ("{{}}", ("{}",)),
        ("{{{}}}", ("{", "}")),
        ("}}{}{{", ("}", "{")),
    ],
)
def test_pieces(template: str, parts: tuple[str, ...]):
    assert pieces(template) == parts
    assert template.format(*["*"] * (len(parts) - 1)) == "*".join(parts)


@pytest.mark.parametrize("template", REACHING)
def test_a_template_reaches_nothing(template: str):
    with pytest.raises(ValueError, match="places"):
        ops.print(np.float32(1.0), **{**PLAIN, "template": template})
    with pytest.raises(ValueError, match="places"):
        tf.function(lambda x: ops.print(x, **{**PLAIN, "template": template}))(1.0)


@pytest.mark.parametrize(
    "wrong",
    [{"stream": "exit"}, {"stream": "modules"}, {"summarize": -2}, {"summarize": True}, {"template": "{}{}"}],
)
def test_what_else_a_print_cannot_be(wrong: dict):
    with pytest.raises(ValueError):
        ops.print(np.float32(1.0), **{**PLAIN, **wrong})


@pytest.mark.parametrize("text", ["{}", "{0.__class__}", "{{", "}", "a{b}c"])
@pytest.mark.parametrize("compiled", [False, True])
def test_braces_of_users_are_text(text: str, compiled: bool, capsys):
    def f(x):
        tf.print(text, {"k" + text: x}, [text], output_stream="stdout", sep=text, end=text + "\n")
        return x

    (tf.function(f) if compiled else f)(tf.constant(2.0))
    k = repr("k" + text)
    assert capsys.readouterr().out == f"{text}{text}{{{k}: 2}}{text}[{text!r}]{text}\n"
