"""Op: the whole truth about one operation, declared once; every mode and backend reads it from here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import field
from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .dataclass import dataclass
from .errors import DtypeError, at, user_location
from .lazy import Later, once
from .spec import TEXT, TensorSpec

if TYPE_CHECKING:
    from .declared import Declaring
    from .tracing import documentation
else:
    documentation = Later(".tracing.documentation", __package__)


class _Registry(MutableMapping[str, "Op"]):
    """Ops by name. A family that few programs need is declared when one of its ops, or all there are, is asked for."""

    def __init__(self) -> None:
        self._known: dict[str, Op] = {}
        self._homes: dict[str, Later] = {}

    def expect(self, homes: Mapping[str, str]) -> None:
        """Say which modules declare further ops: by module, the names."""
        for module, names in homes.items():
            self._homes |= dict.fromkeys(names.split(), Later(module, ""))

    def declared(self) -> Mapping[str, Op]:
        """The ops declared so far."""
        return self._known

    def __getitem__(self, name: str) -> Op:
        if name not in self._known:
            self._homes[name].__name__  # noqa: B018, the module loads
        return self._known[name]

    def __setitem__(self, name: str, op: Op) -> None:
        self._known[name] = op

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self._homes

    def __iter__(self) -> Iterator[str]:
        for home in dict.fromkeys(self._homes.values()):
            home.__name__  # noqa: B018
        return iter(self._known)

    def __len__(self) -> int:
        return len(list(iter(self)))


#: Every op.
OPS = _Registry()

Rule = Callable[..., Any]
#: The attributes of a call, by name.
Attrs = dict[str, Any]


def _returns_arrays() -> bool:
    """Does this NumPy give an array of rank 0, and no scalar, when it is asked for ``out=...``?"""
    try:
        return isinstance(np.negative(np.zeros(()), out=...), np.ndarray)
    except TypeError:
        return False


_ARRAYS = _returns_arrays()


class _Namespace:
    """Ops as attributes: a rule may name an op that is declared later."""

    def __getattr__(self, name: str) -> Op:
        try:
            op = OPS[name]
        except KeyError:
            raise AttributeError(f"no op is called {name!r}") from None
        vars(self)[name] = op  # the next time it is found without coming here
        return op


ops: Any = _Namespace()


@dataclass(frozen=True)
class Joint:
    """One vjp rule for all inputs: ``rule(record, cotangents, wanted) -> list``, for rules that share work."""

    rule: Rule


@dataclass(frozen=True)
class Sample:
    """Arguments to test an op with.

    Attributes
    ----------
    shapes : tuple of shapes
        One per input.
    attrs : mapping
        The op's attributes.
    low, high : float
        Range the random inputs are drawn from: inside the domain, away from poles and kinks.
    dtypes : tuple of str, optional
        One dtype per input where it is not the tested float dtype: ``"bool"``, ``"int64"``, ``"index:5"``
        (an int64 below 5) or ``"real"`` (the float of the same width when the test is complex).
    complex : bool
        May be tested with complex inputs.
    """

    shapes: tuple[tuple[int, ...], ...]
    attrs: Mapping[str, Any]
    low: float = -2.0
    high: float = 2.0
    dtypes: tuple[str, ...] | None = None
    complex: bool = False


def sample(
    *shapes: tuple[int, ...],
    low: float = -2.0,
    high: float = 2.0,
    dtypes: tuple[str, ...] | None = None,
    complex: bool = False,
    **attrs: Any,
) -> Sample:
    """Shorthand for :class:`Sample`: shapes, then the op's attributes by keyword."""
    return Sample(shapes, attrs, low, high, dtypes, complex)


