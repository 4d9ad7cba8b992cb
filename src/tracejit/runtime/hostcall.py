"""Python functions that machine code calls, through the same convention by which it is itself called.

An entry made here has the type of any entry: it sees its inputs as read-only arrays, calls the function and
copies the results to the outputs. What the function raises is kept for the executable, which raises it again
when the code has returned. Knows arrays and the convention, not which function is called or why.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.core.dim import evaluate
from tracejit.runtime import abi
from tracejit.runtime.signature import ArraySpec, Signature

_thread = threading.local()


def host_entry(function: Callable[..., Sequence[Any]], signature: Signature) -> Any:
    """An entry, as a ctypes function, that runs `function` on arrays.

    Parameters
    ----------
    function : callable
        Takes one array per input, valid during the call only, and returns one value per output.
    signature : Signature
        Without bound atoms: the size of every output is known before the call.

    Notes
    -----
    Hand the result to ``Executable(functions=...)``; generated code calls it as ``entry(buffers, dims, ctx)``
    and returns a nonzero status at once.
    """
    if signature.bound or signature.callee_allocated:
        raise ValueError("outputs of a Python function called from machine code need known sizes")
    names = [name for name, _, _ in signature.atoms]

    def entry(buffers: int, dims: int, context: int) -> int:
        try:
            env = {name: ctypes.c_int64.from_address(dims + 8 * i).value for i, name in enumerate(names)}
            arrays = [
                _array_at(ctypes.c_size_t.from_address(buffers + 8 * i).value, spec, env)
                for i, spec in enumerate((*signature.inputs, *signature.outputs))
            ]
            inputs, outputs = arrays[: len(signature.inputs)], arrays[len(signature.inputs) :]
            for array in inputs:
                array.flags.writeable = False
            _store(function(*inputs), outputs)
            return abi.STATUS_OK
        except BaseException as error:
            _thread.failure = error
            return abi.STATUS_CALLBACK_FAILED

    return abi.ENTRY_TYPE(entry)


def failure() -> BaseException:
    """What the last function that failed in this thread raised; it is forgotten here."""
    error: BaseException | None = getattr(_thread, "failure", None)
    _thread.failure = None
    return error or RuntimeError("a function called from machine code failed")


def _array_at(address: int, spec: ArraySpec, env: dict[str, int]) -> np.ndarray:
    dtype, sizes = spec
    shape = tuple(evaluate(size, env) for size in sizes)
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if not count:
        return np.empty(shape, dtype)
    memory = memoryview((ctypes.c_char * count).from_address(address))
    return np.ndarray(shape, dtype, buffer=memory)


def _store(results: Sequence[Any], outputs: list[np.ndarray]) -> None:
    if len(results) != len(outputs):
        raise ValueError(f"the function returned {len(results)} values for {len(outputs)} outputs")
    for index, (result, output) in enumerate(zip(results, outputs, strict=True)):
        value = np.asarray(result)
        if value.shape != output.shape:
            raise ValueError(f"value {index} has shape {value.shape}, the output has {output.shape}")
        np.copyto(output, value, casting="same_kind")
