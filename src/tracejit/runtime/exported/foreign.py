"""Common parts of calling modules in other languages: legal names, and sizes as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.core.dataclass import dataclass
from tracejit.core.dim import Dim, Size, substitute
from tracejit.runtime.exported.interface import Interface
from tracejit.runtime.signature import Signature


@dataclass(frozen=True)
class Parameter:
    """An array of an exported function, as another language names it.

    Attributes
    ----------
    name, c_name : str
        There, and in C.
    dtype : dtype
    shape : tuple of int or Dim
        In C's order, with the sizes' names there.
    """

    name: str
    c_name: str
    dtype: np.dtype
    shape: tuple[Size, ...]


@dataclass(frozen=True)
class Sides:
    """What an exported function takes and gives, as another language names it.

    Attributes
    ----------
    inputs, outputs : list of Parameter
    sizes : list of (str, int, int)
        The sizes that have names: name, input, axis of it in C's order.
    work : int or Dim
        Bytes of memory that the caller provides.
    """

    inputs: list[Parameter]
    outputs: list[Parameter]
    sizes: list[tuple[str, int, int]]
    work: Size

    @property
    def arrays(self) -> list[Parameter]:
        """Inputs and outputs."""
        return [*self.inputs, *self.outputs]


def sides(
    interface: Interface, signature: Signature, reserved: Iterable[str], fold_case: bool = False
) -> Sides:
    """Name everything for a language.

    Parameters
    ----------
    interface, signature
        Of the exported function.
    reserved : iterable of str
        Words that nothing can be called, in lower case where case does not count.
    fold_case : bool
        Are ``x`` and ``X`` one name?
    """
    taken = set(reserved)

    def named(name: str) -> str:
        name = name.lstrip("_") or "x"
        name = f"x{name}" if name[0].isdigit() else name
        while (name.lower() if fold_case else name) in taken:
            name += "_"
        taken.add(name.lower() if fold_case else name)
        return name

    sizes = [(named(name), index, axis) for name, index, axis in signature.atoms]
    own: dict[str, Size] = {
        old: Dim.of(new) for (old, _, _), (new, _, _) in zip(signature.atoms, sizes, strict=True)
    }

    def parameters(names: Sequence[str], specs: Iterable[tuple[Any, ...]]) -> list[Parameter]:
        return [
            Parameter(named(name), name, dtype, tuple(substitute(s, own) for s in shape))
            for name, (dtype, shape) in zip(names, specs, strict=True)
        ]

    inputs = parameters(interface.inputs, signature.inputs)
    outputs = parameters(interface.outputs, signature.outputs)
    return Sides(inputs, outputs, sizes, substitute(interface.work, own))


def size_text(size: Size, words: Mapping[str, str], number: str = "{}") -> str:
    """A size as an expression.

    Parameters
    ----------
    size : int or Dim
    words : mapping of str to str
        What ``floordiv`` and ``max`` are called.
    number : str
        How a number is written.
    """

    def spelled(match: re.Match[str]) -> str:
        word = match[0]
        return number.format(word) if word.isdigit() else words.get(word, word)

    return re.sub(r"\w+", spelled, str(size))


def comment(text: str, mark: str, width: int = 110) -> str:
    """Text as lines of comment, no longer than `width`."""
    lines, line = [], mark
    for word in text.split():
        if len(line) + len(word) >= width:
            lines.append(line)
            line = mark
        line += f" {word}"
    return "\n".join([*lines, line])
