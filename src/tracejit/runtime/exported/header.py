"""The C header of an exported function: C99, and valid C++."""

from __future__ import annotations

from tracejit.core.dim import Dim
from tracejit.runtime.exported.interface import Interface, c_type, signature_text
from tracejit.runtime.signature import Signature

_TEMPLATE = """\
/* {outline}
 *
 * Arrays are contiguous with the last axis running fastest, and results overlap nothing; those without elements may be
 * NULL. It may run in any number of threads at once{work}.
{notes} */
#ifndef {guard}
#define {guard}

#include <stddef.h>
#include <stdint.h>
{macro}
#ifdef __cplusplus
extern "C" {{
#endif

/* 0, or a number that {name}_error explains: then the results mean nothing. */
int32_t {name}({parameters});

const char *{name}_error(int32_t status);
{more}
#ifdef __cplusplus
}}
#endif

#endif
"""

_WORKSPACE = """
/* Bytes of work for these sizes; any alignment will do. */
int64_t {name}_workspace({sizes});
"""
_ALLOCATOR = """
/* Where loops of unknown length get memory, given back before {name} returns. Call this before the first call, if
 * ever: without it, it is the system's own mmap. aligned_alloc and free of <stdlib.h> have these types. */
void {name}_allocator(void *(*allocate)(size_t align, size_t bytes), void (*release)(void *));
"""


def header(interface: Interface, signature: Signature, allocates: bool) -> str:
    """The header's text."""
    name = interface.name
    guard = f"{name.upper()}_H"
    constant_work = isinstance(interface.work, int) and interface.work != 0
    more = ""
    if isinstance(interface.work, Dim):
        more += _WORKSPACE.format(name=name, sizes=", ".join(_sizes(signature)))
    if allocates:
        more += _ALLOCATOR.format(name=name)
    return _TEMPLATE.format(
        name=name,
        outline=signature_text(interface, signature),
        notes="".join(f" * {line}\n" for line in _notes(interface, signature)),
        work=", each with a work of its own" if interface.work != 0 else "",
        guard=guard,
        macro=f"\n#define {name.upper()}_WORKSPACE {interface.work} /* bytes of work; any alignment will do */\n"
        if constant_work
        else "",
        parameters=", ".join(_parameters(interface, signature)) or "void",
        more=more,
    )


def _sizes(signature: Signature) -> list[str]:
    return [f"int64_t {name}" for name, _, _ in signature.atoms]


def _parameters(interface: Interface, signature: Signature) -> list[str]:
    inputs = zip(interface.inputs, signature.inputs, strict=True)
    outputs = zip(interface.outputs, signature.outputs, strict=True)
    return [
        *(f"const {c_type(dtype)} *{name}" for name, (dtype, _) in inputs),
        *(f"{c_type(dtype)} *{name}" for name, (dtype, _) in outputs),
        *_sizes(signature),
        *(["void *work"] if interface.work != 0 else []),
    ]


def _notes(interface: Interface, signature: Signature) -> list[str]:
    """What the types of the parameters do not say."""
    names = (*interface.inputs, *interface.outputs)
    specs = (*signature.inputs, *signature.outputs)
    rules = [f"{a} {relation} {b}" for relation, a, b in interface.checks]
    found = [f"Sizes: {', '.join(rules)}."] if rules else []
    for kind, meaning in (("c", "pairs of a real and an imaginary part"), ("b", "bytes, 0 or 1")):
        of_kind = [n for n, (dtype, _) in zip(names, specs, strict=True) if dtype.kind == kind]
        found += [f"{', '.join(of_kind)}: {meaning}."] if of_kind else []
    for dtype_name, meaning in (
        ("float16", "half-precision numbers"),
        ("bfloat16", "bfloat16 numbers, the upper halves of those of floats"),
    ):
        halves = [n for n, (dtype, _) in zip(names, specs, strict=True) if dtype.name == dtype_name]
        found += [f"{', '.join(halves)}: the bits of {meaning}."] if halves else []
    return found
