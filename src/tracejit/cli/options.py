"""The words of the command line: which commands there are, what each takes, examples. Loads nothing but argparse."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NoReturn

from .failures import WrongUsage

_FUNCTION = (
    "module:function, or a file: model.py:loss; function may be a path of attributes, such as net.predict"
)
_SPEC = "one spec for each argument: 'f64[n,3],f64[3]'; sizes with one name are equal; nests as in Python: {w: f32[3]}"

_EXAMPLES = {
    "": """
examples:
  tracejit compile model.py:loss --spec "f64[n,3],f64[3]" --grad -o libloss.so -o loss.h
  tracejit inspect loss.tja
  tracejit graph model.py:loss --spec "f64[8,3],f64[3]" --grad -o loss.svg
  tracejit info --json

exit codes: 0 done, 1 it failed, 2 the command line makes no sense, 130 interrupted
""",
    "compile": """
examples:
  tracejit compile model:loss --spec "f64[n,3],f64[3]" --grad -o libloss.so --header loss.h
  tracejit compile model.py:loss --spec "f64[n]" --grad -o loss.tja --target x86-64-v3,x86-64-v2
  tracejit compile model.py:net.loss --spec "f32[n,784],i32[n]" --outputs value,grad --constants argument -o net.tja

All files are written when the code is there, and each whole or not at all.
""",
    "inspect": "\nexample:\n  tracejit inspect loss.tja --json\n",
    "verify": """
example:
  tracejit verify loss.tja --rtol 1e-8

Compares with the results that were kept when the artifact was made, and its gradients with differences of its values.
""",
    "trace": '\nexample:\n  tracejit trace model.py:loss --spec "f64[n]"\n',
    "graph": '\nexample:\n  tracejit graph model.py:loss --spec "f64[n]" --grad -o loss.svg\n',
    "loops": '\nexample:\n  tracejit loops model.py:loss --spec "f64[n]" --grad\n',
    "llvm": '\nexample:\n  tracejit llvm model.py:loss --spec "f64[n]" --grad -o loss.ll\n',
    "cache": "\nexample:\n  tracejit cache info\n",
    "info": "\nexample:\n  tracejit info --json\n",
}

#: What each stage of a function is.
STAGES = {
    "trace": "what Python recorded: control flow as it was rewritten, and the graph of the calls",
    "graph": "the graph that is compiled, after all rewrites",
    "loops": "the loops that the graph became, with the schedule of each",
    "llvm": "the LLVM text of the loops",
}


class Parser(argparse.ArgumentParser):
    """A parser that raises `WrongUsage`, where argparse's ends the process."""

    def error(self, message: str) -> NoReturn:
        raise WrongUsage(f"{message}\n{self.format_usage().rstrip()}")


def parser(version: Callable[[], str]) -> Parser:
    """The parser of the whole command line; `version` is asked for when it is shown."""
    common = _common()
    found = _made("tracejit", "", "Differentiate and compile functions of arrays, ahead of time.", [common])
    found.add_argument("--version", action=_Version, const=version)
    commands = found.add_subparsers(dest="command", metavar="command", required=True, parser_class=Parser)

    def command(name: str, text: str) -> Parser:
        made: Parser = commands.add_parser(
            name, help=text, **_how(name, f"{text[:1].upper()}{text[1:]}.", [common])
        )
        return made

    _compile(command("compile", "write a function, with its gradient, as a library that needs no Python"))
    for name, text in (
        ("inspect", "show what an artifact holds"),
        ("verify", "run an artifact against its sample"),
    ):
        sub = command(name, text)
        sub.add_argument("file", metavar="FILE", help="a .tja")
        if name == "verify":
            sub.add_argument(
                "--rtol", type=_positive, help="how far results may be from those kept, relative"
            )
    for name, text in STAGES.items():
        _stage(command(name, f"show {text}"), drawn=name == "graph")
    sub = command("cache", "say where compiled code is kept, and how much; or remove it")
    sub.add_argument("action", choices=("info", "clear", "path"))
    command("info", "show versions, the processor, the cache and what else is installed")
    return found


def _common() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    for flag, text in (
        ("--json", "print one JSON object, errors too"),
        ("--traceback", "show Python's traceback of an error"),
    ):
        common.add_argument(flag, action="store_true", default=argparse.SUPPRESS, help=text)
    return common


def _how(name: str, text: str, parents: list[argparse.ArgumentParser]) -> dict[Any, Any]:
    return {
        "description": text,
        "epilog": _EXAMPLES[name],
        "parents": parents,
        "allow_abbrev": False,
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }


def _made(prog: str, name: str, text: str, parents: list[argparse.ArgumentParser]) -> Parser:
    return Parser(prog=prog, **_how(name, text, parents))


def _compile(sub: Parser) -> None:
    _function(sub)
    sub.add_argument("-o", "--output", action="append", default=[], metavar="FILE", required=True,
                     help="where to write; several times if wanted; the ending says what")  # fmt: skip
    sub.add_argument("--header", metavar="FILE", help="where to write the C header; as -o FILE.h")
    which = sub.add_mutually_exclusive_group()
    _grad(which)
    which.add_argument("--outputs", type=_words, metavar="LIST", help="what comes out, such as value,grad")
    sub.add_argument("--name", help="of the C function; by default the Python function's")
    sub.add_argument(
        "--wrt", type=_words, metavar="LIST", help="arguments to differentiate by; by default all floats"
    )
    sub.add_argument("--target", type=_words, action="extend", metavar="LIST",
                     help="processors, the best first: such as host or x86-64-v3")  # fmt: skip
    sub.add_argument("--constants", choices=("embed", "argument"), default="embed",
                     help="what becomes of Variables and arrays that the function reads")  # fmt: skip
    sub.add_argument(
        "--debug", action="store_true", help="lines of the Python files for gdb, valgrind and perf"
    )


def _stage(sub: Parser, drawn: bool) -> None:
    _function(sub)
    _grad(sub)
    text = ".svg, .html or .dot draws it; else the text" if drawn else "where to write the text"
    sub.add_argument("-o", "--output", metavar="FILE", help=text)


def _function(sub: Parser) -> None:
    sub.add_argument("function", metavar="module:function", help=_FUNCTION)
    sub.add_argument("--spec", required=True, metavar="SPECS", help=_SPEC)


def _grad(sub: argparse._ActionsContainer) -> None:
    sub.add_argument(
        "--grad", action="store_true", help="with the gradient: value and gradient by every float"
    )


class _Version(argparse.Action):
    """Print the version, which is looked up only now."""

    def __init__(self, option_strings: list[str], dest: str, const: Callable[[], str]):
        super().__init__(option_strings, dest, 0, const, argparse.SUPPRESS, help="show the version")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"tracejit {self.const()}")
        parser.exit()


def _words(text: str) -> list[str]:
    found = [word.strip() for word in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"words with commas between them, got {text!r}")
    return found


def _positive(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not found >= 0:
        raise argparse.ArgumentTypeError(f"a number, 0 or more, got {text!r}")
    return found
