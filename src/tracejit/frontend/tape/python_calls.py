"""Python functions called as ops, for programs that leave compiled functions by them.

Compiled code calls them where they stand, each time, in the order of the program. Where a gradient may be asked for, a
call keeps how to find it; one of which that is gone, by a gradient or by many later calls, is made again. Functions
that then give something else are refused. A gradient is the whole one: a part that went through a number or an array is
missed, and said to be.
"""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.errors import GradientError, at, user_location
from ...core.op import ops
from ...core.spec import as_dtype
from ...core.tensor import Tensor
from ...core.tracing.dispatch import at_once_in_a_kernel, is_tracing
from ...ops.arrays.shape import sizes_of
from ...ops.python_calls import UNKEPT, Notes, number_of
from ..conversion import convert_to_tensor
from ..structure import flatten
from ..transforms.grad import followed, vjp

#: Calls of a function of which is kept how to find their gradient, until somebody has asked: so many, and while the
#: arrays that they were given and gave have no more bytes than this so many more.
KEPT, KEPT_BYTES, KEPT_SMALL = 256, 1 << 26, 1 << 16
_calls = itertools.count()


def py_function(
    func: Any = None,
    inp: Sequence[Any] | None = None,
    Tout: Any = None,
    name: str | None = None,
    *,
    output_shapes: Any = None,
) -> Any:
    """Call the Python function `func` with the tensors `inp`; gradients flow through what it computes with tensors.

    In a compiled function it is called whenever the code comes by, with tensors that have values.

    Parameters
    ----------
    func : callable
        Of as many tensors as `inp` has.
    inp : sequence of tensor-like, optional
        Without it, the function that does so with its arguments: a decorator.
    Tout : dtype-like, or sequence of these
        The dtype of the result, or of each of several; empty where there is none.
    name : str, optional
    output_shapes : shape, or sequence of these, optional
        In compiled functions, the shape of the result, or of each of several: those of the first argument, and of
        scalars where there is none, unless they are said. Elsewhere nobody asks.

    Raises
    ------
    ShapeError
        In a compiled function, when a result has another shape.
    GradientError
        In a compiled function, where the gradient goes through what is no tensor, NumPy for example; and where `func`
        is called again, for a second gradient, the derivative of one, or one through a `while` in a branch or loop, and
        then gives other values.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.py_function(lambda x: x**2, [3.0], tf.float32))
    tf.Tensor(9.0, shape=(), dtype=float32)
    >>> @tf.function
    ... def f(x):
    ...     return tf.py_function(lambda x: float(x.numpy()) ** 3, [x], tf.float32) + 1.0
    >>> print(f(2.0))
    tf.Tensor(9.0, shape=(), dtype=float32)
    """
    if func is None:
        return lambda f: py_function(f, inp, Tout, output_shapes=output_shapes)
    if inp is None:
        return lambda *args: py_function(func, args, Tout, output_shapes=output_shapes)
    tensors = [convert_to_tensor(x) for x in inp]
    if is_tracing():
        return _traced(_OfTensors(func, Tout, at(user_location())), tensors, Tout, output_shapes)
    return _as_outputs(func(*tensors), Tout)


def numpy_function(
    func: Any = None,
    inp: Sequence[Any] | None = None,
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
    *,
    output_shapes: Any = None,
) -> Any:
    """Call the Python function `func` with arrays; no gradient flows through it.

    `inp`, `Tout`, `output_shapes`, the results, their dtypes and errors are those of :func:`py_function`, a
    GradientError for every gradient that would have to flow through it in a compiled function; `stateful` changes
    nothing.

    Examples
    --------
    >>> import numpy as np, tracejit as tf
    >>> print(tf.numpy_function(np.cumsum, [[1.0, 2.0]], tf.float32))
    tf.Tensor([1. 3.], shape=(2,), dtype=float32)
    """
    if func is None:
        return lambda f: numpy_function(f, inp, Tout, output_shapes=output_shapes)
    if inp is None:
        return lambda *args: numpy_function(func, args, Tout, output_shapes=output_shapes)
    tensors = [convert_to_tensor(x) for x in inp]
    if is_tracing():
        return _traced(_OfArrays(func, Tout, at(user_location())), tensors, Tout, output_shapes)
    return _as_outputs(func(*(t.array for t in tensors)), Tout)


