"""Executable: machine code at an address, made callable with NumPy arrays.

Everything that does not depend on the call is prepared once: each thread in a call owns a frame (the pointer
arrays and the ctx struct), and shapes are evaluated once per combination of input sizes. Inputs have been
checked against the signature by the caller. Knows the calling convention, not who made the code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.core.dataclass import dataclass
from tracejit.core.dim import Size, evaluate
from tracejit.core.errors import FAILURES
from tracejit.runtime import abi, hostcall, interrupt
from tracejit.runtime.pool import LEND_ADDRESS, POOL, SMALLEST, TAKE_BACK_ADDRESS, Block, adopted
from tracejit.runtime.signature import Signature

Message = str | tuple[str, str]
"""Text with placeholders ``{0}`` to ``{3}``, alone or as (name of a builtin exception, text); ("loop", "file:line")
is never raised, but says where a loop stands."""

_ndarray = np.ndarray
_KEPT_WORKSPACE = 1 << 20  # larger ones go back to the pool between calls
_MAX_PLANS = 64
_ERRORS: dict[str, type[Exception]] = {
    e.__name__: e
    for e in (RuntimeError, ValueError, IndexError, KeyError, TypeError, ArithmeticError, AssertionError)
    + (FloatingPointError, OverflowError, ZeroDivisionError, NotImplementedError, StopIteration)
} | FAILURES


def _data_offset() -> int:
    """Where an ndarray object keeps its data pointer, or 0 when live arrays do not bear it out."""
    offset = object.__basicsize__
    for array in (np.empty(3), np.empty((2, 5), np.int8)[:, 1:], np.empty((), np.complex64)):
        if ctypes.c_void_p.from_address(id(array) + offset).value != array.ctypes.data:
            return 0
    return offset


_OFFSET = _data_offset()
_word_at = ctypes.c_size_t.from_address


def data_address(array: np.ndarray) -> int:
    """Address of an array's first element; ten times faster than ``array.ctypes.data``."""
    return _word_at(id(array) + _OFFSET).value if _OFFSET else array.ctypes.data


@dataclass(slots=True)
class _Plan:
    """What one combination of input sizes determines."""

    shapes: tuple[tuple[int, ...] | None, ...]  # None: the callee allocates it
    makers: tuple[Callable[[Any, Any], np.ndarray] | None, ...]
    workspace: int


class _Frame:
    """Memory of one call in progress; frames are reused, and never shared by two calls."""

    __slots__ = ("_memory", "arguments", "buffers", "context", "dims", "workspace")

    def __init__(self, n_buffers: int, n_dims: int, context: abi.Context):
        buffers, dims = (ctypes.c_uint64 * max(n_buffers, 1))(), (ctypes.c_int64 * max(n_dims, 1))()
        self.buffers = memoryview(buffers).cast("B").cast("Q")
        self.dims = memoryview(dims).cast("B").cast("q")
        self.context = context
        self.workspace: Block | None = None
        self._memory = (buffers, dims)
        self.arguments = tuple(ctypes.addressof(m) for m in (buffers, dims, self.context))

    def need_workspace(self, size: int) -> None:
        if self.context.workspace_bytes >= size:
            return
        self.workspace = None  # before taking the next: it may be the same memory
        self.workspace = block = POOL.take(size)
        self.context.workspace, self.context.workspace_bytes = block.address, block.size

    def drop_large_workspace(self) -> None:
        if self.context.workspace_bytes > _KEPT_WORKSPACE:
            self.context.workspace, self.context.workspace_bytes = None, 0
            self.workspace = None


