"""Drawings of graphs: every op has its box, regions are inside, files are well formed."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tracejit.inspect.dot import quoted as dot_quoted
from tracejit.inspect.dot import write_dot

SVG = "{http://www.w3.org/2000/svg}"


@tj.function
def doubled(a):
    b = tj.while_loop(lambda b: tj.abs(b) < 1000.0, lambda b: b * 2.0, a)
    return tj.cond(b > 0.0, lambda: b, lambda: 100.0 * b)


def texts(path: Path) -> list[str]:
    """Return every text in a drawing."""
    return ["".join(e.itertext()) for e in ElementTree.parse(path).iter(f"{SVG}text")]


def test_ops_and_names_are_drawn(tmp_path: Path):
    graph = tj.function(lambda x, w: tj.sin(x @ w) * 3.0).graph(np.ones((2, 3)), np.ones((3, 4)))
    tj.draw(graph, tmp_path / "f.svg", ["x"])
    found = texts(tmp_path / "f.svg")
    assert {"x", "input 1", "@  matmul", "sin", "· × 3", "result 0", "f64[2,4]"} <= set(found)


def test_regions_are_drawn_inside(tmp_path: Path):
    tj.draw(doubled.gradient_graph(tj.constant(1.0)), tmp_path / "f.svg")
    found = texts(tmp_path / "f.svg")
    assert {"loop", "cond", "each iteration", "while", "then", "orelse", "· < 1000"} <= set(found)


def test_what_nothing_needs_is_left_out(tmp_path: Path):
    def f(x):
        tj.exp(x)
        tj.print(tj.cos(x))
        return tj.scan(lambda carry, row: carry * tj.sin(row), tj.ones(3, x.dtype), x)

    tj.draw(tj.function(f).graph(np.float64(1.0)), tmp_path / "f.svg")
    found = texts(tmp_path / "f.svg")
    assert "exp" not in found
    assert {"cos", "sin"} <= set(found)


def test_pointing_shows_types_and_the_line(tmp_path: Path):
    tj.draw(doubled.graph(tj.constant(1.0)), tmp_path / "f.svg")
    tips = [e.text or "" for e in ElementTree.parse(tmp_path / "f.svg").iter(f"{SVG}title")]
    line = next(tip for tip in tips if tip.startswith("cond"))
    assert "gives float32[]" in line and "test_drawing.py" in line and "tj.cond(b > 0.0" in line


def test_edges_join_boxes_that_exist(tmp_path: Path):
    tj.draw(doubled.graph(tj.constant(1.0)), tmp_path / "f.svg")
    tree = ElementTree.parse(tmp_path / "f.svg")
    boxes = {e.get("data-name") for e in tree.iter(f"{SVG}g")}
    ends = [e.get(end) for e in tree.iter(f"{SVG}path") for end in ("data-from", "data-to")]
    assert ends and set(ends) <= boxes


def test_state_goes_by_the_name_of_its_input(tmp_path: Path):
    v = tj.Variable(1.0)
    f = tj.function(lambda x: v.assign_add(x).read_value())
    tj.draw(f.graph(tj.constant(1.0)), tmp_path / "f.svg", ["x", "v"])
    assert "new v" in texts(tmp_path / "f.svg")


def test_text_is_escaped_and_pages_hold_everything(tmp_path: Path):
    tj.draw(doubled.graph(tj.constant(1.0)), tmp_path / "f.html", ["<a>"])
    page = (tmp_path / "f.html").read_text(encoding="utf-8")
    assert "&lt;a&gt;" in page and "<a>" not in page
    assert "src=" not in page and page.count("<svg") == 1


def test_other_suffixes_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match=r"\.svg or \.html"):
        tj.draw(doubled.graph(tj.constant(1.0)), tmp_path / "f.png")


def test_dot_text_names_what_it_joins(tmp_path: Path):
    write_dot(doubled.gradient_graph(tj.constant(1.0)), tmp_path / "f.dot", ["a"])
    text = (tmp_path / "f.dot").read_text(encoding="utf-8")
    boxes = re.findall(r"^ *(\w+) \[label=", text, re.M)
    ends = re.findall(r"^ *(\w+) -> (\w+)", text, re.M)
    assert len(boxes) == len(set(boxes)) and {name for pair in ends for name in pair} <= set(boxes)
    assert text.count("subgraph") == text.count("  }") >= 4
    for shown in ('label="a', 'label="each iteration"', 'label="loop'):
        assert shown in text
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg", "-o", tmp_path / "f.svg", tmp_path / "f.dot"], check=True)


def test_dot_text_is_escaped():
    assert dot_quoted('a "b" \\ c\nd') == r'"a \"b\" \\ c\nd"'
