"""`wrt`: the inputs by which an exported function is differentiated, as users specify them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from ..compiler.exporting import NotExportable
from ..core.errors import DtypeError, at, user_location
from ..core.spec import TensorSpec
from ..frontend.state.variable import Variable
from .specs import Declared, similar

Wanted = int | str | Variable


def chosen_inputs(
    wrt: Wanted | Sequence[Wanted] | None,
    given: Declared,
    held: Sequence[Any],
    names: Sequence[str],
    paths: Sequence[str],
    specs: Sequence[TensorSpec],
) -> list[int]:
    """The positions of the inputs to differentiate by, in the order in which they are asked for.

    Parameters
    ----------
    wrt : int, str, Variable or sequence of them, or None
        An argument by its position or name; a part of one, or a Variable, by its parameter's name or the way to it,
        ``params.layers.0``, of which a beginning means all that is there; a Variable itself. None means all floats
        among the arguments.
    given : Declared
    held : sequence
        What the function reads besides its arguments.
    names, paths : sequence of str
        The parameters of arguments, then of what it reads; the ways to these, such as ``dense.kernel``.
    specs : sequence of TensorSpec
        Of all these.
    """
    ends = list(accumulate((len(n) for n in given.names), initial=0))
    arguments = [range(*pair) for pair in pairwise(ends)]
    if wrt is None:
        found = [k for k in range(ends[-1]) if specs[k].differentiable]
        if not found:
            raise NotExportable(
                f"no argument is a float to differentiate by: pass outputs=('value',){at(user_location())}"
            )
        return found
    chosen: list[int] = []
    for w in [wrt] if isinstance(wrt, Wanted) else wrt:
        meant = _meant(w, given.arguments, arguments, held, names, paths)
        floats = [k for k in meant if specs[k].differentiable]
        if not floats:
            what = ", ".join(f"{names[k]} is {specs[k]}" for k in meant) or f"{w!r} holds no array"
            raise DtypeError(f"cannot differentiate by wrt={w!r}: {what}; name a float{at(user_location())}")
        again = [names[k] for k in floats if k in chosen]
        if again:
            raise ValueError(f"wrt={w!r} names {', '.join(again)} again{at(user_location())}")
        chosen += floats
    if not chosen:
        raise ValueError(f"wrt is empty: name an argument, or pass outputs=('value',){at(user_location())}")
    return chosen


def _meant(
    wanted: Wanted,
    arguments: Sequence[str],
    positions: Sequence[range],
    held: Sequence[Any],
    names: Sequence[str],
    paths: Sequence[str],
) -> Sequence[int]:
    if isinstance(wanted, Variable):
        first = len(names) - len(held)
        found = [first + k for k, x in enumerate(held) if x is wanted]
        if found:
            return found
        raise ValueError(f"the function does not read {wanted.name}, which wrt names{at(user_location())}")
    if isinstance(wanted, str):
        if wanted in arguments:
            return positions[arguments.index(wanted)]
        steps = _steps(wanted)
        there = [k for k, path in enumerate(paths) if steps and _steps(path)[: len(steps)] == steps]
        if wanted in names or there:
            return there or [names.index(wanted)]
    elif -len(arguments) <= wanted < len(arguments):
        return positions[wanted]
    others = [path for path in paths if path not in arguments]
    rest = f", their parts and Variables {', '.join(others)}" if others else ""
    hint = similar(wanted, [*arguments, *others]) if isinstance(wanted, str) else ""
    raise ValueError(
        f"wrt={wanted!r}, and the arguments are {', '.join(arguments)}{rest}{hint}{at(user_location())}"
    )


def _steps(path: str) -> list[str]:
    """The steps of a way, however it is written: ``a.b.0``, ``a/b/0`` or ``a["b"][0]``."""
    return re.findall(r"\w+", path)
