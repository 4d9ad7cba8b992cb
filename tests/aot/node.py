"""Exported functions called in Node: arguments go in and results come out as JSON with bytes in base64."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no Node")

_CALLS = """
import { readFileSync } from "node:fs";
const array = ({ type, bytes }) => new globalThis[type](Uint8Array.from(Buffer.from(bytes, "base64")).buffer);
const viewed = (x) => (ArrayBuffer.isView(x) ? x : typeof x === "bigint" ? BigInt64Array.of(x) : Float64Array.of(x));
const spelled = (x) => Buffer.from(viewed(x).buffer).toString("base64");
const done = [];
for (const { module, inputs, sizes } of JSON.parse(readFileSync("cases.json", "utf8"))) {
  const call = await (await import(module)).instantiate();
  try {
    const found = Object.entries(call(...inputs.map(array), ...(sizes ? [sizes] : [])));
    done.push(Object.fromEntries(found.map(([name, x]) => [name, spelled(x)])));
  } catch (error) {
    done.push(`${error.name}: ${error.message}`);
  }
}
console.log(JSON.stringify(done));
"""
_PAIRS = {"complex128": np.float64, "complex64": np.float32, "float16": np.uint16, "bool": np.uint8}


class Case(NamedTuple):
    """A call of the module in a file, which should give such results."""

    module: str
    inputs: Sequence[np.ndarray]
    outputs: Mapping[str, np.ndarray]
    sizes: Mapping[str, int] | None = None


def node(script: str, folder: Path) -> str:
    """What a script prints that runs in a folder."""
    (folder / "script.mjs").write_text(script)
    command = ["node", "script.mjs"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def called(cases: Sequence[Case], folder: Path) -> list[dict[str, np.ndarray] | str]:
    """For each case the results, in the shapes and dtypes of those that it should give, or the error's text."""
    described = [
        {"module": f"./{case.module}", "inputs": [*map(_spelled, case.inputs)], "sizes": case.sizes}
        for case in cases
    ]
    (folder / "cases.json").write_text(json.dumps(described))
    found = json.loads(node(_CALLS, folder))
    return [
        answer
        if isinstance(answer, str)
        else {n: _array(text, case.outputs[n]) for n, text in answer.items()}
        for case, answer in zip(cases, found, strict=True)
    ]


def _spelled(x: np.ndarray) -> dict[str, str]:
    plain = np.dtype(_PAIRS.get(x.dtype.name, x.dtype))
    kind = {"f": "Float", "i": "Int", "u": "Uint"}[plain.kind]
    big = "Big" if kind != "Float" and plain.itemsize == 8 else ""
    return {
        "type": f"{big}{kind}{8 * plain.itemsize}Array",
        "bytes": base64.b64encode(x.tobytes()).decode(),
    }


def _array(text: str, like: np.ndarray) -> np.ndarray:
    data = base64.b64decode(text)
    if like.shape or like.dtype.kind == "c":
        return np.frombuffer(data, like.dtype).reshape(like.shape)
    if like.dtype.itemsize == 8:
        return np.frombuffer(data, like.dtype)[0]
    return np.float64(np.frombuffer(data, np.float64)[0]).astype(like.dtype)


def ulps(x: np.ndarray, y: np.ndarray) -> int:
    """How many numbers of their dtype lie between two arrays at most; NaN equals NaN."""
    if x.dtype.kind == "c":
        return max(ulps(x.real, y.real), ulps(x.imag, y.imag))
    if x.dtype.kind != "f":
        return int(np.max(x != y, initial=0)) * 2**31
    integer = np.dtype(f"i{x.dtype.itemsize}")
    lowest = np.iinfo(integer).min
    places = []
    for a in (x, y):
        bits = np.where(np.isnan(a), np.inf, a).astype(x.dtype).view(integer).astype(object)
        places.append(np.where(bits < 0, int(lowest) - bits, bits))
    same_nans = np.array_equal(np.isnan(x), np.isnan(y))
    return int(np.max(np.abs(places[0] - places[1]), initial=0)) if same_nans else 2**63
