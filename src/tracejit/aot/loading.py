"""`load`: an artifact from a file, of which nothing is believed before it has been looked at."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from ..runtime import cpu
from ..runtime.compiled import CompiledObject
from ..runtime.exported import container
from ..runtime.exported.container import BadArtifact
from ..runtime.exported.interface import Interface, c_type
from ..runtime.lane import words
from .artifact import Artifact, Code, Sample


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
    lanes = {
        name.removeprefix("lane "): blob
        for name, blob in blobs.items()
        if name.startswith("lane ") and described.get("lane") == words.VERSION
    }
    return Artifact(codes, sample, lanes)


def _array(blob: bytes, dtype: str, shape: Sequence[int]) -> np.ndarray:
    c_type(np.dtype(dtype))  # KeyError for what no function takes
    return np.frombuffer(blob, np.dtype(dtype)).reshape(shape)
