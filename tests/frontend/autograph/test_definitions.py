"""Where a definition ends: found without reading all of it token by token, and exactly."""

from __future__ import annotations

import ast
import inspect
import io
from pathlib import Path

import pytest

import tracejit
from tracejit.frontend.autograph.source import syntax

FILES = sorted((Path(tracejit.__file__).parent / "frontend").rglob("*.py"))

PROGRAMS = {
    "dedented string": 'def f(x):\n    s = """\nno code: def\n"""\n    return x, s\nafter = 1\n',
    "dedented bracket": "def f(\n    x,\n):\n    return [\n1,\nx,\n]\nafter = 1\n",
    "comment": "def f(x):\n    y = x\n# not the end\n    return y\n# the end\n",
    "continued": "def f(x):\n    return x + \\\n1\nafter = 1\n",
    "decorators": "@first\n@second(\n    1,\n)\ndef f(x):\n    return x\n\n\ndef g(): pass\n",
    "one line": "def f(x): return x\ndef g(x): return 2\n",
    "last": "def f(x):\n    return x",
    "tabs": "if 1:\n\tdef f(x):\n\t\treturn x\n\tafter = 1\n",
    "form feed": "def f(x):\n    y = x\n\f\n    return y\nafter = 1\n",
    "many brackets": "def f(x):\n    y = [\n" + "1,\n" * 40 + "    ]\n    return y\nafter = 1\n",
}


def same(text: str, node: ast.FunctionDef) -> bool:
    lines = io.StringIO(text).readlines()
    first = min([node.lineno, *[d.lineno for d in node.decorator_list]])
    indented = lines[first - 1][:1].isspace()
    tree = syntax._block(lines[first - 1 :], "if 1:\n" if indented else "")
    ast.increment_lineno(tree, first - 2 if indented else first - 1)
    found = tree.body[0].body[0] if indented else tree.body[0]
    return ast.dump(found, include_attributes=True) == ast.dump(node, include_attributes=True)


def definitions(text: str) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_where_indentation_alone_does_not_tell(name: str):
    nodes = definitions(PROGRAMS[name])
    assert nodes and all(same(PROGRAMS[name], node) for node in nodes)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_definition_of_a_file(path: Path):
    text = path.read_text(encoding="utf-8")
    assert [node.name for node in definitions(text) if not same(text, node)] == []


def test_most_are_found_without_tokens(monkeypatch):
    monkeypatch.setattr(inspect, "getblock", None)
    for name in PROGRAMS.keys() - {"form feed", "many brackets"}:
        assert all(same(PROGRAMS[name], node) for node in definitions(PROGRAMS[name])), name


def test_what_is_no_definition():
    assert syntax._block(["def f(:\n", "    pass\n"], "") is None
