"""Words: what stands in the tables that the lane's machine code reads, and where objects keep what it needs.

Every table is an array of 8-byte words. Who writes tables and who writes the code that reads them know them from here
alone. A change of anything here changes `VERSION`: code and tables may come from different versions of this package.
"""

from __future__ import annotations

VERSION = 5

#: How the code is called by a builtin: ``PyObject *(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject
#: *kwnames)``, where `self` is an array that holds a `Table`.
ENTRY = "tracejit_lane"
#: How it is called by an object with room for it: the same, but `self` is called and `nargs` has Python's flag.
CALL = "tracejit_call"
#: What answers the polls of an entry: it ends the call, which then is Python's to make again.
STOP = "tracejit_lane_stop"

#: Inputs, and outputs, that the code has room for; nests among arguments, and among results.
MAX_ARRAYS, MAX_NESTS = 128, 64
#: Bytes of workspace that the code has on its stack; more it asks `Api.ALLOC` for.
STACK_WORK = 1 << 14

# ---- objects: what `probe` looks at before any of it is relied upon ------------------------------------------
REFERENCES = 0  # how many there are to an object: 32 bits
OB_TYPE = 8
HEAD = 16  # bytes of an object before its own fields
ARRAY_DATA, ARRAY_RANK, ARRAY_DIMS, ARRAY_STRIDES = HEAD, HEAD + 8, HEAD + 16, HEAD + 24
ARRAY_DTYPE, ARRAY_FLAGS = HEAD + 40, HEAD + 48
REFERENT = HEAD  # of a weak reference
NUMBER = HEAD  # the value of one of NumPy's numbers
NUMBER_CLASS = HEAD  # of a dtype: the class of its numbers
READABLE = 0x101  # NumPy's flags: C-contiguous and aligned
WRITABLE = 0x501  # and writable
OWN = 0x505  # and the memory is its own

#: Objects that are called by `CALL`: bytes they take, where the address of the code is, and that of the `Table`.
CALLED_BYTES, CALLED_CODE, CALLED_TABLE = 64, 48, 56


class Api:
    """What is the same for all functions of a process: objects and functions of Python and NumPy, and where slots are.

    Those from `TENSOR` on are for functions that take and give Tensors.
    """

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
    LIST = 18
    DICT = 19
    INT = 20
    NONE = 21
    NEW_LIST = 22
    SET_LIST_ITEM = 23
    GET_LIST_ITEM = 24
    LIST_LENGTH = 25
    NEW_DICT = 26
    SET_DICT_ITEM = 27
    GET_DICT_ITEM = 28
    NEXT_OF_DICT = 29
    DICT_LENGTH = 30
    AS_LONG = 31
    NEW_OBJECT = 32
    NEXT = 33
    THREAD = 34  # gives the dict of the running thread
    GET_CONTEXT = 35
    NO_MEMORY = 36
    FALSE = 37
    TRUE = 38

    TENSOR = 39
    SERIALS = 40  # the iterator that numbers Tensors
    PAYLOAD = 41  # offsets of slots
    SPEC = 42
    DTYPE = 43
    SERIAL = 44
    MODE = 45  # the key as which the dict of a thread has its mode
    BUSY = 46  # the offset of the slot of a mode
    BLOCK = 47  # the context variable of settings of a block
    SETTINGS = 48  # those of the process
    VALUE = 49  # the offset of the slot of a Variable
    ACQUIRE = 50  # of the lock that is held while Variables change
    RELEASE = 51
    WEAK = 52  # the offset of what is null while no weak reference to a Tensor is there

    WORDS = 53


class Table:
    """What belongs to one function."""

    API = 0
    SLOW = 1  # the Python callable for all that is not found here, and for errors
    ENTRIES = 2  # the first `Entry`, or 0

    WORDS = 3


class Entry:
    """One kind of call, which has been checked."""

    NEXT = 0  # the next entry, or 0
    SETTINGS = 1  # under which it was made, for objects that are called
    N_ARGS = 2  # by position
    N_NAMES = 3
    NAMES = 4  # interned, in the order of the call
    N_STEPS = 5
    STEPS = 6  # where the inputs come from: a `Step` each
    N_INPUTS = 7
    KERNEL = 8  # the compiled function's entry
    CONTEXT = 9  # its ctx struct, of which every call has a copy
    RELEASES = 10  # the call may take long: other threads may run meanwhile
    LONG = 11  # a call took so long that it polled: they are Python's now
    WORKSPACE = 12
    N_SIZES = 13
    SIZES = 14
    BYTES = 15  # of each input and output
    N_OUTPUTS = 16
    OUTPUTS = 17  # an `Output` each
    TENSORS = 18  # the outputs are made Tensors
    N_NESTS = 19
    NESTS = 20  # what is made of the outputs: a `Nest` each
    RESULT = 21  # which of the outputs and nests is the result
    N_UPDATES = 22
    UPDATES = 23  # an `Update` each
    SPARES = 24  # a Python list of Tensors that were results, two for each output

    WORDS = 25


class Step:
    """One object that is looked at: where it is, and what it must be."""

    SOURCE = 0
    PARENT = 1  # the place of the nest it is in, or where a Variable's value is kept
    KEY = 2  # position, or key, or a weak reference to a Variable, or the object
    KIND = 3
    PLACE = 4  # among the inputs, or of a nest
    VALUE = 5  # a number's bits, a nest's length, an object, or an array's dtype
    RANK = 6
    SHAPE = 7
    ACCEPTS = 8  # of a tuple the class, or 0

    WORDS = 9


class Source:
    """Where an object is."""

    ARGUMENT = 0
    TUPLE = 1
    LIST = 2
    DICT = 3
    VARIABLE = 4
    OBJECT = 5


class Kind:
    """What an object must be."""

    ARRAY = 0
    TUPLE = 1
    LIST = 2
    DICT = 3
    SAME = 4
    FLOAT = 5
    INT = 6
    REFERENT = 7
    NUMBER = 8  # a Python float, of any value: an input


#: What else than an array will do in its place: a Python float, NumPy's, a Tensor, a number of NumPy's of its dtype.
A_FLOAT, A_FLOAT64, A_TENSOR, A_NUMBER = 1, 2, 4, 8


class Output:
    """An array that is made for a result."""

    DTYPE = 0
    RANK = 1
    SHAPE = 2
    MAKER = 3  # the Python callable that gives a large one, or 0
    KEPT = 4  # may it be given again, when nobody has it any more?

    WORDS = 5


class Nest:
    """A tuple, list or dict of results; their places are words, with the key before each in a dict."""

    KIND = 0  # a `Kind`; SAME is None
    COUNT = 1
    ITEMS = 2
    CLASS = 3  # of a tuple, which is called with the items, or 0

    WORDS = 4


class Update:
    """A Variable that is given a new value, unless it has another than the call began with."""

    VARIABLE = 0  # a weak reference
    KEPT = 1  # where the value is that the call began with
    OUTPUT = 2

    WORDS = 3
