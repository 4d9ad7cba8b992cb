"""Operator words: what stands in the table that the operators' machine code reads, and how its functions are called.

Who writes the table and who writes the code know both from here alone. A change of anything here changes `VERSION`.
"""

from __future__ import annotations

from enum import IntEnum, auto

VERSION = 7

#: The builtin of small kernels: ``PyObject *(PyObject *self, PyObject *const *args, Py_ssize_t nargs)``.
SMALL = "tracejit_small_kernel"

#: How ops are called: ``PyObject *(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)``.
CALL_OP = "tracejit_call_op"

#: How Variables are read: ``PyObject *(PyObject *self, PyObject *)``.
READ_VARIABLE = "tracejit_read_variable"

#: What tells recorders of a call: ``PyObject *(PyObject *self, PyObject *const *args, Py_ssize_t nargs)``.
NOTE = "tracejit_note_call"

#: The variable that points to the table.
TABLE = "tracejit_operators"

#: Arrays of more elements spend their time in kernels, and NumPy has better ones.
LARGEST = 1 << 13
#: Integers up to this size are the same number in every float that the code knows.
LARGEST_INTEGER = 1 << 24
#: So many calls of the package are looked past for the line of the user's.
DEEPEST = 16

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


#: The methods of tapes, called as ops are.
TAPE_METHODS = ("__enter__", "__exit__", "watch")


def tape_method(name: str) -> str:
    """The function of a method of tapes."""
    return f"tracejit_tape{name}"


def of_variables(name: str) -> str:
    """The function of an operator of Variables, called as `symbol` is."""
    return f"tracejit_variable{name}"


def symbol(name: str) -> str:
    """The function of an operator: ``PyObject *(PyObject *self, PyObject *other)``."""
    return f"tracejit_operator{name}"


class Word(IntEnum):
    """What all operators have in common."""

    TENSOR = 0  # classes, objects
    NDARRAY = auto()
    FLOAT = auto()
    INT = auto()
    FLOAT64 = auto()
    FLOAT32 = auto()
    STATE = auto()  # its attribute `MODE` is the mode of the thread
    MODE = auto()
    FALSE = auto()
    TRUE = auto()
    NOBODY = auto()  # the tuple without recorders
    COUNTER = auto()  # gives the next serial number
    NONE = auto()
    SET = auto()
    LIST = auto()
    DICT = auto()
    TAPE = auto()
    VARIABLE = auto()
    READ = auto()  # the op
    COMPUTED = auto()  # the dict of what was computed from Variables outside of tapes
    MOST_COMPUTED = auto()  # so many it holds
    REMEMBER = auto()  # ``(tensor, variable)``: lets it know of one
    READ_IN_PYTHON = auto()  # ``(variable) -> tensor``
    SMALL_BYTES = (
        auto()
    )  # of a call that tapes do not count, of one that they drop values of, of all they hold
    LARGE_BYTES = auto()
    MANY_BYTES = auto()
    RECORD = auto()
    LOCATION = auto()
    NO_ATTRS = auto()
    SCALARS = auto()  # the dict of tensors that stand for numbers
    NUMBER_OF_FLOAT32 = auto()  # as which its keys have a dtype
    NUMBER_OF_FLOAT64 = auto()
    CALL_OP = auto()  # ``(op, ...)``, written in Python
    TELL = auto()  # ``(mode, op, inputs, attrs, outputs)``, as is this
    ENTER = auto()  # ``(tape, ...)``, as are these
    LEAVE = auto()
    WATCH = auto()
    SMALL_KERNELS = auto()  # a dict: op to the table of its small kernel
    AS_ARRAY = auto()  # of what a kernel gives
    SHAPE = auto()  # the name of the attribute
    FILES = auto()  # a dict in which those of the user's code are false
    PAYLOAD = auto()  # where tensors have their fields, in bytes
    SPEC = auto()
    DTYPE = auto()
    SERIAL = auto()
    SLOW = auto()  # where modes have theirs
    RECORDERS = auto()
    BUSY = auto()
    ATTEMPT = auto()
    INHERITED = auto()  # the location that ops report
    TRACKED = auto()  # where tapes have theirs
    RECORDS = auto()
    RECORDING = auto()
    USED = auto()
    MERGING = auto()
    WATCHES = auto()
    WATCHED = auto()
    HELD = auto()
    VALUE = auto()  # where Variables have theirs
    HANDLE = auto()
    TRAINABLE = auto()
    NAME = auto()
    RECORD_OP = auto()  # where records have theirs
    RECORD_INPUTS = auto()
    RECORD_ATTRS = auto()
    RECORD_OUTPUTS = auto()
    RECORD_LOCATION = auto()
    FILE = auto()  # where code has the name of its file
    HASH = auto()  # where tuples keep their hash, which is -1 while nobody has asked for it; 0: nowhere
    GET_ATTR = auto()  # functions
    NEW_OBJECT = auto()
    NEW_ARRAY = auto()
    NEXT = auto()
    CALL = auto()
    INCREF = auto()
    DECREF = auto()  # also of null
    AS_DOUBLE = auto()
    AS_INTEGER = auto()
    NEW_INTEGER = auto()
    NEW_TUPLE = auto()
    SET_ITEM = auto()
    GET_ITEM = auto()
    LENGTH = auto()
    GET_DICT_ITEM = auto()
    SET_DICT_ITEM = auto()
    DICT_LENGTH = auto()
    NEW_LIST = auto()
    LIST_LENGTH = auto()
    GET_LIST_ITEM = auto()
    SET_LIST_ITEM = auto()
    EQUALS = auto()
    SET_LENGTH = auto()
    CONTAINS = auto()
    ADD = auto()
    APPEND = auto()
    FRAME = auto()
    CODE = auto()
    BACK = auto()
    LAST = auto()
    CLEAR_ERROR = auto()
    RAISED = auto()


class Callable(IntEnum):
    """Words of each operator, behind all of `Word`."""

    SLOW = 0  # ``(self, other)``: the operator written in Python
    HEARD = 1  # ``(self, other, result) -> result``: tells those who listen
    OP = 2
    INPUTS = 3  # how many the op has
    OF_VARIABLES = 4  # ``(variable, other)``: the operator of Variables written in Python


class Known(IntEnum):
    """The first words in the table of a small kernel, as those of an operator; a `Loop` each follows."""

    HEARD = Callable.HEARD
    OP = Callable.OP
    INPUTS = Callable.INPUTS
    LOOPS = 4  # how many there are


#: Words of a table of a small kernel before its loops.
KNOWN = 5


class Loop(IntEnum):
    """One of NumPy's loops: ``void (char **data, npy_intp *count, npy_intp *strides, void *extra)``."""

    DTYPE = 0  # of all inputs
    BYTES = 1  # of their elements
    RESULT = 2  # the dtype of the result
    RESULT_BYTES = 3
    CODE = 4
    DATA = 5  # what it is given as `extra`


def place(index: int, word: Callable) -> int:
    """Where in the table a word of the operator is that comes at `index`."""
    return len(Word) + len(Callable) * index + word


#: Words in the table.
SIZE = place(len(OPERATORS), Callable.SLOW)