class Executable:
    """A compiled function.

    Parameters
    ----------
    address : int
        Address of the entry.
    signature : Signature
    constants : sequence of ndarray
        Arrays the code reads through ``ctx.constants``; kept alive, and copied only if not contiguous.
    functions : sequence of int or ctypes function
        Code the entry calls through ``ctx.functions``; kept alive.
    workspace : int or Dim
        Bytes of scratch memory the entry needs, over entry atoms.
    messages : sequence of Message
        Message ``k - 1`` is raised for status ``k``.
    polls : bool
        The entry calls ``ctx.poll`` now and then, so that Ctrl-C ends it, or other functions of Python, in which
        Ctrl-C would be lost; costs 1.5 µs per call.
    """

    def __init__(
        self,
        address: int,
        signature: Signature,
        constants: Sequence[np.ndarray] = (),
        functions: Sequence[Any] = (),
        workspace: Size = 0,
        messages: Sequence[Message] = (),
        polls: bool = False,
    ):
        self.address = address
        self.signature = signature
        self.workspace = workspace
        self.messages: tuple[Message, ...] = tuple(messages)
        self._entry = abi.ENTRY_TYPE(address)
        self.polls = polls
        self._kept = ([_readable(np.asarray(c), np.asarray(c).dtype) for c in constants], list(functions))
        self._constants = (ctypes.c_uint64 * max(len(constants), 1))(*map(data_address, self._kept[0]))
        self._functions = (ctypes.c_uint64 * max(len(functions), 1))(*map(_code_address, functions))
        self._input_dtypes = [dtype for dtype, _ in signature.inputs]
        self._output_dtypes = [dtype for dtype, _ in signature.outputs]
        self._axes = [(index, axis) for _, index, axis in signature.atoms]
        self._plans: dict[tuple[int, ...], _Plan] = {}
        self._frames: list[_Frame] = []
        self._last: _Frame | None = None

    @property
    def calls_python(self) -> bool:
        """Does the code call functions of Python?"""
        return not all(isinstance(f, int) for f in self._kept[1])

    @property
    def constant_bytes(self) -> int:
        """Bytes of the constants that the code reads."""
        return sum(c.nbytes for c in self._kept[0])

    @property
    def allocations(self) -> int:
        """How many times the callee allocated memory in the last call."""
        return self._last.context.allocations if self._last is not None else 0

    def __call__(
        self, inputs: Sequence[np.ndarray], out: Sequence[np.ndarray | None] | None = None
    ) -> list[np.ndarray]:
        """Run the code.

        Parameters
        ----------
        inputs : sequence of ndarray
            Of the signature's dtypes and shapes; any strides, alignment and byte order. Never written.
        out : sequence of ndarray or None, optional
            Memory for the outputs, which then is the result: C-contiguous, aligned, writable, of the output's
            dtype and shape, and overlapping no input. None entries are allocated as usual.

        Raises
        ------
        The exception of the message table or of a Python function the code called, MemoryError, or
        KeyboardInterrupt.
        """
        sizes = tuple([inputs[index].shape[axis] for index, axis in self._axes]) if self._axes else ()
        plan = self._plans.get(sizes) or self._new_plan(sizes)
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = self._new_frame()
        try:
            return self._run(frame, plan, sizes, inputs, out)
        finally:
            if plan.workspace:
                frame.drop_large_workspace()
            self._frames.append(frame)

    def _run(
        self,
        frame: _Frame,
        plan: _Plan,
        sizes: tuple[int, ...],
        inputs: Sequence[np.ndarray],
        out: Sequence[np.ndarray | None] | None,
    ) -> list[np.ndarray]:
        buffers, context = frame.buffers, frame.context
        kept: list[np.ndarray] = []
        slot = 0
        for array, dtype in zip(inputs, self._input_dtypes, strict=True):
            # 0x101: NumPy's bits for C-contiguous and aligned; only a true ndarray has data where we look
            if type(array) is not _ndarray or array.dtype is not dtype or array.flags.num & 0x101 != 0x101:
                array = _readable(array, dtype)
                kept.append(array)
            buffers[slot] = data_address(array)
            slot += 1
        outputs = self._outputs(plan) if out is None else self._given_outputs(plan, out)
        for output in outputs:
            buffers[slot] = 0 if output is None else data_address(output)
            slot += 1
        for position, size in enumerate(sizes):
            frame.dims[position] = size
        if plan.workspace:
            frame.need_workspace(plan.workspace)
        context.allocations = 0
        self._last = frame
        if self.polls:
            status = self._interruptible(frame)
        else:
            status = self._entry(*frame.arguments)
        if status:
            self._fail(frame, status)
        if self.signature.callee_allocated:
            self._adopt(frame, outputs)
        return outputs  # type: ignore[return-value]  # every None has been replaced

    def _interruptible(self, frame: _Frame) -> int:
        try:
            return interrupt.run(self._entry, frame.arguments, frame.context, self.messages)
        except BaseException:
            self._release(frame)
            raise

    # ---- before the call --------------------------------------------------------------------------------

    def _new_frame(self) -> _Frame:
        signature = self.signature
        return _Frame(
            len(signature.inputs) + len(signature.outputs),
            len(signature.atoms) + len(signature.bound),
            self.new_context(),
        )

    def new_context(self) -> abi.Context:
        """The ctx struct of a call, without workspace; what it points to lives as long as this object."""
        context = abi.Context(abi.VERSION, abi.ALLOC_ADDRESS, abi.FREE_ADDRESS)
        context.constants = ctypes.addressof(self._constants) or None
        context.functions = ctypes.addressof(self._functions) or None
        context.alloc_large, context.free_large = LEND_ADDRESS, TAKE_BACK_ADDRESS
        return context

    def plan(self, sizes: tuple[int, ...]) -> tuple[tuple[tuple[int, ...], ...], int]:
        """The shapes of the outputs, none of which the callee allocates, and bytes of workspace, for entry atoms."""
        plan = self._plans.get(sizes) or self._new_plan(sizes)
        return tuple(shape for shape in plan.shapes if shape is not None), plan.workspace

    def _new_plan(self, sizes: tuple[int, ...]) -> _Plan:
        env = {name: size for (name, _, _), size in zip(self.signature.atoms, sizes, strict=True)}
        shapes = tuple(
            None if index in self.signature.callee_allocated else tuple(evaluate(size, env) for size in shape)
            for index, (_, shape) in enumerate(self.signature.outputs)
        )
        pairs = zip(shapes, self._output_dtypes, strict=True)
        makers = tuple(None if shape is None else _maker(shape, dtype) for shape, dtype in pairs)
        plan = _Plan(shapes, makers, evaluate(self.workspace, env))
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
        self._plans[sizes] = plan
        return plan

    def _outputs(self, plan: _Plan) -> list[np.ndarray | None]:
        return [
            None if make is None else make(shape, dtype)
            for make, shape, dtype in zip(plan.makers, plan.shapes, self._output_dtypes, strict=True)
        ]

    def _given_outputs(self, plan: _Plan, out: Sequence[np.ndarray | None]) -> list[np.ndarray | None]:
        outputs = self._outputs(plan) if any(array is None for array in out) else list(out)
        if len(out) != len(plan.shapes):
            raise ValueError(f"{len(out)} arrays given for {len(plan.shapes)} outputs")
        for index, (array, shape, dtype) in enumerate(
            zip(out, plan.shapes, self._output_dtypes, strict=True)
        ):
            if array is None:
                continue
            if shape is None:
                raise ValueError(f"output {index} is allocated by the callee, its size is not known before")
            if array.shape != shape or array.dtype != dtype or not array.flags.carray:
                raise ValueError(f"output {index} takes a C-contiguous writable {dtype} array of {shape}")
            outputs[index] = array
        return outputs

    # ---- after the call ---------------------------------------------------------------------------------

    def _adopt(self, frame: _Frame, outputs: list[np.ndarray | None]) -> None:
        """Wrap what the callee allocated in arrays that free it."""
        signature = self.signature
        names = [name for name, _, _ in signature.atoms] + list(signature.bound)
        env = dict(zip(names, frame.dims, strict=False))
        for index in sorted(signature.callee_allocated):
            dtype, sizes = signature.outputs[index]
            shape = tuple(evaluate(size, env) for size in sizes)
            place = abi.place_of_output(len(signature.inputs), index)
            address = frame.buffers[place]
            if not address and 0 not in shape:
                raise RuntimeError(f"a compiled function did not make output {index} of shape {shape}")
            outputs[index] = adopted(address).array(shape, dtype) if address else np.empty(shape, dtype)
            frame.buffers[place] = 0

    def _release(self, frame: _Frame) -> None:
        """Free what the callee had allocated."""
        for index in self.signature.callee_allocated:
            place = abi.place_of_output(len(self.signature.inputs), index)
            if frame.buffers[place]:
                adopted(frame.buffers[place])  # and nobody keeps it
            frame.buffers[place] = 0

    def _fail(self, frame: _Frame, status: int) -> None:
        """Free what the callee had allocated, then raise what `status` means."""
        self._release(frame)
        if status == abi.STATUS_OUT_OF_MEMORY:
            raise MemoryError("a compiled function could not allocate memory")
        if status == abi.STATUS_INTERRUPTED:
            raise KeyboardInterrupt
        if status == abi.STATUS_CALLBACK_FAILED:
            raise hostcall.failure()
        if not 0 < status <= len(self.messages):
            raise RuntimeError(f"a compiled function returned the unknown status {status}")
        message = self.messages[abi.message_of(status)]
        error, text = ("RuntimeError", message) if isinstance(message, str) else message
        for position, value in enumerate(frame.context.detail):
            text = text.replace(f"{{{position}}}", str(value))
        raise _ERRORS.get(error, RuntimeError)(text)


def _readable(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """`array`, or a copy that is C-contiguous, aligned and in native byte order."""
    return np.require(np.asarray(array), dtype.newbyteorder("="), ("C", "A"))


def _maker(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Callable[[Any, Any], np.ndarray]:
    size = dtype.itemsize
    for length in shape:
        size *= length
    return np.empty if size < SMALLEST else POOL.array


def _code_address(function: Any) -> int:
    return function if isinstance(function, int) else ctypes.cast(function, ctypes.c_void_p).value or 0
