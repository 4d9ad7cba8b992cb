"""Run every benchmark, each in a process of its own: no peer's settings or memory reach the next one."""

import subprocess
import sys

NAMES = (
    "startup",
    "compile_time",
    "first_calls",
    "flagship",
    "control_flow",
    "memory",
    "steady",
    "lorenz",
    "heat",
    "lstm",
    "newton",
    "elementwise",
    "special_functions",
    "digits",
    "eager",
    "embedding",
    "aot",
)


def main() -> int:
    """Run the benchmarks in order; return 1 if one of them failed."""
    codes = [subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode for name in NAMES]
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
