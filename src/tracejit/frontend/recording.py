"""Recording: the recorder behind tapes and gradient transforms, which keeps the calls that depend on what it tracks.

Knows tensors by their serial numbers only, so that nothing it tracks is kept alive by being tracked.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..core.dispatch import Record


class Recording:
    """Keeps the records that depend on tracked tensors, in order.

    Attributes
    ----------
    records : list of Record
    tracked : set of int
        Serial numbers of what is watched and of everything computed from it.
    """

    __slots__ = ("records", "tracked", "__weakref__")

    def __init__(self, tracked: Iterable[int] = ()):
        self.records: list[Record] = []
        self.tracked = set(tracked)

    def record(self, record: Record) -> None:
        """Listen to one call."""
        tracked = self.tracked
        for t in record.inputs:
            if t.serial in tracked:
                break
        else:
            return
        outputs = record.outputs
        if len(outputs) == 1 and outputs[0].dtype.kind not in "fc":
            return
        self.records.append(record)
        for t in outputs:
            tracked.add(t.serial)
