"""Damaged artifacts: ``python -m fuzz.artifacts --count 10000 --seed 0 --jobs 2``.

Each case is a file with some damage: flipped bits and cut ends, which digests find; and edits of headers, tables,
object code and graphs whose digests are made right again, as somebody who means harm would. Loading must refuse the
file with an exception of Python's, or give an artifact that can be described, written and placed in memory. Code is
called only where neither it nor its tables were touched: these are to be trusted as any library is. A case that ends
its process, or takes long, counts as wrong, with its number.
"""

from __future__ import annotations

import argparse
import collections
import copy
import hashlib
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tf
from tracejit.aot import Artifact, BadArtifact, NotVerified
from tracejit.core.ir.attributes import NotAdmitted
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.admission import admitted
from tracejit.runtime.exported import container

SECONDS = 10  # that a case may take
MEMORY = 3 << 30  # that a process may take; a damaged size must not be believed
CHUNK = 250  # cases of one process

HOSTILE: list[Any] = [
    -1, 0, 1, 2**31, 2**63 - 1, 2**64, -(2**63), 10**40, 1.5, True, None, float("nan"), float("inf"), "", "x", "n",
    "-1", "f8", "O", "<f8", ">f8", "V9", "S99999999999", "M8[s]", [], {}, [[]], "n*n*n*n*n*n", "floordiv(n, 0)",
    "*".join(f"floordiv(a{k} + b{k}, 1)" for k in range(40)), "max(" * 3000, "9" * 5000, "n" * 9000, "max(n)", "(n)",
    "__import__('os')", "\0", "é", "../../x", "a b", "int", "{0}", "%s", [0] * 100, [1] * 70, {"a": 1},
    [["<f8", [2**40, 2**40]]], ["f8", ["n"]],
]  # fmt: skip


class Original:
    """An undamaged artifact, as file, parts and object."""

    def __init__(self, art: Artifact, folder: Path, args: tuple[Any, ...]):
        path = folder / "original.tja"
        art.save(path)
        self.whole, self.args, self.wanted = path.read_bytes(), args, art(*args)
        self.header, self.blobs = container.read(path)


Damage = Callable[[random.Random, Original], bytes]


# ---- files ----------------------------------------------------------------------------------------------


def packed(header: dict[str, Any], blobs: dict[str, bytes], text: bytes | None = None) -> bytes:
    """A file with right digests; `text` replaces the header's."""
    places, body = {}, bytearray()
    for name, blob in blobs.items():
        body += bytes(-len(body) % 64)
        places[name] = [len(body), len(blob), hashlib.sha256(blob).hexdigest()]
        body += blob
    text = json.dumps({"blobs": places, **header}, sort_keys=True).encode() if text is None else text
    prefix = struct.pack(
        "<8sIIQ32s", container.MAGIC, container.VERSION, 0, len(text), hashlib.sha256(text).digest()
    )
    return prefix + text + body


def parts(original: Original) -> tuple[dict[str, Any], dict[str, bytes]]:
    header = copy.deepcopy(original.header)
    header.pop("blobs")
    return header, dict(original.blobs)


def edited(rng: random.Random, data: Any) -> Any:
    """JSON data in which one thing, anywhere, is another."""
    if isinstance(data, dict) and data and rng.random() < 0.9:
        key = rng.choice(sorted(data))
        how = rng.random()
        if how < 0.1:
            return {k: v for k, v in data.items() if k != key}
        if how < 0.15:
            return {**data, str(rng.choice(HOSTILE)): data[key]}
        return {**data, key: edited(rng, data[key])}
    if isinstance(data, list) and data and rng.random() < 0.9:
        place = rng.randrange(len(data))
        how = rng.random()
        if how < 0.15:
            return data[:place] + data[place + 1 :]
        if how < 0.3:
            return data + data[place:]
        return [*data[:place], edited(rng, data[place]), *data[place + 1 :]]
    if isinstance(data, int) and not isinstance(data, bool) and rng.random() < 0.5:
        return data + rng.choice([-1, 1, 2**32, -data, data])
    return rng.choice(HOSTILE)


