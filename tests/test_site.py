"""The documentation site: every public name has a page, notebooks hold what tutorials print. Sphinx is not needed."""

import ast
import importlib
import json
import sys
from base64 import b64decode
from pathlib import Path
from types import ModuleType

import pytest

import tracejit as tj
from test_docstrings import EVERYTHING

ROOT = Path(__file__).resolve().parents[1]


MODULES = ("pages", "parameters", "pictures", "reference", "tables", "tutorials")


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


def tables_of_parameters(site):
    """The rows that pages show, by what they are of, without ``tj.``."""
    names = {name: name.removesuffix("()").removeprefix("tj.") for name in EVERYTHING}
    return {short: site["parameters"].rows(short, EVERYTHING[name][0]) for name, short in names.items()}


def test_every_parameter_is_in_a_table_with_its_type_and_meaning(site):
    tables = tables_of_parameters(site)
    assert sum(len(rows) for rows in tables.values()) > 4000
    silent = [
        f"{name}: {row}" for name, rows in tables.items() for row in rows if not (row.type and row.meaning)
    ]
    assert not silent, "\n".join(silent)


def test_what_is_said_of_parameters_of_a_name_is_shown_somewhere(site):
    parameters = site["parameters"]
    shown = {
        next((scope + name for scope in parameters.scopes(of) if scope + name in parameters.of_many()), "")
        for of, rows in tables_of_parameters(site).items()
        for name in (row.name.lstrip("*") for row in rows)
    }
    unshown = set(parameters.of_many()) - shown
    assert not unshown


def test_a_table_takes_the_place_of_the_section(site):
    parameters = site["parameters"]
    said = [
        "Sums.",
        "",
        "Parameters",
        "----------",
        "axis : int",
        "    Its own.",
        "",
        "Raises",
        "------",
        "None",
    ]

    def summed(x, axis: int = 0, *, keepdims: bool = False): ...

    summed.__doc__ = "\n".join(said)
    axis = parameters.rows("summed", summed)[1]
    assert axis == parameters.Row("axis", "int", "0", "Its own.")
    shown = parameters.with_table("summed", summed, said)
    assert (
        shown[0] == "Sums." and "Parameters" not in shown and shown[-4:] == ["Raises", "------", "None", ""]
    )
    assert shown.index("   * - ``x``") < shown.index("   * - ``axis``") < shown.index("   * - ``keepdims``")
    assert shown[shown.index("   * - ``keepdims``") + 1 :][:2] == ["     - ``bool``", "     - ``False``"]


def test_a_class_whose_making_is_wrapped_shows_its_own_signature(site):
    shown = site["parameters"]._signature(None, "class", "", tj.layers.Dense, None, "(*args, **kwargs)", "")
    assert shown[0].startswith("(units, activation=None, use_bias=True,")
    assert site["parameters"]._signature(None, "function", "", tj.sin, None, "(x)", "") is None


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
    pictures = [b"png %d" % k for k in range(program.count("plt.show()"))]
    cells = json.loads(json.dumps(tutorials.as_notebook(program, pictures)))["cells"]
    code = [line for c in cells if c["cell_type"] == "code" for line in c["source"].splitlines()]
    outputs = [o for c in cells for o in c.get("outputs", [])]
    printed = [o["text"] for o in outputs if o["output_type"] == "stream"]
    assert [b64decode(o["data"]["image/png"]) for o in outputs if o["output_type"] != "stream"] == pictures
    assert "".join(printed).splitlines() == [
        s[3:] for s in program.splitlines() if s == "#>" or s.startswith("#> ")
    ]
    statements = ast.dump(ast.parse(program))
    assert ast.dump(ast.parse("\n".join(code))) == statements
    page = tutorials.as_page(program, "x.ipynb", [f"{k}.png" for k in range(len(pictures))])
    assert page.startswith("# ") and page.count("```") % 2 == 0
    for k in range(len(pictures)):  # right below the code that draws it
        assert f"plt.show()\n```\n\n![What the code above draws]({k}.png)\n" in page


def test_what_a_tutorial_shows_is_a_picture(site, tmp_path):
    pytest.importorskip("matplotlib")
    program = tmp_path / "program.py"
    program.write_text(
        "import matplotlib.pyplot as plt\nfor k in (1, 2):\n    plt.plot([k])\nplt.show()\nplt.show()\n"
    )
    pictures = site["pictures"].drawn(program)
    assert len(pictures) == 2 and all(p.startswith(b"\x89PNG") for p in pictures)
    program.write_text("import matplotlib.pyplot as plt\nif False:\n    plt.show()\n")
    with pytest.raises(ValueError, match=r"shows 0 figures, but has 1 lines plt\.show\(\)"):
        site["pictures"].drawn(program)
