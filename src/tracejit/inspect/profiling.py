"""Profiles: where the time and the memory of a compiled function go, by the user's lines, forwards and backwards.

A function is compiled once more with clocks behind its statements. What several lines became one loop is divided among
them by what their operations cost.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..compiler import cache, pipeline
from ..compiler.loopir.effects import mentioned
from ..compiler.loopir.ir import Call, Compute, HostCall, If, Nest, Program, While, walk
from ..compiler.loopir.operands import Buffer
from ..compiler.loopir.scalar_ops import SCALAR_OPS
from ..compiler.loopir.statement import Statement
from ..core.dim import UnknownSize, evaluate
from ..core.errors import Location, TracejitError, at, user_location
from ..core.settings import settings
from ..frontend.execution import executable
from ..frontend.function.function import Function
from ..frontend.structure import flatten
from ..frontend.transforms.grad import value_and_grad
from ..runtime import cpu
from . import profile_page

#: Seconds that are spent on running the function, and how often it runs at the most.
_LONG, _MOST = 0.3, 200


@dataclass
class Place:
    """A line of the user's program, and what is spent there: seconds per call.

    Attributes
    ----------
    file, line, text : str, int, str
    forward, backward : float
        Seconds of what it computes, and of its gradient.
    """

    file: str
    line: int
    text: str
    forward: float = 0.0
    backward: float = 0.0

    @property
    def seconds(self) -> float:
        """Both together."""
        return self.forward + self.backward


@dataclass
class Kernel:
    """One loop nest or call of the compiled code.

    Attributes
    ----------
    what : str
        ``loops over 3 x 4``, or the library function.
    where : str
        The lines it stands for.
    calls : float
        How often it runs per call of the function.
    seconds : float
        Per call of the function.
    stacks : dict
        Of the lines it stands for, outermost caller first, the parts of its time; whether of a gradient comes first.
    """

    what: str
    where: str
    calls: float
    seconds: float
    stacks: dict[tuple[Any, ...], float] = field(repr=False, default_factory=dict)


@dataclass
class Held:
    """Memory that is held where most is: `size` bytes, `what` they are and the line that writes them."""

    size: int
    what: str
    where: str


@dataclass(repr=False)
class Profile:
    """Where the time and the memory of a function went; made by :func:`profile`.

    Attributes
    ----------
    name : str
    seconds : float
        Of one call, without clocks.
    timed_seconds : float
        Of one call with clocks, which the parts add up to.
    lines : list of Place
        By time, the longest first.
    kernels : list of Kernel
        By time.
    peak : int
        Bytes of arguments, results and temporaries where they are most.
    held : list of Held
        What they are, the largest first.
    """

    name: str
    seconds: float
    timed_seconds: float
    lines: list[Place]
    kernels: list[Kernel]
    peak: int
    held: list[Held]

    def text(self) -> str:
        """All of it as text."""
        return profile_page.text(self)

    def __repr__(self) -> str:
        return self.text()

    def html(self) -> str:
        """A page with the lines as a flame graph, that works without any other file."""
        return profile_page.page(self)

    def _repr_html_(self) -> str:
        return profile_page.body(self)

    def save(self, path: Any) -> None:
        """Write :meth:`html` to the file `path`, or :meth:`text` where its name ends with ``.txt``."""
        path = Path(path)
        text = self.text() if path.suffix == ".txt" else self.html()
        path.write_text(text, "utf-8", "backslashreplace")


def profile(f: Callable[..., Any], *args: Any, gradient: bool | None = None, **kwargs: Any) -> Profile:
    """Tell where the time and the memory of a function go when it is compiled.

    Parameters
    ----------
    f : callable
        A plain or compiled function; what it assigns to Variables is not kept.
    *args, **kwargs
        What to call it with.
    gradient : bool, optional
        Is its gradient by all floats in positional arguments to be computed too? By default where the result is one
        real float and `f` itself computes no gradient.

    Returns
    -------
    Profile
        With `lines`, `kernels`, `peak` and `held`; ``print`` shows it, a notebook a picture, ``save`` writes a page.

    Raises
    ------
    TypeError
        For what cannot be compiled.
    TracejitError
        On processors other than x86-64, whose clock programs may not read.

    Examples
    --------
    >>> import tracejit as tf
    >>> def f(x):
    ...     y = tf.sin(x)
    ...     return tf.reduce_sum(y * y)
    >>> p = tf.profile(f, tf.ones([1000, 1000]))
    >>> p.lines[0].text
    'y = tf.sin(x)'
    >>> p.peak >= 4_000_000
    True
    """
    if cpu.host().arch != "x86_64":
        raise TracejitError(f"profiles read the clock of x86-64 processors{at(user_location())}")
    name = getattr(f, "__name__", type(f).__name__)
    with settings(debug_info=True):  # places with their callers
        traced = _traced(f, name, args, kwargs)
        if gradient or (gradient is None and _has_gradient(traced[0], args)):
            floats = [k for k, x in enumerate(args) if _is_float_nest(x)]
            traced = _traced(value_and_grad(f, argnums=tuple(floats)), name, args, kwargs)
        graph, arrays = traced
        made = pipeline.timed(graph)
    clocks = np.zeros(1 + 2 * len(made.counted), np.int64)
    run = made.code.load([*made.constants, clocks], cache.called_functions(made.code))
    plain = executable(graph)
    seconds, _ = _run(plain, arrays)
    clocks[:] = 0
    timed, calls = _run(lambda inputs: run(inputs), arrays, clocks)
    ticks = clocks[1::2] / calls
    ticks[0] = 0  # between calls
    kernels = _kernels(made.counted, ticks * timed / max(ticks.sum(), 1), clocks[2::2] / calls)
    peak, held = _memory(made.program, {n: arrays[i].shape[a] for n, i, a in made.code.signature.atoms})
    return Profile(name, seconds, timed, _lines(kernels), kernels, peak, held)


def _traced(f: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[np.ndarray]]:
    function = Function(f)
    function.__name__ = name
    call, made = function._specialized(args, kwargs)
    return made.graph, [*call.ndarrays(), *made.held_arrays()]


def _has_gradient(graph: Any, args: tuple[Any, ...]) -> bool:
    one = len(graph.outputs) == 1 and graph.outputs[0].spec.shape == ()
    real = one and graph.outputs[0].spec.dtype.kind == "f"
    places = [n.location for n in graph.nodes if n.location is not None]
    return real and not any(p.is_backward for p in places) and any(map(_is_float_nest, args))


def _is_float_nest(x: Any) -> bool:
    leaves = flatten(x)[0]
    dtypes = [
        getattr(leaf, "dtype", np.dtype(type(leaf) if type(leaf) is float else object)) for leaf in leaves
    ]
    return bool(leaves) and all(np.dtype(d).kind == "f" for d in dtypes)


def _run(f: Any, arrays: Sequence[np.ndarray], clocks: np.ndarray | None = None) -> tuple[float, int]:
    """The seconds of a call, the least of many, and how many there were since clocks began."""
    f(list(arrays))
    if clocks is not None:
        clocks[1:] = 0
    times: list[float] = []
    began = time.perf_counter()
    while not times or (time.perf_counter() - began < _LONG and len(times) < _MOST):
        start = time.perf_counter()
        f(list(arrays))
        times.append(time.perf_counter() - start)
    return (min(times) if clocks is None else sum(times) / len(times)), len(times)


# ---- time -----------------------------------------------------------------------------------------------


def _kernels(counted: Sequence[Sequence[Statement]], seconds: np.ndarray, calls: np.ndarray) -> list[Kernel]:
    made = []
    for statements, spent, times in zip(counted, seconds, calls, strict=True):
        if not statements or times == 0:
            continue
        costs: defaultdict[tuple[Any, ...], float] = defaultdict(float)
        for s in statements:
            if not isinstance(s, (While, If)):  # what is in them has clocks of its own
                _weigh(s, 1.0, costs)
        if not costs:  # the loop or branch around them
            costs[_stack(_first_source(statements))] = 1.0
        whole = sum(costs.values())
        stacks = {stack: spent * cost / whole for stack, cost in costs.items()}
        where = sorted({_where(stack) for stack in stacks})
        made.append(Kernel(_what(statements[-1]), ", ".join(where), float(times), float(spent), stacks))
    return sorted(made, key=lambda kernel: -kernel.seconds)


def _weigh(s: Statement, times: float, costs: defaultdict[tuple[Any, ...], float]) -> None:
    """Add what the parts of a statement cost, by the lines they are of."""
    if isinstance(s, Nest):
        sizes = [a.size for a in s.axes if isinstance(a.size, int)]
        for inner in s.body:
            _weigh(inner, times * float(np.prod(sizes or [1])), costs)
        for inner in s.tail:
            _weigh(inner, times, costs)
        return
    costs[_stack(s.source)] += times * (SCALAR_OPS[s.op].cycles if isinstance(s, Compute) else 1.0)


def _first_source(statements: Sequence[Statement]) -> Location | None:
    return next((s.source for s in walk(list(statements)) if s.source is not None), None)


def _stack(source: Location | None) -> tuple[Any, ...]:
    """Whether of a gradient, and the lines, outermost caller first: ``(file, line, function)``."""
    if source is None:
        return (False,)
    places = [(p.file, p.line, p.function.co_name) for p in reversed(source.stack)]
    return (source.is_backward, *places)


def _where(stack: tuple[Any, ...]) -> str:
    return f"{profile_page.short(stack[-1][0])}:{stack[-1][1]}" if len(stack) > 1 else "no line"


def _what(s: Statement) -> str:
    match s:
        case Nest():
            kind = "sums over" if s.accs else "loops over"
            return f"{kind} {' x '.join(str(a.size) for a in s.axes) or '1'}"
        case Call():
            return f"{s.function} {' x '.join(map(str, s.sizes))}"
        case HostCall():
            return "a call of Python"
        case While():
            return "a loop's own steps"
        case If():
            return "a branch"
    return "scalars"


def _lines(kernels: Sequence[Kernel]) -> list[Place]:
    places: dict[tuple[str, int], Place] = {}
    for kernel in kernels:
        for stack, seconds in kernel.stacks.items():
            file, line = stack[-1][:2] if len(stack) > 1 else ("", 0)
            place = places.setdefault((file, line), Place(file, line, profile_page.source_line(file, line)))
            if stack[0]:
                place.backward += seconds
            else:
                place.forward += seconds
    return sorted(places.values(), key=lambda place: -place.seconds)


# ---- memory ---------------------------------------------------------------------------------------------


def _memory(program: Program, sizes: dict[str, int]) -> tuple[int, list[Held]]:
    """The bytes held where they are most, and by what."""
    spans: dict[Buffer, tuple[int, int]] = {}
    writers: dict[Buffer, Location | None] = {}
    for position, statement in enumerate(program.body):
        for b in mentioned([statement]):
            spans[b] = (spans.get(b, (position,))[0], position)
        for s in walk([statement]):
            for b in s.writes():
                writers.setdefault(b, s.source)
    sized = {
        b: _bytes(b, sizes) for b in program.buffers if b.name != "clocks" and (b in spans or b.slot >= 0)
    }
    last = len(program.body)
    always = {b: (0, last) for b in sized if b.kind in ("input", "output", "constant")}
    spans |= always
    held = {p: sum(n for b, n in sized.items() if spans[b][0] <= p <= spans[b][1]) for p in range(last + 1)}
    most = max(held, key=lambda p: held[p])
    parts = [(n, b) for b, n in sized.items() if spans[b][0] <= most <= spans[b][1] and n]
    kinds = {"input": "argument", "output": "result", "heap": "result"}
    found = [
        Held(n, kinds.get(b.kind, b.kind), _where(_stack(writers.get(b))) if b in writers else f"{b.slot}")
        for n, b in parts
    ]
    return held[most], sorted(found, key=lambda h: -h.size)


def _bytes(b: Buffer, sizes: dict[str, int]) -> int:
    """0 for what is known only when the program has run."""
    try:
        return int(evaluate(b.size, sizes)) * b.dtype.itemsize
    except (UnknownSize, KeyError):
        return 0
