"""Sizes of the blocks in which matrices are factored, and where the kernels find their scratch memory."""

from __future__ import annotations

from ....core.dataclass import dataclass
from ..matmul.geometry import Geometry, geometry

DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class Sizes:
    """What could be tuned, for one element type and one width of vector registers.

    A block of the diagonal is solved by substitution; what it changes in the rest of the matrix is a matrix product.
    """

    g: Geometry
    # Rows solved at once, in registers: the most first, then what covers the rest.
    rows: tuple[int, ...]
    strip_vectors: int = 2
    block: int = 96
    # Columns that are solved while they stay in the first cache.
    chunk_columns: int = 64
    # Rows of a triangle that the last cache holds.
    cached_rows: int = 1024
    # Columns of a leaf of the recursion of LU: one vector.
    leaf: int = 8
    # Rows and columns that are transposed at a time.
    tile: int = 64
    # Rows of matrices of which there is one in each lane, and right sides solved with them at once.
    many_rows: int = 16
    # Columns of a group of panels of QR.
    group: int = 64
    # Parts of an operand that are copied with the other sign: what the product reads as it is, and what it packs once
    # more, from so many rows of the result on.
    negated_rows: int = 160
    negated_columns: int = 192
    negated_large: int = 384
    negated_from: int = 256

    @property
    def negated_stride(self) -> int:
        """Bytes between rows of the negated copy; the odd line keeps rows out of one cache set."""
        return self.negated_columns * self.g.size + 64

    @property
    def negated_large_stride(self) -> int:
        return self.negated_large * self.g.size + 64

    @property
    def reciprocals_at(self) -> int:
        return self.negated_large * self.negated_large_stride

    @property
    def square_at(self) -> int:
        """Where a block of the diagonal has room, in rows of `square_stride` bytes."""
        return self.reciprocals_at + self.block * self.g.size

    @property
    def square_stride(self) -> int:
        return self.block * self.g.size + 64

    # -- what is interleaved, one matrix in each lane, from the start of the scratch memory on --

    @property
    def vector(self) -> int:
        """Bytes of an element of all lanes."""
        return self.g.lanes * self.g.size

    @property
    def numbers(self) -> int:
        """Bytes of an integer of all lanes."""
        return self.g.lanes * 8

    @property
    def right_sides_at(self) -> int:
        return self.many_rows**2 * self.vector

    @property
    def old_at(self) -> int:
        """Where a row waits for its place."""
        return self.right_sides_at + self.many_rows**2 * self.vector

    @property
    def pivots_at(self) -> int:
        return self.old_at + self.many_rows * self.vector

    @property
    def states_at(self) -> int:
        return self.pivots_at + self.many_rows * self.numbers

    @property
    def lost_at(self) -> int:
        """Where it says which lanes are lost to a NaN."""
        return self.states_at + self.numbers

    # -- one matrix --

    @property
    def product_at(self) -> int:
        """Where the matrix product has its workspace."""
        return self.square_at + self.block * self.square_stride

    @property
    def groups_at(self) -> int:
        """Where groups of panels of QR have four places, of `group` rows of `square_stride` bytes each."""
        return self.product_at + self.g.workspace

    @property
    def workspace(self) -> int:
        return self.groups_at + 4 * self.group * self.square_stride


def sizes(dtype: str, register_bytes: int, fma: bool) -> Sizes:
    """The sizes for `dtype` on a machine with vector registers of `register_bytes`."""
    g = geometry(dtype, register_bytes, fma)
    return Sizes(g, (8, 4, 2, 1) if register_bytes == 64 else (4, 2, 1))
