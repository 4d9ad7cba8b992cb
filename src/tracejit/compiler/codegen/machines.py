"""What LLVM is asked for: a module, and the machine it is for.

The machines are the whole list of what code can be made for, since a name that LLVM does not know ends the process.
Knows nothing of LLVM itself, so that whoever has no LLVM can ask, too.
"""

from __future__ import annotations

import platform
from collections.abc import Hashable
from typing import NamedTuple, Protocol


class Target(Hashable, Protocol):
    """What a processor must have: an architecture, a tuning name and ``"+feature,-feature"`` text.

    The name ``"host"`` means this machine, whatever the text says.
    """

    @property
    def arch(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def features(self) -> str: ...


class Machine(NamedTuple):
    """What LLVM has to know to make code.

    Attributes
    ----------
    triple, cpu, features : str
        In LLVM's spelling.
    abi : str
        Which of an architecture's calling conventions; empty for its own.
    relocation : str
        ``"pic"``, or ``"static"`` where nothing is moved after linking.
    """

    triple: str
    cpu: str
    features: str
    abi: str = ""
    relocation: str = "pic"


class Unit(NamedTuple):
    """A module to compile.

    Attributes
    ----------
    text : str
        Its triple and data layout are supplied here. Mark functions ``"no-builtins"``, or LLVM turns loops into calls
        of ``memset`` and ``memcpy``.
    opt : int
        0: stack slots promoted, plain code generation; for code that runs once.
        1: also common subexpressions, loop invariants and control flow; for explicit-vector kernels.
        2: the full pipeline with unrolling, and the best register allocation; for scalar loops and
        register-blocked kernels.
    ready : bool
        The text is as good as passes would make it: translate it as it is, with the code generation of `opt`.
    hoisted : bool
        Invariants stand outside of loops already: at level 1, no pass looks for them.
    """

    text: str
    opt: int = 1
    ready: bool = False
    hoisted: bool = False


class _Architecture(NamedTuple):
    triple: str
    cpu: str  # known in every version of LLVM
    required: tuple[str, ...]  # LLVM ends the process without these
    abi: str = ""
    relocation: str = "pic"


_ARCHITECTURES = {
    "x86_64": _Architecture("x86_64-unknown-linux-gnu", "generic", ("64bit", "sse2")),
    "aarch64": _Architecture("aarch64-unknown-linux-gnu", "generic", ("neon",)),
    "riscv64": _Architecture(
        "riscv64-unknown-linux-gnu", "generic-rv64", ("64bit", "m", "a", "f", "d", "c"), "lp64d"
    ),
    "wasm32": _Architecture(
        "wasm32-unknown-unknown", "mvp", ("mutable-globals", "nontrapping-fptoint", "sign-ext"), "", "static"
    ),
    "thumbv7em": _Architecture("thumbv7em-unknown-none-eabihf", "cortex-m4", ("thumb-mode",)),
}
_X86_NAMES = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")


def own_architecture() -> str:
    """That of this process."""
    name = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


def machine_of(target: Target) -> Machine:
    """The machine of a target; ValueError for an architecture that there is no code for."""
    try:
        triple, cpu, required, abi, relocation = _ARCHITECTURES[target.arch]
    except KeyError:
        known = " and ".join(_ARCHITECTURES)
        raise ValueError(f"code can be generated for {known}, not for {target.arch!r}") from None
    name = target.name if target.arch == "x86_64" and target.name in _X86_NAMES else cpu
    wanted = {f[1:]: f[0] == "+" for f in target.features.split(",") if f}
    return Machine(triple, name, joined(wanted | dict.fromkeys(required, True)), abi, relocation)


def joined(features: dict[str, bool]) -> str:
    """Features as LLVM's text."""
    return ",".join(("+" if on else "-") + name for name, on in sorted(features.items()))