def flipped(rng: random.Random, data: bytes, most: int = 8) -> bytes:
    found = bytearray(data)
    for _ in range(rng.randint(1, most)):
        if found:
            found[rng.randrange(len(found))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    return bytes(found)


# ---- damages --------------------------------------------------------------------------------------------


def bits(rng: random.Random, original: Original) -> bytes:
    found = bytearray(original.whole)
    for _ in range(rng.choice([1, 1, 2, 8])):
        found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def cut(rng: random.Random, original: Original) -> bytes:
    whole, a, b = original.whole, *sorted(rng.randrange(len(original.whole) + 1) for _ in range(2))
    return rng.choice(
        [whole[:a], whole[a:], whole[:a] + whole[b:], whole[:b] + whole[a:], whole + whole[a:b]]
    )


def header_edit(rng: random.Random, original: Original) -> bytes:
    header, blobs = parts(original)
    if rng.random() < 0.2:
        return packed(header, edited_names(rng, blobs))
    found = edited(rng, header)
    return (
        packed(found, blobs) if isinstance(found, dict) else packed(header, blobs, json.dumps(found).encode())
    )


def edited_names(rng: random.Random, blobs: dict[str, bytes]) -> dict[str, bytes]:
    name = rng.choice(sorted(blobs))
    return {(str(rng.choice(HOSTILE)) if n == name else n): b for n, b in blobs.items()}


def places_edit(rng: random.Random, original: Original) -> bytes:
    """Blobs that lie elsewhere: outside, overlapping, of enormous size."""
    header, blobs = parts(original)
    return packed({**header, "blobs": edited(rng, original.header["blobs"])}, blobs)


def text_edit(rng: random.Random, original: Original) -> bytes:
    """A header that is not quite JSON."""
    header, blobs = parts(original)
    text = json.dumps(original.header, sort_keys=True)
    place = rng.randrange(len(text))
    put = rng.choice(
        [
            "NaN",
            "[" * 5000,
            "{" * 9000,
            '{"codes": 1, "codes": 2}',
            "1e999",
            "-",
            "\\ud800",
            "9" * 6000,
            "",
            '"',
            "]",
            ",",
        ]
    )
    end = place + rng.choice([0, 1, 5])
    return packed(header, blobs, (text[:place] + put + text[end:]).encode("utf-8", "surrogatepass"))


def swapped(rng: random.Random, original: Original) -> bytes:
    header, blobs = parts(original)
    one, other = rng.choice(sorted(blobs)), rng.choice(sorted(blobs))
    blobs[one], blobs[other] = blobs[other], blobs[one]
    if rng.random() < 0.3:
        blobs[one] = rng.choice([b"", flipped(rng, blobs[one]), blobs[one][: len(blobs[one]) // 2]])
    return packed(header, blobs)


def table_edit(rng: random.Random, original: Original) -> bytes:
    """The tables of a code: its signature, messages, workspace …"""
    header, blobs = parts(original)
    payload = blobs["code 0"]
    size = int.from_bytes(payload[:8], "little")
    text = json.dumps(edited(rng, json.loads(payload[8 : 8 + size]))).encode()
    blobs["code 0"] = len(text).to_bytes(8, "little") + text + payload[8 + size :]
    return packed(header, blobs)


def object_edit(rng: random.Random, original: Original) -> bytes:
    """Object code: headers of the ELF file and of its sections, symbols, relocations."""
    header, blobs = parts(original)
    name = rng.choice(["code 0", "code 0", *(n for n in blobs if n.startswith("lane "))])
    blob = blobs[name]
    start = 8 + int.from_bytes(blob[:8], "little") if name == "code 0" else 0
    image = bytearray(blob[start:])
    sections = int.from_bytes(image[40:48], "little")
    for _ in range(rng.choice([1, 1, 2, 5, 40])):
        low, high = rng.choice([(0, 64), (sections, len(image)), (64, len(image))])
        place = rng.randrange(low, high)
        width = rng.choice([1, 1, 2, 4, 8])
        value = rng.choice(
            [0, 1, -1, 1 << 31, 1 << 63, rng.randrange(1 << 16), len(image), rng.getrandbits(64)]
        )
        image[place : place + width] = (value % (1 << 8 * width)).to_bytes(width, "little")
    if rng.random() < 0.1:
        del image[rng.randrange(len(image)) :]
    blobs[name] = blob[:start] + bytes(image)
    return packed(header, blobs)


def graph_edit(rng: random.Random, original: Original) -> bytes:
    header, blobs = parts(original)
    text = blobs["graph"].decode()
    place = rng.randrange(len(text))
    puts = [
        "",
        "0",
        "-1",
        "%0",
        "(",
        "float32",
        "4294967296",
        "'",
        "numpy_function",
        "\n",
        "n",
        "9" * 30,
        text[place : place + 40],
    ]
    end = place + rng.choice([0, 1, 3, 20])
    blobs["graph"] = (text[:place] + rng.choice(puts) + text[end:]).encode()
    return packed(header, blobs)


DAMAGES: list[Damage] = [
    bits, cut, header_edit, header_edit, places_edit, text_edit, swapped, table_edit, table_edit, object_edit,
    object_edit, graph_edit,
]  # fmt: skip


# ---- one case -------------------------------------------------------------------------------------------


def outcome(path: Path, damage: Damage, original: Original) -> str:
    """``"refused"`` or ``"taken"``; whatever else happens is an error of ours."""
    try:
        art = tf.load(path)
    except BadArtifact:
        return "refused"
    assert art.signature and art.targets and repr(art)
    header, blobs = container.read(path)
    same = header["codes"] == original.header["codes"] and all(
        blobs.get(name) == blob for name, blob in original.blobs.items() if name.startswith(("code", "lane"))
    )
    describe(art, path)
    if same:
        for _ in range(2):
            found = art(*original.args)
            assert all(np.array_equal(a, b) for a, b in zip(found, original.wanted, strict=True))
        try:
            if not art._executable.polls:  # else the sample, which may be another, says how long it runs
                art.verify()
        except NotVerified:
            pass
    else:
        try:
            assert art._executable and (art._lane or True)  # in memory, and not called
        except (BadArtifact, OSError):
            return "refused"
    if art._graph is not None and damage in (graph_edit, swapped):
        admit(art)
    return "taken"


def describe(art: Artifact, path: Path) -> None:
    for end in (".h", ".py", ".o", ".so"):
        try:
            art.write(path.with_suffix(end))
        except (ValueError, LookupError):
            pass  # a machine that there is not, object code that makes no sense: the message says so


def admit(art: Artifact) -> None:
    specs = [TensorSpec(shape, dtype) for dtype, shape in art._inputs]
    assert art._graph is not None
    try:
        admitted(art._graph.text, art._graph.constants, specs)
    except NotAdmitted:
        pass


# ---- many ------------------------------------------------------------------------------------------------


def originals(folder: Path) -> list[Original]:
    """Sizes that are known and not, a loop, weights, results of several dtypes."""
    weights = tf.constant(np.linspace(-1.0, 1.0, 12).reshape(3, 4), tf.float64)

    def fit(x, w, y):
        return tf.reduce_mean((tf.reduce_sum(x * w, axis=1) - y) ** 2)

    def net(x):
        return tf.reduce_sum(tf.tanh(x @ weights) ** 2)

    def root(a):
        x = a
        while tf.abs(x * x - a) > 1e-12 * a:
            x = 0.5 * (x + a / x)
        return x

    x = np.arange(12.0).reshape(4, 3)
    made = [
        (tf.export(fit, ["f64[n,3]", "f64[3]", "f64[n]"], name="fit"), (x, np.ones(3), np.ones(4))),
        (tf.export(net, ["f64[n,3]"], name="net", targets=["host", "host"]), (x,)),
        (tf.export(root, ["f64"], name="root"), (np.array(2.0),)),
    ]
    return [Original(art, folder, args) for art, args in made]


def run(numbers: range, seed: int, folder: Path) -> None:
    """Cases of one process: a line for each, written before the case begins and completed at its end."""
    known = originals(folder)
    limit_memory()
    path = folder / "damaged.tja"
    signal.signal(signal.SIGALRM, _too_long)
    for number in numbers:
        rng = random.Random(f"{seed} {number}")
        damage, original = rng.choice(DAMAGES), rng.choice(known)
        print(f"{number} {damage.__name__} ", end="", flush=True)
        path.write_bytes(damage(rng, original))
        signal.alarm(SECONDS)
        try:
            said = outcome(path, damage, original)
        except Exception as error:
            said = f"WRONG {type(error).__name__}: {str(error)[:300]!r}"
        signal.alarm(0)
        print(said, flush=True)


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def limit_memory() -> None:
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


def many(count: int, seed: int, jobs: int) -> tuple[collections.Counter[tuple[str, str]], list[str]]:
    """How many cases of each kind were refused or taken, and those that are wrong."""
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    wrong: list[str] = []
    waiting = [range(first, min(first + CHUNK, count)) for first in range(0, count, CHUNK)]
    running: list[tuple[range, subprocess.Popen[str], tempfile.TemporaryDirectory[str]]] = []
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    while waiting or running:
        while waiting and len(running) < jobs:
            numbers, folder = waiting.pop(0), tempfile.TemporaryDirectory()
            command = [
                sys.executable,
                "-m",
                "fuzz.artifacts",
                "--first",
                str(numbers.start),
                "--last",
                str(numbers.stop),
            ]
            command += ["--seed", str(seed), "--folder", folder.name]
            with open(Path(folder.name, "said"), "w") as said:
                running.append(
                    (numbers, subprocess.Popen(command, stdout=said, stderr=said, text=True, env=env), folder)
                )
        done = next((r for r in running if r[1].poll() is not None), None)
        if done is None:
            time.sleep(0.05)
            continue
        running.remove(done)
        left = tally(Path(done[2].name, "said").read_text(), done[0], done[1].returncode, counts, wrong)
        done[2].cleanup()
        if left:
            waiting.insert(0, left)
    return counts, wrong


def tally(
    text: str, numbers: range, code: int, counts: collections.Counter[tuple[str, str]], wrong: list[str]
) -> range:
    """Count what a process said; the cases that it left undone."""
    last = numbers.start - 1
    for line in text.splitlines():
        number, _, rest = line.partition(" ")
        if not number.isdigit():
            continue
        last = int(number)
        kind, _, said = rest.partition(" ")
        if said not in ("refused", "taken"):
            wrong.append(line if said else f"{line}: the process ended with {code}")
        counts[kind, said if said in ("refused", "taken") else "wrong"] += 1
    if last < numbers.start:
        wrong.append(f"{numbers}: no case began: {text[-2000:]}")
        return range(0)
    return range(last + 1, numbers.stop)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("count", 10_000), ("seed", 0), ("jobs", 2), ("first", 0), ("last", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.folder:
        run(range(given.first, given.last), given.seed, given.folder)
        return 0
    counts, wrong = many(given.count, given.seed, given.jobs)
    for (kind, said), number in sorted(counts.items()):
        print(f"{kind:12} {said:8} {number:6}")
    print(*wrong, sep="\n")
    print(f"{sum(counts.values())} damaged artifacts, seed {given.seed}: {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
