"""The shape of the source tree, asserted: layers, cycles, sizes, lazy imports, docstrings, stray words.

Everything is read with ``ast``, so a module that cannot be imported is still judged. Every failure lists all
offenders as ``file:line``.
"""

from __future__ import annotations

import ast
import gc
import json
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import pytest

from layers import BATTERIES, COMMANDS, OUTSIDE, PUBLIC

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PACKAGE = "tracejit"

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
# Lines of code only: a docstring, a comment and a blank line are free, so that nobody saves on explaining.
# Codebases that are pleasant to read measure 4 to 5 at the median this way; 8 leaves room for shape rules and
# emitters, and still means that the ordinary function is read at a glance.
MAX_MEDIAN_FUNCTION_LINES = 8

# layer -> the layers it may import; the package itself is the face
_ENGINE = {"core", "ops", "compiler", "runtime", "frontend"}
LAYERS = {
    "core": {"core"},
    "ops": {"core", "ops"},
    "compiler": {"core", "ops", "runtime", "compiler"},
    "runtime": {"core", "runtime"},
    "frontend": _ENGINE,
    "functions": _ENGINE | {"functions", "face"},
    "batteries": {"functions", "batteries", "face"},
    "outside": _ENGINE | {"functions", "batteries", "outside", "face"},
    "commands": _ENGINE | {"functions", "batteries", "outside", "commands", "face"},
    "face": _ENGINE | {"functions", "batteries", "outside", "face"},
}
#: How a public module loads its names; knows nothing else.
LAZILY = f"{PACKAGE}.core.lazy"
# within a layer: rooms, and single modules, each of which may import itself and what stands before it
ROOMS = {
    "core": "core core.ir core.tracing core.autodiff",
    "ops": "ops.lowering ops.batch ops.symbolic_values ops.elementwise.formulas ops.elementwise "
    "ops.elementwise.integrals ops.arrays "
    "ops.control ops.control.checkpointing ops.control ops.linalg ops ops.tensor.memory ops.tensor",
    "compiler": "compiler.report compiler.ir_text compiler.hostcalls compiler.platforms compiler.loopir "
    "compiler.loopir.numbering compiler.loopir.passes compiler.loopir.passes.arithmetic "
    "compiler.loopir.passes.rows compiler.lowering compiler.graph "
    "compiler.codegen.math compiler.codegen.matmul compiler.codegen.linalg compiler.codegen.linalg.qr "
    "compiler.codegen.writing compiler.codegen.nests compiler.codegen.lane compiler.codegen.threads compiler.codegen "
    "compiler.prebuilt compiler",
    "frontend": "frontend frontend.state frontend.regions frontend.recording frontend.autograph.source "
    "frontend.autograph.values frontend.autograph.places frontend.autograph.flow frontend.autograph frontend.control "
    "frontend.function frontend.transforms frontend.tape",
}
MAX_FILES_OF_A_ROOM = 15
DRAWING = {"networkx", "matplotlib", "tqdm", "IPython"}
THIRD_PARTY = {
    layer: {"numpy"} if layer in ("core", "ops", "compiler", "runtime") else {"numpy"} | DRAWING
    for layer in LAYERS
}
THIRD_PARTY_OF_MODULE = {
    "tracejit.compiler.codegen.llvm": {"llvmlite"},
    "tracejit.aot.lowlevel": {"scipy"},
    **{f"tracejit.dask.{name}": {"dask"} for name in "arguments blocks fitting sending sums trainer".split()},
    "tracejit.frontend.pickling": {"cloudpickle"},
    "tracejit.core.dtype": {"ml_dtypes"},
}
LAZY = {"llvmlite", "scipy", "cloudpickle", "ml_dtypes"} | DRAWING
LAZY_IF_WANTED = {"hashlib", "json"}  # of the standard library, and slow to load
IMPORTERS = ("import_module", "__import__")

PROSE = ("*.py", "*.md", "*.toml", "*.yml", "*.graph", "Makefile", "run")
PROSE_FOLDERS = ("src", "tests", "examples", "benchmarks", "docs", ".ci")
# Written so that no pattern matches itself. The text speaks of the project, not of how or where it was made.
FORBIDDEN = [
    r"(?<![\w.])/(?:work|farm|root|home/\w+)/",
    r"(?<![\w.])/tmp/\w",
    r"\bsketch[e]?[s]?\b",
    r"\bfacts/",
    r"\b(?:this|that|another|an|the|next|previous|last|later|earlier) sess[i]ons?\b",
    r"\b(?:sub-?)?ag[e]nts?\b",
    r"\bissue #?\d",
    r"\bTO[D]O\b|\bFIX[M]E\b|\bXX[X]\b",
]


