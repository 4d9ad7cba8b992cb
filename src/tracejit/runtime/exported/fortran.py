"""A Fortran 2003 module that calls an exported function: explicit interfaces, checked shapes, axes turned round."""

from __future__ import annotations

from tracejit.core.dim import Dim, Size
from tracejit.runtime.exported.foreign import Parameter, Sides, comment, sides, size_text
from tracejit.runtime.exported.interface import Interface, signature_text
from tracejit.runtime.signature import Signature

#: What the text below calls by its name: no array may be called so.
_USED = frozenset(
    "any c_char c_double c_double_complex c_f_pointer c_float c_float_complex c_int8_t c_int16_t c_int32_t c_int64_t "
    "c_null_char c_ptr floordiv i int max message modulo result shape size status text work".split()
)
_WIDTH = 90
_TYPES = {
    "float64": "real(c_double)", "float32": "real(c_float)", "float16": "integer(c_int16_t)",
    "bfloat16": "integer(c_int16_t)",
    "bool": "integer(c_int8_t)",
    "complex128": "complex(c_double_complex)", "complex64": "complex(c_float_complex)",
    **{f"{u}int{n}": f"integer(c_int{n}_t)" for u in ("", "u") for n in (8, 16, 32, 64)},
}  # fmt: skip

_TEMPLATE = """\
{outline}
!
! Fortran 2003. Compile this file before those that use it, and link with the library or the object:
! gfortran -c {name}.f90; gfortran main.f90 {name}.o -L. -l{name}
!
! The last axis runs fastest in C and the first one in Fortran, so axes stand the other way round here:
! {example} Nothing is copied where arrays are contiguous.{notes}
module {module}
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: {public}

  interface
    ! The C function itself.
    function {c_name}( &
        {c_names}) &
        bind(c, name="{name}") result(status)
      import
{c_types}
      integer(c_int32_t) :: status
    end function

    function c_message_of(status) bind(c, name="{name}_error") result(text)
      import
      integer(c_int32_t), value :: status
      type(c_ptr) :: text
    end function
{c_workspace}  end interface

contains

  ! status is 0, or a number that {name}_error explains: then the results mean nothing.
  subroutine {name}( &
      {names}, status)
{types}
    integer, intent(out) :: status
{locals}{sizes}{checks}{own_work}    status = {c_name}( &
        {given})
  end subroutine

  ! What a status means.
  function {name}_error(status) result(text)
    integer, intent(in) :: status
    character(:), allocatable :: text
    character(kind=c_char), pointer :: message(:)
    integer :: i
    if (status < 0) then
{wrong_shapes}      return
    end if
    call c_f_pointer(c_message_of(int(status, c_int32_t)), message, [4096])
    text = ""
    do i = 1, size(message)
      if (message(i) == c_null_char) exit
      text = text // message(i)
    end do
  end function
end module
"""
_FLOORDIV = """
  pure function floordiv(a, b) result(found)
    integer(c_int64_t), intent(in) :: a, b
    integer(c_int64_t) :: found
    found = (a - modulo(a, b)) / b
  end function
"""
_WORKSPACE = """
    function c_workspace({names}) bind(c, name="{name}_workspace") result(bytes)
      import
      integer(c_int64_t), value :: {names}
      integer(c_int64_t) :: bytes
    end function
"""


def fortran(interface: Interface, signature: Signature) -> str:
    """The text of the module."""
    name = interface.name.lower()
    own = {f"{name}{end}" for end in ("", "_error", "_module", "_in_c")}
    s = sides(interface, signature, {*_USED, "c_message_of", "c_workspace", *own}, fold_case=True)
    sizes = [n for n, _, _ in s.sizes]
    names = [p.name for p in s.arrays]
    work = ["work"] if s.work != 0 else []
    matrix = next((p for p in s.arrays if len(p.shape) > 1), None)
    text = _TEMPLATE.format(
        outline=comment(signature_text(interface, signature), "!"),
        name=interface.name,
        module=f"{interface.name}_module",
        c_name=f"{interface.name}_in_c",
        public=f"{interface.name}, {interface.name}_error",
        example=_example(matrix),
        notes=_notes(s),
        c_names=_lines([*names, *sizes, *work], 8),
        c_types="\n".join(_c_types(s)),
        c_workspace=_c_workspace(interface, s, sizes),
        names=_lines(names, 6),
        types="\n".join(_types(s)),
        locals="".join(f"    integer(c_int64_t) :: {n}\n" for n in sizes)
        + ("    integer(c_int8_t), allocatable :: work(:)\n" if work else ""),
        sizes="".join(_size(s, *size) for size in s.sizes),
        checks="".join(_check(k, p) for k, p in enumerate(s.arrays, 1)),
        own_work=_own_work(s, sizes),
        given=_lines([*names, *sizes, *work], 8),
        wrong_shapes=_wrong_shapes(s),
    )
    return text.replace("end module\n", f"{_FLOORDIV}end module\n") if "floordiv(" in text else text


