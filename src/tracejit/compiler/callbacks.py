"""The callbacks of an exported function as LLVM text: what SciPy gives becomes what the C function takes.

A size that does not fit, a status that is not 0 or work that is more than a stack has make NaN, or 0 for failure.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..core.dim import Size
from ..runtime.compiled import CompiledObject
from ..runtime.exported.callbacks import Callback, callbacks, symbol
from ..runtime.exported.interface import Interface
from .codegen.writing.kernel import KernelWriter, Module
from .ir_text import Value, function, integer

#: Bytes of work that a callback takes from the stack.
_MOST = 1 << 18
_NAN = "double 0x7FF8000000000000"


def callback_functions(module: Module, made: CompiledObject, interface: Interface, arch: str) -> list[str]:
    """The text of each callback that there is for the signature."""
    return [_text(module, made, interface, c) for c in callbacks(made.signature, arch)]


def _text(module: Module, made: CompiledObject, interface: Interface, callback: Callback) -> str:
    k = KernelWriter(module, {})
    writer, result, parameters, fails = _WRITERS[callback.suffix]
    head = f'{result} @"{symbol(interface, callback)}"({parameters}) #1'
    body = writer(k, made, partial(_called, k, made, interface, fails), fails)
    module.declares.update(dict.fromkeys(k.w.declares.values()))
    return function(f"hidden {head}", k.w, body)


def _called(
    k: KernelWriter,
    made: CompiledObject,
    interface: Interface,
    fails: str,
    pointers: list[Value],
    size: Value | None = None,
) -> None:
    """Call the C function, and leave unless its status is 0."""
    w, sizes = k.w, []
    for name, _, _ in made.signature.atoms:
        assert size is not None  # a callback has one vector at the most
        k.atoms[name] = size
        sizes.append(size)
    work = [] if interface.work == 0 else [_work(k, interface.work, fails)]
    spelled = ", ".join(v.typed for v in (*pointers, *sizes, *work))
    status = w.effect("i32", 1, f'call i32 @"{interface.name}"({spelled})')
    with w.leaving(w.compare("ne", status, integer(0, "i32")), "fails"):
        w.stmt(f"ret {fails}")


def _work(k: KernelWriter, work: Size, fails: str) -> Value:
    size = k.size(work)
    with k.w.leaving(k.w.compare("ugt", size, integer(_MOST)), "large"):
        k.w.stmt(f"ret {fails}")
    return k.w.effect("ptr", 1, f"alloca i8, {size.typed}, align 64")


Caller = Callable[..., None]


def _number(k: KernelWriter, made: CompiledObject, call: Caller, fails: str) -> str:
    x, y = (k.w.effect("ptr", 1, "alloca double, align 8") for _ in range(2))
    k.w.store(Value("%x", "double"), x)
    call([x, y])
    return k.w.load("double", y).typed


def _numbers(k: KernelWriter, made: CompiledObject, call: Caller, fails: str) -> str:
    w, xs = k.w, Value("%xs", "ptr")
    y = w.effect("ptr", 1, "alloca double, align 8")
    count = w.convert("sext", Value("%count", "i32"), "i64")
    _, shape = made.signature.inputs[0]
    _require(k, count, shape[0] if shape else len(made.signature.inputs), fails)
    pointers = [xs] if shape else [w.step(xs, 8 * i) for i in range(len(made.signature.inputs))]
    call([*pointers, y], count)
    return w.load("double", y).typed


def _window(k: KernelWriter, made: CompiledObject, call: Caller, fails: str) -> str:
    _require(k, Value("%n", "i64"), made.signature.inputs[0][1][0], fails)
    call([Value("%xs", "ptr"), Value("%ys", "ptr")], Value("%n", "i64"))
    return "i32 1"


def _line(k: KernelWriter, made: CompiledObject, call: Caller, fails: str) -> str:
    n, m = Value("%n", "i64"), Value("%m", "i64")
    (_, (given,)), (_, (returned,)) = made.signature.inputs[0], made.signature.outputs[0]
    _require(k, n, given, fails)
    k.atoms.update({name: n for name, _, _ in made.signature.atoms})
    with k.w.leaving(k.w.compare("ne", m, k.size(returned)), "other"):
        k.w.stmt(f"ret {fails}")
    call([Value("%xs", "ptr"), Value("%ys", "ptr")], n)
    return "i32 1"


def _require(k: KernelWriter, size: Value, wanted: Size, fails: str) -> None:
    """Leave where a size is not what it must be; one that has a name may be any."""
    if isinstance(wanted, int):
        with k.w.leaving(k.w.compare("ne", size, integer(wanted)), "size"):
            k.w.stmt(f"ret {fails}")


_WRITERS = {
    "number": (_number, "double", "double %x, ptr %data", _NAN),
    "numbers": (_numbers, "double", "i32 %count, ptr %xs, ptr %data", _NAN),
    "window": (_window, "i32", "ptr %xs, i64 %n, ptr %ys, ptr %data", "i32 0"),
    "line": (_line, "i32", "ptr %xs, i64 %n, ptr %ys, i64 %m, ptr %data", "i32 0"),
}
