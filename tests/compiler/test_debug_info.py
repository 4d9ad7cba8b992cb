"""Debug information: which places instructions stand for, in the trace, loop programs, LLVM text and the object."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from types import CodeType

import numpy as np
import pytest

import tracejit as tf
from tracejit.compiler import cache, pipeline
from tracejit.compiler.codegen import llvm
from tracejit.core import settings
from tracejit.core.errors import Location
from tracejit.core.ir.graph import Graph, walk
from tracejit.frontend.transforms.grad import value_and_grad
from tracejit.runtime import elf
from tracejit.runtime.linking.shared import shared_object

SPECS = [tf.TensorSpec([6], tf.float64), tf.TensorSpec([], tf.float64)]


def bell(x, w):
    s = x * w  # the product
    return tf.exp(-s * s)


def model(x, w):
    total = tf.constant(0.0, tf.float64)
    for row in x:  # the loop
        a = bell(row, w)  # the call
        if a > 0.3:
            total = total + a
        else:
            total = total - tf.sin(a)  # the other branch
    return total


def plain(x, w):
    return tf.reduce_sum(bell(x, w) + bell(w, x))  # two calls


def line_of(f: Callable, text: str) -> int:
    lines, first = inspect.getsourcelines(f)
    return first + next(k for k, line in enumerate(lines) if text in line)


def graph_of(f: Callable, debug_info: bool = True) -> Graph:
    with settings.settings(debug_info=debug_info):
        return tf.function(f).get_concrete_function(*SPECS).graph


def stacks(graph: Graph) -> set[tuple[tuple[str, int], ...]]:
    """The functions and lines of each node, the innermost first."""
    places = [n.location for _, n in walk(graph) if n.location is not None and not n.location.is_outside]
    return {tuple((p.function.co_name, p.line) for p in place.stack) for place in places}


# ---- the trace ------------------------------------------------------------------------------------------


def test_nodes_know_who_called_them():
    found = stacks(graph_of(model))
    call = ("model", line_of(model, "the call"))
    assert (("bell", line_of(bell, "the product")), call) in found
    assert (("bell", line_of(bell, "exp")), call) in found
    assert (("model", line_of(model, "the other branch")),) in found
    assert {name for stack in found for name, _ in stack} == {"bell", "model"}, (
        "converted parts are not the function's"
    )


def test_adjoints_stand_for_what_they_are_the_adjoints_of():
    primal, both = stacks(graph_of(model)), stacks(graph_of(value_and_grad(model, [0, 1])))
    assert both <= primal, both - primal
    assert (("bell", line_of(bell, "exp")), ("model", line_of(model, "the call"))) in both


def test_a_tape_in_the_function_is_the_caller_of_what_it_watches():
    def slope(x, w):
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = plain(x, w)
        return tape.gradient(y, w)

    chain = ("bell", "plain", "slope")
    assert chain in {tuple(name for name, _ in stack) for stack in stacks(graph_of(slope))}


def test_without_it_nodes_know_their_own_line_alone():
    places = [n.location for _, n in walk(graph_of(model, debug_info=False)) if n.location is not None]
    assert places and all(len(p) == 2 for p in places)


# ---- loop programs --------------------------------------------------------------------------------------


def program_of(f: Callable, debug_info: bool = True) -> pipeline.Program:
    with settings.settings(debug_info=debug_info):
        return pipeline.lower_graph(graph_of(f, debug_info))


@pytest.mark.parametrize("f", [model, plain, value_and_grad(model, [0, 1]), value_and_grad(plain, [0, 1])])
def test_statements_stand_for_places(f):
    found = [s.source for s in pipeline.walk(program_of(f).body)]
    assert found and all(isinstance(p, Location) for p in found[1:])
    assert {"bell"} < {p.function.co_name for p in found if p is not None}
    assert all(s.source is None for s in pipeline.walk(program_of(f, False).body))


# ---- LLVM text and objects ------------------------------------------------------------------------------


def sections(image: bytes) -> dict[str, bytes]:
    return {s.name: s.data for s in elf.parse(image).sections}


def built(f: Callable, debug_info: bool = True) -> bytes:
    with settings.settings(debug_info=debug_info, cache=False):
        return pipeline.build(graph_of(f, debug_info)).image


def text_of(f: Callable, debug_info: bool = True) -> str:
    with settings.settings(debug_info=debug_info):
        return pipeline.llvm_text(graph_of(f, debug_info))


def test_the_text_has_metadata_only_where_it_is_wanted():
    assert "!dbg" not in text_of(model, False)
    text = text_of(model)
    assert '!DISubprogram(name: "bell"' in text and '!DISubprogram(name: "model"' in text
    assert "dbg @" not in text, "a note was left"
    assert text_of(model) == text


def test_what_was_traced_before_has_lines_and_no_callers():
    graph = graph_of(model, debug_info=False)
    with settings.settings(debug_info=True):
        text = pipeline.llvm_text(graph)
    names = set(re.findall(r'DISubprogram\(name: "([^"]*)"', text))
    assert names == {"bell", "model"}
    assert f"line: {line_of(bell, 'exp')}," in text


def test_calls_on_one_line_are_two():
    lines = [n for n in text_of(plain).splitlines() if "distinct !DILocation" in n]
    assert len([n for n in lines if f"line: {line_of(plain, 'two calls')}," in n]) == 2


@pytest.mark.parametrize("f", [model, plain, value_and_grad(model, [0, 1]), value_and_grad(plain, [0, 1])])
def test_the_code_is_the_same_with_and_without(f):
    with_lines, without = sections(built(f)), sections(built(f, False))
    assert with_lines[".text"] == without[".text"]
    assert {".debug_info", ".debug_line", ".debug_frame"} <= with_lines.keys()
    assert not any(name.startswith(".debug") for name in without)


def test_llvm_drops_everything_for_a_scope_of_another_function():
    """And the sections tell: this is what the tests above would see."""
    with settings.settings(debug_info=True):
        text = text_of(plain)
    assert ".debug_line" in sections(llvm.compile_text(text))
    lines = text.splitlines()
    scopes = [
        k for k, line in enumerate(lines) if line.startswith("!") and 'DISubprogram(name: "plain"' in line
    ]
    first, second = (lines[k].split()[0] for k in scopes[:2])
    swapped = text.replace(f"scope: {first})", "scope: !X)").replace(f"scope: {second})", f"scope: {first})")
    assert ".debug_line" not in sections(llvm.compile_text(swapped.replace("!X", second)))


def test_names_with_quotes_and_letters_of_other_alphabets():
    code = compile("def größe(x, w):\n    return x * w\n", '/user/a "b"\\ü.py', "exec")
    names: dict = {}
    exec(code, names)
    with settings.settings(debug_info=True, cache=False):
        graph = tf.function(names["größe"], autograph=False).get_concrete_function(*SPECS).graph
        image = pipeline.build(graph).image
    assert "größe".encode() in sections(image)[".debug_str"]
    assert '/user/a "b"\\ü.py'.encode().split(b"/")[-1] in sections(image)[".debug_line"]


def test_a_program_of_no_places_has_no_debug_information():
    with settings.settings(debug_info=True, cache=False):
        graph = tf.function(lambda x: x).get_concrete_function(SPECS[0]).graph
        assert np.array_equal(cache.compile_graph(graph)([np.arange(6.0)])[0], np.arange(6.0))


# ---- keys -----------------------------------------------------------------------------------------------


def test_objects_with_debug_information_have_keys_of_their_own():
    graph = graph_of(model)
    plain_key = cache.cache_key(graph)
    with settings.settings(debug_info=True):
        assert cache.cache_key(graph) != plain_key


def test_keys_know_lines_only_where_the_object_does():
    def moved(line: int) -> Callable:
        names: dict = {"tf": tf}
        exec(compile("\n" * line + "def f(x, w):\n    return tf.sin(x) * w\n", "moved.py", "exec"), names)
        return names["f"]

    graphs = [tf.function(moved(k), autograph=False).get_concrete_function(*SPECS).graph for k in (0, 3)]
    assert cache.cache_key(graphs[0]) == cache.cache_key(graphs[1])
    with settings.settings(debug_info=True):
        assert cache.cache_key(graphs[0]) != cache.cache_key(graphs[1])


# ---- shared libraries -----------------------------------------------------------------------------------


def test_a_shared_library_keeps_the_sections():
    library = shared_object(built(model), "libmodel.so")
    names = [
        name for name in (".debug_info", ".debug_line", ".debug_frame", ".symtab") if name.encode() in library
    ]
    assert names == [".debug_info", ".debug_line", ".debug_frame", ".symtab"]
    assert b".debug" not in shared_object(built(model, False), "libmodel.so")


def test_locations_name_code():
    place = next(iter(n.location for _, n in walk(graph_of(model)) if n.location is not None))
    assert isinstance(place.function, CodeType) and place.file == __file__
