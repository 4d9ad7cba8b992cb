"""The ladder of debug levels, as a user sees it: each level prints one thing more than the one below."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
import tracejit as tj

@tj.function
def f(x):
    y = tj.negative(-x)
    z = tj.exp(y) + 2.0
    z = z / tj.reduce_sum(z)
    return tj.fori_loop(0, 3, lambda i, c: c * tj.sin(x), z * z)

f(np.ones(300))
"""


def printed(folder: Path, level: int) -> str:
    """What the program prints to standard error at a debug level, with a cache of its own."""
    path = folder / "program.py"
    path.write_text(PROGRAM)
    wanted = {"TRACEJIT_DEBUG": str(level), "TRACEJIT_CACHE_DIR": str(folder / "cache")}
    run = subprocess.run(
        [sys.executable, str(path)], env=os.environ | wanted, capture_output=True, text=True, check=True
    )
    assert run.stdout == ""
    return run.stderr


#: What each level adds: something that stands in its text and in no lower one's.
ADDS = {
    1: r"^tracejit: f of \d+ nodes compiled: [\d.]+ ms$",
    2: r"^tracejit:   fuse: [\d.]+ ms$",
    3: r"^tracejit:     neg_neg \(tracejit/compiler/graph/rules\.py:\d+\) negative at .*program\.py:7: y = tj\.neg",
    4: r"^program f\(\) -> \(300\)$",
    5: r"^define i32 @\"f\"\(ptr %buffers, ptr %dims, ptr %ctx\)",
    6: r"^\s+\.globl\s+f$",
}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return [printed(tmp_path_factory.mktemp("debug"), level) for level in range(7)]


def test_nothing_is_printed_unless_asked_for(texts: list[str]):
    assert texts[0] == ""


@pytest.mark.parametrize("level", ADDS)
def test_each_level_adds_one_thing(texts: list[str], level: int):
    found = [bool(re.search(ADDS[level], text, re.MULTILINE)) for text in texts]
    assert found == [k >= level for k in range(7)]


def test_every_rewrite_is_named_with_its_rule_and_the_users_line(texts: list[str]):
    lines = [line for line in texts[3].splitlines() if line.startswith("tracejit:     ")]
    rule = r"tracejit:     [\w ]+ \(tracejit/compiler/[\w/]+\.py:\d+\).* at .*program\.py:\d+: \S.*"
    assert lines and all(re.fullmatch(rule, line) for line in lines)
    assert {"neg_neg", "loop invariant", "fuse"} <= {re.split(r":     | \(", line)[1] for line in lines}


def test_a_rule_is_shown_where_it_is_declared(texts: list[str]):
    from tracejit.compiler.graph import rules

    (number,) = re.findall(r"neg_neg \(tracejit/compiler/graph/rules\.py:(\d+)\)", texts[3])
    assert '"neg_neg"' in Path(rules.__file__).read_text(encoding="utf-8").splitlines()[int(number) - 1]


def test_what_is_cached_is_compiled_again_to_be_shown(tmp_path: Path):
    assert "compiled" in printed(tmp_path, 1)
    assert "found on disk" in printed(tmp_path, 1)
    assert "fuse:" in printed(tmp_path, 2)
