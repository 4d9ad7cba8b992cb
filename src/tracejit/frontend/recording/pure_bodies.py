"""Purity of Python functions, decided from their bytecode: what a body depends on besides its arguments.

A body of which all is known computes with its arguments and its own names alone, with functions of the same kind, ops
and constants: run twice on arguments of the same types it does the same twice, and nobody else can tell how often it
ran. Whatever is not on the lists below, such as an attribute, a file, a list of the module, a Variable, a handler or a
``with``, is not known.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Callable, Iterator, Mapping
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ...core.dtype import DType
from ...core.op import Op

_OURS = __name__.split(".")[0]
#: Modules of ours whose functions do nothing but apply ops: what draws, prints, keeps or traces is elsewhere.
_PURE = tuple(
    f"{_OURS}.{room}"
    for room in (
        *("ops.arrays.", "ops.elementwise.", "ops.linalg.", "arrays.", "math.", "linalg."),
        *("nn.activations", "nn.convolutions", "nn.cross_entropy", "nn.pooling", "nn.windows"),
        *("numpy.elements.", "numpy.reductions", "numpy.shapes", "numpy.products", "numpy.joining"),
        *("frontend.control.reductions", "frontend.creation", "frontend.conversion"),
    )
)
#: Functions of Python that do nothing but give a result, for numbers, tensors and lists of them.
_BUILTINS = frozenset(
    "abs all any bool complex dict divmod enumerate float int isinstance len list max min pow range reversed round "
    "slice sorted str sum tuple zip".split()
)
_PLAIN = (int, float, bool, complex, str, type(None), DType)
_MODULES = (_OURS, "math", "numpy")
#: Instructions that change nothing but the function's own names, given that its values are numbers, tensors and nests.
_OWN = frozenset(
    "RESUME NOP CACHE POP_TOP COPY SWAP PUSH_NULL LOAD_FAST STORE_FAST DELETE_FAST LOAD_CONST COPY_FREE_VARS MAKE_CELL "
    "LOAD_CLOSURE MAKE_FUNCTION LOAD_ATTR LOAD_METHOD PRECALL CALL KW_NAMES CALL_FUNCTION_EX BINARY_OP BINARY_SUBSCR "
    "BINARY_SLICE UNARY_NEGATIVE UNARY_POSITIVE UNARY_NOT UNARY_INVERT COMPARE_OP IS_OP CONTAINS_OP BUILD_TUPLE "
    "BUILD_LIST BUILD_MAP BUILD_SLICE BUILD_CONST_KEY_MAP BUILD_STRING LIST_EXTEND LIST_APPEND MAP_ADD LIST_TO_TUPLE "
    "DICT_MERGE FORMAT_VALUE UNPACK_SEQUENCE UNPACK_EX GET_ITER FOR_ITER END_FOR JUMP_FORWARD JUMP_BACKWARD "
    "JUMP_BACKWARD_NO_INTERRUPT POP_JUMP_FORWARD_IF_TRUE POP_JUMP_FORWARD_IF_FALSE POP_JUMP_BACKWARD_IF_TRUE "
    "POP_JUMP_BACKWARD_IF_FALSE POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_NONE "
    "POP_JUMP_BACKWARD_IF_NOT_NONE POP_JUMP_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE "
    "JUMP_IF_TRUE_OR_POP JUMP_IF_FALSE_OR_POP RETURN_VALUE RETURN_CONST LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR TO_BOOL "
    "LOAD_FAST_LOAD_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW "
    "LOAD_SMALL_INT CALL_KW SET_FUNCTION_ATTRIBUTE CONVERT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC POP_ITER "
    "NOT_TAKEN RERAISE".split()  # of lists made in the line: handlers of errors have PUSH_EXC_INFO
)

Python = Callable[[Any], Callable[..., Any] | None]
"""What a compiled function runs as it stands, None for any other object."""


class _Unknown(Exception):
    """Something that a body depends on and that cannot be told."""


class Dependencies:
    """What a body reads of the names around it, and what they stood for."""

    def __init__(self) -> None:
        self.globals: list[tuple[Mapping[str, Any], str, Any]] = []
        self.cells: list[tuple[CellType, Any]] = []
        self.functions: dict[FunctionType, tuple[CodeType, Any, Any]] = {}

    def stand(self) -> bool:
        """Do all names still stand for the same?"""
        return (
            all(names.get(name) is value for names, name, value in self.globals)
            and all(_inside(cell) is value for cell, value in self.cells)
            and all(_form(f) == form for f, form in self.functions.items())
        )


def dependencies(f: Any, python: Python) -> Dependencies | None:
    """What the body of `f` depends on, None where that is not known."""
    found = Dependencies()
    try:
        _read(f, python, found)
    except _Unknown:
        return None
    return found


def _form(f: FunctionType) -> tuple[CodeType, Any, Any]:
    return f.__code__, f.__defaults__, f.__kwdefaults__


def _inside(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return cell  # empty, and nothing that a name stands for


def _package(f: FunctionType) -> str:
    """The package that it says it is from; a program given to `exec` need not say."""
    return (f.__module__ or "").split(".")[0]


def _read(f: Any, python: Python, found: Dependencies) -> None:
    if not isinstance(f, FunctionType) or _package(f) in _MODULES:
        raise _Unknown
    if f in found.functions:
        return
    found.functions[f] = _form(f)
    given = (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values())
    if not all(map(_is_plain, given)):
        raise _Unknown
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    _read_code(f.__code__, f, cells, python, found)


def _read_code(
    code: CodeType, f: FunctionType, cells: Mapping[str, CellType], python: Python, found: Dependencies
) -> None:
    """Read the instructions of a function, or of one inside it; `cells` are those from outside of all of it."""
    instructions = dis.get_instructions(code)
    for step in instructions:
        name = step.opname
        if name == "LOAD_GLOBAL":
            _follow(_global(f, step.argval, found), instructions, python, found)
        elif name == "LOAD_DEREF" and step.argval in cells:
            value = _inside(cells[step.argval])
            found.cells.append((cells[step.argval], value))
            _follow(value, instructions, python, found)
        elif name in ("LOAD_DEREF", "STORE_DEREF"):
            if step.argval in cells:
                raise _Unknown
        elif name not in _OWN:
            raise _Unknown
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            free = {n: cells[n] for n in inner.co_freevars if n in cells and n not in code.co_cellvars}
            _read_code(inner, f, free, python, found)


def _global(f: FunctionType, name: str, found: Dependencies) -> Any:
    names = f.__globals__
    if name in names:
        found.globals.append((names, name, names[name]))
        return names[name]
    value = getattr(builtins, name, None)
    if name not in _BUILTINS or vars(builtins).get(name) is not value:
        raise _Unknown
    found.globals += [(names, name, None), (vars(builtins), name, value)]
    return value


def _follow(value: Any, rest: Iterator[dis.Instruction], python: Python, found: Dependencies) -> None:
    """Check what a name from outside stands for; of a module the attributes that are taken of it next."""
    while isinstance(value, ModuleType):
        step = next(rest)
        package = value.__name__.split(".")[0]
        if step.opname not in ("LOAD_ATTR", "LOAD_METHOD") or package not in _MODULES:
            raise _Unknown
        value = getattr(value, step.argval, None)
    inner = python(value)
    if inner is not None:
        _read(inner, python, found)
    elif not (_is_plain(value) or _is_pure(value)):
        _read(value, python, found)


def _is_plain(value: Any) -> bool:
    if value.__class__ is tuple:
        return all(map(_is_plain, value))
    return value.__class__ in _PLAIN or isinstance(value, np.dtype)


def _is_pure(value: Any) -> bool:
    """Is it a function or a type that does nothing but give a result?"""
    if isinstance(value, Op):
        return value.traits.isdisjoint(("effect", "prints", "this_process", "no_cse"))
    if isinstance(value, FunctionType):
        return (value.__module__ or "").startswith(_PURE)
    if isinstance(value, BuiltinFunctionType) and value.__module__ == "math":
        return True
    number = isinstance(value, type) and issubclass(value, np.generic)
    return number or isinstance(value, np.ufunc) or any(value is getattr(builtins, n) for n in _BUILTINS)
