"""A Julia module that calls an exported library: arrays whose shapes are checked, results in new arrays."""

from __future__ import annotations

from tracejit.core.dim import Dim
from tracejit.runtime.exported.foreign import Parameter, Sides, comment, sides, size_text
from tracejit.runtime.exported.interface import Interface, signature_text
from tracejit.runtime.signature import Signature

_WORDS = frozenset(
    "abstract baremodule begin break catch const continue do else elseif end export false finally for function global "
    "if import in isa let local macro module mutable primitive quote return struct true try type using where while "
    "Array Cstring Cvoid DimensionMismatch Int64 Ptr Ref UInt8 Vector ccall error fld library max size status undef "
    "unsafe_string work".split()
)
_TYPES = {
    "float64": "Float64", "float32": "Float32", "float16": "Float16", "bfloat16": "UInt16", "bool": "Bool",
    "complex128": "ComplexF64", "complex64": "ComplexF32",
    **{f"{u}int{n}": f"{'U' if u else ''}Int{n}" for u in ("", "u") for n in (8, 16, 32, 64)},
}  # fmt: skip

_TEMPLATE = """\
{outline}
#
# Calls lib{name}.so, which stands beside this file: include("{name}.jl"); using .{module}
#
# The last axis runs fastest in C and the first one in Julia, so axes stand the other way round here: what is x[n, 3] in
# C is of size (3, n). Nothing is copied.
module {module}

export {function}

const library = joinpath(@__DIR__, "lib{name}.so")

\"\"\"
    {function}({names})

Takes {taken}. Returns {returned}.
\"\"\"
function {function}(
    {parameters},
)
{sizes}{checks}{results}{work}    status = ccall(
        (:{name}, library), Int32,
        ({types},),
        {given},
    )
    status == 0 || error(unsafe_string(ccall((:{name}_error, library), Cstring, (Int32,), status)))
    return {answer}
end

end
"""


def julia(interface: Interface, signature: Signature) -> str:
    """The text of the module."""
    module = interface.name[0].upper() + interface.name[1:] + "Module"
    function = interface.name + ("_" if interface.name in _WORDS else "")
    s = sides(interface, signature, {*_WORDS, module, function})
    worked = s.work != 0
    sizes = [name for name, _, _ in s.sizes]
    answers = [p.name if p.shape else f"{p.name}[]" for p in s.outputs]
    types = [f"Ptr{{{_TYPES[p.dtype.name]}}}" for p in s.arrays]
    return _TEMPLATE.format(
        outline=comment(signature_text(interface, signature), "#"),
        name=interface.name,
        module=module,
        function=function,
        names=", ".join(p.name for p in s.inputs),
        taken=", ".join(map(_shown, s.inputs)),
        returned=", ".join(map(_shown, s.outputs)),
        parameters=",\n    ".join(f"{p.name}::{_type(p)}" for p in s.inputs),
        sizes="".join(f"    {n} = {_axis(s, index, axis)}\n" for n, index, axis in s.sizes),
        checks="".join(_check(p) for p in s.inputs if p.shape),
        results="".join(f"    {p.name} = {_fresh(p)}\n" for p in s.outputs),
        work=_work(interface, s, sizes),
        types=", ".join([*types, *["Int64"] * len(sizes), *(["Ptr{UInt8}"] if worked else [])]),
        given=", ".join(
            [*map(_given, s.inputs), *(p.name for p in s.outputs), *sizes, *(["work"] if worked else [])]
        ),
        answer=", ".join(answers),
    )


def _type(p: Parameter) -> str:
    kind = _TYPES[p.dtype.name]
    return f"Array{{{kind},{len(p.shape)}}}" if p.shape else kind


def _here(p: Parameter) -> str:
    axes = [size_text(size, {"floordiv": "fld"}) for size in reversed(p.shape)]
    return f"({axes[0]},)" if len(axes) == 1 else f"({', '.join(axes)})"


def _shown(p: Parameter) -> str:
    return f"`{p.name}`, {_TYPES[p.dtype.name]} of size {_here(p)}" if p.shape else f"`{p.name}`, one number"


def _axis(s: Sides, index: int, axis: int) -> str:
    array = s.inputs[index]
    return f"size({array.name}, {len(array.shape) - axis})"


def _check(p: Parameter) -> str:
    shape = _here(p)
    text = f"{p.name} has the size $(size({p.name})) where $({shape}) is needed"
    return f'    size({p.name}) == {shape} || throw(DimensionMismatch("{text}"))\n'


def _fresh(p: Parameter) -> str:
    kind = _TYPES[p.dtype.name]
    return f"Array{{{kind}}}(undef, {_here(p)})" if p.shape else f"Ref{{{kind}}}()"


def _given(p: Parameter) -> str:
    return p.name if p.shape else f"Ref({p.name})"


def _work(interface: Interface, s: Sides, sizes: list[str]) -> str:
    if s.work == 0:
        return ""
    bytes_ = str(s.work)
    if isinstance(s.work, Dim):
        types = ", ".join(["Int64"] * len(sizes))
        bytes_ = f"ccall((:{interface.name}_workspace, library), Int64, ({types},), {', '.join(sizes)})"
    return f"    work = Vector{{UInt8}}(undef, {bytes_})\n"
