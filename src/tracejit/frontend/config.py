"""Process-wide switches under the names that tutorials use.

The settings of `core.settings` are attributes here: ``tracejit.config.dtype_promotion = "strict"``.
"""

from __future__ import annotations

import sys
from dataclasses import fields
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core import lazy, seams
from ..core.settings import Settings, configure, current

if TYPE_CHECKING:  # attributes of the class below, for checkers and editors
    contract: bool
    fastmath: bool
    dtype_promotion: str
    default_dtype: str
    eager: bool
    check: bool
    nans: bool
    fast: bool
    cache: bool
    debug: int
    debug_info: bool
    internal_frames: bool
    weights_dtype: str
    num_threads: int

#: Set to True: a gradient that is None comes with a warning that says why, see ``GradientTape.explain``.
explain_none = False


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Run the bodies of compiled functions as plain Python if `run_eagerly`: ``print`` and ``pdb`` work in them.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.config.run_functions_eagerly(True)
    >>> tf.config.functions_run_eagerly()
    True
    >>> tf.config.run_functions_eagerly(False)
    """
    configure(eager=bool(run_eagerly))


def functions_run_eagerly() -> bool:
    """Do the bodies of compiled functions run as plain Python?

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.config.functions_run_eagerly())
    False
    """
    return current().eager


def set_default_dtype(dtype: Any) -> None:
    """Let Python floats become `dtype`: float32 or float64; ValueError for others.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.set_default_dtype("float64")
    >>> tf.constant(1.0).dtype
    tf.float64
    >>> tf.set_default_dtype("float32")
    """
    configure(default_dtype=np.dtype(dtype).name)


class PhysicalDevice(NamedTuple):
    """A device of the machine: its name and its `device_type`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.config.list_physical_devices("CPU")[0].device_type)
    CPU
    """

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as programs name it, of a `device_type`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.config.list_logical_devices()[0].device_type)
    CPU
    """

    name: str
    device_type: str


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of a type, `device_type`, or all: there is one CPU.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.config.list_physical_devices()
    [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    >>> tf.config.list_physical_devices("GPU")
    []
    """
    return [PhysicalDevice("/physical_device:CPU:0", "CPU")] if device_type in (None, "CPU") else []


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices of a type, `device_type`, or all, as programs name them: there is one CPU.

    Examples
    --------
    >>> import tracejit as tf
    >>> print([device.device_type for device in tf.config.list_logical_devices()])
    ['CPU']
    """
    return [LogicalDevice("/device:CPU:0", "CPU")] if device_type in (None, "CPU") else []


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Nothing, for programs that choose `devices` of a `device_type`; they all run on the CPU.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.config.set_visible_devices([], "GPU")
    """


def _set_threads(num_threads: int) -> None:
    """Use this many threads within an operation or a compiled function; 0: one for each processor."""
    configure(num_threads=num_threads)


#: ``set_intra_op_parallelism_threads(n)`` and its like; compiled functions are run one after another.
threading: SimpleNamespace = SimpleNamespace(
    set_intra_op_parallelism_threads=_set_threads,
    get_intra_op_parallelism_threads=lambda: current().num_threads,
    set_inter_op_parallelism_threads=lambda num_threads: None,
    get_inter_op_parallelism_threads=lambda: 1,
)
#: Names that stood for the same before.
experimental_run_functions_eagerly = run_functions_eagerly
experimental: lazy.Namespace = lazy.Namespace(
    "tracejit.config.experimental",
    list_physical_devices=list_physical_devices,
    list_logical_devices=list_logical_devices,
    set_visible_devices=set_visible_devices,
    set_memory_growth=lambda device, enable: None,
    get_memory_growth=lambda device: True,
    enable_op_determinism=lambda: None,
    enable_tensor_float_32_execution=lambda enabled: None,
    tensor_float_32_execution_enabled=lambda: False,
)
#: Everything in a compiled function is compiled, so there is nothing to switch on.
optimizer: SimpleNamespace = SimpleNamespace(set_jit=lambda enabled: None, get_jit=lambda: "autoclustering")


class _Switches(ModuleType):
    """This module, with the settings of the process as attributes that can be assigned."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _NAMES:
            configure(**{name: value})
        elif name.startswith("_") or name in vars(self):
            super().__setattr__(name, value)
        else:
            raise AttributeError(f"unknown setting {name!r}; the settings are {', '.join(sorted(_NAMES))}")

    def __getattr__(self, name: str) -> Any:
        if name not in _NAMES:
            raise seams.unknown_name("tracejit.config", name, {*vars(self), *_NAMES})
        return getattr(current(), name)

    def __dir__(self) -> list[str]:
        return sorted({*lazy.defined(__name__), *_NAMES})


_NAMES = {f.name for f in fields(Settings)}
sys.modules[__name__].__class__ = _Switches
