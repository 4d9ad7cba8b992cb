"""The table of NumPy's and SciPy's functions by transforms and modes: right, refused, or on tapes explained."""

from __future__ import annotations

import os
import warnings

import pytest

from checks.detours import NUMPY, SCIPY, row

#: Every fourth of 170; all of them with TRACEJIT_DETOURS=1.
CALLS = [line for line in (NUMPY + SCIPY).splitlines() if line][
    :: int(os.environ.get("TRACEJIT_DETOURS", "4"))
]


@pytest.mark.slow
@pytest.mark.parametrize("text", CALLS)
def test_right_or_refused(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = row(text)
    assert len(found) == 22
    assert {key: said for key, said in found.items() if said not in ("right", "refused", "lost")} == {}
    assert not any(said == "lost" and "tape" not in key[0] for key, said in found.items())
