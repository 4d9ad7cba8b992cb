"""How layers are named: after their class, and numbered."""

from __future__ import annotations

import re
from collections import Counter

_count: Counter[str] = Counter()


def name_of(kind: type) -> str:
    """How the name of a class becomes that of its layers: digits and capitals at the end are no words of their own.

    Examples
    --------
    >>> [name_of(type(name, (), {})) for name in ("Conv2D", "Conv2DTranspose", "SimpleRNN", "Dense")]
    ['conv2d', 'conv2d_transpose', 'simple_rnn', 'dense']
    """
    words = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", kind.__name__)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", words).lower()


def count_names_anew() -> None:
    """Let the next layer of each kind be the first."""
    _count.clear()


def numbered(name: str) -> str:
    """The name of the next layer of a kind: the first has the name alone."""
    _count[name] += 1
    return name if _count[name] == 1 else f"{name}_{_count[name] - 1}"
