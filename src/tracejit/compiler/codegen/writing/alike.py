"""Functions whose texts differ in a few integers, as one function with these as parameters.

A loop that a program writes out for many lengths, one after the other, becomes as many functions, which LLVM would
compile one by one: they differ in trip counts, in bounds that they tell, in offsets. Only such integers become
parameters; where another number differs, as a place in a vector, functions stay apart, and so do those of which there
are few: LLVM knows constants better.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ....core.dataclass import dataclass

#: So many functions, of so many characters, are worth being one; and so many parameters may be added.
FEWEST, SHORTEST, MOST = 4, 2000, 16

#: Integers that may be parameters: that something is compared with, counted by, or stored, and steps of pointers.
_INTEGER = re.compile(
    r"(?P<before> = (?:icmp \w+|add|sub|mul)(?: nuw| nsw)* i64 %[\w.]+, | = sub(?: nuw| nsw)* i64 |store i64 "
    r"| = getelementptr (?:inbounds )?[\w<>]+(?: x \w+>)?, ptr %[\w.]+, i64 )(?P<integer>-?\d+)(?=[,\n])"
)


@dataclass(frozen=True)
class Merged:
    """Functions by their texts, and what calls of others become.

    Attributes
    ----------
    functions : dict
        What each returns and its text, to its name.
    calls : dict
        Names of functions that are no more, to the one that stands for each, and its further arguments.
    """

    functions: dict[tuple[str, str], str]
    calls: dict[str, tuple[str, str]]

    def redirected(self, text: str) -> str:
        """The text with calls of the functions that there are."""
        if not self.calls:
            return text

        def call(found: re.Match[str]) -> str:
            name, arguments = found["name"], found["arguments"]
            if name not in self.calls:
                return found[0]
            new, further = self.calls[name]
            return f"{new}({', '.join(filter(None, (arguments, further)))})"

        return _CALL.sub(call, text)


_CALL = re.compile(r"(?P<name>@\.k\d+)\((?P<arguments>[^()]*)\)")


def merged(kernels: Mapping[tuple[str, str], str]) -> Merged:
    """The functions, those that are alike as one."""
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    lines: dict[tuple[str, int], list[str]] = {}
    for shape, text in kernels:
        if len(text) >= SHORTEST:
            lines.setdefault((shape, text.count("\n")), []).append(text)
    for (shape, _), texts in lines.items():
        if len(texts) >= FEWEST:  # else nothing need be read
            for text in texts:
                groups.setdefault((shape, _INTEGER.sub(r"\g<before>#", text)), []).append((shape, text))
    calls: dict[str, tuple[str, str]] = {}
    made: dict[tuple[str, str], str] = {}
    instead: dict[tuple[str, str], tuple[str, str]] = {}
    for group in groups.values():
        shared = _shared([text for _, text in group]) if len(group) >= FEWEST else None
        if shared is None:
            continue
        text, further = shared
        name = kernels[group[0]]
        instead[group[0]] = group[0][0], text
        for key, arguments in zip(group, further, strict=True):
            calls[kernels[key]] = name, arguments
    for key, name in kernels.items():
        if name not in calls or key in instead:
            made[instead.get(key, key)] = name
    return Merged(made, calls)


def _shared(texts: Sequence[str]) -> tuple[str, list[str]] | None:
    """One text with parameters more, and for each text the arguments; None where those would be many."""
    found = [[m["integer"] for m in _INTEGER.finditer(text)] for text in texts]
    columns = list(zip(*found, strict=True))
    names: dict[tuple[str, ...], str] = {}
    for column in columns:
        if len(set(column)) > 1:
            names.setdefault(column, f"%differs{len(names)}")
    if len(names) > MOST:
        return None
    place = iter(columns)

    def replaced(m: re.Match[str]) -> str:
        return m["before"] + names.get(next(place), m["integer"])

    head, body = _INTEGER.sub(replaced, texts[0]).split("\n", 1)
    end = head.index(")")
    taken = ", ".join(f"i64 {name}" for name in names.values())
    between = ", " if end > 1 else ""
    text = f"{head[:end]}{between}{taken}{head[end:]}\n{body}"
    return text, [", ".join(f"i64 {column[k]}" for column in names) for k in range(len(texts))]
