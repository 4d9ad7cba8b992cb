"""The console script ``tracejit``.

It stands beside the package, not in it: whoever imports a module of a package runs the package's face first, and ours
loads NumPy, which takes longer than all that ``tracejit --help`` does. So the face waits for the commands that need it.
"""

from __future__ import annotations

import importlib.util
import sys


def run() -> None:
    """Run the command line, and end the process with its exit code."""
    spec = importlib.util.find_spec("tracejit")
    assert spec is not None and spec.loader is not None
    loader, package = spec.loader, importlib.util.module_from_spec(spec)
    sys.modules["tracejit"] = package  # its modules can be imported now; its own names come with the face
    try:
        from tracejit.cli.main import main
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(main(face=lambda: loader.exec_module(package)))


if __name__ == "__main__":
    run()
