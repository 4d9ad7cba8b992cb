"""Clocks: a program that records how long each statement takes, for profiles. Runs after all other passes.

A clock stands behind every nest, call and structure, and at the end of a block behind further scalar code, so that all
of the time is charged to something. What is timed runs one statement after the other: loops are not shared by threads.
"""

from __future__ import annotations

import numpy as np

from ..effects import sequences
from ..ir import Call, Clock, HostCall, If, Nest, Program, While
from ..operands import Buffer
from ..statement import Statement


def insert_clocks(program: Program, slot: int) -> list[list[Statement]]:
    """Put clocks into a program, in place; per number of a clock the statements whose time it counts.

    Parameters
    ----------
    program : Program
        After all passes. It gets a buffer of int64, ``1 + 2 n`` elements for `n` numbers, the last of its constants.
    slot : int
        The number of its constants so far.
    """
    counted: list[list[Statement]] = [[]]
    buffer = Buffer("clocks", np.dtype(np.int64), 1, "constant", slot)
    for block in list(sequences(program.body)):
        block[:] = _with_clocks(block, buffer, counted)
    program.body.insert(0, Clock(buffer, 0))
    buffer.size = 1 + 2 * len(counted)
    program.buffers.append(buffer)
    return counted


def _with_clocks(block: list[Statement], buffer: Buffer, counted: list[list[Statement]]) -> list[Statement]:
    timed: list[Statement] = []
    waiting: list[Statement] = []
    for s in block:
        timed.append(s)
        waiting.append(s)
        if isinstance(s, (Nest, Call, HostCall, While, If)):
            timed.append(_clock(buffer, counted, waiting))
            waiting = []
    if waiting:
        timed.append(_clock(buffer, counted, waiting))
    return timed


def _clock(buffer: Buffer, counted: list[list[Statement]], statements: list[Statement]) -> Clock:
    counted.append(statements)
    return Clock(buffer, len(counted) - 1)
