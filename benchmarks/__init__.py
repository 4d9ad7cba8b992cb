"""Measurements beside hand-written NumPy, numba and JAX: ``python -m benchmarks``, ``-m benchmarks.heat`` ...

Importing the package keeps the process on one thread, for every peer and before any of them loads: one
processor by affinity (JAX sizes its pools by it), one thread for each library that asks the environment,
and no leftover settings that would make NumPy's BLAS pick kernels of another machine. ``BENCHMARKS_THREADS=all``
leaves every processor that the process may use, and as many threads.
"""

import os

THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "TRACEJIT")
TENSORFLOW = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
ALL = os.environ.get("BENCHMARKS_THREADS") == "all"

# Those of the first process: what it starts finds itself on one, whatever it asks for.
given = os.environ.get("BENCHMARKS_PROCESSORS", "")
available = [*map(int, given.split())] or (
    sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [*range(os.cpu_count() or 1)]
)
os.environ["BENCHMARKS_PROCESSORS"] = " ".join(map(str, available))
processors = available if ALL else available[-1:]
for name in (*(f"{name}_NUM_THREADS" for name in THREADS), *TENSORFLOW):
    os.environ[name] = str(len(processors))
os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={str(ALL).lower()}"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, processors)
