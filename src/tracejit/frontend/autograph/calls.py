"""Conversion at run time: every call in a converted function converts what it calls, if that is the user's code.

Results are kept per code object, weakly. NumPy, the standard library, installed packages and this package stay
as they are; functions of this package that were made from the user's (``value_and_grad(f)``) are remade from
the converted ones.
"""

from __future__ import annotations

import ast
import functools
import inspect
import weakref
from collections.abc import Callable, Collection
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import PACKAGE, Untraceable, is_internal
from ...core.lazy import Later
from ...core.op import Op
from ...core.seams import converted_calls
from ..nodes import node_class
from .array_writers import fills_arrays, is_for_numpy
from .arrays import FRESH, MAKING, copying, of_lists
from .builtins import REPLACED
from .changing import WRITING, into_out
from .outside import taking, telling
from .source.expressions import asks, is_literal
from .source.origins import LIBRARIES, is_users_class
from .source.rewriting import eagerly_rewritten
from .source.syntax import Definition, MissingSource, Unsupported, definition
from .source.walking import below, with_places

if TYPE_CHECKING:
    from .source import transform
else:
    transform = Later(".source.transform", __package__)

_FACTORY = "_ag_factory"
_OF_NUMPY = type(np.zeros_like)


class Conversion:
    """What a code object became: new code, or a reason to leave it as it is.

    Attributes
    ----------
    code : code object or None
    tree : syntax tree or None
    reason : str
        Why there is no code; empty when nothing had to change.
    """

    __slots__ = ("code", "tree", "reason")

    def __init__(self, code: CodeType | None, tree: Definition | None, reason: str = ""):
        self.code: CodeType | None = code
        self.tree: Definition | None = tree
        self.reason: str = reason


_conversions: dict[tuple[int, bool], tuple[weakref.ref[Any], Conversion]] = {}
_AS_IT_IS = Conversion(None, None)
#: Of functions of this package that may be given the user's: as they are, called with converted ones.
_BUT_ITS_ARGUMENTS = Conversion(None, None)


def callee(f: Any, eager: bool = False) -> Any:
    """What to call in place of `f`; with `eager` its control flow stays Python's.

    Examples
    --------
    >>> import tracejit as tf
    >>> def clipped(x):
    ...     if x > 1.0:
    ...         x = tf.ones_like(x)
    ...     return x
    >>> print(tf.vectorized_map(tf.autograph.convert(clipped), tf.constant([0.5, 2.0])))
    tf.Tensor([0.5 1. ], shape=(2,), dtype=float32)
    """
    kind = f.__class__
    if kind is FunctionType:
        return _of_function(f, eager)
    if kind is Op:
        return f
    if kind is _OF_NUMPY or kind is np.ufunc:
        return MAKING.get(f) or WRITING.get(f) or into_out(f, of_lists(f))
    if kind is BuiltinFunctionType or kind is type:
        if f in WRITING:
            return WRITING[f]
        made = MAKING.get(f, f) if eager else REPLACED.get(f) or MAKING.get(f) or telling(f) or copying(f)
        made = _constructor(made, eager) if made is f and isinstance(made, type) else made
        return made if eager else taking(made)
    if kind is MethodType:
        inner = f.__func__
        if not eager and (waiting := telling(f)) is not None:
            return waiting
        made = callee(inner, eager) if inner.__class__ is FunctionType else inner
        return f if made is inner else MethodType(made, f.__self__)
    if kind is functools.partial:
        made = callee(f.func, eager)
        return f if made is f.func else functools.partial(made, *f.args, **f.keywords)
    call = getattr(kind, "__call__", None)  # noqa: B004  (its function is wanted, not whether there is one)
    if call.__class__ is FunctionType and not is_internal(call.__code__):
        made = _of_function(call, eager)
        return f if made is call else MethodType(made, f)
    return f


convert = callee


def eager_callee(f: Any) -> Any:
    """What to call in place of `f` where functions run eagerly."""
    return callee(f, True)


def filling_callee(f: Any) -> Any:
    """What to call in place of `f` where it runs eagerly and may fill NumPy's arrays with tensors; else `f` itself."""
    return callee(f, True) if fills_arrays(f) else f


