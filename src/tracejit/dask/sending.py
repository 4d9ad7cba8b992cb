"""Compiled code on its way to workers: one key in the graph of tasks, sent to each worker once.

Knows what workers run, not what for.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed

from ..aot.artifact import Artifact


def in_one_key(artifact: Artifact) -> Delayed:
    """The artifact as a value that tasks depend on; the same code has the same key."""
    digest = hashlib.sha256(artifact.to_bytes()).hexdigest()
    return delayed(artifact, name=f"{artifact.name}-code-{digest[:32]}", traverse=False)


def called(
    artifact: Artifact, given: Sequence[np.ndarray | None], blocks: Sequence[Any]
) -> tuple[np.ndarray, ...]:
    """The results of the code for arrays that are given, and blocks where None is."""
    rest = iter(blocks)
    results = artifact(*[next(rest) if x is None else x for x in given])
    return results if isinstance(results, tuple) else (results,)


def name_of(f: Callable[..., Any]) -> str:
    """A C name for a function, for tasks and profiles."""
    name = re.sub(r"\W", "_", str(getattr(f, "__name__", type(f).__name__)), flags=re.ASCII).strip("_")
    return f"block_{name or 'function'}"
