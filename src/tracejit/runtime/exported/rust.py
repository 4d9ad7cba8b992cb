"""A Rust module that calls an exported function: slices of checked lengths, errors with their text, no crates."""

from __future__ import annotations

from tracejit.core.dim import Dim
from tracejit.runtime.exported.foreign import Parameter, Sides, comment, sides, size_text
from tracejit.runtime.exported.interface import Interface, signature_text
from tracejit.runtime.signature import Signature

_WORDS = frozenset(
    "abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if "
    "impl in let loop macro match mod move mut override priv pub ref return self Self static struct super trait true "
    "try type typeof unsafe unsized use virtual where while yield Err None Ok Some elements results status work".split()
)
_TYPES = {
    "float64": "f64", "float32": "f32", "float16": "u16", "bfloat16": "u16", "bool": "bool",
    "complex128": "[f64; 2]", "complex64": "[f32; 2]",
    **{f"{u}int{n}": f"{u or 'i'}{n}" for u in ("", "u") for n in (8, 16, 32, 64)},
}  # fmt: skip
_HELPERS = frozenset("call message workspace workspace_bytes lengths elements check floor_div".split())
_CALLED = {"floordiv": "self::floor_div", "max": "std::cmp::max"}

_TEMPLATE = """\
{outline}
//
// Put this file beside main.rs, say `mod {function};`, and link with the library or the object:
// `rustc main.rs -L . -l {name}`, or `cargo:rustc-link-lib={name}` in build.rs. Needs Rust 1.82 and no crate.
//
// Arrays are slices with the last axis running fastest{notes}.

#![allow(dead_code, non_snake_case, clippy::too_many_arguments)]

{converting}use std::ffi::{{c_char, CStr}};

unsafe extern "C" {{
    #[link_name = "{name}"]
    fn call(
        {c_parameters}
    ) -> i32;
    #[link_name = "{name}_error"]
    fn message(status: i32) -> *const c_char;
{c_workspace}}}

/// Why there are no results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {{
    /// A slice is not as long as the sizes say: its name, its length, and the length that is needed.
    Length(&'static str, usize, usize),
    /// What the function refuses, by its number.
    Status(i32),
}}

impl std::fmt::Display for Error {{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {{
        match self {{
            Error::Length(name, length, needed) => {{
                write!(f, "{{name}} has {{length}} elements where {{needed}} are needed")
            }}
            Error::Status(status) => {{
                // SAFETY: for every number it gives the address of a text that is there for good.
                let text = unsafe {{ CStr::from_ptr(self::message(*status)) }};
                f.write_str(&text.to_string_lossy())
            }}
        }}
    }}
}}

impl std::error::Error for Error {{}}

/// The results of [`{function}`].
#[derive(Debug, Clone, PartialEq)]
pub struct Results {{
    {fields}
}}

/// Computes the results, in new memory.
///
{arrays}
pub fn {function}(
    {inputs}
) -> Result<Results, Error> {{
{own_lengths}    let mut results = Results {{
        {made}
    }};
{own_work}    self::{function}_into(
        {passed}
    )?;
    Ok(results)
}}

/// Computes the results in memory of the caller's, and allocates none{and_work}.
pub fn {function}_into(
    {all}
) -> Result<(), Error> {{
{lengths}{checks}    // SAFETY: each pointer is to as many elements as the function reads or writes, which was checked,
    // and nobody else has borrowed what it writes to.
    let status = unsafe {{
        self::call(
            {c_arguments}
        )
    }};
    if status == 0 {{ Ok(()) }} else {{ Err(Error::Status(status)) }}
}}
"""
_LENGTHS = """
/// How many elements each array has.
fn lengths({sizes}) -> [usize; {count}] {{
{wide}    [
        {lengths}
    ]
}}

/// The product of the sizes of axes, none of which is less than 0.
fn elements(shape: &[i128]) -> usize {{
    let sizes = shape.iter().map(|&size| usize::try_from(size.max(0)).unwrap_or(usize::MAX));
    if sizes.clone().any(|size| size == 0) {{ 0 }} else {{ sizes.fold(1, usize::saturating_mul) }}
}}

fn check(name: &'static str, length: usize, needed: usize) -> Result<(), Error> {{
    if length == needed {{ Ok(()) }} else {{ Err(Error::Length(name, length, needed)) }}
}}
"""
_FLOOR_DIV = """\

fn floor_div(a: i128, b: i128) -> i128 {
    a.div_euclid(b)
}
"""
_WORKSPACE = """
/// Bytes of work for these sizes.
pub fn workspace({sizes}) -> usize {{
    // SAFETY: it computes a number from numbers.
    usize::try_from(unsafe {{ self::workspace_bytes({given}) }}).unwrap_or(0)
}}
"""
_CONSTANT_WORKSPACE = """
/// Bytes of work.
pub const WORKSPACE: usize = {bytes};
"""


