"""Parts of a Variable that are read and written by their positions: methods of Variables.

What they write is what the functions of the same names make of a tensor, which are of a higher layer.
"""

from __future__ import annotations

from typing import Any, Self

from ...core.seams import function_of_arrays
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor, notify, state
from ...ops.tensor.at import At
from .indexed_slices import IndexedSlices


class ByPosition:
    """Reading and writing by position. No gradient flows to what is written; all that writes returns the Variable."""

    __slots__ = ()

    # ---- one position along the last axis of the indices ----------------------------------------------------

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Self:
        """Add `updates` at `indices`, as :func:`tensor_scatter_nd_add` does; repeated positions are added up."""
        return self._scattered("add", indices, updates)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Self:
        """Subtract `updates` at `indices`, as :func:`tensor_scatter_nd_sub` does."""
        return self._scattered("sub", indices, updates)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Self:
        """Write `updates` at `indices`, as :func:`tensor_scatter_nd_update` does; of repeated positions the last."""
        return self._scattered("update", indices, updates)

    def scatter_nd_max(self, indices: Any, updates: Any, name: str | None = None) -> Self:
        """Make it no smaller than `updates` at `indices`, as :func:`tensor_scatter_nd_max` does."""
        return self._scattered("max", indices, updates)

    def scatter_nd_min(self, indices: Any, updates: Any, name: str | None = None) -> Self:
        """Make it no larger than `updates` at `indices`, as :func:`tensor_scatter_nd_min` does."""
        return self._scattered("min", indices, updates)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """What stands at `indices`, as :func:`tracejit.gather_nd` does."""
        return function_of_arrays("gather_nd")(self, indices)

    # ---- rows -----------------------------------------------------------------------------------------------

    def scatter_add(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Self:
        """Add the rows of :class:`IndexedSlices`; TypeError for anything else."""
        return self._rows("add", sparse_delta)

    def scatter_sub(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Self:
        """Subtract the rows of :class:`IndexedSlices`; TypeError for anything else."""
        return self._rows("sub", sparse_delta)

    def scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Self:
        """Write the rows of :class:`IndexedSlices`; TypeError for anything else."""
        return self._rows("update", sparse_delta)

    def scatter_max(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Self:
        """Make rows no smaller than those of :class:`IndexedSlices`; TypeError for anything else."""
        return self._rows("max", sparse_delta)

    def scatter_min(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Self:
        """Make rows no larger than those of :class:`IndexedSlices`; TypeError for anything else."""
        return self._rows("min", sparse_delta)

    def scatter_mul(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Self:
        """Multiply by the rows of :class:`IndexedSlices`, each at most once; TypeError for anything else."""
        rows = _rows_of(sparse_delta)
        return self._written(rows.values, lambda now: At(now)[rows.indices].multiply(rows.values))

    def scatter_div(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Self:
        """Divide by the rows of :class:`IndexedSlices`, each at most once; TypeError for anything else."""
        rows = _rows_of(sparse_delta)
        return self._written(rows.values, lambda now: At(now)[rows.indices].divide(rows.values))

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """The rows of these `indices`, as :func:`tracejit.gather` gives them."""
        return function_of_arrays("gather")(self, indices)

    # ---- how ------------------------------------------------------------------------------------------------

    def _scattered(self, how: str, indices: Any, updates: Any) -> Self:
        scatter, written = function_of_arrays(f"tensor_scatter_nd_{how}"), as_tensor(updates)
        return self._written(written, lambda now: scatter(now, indices, updates))

    def _rows(self, how: str, delta: Any) -> Self:
        rows = _rows_of(delta)
        return self._scattered(how, rows.indices[..., None], rows.values)

    def _written(self, written: Tensor, new: Any) -> Self:
        variable: Any = self
        if state.recorders:
            notify("assign", written, variable.key().serial)
        variable.change(new)
        return self


def _rows_of(delta: Any) -> IndexedSlices:
    if not isinstance(delta, IndexedSlices):
        raise TypeError(
            f"rows are given as tracejit.IndexedSlices(values, indices, dense_shape), not as {type(delta).__name__}"
        )
    return delta
