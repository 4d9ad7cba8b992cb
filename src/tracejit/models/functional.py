"""Networks written as ``outputs = layer(inputs)``: symbols remember which calls made them, a network calls again.

A symbol has two examples of its value, for different numbers of examples and of whatever else is not known: a layer
called with a symbol is called with these, and makes its weights; sizes that differ are those that are not known. Knows
layers only as what is callable.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tracejit as tf

from ..errors import at_user_line

#: What stands for sizes that are not known, of the batch and of others, in each of two examples. The others stay
#: different when a network halves them, and may be halved and doubled five times without a rest.
_BATCHES, _OTHERS = (2, 3), (32, 64)
OPEN_SIZE = _OTHERS[0]


class Symbol:
    """What a layer called with an ``Input`` gives: a tensor to come, with a shape and a dtype.

    Attributes
    ----------
    examples : tuple of two tensors
    node : Node or None
        The call that made it; None for an ``Input``.
    """

    examples: tuple[Any, Any]
    node: Node | None = None

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The sizes, None where they are not known."""
        return tuple(a if a == b else None for a, b in zip(*(x.shape for x in self.examples), strict=True))

    def __tensor__(self) -> Any:
        raise TypeError(
            "a network's Input, and what layers make of it, has no value yet: use layers and operators, or write a "
            f"Lambda layer or a Model with a call method{at_user_line()}"
        )

    def __getitem__(self, index: Any) -> Any:
        return record(operator.getitem, (self, index), {})

    def __neg__(self) -> Any:
        return record(operator.neg, (self,), {})

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self.examples[0].shape[0]))


class _Made(Symbol):
    """One of the results of a call."""

    def __init__(self, examples: tuple[Any, Any], node: Node):
        self.examples, self.node = examples, node
        self.dtype = examples[0].dtype

    def __repr__(self) -> str:
        return f"<Symbol shape={self.shape}, dtype={self.dtype.name}>"


def _operator(function: Callable[[Any, Any], Any], reflected: bool) -> Callable[[Any, Any], Any]:
    if reflected:
        return lambda self, other: record(function, (other, self), {})
    return lambda self, other: record(function, (self, other), {})


for _name in "add sub mul truediv floordiv mod pow matmul".split():
    setattr(Symbol, f"__{_name}__", _operator(getattr(operator, _name), False))
    setattr(Symbol, f"__r{_name}__", _operator(getattr(operator, _name), True))


class Node:
    """One call: what was called, with which arguments, and the symbols that it gave."""

    __slots__ = ("function", "args", "kwargs", "results")

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]):
        self.function: Callable[..., Any] = function
        self.args: tuple[Any, ...] = args
        self.kwargs: dict[str, Any] = kwargs
        self.results: Any = None

    def sources(self) -> list[Symbol]:
        """The symbols among the arguments."""
        return [x for x in _leaves((self.args, self.kwargs)) if isinstance(x, Symbol)]


def _leaves(nest: Any) -> list[Any]:
    return tf.nest.flatten(nest, none_is_leaf=True)


def _mapped(f: Callable[[Any], Any], nest: Any) -> Any:
    return tf.nest.map_structure(f, nest, none_is_leaf=True)


def example_inputs(shape: Sequence[int | None], dtype: Any, batch: int | None = None) -> tuple[Any, Any]:
    """Two examples of an input whose examples have this shape, and of which a batch holds as many as `batch` says."""
    batches = _BATCHES if batch is None else (batch, batch)
    first, second = (
        tf.zeros((count, *(other if s is None else s for s in shape)), dtype)
        for count, other in zip(batches, _OTHERS, strict=True)
    )
    return first, second


def among(*arguments: Any) -> bool:
    """Is there a symbol among the arguments, or in lists, tuples and dicts of them?"""
    return any(
        isinstance(x, Symbol)
        or (isinstance(x, (list, tuple, dict)) and any(isinstance(leaf, Symbol) for leaf in _leaves(x)))
        for x in arguments
    )


