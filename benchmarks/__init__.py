"""Measurements beside hand-written NumPy, numba and JAX: ``python -m benchmarks``, ``-m benchmarks.heat`` ...

Importing the package keeps the process on one thread, for every peer and before any of them loads: one
processor by affinity (JAX sizes its pools by it), one thread for each library that asks the environment,
and no leftover settings that would make NumPy's BLAS pick kernels of another machine.
"""

import os

THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "TRACEJIT")

for name in THREADS:
    os.environ[f"{name}_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
os.environ["JAX_PLATFORMS"] = "cpu"
for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