@dataclass(eq=False)
class Op:
    """One operation.

    Attributes
    ----------
    name : str
        Unique; what graphs print and public faces re-export.
    infer : callable
        ``(*specs, **attrs) -> TensorSpec`` or a tuple of them. Also the signature and the documentation.
    partial : tuple of callables, optional
        For element-wise ops: the derivative with respect to each input, ``(y, *xs, **attrs)``; None for an
        input that carries none.
    vjp : tuple of callables or Joint, optional
        Otherwise: ``(g, y, *xs, **attrs) -> cotangent`` per input, None for an input that carries none; of
        the broadcast shape where inputs broadcast: `backprop` sums it to the input's.
    jvp : callable, optional
        ``(record, tangents) -> tangents of the outputs``; found from `partial`, linearity or `vjp` when absent.
    linear : bool
        Linear in each differentiable input separately: the jvp applies the op to tangents.
    vanishes_where : str or callable, optional
        In words, under which condition nothing passes to an input: a text, or ``(record, position) -> text``. Values
        stand in it as ``{this}``, the input at that position, and ``{other}``, of two inputs the other one.
    kernel : callable
        ``(*arrays, **attrs) -> ndarray`` or a tuple of them; never writes to its inputs.
    lower : object
        How the compiler makes code of it (see ``ops.lowering``).
    canonicalize : callable, optional
        ``(inputs, attrs) -> (inputs, attrs)``: turns what users may write into canonical inputs and attributes.
    extra_keywords : tuple of str
        Keywords that `canonicalize` takes besides the attributes.
    with_residuals : callable, optional
        ``(inputs, attrs) -> attrs``: the form to run while something records, which keeps more for the backward.
    batch : callable, optional
        ``(batch, *inputs, **attrs) -> outputs``: the op for many lanes at once, where those inputs that `batch`
        (see ``core.autodiff.batching``) says have lanes have them as their first axis, as the outputs do. Element-wise
        ops need none; other ops without one are run lane by lane.
    region_specs : mapping, optional
        For ops that hold graphs: by attribute, in order, ``(input specs, attrs) -> specs`` that the graph is run on.
    trim : callable, optional
        For ops that hold graphs: ``(node, live) -> node`` without the parts that no live value needs.
    binds : callable, optional
        ``(node) -> outputs`` whose first axis is a size that nobody knows before the node has run; one of them must
        stay where that size is mentioned.
    over_rows : callable, optional
        For ops that only look at their input: ``(rows, attrs) -> attrs`` with which one looks in the same way at every
        row of an array of so many rows.
    size_rule : callable, optional
        ``(node, sizes of each input) -> sizes``: the sizes in a result of integers; None where it holds no sizes.
    work : callable, optional
        ``(inputs, outputs) -> int``: the element operations of a call, where neither traits nor sizes say.
    sign : str
        How pictures of graphs write it between two operands.
    traits : frozenset of str
        What it is: ``elementwise`` (broadcasts, promotes), ``elementary`` (many operations per element), ``reduce``
        (folds axes of its input), ``takes_text`` (strings too), ``multiple`` (always returns a tuple), ``runs_graphs``
        (its kernel calls other ops), ``literal`` (its attribute `value` is the result), ``internal`` (nobody calls
        it), ``numpy_view`` (of an array of NumPy's a view).
        How it becomes code: ``complex_by_kernel`` (of complex numbers as by the lowering `Callback`).
        When to compute it: ``view`` (of its first input, or as cheap: always again), ``cheap`` (never kept),
        ``expensive`` (never again).
        What it touches: ``partial_access`` (a part of its first input only), ``adds_rows`` (to its first input the
        third, at the indices in the second), ``row_local`` (a row of the result depends on the same rows of the
        inputs alone), ``ragged_ok`` (its `batch` rule takes rows whose number differs between lanes).
        What else happens: ``effect`` (never removed or merged), ``no_cse`` (never merged: each call is memory of its
        own), ``may_fail`` (for some values or sizes), ``polls`` (its code may have loops, its own or of graphs written
        in its place, that say where they are), ``prints`` (left out where a graph is run again), ``takes_out`` (gives
        a Python number: what depends on it is out of sight), ``this_process`` (its attributes name what only this
        process has: its code is in no file), ``once`` (where a graph is run again the op of its name and ``_given``
        stands for it, if its results were kept, or ``_again``, which its attribute `noted` prepares).
    samples : tuple of Sample
        Arguments the generated tests use.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.exp.name, tf.exp.tensors, tf.exp.differentiable
    ('exp', ('x',), True)
    """

    name: str
    infer: Callable[..., Any]
    partial: tuple[Rule | None, ...] | None = None
    vjp: tuple[Rule | None, ...] | Joint | None = None
    jvp: Rule | None = None
    linear: bool = False
    vanishes_where: str | Callable[[Any, int], str] | None = None
    kernel: Callable[..., Any] = field(kw_only=True)
    lower: Any = None
    canonicalize: Rule | None = None
    extra_keywords: tuple[str, ...] = ()
    with_residuals: Rule | None = None
    batch: Rule | None = None
    region_specs: Mapping[str, Rule] | None = None
    trim: Rule | None = None
    binds: Rule | None = None
    over_rows: Rule | None = None
    size_rule: Rule | None = None
    work: Rule | None = None
    sign: str = ""
    traits: frozenset[str] = frozenset()
    samples: tuple[Sample, ...] = ()
    doc: str = ""

    def __post_init__(self) -> None:
        self.__name__: str = self.name
        self.inferred: dict[tuple[Any, ...], Any] = {}
        #: Numbers of the dtypes of a first input that the shape rule accepted.
        self.accepted_dtypes: set[int] = {TEXT.num} if "takes_text" in self.traits else set()
        self.elementwise: bool = "elementwise" in self.traits
        self.multiple: bool = "multiple" in self.traits
        self.runs_graphs: bool = "runs_graphs" in self.traits
        self.literal: bool = "literal" in self.traits
        # its attributes are what one program made
        self.one_program: bool = self.runs_graphs or "this_process" in self.traits
        # no gradient flows to any input
        self.severs: bool = isinstance(self.vjp, tuple) and not any(self.vjp)
        # its code may name the user's line
        self.names_line: bool = not self.traits.isdisjoint(("may_fail", "polls"))
        kernel = self.kernel
        self.ufunc: bool = _ARRAYS and isinstance(kernel, np.ufunc) and kernel.nout == 1 and kernel.nin <= 2
        #: Of bfloat16 it is itself, which others compute in float32: it moves elements, or hands them on.
        self.takes_bfloat16: bool = self.one_program
        #: What the kernel gives for small arrays, or None: see `frontend.small_kernels`.
        self.small: Rule | None = None
        # has no place in the fast lane of `apply`
        self.slow: bool = self.runs_graphs or self.with_residuals is not None

    @once
    def keywords(self) -> frozenset[str]:
        """What users may give by keyword: the attributes, and what `canonicalize` takes besides."""
        parameters = inspect.signature(self.infer).parameters.values()
        return frozenset([*self.extra_keywords, *(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)])

    @once
    def tensors(self) -> tuple[str, ...]:
        """The names of the tensors it takes, in order; users may give them by keyword too."""
        parameters = inspect.signature(self.infer).parameters.values()
        return tuple([p.name for p in parameters if p.kind is not p.KEYWORD_ONLY])

    @property
    def type_name(self) -> str:
        """The name in gradient registries and ``raw_ops``: its own in camel case."""
        return "".join(part[:1].upper() + part[1:] for part in self.name.split("_"))

    @property
    def differentiable(self) -> bool:
        """Has any derivative rule, be it an explicit None per input."""
        return self.partial is not None or self.vjp is not None

    @property
    def __signature__(self) -> inspect.Signature:
        """How users call it: with tensors, where the shape rule has their specs."""
        rule = inspect.signature(self.infer)
        shown = {"TensorSpec": "Tensor", "tuple[TensorSpec, ...]": "tuple[Tensor, ...]"}
        given = [
            p if p.kind is p.KEYWORD_ONLY else p.replace(annotation=p.empty) for p in rule.parameters.values()
        ]
        returned = shown.get(rule.return_annotation, rule.return_annotation)
        return rule.replace(parameters=given, return_annotation=returned)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str | tuple[Any, ...]:
        return _find, (self.name,)

    def specs(self, inputs: tuple[TensorSpec, ...], attrs: Mapping[str, Any]) -> tuple[TensorSpec, ...]:
        """The specs of the outputs for the specs `inputs` and the attributes `attrs`; remembered for static shapes.

        Symbolic ones may record guards each time. Nothing is remembered where that would keep what only one program
        needs: of ops with graphs, or that name a function of the program, and of constants, which have no inputs and an
        array among their attributes.
        """
        if not inputs or self.one_program or any(s.symbolic for s in inputs):
            specs = self.infer(*inputs, **attrs)
            return specs if isinstance(specs, tuple) else (specs,)
        key = (inputs, tuple(attrs.items()))
        try:
            return self.inferred[key]
        except KeyError:
            specs = self.infer(*inputs, **attrs)
            specs = specs if isinstance(specs, tuple) else (specs,)
            if len(self.inferred) < 4096 and not any(s.symbolic for s in specs):
                self.inferred[key] = specs
            return specs

    __call__: ClassVar[Callable[..., Any]]  # the user's door, set by core.tracing.dispatch


