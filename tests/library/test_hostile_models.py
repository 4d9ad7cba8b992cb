"""Saved models from anywhere: reading one runs nothing, calling what was read only computes, errors are ours."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from fuzz.hostile import forged
from tracejit.core.ir.text import to_text
from tracejit.saved_model import saving as saved_model
from tracejit.saved_model.saving import NotSaved
from tracejit.train.checkpoint import store

Model = dict[str, Any]


class Net(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(np.eye(3, dtype="float32"))
        self.count = tf.Variable(0, trainable=False)
        self.parts = {"a": [tf.Variable(1.0)]}
        self.table = tf.constant(np.arange(6.0, dtype="float32").reshape(2, 3))

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def __call__(self, x):
        self.count.assign_add(1)
        for i in tf.range(2):
            x = tf.tanh(x @ self.w) + self.table[i]
        return {"y": x, "n": tf.reduce_sum(x)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    saved_model.save(Net(), tmp_path / "model")
    return tmp_path / "model"


def rewritten(folder: Path, change: Callable[[Model], Any]) -> Path:
    """The saved model with something else in it, and a checksum that fits."""
    path = folder / saved_model.FILE
    arrays, metadata = store.read(path)
    model = json.loads(metadata["model"])
    found = change(model)
    metadata["model"] = json.dumps(model if found is None else found)
    store.write(path, arrays, metadata)
    return folder


def trace_of(model: Model) -> Model:
    return model["functions"]["__call__"]["traces"][0]


def with_graph(folder: Path, change: Callable[[str], str]) -> Path:
    def replaced(model: Model) -> None:
        before = trace_of(model)["graph"]
        trace_of(model)["graph"] = change(before)
        assert trace_of(model)["graph"] != before

    return rewritten(folder, replaced)


def refused(folder: Path, reason: str) -> None:
    with pytest.raises(NotSaved, match=reason):
        tf.saved_model.load(folder)


def test_what_is_not_changed_is_loaded(folder: Path):
    loaded = tf.saved_model.load(rewritten(folder, lambda model: None))
    assert loaded(np.ones((4, 3), "float32"))["y"].shape == (4, 3) and int(loaded.count) == 1


def first_node(line: str) -> Callable[[str], str]:
    """Put a line in front of the first node."""
    return lambda text: text.replace("\n", f"\n  {line}\n", 1)


@pytest.mark.parametrize("stream", ["file://{}", "stderr", "stdout", "exit"])
@pytest.mark.parametrize("template", ["x", "{0.__class__.__mro__}"])
def test_a_print_in_a_file_is_refused(stream: str, template: str, folder: Path, tmp_path: Path):
    victim = tmp_path / "victim"
    attrs = f"template={json.dumps(template)} summarize=3 stream={json.dumps(stream.format(victim))}"
    operands = "%0" if "{" in template else ""
    refused(
        with_graph(folder, first_node(f"%900: bool[] = print({operands}) {attrs}")),
        "print is not called in files: it reaches outside",
    )
    assert not victim.exists()


def test_what_prints_is_not_saved(tmp_path: Path):
    @tf.function
    def f(x):
        tf.print(x)
        return x

    f(1.0)
    with pytest.raises(NotSaved, match="print is not called in files"):
        tf.saved_model.save(f, tmp_path)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("%900: float32[3] = eval(%0)", "KeyError"),
        (
            "%900: float32[1] = fill() shape=(1) value=0x0p0 dtype=dtype(object)",
            "has the attribute dtype=dtype",
        ),
        ("%900: float32[1] = fill() shape=(1000000000000) value=0x0p0 dtype=dtype(float32)", "see max_bytes"),
        ("%900: float32[1] = fill() shape=(-1) value=0x0p0 dtype=dtype(float32)", "has the attribute shape"),
        ("%900: int64[] = size_value() size=<nobody>", "the size nobody is not known"),
        ("%900: float32[3] = sin(%0) axis=1", "has no attribute axis"),
        ("%900: float32[3] = sin()", "TypeError"),
        ("%900: float32[3] = sin(%0, %0)", "TypeError"),
        ("%900: float64[3] = constant() value=#missing", "KeyError"),
        ('%900: float64[] = check(%0) message="a" error="SystemExit"', "raises 'SystemExit'"),
    ],
)
def test_nodes_that_no_trace_makes(line: str, reason: str, folder: Path):
    refused(with_graph(folder, first_node(line)), reason)


def test_sizes_are_what_shape_rules_say(folder: Path):
    """The specs in the text are not believed: what is too large there would read memory that is nobody's."""
    seen = []

    def larger(text: str) -> str:
        seen.append(text)
        return re.sub(r",3\] = matmul", ",3000000] = matmul", text)

    loaded = tf.saved_model.load(with_graph(folder, larger))
    graph = loaded.__dict__["__call__"].traces()[0].graph
    assert to_text(graph) == seen[0]
    assert loaded(np.ones((4, 3), "float32"))["y"].shape == (4, 3)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda m: [], "describes nothing"),
        (lambda m: {}, "KeyError"),
        (lambda m: m["parts"].update(__class__=None), "an attribute is called '__class__'"),
        (lambda m: m["parts"].update(__dict__=["dict", []]), "an attribute is called '__dict__'"),
        (lambda m: m["parts"].update(_deferred=["dict", []]), "an attribute is called '_deferred'"),
        (lambda m: m["parts"].update(variables=None), "an attribute is called 'variables'"),
        (lambda m: m["parts"].update(x=["set", []]), "is no part of a model"),
        (lambda m: m["parts"].update(x=7), "is no part of a model"),
        (lambda m: m["parts"]["w"][1].update(key="../x"), "KeyError"),
        (lambda m: m["parts"]["w"][1].update(trainable=[]), "trainable or not"),
        (lambda m: trace_of(m)["specs"].append([["n"], "float32"]), "is to be given"),
        (lambda m: trace_of(m)["specs"][0].__setitem__(0, ["2*n", "3"]), "an argument has the size 2"),
        (lambda m: trace_of(m)["specs"][0].__setitem__(1, "object"), "an argument is of object"),
        (lambda m: trace_of(m)["captured"].clear(), "is to be given"),
        (lambda m: trace_of(m)["variables"].reverse(), "is to be given"),
        (lambda m: trace_of(m).update(structure=["leaf"]), "results in a nest"),
        (
            lambda m: trace_of(m).update(structure=["nest", "Popen", ["tuple", []], ["tuple", []]]),
            "not an encoded",
        ),
        (lambda m: trace_of(m)["call"]["positions"].append(1), "as many arrays"),
        (lambda m: trace_of(m).update(name="a\0b"), "is no name"),
        (lambda m: m["functions"]["__call__"].update(parameters=[["a b"]]), "not a valid parameter name"),
        (
            lambda m: m["functions"]["__call__"].update(parameters=[["x", ["type", "open"]]]),
            "not an encoded value",
        ),
    ],
)
def test_models_that_nobody_saves(change: Callable[[Model], Any], reason: str, folder: Path):
    refused(rewritten(folder, change), reason)


