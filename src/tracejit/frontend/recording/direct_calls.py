"""Direct calls: the machine code of a graph, called with tensors where nothing but the calling line hears of it.

Tapes keep a call of a compiled function as one record, and run the backward of its graph. Both come back again and
again with the same shapes, so that after some calls the call lane makes them, in a tenth of the time.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import seams, settings
from ...core.ir.graph import Graph
from ...core.lazy import Later
from ...core.tensor import Tensor
from ...runtime.executable import Executable
from ...runtime.threads.forks import fork_safe
from ..execution import executable
from ..state.variable import Variable, changing

if TYPE_CHECKING:
    from ...compiler import kernels
    from ...runtime.lane import builtin, called, entries, words
else:  # whoever makes few calls needs none of them
    kernels = Later("...compiler.kernels", __package__)
    builtin, called, entries, words = (
        Later(f"...runtime.lane.{name}", __package__) for name in ("builtin", "called", "entries", "words")
    )

#: Calls that go the Python way before shapes are written down, and after it; and before the lane's code is made.
_SOON, _MANY, _NEVER = 8, 1000, 1 << 62
#: Where a graph keeps how it is called: the settings, and the call.
_KEPT = "direct call"

_lock = fork_safe()

Call = Callable[..., tuple[Tensor, ...]]


def direct(graph: Graph) -> Call:
    """The machine code of a graph under the settings now, as a function of tensors that returns a tuple of them.

    It raises what the code raises. For threads that trace nothing and check nothing, of which it knows nothing.
    """
    return prepared(graph).call


def prepared(graph: Graph) -> Direct:
    """What keeps :func:`direct` of a graph; its `call` changes when the lane takes it over."""
    now = settings.current()
    kept = graph.derived.get(_KEPT)
    if kept is None or kept[0] is not now:
        code = executable(graph)
        if kept is None or kept[1].executable is not code:
            kept = graph.derived[_KEPT] = now, Direct(code)
        else:
            kept = graph.derived[_KEPT] = now, kept[1]
    made: Direct = kept[1]
    return made


seams.direct.provide(direct)


class Direct:
    """How an executable is called: by the lane where it can be, else in Python."""

    def __init__(self, code: Any):
        self.executable = code
        self._slow = _Slow(code)
        self.call: Call = self._slow
        api = called.api(Variable, changing) if isinstance(code, Executable) else None
        if api is None or not entries.serves(code) or code.calls_python or not code.signature.outputs:
            return
        self._entries = entries.Entries(api, self._slow)
        self._slow.owner = weakref.ref(self)
        self._waited = False

    def offer(self, shapes: list[tuple[int, ...]]) -> int:
        """Let the lane make calls with such shapes, one of which has just been made; how many to wait from here."""
        machine = lane_code(self._waited)
        if machine is None:
            self._waited = True
            return _MANY
        code = self.executable
        with _lock:
            if not self._entries.add(code, machine.stop, _taken(code), shapes, code.constant_bytes):
                return _NEVER
            if self.call is self._slow:
                self.call = builtin.function_of(_method(machine.entry), self._entries.table)
        return _SOON


@functools.cache
def _method(entry: int) -> builtin.MethodDef:
    return builtin.described("compiled", entry, builtin.FASTCALL | builtin.KEYWORDS)


class _Slow:
    """The call in Python: of what the lane does not know, and to raise what one that failed should raise."""

    __slots__ = ("code", "owner", "waits")

    def __init__(self, code: Any):
        self.code = code
        self.owner: Any = None
        self.waits = _SOON

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        arrays = [t.array for t in tensors]
        outputs = self.code(arrays)
        self.waits -= 1
        if self.waits <= 0:
            direct = self.owner and self.owner()
            self.waits = _NEVER if direct is None else direct.offer([a.shape for a in arrays])
        return tuple([Tensor(np.asarray(y)) for y in outputs])


def _taken(code: Executable) -> entries.Taken:
    """Calls with tensors, which give a tuple of tensors."""
    signature = code.signature
    steps = [entries.argument(k, words.A_TENSOR) for k in range(len(signature.inputs))]
    taken = entries.Taken(steps, len(steps), tensors=True)
    count = len(signature.outputs)
    places = np.arange(count)
    taken.kept.append(places)
    taken.nests = [
        {words.Nest.KIND: words.Kind.TUPLE, words.Nest.COUNT: count, words.Nest.ITEMS: places.ctypes.data}
    ]
    taken.result = count
    return taken


_loaded: entries.Code | None = None


def lane_code(make: bool) -> entries.Code | None:
    """The lane's code; unless it is to be made, None where it has not been made on this machine yet."""
    global _loaded
    if _loaded is None:
        image = kernels.call_lane_on_disk()
        if image is None and make:
            (image,) = kernels.call_lane().values()
        if image is not None:
            _loaded = entries.Code(image)
    return _loaded
