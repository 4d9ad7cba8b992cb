"""Words: what stands in the tables that the lane's machine code reads, and where objects keep what it needs.

Every table is an array of 8-byte words. Who writes tables and who writes the code that reads them know them from here
alone. A change of anything here changes `VERSION`: code and tables may come from different versions of this package.
"""

from __future__ import annotations

from enum import IntEnum

VERSION = 2

#: The external function: ``PyObject *(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)``.
ENTRY = "tracejit_lane"
#: What answers the polls of an entry: it ends the call, which then is Python's to make again.
STOP = "tracejit_lane_stop"

#: Inputs, and outputs, that the code has room for; and sizes.
MAX_ARRAYS = MAX_SIZES = 32
#: Bytes of workspace that the code has on its stack; more it asks `Api.ALLOC` for.
STACK_WORK = 1 << 14

# ---- objects: what `probe` looks at before any of it is relied upon ------------------------------------------
OB_TYPE = 8
HEAD = 16  # bytes of an object before its own fields
ARRAY_DATA, ARRAY_RANK, ARRAY_DIMS, ARRAY_DTYPE, ARRAY_FLAGS = HEAD, HEAD + 8, HEAD + 16, HEAD + 40, HEAD + 48
READABLE = 0x101  # NumPy's flags: C-contiguous and aligned
WRITABLE = 0x501  # and writable


class Api(IntEnum):
    """What is the same for all functions of a process: objects and functions of Python and NumPy."""

    NDARRAY = 0
    TUPLE = 1
    FLOAT = 2
    FLOAT64 = 3
    OUT = 4  # the name of the keyword
    NEW_ARRAY = 5
    NEW_TUPLE = 6
    SET_ITEM = 7
    GET_ITEM = 8
    LENGTH = 9
    AS_DOUBLE = 10
    INCREF = 11
    DECREF = 12
    SAVE_THREAD = 13
    RESTORE_THREAD = 14
    CALL = 15
    ALLOC = 16
    FREE = 17


class Table(IntEnum):
    """What belongs to one function; `self` of its builtin is an array of these words."""

    API = 0
    SLOW = 1  # the Python callable for all that is not found here, and for errors
    KERNEL = 2  # the entry
    CONTEXT = 3  # its ctx struct, of which every call has a copy
    N_INPUTS = 4
    N_OUTPUTS = 5
    INPUTS = 6  # three words of `Spec` each
    OUTPUTS = 7
    ENTRIES = 8  # the first `Entry`, or 0


class Spec(IntEnum):
    """What every array in a place has in common."""

    DTYPE = 0
    RANK = 1
    NUMBER = 2  # a Python float will do, too


class Entry(IntEnum):
    """One combination of shapes, which has been checked."""

    NEXT = 0  # the next entry, or 0
    RELEASES = 1  # the call may take long: other threads may run meanwhile
    WORKSPACE = 2
    N_SIZES = 3
    SIZES = 4
    INPUT_SHAPES = 5  # the sizes of all inputs, one behind the other
    OUTPUT_SHAPES = 6
    BYTES = 7  # of each input and output
    LONG = 8  # a call took so long that it polled: they are Python's now
