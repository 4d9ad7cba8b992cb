"""The documentation site: every public name has a page, notebooks hold what tutorials print. Sphinx is not needed."""

import ast
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tracejit as tj

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def site(monkeypatch):
    """The modules that write pages."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    import reference
    import tutorials

    yield reference, tutorials
    for name in ("reference", "tutorials"):
        del sys.modules[name]


def test_every_public_name_is_on_a_page(site, tmp_path):
    pytest.importorskip("dask")
    reference, _ = site
    reference.write_reference(tmp_path / "reference")
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "reference").glob("*.md")}
    for name in ("tracejit", "tracejit.nn", "tracejit.numpy", "tracejit.linalg", "tracejit.dask"):
        module = tj if name == "tracejit" else getattr(tj, name.removeprefix("tracejit."))
        public = [n for n in getattr(module, "__all__", None) or dir(module) if n[0] != "_"]
        public = [n for n in public if not isinstance(getattr(module, n), ModuleType)]
        missing = [n for n in public if f"`{n}`" not in pages[name] and f"{name}.{n}" not in pages]
        assert not missing
        linked = [
            line.split("](")[1].split(")")[0] for line in pages[name].splitlines() if "](tracejit" in line
        ]
        assert linked and all((tmp_path / "reference" / link).exists() for link in linked)


def test_errors_and_ops_have_pages(site, tmp_path):
    reference, _ = site
    reference.write_errors(tmp_path / "errors")
    for name in ("ShapeError", "DtypeError", "LeakedTensor", "GradientError"):
        page = (tmp_path / "errors" / f"{name}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# {name}\n") and "`TracejitError`" in page
    reference.write_ops(tmp_path)
    assert "`Abs` | yes" in (tmp_path / "ops.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*/0*.py")), ids=lambda p: p.stem)
def test_notebooks_hold_the_program_and_what_it_prints(site, path):
    _, tutorials = site
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