class _Documentation(str):
    """The documentation of a class, and of each of its objects its own."""

    def __get__(self, op: Op | None, owner: type) -> str:
        return str(self) if op is None else documentation.documented(op)


Op.__doc__ = _Documentation(Op.__doc__)


def _find(name: str) -> Op:
    return OPS[name]


def defop(**parts: Any) -> Declaring:
    """Declare an op: the decorated shape rule gives its name, signature and documentation.

    `parts` are the fields of :class:`Op`, in their order: the derivative comes first. `traits` and `samples` may be
    any iterables. KeyError where an op has the name.

    Examples
    --------
    >>> @defop(partial=(lambda y, x: -1.0,), kernel=np.negative, lower=Scalar("neg"))  # doctest: +SKIP
    ... def negative(x):
    ...     "The negative, element by element."
    ...     return x
    """

    def declare(infer: Callable[..., Any]) -> Any:
        name = infer.__name__.rstrip("_")
        if name in OPS.declared():
            raise KeyError(f"the op {name!r} is declared twice")
        for key, make in (("traits", frozenset), ("samples", tuple)):
            parts[key] = make(parts.get(key, ()))
        op = OPS[name] = Op(name, infer, doc=infer.__doc__ or "", **parts)
        return op

    return declare


def floating(spec: TensorSpec) -> TensorSpec:
    """Shape rule of element-wise ops defined on real and complex floats."""
    if not spec.differentiable:
        raise DtypeError(f"takes float or complex, got {spec.dtype.name}; cast it first")
    return spec