def test_a_constant_is_what_its_name_says(folder: Path):
    path = folder / saved_model.FILE
    arrays, metadata = store.read(path)
    name = next(k for k in arrays if k.startswith("constant"))
    arrays[name] = np.zeros((3, *arrays[name].shape), arrays[name].dtype)
    store.write(path, arrays, metadata)
    refused(folder, "the constant .* is another one")


@pytest.mark.parametrize("depth", [sys.getrecursionlimit(), 5_000, 1_000_000])
def test_what_is_nested_too_deeply(depth: int, folder: Path):
    path = folder / saved_model.FILE
    _, metadata = store.read(path)
    text = (
        '{"signatures": {}, "functions": {}, "parts": {"x": '
        + '["list", [[0, ' * depth
        + "null"
        + "]]]" * depth
        + "}}"
    )
    forged(path, {}, metadata={**metadata, "model": text})
    refused(folder, "nested too deeply")


@pytest.mark.parametrize(("depth", "reason"), [(1000, "deep"), (5000, "characters")])
def test_sizes_nested_too_deeply(depth: int, reason: str, folder: Path):
    line = f"%900: int64[] = size_value() size=<{'max(1, ' * depth}n{')' * depth}>"
    refused(with_graph(folder, first_node(line)), reason)


def test_a_size_that_is_called_otherwise_is_one_when_it_runs(tmp_path: Path):
    f = tf.function(lambda x: tf.reduce_sum(x), input_signature=[tf.TensorSpec([None], tf.float32)])
    folder = Path(saved_model.save(f, tmp_path)).parent

    def change(text: str) -> str:
        size = text[text.index("[") + 1 : text.index("]")]
        line = f"  %900: float32[1000*{size}] = with_sizes(%0) shape=(<1000*{size}>)"
        first, rest = text.split("\n", 1)
        return "\n".join([first, line, rest.replace("reduce_sum(%0)", "reduce_sum(%900)")])

    loaded = tf.saved_model.load(with_graph(folder, change))
    with pytest.raises(ValueError, match="a size that is"):
        loaded(np.ones(5, "float32"))
