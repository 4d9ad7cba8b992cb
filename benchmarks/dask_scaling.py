"""Sums with gradients over Dask arrays: one process without Dask, one worker, two workers; and what each sends.

    python -m benchmarks.dask_scaling [--rows 400000] [--rounds 5]

Every candidate computes value and gradient of a logistic regression over the same blocks. Workers have one thread, and
so has the process that is compared with. The peer is the same tree of tasks with NumPy in the place of compiled code.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TRACEJIT_NUM_THREADS", "1")

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

import tracejit as tf
import tracejit.dask as td

COLUMNS = 64


def loss(w: Any, x: Any, y: Any) -> Any:
    """The mean of the logistic loss."""
    z = tf.linalg.matvec(x, w)
    return tf.reduce_mean(tf.nn.softplus(z) - y * z)


def by_numpy(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Value and gradient of a block, times its rows, as one array."""
    z = x @ w
    gradient = x.T @ (1 / (1 + np.exp(-z)) - y)
    return np.concatenate([[np.sum(np.logaddexp(0, z) - y * z)], gradient])


def median(call: Callable[[], Any], rounds: int) -> float:
    """The median of the times of calls, in milliseconds, after one that is not counted."""
    call()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return 1e3 * statistics.median(times)


def blocks_on(client: Client, array: np.ndarray) -> Any:
    """The rows in 16 blocks that lie with the workers, not in the graph that each call sends."""
    parts = np.array_split(array, 16)
    held = zip(map(dask.delayed, client.scatter(parts)), parts, strict=True)
    there = [da.from_delayed(block, shape=part.shape, dtype=part.dtype) for block, part in held]
    return da.concatenate(there).persist()


def measured(workers: int, x: np.ndarray, y: np.ndarray, w: np.ndarray, rounds: int) -> tuple[float, float]:
    """The times of compiled code and of NumPy's, with so many workers."""
    total = td.value_and_grad(loss, reduction="mean")
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        dx, dy = (blocks_on(client, array) for array in (x, y))
        blocks = list(zip(dx.to_delayed().ravel(), dy.to_delayed().ravel(), strict=True))

        def added() -> Any:
            return dask.delayed(sum)([dask.delayed(by_numpy)(w, *pair) for pair in blocks]).compute()

        return median(lambda: total(w, dx, dy), rounds), median(added, rounds)


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rows", type=int, default=400_000)
    arguments.add_argument("--rounds", type=int, default=7)
    options = arguments.parse_args()
    rng = np.random.default_rng(0)
    x = rng.normal(size=(options.rows, COLUMNS))
    w = rng.normal(size=COLUMNS) / 8
    y = (x @ w > 0).astype(float)
    alone = tf.function(tf.value_and_grad(loss))
    here = median(lambda: alone(w, x, y), options.rounds)
    print(f"{options.rows:,} rows of {COLUMNS} float64, in 16 blocks; medians of {options.rounds}, ms\n")
    print("| | tracejit | the same tasks with NumPy |\n|---|---:|---:|")
    print(f"| one process, no Dask | {here:.1f} | {median(lambda: by_numpy(w, x, y), options.rounds):.1f} |")
    for workers in (1, 2):
        ours, numpys = measured(workers, x, y, w, options.rounds)
        print(f"| {workers} worker{'s' * (workers > 1)} | {ours:.1f} | {numpys:.1f} |")


if __name__ == "__main__":
    main()