def _constructor(kind: type, eager: bool) -> Any:
    """What makes an object of a class: a class of the user's with a converted ``__init__``, else the class itself."""
    initialize: Any = getattr(kind, "__init__")  # noqa: B009  (asked for as `kind.__init__`, it is no function)
    maker: Any = kind.__new__
    if initialize.__class__ is not FunctionType or maker is not object.__new__ or not is_users_class(kind):
        return kind
    if node_class(kind) is not None:
        return kind  # a nest, which branches and loops take apart: what is in it is no attribute that they change
    converted = _of_function(initialize, eager)
    if converted is initialize:
        return kind

    def construct(*args: Any, **kwargs: Any) -> Any:
        made: Any = object.__new__(kind)
        converted(made, *args, **kwargs)
        return made

    return construct


def _of_function(f: FunctionType, eager: bool) -> Any:
    code = f.__code__
    entry = _conversions.get((id(code), eager))
    if entry is not None and entry[0]() is code:
        conversion = entry[1]
    elif is_internal(code):
        return _of_ours(f, eager)
    else:
        conversion = _remember(code, _converted(f, eager), eager)
    if conversion is _AS_IT_IS:
        return MAKING.get(f, f)
    if conversion is _BUT_ITS_ARGUMENTS:
        return _Converting(f, eager)
    return f if conversion.code is None else _function(f, conversion.code)


def _function(f: FunctionType, code: CodeType) -> FunctionType:
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    cells["_ag"] = CellType(converted_calls())
    made = FunctionType(
        code, f.__globals__, f.__name__, f.__defaults__, tuple([cells[n] for n in code.co_freevars])
    )
    made.__kwdefaults__ = f.__kwdefaults__
    made.__qualname__, made.__doc__, made.__module__ = f.__qualname__, f.__doc__, f.__module__
    return made


def _remember(code: CodeType, conversion: Conversion, eager: bool) -> Conversion:
    key = (id(code), eager)
    forget = functools.partial(_conversions.pop, key)  # called with the reference: what to return for none
    _conversions[key] = (weakref.ref(code, forget), conversion)
    return conversion


# ---- functions of this package --------------------------------------------------------------------------


def _of_ours(f: FunctionType, eager: bool) -> Any:
    """A function of this package, with the user's functions in its closure or arguments converted."""
    replaced = None if eager else REPLACED.get(f)
    if replaced is not None:
        return replaced
    if f.__closure__:
        cells = [_converted_cell(c, eager) for c in f.__closure__]
        if all(a is b for a, b in zip(cells, f.__closure__, strict=True)):
            return f
        made = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, tuple(cells))
        made.__kwdefaults__ = f.__kwdefaults__
        return made
    _remember(f.__code__, _BUT_ITS_ARGUMENTS if _takes_functions(f.__code__) else _AS_IT_IS, eager)
    return _of_function(f, eager)


class _Converting:
    """A function of this package that converts the functions it is given; converting it again changes nothing."""

    __slots__ = ("__wrapped__", "eager")

    def __init__(self, f: FunctionType, eager: bool):
        self.__wrapped__ = f
        self.eager = eager

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        eager = self.eager
        if not _FUNCTIONS.isdisjoint([x.__class__ for x in args]):
            args = tuple([_argument(x, eager) for x in args])
        if kwargs:
            kwargs = {k: _argument(x, eager) for k, x in kwargs.items()}
        return self.__wrapped__(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """Name, documentation and the like of the function."""
        if name == "__wrapped__":  # a copy that has not been filled yet
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)


def _takes_functions(code: CodeType) -> bool:
    file = code.co_filename[len(PACKAGE) :]
    return not file.startswith(("core", "ops", "compiler", "runtime")) and not file.endswith(
        ("function.py", "creation.py")
    )


_FUNCTIONS = frozenset((FunctionType, MethodType, functools.partial))


def _argument(x: Any, eager: bool) -> Any:
    return callee(x, eager) if x.__class__ in _FUNCTIONS else x


def _converted_cell(cell: CellType, eager: bool) -> CellType:
    try:
        inside = cell.cell_contents
    except ValueError:
        return cell
    made = _argument(inside, eager)
    return cell if made is inside else CellType(made)


# ---- the user's functions -------------------------------------------------------------------------------


