"""Only the forms know how ops that hold graphs spell their parts: nobody else reads their attributes, writes a dict of
these, calls them, or goes by their names. Read with ``ast``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import tracejit
from tracejit.core.op import OPS, Op
from tracejit.core.tracing.forms import Form

SOURCE = Path(tracejit.__file__).parent
FORMS = ("core/tracing/loop_form.py", "core/tracing/forms.py")
STRUCTURED = {name for name, op in OPS.items() if op.region_specs is not None}


@cache
def attributes(op: Op) -> set[str]:
    return {p.name for p in inspect.signature(op.infer).parameters.values() if p.kind is p.KEYWORD_ONLY}


#: Attributes that ops with graphs have and no other op has.
KEYS = (
    set[str]()
    .union(*(attributes(OPS[name]) for name in STRUCTURED))
    .difference(*(attributes(op) for name, op in OPS.items() if name not in STRUCTURED))
)


def ends_in(node: ast.AST, name: str) -> bool:
    """Is it a variable or an attribute of that name?"""
    return (isinstance(node, ast.Name) and node.id == name) or (
        isinstance(node, ast.Attribute) and node.attr == name
    )


def text(node: ast.AST | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def reads(node: ast.AST) -> str:
    """The attribute that is read here: ``attrs[key]``, ``attrs.get(key)``, ``key in attrs``."""
    if isinstance(node, ast.Subscript) and ends_in(node.value, "attrs"):
        return text(node.slice)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        owner, method = node.func.value, node.func.attr
        return text(node.args[0]) if ends_in(owner, "attrs") and method in ("get", "pop") else ""
    if isinstance(node, ast.Compare) and any(ends_in(c, "attrs") for c in node.comparators):
        return text(node.left)
    return ""


def writes(node: ast.AST) -> str:
    """The attributes of one op of which a dict is written here, if there are two."""
    if not isinstance(node, ast.Dict):
        return ""
    keys = {text(k) for k in node.keys} & KEYS
    fits = any(len(keys & attributes(OPS[name])) > 1 for name in STRUCTURED)
    return " ".join(sorted(keys)) if fits else ""


def names(node: ast.AST) -> str:
    """The op that is compared by its name, called, or looked up here."""
    if isinstance(node, ast.Compare) and any(ends_in(x, "name") for x in (node.left, *node.comparators)):
        found = {text(part) for x in (node.left, *node.comparators) for part in ast.walk(x)}
        return " ".join(sorted(found & STRUCTURED))
    if isinstance(node, ast.Call):
        called = [node.func, *node.args[:1]]
        found = {x.attr for x in called if isinstance(x, ast.Attribute) and ends_in(x.value, "ops")}
        return " ".join(sorted(found & STRUCTURED))
    if isinstance(node, ast.Subscript) and ends_in(node.value, "OPS"):
        return text(node.slice) if text(node.slice) in STRUCTURED else ""
    return ""


def spelled(path: Path) -> Iterator[str]:
    """``file:line: what`` for each part of an op with graphs that a file spells; shape rules declare them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    declared = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name in STRUCTURED and node.decorator_list
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        read = reads(node)
        found = read if read in KEYS else names(node) or (writes(node) if node not in declared else "")
        if found:
            yield f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)}: {found}"


def test_nobody_but_the_forms_spells_the_parts_of_ops_with_graphs():
    files = [p for p in sorted(SOURCE.rglob("*.py")) if str(p.relative_to(SOURCE)) not in FORMS]
    offenders = [line for path in files for line in spelled(path)]
    assert len(files) > 200
    if offenders:
        rule = "A form of core/tracing/forms.py or core/tracing/loop_form.py reads, writes and calls this:"
        pytest.fail("\n".join([rule, *offenders]), pytrace=False)


@pytest.mark.parametrize("form", FORMS)
def test_the_forms_do(form: str):
    assert list(spelled(SOURCE / form))


def test_every_op_with_graphs_has_a_form_that_knows_its_attributes():
    forms = [form for form in Form.__subclasses__() if form.__module__.startswith("tracejit.core.")]
    assert {form.name for form in forms} == STRUCTURED
    known = {text(node) for form in FORMS for node in ast.walk(ast.parse((SOURCE / form).read_text("utf-8")))}
    assert KEYS <= known | {"direct", "tolerance", "limit", "what"}  # which `implicit` hands on
    assert {"carries", "rows", "then", "backward", "rule", "residual"} <= KEYS


@pytest.mark.parametrize(
    "code",
    [
        'node.attrs["carries"]',
        'attrs.get("kept")',
        '"backward" in record.attrs',
        '{"carries": 1, "rows": 0}',
        'node.op.name == "loop"',
        'node.op.name in ("cond", "call")',
        "apply(ops.loop, inputs, attrs)",
        "ops.cond(p, then=a, orelse=b)",
        'OPS["custom"]',
    ],
)
def test_what_is_found(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    path = tmp_path / "module.py"
    path.write_text(code)
    assert len(list(spelled(path))) == 1
