"""Networks between inputs and outputs as plain data, and back: their layers, and the calls that lead to the outputs.

A symbol is named by the call that made it and its place among that call's results, or by the layer that it is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tracejit as tf

from ..errors import at_user_line
from .configuration import NotDescribed, described, one_description, revived
from .functional import Network, Symbol, record

_OPERATORS: dict[str, Callable[..., Any]] = {
    name: getattr(operator, name)
    for name in "add sub mul truediv floordiv mod pow matmul neg getitem".split()
}
_NAMES = {function: name for name, function in _OPERATORS.items()}


def describe_network(network: Network) -> dict[str, Any]:
    """The layers, calls, inputs and outputs of a network."""
    places = {id(layer): i for i, layer in enumerate(network.layers)}
    made = {id(x): ["layer", places[id(x)]] for x in tf.nest.flatten(network.inputs, none_is_leaf=True)}
    with one_description():
        calls = []
        for i, node in enumerate(network.nodes):
            function = places.get(id(node.function), _NAMES.get(node.function))
            if function is None:
                raise NotDescribed(f"{node.function!r} is no layer, and cannot be stored{at_user_line()}")
            arguments = [_as_data(x, made) for x in (list(node.args), node.kwargs)]
            calls.append({"of": function, "args": arguments[0], "kwargs": arguments[1]})
            results = tf.nest.flatten(node.results, none_is_leaf=False)
            made |= {id(x): ["call", i, k] for k, x in enumerate(results)}
        layers = [described(layer, repr(layer)) for layer in network.layers]
    ends = {"inputs": _as_data(network.inputs, made), "outputs": _as_data(network.outputs, made)}
    return {"layers": layers, "calls": calls, **ends}


def network_from(config: Mapping[str, Any]) -> tuple[Any, Any]:
    """Inputs and outputs of a new network like the one described."""
    with one_description():
        layers = [revived(layer) for layer in config["layers"]]
    made: list[list[Any]] = []

    def symbol(where: Any) -> Any:
        return layers[where[1]] if where[0] == "layer" else made[where[1]][where[2]]

    for call in config["calls"]:
        args, kwargs = _from_data(call["args"], symbol), _from_data(call["kwargs"], symbol)
        of = call["of"]
        result = (
            record(_OPERATORS[of], tuple(args), kwargs)
            if isinstance(of, str)
            else layers[of](*args, **kwargs)
        )
        made.append(tf.nest.flatten(result, none_is_leaf=False))
    return _from_data(config["inputs"], symbol), _from_data(config["outputs"], symbol)


def _as_data(value: Any, made: Mapping[int, list[Any]]) -> Any:
    """An argument of a call, with names in place of symbols."""
    if isinstance(value, Symbol):
        return {"symbol": made[id(value)]}
    if isinstance(value, slice):
        return {"slice": [_as_data(x, made) for x in (value.start, value.stop, value.step)]}
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, (list, tuple)):
        return type(value)([_as_data(x, made) for x in value])
    if isinstance(value, dict):
        return {"dict": {key: _as_data(x, made) for key, x in value.items()}}
    return described(value, "an argument of a layer")


def _from_data(value: Any, symbol: Callable[[Any], Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)([_from_data(x, symbol) for x in value])
    if not isinstance(value, dict):
        return value
    if "symbol" in value:
        return symbol(value["symbol"])
    if "slice" in value:
        return slice(*_from_data(value["slice"], symbol))
    if "ellipsis" in value:
        return ...
    if "dict" in value:
        return {key: _from_data(x, symbol) for key, x in value["dict"].items()}
    found = revived(value)
    return tf.constant(found) if isinstance(found, np.ndarray) else found