def _lines(parts: list[str], indent: int) -> str:
    """Arguments, on as many lines as they need."""
    found = parts[:1]
    for part in parts[1:]:
        if len(found[-1]) + len(part) > _WIDTH:
            found[-1] += ", &"
            found.append(" " * indent + part)
        else:
            found[-1] += f", {part}"
    return "\n".join(found)


def _here(p: Parameter) -> str:
    """Its declaration in Fortran's order of axes."""
    axes = ", ".join(map(str, reversed(p.shape)))
    return f"{p.name}({axes})" if p.shape else p.name


def _expression(size: Size) -> str:
    return size_text(size, {}, "{}_c_int64_t")


def _example(matrix: Parameter | None) -> str:
    if matrix is None:
        return "x[n, 3] in C would be x(3, n) here."
    axes = ", ".join(map(str, matrix.shape))
    return f"{matrix.c_name}[{axes}] in C is {_here(matrix)} here."


def _types(s: Sides) -> list[str]:
    found = []
    for p in s.arrays:
        intent = "in" if p in s.inputs else "out"
        axes = ", ".join(":" for _ in p.shape)
        declared = f"{p.name}({axes})" if p.shape else p.name
        shape = f"  ! {_here(p)}" if p.shape else ""
        found.append(f"    {_TYPES[p.dtype.name]}, intent({intent}) :: {declared}{shape}")
    return found


def _c_types(s: Sides) -> list[str]:
    found = []
    for p in s.arrays:
        intent = "in" if p in s.inputs else "out"
        star = "(*)" if p.shape else ""
        found.append(f"      {_TYPES[p.dtype.name]}, intent({intent}) :: {p.name}{star}")
    found += [f"      integer(c_int64_t), value :: {name}" for name, _, _ in s.sizes]
    return [*found, *(["      integer(c_int8_t), intent(inout) :: work(*)"] if s.work != 0 else [])]


def _size(s: Sides, name: str, index: int, axis: int) -> str:
    array = s.inputs[index]
    return f"    {name} = size({array.name}, {len(array.shape) - axis}, c_int64_t)\n"


def _check(number: int, p: Parameter) -> str:
    if not p.shape:
        return ""
    shape = ", ".join(_expression(size) for size in reversed(p.shape))
    return f"    status = -{number}\n    if (any(shape({p.name}, c_int64_t) /= [{shape}])) return\n"


def _own_work(s: Sides, sizes: list[str]) -> str:
    if s.work == 0:
        return ""
    count = f"c_workspace({', '.join(sizes)})" if isinstance(s.work, Dim) else str(s.work)
    return f"    allocate (work({count}))\n"


def _c_workspace(interface: Interface, s: Sides, sizes: list[str]) -> str:
    if not isinstance(s.work, Dim):
        return ""
    return _WORKSPACE.format(name=interface.name, names=", ".join(sizes))


def _wrong_shapes(s: Sides) -> str:
    found = '      text = "unknown status"\n'
    for number, p in enumerate(s.arrays, 1):
        if p.shape:
            found += f'      if (status == -{number}) text = "the shape is not that of {_here(p)}"\n'
    return found


def _notes(s: Sides) -> str:
    bools = [p.name for p in s.arrays if p.dtype.kind == "b"]
    halves, short = ([p.name for p in s.arrays if p.dtype.name == n] for n in ("float16", "bfloat16"))
    unsigned = [p.name for p in s.arrays if p.dtype.kind == "u"]
    found = ""
    for names, meaning in (
        (bools, "bytes, 0 or 1"),
        (halves, "the bits of half-precision numbers"),
        (short, "the bits of bfloat16 numbers"),
        (unsigned, "unsigned numbers, by their bits"),
    ):
        found += f"\n! {', '.join(names)}: {meaning}." if names else ""
    return found
