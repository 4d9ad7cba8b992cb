"""The names that programs written for Keras use: ``tracejit.keras``. Names only."""

import sys as _sys

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
from .arrays.padding import pad_sequences as _pad_sequences
from .core.lazy import Namespace as _Namespace
from .core.lazy import as_face as _as_face
from .data.py_dataset import PyDataset as _PyDataset
from .data.windows import timeseries_dataset_from_array as _timeseries_dataset_from_array
from .image.pictures import img_to_array as _img_to_array
from .initializers import Initializer as Initializer
from .layers.inputs import InputLayer as Input
from .layers.layer import Layer as Layer
from .layers.model import Model
from .layers.sequential import Sequential
from .losses.loss import Loss as Loss
from .metrics.metric import Metric as Metric
from .models import configuration as _configuration
from .models import policies as _policies
from .models import registration as _registration
from .models.keras_backend import backend
from .optimizers.optimizer import Optimizer as Optimizer
from .random.generators import set_seed
from .regularizers import Regularizer as Regularizer

__all__ = [
    "activations",
    "backend",
    "callbacks",
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
    "Initializer",
    "Input",
    "Layer",
    "Loss",
    "Metric",
    "Model",
    "Optimizer",
    "Regularizer",
    "Sequential",
    "preprocessing",
    "saving",
    "set_seed",
    "utils",
]

_stored = {
    f.__name__: f
    for f in (
        _configuration.deserialize_keras_object,
        _registration.custom_object_scope,
        _registration.get_custom_objects,
        _registration.get_registered_name,
        _registration.get_registered_object,
        _registration.register_keras_serializable,
        _configuration.serialize_keras_object,
    )
}
utils: _Namespace = _Namespace(
    "tracejit.keras.utils",
    set_random_seed=set_seed,
    to_categorical=to_categorical,
    pad_sequences=_pad_sequences,
    CustomObjectScope=_registration.custom_object_scope,
    PyDataset=_PyDataset,
    Sequence=_PyDataset,
    img_to_array=_img_to_array,
    timeseries_dataset_from_array=_timeseries_dataset_from_array,
    **_stored,
)
preprocessing: _Namespace = _Namespace(
    "tracejit.keras.preprocessing",
    image=_Namespace("tracejit.keras.preprocessing.image", img_to_array=_img_to_array),
    sequence=_Namespace("tracejit.keras.preprocessing.sequence", pad_sequences=_pad_sequences),
    timeseries_dataset_from_array=_timeseries_dataset_from_array,
)
mixed_precision: _Namespace = _Namespace(
    "tracejit.keras.mixed_precision",
    DTypePolicy=_policies.DTypePolicy,
    LossScaleOptimizer=optimizers.LossScaleOptimizer,
    Policy=_policies.DTypePolicy,
    dtype_policy=_policies.global_policy,
    global_policy=_policies.global_policy,
    set_dtype_policy=_policies.set_global_policy,
    set_global_policy=_policies.set_global_policy,
)
saving: _Namespace = _Namespace(
    "tracejit.keras.saving", load_model=models.load_model, save_model=models.save_model, **_stored
)

__path__: list[str] = []  # so that ``from tracejit.keras.layers import Dense`` finds what is registered here
_sys.modules.update(
    {
        f"{__name__}.{m.__name__.split('.')[-1]}": _as_face(m)
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
_sys.modules[f"{__name__}.backend"] = backend  # type: ignore[assignment]
_sys.modules[f"{__name__}.mixed_precision"] = mixed_precision  # type: ignore[assignment]
