"""How a function with its gradient leaves a process: each peer makes an artifact in one, and calls it in others.

The job is a sum of exp(-s²/2) sin s + 0.01 s² over s = x·w of 1,000 rows of three numbers: value and both gradients in
float64. ``python -m benchmarks.aot_peers make|use NAME FOLDER`` prints JSON. A peer is imported only by its own
functions, so that what they load is what is timed. Knows nothing of how often and in which order it is asked.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import json
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROWS, COLUMNS = 1000, 3
SECONDS = 0.3
"""How long calls are timed in one process."""

Call = Callable[[], tuple[Any, ...]]


class Peer(NamedTuple):
    """One way for a gradient to leave.

    Attributes
    ----------
    needs : str
        What has to be installed where it is called.
    gradient : str
        How it comes by one.
    files : tuple of str
        The files that have to be there to call it.
    make : callable
        Given a folder, writes them.
    load : callable
        Given the folder and the arguments, a call that gives value and gradients as arrays.
    package : str
        What has to be importable to make it.
    """

    needs: str
    gradient: str
    files: tuple[str, ...]
    make: Callable[[Path], None]
    load: Callable[[Path, np.ndarray, np.ndarray], Call]
    package: str


def arguments() -> tuple[np.ndarray, np.ndarray]:
    """Return x ``[1000, 3]`` and w ``[3]``."""
    random = np.random.default_rng(0)
    return random.standard_normal((ROWS, COLUMNS)), random.standard_normal(COLUMNS)


def by_hand(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return value and gradients by NumPy."""
    s = x @ w
    bell = np.exp(-0.5 * s * s)
    slope = bell * (np.cos(s) - s * np.sin(s)) + 0.02 * s
    return np.sum(bell * np.sin(s) + 0.01 * s * s), np.outer(slope, w), x.T @ slope


# ---- tracejit -------------------------------------------------------------------------------------------


def make_tracejit(folder: Path) -> None:
    """Write the library, the module that calls it and the artifact, for any number of rows."""
    tj = importlib.import_module("tracejit")

    def rows(x: Any, w: Any) -> Any:
        s = tj.reduce_sum(x * w, axis=1)
        return tj.reduce_sum(tj.exp(-0.5 * s * s) * tj.sin(s) + 0.01 * s * s)

    specs = [f"f64[n,{COLUMNS}]", f"f64[{COLUMNS}]"]
    artifact = tj.export(rows, specs, name="rows", targets=["host"])  # as the peers do
    for name in ("librows.so", "rows.h", "rows.py"):
        artifact.write(folder / name)
    artifact.save(folder / "rows.tja")


def load_library(folder: Path, x: np.ndarray, w: np.ndarray) -> Call:
    """Return the C function's call by ctypes, its results in arrays that are made once, as a C program has them."""
    library = ctypes.CDLL(str(folder / "librows.so"))
    value, gx, gw = np.empty(()), np.empty(x.shape), np.empty(w.shape)
    kept = [x, w, value, gx, gw]
    given, rows = [*map(_address, kept), ctypes.c_int64(ROWS)], library.rows
    if hasattr(library, "rows_workspace"):  # code that needs none takes none
        library.rows_workspace.restype = ctypes.c_int64
        kept.append(np.empty(library.rows_workspace(ctypes.c_int64(ROWS)), np.uint8))
        given.append(_address(kept[-1]))

    def call() -> tuple[Any, ...]:
        if rows(*given):
            raise RuntimeError("rows failed")
        return kept[2:5]

    return call


