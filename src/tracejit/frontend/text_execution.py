"""Graphs with strings as machine code: each string is represented by a number that is looked up after the call.

The graph that is compiled has integers where this one has text. A call gives every string that it meets a number, equal
strings the same; the numbers mean something while it runs and to nobody else, so no code, no constant and no other call
ever holds one. Ops that look at strings are calls of Python, where numbers become strings and strings numbers again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..core.ir.graph import Graph, Node, Value
from ..core.op import Op, ops
from ..core.spec import TEXT, TensorSpec, as_dtype
from ..ops.python_calls import number_of

_NUMBER = np.dtype(np.int64)


class _Strings:
    """The strings of one call and their numbers. The first is empty: so are texts that nothing was written to."""

    def __init__(self) -> None:
        self.strings = [b""]
        self.numbers = {b"": 0}

    def number(self, text: Any) -> int:
        text = text.encode() if isinstance(text, str) else bytes(text)
        known = self.numbers.get(text)
        if known is None:
            known = self.numbers[text] = len(self.strings)
            self.strings.append(text)
        return known

    def as_numbers(self, array: np.ndarray) -> np.ndarray:
        numbers = np.empty(array.shape, _NUMBER)
        for place, text in np.ndenumerate(array):
            numbers[place] = self.number(text)
        return numbers

    def as_text(self, numbers: np.ndarray) -> np.ndarray:
        texts = np.empty(numbers.shape, object)
        for place, number in np.ndenumerate(numbers):
            texts[place] = self.strings[number]
        texts.flags.writeable = False
        return texts


class _Calls(threading.local):
    """The call in progress in each thread, the innermost one."""

    now: _Strings | None = None


_calls = _Calls()


@contextmanager
def _call() -> Iterator[_Strings]:
    around, strings = _calls.now, _Strings()
    _calls.now = strings
    try:
        yield strings
    finally:
        _calls.now = around


def _now() -> _Strings:
    if _calls.now is None:
        raise RuntimeError("code that moves strings is called by a call that holds none")
    return _calls.now


class _OfNumbers:
    """A function of arrays, as compiled code calls it: with numbers in place of strings, in and out."""

    def __init__(self, function: Any, text: Sequence[bool]):
        self.function, self.text = function, tuple(text)

    def __call__(self, *arrays: np.ndarray) -> Any:
        return self._called(self.function, arrays)

    def keeping(self, *arrays: np.ndarray) -> Any:
        """As it is called where the gradient is asked for."""
        return self._called(self.function.keeping, arrays)

    def _called(self, f: Any, arrays: Sequence[np.ndarray]) -> Any:
        strings = _now()
        given = [strings.as_text(a) if text else a for a, text in zip(arrays, self.text, strict=True)]
        found = f(*given)
        if found is None:
            return None
        found = [np.asarray(y) for y in found]
        return [strings.as_numbers(y) if y.dtype is TEXT else y for y in found]

    def __str__(self) -> str:
        return str(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


class _Kernel:
    """The kernel of an op that is told something, with its attributes."""

    def __init__(self, op: Op, attrs: Mapping[str, Any]):
        self.op, self.attrs = op, dict(attrs)

    def __call__(self, *arrays: np.ndarray) -> None:
        self.op.kernel(*arrays, **self.attrs)

    def __repr__(self) -> str:
        return str(self.op)


def _in_numbers(spec: TensorSpec) -> TensorSpec:
    return spec.with_dtype(_NUMBER) if spec.dtype is TEXT else spec


def _attribute(x: Any) -> Any:
    if isinstance(x, Graph):
        return of_numbers(x)
    return _NUMBER if x is TEXT else 0 if x == b"" and isinstance(x, bytes) else x


def _translated(node: Node) -> tuple[Op, dict[str, Any]]:
    """The op and the attributes that do to numbers what the node does to text."""
    text = [v.spec.dtype is TEXT for v in node.inputs]
    attrs = {name: _attribute(x) for name, x in node.attrs.items()}
    calls = "this_process" in node.op.traits
    if "prints" in node.op.traits and not calls and any(text):
        return ops.python_effect, {"function": number_of(_OfNumbers(_Kernel(node.op, node.attrs), text))}
    if calls and any([*text, *(v.spec.dtype is TEXT for v in node.outputs)]):
        attrs["function"] = number_of(_OfNumbers(node.attrs["function"].function, text))
        if "dtypes" in attrs:
            attrs["dtypes"] = tuple(
                [_NUMBER.name if as_dtype(d) is TEXT else d for d in node.attrs["dtypes"]]
            )
    return node.op, attrs


def of_numbers(graph: Graph) -> Graph:
    """The graph with an integer in place of every string, made once."""
    made: Graph | None = graph.derived.get("of numbers")
    if made is not None:
        return made
    made = Graph(graph.name, state=graph.state, guards=graph.guards, finished=True)
    env: dict[Value, Value] = {v: made.add_input(_in_numbers(v.spec)) for v in graph.inputs}
    for node in graph.nodes:
        op, attrs = _translated(node)
        specs = tuple([_in_numbers(v.spec) for v in node.outputs])
        outputs = made.add(op, tuple([env[v] for v in node.inputs]), attrs, specs, node.location)
        env.update(zip(node.outputs, outputs, strict=True))
    made.outputs = [env[v] for v in graph.outputs]
    graph.derived["of numbers"] = made
    return made


class TextExecutable:
    """A compiled graph that holds text: arrays of strings in and out.

    Parameters
    ----------
    graph : Graph
    run : callable
        The code of `of_numbers(graph)`.
    """

    #: Not called by machine code: a call has strings to number.
    calls_python = True

    def __init__(self, graph: Graph, run: Any):
        self._run = run
        self._inputs = [i for i, v in enumerate(graph.inputs) if v.spec.dtype is TEXT]
        self._outputs = [i for i, v in enumerate(graph.outputs) if v.spec.dtype is TEXT]

    def __call__(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run the code."""
        with _call() as strings:
            given = list(inputs)
            for i in self._inputs:
                given[i] = strings.as_numbers(np.asarray(given[i]))
            outputs = list(self._run(given))
            for i in self._outputs:
                outputs[i] = strings.as_text(outputs[i])
            return outputs

    @property
    def signature(self) -> Any:
        """That of the code, which takes and gives numbers."""
        return self._run.signature

    @property
    def complete(self) -> TextExecutable:
        """Itself: all its outputs are those of a call."""
        return self
