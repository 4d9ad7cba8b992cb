"""Every public docstring says what may be given, what comes back and what is refused.

The rule, for each function, op, class and method that a public module offers:

- It has a docstring, and the docstring names every parameter: in a ``Parameters`` section, or, where a sentence says it
  all, in backticks. What a base class says of its own parameters need not be said again; what is there for programs
  written for other libraries may be "the other arguments", accepted and ignored, and `name` always is. `args`, `kwargs`
  and `options` are what another function takes, which the text names.
- It says shapes and dtypes where tensors come back.
- It names every class of errors that its own lines raise, or a base of it; and where tensors come back, what wrong
  arguments raise: shapes that do not fit, axes that are not there, dtypes that are not taken.

- It shows an example; those that are made, and those of packages that no other test looks through, are run here.

Methods are asked for their parameters and their own errors only. What docstrings of ops say by themselves of dtypes is
asked of the ops below.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from enum import Enum
from types import ModuleType
from typing import Any

import pytest

import tracejit
from layers import BATTERIES, OUTSIDE, PUBLIC
from tracejit.core.errors import DtypeError, ShapeError
from tracejit.core.op import OPS, Op

FACES = [
    "",
    *sorted((PUBLIC | BATTERIES | OUTSIDE) - {"raw_ops"}),
    "compat.v1",
    "numpy.linalg",
    "scipy.linalg",
    "scipy.special",
]
#: Modules that a public name stands for, which say what is theirs by defining it.
PLAIN = [
    "optimizers.schedules",
    "compat.v1.classic_losses",
    "compat.v1.classic_optimizers",
    "frontend.config",
    "scipy.integrate",
    "scipy.signal",
    *(
        f"scipy.stats.{name}"
        for name in "norm t gamma beta chi2 poisson dirichlet multivariate_normal".split()
    ),
]
SHAPE = re.compile(
    r"shape|scalar|element|size|rank|\bax[ei]s\b|rows?\b|vector|matri|\(\.\.\.|\(\)|\d-D|one number", re.I
)
DTYPE = re.compile(r"dtype|float|\bint|bool|complex|bytes|string|real|promoted", re.I)
ERROR = re.compile(r"\b[A-Z]\w*Error\b|OutOfRange|LeakedTensor|SymbolicValue|Untraceable")
#: Parameters that need no word.
UNNAMED = frozenset({"self", "name", "args", "kwargs", "options"})
#: What is said of arguments that do nothing.
OTHERS = re.compile(r"(?:[Oo]ther|remaining) arguments|arguments after")
#: Functions that take whatever they are given.
NEVER_FAIL = frozenset(
    "as_string diagflat fold_in identity linear nan_to_num ndim placeholder_with_default rank shape size stop_gradient "
    "tensor_diag timestamp tri".split()
)


def offered(name: str) -> Iterator[tuple[str, Any]]:
    """The functions, ops and classes of a public module that are the package's own, as users spell them."""
    face = importlib.import_module(f"tracejit.{name}" if name else "tracejit")
    for attribute in getattr(face, "__all__", None) or dir(face):
        x = getattr(face, attribute)
        own = isinstance(x, Op) or (getattr(x, "__module__", None) or "").startswith("tracejit")
        own = own and (name not in PLAIN or x.__module__ == face.__name__)
        if own and callable(x) and not attribute.startswith("_") and not isinstance(x, ModuleType):
            yield f"tj.{name}.{attribute}".replace("..", "."), x


def documentation(x: Any) -> str:
    """The docstring, of a class with those of its bases."""
    return "\n".join(
        inspect.cleandoc(c.__doc__ or "") for c in (x.__mro__[:-1] if inspect.isclass(x) else (x,))
    )


def everything() -> dict[str, tuple[Any, str]]:
    """Each public thing by the first of its names, and the methods of classes: with what is said of it."""
    things = {id(x): (name, x) for face in reversed([*FACES, *PLAIN]) for name, x in offered(face)}
    found = {name: (x, documentation(x)) for name, x in things.values()}
    for name, x in things.values():
        for method, f in vars(x).items() if inspect.isclass(x) else ():
            if inspect.isfunction(f) and not method.startswith("_"):
                overridden = [c.__dict__[method] for c in x.__mro__ if method in c.__dict__]
                found[f"{name}.{method}()"] = (f, "\n".join(filter(None, map(inspect.getdoc, overridden))))
    return found


EVERYTHING = everything()


def parameters(x: Any) -> list[str]:
    """The names of the parameters a reader asks about."""
    if inspect.isclass(x) and issubclass(x, (Enum, Exception, Op)):
        return []
    return [p for p in inspect.signature(x).parameters if p not in UNNAMED and not p.startswith("_")]


