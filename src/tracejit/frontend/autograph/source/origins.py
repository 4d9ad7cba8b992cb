"""The origin of code: the user's code is converted, that of Python and of installed packages is not."""

from __future__ import annotations

import builtins
import os
import site
import sys
from weakref import WeakKeyDictionary

from ....core.errors import PACKAGE


def _library_paths() -> tuple[str, ...]:
    """Where Python's own modules and installed packages are, as ``sysconfig`` says, whose data take long to load."""
    folders = [os.path.dirname(os.__file__), *site.getsitepackages(), site.getusersitepackages()]
    return tuple({os.path.join(p, "") for p in folders})


LIBRARIES = _library_paths()


_MADE_BY_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE


_of_users: WeakKeyDictionary[type, bool] = WeakKeyDictionary()


def is_users_class(kind: type) -> bool:
    """Was a class defined by the user's program? Known while the class lives, which is not kept for that."""
    known = _of_users.get(kind)
    if known is None:
        known = _of_users[kind] = _is_users(kind)
    return known


def _is_users(kind: type) -> bool:
    module = kind.__module__ or ""
    if module == "builtins":  # also that of classes made by ``exec`` without a name for their module
        return vars(builtins).get(kind.__name__) is not kind and bool(kind.__flags__ & _MADE_BY_PYTHON)
    if module in sys.builtin_module_names or module == "tracejit.errors":  # which need not be loaded
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is None or not file.startswith((*LIBRARIES, PACKAGE))
