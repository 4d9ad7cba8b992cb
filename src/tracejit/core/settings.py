"""Process-wide settings: a fixed set of names with documented values, overridable for a block.

Knows nothing of the rest of the package; every other module may read it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import fields, replace
from typing import Any

from .dataclass import dataclass
from .seams import settings_changed


@dataclass(frozen=True)
class Settings:
    """Every setting, its type and its default.

    Attributes
    ----------
    contract : bool
        Allow the compiler to join a multiply and an add into one rounding.
    fastmath : bool
        Compile for speed where exactness costs: numbers divided several times by the same, or by a root or a literal,
        are multiplied by its reciprocal. Each such quotient is off by up to 1.5 ULP, by a root up to 3, where a
        division is by 0.5. NaN, infinities and zeros come out the same where reciprocals are normal numbers, of
        divisors between 2e-308 and 4e307 (float32: 1e-38 and 8e37), and 0 and infinity themselves; sums with 0 and
        products with 0 are left out, which changes signs of zeros, and NaN and infinities times 0. Literals between
        2**-32 and 2**32 that a product is multiplied by are multiplied with each other first, signs and doubled
        numbers too: no result is rounded more often than as written, but what overflows or underflows on its way,
        within a factor of 2**64, may come out otherwise. For one function: ``function(f, fastmath=True)``.
    dtype_promotion : str
        ``"numpy"`` promotes mixed dtypes as NumPy 2 does, but for NumPy's integers beside floating tensors, which
        take the dtype of these; ``"strict"`` raises TypeError.
    default_dtype : str
        dtype given to Python floats, ``"float32"`` or ``"float64"``.
    eager : bool
        Run the bodies of compiled functions eagerly, so that ``print`` and ``pdb`` work.
    check : bool
        Verify graphs after every pass and shapes after every eager op; warn of a loop, by its line, that has run
        for ten seconds when nothing tells when it ends.
    nans : bool
        Raise FloatingPointError at the first op, forwards or backwards, that makes a NaN or an infinity of finite
        numbers, with your line, eagerly and compiled, which is done without ``fastmath``. Those among constants and
        arguments are let through.
    fast : bool
        Use the fast lane of the eager door, and machine code that calls compiled functions (identical results; off in
        one test run).
    cache : bool
        Keep compiled objects on disk.
    debug : int
        What compilation prints to standard error, each level a thing more: 1 what is compiled, and its time; 2 each
        pass's time; 3 each rewrite with its rule, the rule's line and yours; 4 the program after each pass; 5 the LLVM
        text; 6 the assembly. 0 is quiet.
    debug_info : bool
        Let compiled code know your lines and the functions they are in, and load it from a file in the cache's folder,
        so that gdb, perf and valgrind show them.
    internal_frames : bool
        Show frames of the package in tracebacks, more than the one line that you called.
    weights_dtype : str
        Name of the dtype in which layers of a mixed policy have their weights read; each sets it while it is called.
    num_threads : int
        How many threads compiled code uses at the most, in the whole process; 0 is one for each processor that the
        process may run on. Results do not depend on it.
    """

    contract: bool = True
    fastmath: bool = False
    dtype_promotion: str = "numpy"
    default_dtype: str = "float32"
    eager: bool = False
    check: bool = False
    nans: bool = False
    fast: bool = True
    cache: bool = True
    debug: int = 0
    debug_info: bool = False
    internal_frames: bool = False
    weights_dtype: str = ""
    num_threads: int = 0

    @property
    def shaping(self) -> tuple[bool, bool, bool]:
        """The settings that compiled code depends on."""
        return self.contract, self.fastmath, self.debug_info


_CHOICES = {
    "dtype_promotion": ("numpy", "strict"),
    "default_dtype": ("float32", "float64"),
    "weights_dtype": ("", "float16", "bfloat16"),
}
_NAMES = {f.name: type(f.default) for f in fields(Settings)}


def _checked(name: str, value: Any) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"unknown setting {name!r}; the settings are {', '.join(_NAMES)}")
    if name == "num_threads" and isinstance(value, int) and value < 0:
        raise ValueError(f"setting {name!r} is 0 or a number of threads, got {value!r}")
    kind = _NAMES[name]
    if not isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        raise TypeError(f"setting {name!r} takes {kind.__name__}, got {value!r}")
    if name in _CHOICES and value not in _CHOICES[name]:
        raise ValueError(f"setting {name!r} is one of {_CHOICES[name]}, got {value!r}")
    return value


def _from_environment() -> Settings:
    values: dict[str, Any] = {}
    for name, kind in _NAMES.items():
        text = os.environ.get(f"TRACEJIT_{name.upper()}")
        if text is None or text == "":
            continue
        if kind is str:
            values[name] = _checked(name, text)
        elif text.lstrip("-").isdigit():
            values[name] = _checked(name, bool(int(text)) if kind is bool else int(text))
        else:
            raise ValueError(f"TRACEJIT_{name.upper()} takes a number, got {text!r}")
    return Settings(**values)


_process = _from_environment()
#: Those of the innermost block here, if there is one.
in_block: ContextVar[Settings | None] = ContextVar("tracejit_settings", default=None)


def current() -> Settings:
    """The settings in force here: those of the innermost block, else the process's."""
    return in_block.get() or _process


def of_process() -> Settings:
    """The settings in force outside of blocks."""
    return _process


def configure(**changes: Any) -> None:
    """Change settings for the whole process, `changes` by name; unknown names and values raise.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.configure(contract=True)
    >>> with tf.settings() as now:
    ...     now.contract
    True
    """
    global _process
    _process = replace(_process, **{k: _checked(k, v) for k, v in changes.items()})
    settings_changed()


@contextlib.contextmanager
def settings(**changes: Any) -> Iterator[Settings]:
    """Change settings inside a ``with`` block of this thread: `changes` by name, as in :func:`configure`.

    Examples
    --------
    >>> with settings(contract=False) as s:
    ...     s.contract
    False
    """
    token = in_block.set(replace(current(), **{k: _checked(k, v) for k, v in changes.items()}))
    settings_changed()
    try:
        yield current()
    finally:
        in_block.reset(token)
        settings_changed()