def _converted(f: FunctionType, eager: bool) -> Conversion:
    code = f.__code__
    if code.co_filename.startswith(LIBRARIES) or code.co_filename.startswith("<frozen"):
        return _AS_IT_IS
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return _AS_IT_IS
    try:
        node = definition(f)
        modules = {name for name, x in f.__globals__.items() if inspect.ismodule(x)}
        if not _needed(node, {**f.__globals__, **dict.fromkeys(code.co_freevars)}, eager, modules):
            return _AS_IT_IS
        names = (code.co_freevars, _class_name(f))
        numeric = is_for_numpy(f)
        made = (
            eagerly_rewritten(node, *names, numeric=numeric)
            if eager
            else transform.rewritten(node, *names, modules, numeric)
        )
        return _compiled(made, f, eager)
    except MissingSource as error:
        return Conversion(None, None, str(error))
    except Unsupported as error:
        return _without_flow(f, str(error))


def _without_flow(f: FunctionType, reason: str) -> Conversion:
    """What only calls and handlers are rewritten of."""
    plain = eagerly_rewritten(definition(f), f.__code__.co_freevars, _class_name(f), "callee")
    made = _compiled(plain, f, False)
    made.reason = reason
    if made.code is not None:
        _remember(made.code, Conversion(None, None, reason), False)
    return made


_FLOW = (
    ast.If,
    ast.While,
    ast.For,
    ast.Match,
    ast.BoolOp,
    ast.IfExp,
    ast.Assert,
    ast.ListComp,
    ast.Try,
    ast.AugAssign,
)


def _is_flow(node: ast.AST, modules: Collection[str]) -> bool:
    """Does Python ask for a truth value here, may it call a property, or change an array in place?"""
    if isinstance(node, ast.Compare):
        return asks(node)
    if isinstance(node, ast.Attribute):
        return not (isinstance(node.value, ast.Name) and node.value.id in modules)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    return isinstance(node, _FLOW)


def _needed(node: Definition, names: dict[str, Any], eager: bool, modules: Collection[str]) -> bool:
    """Is a part assigned, anything called but functions of this package and NumPy, or flow to be converted?"""
    body = node.body if isinstance(node.body, list) else [node.body]
    for n in below(*body):
        if isinstance(n, (ast.FunctionDef, ast.Lambda)):
            return True
        if isinstance(n, ast.AugAssign) if eager else _is_flow(n, modules):
            return True
        if isinstance(n, ast.ListComp) or (isinstance(n, ast.List) and not all(map(is_literal, n.elts))):
            return True  # a function of NumPy's may be given it
        if isinstance(n, ast.Subscript) and not (
            isinstance(n.ctx, ast.Load) and (eager or is_literal(n.slice))
        ):
            return True
        if isinstance(n, ast.Call) and not _is_module_call(n, names, eager):
            return True
    return False


def _is_module_call(node: ast.Call, names: dict[str, Any], eager: bool) -> bool:
    """Is a function of a module called that means the same when tensors are traced?"""
    f: ast.expr = node.func
    path: list[str] = []
    while isinstance(f, ast.Attribute):
        path.append(f.attr)
        f = f.value
    module = names.get(f.id) if isinstance(f, ast.Name) and path else None
    known = ("tracejit", "numpy", "math") if eager else ("tracejit", "numpy")
    if not inspect.ismodule(module) or module.__name__.split(".")[0] not in known:
        return False
    called: Any = module
    for attribute in reversed(path):
        called = getattr(called, attribute, None)
    if called.__hash__ is not None and (called in WRITING or (not eager and called in FRESH)):
        return False
    if any(k.arg in ("out", None) for k in node.keywords) or len(node.args) > getattr(called, "nin", len(node.args)):
        return False  # it may write to an array
    passed = any(isinstance(a, ast.Name) and a.id in names for a in node.args)  # it may be a function
    replaced = called.__class__ is FunctionType and called in REPLACED
    return not (passed or replaced or _asks_for_functions(called))


def _asks_for_functions(f: Any) -> bool:
    """Does a function of this package say that it takes functions?"""
    said = f.__annotations__ if isinstance(f, FunctionType) else {}
    return any("Callable" in str(t) for name, t in said.items() if name != "return")


def _class_name(f: FunctionType) -> str | None:
    around = f.__qualname__.split(".")[:-1]
    return around[-1] if around and around[-1] != "<locals>" else None


