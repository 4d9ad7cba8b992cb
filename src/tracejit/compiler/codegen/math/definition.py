"""What the library hands out: the text of one function with everything that must stand beside it in a module.
It knows how a definition is spelt, not what any function computes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...ir_text import function
from .writer import Builder

CALLED = "noinline nounwind willreturn memory(none)"
INLINED = "alwaysinline nounwind willreturn memory(none)"
COLD = "cold noinline nounwind willreturn memory(none)"
SMALL = COLD.replace("noinline", "noinline optnone")
"""For what hardly ever runs: its compile time matters, its speed does not."""


Writer = Callable[..., str]

#: What writes each vector function, by the name of its scalar operation: ``(builder, *operands) -> result``.
WRITERS: dict[str, Writer] = {}


def vector_function(write: Writer) -> Writer:
    """Declare a vector function: the decorated writer gives its name and its number of operands."""
    WRITERS[write.__name__.rstrip("_")] = write
    return write


@dataclass(frozen=True)
class MathFunction:
    """One vector function as LLVM IR text.

    Attributes
    ----------
    symbol : str
        Name with the leading ``@``.
    text : str
        The complete ``define internal`` text.
    declares : frozenset of str
        Intrinsic declarations the text refers to.
    globals : tuple of str
        Constant tables the text refers to, one definition each.
    needs : tuple of MathFunction
        Further functions the text calls; their texts, declares and globals must be in the module too.
    """

    symbol: str
    text: str
    declares: frozenset[str]
    globals: tuple[str, ...]
    needs: tuple[MathFunction, ...]


def define(
    builder: Builder,
    symbol: str,
    parameters: tuple[str, ...] | str,
    result: str,
    attributes: str,
    result_type: str | None = None,
) -> MathFunction:
    """Close what `builder` wrote into a function of `parameters` returning `result`.

    Parameters are SSA names of the builder's type, or the text of the list.
    """
    result_type = result_type or builder.type
    if isinstance(parameters, str):
        signature = parameters
    else:
        signature = ", ".join(f"{builder.type} {p}" for p in parameters)
    head = f"internal {result_type} {symbol}({signature}) {attributes}"
    return MathFunction(
        symbol,
        function(head, builder.w, f"{result_type} {result}"),
        frozenset(builder.w.declares),
        tuple(dict.fromkeys(builder.globals)),
        tuple(dict.fromkeys(builder.needs)),
    )


def byte_table(symbol: str, data: bytes, align: int) -> str:
    """The definition of a constant table."""
    text = data.hex("\\").upper()
    return f'{symbol} = internal constant [{len(data)} x i8] c"\\{text}", align {align}'
