"""A Python module that calls an exported library: it needs NumPy, and nothing of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from keyword import iskeyword

from tracejit.core.dim import Dim, Size, substitute
from tracejit.runtime.exported.interface import Interface, signature_text
from tracejit.runtime.signature import ArraySpec, Signature

_TEMPLATE = '''\
"""{outline}

Calls {library}, which stands beside this file. Needs NumPy{needs}.
"""

import builtins as _builtins
import ctypes as _ctypes
import operator as _operator
import os as _os

import numpy as _np
{imports}
_library = _ctypes.CDLL(_os.path.join(_os.path.dirname(_os.path.abspath(__file__)), "{library}"))
_call, _error = _library["{name}"], _library["{name}_error"]
_call.argtypes = [_ctypes.c_void_p] * {pointers} + [_ctypes.c_int64] * {sizes}{work_type}
_error.restype = _ctypes.c_char_p

_NAMES = {names!r}
_INPUTS = [_np.dtype(name) for name in {inputs!r}]
_OUTPUTS = [_np.dtype(name) for name in {outputs!r}]
_SIZES = {places!r}  # input and axis


def {function}({parameters}):
    """{outline}"""
    return _run(({given}))


def _shapes({atoms}):
    """The shapes of inputs and outputs, and bytes of work, by the sizes."""
    floordiv, max = _operator.floordiv, _builtins.max
    return {input_shapes}, {output_shapes}, {work}


def _array(x, dtype):
    """The array in an argument, as the library reads it."""
    x = _np.asarray(x, dtype) if isinstance(x, (int, float, complex)) else _np.asarray(x)
    if x.dtype != dtype:
        raise TypeError(f"an array of {{x.dtype}} where {name} takes {{dtype}}")
    return x if x.flags.c_contiguous and x.flags.aligned else _np.require(x, requirements=("C", "A"))


def _run(given):
    inputs = [_array(x, dtype) for x, dtype in zip(given, _INPUTS)]
    try:
        sizes = [inputs[index].shape[axis] for index, axis in _SIZES]
    except IndexError:
        raise ValueError("an array has too few axes: " + {function}.__doc__) from None
    shapes, results, work = _shapes(*sizes)
    for name, x, shape in zip(_NAMES, inputs, shapes):
        if x.shape != shape:
            raise ValueError(f"{{name}} has the shape {{x.shape}} where {{shape}} is needed")
    outputs = [_np.empty(_np.maximum(shape, 0), dtype) for shape, dtype in zip(results, _OUTPUTS)]
    addresses = [x.__array_interface__["data"][0] for x in (*inputs, *outputs)]
    status = _call(*addresses, *sizes{work_argument})
    if status:
        raise RuntimeError(_error(status).decode())
    return outputs[0] if len(outputs) == 1 else tuple(outputs)
'''


def python_module(interface: Interface, signature: Signature, library: str) -> str:
    """The text of the module.

    Parameters
    ----------
    interface : Interface
    signature : Signature
    library : str
        The name of the file of the library.
    """
    atoms: dict[str, Size] = {name: Dim.of(f"size_{name}") for name, _, _ in signature.atoms}
    worked = interface.work != 0
    taken: set[str] = {"_run"}
    parameters = [_named(name, taken) for name in interface.inputs]
    narrow = any(dtype.name == "bfloat16" for dtype, _ in (*signature.inputs, *signature.outputs))
    return _TEMPLATE.format(
        name=interface.name,
        function=_named(interface.name, set()),
        outline=signature_text(interface, signature),
        library=library,
        needs=" and ml_dtypes" if narrow else "",
        imports="import ml_dtypes as _ml_dtypes  # adds bfloat16 to NumPy\n" if narrow else "",
        pointers=len(interface.inputs) + len(interface.outputs),
        sizes=len(atoms),
        work_type=" + [_ctypes.c_char_p]" if worked else "",
        work_argument=", _ctypes.create_string_buffer(work)" if worked else "",
        names=list(interface.inputs),
        inputs=[dtype.name for dtype, _ in signature.inputs],
        outputs=[dtype.name for dtype, _ in signature.outputs],
        places=[(index, axis) for _, index, axis in signature.atoms],
        parameters=", ".join(parameters),
        given="".join(f"{name}, " for name in parameters).rstrip(),
        atoms=", ".join(map(str, atoms.values())),
        input_shapes=_shapes(signature.inputs, atoms),
        output_shapes=_shapes(signature.outputs, atoms),
        work=substitute(interface.work, atoms),
    )


def _named(name: str, taken: set[str]) -> str:
    """A name of Python's like `name` that nothing has yet."""
    while iskeyword(name) or name in taken:
        name += "_"
    taken.add(name)
    return name


def _shapes(specs: Sequence[ArraySpec], atoms: Mapping[str, Size]) -> str:
    """The shapes as Python text: sizes print as what they are."""
    shapes = ["".join(f"{substitute(size, atoms)}, " for size in shape) for _, shape in specs]
    return f"[{', '.join(f'({shape.rstrip()})' for shape in shapes)}]"