@dataclass(frozen=True)
class Import:
    """One imported module: its dotted name, where, and whether it runs when the importing module does."""

    name: str
    line: int
    function: str | None
    typing_only: bool

    @property
    def top(self) -> str:
        return self.name.split(".")[0]


def layer_of(name: str) -> str:
    """The layer of a module."""
    first = name.split(".")[1:2]
    if not first or first == ["_names"]:
        return "face"
    groups = {"functions": PUBLIC, "batteries": BATTERIES, "outside": OUTSIDE, "commands": COMMANDS}
    return next((group for group, names in groups.items() if first[0] in names), first[0])


@dataclass
class Module:
    """One source file, parsed."""

    path: Path
    name: str
    tree: ast.Module
    imports: list[Import] = field(default_factory=list)

    @property
    def layer(self) -> str:
        return layer_of(self.name)

    @property
    def package(self) -> list[str]:
        parts = self.name.split(".")
        return parts if self.path.name == "__init__.py" else parts[:-1]

    @cached_property
    def lines(self) -> list[str]:
        return self.path.read_text(encoding="utf-8").splitlines()

    def at(self, line: int, text: str) -> str:
        return f"{self.path.relative_to(ROOT)}:{line}: {text}"


def read_modules() -> dict[str, Module]:
    """Parse every module of the package and resolve its imports to modules."""
    modules = {}
    for path in sorted((SOURCE / PACKAGE).rglob("*.py")):
        parts = list(path.relative_to(SOURCE).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules[name] = Module(path, name, ast.parse(path.read_text(encoding="utf-8"), str(path)))
    for module in modules.values():
        module.imports = list(find_imports(module, modules))
    return modules


def find_imports(module: Module, modules: dict[str, Module]) -> Iterator[Import]:
    """Yield what a module imports anywhere in it; ``from p import m`` names ``p.m`` when that is a module."""
    pending: list[tuple[ast.AST, str | None, bool]] = [(module.tree, None, False)]
    while pending:
        node, function, typing_only = pending.pop()
        for name in imported_names(node, module, modules):
            yield Import(name, node.lineno, function, typing_only)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            function = getattr(node, "name", "<lambda>")
        guarded = typing_only or (isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING")
        pending += [(child, function, guarded) for child in [*ast.iter_child_nodes(node)][::-1]]


def imported_names(node: ast.AST, module: Module, modules: dict[str, Module]) -> list[str]:
    """Return the modules that one syntax node imports, calls of import_module and __import__ included."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = module.package[: len(module.package) + 1 - node.level] if node.level else []
        source = ".".join(base + (node.module.split(".") if node.module else []))
        names = [f"{source}.{alias.name}" for alias in node.names]
        return list(dict.fromkeys(name if name in modules else source for name in names))
    if isinstance(node, ast.Call) and last_name(node.func) in IMPORTERS:
        constant = node.args and isinstance(node.args[0], ast.Constant)
        return [str(node.args[0].value) if constant else "<computed>"]
    return []


def last_name(node: ast.expr) -> str:
    """Return the name, or that of the attribute, that an expression ends with; none of another."""
    return getattr(node, "attr", getattr(node, "id", ""))


@cache
def parsed() -> dict[str, Module]:
    """The modules of the package, parsed when the first test asks: every process collects this file."""
    return read_modules()


@cache
def functions() -> list[tuple[Module, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function of the package with its module."""
    return [
        (module, node)
        for module in parsed().values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


@pytest.fixture(scope="module", autouse=True)
def syntax_is_forgotten() -> Iterator[None]:
    """Drop the syntax trees behind the last test: a million objects would slow each later garbage collection.

    None of them is garbage before: looking for some while they are made takes four times as long as making them.
    """
    gc.disable()
    yield
    functions.cache_clear()
    parsed.cache_clear()
    gc.enable()


def none(offenders: list[str], rule: str) -> None:
    """Fail with the rule and every offender, if there is one."""
    if offenders:
        pytest.fail("\n".join([rule, *offenders]), pytrace=False)


def code_lines(module: Module, function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function that hold code: no docstring, no comment, no blank line."""
    lines = set(range(function.lineno, function.end_lineno + 1))
    for node in ast.walk(function):
        documented = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if documented and ast.get_docstring(node, clean=False) is not None:
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    texts = (module.lines[line - 1].strip() for line in lines)
    return sum(bool(text) and not text.startswith("#") for text in texts)


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("import numpy as np, os.path", ["numpy", "os.path"]),
        ("from tracejit.core import errors", ["tracejit.core.errors"]),
        ("from tracejit.core.errors import ShapeError", ["tracejit.core.errors"]),
        ("from . import errors", ["tracejit.core.errors"]),
        ("from .errors import ShapeError", ["tracejit.core.errors"]),
        ("from ..ops import sin", ["tracejit.ops"]),
        ("importlib.import_module('llvmlite')", ["llvmlite"]),
        ("__import__(name)", ["<computed>"]),
        ("print(numpy)", []),
    ],
)
def test_imports_are_resolved(statement: str, names: list[str]):
    known = ("tracejit", "tracejit.core", "tracejit.core.errors", "tracejit.core.op", "tracejit.ops")
    modules = {name: Module(SOURCE / "op.py", name, ast.parse("")) for name in known}
    importing = Module(SOURCE / "op.py", "tracejit.core.op", ast.parse(statement))
    assert [item.name for item in find_imports(importing, modules)] == names


def test_code_lines_leave_out_documentation():
    text = 'def f(x):\n    """Doc.\n\n    More.\n    """\n    # why\n\n    return (\n        x\n    )\n'
    module = Module(SOURCE / "f.py", "f", ast.parse(text))
    module.lines = text.splitlines()
    assert code_lines(module, module.tree.body[0]) == 4


def test_the_tree_is_there():
    packages = {module.layer for module in parsed().values()}
    assert set(LAYERS) == packages, "a module outside of the layers, or a layer without modules"


def test_rooms_are_small():
    folders: dict[Path, int] = {}
    for module in parsed().values():
        if module.path.name == "__main__.py":  # Python asks for it where it is
            continue
        folders[module.path.parent] = folders.get(module.path.parent, 0) + 1
    large = [f"{f.relative_to(ROOT)}/: {n} files" for f, n in folders.items() if n > MAX_FILES_OF_A_ROOM]
    none(large, f"A room has {MAX_FILES_OF_A_ROOM} files at the most:")


#: Modules that programs import from NumPy and from SciPy, by the names they have there.
FACES = ("numpy.linalg", "scipy.linalg")


def test_no_name_twice_in_a_layer():
    seen: dict[tuple[str, str], str] = {}
    twice = []
    for module in parsed().values():
        last = module.name.split(".")[-1]
        if module.path.name == "__init__.py" or module.name.removeprefix(f"{PACKAGE}.") in FACES:
            continue
        if (other := seen.setdefault((module.layer, last), module.name)) != module.name:
            twice.append(f"{module.name} and {other}")
    none(twice, "Two modules of a layer with one name:")


def place_of(name: str) -> int:
    """How far down in its layer a module stands: the number of its room, or its own."""
    short = name.removeprefix(f"{PACKAGE}.")
    rooms = ROOMS[layer_of(name)].split()
    room = short if parsed()[name].path.name == "__init__.py" else short.rpartition(".")[0]
    return rooms.index(short if short in rooms else room)


def test_imports_go_one_way_between_rooms():
    none(
        [
            module.at(item.line, f"imports {item.name}")
            for module in parsed().values()
            for item in module.imports
            if module.layer in ROOMS
            and item.name in parsed()
            and parsed()[item.name].layer == module.layer
            and not item.typing_only
            and parsed()[item.name].path.name != "__init__.py"
            and module.path.name != "__init__.py"
            and place_of(item.name) > place_of(module.name)
        ],
        "A room may import those that stand before it in ROOMS:",
    )


def test_imports_go_down_the_layers():
    none(
        [
            module.at(item.line, f"{module.layer} imports {item.name}, of {parsed()[item.name].layer}")
            for module in parsed().values()
            for item in module.imports
            if item.name in parsed().keys() - {LAZILY}
            and parsed()[item.name].layer not in LAYERS[module.layer]
        ],
        "One way only: core <- ops <- compiler <- frontend <- functions <- batteries; core <- runtime <- compiler",
    )


def test_imports_within_the_package_exist():
    none(
        [
            module.at(item.line, f"no module {item.name}")
            for module in parsed().values()
            for item in module.imports
            if item.top == PACKAGE and item.name not in parsed()
            if not (item.typing_only and (SOURCE / item.name.replace(".", "/")).with_suffix(".pyi").exists())
        ],
        "An import of our own names a module that is not there:",
    )


def test_no_import_cycles():
    def edges(name: str) -> Iterator[str]:
        """What a module imports; importing `a.b` runs `a`, too, where it does not run already.

        What a public module loads when it is asked for is no edge: it is none when it runs.
        """
        lazy = any(item.name == LAZILY for item in parsed()[name].imports)
        for item in parsed()[name].imports:
            if lazy and item.typing_only:
                continue
            parts = item.name.split(".")
            for k in range(2, len(parts) + 1):
                target = ".".join(parts[:k])
                if target in parsed() and target != name and not f"{name}.".startswith(f"{target}."):
                    yield target

    finished, path = set(), []
    cycles = []

    def visit(name: str) -> None:
        if name in path:
            cycles.append(" -> ".join([*path[path.index(name) :], name]))
        elif name not in finished:
            path.append(name)
            for target in edges(name):
                visit(target)
            finished.add(path.pop())

    for name in parsed():
        visit(name)
    none(cycles, "Modules import each other in a circle:")


#: Modules that load others when they are first needed, so that starts stay quick: the compiler, the faces, commands;
#: and what loads the module that a user names.
DOORS = {
    LAZILY,
    PACKAGE,
    *(f"{PACKAGE}.{name}" for name in ("frontend.execution", "cli.main", "cli.program")),
}


def test_imports_stand_at_the_top():
    none(
        [
            module.at(item.line, f"{item.function}() imports {item.name}")
            for module in parsed().values()
            for item in module.imports
            if item.function and item.top not in LAZY | LAZY_IF_WANTED and module.name not in DOORS
        ],
        f"Only {', '.join(sorted(LAZY))} may be imported inside a function; anything else dodges a cycle.",
    )


def test_lazy_imports_are_lazy():
    none(
        [
            module.at(item.line, f"imports {item.name} when the module loads")
            for module in parsed().values()
            for item in module.imports
            if item.top in LAZY and not item.function and not item.typing_only
        ],
        "These are slow to load and must be imported inside the function that needs them:",
    )


def test_third_party_imports():
    def allowed(module: Module) -> set[str]:
        own = THIRD_PARTY[module.layer] | THIRD_PARTY_OF_MODULE.get(module.name, set())
        return own | {PACKAGE} | set(sys.stdlib_module_names)

    none(
        [
            module.at(item.line, f"{module.layer} may not import {item.name}")
            for module in parsed().values()
            for item in module.imports
            if item.top not in allowed(module) and not (item.name == "<computed>" and module.name in DOORS)
        ],
        "core, ops, compiler and runtime know NumPy only; llvmlite is imported in compiler/codegen/llvm.py alone.",
    )


#: Where an op's name is compared or looked up outside of ``ops``, and how often: by users' names, and for their eyes.
NAMES_ASKED = {
    "core.tracing.interpreters": 1,
    "frontend.transforms.registering": 1,
    "inspect.drawing": 1,
    "inspect.registry": 1,
}


def is_op_name(node: ast.AST) -> bool:
    """Is it ``op.name``, ``node.op.name``, ``record.op.type_name`` and the like?"""
    if not isinstance(node, ast.Attribute) or node.attr not in ("name", "type_name"):
        return False
    return ast.unparse(node.value).split(".")[-1] == "op"


def names_asked(tree: ast.AST) -> Iterator[int]:
    """Yield the lines where an op's name is compared, is looked up in a table, or is kept to do so."""
    for node in ast.walk(tree):
        parts: list[ast.AST] = []
        match node:
            case ast.Compare(left=left, comparators=rest):
                sides = [left, *rest]
                parts = [*sides, *(part for side in sides for part in ast.iter_child_nodes(side))]
            case ast.Subscript(slice=index):
                parts = [index]
            case ast.Call(func=ast.Attribute(attr="get"), args=args):
                parts = list(args)
            case ast.Match(subject=subject):
                parts = [subject]
            case ast.Assign(targets=[ast.Tuple()], value=ast.Tuple(elts=elts)):
                parts = list(elts)
            case ast.Assign(targets=[ast.Name()], value=value):
                parts = [value]
        if any(map(is_op_name, parts)):
            yield node.lineno


@pytest.mark.parametrize(
    "text",
    [
        'if node.op.name == "f": pass',
        'if op.name in ("f", "g"): pass',
        "if name in (op.name, op.type_name): pass",
        "cost = COSTS[op.name]",
        "rule = RULES.get(record.op.name)",
        "name, attrs = node.op.name, node.attrs",
        'match op.name:\n    case "f": pass',
    ],
)
def test_names_that_are_asked_are_found(text: str):
    assert list(names_asked(ast.parse(text)))


def test_facts_about_an_op_stand_on_the_op():
    found = Counter(
        module.name.removeprefix(f"{PACKAGE}.")
        for module in parsed().values()
        if module.layer != "ops"
        for _ in names_asked(module.tree)
    )
    assert found == Counter(NAMES_ASKED)
    assert sum(NAMES_ASKED.values()) <= 10


def test_declarations_of_ops_begin_with_the_derivative():
    fields = [f.target.id for f in class_named("Op", "core.op").body if isinstance(f, ast.AnnAssign)]
    declared = [
        (module.at(call.lineno, "defop"), [fields.index(k.arg) for k in call.keywords if k.arg])
        for module, function in functions()
        for call in function.decorator_list
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "defop"
    ]
    assert fields.index("vjp") < fields.index("kernel") and len(declared) > 100
    none(
        [where for where, order in declared if order != sorted(order)],
        f"Parts of an op are declared in one order, that of the fields: {', '.join(fields)}",
    )


def class_named(name: str, module: str) -> ast.ClassDef:
    """Return the syntax of one class of the package."""
    tree = parsed()[f"{PACKAGE}.{module}"].tree
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def test_files_are_short():
    none(
        [
            module.at(len(module.lines), f"{len(module.lines)} lines")
            for module in parsed().values()
            if len(module.lines) > MAX_FILE_LINES
        ],
        f"A file holds one idea in at most {MAX_FILE_LINES} lines.",
    )


def test_functions_are_short():
    none(
        [
            module.at(function.lineno, f"{function.name} has {size} lines of code")
            for module, function in functions()
            if (size := code_lines(module, function)) > MAX_FUNCTION_LINES
        ],
        f"A function has at most {MAX_FUNCTION_LINES} lines of code.",
    )


def test_the_median_function_is_small():
    sizes = sorted(((code_lines(m, f), m.at(f.lineno, f.name)) for m, f in functions()), reverse=True)
    if not sizes:
        return
    median = statistics.median(size for size, _ in sizes)
    if median > MAX_MEDIAN_FUNCTION_LINES:
        longest = [f"{size:4} {where}" for size, where in sizes[:20]]
        none(longest, f"The median function has {median} lines, the limit is {MAX_MEDIAN_FUNCTION_LINES}:")


def test_modules_have_docstrings():
    undocumented = [m for m in parsed().values() if m.lines and not ast.get_docstring(m.tree)]
    offenders = [module.at(1, "no docstring") for module in undocumented]
    none(offenders, "A module opens with a paragraph: what it is for and what it must not know.")


def test_import_is_light():
    face = parsed().get(PACKAGE)
    names = [node for node in face.tree.body if not isinstance(node, ast.Expr)] if face else []
    if not names:
        pytest.skip("tracejit/__init__.py has no names yet")
    loaded, public = import_in_a_new_process()
    assert public, "import tracejit brought no public name"
    assert f"{PACKAGE}.core" in loaded, "import tracejit loaded no core: nothing was tested"
    heavy = sorted({name.split(".")[0] for name in loaded} & LAZY)
    assert not heavy, f"import tracejit loads {', '.join(heavy)}"


def import_in_a_new_process() -> tuple[list[str], list[str]]:
    """Import the package in a fresh process; return the modules loaded and the public names.

    The process then imports llvmlite and networkx, to show that they were absent by design, not by accident.
    """
    code = (
        f"import sys; sys.path.insert(0, {str(SOURCE)!r}); import {PACKAGE} as package, json;"
        "loaded = sorted(sys.modules); public = [name for name in dir(package) if name[0] != '_'];"
        "import llvmlite, networkx; print(json.dumps([loaded, public]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded, public = json.loads(done.stdout)
    return loaded, public


def prose_files() -> list[Path]:
    """Return every file of the project that a person reads."""
    folders = [folder for name in PROSE_FOLDERS if (folder := ROOT / name).is_dir()]
    inner = [path for folder in folders for pattern in PROSE for path in folder.rglob(pattern)]
    return sorted({*inner, *(path for pattern in PROSE for path in ROOT.glob(pattern))})


def test_the_text_speaks_of_the_project_only():
    files = prose_files()
    assert ROOT / "Makefile" in files
    pattern = re.compile("|".join(FORBIDDEN))
    none(
        [
            f"{path.relative_to(ROOT)}:{number}: {found.group()}"
            for path in files
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
            if (found := pattern.search(line))
        ],
        "Machine paths, notes to self and talk about how the text came to be do not belong here:",
    )


def test_architecture_names_files_that_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:core|ops|runtime|compiler|frontend)/[\w/]+\.py)`", text))
    assert len(named) > 20
    none(
        sorted(n for n in named if not (SOURCE / PACKAGE / n).is_file()),
        "ARCHITECTURE.md names no such file:",
    )
    words = len(text.split())
    assert words <= 900, f"{words} words: who is new reads 900"
