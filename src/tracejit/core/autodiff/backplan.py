"""Backward plans: the backward of a tape that keeps coming back, traced once and run as bare kernel calls.

A training step records the same ops on the same shapes again and again. From its third time on, such a tape is
differentiated by the kernel calls that its gradient rules made (see `core.straightline`), which spares rules, dispatch
and records. Only tapes of small tensors outside of traces and other tapes take this way; everything else, and every
failure, goes through `backprop`. The kernels, their order and their arguments are those of `backprop`, so the numbers
are the same bits.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import seams
from ..errors import GradientError, TracejitError, take
from ..lazy import Later
from ..op import ops
from ..spec import TensorSpec
from ..tensor import Tensor
from ..tracing.dispatch import Mode, Record, state
from ..tracing.trace import trace
from .backprop import NOBODY, backprop
from .one_call import of_one_call
from .scattered import dense, is_rows

if TYPE_CHECKING:
    from . import straightline
    from .straightline import Backward
else:  # for tapes that keep coming back
    straightline = Later(".straightline", __package__)

#: Tensors of more bytes spend their time in kernels; so do tapes that hold more.
LARGEST_BYTES, ALL_BYTES = 1 << 18, 1 << 23
#: A longer tape hardly comes back just the same.
LONGEST = 512
#: Times a tape is met before it gets a plan.
PATIENCE = 2
#: Plans kept, and kinds of ones.
KEPT = 256
#: Bytes of ones that are kept.
LARGEST_ONES = 4096

_met: dict[Hashable, int] = {}
_plans: dict[Hashable, Backward | None] = {}
#: The plan used last for tapes of this length that end in this op, at this place of the code. It verifies the rest.
_latest: dict[Hashable, Backward] = {}


def planned_backprop(
    records: list[Record], seeds: dict[int, Any], sources: Sequence[int], consume: bool = False
) -> list[Tensor | None]:
    """What ``backprop(records, seeds, sources, consume)`` returns."""
    cotangents = planned(state.mode, records, seeds, sources)
    return unshared(backprop(records, seeds, sources, consume)) if cotangents is None else cotangents


def planned(
    mode: Mode, records: list[Record], seeds: dict[int, Any], sources: Sequence[int]
) -> list[Tensor | None] | None:
    """The cotangents of the sources where there is a plan for such a tape, else None."""
    if mode.busy or mode.slow or not 0 < len(records) <= LONGEST:
        return None
    last = records[-1]
    if last.op.runs_graphs:
        cotangents = of_one_call(mode, records, seeds, sources)
        return None if cotangents is None else unshared(cotangents)
    location = last.location
    look = (len(records), last.op, location and location[1])
    try:
        latest = _latest.get(look)
        if latest is not None:
            cotangents = mode.ignoring_fp_errors.run(latest, records, seeds, sources)
            if cotangents is not None:
                return cotangents
        plan = _plan_for(records, seeds, sources)
        if plan is None:
            return None
        if len(_latest) >= KEPT:
            _latest.clear()
        _latest[look] = plan
        return mode.ignoring_fp_errors.run(plan, records, seeds, sources)
    except Exception as error:  # to be worded, with the user's line, by the rules themselves
        take(error)
        return None


def repeated(mode: Mode, records: list[Record], target: Tensor, sources: Any, tracked: set[int]) -> Any:
    """The gradient of a target where the last plan of its kind is machine code and serves again, else None.

    Of one source, or a list for a list of sources: tensors and Variables that are all `tracked`, as is the target.
    Gradients that are zero, or begin with NaN, are left to :func:`planned`.
    """
    last = records[-1]
    location = last.location
    latest = _latest.get((len(records), last.op, location and location[1]))
    if latest.__class__ is not BuiltinFunctionType:
        return None
    try:
        return mode.ignoring_fp_errors.run(latest, records, target, sources, tracked)
    except Exception as error:  # to be worded, with the user's line, by the rules themselves
        take(error)
        return None


def _plan_for(records: list[Record], seeds: dict[int, Any], sources: Sequence[int]) -> Backward | None:
    """The plan for such a tape, made when it is due; None while there is none."""
    key, slots = _structure(records, seeds, sources)
    if key is None:
        return None
    plan = _plans.get(key)
    if plan is None and key not in _plans and _is_due(key):
        if len(_plans) >= KEPT:
            _plans.clear()
        _plans[key] = _plan(records, slots, seeds, sources)
    return plan


def forget() -> None:
    """Let plans be made again, as kernels are others now."""
    _plans.clear()
    _latest.clear()


def _is_due(key: Hashable) -> bool:
    if len(_met) > 4096:
        _met.clear()
    _met[key] = _met.get(key, 0) + 1
    return _met[key] > PATIENCE


def _structure(
    records: Sequence[Record], seeds: dict[int, Any], sources: Sequence[int]
) -> tuple[Hashable | None, list[Tensor]]:
    """What decides the backward: ops, attributes, who feeds whom, shapes and dtypes of what comes from outside.

    Returns it as a key, None where there is no plan for such a tape, and the tensors by their places in it.
    """
    number: dict[int, int] = {}
    slots: list[Tensor] = []
    key: list[Hashable] = []
    add, place = key.append, number.get
    for record in records:
        op = record.op
        if op.slow:
            return None, slots
        add(op)
        attrs = record.attrs
        if attrs:
            if FunctionType in map(type, attrs.values()):
                return None, slots  # of this call alone, maybe: a key would keep what it closes over
            add(straightline.attributes_key(attrs))
        for t in record.inputs:
            n = place(t.serial)
            if n is None:
                n = number[t.serial] = len(slots)
                slots.append(t)
                add(t._payload.shape)
                add(t.np_dtype)
            add(n)
        for t in record.outputs:
            number[t.serial] = len(slots)
            slots.append(t)
    for serial, g in seeds.items():
        n = place(serial)
        if n is None or g.__class__ is not Tensor:
            return None, slots
        add((n, _is_ones(g)))
    add(tuple([place(s, -1) for s in sources]))
    try:
        structure = tuple(key)
        hash(structure)
    except TypeError:  # an attribute that is not plain data
        return None, slots
    return structure, slots


#: Ones by shape and number of the dtype, as they seed gradients; a plan need not multiply by them.
_ones: dict[tuple[Any, ...], Tensor] = {}


def ones(mode: Mode, x: Tensor) -> Tensor:
    """Ones like `x`: the cotangent that a gradient starts from. Small ones are the same tensor each time."""
    if mode.interpreter is not None or (mode.busy and x.shape):
        return ops.fill(shape=x.shape, value=1.0, dtype=x.np_dtype)
    key = (x._payload.shape, x.np_dtype.num)
    unit = _ones.get(key)
    if unit is None:
        if x.nbytes > LARGEST_ONES:
            return ops.fill(shape=x.shape, value=1.0, dtype=x.np_dtype)
        if len(_ones) >= KEPT:
            _ones.clear()
        array = np.ones(x.shape, x.np_dtype)
        array.flags.writeable = False
        unit = _ones[key] = Tensor(array)
    return unit


def _is_ones(g: Tensor) -> bool:
    return _ones.get((g.shape, g.np_dtype.num)) is g


def unshared(cotangents: list[Any]) -> list[Any]:
    """The cotangents as tensors of their own, where one is a seed that others have too."""
    return [Tensor(g._payload) if g.__class__ is Tensor and _is_ones(g) else g for g in cotangents]


def _plan(
    records: Sequence[Record], slots: Sequence[Tensor], seeds: dict[int, Tensor], sources: Sequence[int]
) -> Backward | None:
    """The plan for a tape, None where its rules cannot be traced or call what no plan can hold."""
    sizes = [t.spec.size * t.np_dtype.itemsize for t in slots]
    if max(sizes) > LARGEST_BYTES or sum(sizes) > ALL_BYTES:
        return None
    connected: list[bool] = []

    def rule(*args: Tensor) -> list[Tensor]:
        stand_in = {t.serial: a for t, a in zip(slots, args, strict=False)}
        again = [
            Record(
                r.op,
                tuple(stand_in[t.serial] for t in r.inputs),
                r.attrs,
                tuple(stand_in[t.serial] for t in r.outputs),
                r.location,
            )
            for r in records
        ]
        given = {stand_in[s].serial: a for s, a in zip(seeds, args[len(slots) :], strict=True)}
        wanted = [stand_in[s].serial if s in stand_in else NOBODY for s in sources]
        grads = backprop(again, given, wanted, scattered=True)
        if any(map(is_rows, grads)):
            raise GradientError("rows are left to those who take them as they are")
        grads = [dense(g) for g in grads]
        connected[:] = [g is not None for g in grads]
        return [g for g in grads if g is not None]

    specs: list[TensorSpec] = [t.spec for t in (*slots, *seeds.values())]
    try:
        graph = trace(rule, specs, "backward").graph
    except TracejitError as error:  # a rule that needs a value to decide, or rows
        take(error)
        return None
    if len(graph.inputs) > len(specs) or any(n.op.slow or n.op.multiple for n in graph.nodes):
        return None
    if any(
        "effect" in n.op.traits for n in graph.nodes
    ):  # a check: nothing reads it, and it must not be lost
        return None
    units = {s: g for s, g in seeds.items() if _is_ones(g)}
    backward = graph, records, slots, seeds, sources, connected, units
    return seams.machine_backward(*backward) or straightline.straight_line(*backward)
