"""Debug information: notes of places behind instructions become LLVM metadata, of which LLVM makes DWARF.

Each function of the module stands for the traced Python function; helpers that this called are inlined in it, call by
call, so that a debugger shows the stack that Python would have. DWARF 4 and the language C, as debuggers know Python by
name only. A location of another function's scope would make LLVM drop everything: all scopes are made here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from types import CodeType

from ...core.errors import GENERATED, Location
from .writing.places import Places

_NOTE = re.compile(r"!dbg @(\d+)")
_KERNEL = re.compile(r"@\.(k\d+)(?=\()")
_FLAGS = "spFlags: DISPFlagDefinition | DISPFlagOptimized"


def described(functions: Sequence[str], name: str, places: Places) -> list[str]:
    """The functions with metadata for notes, and the metadata behind them.

    Parameters
    ----------
    functions : sequence of str
        Definitions, the last one the program's entry.
    name : str
        Of the program; the other functions are called by it, too.
    places : Places
        What the notes mean.
    """
    if not places.numbers:
        return [_NOTE.sub("", f).replace(", \n", "\n") for f in functions]
    metadata = _Metadata(list(places.numbers))
    found = []
    for number, text in enumerate(functions, 1):
        text = _KERNEL.sub(lambda m: f'@"{name}.{m[1]}"', text)
        found.append(metadata.described(text, is_entry=number == len(functions)))
    return [*found, metadata.text()]


def frames() -> str:
    """Metadata for a module without places, so that debuggers find the way from its functions to their callers."""
    metadata = _Metadata([])
    return metadata.text()


class _Metadata:
    """The metadata of a module in the making, and the functions of the user's program that it knows."""

    def __init__(self, places: Sequence[Location]):
        self.places = places
        self.nodes: list[str] = []
        self.known: dict[object, str] = {}
        file = places[0].stack[-1].file if places else "tracejit"
        self.type = self.add("!DISubroutineType(types: !{})")
        self.unit = self.add(
            f"distinct !DICompileUnit(language: DW_LANG_C99, file: {self.file(file)}, "
            'producer: "tracejit", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug, nameTableKind: None)'
        )
        self.flags = [
            self.add(f'!{{i32 {how}, !"{what}", i32 {version}}}') for how, what, version in _VERSIONS
        ]

    def add(self, node: str) -> str:
        self.nodes.append(node)
        return f"!{len(self.nodes) - 1}"

    def once(self, key: object, node: Callable[[], str]) -> str:
        """The node of a key, made when it is asked for first."""
        if key not in self.known:
            self.known[key] = self.add(node())
        return self.known[key]

    def text(self) -> str:
        named = f"!llvm.module.flags = !{{{', '.join(self.flags)}}}\n!llvm.dbg.cu = !{{{self.unit}}}\n"
        return named + "".join(f"!{k} = {node}\n" for k, node in enumerate(self.nodes))

    # -- functions --

    def described(self, text: str, is_entry: bool) -> str:
        """A definition with its notes replaced; what comes from nowhere in the entry is where the function begins."""
        numbers = [int(n) for n in _NOTE.findall(text)]
        first = next((n for n in numbers if n), 1)
        whole = self.places[first - 1].stack[-1].function
        head, rest = text.split(" {\n", 1)
        scope = self.add(self.subprogram(whole))
        nowhere = self.add(f"!DILocation(line: {whole.co_firstlineno if is_entry else 0}, scope: {scope})")
        known = {n: self.location(self.places[n - 1], scope, whole) if n else nowhere for n in set(numbers)}
        return f"{head} !dbg {scope} {{\n{_NOTE.sub(lambda m: f'!dbg {known[int(m[1])]}', rest)}"

    def subprogram(self, function: CodeType) -> str:
        whole = function.co_qualname.split(f".<locals>.{GENERATED}")[
            0
        ]  # what was traced before has no more to tell
        name = _string(whole.replace(".<locals>", ""))
        file, line = self.file(function.co_filename), function.co_firstlineno
        return (
            f"distinct !DISubprogram(name: {name}, scope: {file}, file: {file}, line: {line}, type: {self.type}, "
            f"scopeLine: {line}, {_FLAGS}, unit: {self.unit})"
        )

    def file(self, path: str) -> str:
        folder, name = os.path.split(path)
        return self.once(path, lambda: f"!DIFile(filename: {_string(name)}, directory: {_string(folder)})")

    # -- places --

    def location(self, place: Location, scope: str, whole: CodeType) -> str:
        """The node of a place in a definition that stands for the function `whole`, its callers inlined around it."""
        return self.once((place, scope), lambda: self.spelled(place, scope, whole))

    def call(self, place: Location | None, scope: str, whole: CodeType) -> str:
        """The node of a call, known by its place: two calls on one line are two. None is somewhere in `whole`."""
        if place is None:
            return self.once(scope, lambda: f"distinct !DILocation(line: 0, scope: {scope})")
        return self.once((place, scope, "call"), lambda: f"distinct {self.spelled(place, scope, whole)}")

    def spelled(self, place: Location, scope: str, whole: CodeType) -> str:
        function = place.function
        if place.caller is None and function == whole:
            return f"!DILocation(line: {place.line}, scope: {scope})"
        own = self.once(function, lambda: self.subprogram(function))
        around = self.call(place.caller, scope, whole)
        return f"!DILocation(line: {place.line}, scope: {own}, inlinedAt: {around})"


_VERSIONS = ((7, "Dwarf Version", 4), (2, "Debug Info Version", 3))


def _string(text: str) -> str:
    """A string as metadata spells it."""
    plain = {ord(c) for c in '"\\'}
    spelled = "".join(
        chr(b) if 32 <= b < 127 and b not in plain else f"\\{b:02X}"
        for b in text.encode("utf-8", "surrogateescape")
    )
    return f'"{spelled}"'
