"""Operator words: what stands in the table that the operators' machine code reads, and how its functions are called.

Who writes the table and who writes the code know both from here alone. A change of anything here changes `VERSION`.
"""

from __future__ import annotations

from enum import IntEnum

VERSION = 1

#: The variable that points to the table.
TABLE = "tracejit_operators"

#: Arrays of more elements spend their time in kernels, and NumPy has better ones.
LARGEST = 256
#: Integers up to this size are the same number in every float that the code knows.
LARGEST_INTEGER = 1 << 24

#: Operators by the name of Python's method: LLVM's instruction, and whether the other operand comes first.
OPERATORS: dict[str, tuple[str, bool]] = {
    "__add__": ("fadd", False),
    "__radd__": ("fadd", True),
    "__sub__": ("fsub", False),
    "__rsub__": ("fsub", True),
    "__mul__": ("fmul", False),
    "__rmul__": ("fmul", True),
    "__truediv__": ("fdiv", False),
    "__rtruediv__": ("fdiv", True),
    "__pow__": ("fmul", False),  # of squares only
}


def symbol(name: str) -> str:
    """The function of an operator: ``PyObject *(PyObject *self, PyObject *other)``."""
    return f"tracejit_operator{name}"


class Word(IntEnum):
    """What all operators have in common."""

    TENSOR = 0  # classes, objects
    NDARRAY = 1
    FLOAT = 2
    INT = 3
    FLOAT64 = 4
    FLOAT32 = 5
    STATE = 6  # its attribute `MODE` is the mode of the thread
    MODE = 7
    FALSE = 8
    NOBODY = 9  # the tuple without recorders
    COUNTER = 10  # gives the next serial number
    NONE = 11
    PAYLOAD = 12  # where tensors have their fields, in bytes
    SPEC = 13
    DTYPE = 14
    SERIAL = 15
    SLOW = 16  # where modes have theirs
    RECORDERS = 17
    GET_ATTR = 18  # functions
    NEW_OBJECT = 19
    NEW_ARRAY = 20
    NEXT = 21
    CALL = 22
    INCREF = 23
    DECREF = 24
    AS_DOUBLE = 25
    AS_INTEGER = 26


class Callable(IntEnum):
    """Two words of each operator, behind all of `Word`."""

    SLOW = 0  # ``(self, other)``: the operator written in Python
    HEARD = 1  # ``(self, other, result) -> result``: tells those who listen


def place(index: int, word: Callable) -> int:
    """Where in the table a word of the operator is that comes at `index`."""
    return len(Word) + len(Callable) * index + word


#: Words in the table.
SIZE = place(len(OPERATORS), Callable.SLOW)
