"""How tensors, Variables, graphs and compiled functions look in a notebook: HTML that needs nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.ir.graph import Graph
from ..core.spec import dtype_name, shape_text
from ..core.tensor import Tensor
from ..frontend.function.function import Function
from ..frontend.state.variable import Variable
from .drawing import drawn
from .page import escape
from .profile_page import duration

#: Rows and columns of a table, and nodes of a graph, that are shown.
_ROWS, _COLUMNS, _NODES = 10, 10, 150
_ENDS = 4  # of each axis, where it is cut

_CELL = "text-align:right;padding:1px 8px;font-family:monospace"
_HEAD = "color:#546e7a;font-size:90%"


def html(x: Any) -> str:
    """What a notebook shows of a Tensor, a Variable, a Graph or a compiled function."""
    if isinstance(x, Graph):
        return _graph(x)
    if isinstance(x, Function):
        return _function(x)
    kind = f"Variable {x.name}" if isinstance(x, Variable) else "Tensor"
    tensor = x if isinstance(x, Tensor) else x.__tensor__()
    return _array(kind, tensor)


# ---- arrays ---------------------------------------------------------------------------------------------


def _array(kind: str, x: Tensor) -> str:
    about = f"{kind}: shape={shape_text(x.shape)}, dtype={dtype_name(x.np_dtype)}"
    head = f'<div style="{_HEAD}">{escape(about)}</div>'
    if x.is_symbolic:
        return f"<div>{head}traced</div>"
    array = x.array
    if 1 <= array.ndim <= 2 and array.size:
        return f"<div>{head}{_table(array)}</div>"
    return f"<div>{head}<pre>{escape(str(array[()] if array.ndim == 0 else array))}</pre></div>"


def _table(array: np.ndarray) -> str:
    """A matrix, or a vector as one row, with the middle left out where it is large."""
    matrix = np.atleast_2d(array)
    rows, columns = (_shown(n, most) for n, most in zip(matrix.shape, (_ROWS, _COLUMNS), strict=True))
    shown = "".join(f"<tr>{''.join(_cell(matrix, i, j) for j in columns)}</tr>" for i in rows)
    return f'<table style="border-collapse:collapse">{shown}</table>'


def _shown(count: int, most: int) -> list[int]:
    """The positions along an axis that are shown; -1 stands for what is left out."""
    if count <= most:
        return list(range(count))
    return [*range(_ENDS), -1, *range(count - _ENDS, count)]


def _cell(matrix: np.ndarray, i: int, j: int) -> str:
    if i < 0 or j < 0:
        return f'<td style="{_CELL}">{"⋱" if i < 0 and j < 0 else "⋮" if i < 0 else "…"}</td>'
    number = matrix[i, j]
    text = f"{number:.6g}" if matrix.dtype.kind in "fc" else str(number)
    return f'<td style="{_CELL}">{escape(text)}</td>'


# ---- graphs and functions -------------------------------------------------------------------------------


def _graph(graph: Graph) -> str:
    if len(graph.nodes) > _NODES:
        return f"<pre>{escape(str(graph))}</pre>"
    return drawn(graph).svg


def _function(f: Function) -> str:
    """The signature, and of each trace its arguments, its size and how long it took to make."""
    head = f"<b>{escape(f.__qualname__)}</b><code>{escape(str(f.signature or ''))}</code>"
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_CELL}">{escape(text)}</td>'
            for text in (
                made.outline(),
                str(len(made.graph.nodes)),
                duration(made.trace_seconds),
                duration(made.compile_seconds) if made.compile_seconds else "not yet",
            )
        )
        + "</tr>"
        for made in f.traces()
    )
    names = ("trace", "nodes", "traced in", "compiled in")
    titles = "".join(f'<th style="{_CELL}">{name}</th>' for name in names)
    traces = (
        f"<table><tr>{titles}</tr>{rows}</table>" if rows else f'<div style="{_HEAD}">not traced yet</div>'
    )
    return f"<div>{head}{traces}</div>"
