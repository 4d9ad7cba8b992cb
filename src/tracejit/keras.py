"""The names that programs written for Keras use: ``tracejit.keras``. Names only."""

import sys

from . import (
    activations,
    callbacks,
    constraints,
    initializers,
    layers,
    losses,
    metrics,
    models,
    optimizers,
    regularizers,
)
from .arrays.labels import to_categorical
from .arrays.padding import pad_sequences
from .core.lazy import Namespace, as_face
from .initializers import Initializer as Initializer
from .layers.inputs import InputLayer as Input
from .layers.layer import Layer as Layer
from .layers.model import Model
from .layers.sequential import Sequential
from .losses.loss import Loss as Loss
from .metrics.metric import Metric as Metric
from .models import policies
from .models.configuration import deserialize_keras_object, serialize_keras_object
from .models.keras_backend import backend
from .models.registration import (
    custom_object_scope,
    get_custom_objects,
    get_registered_name,
    get_registered_object,
    register_keras_serializable,
)
from .optimizers.optimizer import Optimizer as Optimizer
from .random.generators import set_seed
from .regularizers import Regularizer as Regularizer

__all__ = [
    "activations",
    "backend",
    "constraints",
    "initializers",
    "layers",
    "losses",
    "metrics",
    "mixed_precision",
    "models",
    "optimizers",
    "regularizers",
    "to_categorical",
    "Input",
    "Model",
    "Sequential",
    "preprocessing",
    "saving",
    "set_seed",
    "utils",
]

_stored = {
    f.__name__: f
    for f in (
        deserialize_keras_object,
        custom_object_scope,
        get_custom_objects,
        get_registered_name,
        get_registered_object,
        register_keras_serializable,
        serialize_keras_object,
    )
}
utils: Namespace = Namespace(
    "tracejit.keras.utils",
    set_random_seed=set_seed,
    to_categorical=to_categorical,
    pad_sequences=pad_sequences,
    CustomObjectScope=custom_object_scope,
    **_stored,
)
preprocessing: Namespace = Namespace(
    "tracejit.keras.preprocessing",
    sequence=Namespace("tracejit.keras.preprocessing.sequence", pad_sequences=pad_sequences),
)
mixed_precision: Namespace = Namespace(
    "tracejit.keras.mixed_precision",
    DTypePolicy=policies.DTypePolicy,
    LossScaleOptimizer=optimizers.LossScaleOptimizer,
    Policy=policies.DTypePolicy,
    dtype_policy=policies.global_policy,
    global_policy=policies.global_policy,
    set_dtype_policy=policies.set_global_policy,
    set_global_policy=policies.set_global_policy,
)
saving: Namespace = Namespace(
    "tracejit.keras.saving", load_model=models.load_model, save_model=models.save_model, **_stored
)

__path__: list[str] = []  # so that ``from tracejit.keras.layers import Dense`` finds what is registered here
sys.modules.update(
    {
        f"{__name__}.{m.__name__.split('.')[-1]}": as_face(m)
        for m in (
            activations,
            callbacks,
            constraints,
            initializers,
            layers,
            losses,
            metrics,
            models,
            optimizers,
            regularizers,
        )
    }
)
sys.modules[f"{__name__}.backend"] = backend  # type: ignore[assignment]
sys.modules[f"{__name__}.mixed_precision"] = mixed_precision  # type: ignore[assignment]
