"""``tracejit trace``, ``graph``, ``loops`` and ``llvm``: a function at each stage of the compiler, as text or drawn."""

from __future__ import annotations

import argparse
import contextlib
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from ..aot.specs import declared
from ..core.ir.graph import Graph
from ..core.spec import TensorSpec
from ..frontend.execution import compiler
from ..frontend.function.function import Function, function
from ..frontend.function.methods import BoundFunction
from ..frontend.structure import flatten
from ..frontend.transforms.grad import value_and_grad
from ..inspect.dot import write_dot
from ..inspect.drawing import draw
from .failures import Failed, WrongUsage
from .main import Result
from .output import steps, writable, write_all
from .program import function_named
from .spec_text import parsed

_PIXELS = frozenset({".png", ".jpg", ".pdf"})
_DRAWINGS: dict[str, Callable[..., object]] = {".svg": draw, ".html": draw, ".dot": write_dot}


def trace_(options: argparse.Namespace) -> Result:
    """The converted Python and the traced graph."""
    return _shown(options, lambda f, graph: f"{_source(f)}{graph}")


def graph_(options: argparse.Namespace) -> Result:
    """The graph after all graph passes."""
    return _shown(options, lambda f, graph: str(compiler().optimized(graph)))


def loops_(options: argparse.Namespace) -> Result:
    """The loop program."""
    return _shown(options, lambda f, graph: compiler().loops_text(graph))


def llvm_(options: argparse.Namespace) -> Result:
    """The LLVM text."""
    return _shown(options, lambda f, graph: compiler().llvm_text(graph))


def _shown(options: argparse.Namespace, stage: Callable[[Callable[..., Any], Graph], str]) -> Result:
    """Trace the function, and print or write the stage."""
    specs = parsed(options.spec)
    places = [] if options.output is None else writable([options.output])
    drawing = next((_DRAWINGS[p.suffix] for p in places if p.suffix in _DRAWINGS), None)
    if drawing is not None and options.command != "graph":
        raise WrongUsage(f"tracejit {options.command} gives text; tracejit graph draws")
    if any(p.suffix in _PIXELS for p in places):
        raise WrongUsage("a drawing is an .svg, .html or .dot: a browser, or dot -Tpng, makes pixels of them")
    with steps(2, options.command) as done:
        f = function_named(options.function)
        with contextlib.redirect_stdout(sys.stderr):
            graph, names = _traced(f, specs, options.grad)
        done()
        if drawing is not None:
            graph = compiler().optimized(graph)
            files = write_all(places, lambda path: drawing(graph, path, names))
        else:
            text = stage(f, graph).rstrip("\n")
            files = write_all(places, lambda path: path.write_text(f"{text}\n", "utf-8", "backslashreplace"))
        done()
    data: dict[str, Any] = {"function": options.function, "stage": options.command, "files": files}
    if places:
        return data, f"{files[0]['path']}  {files[0]['bytes']:,} bytes"
    return {**data, "text": text}, text


def _traced(f: Callable[..., Any], specs: Sequence[Any], grad: bool) -> tuple[Graph, list[str]]:
    """The graph of the function, with its gradient if that is asked for, and the names of its inputs."""
    inner = f if isinstance(f, (Function, BoundFunction)) else function(f)
    given = declared(f, specs)
    whole = inner
    if grad:
        chosen = [k for k, arg in enumerate(given.args) if _is_float(arg)]
        if not chosen:
            raise Failed("no argument is a float to differentiate by: leave --grad out")
        whole = function(value_and_grad(inner, chosen), autograph=False)
    graph = whole.graph(*given.args)
    return graph, [name for names in given.names for name in names]


def _is_float(arg: Any) -> bool:
    leaves = flatten(arg)[0]
    return bool(leaves) and all(isinstance(x, TensorSpec) and x.differentiable for x in leaves)


def _source(f: Callable[..., Any]) -> str:
    """The function as it is traced, where it has control flow to convert."""
    inner = f if isinstance(f, Function) else function(f)
    try:
        return textwrap.dedent(inner.autograph_source()).strip("\n") + "\n\n"
    except (OSError, TypeError, AttributeError):  # no Python text
        return ""