def _compiled(node: Definition, f: FunctionType, eager: bool) -> Conversion:
    """Compile the tree in a function that binds the free names, and take the code out of it."""
    inner: ast.stmt = ast.Return(node) if isinstance(node, ast.Lambda) else node
    class_name = _class_name(f)
    if class_name is not None:
        inner = ast.ClassDef(
            class_name, [], [], [inner] if not isinstance(node, ast.Lambda) else [ast.Expr(node)], []
        )
    own = [ast.Global(names)] if (names := _bound_only_here(node, f, class_name)) else []
    free = [ast.arg(n) for n in dict.fromkeys(("_ag", *f.__code__.co_freevars)) if n != "__class__"]
    factory = ast.FunctionDef(
        _FACTORY, ast.arguments([], free, None, [], [], None, []), [*own, inner], [], None, None
    )
    module = with_places(ast.copy_location(factory, node))
    made = compile(ast.Module([module], []), f.__code__.co_filename, "exec", dont_inherit=True)
    code = _find(made, f.__code__.co_name)
    code = code.replace(co_qualname=f.__code__.co_qualname)
    _mark(code, eager)
    return Conversion(code, node)


def _bound_only_here(tree: Definition, f: FunctionType, class_name: str | None) -> list[str]:
    """Names that the factory binds and that are the module's in the function."""
    bound = [class_name] if class_name is not None else []
    if isinstance(tree, ast.FunctionDef) and class_name is None:
        bound = [f.__code__.co_name]
    return [name for name in bound if name not in f.__code__.co_freevars]


def _find(code: CodeType, name: str) -> CodeType:
    """The code of the function, inside that of the factory and perhaps of a class."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    for c in inner:
        if c.co_name == name and c.co_name != _FACTORY and c.co_flags & inspect.CO_OPTIMIZED:
            return c
    return _find(inner[0], name)


def _mark(code: CodeType, eager: bool) -> None:
    """The code, and functions defined inside, are converted already; what is converted in full will do anywhere."""
    _remember(code, _AS_IT_IS, True)
    if not eager:
        _remember(code, _AS_IT_IS, False)
    for c in code.co_consts:
        if isinstance(c, CodeType) and c.co_flags & inspect.CO_OPTIMIZED:
            _mark(c, eager)


def converted_source(f: Callable[..., Any]) -> str:
    """What a function became, as Python text."""
    f = f.__func__ if isinstance(f, MethodType) else f
    if not isinstance(f, FunctionType):
        return ""
    callee(f)
    entry = _conversions.get((id(f.__code__), False))
    if entry is None or entry[1].tree is None:
        reason = f"  # left as it is: {entry[1].reason}\n" if entry is not None and entry[1].reason else ""
        try:
            return reason + ast.unparse(definition(f))
        except MissingSource:
            return reason
    return ast.unparse(entry[1].tree)


# ---- why not --------------------------------------------------------------------------------------------


def explained(f: Callable[..., Any], error: Exception) -> None:
    """Add to an error that a value was asked of a traced tensor why the code that asked was not converted."""
    if not isinstance(error, Untraceable):
        return
    reason = _unconverted(_asking(error)) or _reason(getattr(f, "__code__", None))
    if reason:
        error.add_note(
            f"{reason}, so its if, while and for stay Python's; or use tracejit.cond and tracejit.while_loop"
        )


def _asking(error: Exception) -> CodeType | None:
    """The user's code that was running."""
    user_code, traceback = None, error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        user_code = user_code if is_internal(code) else code
        traceback = traceback.tb_next
    return user_code


def _reason(code: CodeType | None) -> str:
    entry = _conversions.get((id(code), False))
    return f"{entry[1].reason}: define it in a file" if entry is not None and entry[1].reason else ""


def _unconverted(code: CodeType | None) -> str:
    """Why code is not converted, and what to do; empty for what is."""
    if code is None:
        return ""
    name = code.co_qualname.replace("<locals>.", "")
    if code.co_flags & inspect.CO_GENERATOR:
        return f"{name} is a generator, which is not converted: return a list, or loop where it is used"
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return f"{name} is asynchronous, which is not converted: make it a plain function"
    if code.co_filename.startswith(LIBRARIES):
        return f"{name} belongs to a library, which is not converted: call functions of tracejit instead"
    if (id(code), False) in _conversions:
        return _reason(code)
    return (
        f"{name} was called by Python or a library, which converts nothing: call it by name in the function, or "
        "decorate it with tracejit.function"
    )