def timestamp(name: str | None = None) -> Tensor:
    """Seconds since the beginning of 1970, in UTC, as a float64 scalar; a compiled function asks at each call.

    Examples
    --------
    >>> import tracejit as tf
    >>> now = tf.function(lambda: tf.timestamp())
    >>> bool(0.0 < tf.timestamp() <= now() <= now())
    True
    """
    result: Tensor = numpy_function(time.time, [], np.float64, output_shapes=())
    return result


def _as_outputs(result: Any, wanted: Any, place: str | None = None) -> Any:
    """The result as it was announced; `place` says where, by default at the user's line."""
    if isinstance(wanted, (list, tuple)):
        parts = [] if result is None else list(result) if isinstance(result, (list, tuple)) else [result]
        if len(parts) != len(wanted):
            raise ValueError(
                f"{len(wanted)} results were announced, there are {len(parts)}"
                f"{at(user_location()) if place is None else place}"
            )
        return [_of_dtype(part, dtype) for part, dtype in zip(parts, wanted, strict=True)]
    return _of_dtype(result, wanted)


def _of_dtype(x: Any, dtype: Any) -> Tensor:
    if dtype is not None and all(leaf.__class__ in (float, int, complex) for leaf in flatten(x)[0]):
        x = np.asarray(x)  # not in the dtype of numbers of programs, which has fewer digits
    tensor = convert_to_tensor(x)
    return (
        tensor
        if dtype is None or tensor.np_dtype == as_dtype(dtype)
        else ops.cast(tensor, dtype=as_dtype(dtype))
    )


# ---- in compiled functions ------------------------------------------------------------------------------


def _traced(function: _Called, tensors: list[Tensor], wanted: Any, shapes: Any) -> Any:
    """The call as an op."""
    several = isinstance(wanted, (list, tuple))
    if wanted is None:
        raise ValueError(f"say the dtype of the result in a compiled function: Tout=...{at(user_location())}")
    dtypes = tuple([as_dtype(d).name for d in (wanted if several else [wanted])])
    if not dtypes:
        ops.python_effect(*tensors, function=number_of(function))
        return []
    given = [None] * len(dtypes) if shapes is None else list(shapes) if several else [shapes]
    if len(given) != len(dtypes):
        raise ValueError(f"{len(dtypes)} results have {len(given)} output_shapes{at(user_location())}")
    chosen = tuple([_shape(s, tensors) for s in given])
    found = ops.python_call(*tensors, function=number_of(function), dtypes=dtypes, shapes=chosen)
    return list(found[: len(dtypes)]) if several else found[0]


def _shape(shape: Any, tensors: Sequence[Tensor]) -> tuple[int, ...] | int:
    """An announced shape: sizes, or the number of the argument that has the same."""
    if shape is None:
        return 0 if tensors else ()
    sizes: Any = sizes_of(shape)
    for number, t in enumerate(tensors):
        if not all(isinstance(s, int) for s in sizes) and tuple(t.shape) == sizes:
            return number
    if not all(isinstance(s, int) for s in sizes):
        raise ValueError(
            f"output_shapes are numbers, or the shape of an argument, got {sizes}{at(user_location())}"
        )
    return sizes


class _Called(ABC):
    """A function of the program, from arrays to arrays of the announced dtypes; equal where one line calls it."""

    apart: frozenset[int] = frozenset()

    def __init__(self, function: Callable[..., Any], wanted: Any, place: str):
        self.function, self.place = function, place
        self.wanted: tuple[str, ...] | str | None = (
            tuple([as_dtype(d).name for d in wanted])
            if isinstance(wanted, (list, tuple))
            else wanted and as_dtype(wanted).name
        )
        self.notes = Notes()
        #: By the number of a call, from the cotangents of its results to those of its arguments.
        self.kept: dict[int, Callable[[Sequence[Tensor]], list[Tensor | None]]] = {}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return id(self.function), self.wanted, self.place

    def __str__(self) -> str:
        return str(getattr(self.function, "__name__", self.function))

    @abstractmethod
    def results(self, *tensors: Tensor) -> list[Tensor]:
        """The results as tensors."""

    @abstractmethod
    def gradient(self, needs: tuple[bool, ...], results: int, location: Any) -> _Called:
        """The function that gives the cotangents of the inputs that need one."""

    def __call__(self, *arrays: np.ndarray) -> list[np.ndarray]:
        with at_once_in_a_kernel():
            return [t.array for t in self.called(*(Tensor(np.array(a)) for a in arrays))]

    def called(self, *tensors: Tensor) -> list[Tensor]:
        """The results of a call of which nothing is kept."""
        return self.results(*tensors)

    def keeping(self, *arrays: np.ndarray) -> list[np.ndarray]:
        """The results, and the number of a call that has kept how to find its gradient, or `UNKEPT`."""
        return [*self(*arrays), np.asarray(UNKEPT)]