def _address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def load_module(folder: Path, x: np.ndarray, w: np.ndarray) -> Call:
    """Return the call of the module that `write` made for the library."""
    spec = importlib.util.spec_from_file_location("rows", folder / "rows.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda: module.rows(x, w)


def load_artifact(folder: Path, x: np.ndarray, w: np.ndarray) -> Call:
    """Return the call of the artifact as `tracejit.load` reads it."""
    artifact = importlib.import_module("tracejit").load(folder / "rows.tja")
    return lambda: artifact(x, w)


# ---- JAX ------------------------------------------------------------------------------------------------


def _jax() -> tuple[Any, Any]:
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    def rows(x: Any, w: Any) -> Any:
        s = x @ w
        return jnp.sum(jnp.exp(-0.5 * s * s) * jnp.sin(s) + 0.01 * s * s)

    return jax, jax.jit(jax.value_and_grad(rows, argnums=(0, 1)))


def _flat(result: tuple) -> tuple[Any, ...]:
    value, gradients = result
    return value, *gradients


def make_jax_export(folder: Path) -> None:
    """Write StableHLO."""
    _, both = _jax()
    exported = importlib.import_module("jax.export").export(both)(*arguments())
    (folder / "rows.stablehlo").write_bytes(exported.serialize())


def load_jax_export(folder: Path, x: np.ndarray, w: np.ndarray) -> Call:
    """Return the call of what is compiled again here."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    exported = importlib.import_module("jax.export").deserialize((folder / "rows.stablehlo").read_bytes())
    call = jax.jit(exported.call)
    return lambda: _flat(jax.block_until_ready(call(x, w)))


def make_jax_executable(folder: Path) -> None:
    """Write the compiled executable, a pickle."""
    _, both = _jax()
    compiled = both.lower(*arguments()).compile()
    parts = importlib.import_module("jax.experimental.serialize_executable").serialize(compiled)
    (folder / "rows.pickle").write_bytes(pickle.dumps(parts))


def load_jax_executable(folder: Path, x: np.ndarray, w: np.ndarray) -> Call:
    """Return the call of the executable."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    parts = pickle.loads((folder / "rows.pickle").read_bytes())
    call = importlib.import_module("jax.experimental.serialize_executable").deserialize_and_load(*parts)
    return lambda: _flat(jax.block_until_ready(call(x, w)))


# ---- PyTorch --------------------------------------------------------------------------------------------


def _torch_program() -> Any:
    """Return the exported program of value and gradients, whose calls of autograd are written out beforehand.

    ``torch.export`` of a module that asks autograd for a gradient refuses.
    """
    torch = importlib.import_module("torch")
    make_fx = importlib.import_module("torch.fx.experimental.proxy_tensor").make_fx

    def rows(x: Any, w: Any) -> tuple:
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        s = x @ w
        value = (torch.exp(-0.5 * s * s) * torch.sin(s) + 0.01 * s * s).sum()
        return value.detach(), *torch.autograd.grad(value, (x, w))

    tensors = tuple(map(torch.from_numpy, arguments()))
    return torch.export.export(make_fx(rows)(*tensors), tensors)


def make_torch_export(folder: Path) -> None:
    """Write the graph of ATen calls."""
    importlib.import_module("torch").export.save(_torch_program(), folder / "rows_graph.pt2")


def load_torch_export(folder: Path, x: np.ndarray, w: np.ndarray) -> Call:
    """Return the call of the graph, one op at a time."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    call = torch.export.load(folder / "rows_graph.pt2").module()
    tensors = torch.from_numpy(x), torch.from_numpy(w)
    return lambda: tuple(t.numpy() for t in call(*tensors))


def make_inductor(folder: Path) -> None:
    """Write a package with compiled C++."""
    program = _torch_program()
    inductor = importlib.import_module("torch._inductor")
    inductor.aoti_compile_and_package(program, package_path=str(folder / "rows.pt2"))


def load_inductor(folder: Path, x: np.ndarray, w: np.ndarray) -> Call:
    """Return the call of the package."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    call = importlib.import_module("torch._inductor").aoti_load_package(str(folder / "rows.pt2"))
    tensors = torch.from_numpy(x), torch.from_numpy(w)
    return lambda: tuple(t.numpy() for t in call(*tensors))


# ---- CasADi ---------------------------------------------------------------------------------------------


def make_casadi(folder: Path) -> None:
    """Write C by CasADi, and a library by the C compiler; columns run fastest there, so x is transposed."""
    ca = importlib.import_module("casadi")
    x, w = ca.MX.sym("x", COLUMNS, ROWS), ca.MX.sym("w", COLUMNS)
    s = x.T @ w
    value = ca.sum1(ca.exp(-0.5 * s * s) * ca.sin(s) + 0.01 * s * s)
    rows = ca.Function("rows", [x, w], [value, ca.gradient(value, x), ca.gradient(value, w)])
    generator = ca.CodeGenerator("rows_casadi.c")
    generator.add(rows)
    generator.generate(f"{folder}/")
    command = "cc -O3 -march=native -shared -fPIC rows_casadi.c -o librows_casadi.so -lm".split()
    subprocess.run(command, cwd=folder, check=True)


def load_casadi(folder: Path, x: np.ndarray, w: np.ndarray) -> Call:
    """Return the call of the library by ctypes, as a C program does: pointers to arguments, results and work."""
    library = ctypes.CDLL(str(folder / "librows_casadi.so"))
    sizes = [ctypes.c_longlong() for _ in range(4)]
    library.rows_work(*map(ctypes.byref, sizes))
    value, gx, gw = np.empty(()), np.empty(x.shape), np.empty(w.shape)
    double = ctypes.POINTER(ctypes.c_double)
    inputs = (double * max(2, sizes[0].value))(*(a.ctypes.data_as(double) for a in (x, w)))
    outputs = (double * max(3, sizes[1].value))(*(a.ctypes.data_as(double) for a in (value, gx, gw)))
    integers, reals = (ctypes.c_longlong * (sizes[2].value + 1))(), (ctypes.c_double * (sizes[3].value + 1))()
    rows = library.rows

    def call() -> tuple[Any, ...]:
        if rows(inputs, outputs, integers, reals, 0):
            raise RuntimeError("rows failed")
        return value, gx, gw

    return call


PEERS = {
    "tracejit `.so`, by ctypes": Peer(
        "nothing", "its own", ("librows.so",), make_tracejit, load_library, "tracejit"
    ),
    "tracejit `.so`, by its `.py`": Peer(
        "NumPy", "its own", ("librows.so", "rows.py"), make_tracejit, load_module, "tracejit"
    ),
    "tracejit `.tja`": Peer(
        "NumPy, tracejit", "its own", ("rows.tja",), make_tracejit, load_artifact, "tracejit"
    ),
    "CasADi C code, by ctypes": Peer(
        "libm; a C compiler once", "its own", ("librows_casadi.so",), make_casadi, load_casadi, "casadi"
    ),
    "jax.export": Peer(
        "jax, jaxlib; compiles again", "its own", ("rows.stablehlo",), make_jax_export, load_jax_export, "jax"
    ),
    "JAX executable": Peer(
        "the same jax, jaxlib; a pickle",
        "its own",
        ("rows.pickle",),
        make_jax_executable,
        load_jax_executable,
        "jax",
    ),
    "torch.export": Peer(
        "torch", "written out by make_fx", ("rows_graph.pt2",), make_torch_export, load_torch_export, "torch"
    ),
    "AOTInductor": Peer(
        "torch", "written out by make_fx", ("rows.pt2",), make_inductor, load_inductor, "torch"
    ),
}


def make(peer: Peer, folder: Path) -> dict[str, Any]:
    """Make an artifact; return the seconds and the bytes."""
    start = time.perf_counter()
    peer.make(folder)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "bytes": sum((folder / name).stat().st_size for name in peer.files)}


def use(peer: Peer, folder: Path) -> dict[str, Any]:
    """Load an artifact and call it; return milliseconds to the loaded function and to the first result, µs per call."""
    x, w = arguments()
    start = time.perf_counter()
    call = peer.load(folder, x, w)
    loaded = time.perf_counter()
    first = [np.array(y) for y in call()]
    there = time.perf_counter()
    error = max(
        float(np.max(np.abs(y - z)) / np.max(np.abs(z))) for y, z in zip(first, by_hand(x, w), strict=True)
    )
    times = []
    while (begin := time.perf_counter()) < there + SECONDS:
        for _ in range(10):
            call()
        times.append((time.perf_counter() - begin) / 10)
    return {
        "load": 1e3 * (loaded - start),
        "first": 1e3 * (there - start),
        "call": 1e6 * float(np.median(times)),
        "error": error,
    }


if __name__ == "__main__":
    _, what, name, folder = sys.argv
    print(json.dumps({"make": make, "use": use}[what](PEERS[name], Path(folder))))