def understood(
    op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Tensors by position that were given by name, and the other keywords without ``name``, accepted everywhere.

    TypeError for what would have no meaning.
    """
    attrs.pop("name", None)
    inputs = (*inputs, *(attrs.pop(k) for k in takewhile(attrs.__contains__, op.tensors[len(inputs) :])))
    unknown = [k for k in attrs if k not in op.keywords]
    if unknown:
        known = f", by keyword {', '.join(sorted(op.keywords))}" if op.keywords else ""
        raise TypeError(
            f"{op}() has no argument {unknown[0]!r}: it takes the tensors {', '.join(op.tensors)}{known}"
            f"{at(user_location())}"
        )
    return inputs, attrs


def numeric(spec: TensorSpec) -> TensorSpec:
    """Shape rule of element-wise ops defined on all numbers but not on bools."""
    if spec.dtype.kind == "b":
        raise DtypeError("takes numbers, got bool; cast it first")
    return spec


def ordered(spec: TensorSpec) -> TensorSpec:
    """Shape rule of element-wise ops that need an order: complex numbers have none."""
    if spec.dtype.kind == "c":
        raise DtypeError(
            f"takes real numbers, got {spec.dtype.name}, which has no order; take its abs or real part"
        )
    return spec


def real(spec: TensorSpec) -> TensorSpec:
    """Shape rule of element-wise ops defined on real floats."""
    if spec.dtype.kind != "f":
        raise DtypeError(f"takes float, got {spec.dtype.name}; cast it first")
    return spec
