"""`load`: an artifact from a file, which is validated before anything in it is used."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.dim import evaluate
from ..runtime import cpu
from ..runtime.compiled import CompiledObject
from ..runtime.exported import container
from ..runtime.exported.container import BadArtifact
from ..runtime.exported.interface import Interface, c_type
from ..runtime.lane import words
from ..runtime.signature import dtype_named
from .artifact import Artifact, Code, KeptGraph, Sample

#: What descriptions that make no sense raise where they are read.
_SENSELESS = (
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    SyntaxError,
    ArithmeticError,
    RecursionError,
)


def load(path: str | os.PathLike[str], sha256: str | None = None) -> Artifact:
    """Read an artifact that :meth:`Artifact.save` wrote.

    Nothing but NumPy is needed to call it. Code is loaded at the first call: trust the file as you would a library.

    Parameters
    ----------
    path : path of a ``.tja``
    sha256 : str, optional
        What the SHA-256 of the file must be, in hexadecimal digits: whoever knows it from a place that can be trusted
        runs no other code than what is meant.

    Raises
    ------
    BadArtifact
        The file is no artifact, is damaged, is another than `sha256` says, or has a format that this version does not
        read.

    Examples
    --------
    >>> import tempfile, os, tracejit as tf
    >>> path = os.path.join(tempfile.mkdtemp(), "square.tja")
    >>> tf.export(lambda x: x * x, ["f64"], name="square").save(path)
    >>> tf.load(path)(3.0)
    (array(9.), array(6.))
    """
    with open(path, "rb") as file:
        return from_bytes(file.read(), path, sha256)


def from_bytes(
    contents: bytes, path: str | os.PathLike[str] = "what was pickled", sha256: str | None = None
) -> Artifact:
    """The artifact that :meth:`Artifact.to_bytes` wrote; BadArtifact, which names the `path`, where there is none."""
    described, blobs = container.unpacked(contents, path, sha256)
    try:
        return _artifact(described, blobs)
    except _SENSELESS as error:
        raise BadArtifact(f"{path} does not describe an artifact: {error!r}") from None


def _artifact(described: Mapping[str, Any], blobs: Mapping[str, bytes]) -> Artifact:
    codes = [
        Code(
            cpu.CpuTarget(*map(str, target)),
            CompiledObject.from_payload(blobs[f"code {k}"]),
            Interface.from_json(interface),
        )
        for k, (target, interface) in enumerate(described["codes"])
    ]
    first = codes[0]
    for code in codes:
        _check_code(code, first)
    arrays = [_array(blobs[f"sample {k}"], *spec) for k, spec in enumerate(described["sample"])]
    lanes = {name.removeprefix("lane "): blob for name, blob in blobs.items() if name.startswith("lane ")}
    known = described.get("lane") == words.VERSION  # else calls go through Python
    return Artifact(
        codes, _sample(arrays, first), lanes if known else {}, _graph(described.get("graph"), blobs)
    )


def _check_code(code: Code, first: Code) -> None:
    """ValueError unless the code is of a kind that `export` makes, and of the same function as the first."""
    made, interface = code.compiled, code.interface
    names = (interface.name, interface.inputs, interface.outputs)
    if (
        (len(interface.inputs), len(interface.outputs))
        != (len(made.signature.inputs), len(made.signature.outputs))
        or made.entry != interface.entry
        or made.constants
        or made.functions
        or made.signature.callee_allocated
    ):
        raise ValueError(f"{names} for {made.signature}")
    other = first.interface
    if names != (other.name, other.inputs, other.outputs) or _specs(code) != _specs(first):
        raise ValueError("it holds code for several functions")


def _specs(code: Code) -> tuple[Any, ...]:
    signature = code.compiled.signature
    return signature.inputs, signature.outputs, signature.atoms


def _array(blob: bytes, dtype: str, shape: Sequence[int]) -> np.ndarray:
    found = dtype_named(str(dtype))
    c_type(found)  # KeyError for what no function takes
    return np.frombuffer(blob, found).reshape(tuple(shape))


def _sample(arrays: Sequence[np.ndarray], code: Code) -> Sample | None:
    """The sample; ValueError where the function could not be called with it, or gives others."""
    signature = code.compiled.signature
    specs = (*signature.inputs, *signature.outputs)
    if not arrays:
        return None
    sizes = {name: arrays[index].shape[axis] for name, index, axis in signature.atoms}
    for array, (dtype, shape) in zip(arrays, specs, strict=True):
        wanted = tuple(evaluate(size, sizes) for size in shape)
        if array.dtype != dtype or array.shape != wanted:
            raise ValueError(f"a sample of {array.dtype}{list(array.shape)} for {dtype}{list(wanted)}")
    split = len(signature.inputs)
    return Sample(tuple(arrays[:split]), tuple(arrays[split:]))


def _graph(described: Any, blobs: Mapping[str, bytes]) -> KeptGraph | None:
    """The graph, of which only the constants are looked at here: `Artifact.retarget` admits the text."""
    if described is None:
        return None
    constants = {str(key): _array(blobs[f"constant {key}"], *spec) for key, spec in described.items()}
    return KeptGraph(blobs["graph"].decode(), constants)
