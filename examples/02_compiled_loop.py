"""A loop that runs until its data say stop, compiled with its gradient: one piece of machine code.

A number is doubled until its size reaches 1000; a negative result is multiplied by 100. How often the loop
runs depends on the number, and so does the gradient: exactly 2^k, or 100·2^k. The function is traced once
and serves every number.

``--text`` prints what it goes through: graph, gradient graph, loop program and LLVM IR; ``--draw FILE``
writes the gradient graph as SVG or HTML.
"""

from __future__ import annotations

import argparse

import tracejit as tj


def doubled(a: tj.Tensor) -> tj.Tensor:
    """Double until the size is at least 1000; times 100 when negative."""
    b = tj.while_loop(lambda b: tj.norm(b) < 1000.0, lambda b: b * 2.0, a)
    return tj.cond(tj.reduce_sum(b) > 0.0, lambda: b, lambda: 100.0 * b)


@tj.function
def value_and_gradient(a: tj.Tensor) -> tuple[tj.Tensor, tj.Tensor]:
    """The value and its derivative, recorded on a tape inside of the compiled function."""
    with tj.GradientTape() as tape:
        tape.watch(a)
        c = doubled(a)
    return c, tape.gradient(c, a)


def print_text() -> None:
    """Print every form the function takes on its way to machine code."""
    a = tj.constant(3.0)
    compiled = tj.function(doubled)
    for title, text in (
        ("graph", compiled.graph(a)),
        ("gradient graph", compiled.gradient_graph(a)),
        ("loop program of value and gradient", value_and_gradient.loops(a)),
        ("LLVM IR of value and gradient", value_and_gradient.llvm(a)),
    ):
        print(f"\n---- {title} " + "-" * (90 - len(title)))
        print(text)


def main(arguments: list[str] | None = None) -> None:
    """Print values and gradients, and what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", action="store_true", help="print graphs, loop program and LLVM IR")
    parser.add_argument("--draw", metavar="FILE", help="write the gradient graph to an .svg or .html file")
    options = parser.parse_args(arguments)

    print(f"{'a':>10} {'value':>12} {'gradient':>14}")
    for a in (3.0, 1000.0, 1e-3, -0.7, -5e4):
        value, gradient = value_and_gradient(tj.constant(a))
        print(f"{a:>10g} {float(value):>12g} {float(gradient):>14.10g}")
    print(f"traced {value_and_gradient.experimental_get_tracing_count()} time")
    if options.text:
        print_text()
    if options.draw:
        graph = tj.function(doubled).gradient_graph(tj.constant(3.0))
        tj.draw(graph, options.draw, ["a", "cotangent"])
        print(f"written: {options.draw}")


if __name__ == "__main__":
    main()
