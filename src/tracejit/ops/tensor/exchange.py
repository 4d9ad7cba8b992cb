"""Memory exchange with other libraries: DLPack, the array interface, the buffer protocol.

Nobody may write through what they get, for a tensor does not change; who asks for memory of their own gets a copy. What
leaves here is out of the sight of tapes, which are told.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import at, user_location
from ...core.seams import numpy_function
from ...core.tensor import Overwritten, Tensor
from ...core.tracing.dispatch import as_tensor, notify, state
from .memory.shared import lent


def value_of(self: Any, kind: str = "value") -> np.ndarray:
    """The array of a tensor, which leaves the sight of tapes."""
    if self.__class__ is Overwritten:
        self = as_tensor(self)
    mode = state.mode
    if mode.recorders or mode.guards:
        notify(kind, self)
    return self.array


def read_only(array: np.ndarray) -> np.ndarray:
    """A view that cannot be written through."""
    view = array.view()
    view.flags.writeable = False
    lent(view)
    return view


def lent_array(array: np.ndarray) -> np.ndarray:
    """The same, of which parts keep it alive: NumPy's views keep but what owns their memory, if that is an array."""
    view: Any = read_only(array)
    return view if view.dtype.kind in "OV" else np.asarray(memoryview(view))


def _namespace(self: Any, /, *, api_version: str | None = None) -> Any:
    """``tracejit.numpy``; ValueError for a version of the Array API that it does not have."""
    return numpy_function("_namespace_of")(api_version)


def _dlpack(
    self: Any,
    *,
    stream: None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """The memory as a DLPack capsule, read-only where the version of DLPack has a word for that, else a copy.

    BufferError for a dtype that DLPack does not know, another device, and where only a copy could be written to.
    """
    array = value_of(self)
    if copy is None and max_version is not None and max_version[0] >= 1:
        return read_only(array).__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)
    if copy is False:  # who insists on the memory, by a version that cannot say that it is read-only
        return _unmarked(array).__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)
    return array.copy().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)


class _Memory:
    """The memory of an array as one that may be written to; `array` stays alive with it."""

    def __init__(self, array: np.ndarray):
        self.array = array
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def _unmarked(array: np.ndarray) -> np.ndarray:
    """`array` without the mark that it is read-only, unless its memory is of a file or a string of bytes."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return np.asarray(_Memory(array)) if owner.base is None else array


def _dlpack_device(self: Any) -> tuple[int, int]:
    """The processor, as DLPack spells it."""
    return (1, 0)


def _to_device(self: Any, device: Any, /, *, stream: None = None) -> Tensor:
    """This tensor, whose `device` is "cpu", on whatever `stream`; ValueError for others."""
    if device != "cpu":
        raise ValueError(f"tensors are on the device 'cpu', there is no {device!r}{at(user_location())}")
    return self


def _interface(self: Any) -> dict[str, Any]:
    return read_only(_plain(self)).__array_interface__


def _struct(self: Any) -> Any:
    """The same for C code: NumPy itself asks for this first, for it takes half the time."""
    return read_only(_plain(self)).__array_struct__


def _plain(self: Any) -> np.ndarray:
    array = value_of(self)
    if array.dtype.hasobject:
        raise AttributeError("strings have no array interface")
    if array.dtype.kind == "V":  # nor a letter in one: NumPy asks for `__array__` then
        raise AttributeError("bfloat16 has no array interface")
    return array


def _buffer(self: Any, flags: int) -> memoryview:
    array: Any = read_only(value_of(self))
    return memoryview(array)


EXCHANGE: dict[str, Any] = {
    "__array_namespace__": _namespace,
    "__dlpack__": _dlpack,
    "__dlpack_device__": _dlpack_device,
    "__array_interface__": property(
        _interface, doc="Where the elements are, read-only, for other libraries."
    ),
    "__array_struct__": property(_struct, doc="``__array_interface__`` for C code."),
    "__buffer__": _buffer,
    "to_device": _to_device,
}
