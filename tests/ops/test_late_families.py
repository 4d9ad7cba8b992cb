"""Families of ops that are declared when they are asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tracejit as tj
from tracejit.core.op import OPS
from tracejit.ops import _LATER


def loaded(program: str) -> str:
    """What a new process prints."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("family", _LATER)
def test_the_table_says_what_a_module_declares(family):
    declared = [op.name for op in OPS.values() if op.infer.__module__ == f"tracejit.ops.{family}"]
    assert declared == _LATER[family].split()
    assert not any(OPS[name].ufunc for name in declared), "it would miss its small kernel"


def test_no_family_loads_before_it_is_asked_for():
    program = (
        "import sys, tracejit as tj; from tracejit.core.op import OPS; tj.function(lambda x: x * 2.0)(tj.ones(3));"
        "assert 'tracejit.ops.linalg.decompositions' not in sys.modules and 'svd' not in OPS.declared();"
        "assert 'svd' in OPS and OPS.get('no op') is None and OPS.get('svd').name == 'svd';"
        "assert 'fft' not in OPS.declared(); print(len(OPS) > 150, 'fft' in OPS.declared())"
    )
    assert loaded(program).split() == ["True", "True"]


def test_a_family_loads_in_a_trace():
    assert loaded("import tracejit as tj; print(float(tj.function(tj.math.lgamma)(tj.constant(5.0))))") == (
        f"{float(tj.math.lgamma(5.0))}\n"
    )
