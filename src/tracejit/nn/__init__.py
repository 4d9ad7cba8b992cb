"""Neural networks, as functions of tensors: ``tracejit.nn``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from ..math.elementary import zero_fraction
    from ..math.sorting import in_top_k, top_k
    from ..ops.elementwise.transcendental import relu, sigmoid, softplus, tanh
    from .activations import crelu, elu, gelu, leaky_relu, log_softmax, relu6, selu, silu, softmax, softsign
    from .blocks import *
    from .common import *
    from .convolutions import *
    from .cross_entropy import (
        compute_average_loss,
        log_poisson_loss,
        scale_regularization_loss,
        sigmoid_cross_entropy_with_logits,
        softmax_cross_entropy_with_logits,
        sparse_softmax_cross_entropy_with_logits,
        weighted_cross_entropy_with_logits,
    )
    from .transposed import *
    from .windows import *

    swish = silu
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
