"""The operations: one declaration each, one file per family.

Those that only eager programs call, `cross_entropy` and `dense_layer`, load with the functions of ``nn`` that call
them.
"""

from . import checks, fourier, image, prints, python_calls, random, text
from .arrays import gather, index, positions, reduce, shape, sort, unchanged
from .control import branch, calls, implicit, loop, tangents
from .control import remat as recompute
from .control.checkpointing import loop_gradient as checkpoint
from .elementwise import (
    angles,
    arithmetic,
    bessel,
    bits,
    compare,
    incomplete,
    neighbours,
    power,
    special,
    transcendental,
)
from .linalg import decompositions, factors, lu, products, systems
