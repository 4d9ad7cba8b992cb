"""Graphs as text: deterministic, without ids, locations or memory addresses, and readable back.

``parse(to_text(g))`` is `g` again, given the constants by their content hashes; floats are written as hex.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from ..dim import Dim
from ..dim import parse as parse_size
from ..op import OPS
from ..seams import graph_text
from ..spec import TensorSpec, as_dtype
from .graph import Constant, Graph, Value, walk

#: How a value is printed that nothing defines: graphs under repair are printed too.
UNDEFINED = "%?"


def to_text(graph: Graph) -> str:
    """The graph as text, ending without a newline."""
    lines: list[str] = []
    _print(graph, "", lines, head="graph")
    return "\n".join(lines)


def _print(graph: Graph, indent: str, lines: list[str], head: str) -> None:
    names: dict[Value, str] = {}

    def define(values: Any) -> str:
        for v in values:
            names[v] = f"%{len(names)}"
        return ", ".join(f"{names[v]}: {v.spec}" for v in values)

    lines.append(f"{indent}{head} {graph.name}({define(graph.inputs)}) {{")
    for relation, a, b in graph.guards:
        lines.append(f"{indent}  guard {a} {relation} {b}")
    for node in graph.nodes:
        operands = ", ".join(names.get(v, UNDEFINED) for v in node.inputs)
        plain = "".join(f" {k}={_attr(v)}" for k, v in node.attrs.items() if not isinstance(v, Graph))
        lines.append(f"{indent}  {define(node.outputs)} = {node.op.name}({operands}){plain}")
        for k, v in node.attrs.items():
            if isinstance(v, Graph):
                _print(v, indent + "    ", lines, head=k)
    state = "".join(f" {i}:{o}" for i, o in graph.state)
    returned = ", ".join(names.get(v, UNDEFINED) for v in graph.outputs)
    lines.append(f"{indent}  return {returned}{' state' + state if state else ''}".rstrip())
    lines.append(f"{indent}}}")


def _attr(value: Any) -> str:
    return _spelling(value.__class__)(value)


@cache
def _spelling(kind: type) -> Callable[[Any], str]:
    """How attributes of a class are written: large programs have so many that matching each would be slow."""
    return next((spelled for known, spelled in _SPELLED.items() if issubclass(kind, known)), _refused)


def _refused(value: Any) -> str:
    raise TypeError(f"not canonical: {value!r}")


def _float(value: float) -> str:
    return value.hex() if math.isfinite(value) else f"float({value})"


def _string(value: str) -> str:
    import json  # slow to load, and few attributes are text

    return json.dumps(value)


def _tuple_text(value: tuple[Any, ...]) -> str:
    return f"({', '.join([_attr(part) for part in value])})"


_SPELLED: dict[type, Callable[[Any], str]] = {
    bool: str,
    type(None): str,
    int: str,
    float: _float,
    complex: lambda value: f"complex({value.real.hex()}, {value.imag.hex()})",
    str: _string,
    np.dtype: lambda value: f"dtype({value.name})",
    Dim: lambda value: f"<{value}>",
    tuple: _tuple_text,
    Constant: lambda value: f"#{value.key}",
}


def constants(graph: Graph) -> dict[str, np.ndarray]:
    """The constants of the graph and its regions by content hash: what the text does not hold."""
    return {a.key: a.array for _, n in walk(graph) for a in n.attrs.values() if isinstance(a, Constant)}


#: How contents are named in a text.
_CONTENTS = r"#[0-9a-f]+"


def without_contents(graph: Graph) -> str:
    """The text in which arrays of several elements are counted, not named: all that code depends on.

    Code holds the one number of an array that has no more, and reads others where they are. The count is their place
    in `constants`; what is equal has one.
    """
    counts = {f"#{key}": f"#{k}" for k, (key, array) in enumerate(constants(graph).items()) if array.size > 1}
    text = to_text(graph)
    return re.sub(_CONTENTS, lambda found: counts.get(found[0], found[0]), text) if counts else text


# ---- reading --------------------------------------------------------------------------------------------


def parse(text: str, table: Mapping[str, np.ndarray] | None = None) -> Graph:
    """Read a graph written by :func:`to_text`; `table` holds its constants by hash."""
    lines = iter(text.splitlines())
    head = next(lines).strip()
    return _read(head, lines, table or {})[1]


# patterns are compiled when something is read
_HEAD = r"(\w+) (\S+)\((.*)\) \{$"
_NODE = r"(.*?) = (\w+)\(([^)]*)\)(.*)$"


def _read(head: str, lines: Iterator[str], table: Mapping[str, np.ndarray]) -> tuple[str, Graph]:
    match = re.match(_HEAD, head)
    if not match:
        raise ValueError(f"not the head of a graph: {head!r}")
    key, name, inputs = match.groups()
    graph = Graph(name, finished=True)
    env: dict[str, Value] = {}
    for operand, spec in _typed(inputs):
        env[operand] = graph.add_input(spec)
    for line in lines:
        line = line.strip()
        if line == "}":
            return key, graph
        if line == "return" or line.startswith("return "):
            _read_return(line, graph, env)
        elif line.startswith("guard "):
            a, relation, b = line[6:].split(" ") if line.count(" ") == 3 else _split_guard(line[6:])
            graph.guards += ((relation, parse_size(a), parse_size(b)),)
        elif line.endswith(" {") and " = " not in line:
            region, inner = _read(line, lines, table)
            graph.nodes[-1].attrs[region] = inner  # type: ignore[index]
        else:
            _read_node(line, graph, env, table)
    raise ValueError("the text of a graph ends early")


def _split_guard(text: str) -> tuple[str, str, str]:
    match = re.match(r"(.*) (==|!=|<=|<) (.*)$", text)
    if not match:
        raise ValueError(f"not a guard: {text!r}")
    return match.group(1), match.group(2), match.group(3)


def _read_return(line: str, graph: Graph, env: Mapping[str, Value]) -> None:
    names, _, state = line[len("return ") :].partition(" state ")
    graph.outputs = [env[n.strip()] for n in names.split(",") if n.strip()]
    graph.state = tuple((int(i), int(o)) for i, o in (p.split(":") for p in state.split()))


def _read_node(line: str, graph: Graph, env: dict[str, Value], table: Mapping[str, np.ndarray]) -> None:
    match = re.match(_NODE, line)
    if not match:
        raise ValueError(f"not a node: {line!r}")
    outs, op, operands, attrs = match.groups()
    typed = _typed(outs)
    inputs = tuple(env[n.strip()] for n in operands.split(",") if n.strip())
    values = graph.add(OPS[op], inputs, dict(_attrs(attrs, table)), tuple(s for _, s in typed))
    env.update(zip((n for n, _ in typed), values, strict=True))


def _typed(text: str) -> list[tuple[str, TensorSpec]]:
    typed = re.findall(r"(%\d+): (\w+)\[((?:[^\[\]])*)\]", text)
    return [(n, TensorSpec([parse_size(s) for s in _split(sizes)], dtype)) for n, dtype, sizes in typed]


def _split(text: str) -> list[str]:
    """Split at commas outside of parentheses."""
    parts, depth, current = [], 0, ""
    for ch in text:
        depth += (ch == "(") - (ch == ")")
        if ch == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += ch
    return [p.strip() for p in [*parts, current] if p.strip()]


_ATTR = (
    r'\s*(?:(?P<str>"(?:[^"\\]|\\.)*")|(?P<dim><[^>]*>)|dtype\((?P<dtype>\w+)\)|#(?P<const>\w+)'
    r"|complex\((?P<re>[^,]+), (?P<im>[^)]+)\)|float\((?P<odd>[^)]+)\)"
    r"|(?P<hex>-?0x[0-9a-fp.+-]+)|(?P<int>-?\d+)|(?P<word>True|False|None)|(?P<open>\())"
)


def _attrs(text: str, table: Mapping[str, np.ndarray]) -> Iterator[tuple[str, Any]]:
    at = 0
    key = re.compile(r"\s*(\w+)=")
    while match := key.match(text, at):
        value, at = _value(text, match.end(), table)
        yield match.group(1), value


def _value(text: str, at: int, table: Mapping[str, np.ndarray]) -> tuple[Any, int]:
    match = re.compile(_ATTR).match(text, at)
    if not match:
        raise ValueError(f"not an attribute: {text[at:]!r}")
    if match.group("open"):
        return _tuple(text, match.end(), table)
    return _scalar(match, table), match.end()


def _tuple(text: str, at: int, table: Mapping[str, np.ndarray]) -> tuple[tuple[Any, ...], int]:
    items: list[Any] = []
    while text[at] != ")":
        value, at = _value(text, at, table)
        items.append(value)
        while text[at] in ", ":
            at += 1
    return tuple(items), at + 1


def _scalar(token: re.Match[str], table: Mapping[str, np.ndarray]) -> Any:
    groups = {k: v for k, v in token.groupdict().items() if v is not None}
    match groups:
        case {"str": s}:
            import json

            return json.loads(s)
        case {"dim": d}:
            return parse_size(d[1:-1])
        case {"dtype": d}:
            return as_dtype(d)
        case {"const": key}:
            return Constant(table[key], key)
        case {"re": re_, "im": im}:
            return complex(float.fromhex(re_), float.fromhex(im))
        case {"odd": odd}:
            return float(odd)
        case {"hex": h}:
            return float.fromhex(h)
        case {"int": i}:
            return int(i)
    return {"True": True, "False": False, "None": None}[groups["word"]]


def equal(a: Graph, b: Graph) -> bool:
    """Are two graphs the same program?"""
    return to_text(a) == to_text(b)


graph_text.provide(to_text)
