"""What the library hands out: the text of one function with everything that must stand beside it in a module.
It knows how a definition is spelt, not what any function computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from ....core.dataclass import dataclass
from ...ir_text import Value, function
from .writer import Builder

CALLED = "noinline nounwind willreturn memory(none)"
INLINED = "alwaysinline nounwind willreturn memory(none)"
COLD = "cold noinline nounwind willreturn memory(none)"
SMALL = COLD.replace("noinline", "noinline optnone")
"""For what hardly ever runs: its compile time matters, its speed does not."""


Rule = Callable[..., Value]

#: What writes each vector function, by the name of its scalar operation: ``(builder, *operands) -> result``.
WRITERS: dict[str, Rule] = {}
#: How many operands it takes.
ARITIES: dict[str, int] = {}


def vector_function(write: Rule, operands: int = 0) -> Rule:
    """Declare a vector function: the decorated writer gives its name and, unless told, its number of operands."""
    name = write.__name__.rstrip("_")
    WRITERS[name], ARITIES[name] = write, operands or write.__code__.co_argcount - 1
    return write


def in_double(name: str, write: Rule) -> Rule:
    """The writer of this name whose numbers `write` sees in double precision, whatever they are."""

    def both(b: Builder, *xs: Value) -> Value:
        if b.is_double:
            return write(b, *xs)
        return b.narrow(write(b.view("double"), *(b.widen(x)[1] for x in xs)))

    both.__name__ = name
    return both


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
    builder: Builder, symbol: str, parameters: Sequence[Value], result: Value, attributes: str
) -> MathFunction:
    """Close what `builder` wrote into a function of `parameters` returning `result`."""
    signature = ", ".join(p.typed for p in parameters)
    head = f"internal {result.type} {symbol}({signature}) {attributes}"
    return MathFunction(
        symbol,
        function(head, builder.w, result.typed),
        frozenset(builder.w.declares.values()),
        tuple(dict.fromkeys(builder.globals)),
        tuple(dict.fromkeys(builder.needs)),
    )


def byte_table(symbol: str, data: bytes, align: int) -> str:
    """The definition of a constant table."""
    text = data.hex("\\").upper()
    return f'{symbol} = internal constant [{len(data)} x i8] c"\\{text}", align {align}'


@cache
def written(
    name: str, element: str, width: int, fma: bool, avx512: bool, inline: bool = False
) -> MathFunction:
    """The vector function of this name."""
    b = Builder(element, width, fma, avx512)
    parameters = [Value(f"%a{i}", b.element, width) for i in range(ARITIES[name])]
    result = WRITERS[name](b, *parameters)
    symbol = f"@tj_{name}_{b.suffix}{b.variant}" + ("_inline" if inline else "")
    return define(b, symbol, parameters, result, INLINED if inline else CALLED)


def called(b: Builder, name: str, *operands: Value) -> Value:
    """A call of another vector function."""
    f = written(name, b.element, b.width, b.has_fma, b.has_avx512)
    b.needs.append(f)
    return b.w.call(b.element, b.width, f.symbol, *operands)
