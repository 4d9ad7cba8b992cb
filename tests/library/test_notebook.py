"""A notebook, executed: what is shown of tensors, Variables, graphs, functions and drawings, and of errors."""

from __future__ import annotations

import os
import re

import pytest

nbformat = pytest.importorskip("nbformat", reason="the extra `notebook` is not installed")
nbclient = pytest.importorskip("nbclient", reason="the extra `notebook` is not installed")
pytest.importorskip("ipykernel", reason="the extra `notebook` is not installed")

CELLS = {
    "import": "import os, signal\nimport tracejit as tj",
    "tensor": "tj.reshape(tj.range(6.0), [2, 3])",
    "large": "tj.zeros([100, 50])",
    "scalar": "tj.constant(2.5)",
    "variable": "tj.Variable([1.0, 2.0], name='weights')",
    "function": "@tj.function\ndef f(x, n):\n    return tj.sin(x) * n\ny = f(tj.ones([3]), 2)\nf",
    "untraced": "tj.function(lambda x: x)",
    "graph": "f.graph(tj.ones([3]), 2)",
    "draw": "tj.draw(f, tj.ones([3]), 2)",
    "profile": "tj.profile(f, tj.ones([3]), 2)",
    "timed": "%%time\n@tj.function\ndef g(x):\n    while x < 100.0:\n        x = x * 2.0\n    return x",
    "timed call": "float(g(tj.constant(3.0)))",
    "timeit": "%%timeit -n1 -r1\n@tj.function\ndef h(x):\n    if x > 0.0:\n        return -x\n    return x\n"
    "assert float(h(tj.constant(3.0))) == -3.0",
    "error": "@tj.function\ndef wrong(x):\n    y = tj.matmul(x, tj.zeros([5, 5]))\n    return y\n"
    "wrong(tj.ones([2, 3]))",
    "interrupted": "interrupts = True\n@tj.function\ndef slow(x):\n    if interrupts:\n"
    "        os.kill(os.getpid(), signal.SIGINT)\n    return x + 1.0\nslow(1.0)",
    "after": "interrupts = False\nfloat(slow(1.0)), float(f(tj.ones([]), 2)) > 1, tj.grad(lambda x: x * x)(3.0).item()",
}
FAILING = ("error", "interrupted")


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    cells = [nbformat.v4.new_code_cell(text, id=f"cell-{k}") for k, text in enumerate(CELLS.values())]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = nbclient.NotebookClient(
        notebook, timeout=300, allow_errors=True, resources={"metadata": {"path": os.getcwd()}}
    )
    client.execute()
    outputs = {name: cell.outputs for name, cell in zip(CELLS, notebook.cells, strict=True)}
    for name, found in outputs.items():
        errors = [o for o in found if o.output_type == "error"]
        assert bool(errors) == (name in FAILING), errors and "\n".join(errors[0].traceback)
    return outputs


def html(outputs) -> str:
    (found,) = [o.data["text/html"] for o in outputs if "data" in o and "text/html" in o.data]
    return found


def test_tensors(shown):
    text = html(shown["tensor"])
    assert "Tensor: shape=(2, 3), dtype=float32" in text
    assert re.findall(r">(\d)</td>", text) == list("012345")
    assert html(shown["large"]).count("<tr>") == 9 and "⋱" in html(shown["large"])
    assert "2.5" in html(shown["scalar"])


def test_variables(shown):
    text = html(shown["variable"])
    assert "Variable weights:0: shape=(2,), dtype=float32" in text and ">2</td>" in text


def test_functions(shown):
    text = html(shown["function"])
    assert "<b>f</b><code>(x, n)</code>" in text
    assert "(x: float32[3], n: 2) -&gt; float32[3]" in text
    assert len(re.findall(r">[\d.]+ (?:ms|µs|s)</td>", text)) == 2  # traced in, compiled in
    assert "not traced yet" in html(shown["untraced"])


def test_graphs_and_drawings(shown):
    for name in ("graph", "draw"):
        assert "<svg" in html(shown[name]) and "sin" in html(shown[name])


def test_profiles(shown):
    assert "tj-flame" in html(shown["profile"]) and f"In[{list(CELLS).index('function') + 1}]:3" in html(
        shown["profile"]
    )


def test_sources_below_magics(shown):
    (found,) = [o.data["text/plain"] for o in shown["timed call"] if "data" in o]
    assert found == "192.0"


def test_errors_cite_the_cell_and_hide_our_frames(shown):
    (error,) = shown["error"]
    assert error.ename == "ShapeError"
    assert f"at In[{list(CELLS).index('error') + 1}]:3" in error.evalue
    text = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(error.traceback))
    ours = re.findall(r"^File .*tracejit.*", text, re.M)
    assert len(ours) <= 1 and "y = tj.matmul" in text


def test_interrupted_cells_leave_a_usable_state(shown):
    assert shown["interrupted"][-1].ename == "KeyboardInterrupt"
    (found,) = [o.data["text/plain"] for o in shown["after"] if "data" in o]
    assert found == "(2.0, True, 6.0)"
