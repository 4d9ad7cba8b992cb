"""Sizes of the matrix product's tiles for one element type and one register width.

Everything that could be tuned for a machine is a number here; the kernels only read it.
"""

from __future__ import annotations

from ....core.dataclass import dataclass
from ...ir_text import Value, suffix, vector_type

_SCALARS = {"float32": ("float", 4), "float64": ("double", 8)}


@dataclass(frozen=True)
class Geometry:
    """The shape of register tiles and cache blocks.

    A tile is some rows times the pieces of one width: vectors of equal length, of which the last is masked.
    Rows are covered by the tallest tile first; the last tile of the list takes fewer rows than its own.
    There is a half vector, where registers are long, because the last columns of a matrix would often waste
    most of a whole one.
    """

    scalar: str
    size: int
    lanes: int
    fma: bool
    row_tiles: tuple[int, ...]
    narrow_row_tiles: tuple[int, ...]
    widths: tuple[tuple[int, ...], ...]
    # Sums of 96 terms of one sign stay within 8 units in the last place (all but 3 in 100,000, measured).
    # A strip of that depth fits a 32 KB first cache. Packed rows of A stay in 1 MB of second cache while all strips of
    # a block of B pass by, each fetched ahead from where the block fits: the more columns, the less often A is packed.
    depth: int = 96
    block_depth: int = 384
    block_rows: int = 96

    @property
    def masks(self) -> bool:
        """Do masked loads cost what plain ones do?"""
        return self.lanes * self.size == 64

    @property
    def settled(self) -> bool:
        """Are loops best as they are written? Machines with registers this long scale the index in an address."""
        return self.lanes * self.size > 16

    @property
    def unpacked_columns(self) -> int:
        """Columns of a result for which it does not pay to pack the left operand."""
        return 2 * self.panel

    @property
    def unpacked_rows(self) -> int:
        """Rows of a product that is not divided into blocks where its operands are read in place."""
        return 4 * self.block_rows

    @property
    def block_columns(self) -> int:
        return 3072 // self.size

    @property
    def panel(self) -> int:
        """Columns of one packed panel of the right operand: the widest tile."""
        return sum(self.widths[0])

    @property
    def panel_bytes(self) -> int:
        return self.panel * self.size

    def vector_of(self, lanes: int) -> str:
        return vector_type(self.scalar, lanes)

    def zeros(self, lanes: int) -> Value:
        return Value("zeroinitializer", self.scalar, lanes)

    @property
    def square(self) -> int:
        """Rows and columns that are transposed in registers at a time."""
        return min(self.lanes, 8)

    def suffix(self, lanes: int) -> str:
        """How intrinsic names spell a vector of `lanes` elements."""
        return suffix(self.scalar, lanes)

    @property
    def fetches(self) -> bool:
        """Is a row of a strip a line or more, so that each step of the depth fetches one of the next strip?"""
        return self.panel_bytes >= 64

    @property
    def left_stride(self) -> int:
        """Bytes between packed rows of the left operand; the odd line keeps rows out of one cache set."""
        return self.block_depth * self.size + 64

    @property
    def right_bytes(self) -> int:
        return self.block_depth * self.block_columns * self.size

    @property
    def deep_bytes(self) -> int:
        """Room of long sums for packed panels and the parts of the sum: how many these are decides what is rounded."""
        return 1536 * self.block_depth

    @property
    def left_bytes(self) -> int:
        return self.block_rows * self.left_stride

    @property
    def workspace(self) -> int:
        return self.right_bytes + self.left_bytes


def geometry(dtype: str, register_bytes: int, fma: bool) -> Geometry:
    """The tile sizes for `dtype` on a machine with vector registers of `register_bytes`."""
    if dtype not in _SCALARS:
        raise ValueError(f"matmul kernels exist for float32 and float64, not {dtype!r}")
    if register_bytes not in (16, 32, 64):
        raise ValueError(f"register_bytes must be 16, 32 or 64, not {register_bytes!r}")
    scalar, size = _SCALARS[dtype]
    lanes = register_bytes // size
    wide = register_bytes == 64
    # 64-byte registers come in 32, narrower ones (on x86) in 16: the tile must leave a few for operands.
    row_tiles, narrow_row_tiles = ((12, 6, 4, 2), (8, 4)) if wide else ((6, 2), (6, 2))
    half = lanes // 2
    widths = ((lanes, lanes), (lanes,), (half,)) if wide else ((lanes, lanes), (lanes,))
    return Geometry(scalar, size, lanes, fma, row_tiles, narrow_row_tiles, widths)