def names(text: str, parameter: str) -> bool:
    """Is the parameter an entry of a section, or does it stand in backticks?"""
    entry = rf"^\s*(?:[\w*]+, )*\*{{0,2}}{parameter}(?:, [\w*]+)*(?: :|$)"
    return bool(re.search(entry, text, re.M) or re.search(rf"`[^`\n]*\b{parameter}\b[^`\n]*`", text))


def raised(x: Any) -> Iterator[list[str]]:
    """For each error that its own lines raise, the names of its class and of the bases of that."""
    if not inspect.isfunction(x):
        return
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(x)))):
        if (
            isinstance(node, ast.Raise)
            and isinstance(node.exc, ast.Call)
            and isinstance(node.exc.func, ast.Name)
        ):
            error = vars(builtins).get(node.exc.func.id) or x.__globals__.get(node.exc.func.id)
            if inspect.isclass(error):
                yield [c.__name__ for c in error.__mro__[:-3]]


def gives_tensors(x: Any) -> bool:
    """Does its annotation say so? Ops always do."""
    returned = str(getattr(x, "__annotations__", {}).get("return"))
    return isinstance(x, Op) or (inspect.isfunction(x) and "Tensor" in returned)


def holes(name: str) -> list[str]:
    """What a reader misses."""
    x, text = EVERYTHING[name]
    if not text.strip():
        return ["a docstring"]
    missing = [] if OTHERS.search(text) else [f"`{p}`" for p in parameters(x) if not names(text, p)]
    missing += sorted({errors[0] for errors in raised(x) if not any(error in text for error in errors)})
    if not name.endswith("()") and gives_tensors(x):
        asked = {"shape": SHAPE, "dtype": DTYPE} | ({} if x.__name__ in NEVER_FAIL else {"errors": ERROR})
        missing += [what for what, said in asked.items() if not said.search(text)]
    return missing


def test_every_public_docstring_is_complete():
    found = {name: missing for name in EVERYTHING if (missing := holes(name))}
    assert not found, "\n".join(f"{name}: {', '.join(missing)}" for name, missing in found.items())


def test_every_function_and_class_shows_an_example():
    public = [name for name in EVERYTHING if not name.endswith("()")]
    assert not [name for name in public if ">>> " not in (EVERYTHING[name][0].__doc__ or "")]


#: Where functions and classes are made by others, and their examples with them.
FACTORIES = (
    *(
        "tj.assert_",
        "tj.debugging.",
        "tj.initializers.glorot_",
        "tj.initializers.he_",
        "tj.initializers.lecun_",
    ),
    *("tj.nn.", "tj.numpy.", "tj.scipy.special."),
)
#: Packages whose modules other tests look through for examples.
ELSEWHERE = PUBLIC | BATTERIES | {"frontend"}


def is_run_here(name: str, x: Any) -> bool:
    """Is the example one that is made, or in a module that nobody looks through?"""
    home = x.__module__.split(".")[1:2]
    return isinstance(x, Op) or name.startswith(FACTORIES) or not {*home} <= ELSEWHERE


MADE = {name: x for name, (x, _) in EVERYTHING.items() if not name.endswith("()") and is_run_here(name, x)}


def test_examples_print_what_they_say():
    wrong: list[str] = []
    for name, x in MADE.items():
        known = {} if isinstance(x, Op) else vars(sys.modules[x.__module__]).copy()
        test = doctest.DocTestParser().get_doctest(x.__doc__ or "", known, name, None, 0)
        doctest.DocTestRunner().run(test, out=wrong.append)
    assert not wrong, "".join(wrong)


ELEMENTS = {"bool": [True], "integers": [1], "float": [0.5], "complex": [0.5j], "strings": ["a"]}
ELEMENTWISE = [op for op in OPS.values() if op.elementwise and not op.keywords and op.name != "where"]


@pytest.mark.parametrize("op", ELEMENTWISE, ids=str)
def test_generated_docstrings_say_which_elements_are_refused(op: Op):
    said = dict(re.findall(r"^(\w+Error)\n    (.*)$", op.__doc__, re.M))
    for kind, elements in ELEMENTS.items():
        refused = [error for error, elements in said.items() if re.search(rf"\b{kind}\b", elements)]
        try:
            op(*[elements for _ in op.tensors])
        except (DtypeError, ShapeError) as error:
            assert refused == [type(error).__name__], kind
        else:
            assert not refused, kind


def test_examples_are_found_out_apart_from_what_the_program_does():
    """In a trace, on a tape, where NaN is an error: an op's docstring is what it is."""
    wanted = tracejit.sqrt.__doc__

    @tracejit.function
    def f(x):
        assert tracejit.sqrt.__doc__ == wanted
        return x * 2.0

    with tracejit.settings(nans=True):
        assert tracejit.sqrt.__doc__ == wanted and f(tracejit.constant(1.0)) == 2.0
    assert "sqrt" not in str(f.graph(tracejit.constant(1.0)))