def rust(interface: Interface, signature: Signature) -> str:
    """The text of the module."""
    s = sides(interface, signature, _WORDS)
    sizes = [name for name, _, _ in s.sizes]
    typed = [f"{name}: usize" for name in sizes]
    arrays = any(p.shape for p in s.arrays)
    work = _work(s, sizes)
    function = interface.name + ("_" if interface.name in _WORDS | _HELPERS else "")
    inputs = [f"{p.name}: {_given(p)}" for p in s.inputs]
    into = [*(p.name for p in s.inputs), *(f"&mut results.{p.name}" for p in s.outputs), *sizes]
    known = f"    let elements = self::lengths({', '.join(sizes)});\n"
    converts = arrays or isinstance(s.work, Dim)
    text = _TEMPLATE.format(
        outline=comment(signature_text(interface, signature), "//"),
        converting="use std::convert::TryFrom;\n" if converts else "",
        name=interface.name,
        function=function,
        notes=_notes(s),
        c_parameters=_lines(_c_parameters(s), 8),
        c_workspace=_c_workspace(interface, sizes) if isinstance(s.work, Dim) else "",
        fields=_lines([f"pub {p.name}: {_owned(p)}" for p in s.outputs], 4),
        arrays="\n".join(f"/// - `{p.name}`: {_shape(p)}" for p in s.arrays),
        inputs=_lines([*inputs, *typed], 4),
        own_lengths=known if any(p.shape for p in s.outputs) else "",
        lengths=known if arrays else "",
        made=_lines([f"{p.name}: {_fresh(p, len(inputs) + k)}" for k, p in enumerate(s.outputs)], 8),
        own_work=f"    let mut work = vec![0u8; {work}];\n" if work else "",
        passed=_lines([*into, *(["&mut work"] if work else [])], 8),
        and_work="; `work` has as many bytes as the workspace says" if work else "",
        all=_lines(
            [
                *inputs,
                *(f"{p.name}: &mut {_type(p)}" for p in s.outputs),
                *typed,
                *(["work: &mut [u8]"] if work else []),
            ],
            4,
        ),
        checks="".join(f"    {line}\n" for line in _checks(s, work)),
        c_arguments=_lines(_c_arguments(s, sizes), 12),
    )
    text += _workspace(s, sizes) + (_lengths(s, sizes, typed) if arrays else "")
    return text + (_FLOOR_DIV if "self::floor_div(" in text else "")


def _lines(parts: list[str], indent: int) -> str:
    """Each on a line of its own, with a comma behind it."""
    return ("\n" + " " * indent).join(f"{part}," for part in parts)


def _work(s: Sides, sizes: list[str]) -> str:
    """The bytes of work as an expression; empty where none is needed."""
    if isinstance(s.work, Dim):
        return f"self::workspace({', '.join(sizes)})"
    return "WORKSPACE" if s.work else ""


def _checks(s: Sides, work: str) -> list[str]:
    found = [
        f'self::check("{p.c_name}", {p.name}.len(), elements[{k}])?;'
        for k, p in enumerate(s.arrays)
        if p.shape
    ]
    if work:
        refuse = f'return Err(Error::Length("work", work.len(), {work}));'
        found += [f"if work.len() < {work} {{", f"    {refuse}", "}"]
    return found


def _lengths(s: Sides, sizes: list[str], typed: list[str]) -> str:
    return _LENGTHS.format(
        sizes=", ".join(typed),
        count=len(s.arrays),
        wide="".join(f"    let {n} = {n} as i128;\n" for n in sizes),
        lengths=_lines([_length(p) for p in s.arrays], 8),
    )


def _type(p: Parameter) -> str:
    """What a reference to it refers to."""
    element = _TYPES[p.dtype.name]
    return f"[{element}]" if p.shape else element


def _given(p: Parameter) -> str:
    return f"&{_type(p)}" if p.shape else _type(p)


def _owned(p: Parameter) -> str:
    return f"Vec<{_TYPES[p.dtype.name]}>" if p.shape else _type(p)


def _fresh(p: Parameter, place: int) -> str:
    zero = {"bool": "false", "complex128": "[0.0; 2]", "complex64": "[0.0; 2]"}.get(p.dtype.name)
    zero = zero or ("0.0" if p.dtype.kind == "f" and p.dtype.itemsize > 2 else "0")
    return f"vec![{zero}; elements[{place}]]" if p.shape else zero


def _length(p: Parameter) -> str:
    if not p.shape:
        return "1"
    sizes = ", ".join(size_text(s, _CALLED) for s in p.shape)
    return f"self::elements(&[{sizes}])"


def _shape(p: Parameter) -> str:
    return f"`[{', '.join(map(str, p.shape))}]`" if p.shape else "one number"


def _c_parameters(s: Sides) -> list[str]:
    return [
        *(f"{p.name}: *const {_TYPES[p.dtype.name]}" for p in s.inputs),
        *(f"{p.name}: *mut {_TYPES[p.dtype.name]}" for p in s.outputs),
        *(f"{name}: i64" for name, _, _ in s.sizes),
        *(["work: *mut u8"] if s.work != 0 else []),
    ]


def _c_arguments(s: Sides, sizes: list[str]) -> list[str]:
    return [
        *(f"{p.name}.as_ptr()" if p.shape else f"&{p.name}" for p in s.inputs),
        *(f"{p.name}.as_mut_ptr()" if p.shape else p.name for p in s.outputs),
        *(f"{name} as i64" for name in sizes),
        *(["work.as_mut_ptr()"] if s.work != 0 else []),
    ]


def _c_workspace(interface: Interface, sizes: list[str]) -> str:
    parameters = ", ".join(f"{name}: i64" for name in sizes)
    return f'    #[link_name = "{interface.name}_workspace"]\n    fn workspace_bytes({parameters}) -> i64;\n'


def _workspace(s: Sides, sizes: list[str]) -> str:
    if isinstance(s.work, Dim):
        return _WORKSPACE.format(
            sizes=", ".join(f"{n}: usize" for n in sizes), given=", ".join(f"{n} as i64" for n in sizes)
        )
    return _CONSTANT_WORKSPACE.format(bytes=s.work) if s.work else ""


def _notes(s: Sides) -> str:
    kinds = {p.dtype.kind for p in s.arrays}
    found = ", complex numbers pairs" if "c" in kinds else ""
    halves = any(p.dtype.name == "float16" for p in s.arrays)
    short = any(p.dtype.name == "bfloat16" for p in s.arrays)
    found += ", half-precision numbers their bits" if halves else ""
    return found + (", bfloat16 numbers their bits" if short else "")
