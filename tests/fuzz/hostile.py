"""Files that nobody wrote: bytes, structure and text of good ones changed at random.

The checksum fits or not: who can write a file can write its checksum too.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracejit.core.op import OPS
from tracejit.train.checkpoint import store

STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 7, 2**31, 2**63, -(2**70), 0.5, -0.0, 1e308, float("nan"), float("inf")),
    *(
        "",
        ".",
        "..",
        "../x",
        "/x",
        "a/b",
        "\0",
        "O",
        "object",
        "float64",
        "int8",
        "n",
        "2*n",
        "__class__",
        "x" * 5000,
    ),
    *(
        [],
        {},
        [[]],
        [0] * 70,
        {"": None},
        ["value", 1],
        ["leaf"],
        ["nest", "dict", ["tuple", []], ["tuple", []]],
    ),
)


def forged(path: Path, header: Any, data: bytes = b"", metadata: Any = None) -> Path:
    """A file whose checksum fits, whatever it says."""
    header = {**header, "__metadata__": dict(metadata or {})}
    header["__metadata__"].pop("sha256", None)
    found = hashlib.sha256(store._json(header))
    found.update(data)
    header["__metadata__"]["sha256"] = found.hexdigest()
    text = store._json(header)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def taken_apart(image: bytes) -> tuple[dict[str, Any], bytes]:
    """The header of a good file, and its data."""
    length = int.from_bytes(image[:8], "little")
    return json.loads(image[8 : 8 + length]), image[8 + length :]


def changed_bytes(image: bytes, rng: random.Random) -> bytes:
    """Bits turned, pieces cut out, doubled or put elsewhere."""
    found = bytearray(image)
    for _ in range(rng.choice((1, 1, 2, 8))):
        a, b = sorted(rng.randrange(len(found) + 1) for _ in range(2))
        match rng.randrange(5):
            case 0:
                found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
            case 1:
                del found[a:]
            case 2:
                del found[a : min(b, a + 50)]
            case 3:
                found[a:a] = found[a : min(b, a + 50)]
            case 4:
                found[rng.randrange(len(found))] = rng.randrange(256)
        if not found:
            found = bytearray(b"\0")
    return bytes(found)


def _strange(rng: random.Random) -> Any:
    return copy.deepcopy(rng.choice(STRANGE))


def changed_json(value: Any, rng: random.Random) -> Any:
    """One place of a nest with something else in it."""
    places: list[tuple[Any, Any]] = []

    def walk(x: Any) -> None:
        pairs = list(x.items()) if isinstance(x, dict) else list(enumerate(x)) if isinstance(x, list) else []
        for key, inner in pairs:
            places.append((x, key))
            walk(inner)

    walk(value)
    if not places:
        return _strange(rng)
    holder, key = rng.choice(places)
    match rng.randrange(6):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[str(_strange(rng))] = holder.pop(key)
        case 2:
            other, k = rng.choice(places)
            try:
                holder[key] = json.loads(json.dumps(other[k]))
            except (KeyError, IndexError):
                holder[key] = _strange(rng)
        case 3 if isinstance(holder[key], str):
            holder[key] = changed_text(holder[key], rng)
        case 4 if isinstance(holder[key], int):
            holder[key] += rng.choice((-1, 1, 7, -1000, 2**40))
        case _:
            holder[key] = _strange(rng)
    return value


_NUMBER = re.compile(r"-?\d+")
_ATTRIBUTE = re.compile(r"(?<=[=( ])-?(?:\d+|True|False|None|dtype\(\w+\)|-?0x[0-9a-fp.+-]+)(?=[,) \n])")
_OP = re.compile(r"(?<= = )\w+(?=\()")
_WORD = re.compile(r"\b[a-z_]\w+\b")


def changed_text(text: str, rng: random.Random) -> str:
    """A number, a word, a letter or a line of a text replaced by another, often one of its own."""
    lines = text.splitlines()
    match rng.randrange(13):
        case 7 | 8 | 9 | 10 if found := list(_ATTRIBUTE.finditer(text)):
            mark = rng.choice(found)
            other = rng.choice(
                [rng.choice(found)[0], "0", "-1", "1", "2", "-7", "1000000", "4611686018427387904", "()"]
            )
        case 11 | 12 if found := list(_OP.finditer(text)):
            mark = rng.choice(found)
            other = rng.choice([rng.choice(found)[0], rng.choice(list(OPS))])
        case 0 | 1 if found := list(_NUMBER.finditer(text)):
            mark = rng.choice(found)
            other = rng.choice(
                [rng.choice(found)[0], str(int(mark[0]) + rng.choice((-1, 1))), "0", "-1", "1000000"]
            )
        case 2 if found := list(_WORD.finditer(text)):
            mark, other = (
                rng.choice(found),
                rng.choice([rng.choice(found)[0], "print", "object", "True", "None"]),
            )
        case 3 if len(lines) > 1:
            k, j = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[k], lines[j] = lines[j], lines[k]
            return "\n".join(lines)
        case 4 if len(lines) > 1:
            del lines[rng.randrange(len(lines))]
            return "\n".join(lines)
        case 5 if len(lines) > 1:
            k = rng.randrange(len(lines))
            lines.insert(rng.randrange(len(lines)), lines[k])
            return "\n".join(lines)
        case _:
            at = rng.randrange(len(text) + 1)
            return (
                text[:at] + rng.choice(["", "{", ")", "%0", " ", "\0", "[", '"', "#", "<"]) + text[at + 1 :]
            )
    return text[: mark.start()] + other + text[mark.end() :]


def hostile(image: bytes, path: Path, seed: int) -> str:
    """Write a changed file; how it was changed, in a word. The same seed makes the same file."""
    rng = random.Random(seed)
    header, data = taken_apart(image)
    kinds: dict[str, Callable[[], Any]] = {
        "bytes": lambda: path.write_bytes(changed_bytes(image, rng)),
        "header": lambda: forged(path, _without(changed_json(header, rng)), data, _metadata(header)),
        "data": lambda: forged(path, _without(header), changed_bytes(data or b"\0", rng), _metadata(header)),
        "model": lambda: forged(path, _without(header), data, _changed_metadata(header, rng)),
    }
    kind = rng.choice(["bytes", "header", "data", "model", "model", "model"])
    kinds[kind]()
    return kind


def _without(header: Any) -> dict:
    return {k: v for k, v in header.items() if k != "__metadata__"} if isinstance(header, dict) else {}


def _metadata(header: Any) -> dict:
    found = header.get("__metadata__") if isinstance(header, dict) else None
    return found if isinstance(found, dict) else {}


def _changed_metadata(header: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The model, or what a checkpoint says besides, changed inside of its own text; graphs most of all."""
    found = dict(_metadata(header))
    key = "model" if "model" in found else "also"
    inner = json.loads(found[key])
    for _ in range(rng.choice((1, 1, 2, 3))):
        graphs = _graphs(inner)
        if graphs and rng.random() < 0.7:
            trace = rng.choice(graphs)
            trace["graph"] = changed_text(trace["graph"], rng)
        else:
            inner = changed_json(inner, rng)
    found[key] = json.dumps(inner)
    return found


def _graphs(model: Any) -> list[dict[str, Any]]:
    """The traces in a model."""
    if isinstance(model, list):
        return [t for x in model for t in _graphs(x)]
    if not isinstance(model, dict):
        return []
    own = [model] if isinstance(model.get("graph"), str) and model["graph"] else []
    return own + [t for x in model.values() for t in _graphs(x)]
