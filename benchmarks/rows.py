"""What `benchmarks.full` measures: rows, and the functions of a module that say how each peer computes them.

A module of rows has

``ROWS``
    a tuple of `Row`;
``tracejit_candidates()``, ``numpy_candidates()``, ``jax_candidates()`` ... one for each peer that it knows, see `PEERS`
    which return a dict: the name of a row to a `benchmarks.timing.Candidate`, a call without arguments that does the
    whole job, waits for it, and returns arrays or nested tuples and lists of them. A row of which a peer has no
    candidate is left out of that peer's column.

Every peer runs in a process of its own, with an interpreter of its own that may lack everything but NumPy: a module of
rows imports peers, tracejit too, inside of the functions. Candidates of one row compute the same numbers from the same
arguments, which are compared before anything is timed. A candidate with a state, a training step, is also called once
before: what is compared is what the first call returns.

Where a call takes less than a microsecond, ``functools.partial(f, x)`` is the candidate: ``f(x)`` is then written out
in the loop that is timed, and nothing else is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from benchmarks.timing import Candidate

#: Peer to the module that must be importable for it. A peer's function is named in small letters.
PEERS: Mapping[str, str] = {
    "tracejit": "tracejit",
    "NumPy": "numpy",  # with SciPy
    "C": "numpy",  # written by hand, through gcc -O3 -march=native -ffast-math
    "numba": "numba",
    "JAX": "jax",
    "torch": "torch",
    "TensorFlow": "tensorflow",  # with XLA, jit_compile=True
    "TensorFlow-graph": "tensorflow",  # without
    "autograd": "autograd",
}


@dataclass(frozen=True)
class Row:
    """One job.

    Parameters
    ----------
    name : str
        What is computed, unique in all modules.
    unit : str
        One of ``s ms µs ns``.
    tolerance : float
        How far results may be from tracejit's, in units of the largest element of an array.
    per : int
        How many pieces one call does; times are printed per piece.
    goals : mapping of str to float
        Peer, or several joined by ``|`` of which the fastest counts, to the least of its time divided by ours.
    limit : float or None
        The longest time of a piece, in `unit`.
    threads : bool
        Whether it is measured on all cores too.
    speedup : float or None
        The least of our time on one thread divided by that on two.
    quick : bool
        Whether ``--quick`` measures it.
    """

    name: str
    unit: str = "ms"
    tolerance: float = 1e-9
    per: int = 1
    goals: Mapping[str, float] = field(default_factory=dict)
    limit: float | None = None
    threads: bool = False
    speedup: float | None = None
    quick: bool = True


def candidates_of(module: ModuleType, peer: str) -> Mapping[str, Candidate]:
    """Return a peer's candidates in a module of rows, by the names of rows; none when it does not know the peer."""
    make: Any = getattr(module, f"{peer.lower().replace('-', '_')}_candidates", dict)
    return make()


def select(rows: Iterable[Row], words: Iterable[str], quick: bool) -> list[Row]:
    """Return the rows whose names have one of the words, all without words."""
    words = [word.lower() for word in words]
    wanted = [row for row in rows if not words or any(word in row.name.lower() for word in words)]
    return [row for row in wanted if row.quick or not quick]
