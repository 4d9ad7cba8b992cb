"""Which functions are programs for NumPy, and what is said to who reads what one of them has written to."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator, Mapping
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ....core.errors import DtypeError, Location, ShapeError, at, is_internal, user_location
from ....core.op import ops
from ....core.spec import TensorSpec
from ....core.tensor import Tensor

#: Of code: is it a program for NumPy? Empty where its callers tell, None where they may, but do not say no.
_Answer = bool | str | None
_decided: dict[int, tuple[weakref.ref[CodeType], _Answer]] = {}


def is_program_for_numpy(surely: bool = False) -> bool:
    """May what runs be a program for NumPy, in which parts of arrays are views, and ``x += v`` writes? Is it `surely`?

    A function that names NumPy and nothing of this package is one; a function that names something of this package is
    none. Of one that names neither, its module tells, if that has one of both, and else who calls it; but where the
    module has both, or neither, and the caller is no program for NumPy, nobody knows: it may be one.
    """
    frame: FrameType | None = sys._getframe(1)
    nobody_knows = False
    while frame is not None:
        code = frame.f_code
        if not is_internal(code):
            entry = _decided.get(id(code))
            if entry is None or entry[0]() is not code:
                entry = _decided[id(code)] = weakref.ref(code), _decide(code, frame.f_globals)
            answer = entry[1]
            if answer.__class__ is bool:
                return bool(answer and not nobody_knows) if surely else bool(answer or nobody_knows)
            nobody_knows = nobody_knows or answer is None
        frame = frame.f_back
    return nobody_knows and not surely


def _decide(code: CodeType, namespace: Mapping[str, Any]) -> _Answer:
    says = names_numpy_alone(code, namespace)
    if says is not None:
        return says
    ours, theirs = any(map(_is_ours, namespace.values())), any(x is np for x in namespace.values())
    if ours == theirs:
        return None
    return True if theirs else ""


def names_numpy_alone(code: CodeType, namespace: Mapping[str, Any]) -> bool | None:
    """Does code name NumPy, and nothing of this package? None where it names neither."""
    known = [namespace.get(name) for name in code.co_names]
    inner = [names_numpy_alone(c, namespace) for c in code.co_consts if isinstance(c, CodeType)]
    if False in inner or any(map(_is_ours, known)):
        return False
    return True if True in inner or any(x is np for x in known) else None


def _is_ours(x: Any) -> bool:
    return str(getattr(x, "__module__", None) or getattr(x, "__name__", "")).startswith("tracejit")


def in_its_place(x: Tensor, result: Any) -> Any:
    """What ``x += v`` leaves in a program for NumPy, `result` being ``x + v``: it is written to the array that x is.

    So it gets the dtype of that. DtypeError where NumPy casts no such numbers, ShapeError where they are more.
    """
    if result.__class__ is not Tensor or not x.ndim or result.spec == x.spec or not is_program_for_numpy():
        return result
    require_fits(result, x.spec, "write x = x + v, which is another array")
    return result if result.np_dtype == x.np_dtype else ops.cast(result, dtype=x.np_dtype)


def require_fits(result: Tensor, array: TensorSpec, remedy: str) -> None:
    """DtypeError where NumPy casts no such numbers to those of an array that it writes to, ShapeError for too many."""
    sizes = zip(result.shape[::-1], array.shape[::-1], strict=False)
    if result.ndim > len(array.shape) or any(m not in (1, n) for m, n in sizes if m.__class__ is n.__class__ is int):
        raise ShapeError(
            f"an array does not grow: {result.spec} does not fit into the array of {array} that is written to, "
            f"{remedy}{at(user_location())}"
        )
    if not np.can_cast(result.np_dtype, array.dtype, "same_kind"):
        raise DtypeError(
            f"NumPy does not write {result.np_dtype} into an array of {array.dtype}: {remedy}, or convert the value, "
            f"as by v.astype(x.dtype){at(user_location())}"
        )


# ---- what is said ---------------------------------------------------------------------------------------


def stale_read(tensor: Tensor, written: Location | None, taken: Location | None = None) -> str:
    """The message for reading a tensor that was `taken` out of an array, after a write to that under another name."""
    name = name_of(tensor.serial, tensor._payload) or "what is read here"
    origin = "" if taken is None else f"\n  {name} was taken{at(taken)}"
    return (
        f"{name} shows in NumPy what was written to the same array under another name{at(written)}{origin}\n  and a "
        f"tensor does not change: take {name} from the array again after the write, or, if it is to keep what it had, "
        f"as a copy before, with .copy(){at(user_location())}"
    )


def name_of(serial: int, payload: Any) -> str:
    """What the user's innermost function with a name for that tensor calls it, as ``rows[0]``; empty for none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_internal(frame.f_code):
            for name, value in list(frame.f_locals.items()):
                for text, x in ((name, value), *_inside(name, value)):
                    if isinstance(x, Tensor) and (x.serial == serial or x._payload is payload):
                        return text
        frame = frame.f_back
    return ""


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if value.__class__ in (list, tuple):
        yield from ((f"{name}[{k}]", x) for k, x in enumerate(value[:100]))
    elif value.__class__ is dict:
        yield from ((f"{name}[{k!r}]", x) for k, x in list(value.items())[:100])
    elif isinstance(getattr(value, "__dict__", None), dict) and not isinstance(value, type(np)):
        yield from ((f"{name}.{k}", x) for k, x in list(vars(value).items())[:100])
