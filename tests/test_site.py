"""The documentation site: every public name has a page, notebooks hold what tutorials print. Sphinx is not needed."""

import ast
import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tracejit as tj

ROOT = Path(__file__).resolve().parents[1]


MODULES = ("pages", "reference", "tables", "tutorials")


@pytest.fixture
def site(monkeypatch):
    """The modules that write pages, by name."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    yield {name: importlib.import_module(name) for name in MODULES}
    for name in MODULES:
        del sys.modules[name]


def test_every_public_name_is_on_a_page(site, tmp_path):
    pytest.importorskip("dask")
    site["reference"].write_reference(site["pages"].Site(tmp_path / "made"))
    folder = tmp_path / "made" / "reference"
    pages = {path.stem: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    for name in ("tracejit", "tracejit.nn", "tracejit.numpy", "tracejit.linalg", "tracejit.dask"):
        module = tj if name == "tracejit" else getattr(tj, name.removeprefix("tracejit."))
        public = [n for n in getattr(module, "__all__", None) or dir(module) if n[0] != "_"]
        public = [n for n in public if not isinstance(getattr(module, n), ModuleType)]
        missing = [n for n in public if f"`{n}`" not in pages[name] and f"{name}.{n}" not in pages]
        assert not missing
        linked = [
            line.split("](")[1].split(")")[0] for line in pages[name].splitlines() if "](tracejit" in line
        ]
        assert linked and all((folder / link).exists() for link in linked)


def test_errors_and_ops_have_pages(site, tmp_path):
    made, tables = site["pages"].Site(tmp_path / "made"), site["tables"]
    tables.write_errors(ROOT / "docs" / "errors", made)
    shown = (tmp_path / "made" / "errors" / "index.md").read_text(encoding="utf-8")
    for name in ("ShapeError", "DtypeError", "LeakedTensor", "GradientError"):
        page = (tmp_path / "made" / "errors" / f"{name}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# {name}\n") and f"[`{name}`]({name}.md)" in shown
    tables.write_ops(made)
    assert "`Abs` | yes" in (tmp_path / "made" / "ops.md").read_text(encoding="utf-8")


def test_a_few_pages_can_be_asked_for(site, tmp_path):
    made = site["pages"].Site(tmp_path / "made", only="LeakedTensor")
    site["tables"].write_errors(ROOT / "docs" / "errors", made)
    assert {path.name for path in (tmp_path / "made" / "errors").iterdir()} == {"LeakedTensor.md", "index.md"}


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*/0*.py")), ids=lambda p: p.stem)
def test_notebooks_hold_the_program_and_what_it_prints(site, path):
    tutorials = site["tutorials"]
    program = path.read_text(encoding="utf-8")
    cells = json.loads(json.dumps(tutorials.as_notebook(program)))["cells"]
    code = [line for c in cells if c["cell_type"] == "code" for line in c["source"].splitlines()]
    printed = [o["text"] for c in cells for o in c.get("outputs", [])]
    assert "".join(printed).splitlines() == [
        s[3:] for s in program.splitlines() if s == "#>" or s.startswith("#> ")
    ]
    statements = ast.dump(ast.parse(program))
    assert ast.dump(ast.parse("\n".join(code))) == statements
    page = tutorials.as_page(program, "x.ipynb")
    assert page.startswith("# ") and page.count("```") % 2 == 0