class _OfTensors(_Called):
    def results(self, *tensors: Tensor) -> list[Tensor]:
        found = _as_outputs(self.function(*tensors), self.wanted, self.place)
        return found if isinstance(found, list) else [found]

    def keeping(self, *arrays: np.ndarray) -> list[np.ndarray]:
        with at_once_in_a_kernel():
            tensors = [Tensor(np.array(a)) for a in arrays]
            floats = [t.dtype.is_floating for t in tensors]
            _, pull, refuse_lost, found = followed(*_of_floats(self, tensors, floats), has_aux=True)

        def cotangents(gs: Sequence[Tensor]) -> list[Tensor | None]:
            refuse_lost()
            take = iter(pull([g for y, g in zip(found, gs, strict=True) if y.dtype.is_floating]))
            return [next(take) if is_float else None for is_float in floats]

        size = 1 + sum(t.array.nbytes for t in (*tensors, *found))
        while len(self.kept) >= max(KEPT, min(KEPT_SMALL, KEPT_BYTES // size)):
            self.kept.pop(next(iter(self.kept)), None)
        number = next(_calls)
        self.kept[number] = cotangents
        return [*(y.array for y in found), np.asarray(np.int64(number))]

    def gradient(self, needs: tuple[bool, ...], results: int, location: Any) -> _Called:
        return _Gradient(self, needs, results, at(location))


def _of_floats(called: _Called, tensors: Sequence[Tensor], chosen: Sequence[bool]) -> list[Any]:
    """The call as a function of the chosen tensors, to the results that are floats and to all, and those tensors."""

    def again(*given: Tensor) -> tuple[Any, Any]:
        take = iter(given)
        found = called.results(*(next(take) if c else x for x, c in zip(tensors, chosen, strict=True)))
        return [y for y in found if y.dtype.is_floating], found

    return [again, *(x for x, c in zip(tensors, chosen, strict=True) if c)]


class _OfArrays(_Called):
    def results(self, *tensors: Tensor) -> list[Tensor]:
        found = _as_outputs(self.function(*(t.array for t in tensors)), self.wanted, self.place)
        return found if isinstance(found, list) else [found]

    def gradient(self, needs: tuple[bool, ...], results: int, location: Any) -> _Called:
        raise GradientError(
            f"no gradient flows through numpy_function, which calls {self}: write it with tensors in py_function, "
            "give its gradient by tracejit.custom_gradient, or take its arguments through tracejit.stop_gradient"
            f"{at(location)}"
        )


class _Gradient(_OfTensors):
    """From inputs, results, cotangents and the number of a call to the cotangents of some inputs."""

    def __init__(self, of: _Called, needs: tuple[bool, ...], results: int, place: str):
        super().__init__(of.function, None, place)
        self.of, self.needs = of, needs
        n = len(needs)
        self.apart = frozenset((*range(n, n + results), n + 2 * results))  # what is compared; the number

    def _key(self) -> tuple[Any, ...]:
        return self.of._key(), self.needs, self.place

    def __str__(self) -> str:
        return f"the gradient of {self.of}"

    def called(self, *tensors: Tensor) -> list[Tensor]:
        *given, number = tensors
        kept = self.of.kept.pop(int(number.array), None)
        if kept is None:
            return self.results(*tensors)
        n = len(self.needs)
        gradients = kept(given[n + (len(given) - n) // 2 :])
        return [g for g, need in zip(gradients, self.needs, strict=True) if need and g is not None]

    def results(self, *tensors: Tensor) -> list[Tensor]:
        """By calling the function again, from which the gradient's own gradient flows too."""
        n = len(self.needs)
        inputs, rest = tensors[:n], tensors[n:-1]
        before, cotangents = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        _, pull, found = vjp(*_of_floats(self.of, inputs, self.needs), has_aux=True)
        for now, then in zip(found, before, strict=True):
            if now.shape != then.shape or not np.allclose(now.array, then.array, rtol=1e-4, equal_nan=True):
                raise GradientError(
                    f"{self.of} gives other values each time, and is called again for its gradient: give it by "
                    f"tracejit.custom_gradient{self.place}"
                )
        return list(pull([g for y, g in zip(found, cotangents, strict=True) if y.dtype.is_floating]))
