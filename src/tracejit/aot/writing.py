"""The files of an artifact: libraries and objects by their suffix, calling modules by their language.

Another kind of file is one row of `FILES`; another language one row of `LANGUAGES`, which gives it files, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..core.errors import at, user_location
from ..runtime.compiled import CompiledObject
from ..runtime.exported.fortran import fortran
from ..runtime.exported.header import header
from ..runtime.exported.interface import Interface
from ..runtime.exported.javascript import javascript
from ..runtime.exported.julia import julia
from ..runtime.exported.python_module import python_module
from ..runtime.exported.rust import rust
from ..runtime.linking.archive import archive
from ..runtime.linking.relocatable import merge
from ..runtime.linking.shared import shared_object
from ..runtime.signature import Signature


class FileKind(NamedTuple):
    """A kind of file.

    Attributes
    ----------
    make : callable
        The file's contents, given the code, its interface and the file's name.
    machines : tuple of str
        The architectures whose code it can hold or call; empty: any.
    """

    make: Callable[[CompiledObject, Interface, str], str | bytes]
    machines: tuple[str, ...] = ()


class Language(NamedTuple):
    """A language whose programs can call exported functions.

    Attributes
    ----------
    suffix : str
        The end of the names of its files.
    make : callable
        The text of a module, given the code and its interface.
    machines : tuple of str
        As of `FileKind`.
    """

    suffix: str
    make: Callable[[CompiledObject, Interface], str]
    machines: tuple[str, ...] = ()


def _object(compiled: CompiledObject, interface: Interface, _: str) -> bytes:
    if compiled.image[4] == 1:  # addresses of 4 bytes: LLVM has linked it
        return compiled.image
    return merge([compiled.image], {}, interface.functions(compiled.allocates))


def _archive(compiled: CompiledObject, interface: Interface, name: str) -> bytes:
    image = _object(compiled, interface, name)
    return archive(f"{interface.name}.o", image, interface.functions(compiled.allocates))


def _shared(compiled: CompiledObject, interface: Interface, name: str) -> bytes:
    return shared_object(_object(compiled, interface, name), name)


def _header(compiled: CompiledObject, interface: Interface, _: str) -> str:
    return header(interface, compiled.signature, compiled.allocates)


def _python(compiled: CompiledObject, interface: Interface) -> str:
    return python_module(interface, compiled.signature, f"lib{interface.name}.so")


def _of_interface(text: Callable[[Interface, Signature], str]) -> Callable[[CompiledObject, Interface], str]:
    return lambda compiled, interface: text(interface, compiled.signature)


def _module(compiled: CompiledObject, _: Interface, __: str) -> bytes:
    return compiled.image


def _of_language(made: Language) -> FileKind:
    return FileKind(lambda compiled, interface, _: made.make(compiled, interface), made.machines)


_LINUX, _WEB = ("x86_64", "aarch64", "riscv64"), ("wasm32",)
_NATIVE = (*_LINUX, "thumbv7em")

LANGUAGES: dict[str, Language] = {
    "python": Language(".py", _python, _LINUX),
    "rust": Language(".rs", _of_interface(rust), _LINUX),
    "fortran": Language(".f90", _of_interface(fortran), _LINUX),
    "julia": Language(".jl", _of_interface(julia), _LINUX),
    "js": Language(".mjs", _of_interface(javascript), _WEB),
}

FILES: dict[str, FileKind] = {
    ".so": FileKind(_shared, _LINUX),
    ".o": FileKind(_object, _NATIVE),
    ".a": FileKind(_archive, _NATIVE),
    ".h": FileKind(_header),
    ".wasm": FileKind(_module, _WEB),
    **{made.suffix: _of_language(made) for made in LANGUAGES.values()},
}


def file_kind(suffix: str) -> FileKind:
    """The kind of file whose names end so; ValueError says which there are."""
    try:
        return FILES[suffix]
    except KeyError:
        known = ", ".join(sorted(FILES))
        raise ValueError(
            f"write to one of {known}, and save to .tja; got {suffix!r}{at(user_location())}"
        ) from None


def language(name: str) -> Language:
    """The language of that name; ValueError says which there are."""
    try:
        return LANGUAGES[name]
    except KeyError:
        known = ", ".join(map(repr, LANGUAGES))
        raise ValueError(f"there are bindings for {known}, got {name!r}{at(user_location())}") from None
