"""A module as several, which together are it: LLVM works on each in a thread of its own.

Knows the text as ``program`` and ``matmul`` write it: definitions begin a line with ``define`` and end with a line
``}``; what is internal is a kernel, which is called, or a helper, which goes wherever it is called.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...core.lazy import Later
from ...runtime.threads.processors import processors
from ..ir_text import DIRECTS
from . import llvm
from .machines import Unit

if TYPE_CHECKING:
    from ...runtime.linking import relocatable
else:
    relocatable = Later("...runtime.linking.relocatable", __package__)

#: Characters of a module that are worth a part of their own.
WORTH = 12_000
#: So many functions that only direct others are worth a part that is compiled plainly.
FEW = 3
#: What a function takes that has nothing in it, in characters that take as long.
EACH = 600

_DEFINITION = re.compile(r"^(define .*?\n}\n)", re.M | re.S)
_KERNEL = re.compile(
    rf"define internal ((?:fastcc )?\w+ @[\w.]+\(.*?\)) (?:{DIRECTS} )?(?:noinline nounwind )?#[01] \{{"
)
_SYMBOL = re.compile(r"@[\w.]+")
_GLOBAL = re.compile(r"^(@[\w.]+) = internal constant .*$", re.M)


def compiled(unit: Unit, entry: str) -> bytes:
    """The object of a module for this machine, where only the entry is seen outside; the errors of `compile_text`."""
    units = split(unit, processors())
    if len(units) == 1:
        return llvm.compile_text(unit.text, opt=unit.opt, ready=unit.ready, hoisted=unit.hoisted)
    images = llvm.compile_units([(part, None) for part in units])
    return relocatable.merge(images, {}, [entry])


def split(unit: Unit, most: int) -> list[Unit]:
    """Modules that joined do what the one does; itself where it is short.

    At most so many, of about equal work, and one of the functions that only direct others, which is compiled plainly.
    Long ones are twice as many, the largest first: whoever has a core to itself takes the rest. Kernels are no longer
    internal: whoever joins the objects makes them local. Debug information stays in one piece.
    """
    text = unit.text
    worth, plainly = len(text) // WORTH, unit.opt == 1 and text.count(DIRECTS) >= FEW
    count = 2 * most if most > 1 and worth >= 4 * most else min(most, worth)
    if "!DICompileUnit" in text or (count < 2 and not plainly):
        return [unit]
    pieces = _DEFINITION.split(text)
    functions, shared = pieces[1::2], "".join(pieces[::2])
    heads = {f: found[1] for f in functions if (found := _KERNEL.match(f))}
    helpers = {_name(f): f for f in functions if f.startswith("define internal") and f not in heads}
    entries = [f for f in functions if not f.startswith("define internal")]
    constants = {found[1]: found[0] for found in _GLOBAL.finditer(shared)}
    kernels = [*heads, *entries]
    plain = [f for f in kernels if plainly and DIRECTS in f.partition("\n")[0]]
    good = [f for f in kernels if f not in plain]
    inlined = {f: [helpers[s] for s in _SYMBOL.findall(f) if s in helpers] for f in good}
    work = {f: EACH + len(f) + sum(map(len, inlined[f])) for f in good}
    parts = balanced(good, min(count, len(good)), work.__getitem__)
    parts.sort(key=lambda part: -sum(work[f] for f in part))
    groups = [(unit, group) for group in parts]
    groups += [(unit._replace(opt=0, ready=True), plain)] if plain else []
    rest = _GLOBAL.sub("", shared)
    return [u._replace(text=_module(group, heads, helpers, constants, rest)) for u, group in groups]


def _name(text: str) -> str:
    """The first symbol: what a head or a definition is of."""
    found = _SYMBOL.search(text)
    assert found is not None
    return found[0]


def balanced(texts: list[str], count: int, work: Callable[[str], int] = len) -> list[list[str]]:
    """Texts in groups of about equal work, each in the order of the whole."""
    groups: list[list[int]] = [[] for _ in range(max(count, 1))]
    sums = [0] * len(groups)
    for i in sorted(range(len(texts)), key=lambda i: (-work(texts[i]), i)):
        least = sums.index(min(sums))
        groups[least].append(i)
        sums[least] += work(texts[i])
    return [[texts[i] for i in sorted(group)] for group in groups if group]


def _module(
    group: list[str], heads: dict[str, str], helpers: dict[str, str], constants: dict[str, str], shared: str
) -> str:
    """The module of some functions: what they need beside them, and the heads of kernels that stand elsewhere."""
    body = "".join(f.replace("define internal", "define hidden", 1) if f in heads else f for f in group)
    needed: dict[str, None] = {}
    waiting = _SYMBOL.findall(body)
    while waiting:
        symbol = waiting.pop()
        if symbol not in needed and symbol in helpers | constants:
            needed[symbol] = None
            waiting += _SYMBOL.findall(helpers.get(symbol, ""))
    called = {*_SYMBOL.findall(body), *(s for name in needed for s in _SYMBOL.findall(helpers.get(name, "")))}
    elsewhere = [head for f, head in heads.items() if f not in group and _name(head) in called]
    above = [
        *[f"declare hidden {head}" for head in elsewhere],
        *[text for symbol, text in constants.items() if symbol in needed],
        *[text for symbol, text in helpers.items() if symbol in needed],
    ]
    return "\n".join([shared, *above, body])