def record(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The symbols that a call with symbols gives; `function` is called with both of their examples."""
    node = Node(function, args, kwargs)
    with tf.init_scope(), tf.autodiff.stop_recording():
        first, second = (
            function(*_mapped(_example(i), args), **_mapped(_example(i), kwargs)) for i in range(2)
        )
    node.results = tf.nest.map_structure(lambda a, b: _Made((a, b), node), first, second, none_is_leaf=False)
    note = getattr(function, "note_symbols", None)
    if note is not None:
        note(node)
    return node.results


class OfTheOnlyCall:
    """What a layer was given, or gave, when it was called with symbols; an attribute of its own comes before."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, layer: Any, owner: type) -> Any:
        if layer is None:
            return self
        ends = layer.ends()
        if self.name in ends:
            return ends[self.name]
        raise AttributeError(f"{layer!r} has no {self.name}: {ends['why']}{at_user_line()}", name=self.name)


class ShapeOfResult:
    """The shape of what a layer gave first, for any number of examples; an attribute of its own comes before."""

    def __get__(self, layer: Any, owner: type) -> Any:
        if layer is None:
            return self
        shape = vars(layer).get("_result_shape")
        if not shape:
            raise AttributeError(f"{layer!r} was not called yet: it has no output_shape{at_user_line()}")
        return (None, *shape[1:])


def ends_of(nodes: Sequence[Node]) -> dict[str, Any]:
    """What the only one of the calls was given and gave; or, as ``why``, that it is not the only one."""
    if len(nodes) != 1:
        often = f"{len(nodes)} times" if nodes else "never"
        return {
            "why": f"it was called with an Input, or what layers make of it, {often}, which has to be once"
        }
    return {"input": nodes[0].args[0], "output": nodes[0].results}


def _example(number: int) -> Callable[[Any], Any]:
    return lambda x: x.examples[number] if isinstance(x, Symbol) else x


class Network:
    """The calls between symbols, in an order in which they can be made.

    Parameters
    ----------
    inputs, outputs : nests of Symbol

    Raises
    ------
    TypeError
        When there is anything but symbols in them.
    ValueError
        When an output needs an ``Input`` that is not among the inputs.
    """

    def __init__(self, inputs: Any, outputs: Any):
        self.inputs, self.outputs = inputs, outputs
        for x in (*_leaves(inputs), *_leaves(outputs)):
            if not isinstance(x, Symbol):
                raise TypeError(
                    f"inputs and outputs of a network are an Input and what layers make of it, got "
                    f"{type(x).__name__}{at_user_line()}"
                )
        self._met: list[Any] = []  # what makes symbols, as it is met on the way from the outputs
        self.nodes = self._ordered()
        self.layers = self._by_distance()

    def _by_distance(self) -> list[Any]:
        """The layers, those farthest from the outputs first, as Keras orders them: so are lists of all weights."""
        inputs = {id(x) for x in _leaves(self.inputs)}
        of_symbols, of_layers = dict[int, int](), dict[int, int]()
        for node in reversed(self.nodes):
            distance = max(of_symbols.get(id(node), 0), of_layers.get(id(node.function), 0))
            of_layers[id(node.function)] = distance
            for source in node.sources():
                maker = id(source) if id(source) in inputs else id(source.node)
                of_symbols[maker] = max(of_symbols.get(maker, 0), distance + 1)
        met = {id(x) for x in self._met}
        unused = [x for x in _leaves(self.inputs) if id(x) not in met]
        called = [x.function if isinstance(x, Node) else x for x in self._met]
        unique = {id(layer): layer for layer in (*unused, *called) if isinstance(layer, tf.Module)}
        return sorted(unique.values(), key=lambda x: -of_layers.get(id(x), of_symbols.get(id(x), 0)))

    def _ordered(self) -> list[Node]:
        known, order = {id(x) for x in _leaves(self.inputs)}, dict[int, Node]()
        waiting = [(x, False) for x in reversed(_leaves(self.outputs))]
        while waiting:
            symbol, ready = waiting.pop()
            node = symbol.node
            if not ready:
                self._met.append(symbol if id(symbol) in known else node)
            if id(symbol) in known or (node is not None and id(node) in order):
                continue
            if node is None:
                raise ValueError(f"an output needs {symbol!r}, which is not among the inputs{at_user_line()}")
            if ready:
                order[id(node)] = node
            else:
                waiting.append((symbol, True))
                waiting += [(source, False) for source in reversed(node.sources())]
        return list(order.values())

    def _in_order(self, inputs: Any) -> list[Any]:
        """The tensors in the order of the inputs: those of a dict by the names of these."""
        if isinstance(inputs, dict) and not isinstance(self.inputs, dict):
            names = [getattr(s, "name", None) for s in _leaves(self.inputs)]
            if set(names) != set(inputs):
                raise ValueError(f"the inputs of the network are {names}, got {list(inputs)}{at_user_line()}")
            return [inputs[name] for name in names]
        return list(tf.nest.flatten(inputs, none_is_leaf=False))

    def __call__(self, inputs: Any) -> Any:
        """The outputs for tensors in place of the inputs."""
        symbols, given = _leaves(self.inputs), self._in_order(inputs)
        if len(symbols) != len(given):
            raise ValueError(f"the network has {len(symbols)} inputs, got {len(given)}{at_user_line()}")
        values: dict[int, Any] = {id(s): x for s, x in zip(symbols, given, strict=True)}

        def value(x: Any) -> Any:
            return values[id(x)] if isinstance(x, Symbol) else x

        for node in self.nodes:
            results = node.function(*_mapped(value, node.args), **_mapped(value, node.kwargs))
            made = tf.nest.flatten(results, none_is_leaf=False)
            values |= {id(s): x for s, x in zip(_leaves(node.results), made, strict=True)}
        return _mapped(value, self.outputs)
