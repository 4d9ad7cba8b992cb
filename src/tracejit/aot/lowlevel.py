"""The code of an artifact for compiled callers in this process: addresses, ctypes, SciPy's LowLevelCallable."""

from __future__ import annotations

import ctypes
from typing import Any

from ..core.errors import at, user_location
from ..runtime import cpu, objects
from ..runtime.compiled import CompiledObject
from ..runtime.exported.callbacks import CALLBACKS, CALLERS, callbacks, symbol
from ..runtime.exported.interface import Interface, signature_text


class Loaded:
    """The C functions of an exported function, in this process."""

    def __init__(self, compiled: CompiledObject, interface: Interface):
        self._signature = compiled.signature
        self._interface = interface
        self._object = objects.load(compiled.image)

    @property
    def address(self) -> int:
        """Of the C function."""
        return self._object.address(self._interface.name)

    def c_function(self) -> Any:
        """The C function for ctypes: pointers as ``c_void_p``, sizes as ``c_int64``."""
        arrays = len(self._interface.inputs) + len(self._interface.outputs)
        work = [ctypes.c_void_p] if self._interface.work != 0 else []
        sizes = [ctypes.c_int64] * len(self._signature.atoms)
        return ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * arrays, *sizes, *work)(self.address)

    def lowlevel_callable(self, caller: str) -> Any:
        """What a function of SciPy calls; ValueError where there is none."""
        if caller not in CALLERS:
            known = ", ".join(map(repr, CALLERS))
            raise ValueError(f"callers are {known}, got {caller!r}{at(user_location())}")
        there = callbacks(self._signature, cpu.host().arch)
        wanted = [c for c in CALLBACKS if c.suffix in CALLERS[caller]]
        found = next((c for c in wanted if c in there), None)
        if found is None:
            raise ValueError(
                f"{caller} calls a function that takes {wanted[-1].needs}; this is "
                f"{signature_text(self._interface, self._signature)}{at(user_location())}"
            )
        import scipy

        address = self._object.address(symbol(self._interface, found))
        return scipy.LowLevelCallable(found.type(address), signature=found.text)
