"""Backward words: what stands in the table of a backward plan, which machine code reads.

Who writes the table and who writes the code know both from here alone. A change of anything here changes the `VERSION`
of `operator_words`.
"""

from __future__ import annotations

from enum import IntEnum, auto

#: The builtin of plans: ``PyObject *(PyObject *table, PyObject *const *args, Py_ssize_t nargs)``.
BACKWARD = "tracejit_backward"

#: In place of a slot or a value: there is none.
NOTHING = -1


class Plan(IntEnum):
    """The table: how many rows of each kind there are, and where they begin."""

    SLOTS = 0  # tensors of the tape, in order of their first use
    VALUES = auto()  # arrays
    RECORDS = auto()
    RECORDS_AT = auto()
    TENSORS_AT = auto()  # those of all records, one record behind the other
    SEEDS = auto()
    SEEDS_AT = auto()
    SOURCES = auto()
    SOURCES_AT = auto()  # the slots alone
    CONSTANTS = auto()
    CONSTANTS_AT = auto()
    STEPS = auto()
    STEPS_AT = auto()
    RESULTS = auto()
    RESULTS_AT = auto()  # the values alone


class Made(IntEnum):
    """What a record must be."""

    OP = 0
    TENSORS = auto()  # inputs and outputs
    INPUTS = auto()
    OUTPUTS = auto()
    SAME_ATTRS = auto()  # null where there are none, else ``attrs -> bool``


class Used(IntEnum):
    """What a tensor of a record must be."""

    SLOT = 0
    AS = auto()  # `KNOWN`, `OUTSIDE` or `NEW`
    DTYPE = auto()  # of what comes from outside
    SHAPE = auto()  # a tuple
    RANK = auto()
    SIZES = auto()
    VALUE = auto()  # what its array becomes


#: The tensor came before in the tape; comes from outside; is made here.
KNOWN, OUTSIDE, NEW = range(3)


class Seed(IntEnum):
    """What a cotangent at the beginning must be."""

    SLOT = 0
    IS = auto()  # null, or the tensor itself
    VALUE = auto()


class Constant(IntEnum):
    """An array that is always the same."""

    VALUE = 0
    ARRAY = auto()


class Call(IntEnum):
    """A kernel to call."""

    SMALL = 0  # the table of its small kernel, or null
    KERNEL = auto()
    RESULT = auto()
    INPUTS = auto()
    INPUTS_AT = auto()
    GONE = auto()  # how many values nobody needs any more
    GONE_AT = auto()
