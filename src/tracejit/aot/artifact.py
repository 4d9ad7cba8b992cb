"""Artifact: an exported function as one object, called here, written for others, checked. Needs no compiler."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import astuple
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core.dim import evaluate, holds
from ..core.errors import DtypeError, ShapeError, TracejitError, at, user_location
from ..frontend.structure import flatten
from ..runtime import cpu
from ..runtime.compiled import CompiledObject
from ..runtime.executable import Executable
from ..runtime.exported import container
from ..runtime.exported.container import BadArtifact
from ..runtime.exported.header import header
from ..runtime.exported.interface import Interface, array_text, c_type, signature_text
from . import writing

_CODE = "code"


class NotVerified(TracejitError, AssertionError):
    """An artifact that does not compute what it was made for."""


class Sample(NamedTuple):
    """Arguments, and what they give."""

    inputs: tuple[np.ndarray, ...]
    outputs: tuple[np.ndarray, ...]


class Code(NamedTuple):
    """The code for one processor, or those that can do as much."""

    target: cpu.CpuTarget
    compiled: CompiledObject
    interface: Interface

    @property
    def text(self) -> str:
        """The processors, for people and in files."""
        return f"{self.target.arch}/{self.target.name}"


class Verification(NamedTuple):
    """How well an artifact does, as relative errors; None for what could not be tried.

    Attributes
    ----------
    sample : float or None
        Against the results that were kept when it was made, computed without the compiler.
    gradient : float or None
        Of its gradients against differences of its values.
    """

    sample: float | None
    gradient: float | None


class Artifact:
    """An exported function: made by :func:`export`, or read by :func:`load`.

    Calling it with arrays, in the order of :attr:`signature` or in the nests of the Python function, gives its results
    as arrays: one, or a tuple.

    Parameters
    ----------
    codes : sequence of Code
        The same function for several processors, the best first.
    sample : Sample or None
        Arguments and results that :meth:`verify` compares with.
    """

    def __init__(self, codes: Sequence[Code], sample: Sample | None):
        self._codes = tuple(codes)
        self._sample = sample
        self._admitted: set[tuple] = set()
        _, compiled, self._interface = codes[0]
        self._inputs = compiled.signature.inputs
        self._dtypes = [dtype for dtype, _ in self._inputs]
        self._kinds = [np.ndarray] * len(self._inputs)

    # ---- calling ----------------------------------------------------------------------------------------

    @cached_property
    def _executable(self) -> Executable:
        """The first code that this processor can run, loaded."""
        machine = cpu.host()
        for code in self._codes:
            if code.target.runs_on(machine):
                return code.compiled.load()
        target = self._codes[-1].target
        lacking = ", ".join(sorted(target.enabled - machine.enabled))
        raise BadArtifact(
            f"{self.name} has code for {self.targets}, and this processor is {machine.arch} without {lacking}: export "
            "it for a lower level, targets=('x86-64-v2',)"
        )

    def __call__(self, *args: Any) -> Any:
        if [type(x) for x in args] != self._kinds:
            args = self._arrays(args)
        shapes = tuple([x.shape for x in args])
        if shapes not in self._admitted or [x.dtype for x in args] != self._dtypes:
            self._check(args)
            self._admitted.add(shapes)
        outputs = self._executable(args)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _arrays(self, args: Sequence[Any]) -> tuple[np.ndarray, ...]:
        """The arrays in the arguments, with Python's numbers as what is wanted there."""
        leaves = flatten(args)[0]
        if len(leaves) != len(self._inputs):
            raise TypeError(f"{self.signature} takes {len(self._inputs)} arrays, got {len(leaves)}")
        pairs = zip(leaves, self._inputs, strict=True)
        return tuple(
            np.asarray(x, dtype) if isinstance(x, (int, float, complex)) else np.asarray(x)
            for x, (dtype, _) in pairs
        )

    def _check(self, arrays: Sequence[np.ndarray]) -> None:
        """ShapeError or DtypeError for arrays that are not what the function was made for."""
        signature = self._codes[0].compiled.signature
        specs = list(zip(self._interface.inputs, arrays, self._inputs, strict=True))
        for name, x, (dtype, shape) in specs:
            if x.dtype != dtype or x.ndim != len(shape):
                error = ShapeError if x.dtype == dtype else DtypeError
                raise error(f"{name} is {array_text(dtype, shape)}, got {array_text(x.dtype, x.shape)}")
        sizes = {name: arrays[index].shape[axis] for name, index, axis in signature.atoms}
        for name, x, (dtype, shape) in specs:
            wanted = tuple(evaluate(s, sizes) for s in shape)
            if x.shape != wanted:
                known = ", ".join(f"{n} = {size}" for n, size in sizes.items())
                where = f" where {known}" if known else ""
                raise ShapeError(f"{name} is {array_text(dtype, shape)}{where}, got the shape {x.shape}")
        if not holds(self._interface.checks, sizes):
            rules = ", ".join(f"{a} {relation} {b}" for relation, a, b in self._interface.checks)
            raise ShapeError(f"{self._interface.name} was made for {rules}, got {sizes}")

    # ---- what it is -------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the C function."""
        return self._interface.name

    @property
    def signature(self) -> str:
        """Parameters and results, with dtypes and shapes."""
        return signature_text(self._interface, self._codes[0].compiled.signature)

    @property
    def targets(self) -> tuple[str, ...]:
        """The processors that there is code for, the best first: ``"x86_64/host"``."""
        return tuple(code.text for code in self._codes)

    def __repr__(self) -> str:
        return f"<Artifact {self.signature} for {', '.join(self.targets)}>"

    # ---- writing ----------------------------------------------------------------------------------------

    def header(self, target: str | None = None) -> str:
        """The C header of the code for `target`, one of :attr:`targets`, by default the first: C99, and valid C++."""
        _, compiled, interface = self._code(target)
        return header(interface, compiled.signature, compiled.allocates)

    def bindings(self, language: str, target: str | None = None) -> str:
        """The text of a module with which programs in another language call the written library.

        Parameters
        ----------
        language : str
            ``"python"``: a module that calls ``lib<name>.so`` beside it and needs NumPy only.
        target : str, optional
            One of :attr:`targets`, by default the first that fits.

        Raises
        ------
        ValueError
            For another language, and a target that there is no code for.
        """
        chosen = writing.language(language)
        _, compiled, interface = self._code(target, chosen.machines)
        return chosen.make(compiled, interface)

    def write(self, path: str | os.PathLike[str], target: str | None = None) -> None:
        """Write the code for a processor as the end of the path says.

        Parameters
        ----------
        path : path
            ``.so``, a shared library, which programs that are linked with it look for by this name; ``.o``, an object;
            ``.h``, the header; ``.py``, the :meth:`bindings` of that language.
        target : str, optional
            One of :attr:`targets`, by default the first that fits.

        Raises
        ------
        ValueError
            For another ending, and a target that there is no code for.
        """
        place = Path(path)
        kind = writing.file_kind(place.suffix)
        _, compiled, interface = self._code(target, kind.machines)
        contents = kind.make(compiled, interface, place.name)
        place.write_bytes(contents.encode() if isinstance(contents, str) else contents)

    def _code(self, target: str | None, machines: Sequence[str] = ()) -> Code:
        """The code for a target, or the first for one of the machines, if any are named."""
        for code in self._codes:
            if code.text == target or (target is None and (not machines or code.target.arch in machines)):
                return code
        wanted = repr(target) if target else " or ".join(machines)
        raise ValueError(
            f"there is code for {', '.join(self.targets)}, not for {wanted}{at(user_location())}"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file at `path`, a ``.tja``, which :func:`load` reads."""
        arrays = () if self._sample is None else (*self._sample.inputs, *self._sample.outputs)
        blobs = {f"code {k}": code.compiled.to_payload() for k, code in enumerate(self._codes)}
        blobs |= {f"sample {k}": a.tobytes() for k, a in enumerate(arrays)}
        described = {
            "codes": [[list(astuple(code.target)), code.interface.to_json()] for code in self._codes],
            "sample": [[a.dtype.name, list(a.shape)] for a in arrays],
        }
        container.write(path, described, blobs)

    # ---- checking ---------------------------------------------------------------------------------------

    def verify(self, rtol: float | None = None) -> Verification:
        """Compare what the code gives now with what was kept when it was made, and gradients with differences.

        Parameters
        ----------
        rtol : float, optional
            How far results may be from those kept, relative to the largest; by default 1e-9, and 1e-4 for narrow
            floats. Gradients are compared as well as differences allow.

        Raises
        ------
        NotVerified
            Says which result is how far off.
        """
        if self._sample is None:
            return Verification(None, None)
        inputs, wanted = self._sample
        outputs = self._executable(inputs)
        errors = [_distance(y, z) for y, z in zip(outputs, wanted, strict=True)]
        for name, error, y in zip(self._interface.outputs, errors, wanted, strict=True):
            allowed = rtol if rtol is not None else 1e-9 if y.dtype.itemsize >= 8 else 1e-4
            if not error <= allowed:
                raise NotVerified(f"{self.name}: {name} is off by {error:.2g} of its size from the sample's")
        return Verification(max(errors, default=0.0), self._gradient_error(inputs, outputs))

    def _gradient_error(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> float | None:
        """The largest error of a gradient along a direction, relative to its size."""
        random, worst = np.random.default_rng(1), None
        for place, index in self._interface.gradients:
            x, g = inputs[index], outputs[place]
            if x.dtype.kind != "f" or not x.size:
                continue
            step, allowed = (1e-6, 1e-4) if x.dtype.itemsize == 8 else (1e-2, 5e-2)
            direction = random.standard_normal(x.shape)
            direction /= np.linalg.norm(direction)
            moved = []
            for sign in (1, -1):
                changed = list(inputs)
                changed[index] = (x + sign * step * direction).astype(x.dtype)
                moved.append((float(self._executable(changed)[0]), changed[index].astype(np.float64)))
            (high, above), (low, below) = moved
            along = float(np.sum(g.astype(np.float64) * (above - below)))
            size = float(np.linalg.norm(g.astype(np.float64)) * np.linalg.norm(above - below))
            noise = 8 * np.finfo(x.dtype).eps * max(abs(high), abs(low))
            error = max(abs(high - low - along) - noise, 0.0) / max(size, 1e-300)
            if not error <= allowed:
                name = self._interface.outputs[place]
                raise NotVerified(f"{self.name}: {name} is off by {error:.2g} of its size from differences")
            worst = max(error, worst or 0.0)
        return worst


def _distance(y: np.ndarray, wanted: np.ndarray) -> float:
    """The largest difference, relative to the largest number; what is not finite must be the same."""
    y, wanted = (a.astype(np.complex128) for a in (y, wanted))
    finite = np.isfinite(wanted)
    if not np.array_equal(y[~finite], wanted[~finite], equal_nan=True):
        return float("inf")
    size = float(np.max(np.abs(wanted[finite]), initial=0.0))
    found = float(np.max(np.abs(y[finite] - wanted[finite]), initial=0.0))
    return found / size if size else found


def load(path: str | os.PathLike[str]) -> Artifact:
    """Read an artifact that :meth:`Artifact.save` wrote.

    Nothing but NumPy is needed to call it. Code is loaded at the first call: trust the file as you would a library.

    Parameters
    ----------
    path : path of a ``.tja``

    Raises
    ------
    BadArtifact
        The file is no artifact, is damaged, or has a format that this version does not read.

    Examples
    --------
    >>> import tempfile, os, tracejit as tf
    >>> path = os.path.join(tempfile.mkdtemp(), "square.tja")
    >>> tf.export(lambda x: x * x, ["f64"], name="square").save(path)
    >>> tf.load(path)(3.0)
    (array(9.), array(6.))
    """
    described, blobs = container.read(path)
    try:
        codes = [
            Code(
                cpu.CpuTarget(*map(str, target)),
                CompiledObject.from_payload(blobs[f"code {k}"]),
                Interface.from_json(interface),
            )
            for k, (target, interface) in enumerate(described["codes"])
        ]
        arrays = [_array(blobs[f"sample {k}"], *spec) for k, spec in enumerate(described["sample"])]
        split = len(codes[0].interface.inputs)
    except (
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
        SyntaxError,
        ArithmeticError,
        RecursionError,
    ) as error:
        raise BadArtifact(f"{path} does not describe an artifact: {error!r}") from None
    for _, compiled, interface in codes:
        names, signature = (interface.inputs, interface.outputs), compiled.signature
        if [*map(len, names)] != [len(signature.inputs), len(signature.outputs)]:
            raise BadArtifact(f"{path} does not describe an artifact: {names} for {signature}")
    sample = Sample(tuple(arrays[:split]), tuple(arrays[split:])) if arrays else None
    return Artifact(codes, sample)


def _array(blob: bytes, dtype: str, shape: Sequence[int]) -> np.ndarray:
    c_type(np.dtype(dtype))  # KeyError for what no function takes
    return np.frombuffer(blob, np.dtype(dtype)).reshape(shape)
