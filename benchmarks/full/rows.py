"""What `benchmarks.full` measures: rows, and the functions of a module that say how each peer computes them.

A benchmark module offers for each peer that it knows a function of `FUNCTIONS`, ``jax_candidates()`` and the like. It
returns a dict: name of a case to a `benchmarks.timing.Candidate`, a call without arguments that does the whole job,
waits for it, and returns arrays or nested tuples and lists of them. The functions stand in the module, or in one beside
it whose name ends with ``_peers``. A case without a candidate is left out of that peer's column.

Every peer runs in a process of its own, with an interpreter of its own that may lack everything but NumPy: a peer is
imported inside of its function. Candidates of one case compute the same numbers from the same arguments, which are
compared before anything is timed: those of the first two calls, so that the step of a candidate with a state counts.

Where a call takes less than a microsecond ``functools.partial(f, x)`` is the candidate: ``f(x)`` is then written out in
the loop that is timed, and nothing else is in it.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from benchmarks.timing import Candidate

OURS = "tracejit"
#: Peer to the module that must be importable for it.
PEERS: Mapping[str, str] = {
    OURS: "tracejit",
    "SciPy": "numpy",  # and NumPy, by hand
    "C": "numpy",  # by hand, through gcc -O3 -march=native -ffast-math
    "numba": "numba",
    "JAX": "jax",
    "torch": "torch",
    "torch.compile": "torch",
    "TF XLA": "tensorflow",  # jit_compile=True
    "TF": "tensorflow",
    "autograd": "autograd",
}
FUNCTIONS: Mapping[str, str] = {
    OURS: "tracejit_candidates",
    "SciPy": "numpy_candidates",
    "C": "by_hand",
    "numba": "numba_candidates",
    "JAX": "jax_candidates",
    "torch": "torch_candidates",
    "torch.compile": "torch_compile_candidates",
    "TF XLA": "tensorflow_candidates",
    "TF": "tensorflow_graph_candidates",
    "autograd": "autograd_candidates",
}


@dataclass(frozen=True)
class Row:
    """One job.

    Parameters
    ----------
    module : str
        Of the package, which knows the candidates.
    case : str
        The name of the case, or of the module's constant that holds it.
    unit : str
        One of ``s ms µs ns``.
    tolerance : float
        How far results may be from ours, in units of the largest element of an array.
    per : int
        How many pieces one call does; times are printed per piece.
    goals : mapping of str to float
        Peer, or several joined by ``|`` of which the fastest counts, to the least of its time divided by ours.
    limit : float or None
        The longest time of a piece, in `unit`.
    threads : bool
        Whether it is measured on all cores too.
    speedup : float or None
        The least of our time on one core divided by that on all.
    n : int or None
        The size, of a row that is one of several in the plot of time against n.
    quick : bool
        Whether ``--quick`` measures it.
    """

    module: str
    case: str
    unit: str = "ms"
    tolerance: float = 1e-9
    per: int = 1
    goals: Mapping[str, float] = field(default_factory=dict)
    limit: float | None = None
    threads: bool = False
    speedup: float | None = None
    n: int | None = None
    quick: bool = True


def exists(module: str) -> bool:
    """Whether the package has such a module."""
    return importlib.util.find_spec(f"benchmarks.{module}") is not None


def case_name(row: Row) -> str:
    """Return the name of the row's case."""
    return getattr(importlib.import_module(f"benchmarks.{row.module}"), row.case, row.case)


def candidates(module: str, peer: str) -> Mapping[str, Candidate]:
    """Return a peer's candidates by the names of cases; none when the module does not know the peer."""
    for name in filter(exists, (module, f"{module}_peers")):
        make = getattr(importlib.import_module(f"benchmarks.{name}"), FUNCTIONS[peer], None)
        if make is not None:
            return make()
    return {}


def chosen(rows: Iterable[Row], words: Iterable[str], quick: bool) -> list[Row]:
    """Return the rows with one of the words in module or case, all without words; only quick ones, if asked."""
    words = [word.lower() for word in words]
    wanted = [
        row
        for row in rows
        if not words or any(word in f"{row.module} {case_name(row)}".lower() for word in words)
    ]
    return [row for row in wanted if row.quick or not quick]
