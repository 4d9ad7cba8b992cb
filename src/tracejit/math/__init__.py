"""Mathematics, element by element and over axes: ``tracejit.math``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from ..frontend.control.branching import associative_scan
    from ..frontend.control.reductions import *
    from ..frontend.creation import linspace
    from ..nn.activations import log_softmax, softmax, softsign
    from ..nn.common import l2_normalize
    from ..ops.elementwise.angles import acos, acosh, asin, asinh, atan, atan2, atanh, cosh, sinh, tan
    from ..ops.elementwise.arithmetic import (
        abs,
        add,
        conj,
        divide,
        floor,
        floordiv,
        imag,
        maximum,
        minimum,
        mod,
        multiply,
        negative,
        real,
        sign,
        square,
        subtract,
        trunc,
    )
    from ..ops.elementwise.arithmetic import divide as truediv
    from ..ops.elementwise.arithmetic import mod as floormod
    from ..ops.elementwise.compare import (
        equal,
        greater,
        greater_equal,
        is_nan,
        less,
        less_equal,
        logical_and,
        logical_not,
        logical_or,
        not_equal,
    )
    from ..ops.elementwise.neighbours import nextafter
    from ..ops.elementwise.power import pow
    from ..ops.elementwise.special import bessel_i0e, bessel_i1e, erfinv, lgamma, ndtri
    from ..ops.elementwise.transcendental import (
        cos,
        erf,
        erfc,
        exp,
        exp2,
        expm1,
        log,
        log1p,
        log2,
        log10,
        logaddexp,
        sigmoid,
        sin,
        softplus,
        sqrt,
        tanh,
    )
    from .elementary import *
    from .no_nan import *
    from .segments import *
    from .sorting import in_top_k, invert_permutation, top_k
    from .special import *
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
