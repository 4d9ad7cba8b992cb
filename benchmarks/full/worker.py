"""One peer in a process of its own: answers requests on its standard input until that ends.

A request is a line of JSON with ``do``, the name of a function of `Served`, and its arguments; an answer is one with
``value``, or ``error``. Libraries that print reach standard error, never the answers.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from benchmarks import timing
from benchmarks.full import rows


class Served:
    """What the parent may ask for."""

    def __init__(self, peer: str) -> None:
        self.peer = peer
        self.candidates = cache(self._candidates)

    def _candidates(self, module: str) -> Mapping[str, timing.Candidate]:
        return rows.candidates(module, self.peer)

    def start(self) -> str:
        """Load the peer and return its version."""
        package = importlib.import_module(rows.PEERS[self.peer])
        return str(getattr(package, "__version__", ""))

    def first(self, module: str, case: str, path: str) -> bool:
        """Write what the first two calls return to a file of arrays; False when the peer has no candidate."""
        candidate = self.candidates(module).get(case)
        if candidate is None:
            return False
        np.savez(path, *timing.leaves(candidate()), *timing.leaves(candidate()))
        return True

    def warm(self, module: str, case: str) -> float:
        """Return the seconds of a call, after some."""
        return timing.warm(self.candidates(module)[case])

    def turn(self, module: str, case: str, repeats: int) -> float:
        """Return the seconds of a call, averaged over repeats."""
        return timing.turn(self.candidates(module)[case], repeats)


def main(peer: str) -> None:
    """Answer requests."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    served = Served(peer)
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        try:
            answer = {"value": getattr(served, request.pop("do"))(**request)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {str(error).strip() or '-'}".splitlines()[0]}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
