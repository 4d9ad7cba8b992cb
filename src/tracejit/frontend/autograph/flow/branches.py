"""Branches on a condition that is known only when the compiled function runs: both sides are traced.

Values are compared leaf by leaf: what is the same on both sides stays as it is, numbers become outputs of one
`cond`, anything else is undefined afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....core.arrays import default_dtype
from ....core.errors import DtypeError, ShapeError, Untraceable, at, user_location
from ....core.ir.graph import Constant, Graph, Value, has_effect, mentions
from ....core.op import ops
from ....core.spec import TensorSpec
from ....core.tensor import Tensor
from ....core.tracing.dispatch import as_tensor
from ....core.tracing.forms import BranchForm
from ....core.tracing.trace import constant
from ....ops.arrays.reduce import size_tensor
from ....ops.tensor.memory.logs import inside_branch
from ...recording.merged import merge
from ...regions.region import Region, assigned_in, share_captures
from ...state.either import Either, is_alias
from ...state.variable import Variable, tracer
from ...structure import Nest, Structure, alike, text, unflatten
from ...structure import flatten_values as flatten
from ..places.place import ObjectPlace, Places
from ..values.aliases import INDEX, leaf_kind, number_of, position, variables_of
from ..values.contents import copied, identities, written_into
from ..values.growing import Growing
from ..values.iteration import reading
from ..values.kinds import (
    GENERATED,
    UNSET,
    DynamicListNeeded,
    Kind,
    SetInLoop,
    Undefined,
    different,
    escaping,
    held,
    is_number,
    is_undefined,
    joined,
    number_kind,
    plain,
    remedy,
    same_object,
)
from ..values.stacked import Stacked
from . import shared_lists
from .moments import Moment, displaced
from .raised import RaisedInBranch, check, is_raised_by_program, tried
from .recursion import ending
from .surroundings import Surroundings, until_all_is_known
from .written import WrittenInBranch

BOOL = TensorSpec((), np.dtype(bool))


def truth(x: Any) -> Tensor:
    """The truth value of a traced number, as a scalar bool tensor."""
    if x.__class__ is Stacked:
        return ops.greater(size_tensor(x.__tensor__().shape[0]), 0)
    t = as_tensor(x)
    if any(d != 1 for d in t.shape):
        raise ValueError(
            f"the truth value of {t.spec} is ambiguous: use tracejit.reduce_any or tracejit.reduce_all"
            f"{at(user_location())}"
        )
    if t.shape:
        t = ops.reshape(t, shape=())
    return t if t.np_dtype == BOOL.dtype else ops.not_equal(t, 0)


def branch(
    pred: Any,
    then: Callable[[], None],
    orelse: Callable[[], None] | None,
    places: Places,
    scratch: Places,
    set_by_loop: Collection[str] = (),
    unread: Collection[str] = (),
    what: str = "`if`",
) -> None:
    """Run one of two bodies that change `places`; what they do to `scratch` is forgotten.

    The names in `set_by_loop` may be None before, and then must not be read unless `pred` holds. Those `unread`
    stand for objects that may be read under another name. A body that raises is left out, for a check of `pred`.
    """

    def once(last: bool) -> None:
        only_held = [p.name for p in places.places if isinstance(p, ObjectPlace)]
        _branch(pred, then, orelse, places, scratch, Uses(set_by_loop, {*unread, *only_held}), what, last)

    raised = tried(lambda: until_all_is_known(once, places.learn), then)
    if raised is None:
        shared_lists.settle()
        return
    holds, raises = truth(pred), raised.side == "then"
    check(ops.logical_not(holds) if raises else holds, raised.error)
    other = orelse if raises else then
    if other is not None:
        other()


def _branch(
    pred: Any,
    then: Callable[[], None],
    orelse: Callable[[], None] | None,
    places: Places,
    scratch: Places,
    uses: Uses,
    what: str,
    last: bool,
) -> None:
    shared_lists.check()
    kept = scratch.get()
    around = Surroundings(places, scratch, last)
    before, objects = around.before, around.contents.containers
    bound = [True] * len(before)
    written = WrittenInBranch(around)
    names = [*places.names, *(_name_of(c, places.names, before) for c in objects)]
    same = identities(before)
    moments: dict[Any, Moment] = {}
    known, begun = shared_lists.known_to(around), Moment(before, objects)

    def restore() -> None:
        around.restore()
        scratch.set(kept)
        shared_lists.rewritten()

    def side(body: Callable[[], None] | None) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            restore()
            with inside_branch():
                if body is not None:
                    body()
            around.check("a branch")
            shared_lists.check()
            values = places.get()
            moments[body] = Moment(values, objects)
            written.ends_with([*values, *objects])
            bound[:] = [k and v is b for k, v, b in zip(bound, values, before, strict=True)]
            same.intersection_update(identities(objects))
            return [copied(v) for v in (*values, *objects)]

        return run

    try:
        with around:
            after = select(pred, side(then), side(orelse), names, what, uses, around, then)
    except DynamicListNeeded as irregular:
        if irregular.origin.__class__ is str:
            irregular.origin = [*before, *objects][names.index(irregular.origin)]
        irregular.places += [c.place for c in around.unknown()]
        raise
    finally:
        restore()
    both = moments[then], moments[orelse]
    moved = set[int]().union(*(displaced(begun, end, [(c, c) for c in objects]) for end in both))
    for c, a in zip(objects, after[len(before) :], strict=True):
        written_into(c, a, (same - moved) | (same & {id(c)}))
    values = [b if k else a for b, a, k in zip(before, after, bound, strict=False)]
    places.set(shared_lists.after_branch(around, known, both, values, [n in uses.unread for n in names]))
    written.hand_on(after)


def _name_of(container: Any, names: Sequence[str], values: Sequence[Any]) -> str:
    """The name that a list or dict is known by."""
    return next((n for n, v in zip(names, values, strict=True) if id(container) in identities([v])), "")


@ending
def select(
    pred: Any,
    then: Callable[[], list[Any]],
    orelse: Callable[[], list[Any]],
    names: Sequence[str],
    what: str,
    uses: Uses,
    around: Surroundings,
    of: object,
) -> list[Any]:
    """The values of ``then()`` where `pred` holds, else those of ``orelse()``."""
    condition = truth(pred)
    now = tracer()
    assert now is not None
    sizes = now.trips.used
    with around.attempt() as attempt:
        sides = [_Side(then, "then", (), of), _Side(orelse, "orelse", (), of)]
        variables = assigned_in(*(s.region for s in sides))
        if variables:
            attempt.rollback()
    if variables:
        sides = [_Side(then, "then", variables, of), _Side(orelse, "orelse", variables, of)]
    plan = _Plan(sides, uses, condition, now.trips.since(sizes))
    values = [
        plan.merged(name, a, b, what)
        for name, a, b in zip(names, sides[0].values, sides[1].values, strict=True)
    ]
    if not plan.kinds and not variables:
        if not any(has_effect(n) for s in sides for n in s.region.graph.nodes):
            return [v() for v in values]
        plan.placed(None, None, Kind(BOOL, False))  # what only checks or prints has a result nobody reads
    for side, outputs in zip(sides, plan.outputs, strict=True):
        state = side.region.graph.outputs[len(side.numbers) :]
        side.region.graph.outputs = [*outputs, *state]
    captured = share_captures(*(s.region for s in sides))
    for v in variables:
        v.announce()
    first, second = (side.region.graph for side in sides)
    plan.results = BranchForm.make(condition, captured, first, second).apply()
    if plan.missing:
        reads = ", ".join(map(repr, plan.missing))
        ran = ops.cast(condition, dtype=np.dtype(np.float32))
        ops.check(ran, message=f"the loop that sets {reads} ran zero times: start with a number, not None")
    for variable, value in zip(variables, plan.results[len(plan.kinds) :], strict=True):
        variable.store(value)
    return [v() for v in values]


class Uses(NamedTuple):
    """How variables of a branch are read afterwards.

    Attributes
    ----------
    set_by_loop : collection of str
        Read only where the condition holds, which is that a loop runs.
    unread : collection of str
        Not read under that name.
    """

    set_by_loop: Collection[str]
    unread: Collection[str]


class _Side:
    """One branch, traced.

    Attributes
    ----------
    values : list
        What it returned.
    numbers : dict
        Serial number of the position among the leaves to the graph's value.
    """

    def __init__(
        self,
        run: Callable[[], list[Any]],
        name: str,
        carried: Sequence[Variable],
        of: object,
    ):
        self.values: list[Any] = []
        self.numbers: list[Any] = []

        def body() -> list[Tensor]:
            try:
                self.values = [reading(v) for v in run()]
            except Exception as error:
                if is_raised_by_program(error):
                    raise RaisedInBranch(error, name, of) from error
                raise escaping(error, "a branch") from error
            self.numbers = [leaf for value in self.values for leaf in leaves_of(value) if is_number(leaf)]
            return [plain(x) for x in self.numbers]

        self.region = Region(body, [], name, carried=carried, given=False, of=of)
        self.at = {id(x): k for k, x in enumerate(self.numbers)}

    def output(self, leaf: Any, kind: Kind) -> Value:
        """The graph's value for a leaf, of the type wanted."""
        graph = self.region.graph
        if leaf is None:
            spec = kind.spec
            if spec.symbolic:
                attrs = {"shape": spec.shape, "value": 0, "dtype": spec.dtype}
                return graph.add(ops.fill, (), attrs, (spec,))[0]
            array = np.zeros(tuple(spec.shape), spec.dtype)
            return graph.add(constant, (), {"value": Constant.of(array)}, (kind.spec,))[0]
        return _cast(graph, graph.outputs[self.at[id(leaf)]], kind.spec)


def _cast(graph: Graph, value: Value, spec: TensorSpec) -> Value:
    if value.spec.dtype == spec.dtype:
        return value
    return graph.add(ops.cast, (value,), {"dtype": spec.dtype}, (value.spec.with_dtype(spec.dtype),))[0]


def leaves_of(value: Any) -> list[Any]:
    """The leaves of a value, and what those are made of; a list that grows shows its new items."""
    leaves = flatten(value.items if value.__class__ is Growing else value)[0]
    if not any(x.__class__ in (Either, Stacked) for x in leaves):
        return leaves
    return [part for x in leaves for part in _parts(x)]


def _parts(x: Any) -> Sequence[Any]:
    if x.__class__ is Stacked:
        return x.parts
    return (x.which, x.number) if x.__class__ is Either else (x,)


class _Plan:
    """What the branch returns: how each variable is put together from outputs and from what stays."""

    def __init__(self, sides: Sequence[_Side], uses: Uses, condition: Tensor, inside: Collection[str]):
        self.sides = sides
        self.uses = uses
        self.condition = condition
        self.inside = inside  # names of sizes that only one side knows
        self.known: dict[tuple[Any, ...], Callable[[], Any]] = {}
        self.missing: list[str] = []  # names that a loop must have set
        self.kinds: list[Kind] = []
        self.outputs: tuple[list[Value], list[Value]] = ([], [])
        self.results: Sequence[Tensor] = ()

    def merged(self, name: str, a: Any, b: Any, what: str) -> Callable[[], Any]:
        """How to make the value of a variable once the branch has run."""
        if is_undefined(a) and is_undefined(b) and (a is b or not {a.__class__, b.__class__} & {SetInLoop}):
            return lambda: a
        if is_undefined(a) or is_undefined(b):
            if name.startswith(GENERATED):
                return self._placeholder(b if is_undefined(a) else a, is_undefined(a))
            reason = (
                f"is set in one branch only of the {what}{at(user_location())}\n  set it in both, or before"
            )
            return lambda: Undefined(name, reason)
        if b is None and a is not None and name in self.uses.set_by_loop:
            self.missing.append(name)
            return self._placeholder(a, left=False)
        if a.__class__ is Stacked and b.__class__ is Stacked and not a.same(b):
            return self._stacked(name, a, b, what)
        grows = a.__class__ is Growing and b.__class__ is Growing
        left, structure = flatten(a.items if grows else a)
        right, other = flatten(b.items if grows else b)
        if not alike(structure, other):
            message = self._unlike(name, structure, other, what)
            if name in self.uses.unread:
                return lambda: Undefined(name, message)
            if grows or _both_lists(structure, other):
                raise DynamicListNeeded(a.origin if grows else name, message)
            raise ShapeError(message)
        makers = [self._leaf(name, x, y, what) for x, y in zip(left, right, strict=True)]
        if grows:
            return lambda: _grown(a, unflatten(structure, [m() for m in makers]))
        return lambda: unflatten(structure, [m() for m in makers])

    def _stacked(self, name: str, a: Stacked, b: Stacked, what: str) -> Callable[[], Any]:
        """A list that a loop has built, and that grows in the branches."""
        if [p.spec for p in a.parts] != [p.spec for p in b.parts]:
            same_size = a.spec == b.spec
            message = _one_rewrites(name, what) if same_size else _one_grows(name, what)
            if name in self.uses.unread:
                return lambda: Undefined(name, message)
            raise Untraceable(message) if same_size else DynamicListNeeded(name, message)
        makers = [self._leaf(name, x, y, what) for x, y in zip(a.parts, b.parts, strict=True)]
        return lambda: Stacked.of(m() for m in makers)

    def _unlike(self, name: str, a: Structure, b: Structure, what: str) -> str:
        if _both_lists(a, b):
            return _one_grows(name, what, f" ({text(a)} in one and {text(b)} in the other)")
        return (
            f"{different(name, 'the ' + what)} is {text(a)} in one branch and {text(b)} in the other; "
            f"they must agree in structure: set the same items and keys in both, or before{at(user_location())}"
        )

    def _leaf(self, name: str, x: Any, y: Any, what: str) -> Callable[[], Any]:
        if same_object(x, y):
            return lambda: x
        if is_number(x) and is_number(y):
            message = f"{different(name, 'the ' + what)} differs between the branches"
            try:
                kind = joined(number_kind(x), number_kind(y), message)
            except (ShapeError, TypeError) as error:
                raise _disagreeing(error) from None
            return self.placed(x, y, kind)
        if is_alias(x) or is_alias(y):
            return self._either(name, x, y, what)
        late = f"the condition is known only when the compiled function runs{remedy(x, y)}{at(user_location())}"
        reason = f"is {_shown(x)} in one branch and {_shown(y)} in the other, and {late}"
        return lambda: Undefined(name, reason)

    def _either(self, name: str, x: Any, y: Any, what: str) -> Callable[[], Any]:
        """Variables, or a Variable and a number: which one the name stands for is asked when it is used."""
        a, b = leaf_kind(x), leaf_kind(y)
        message = (
            f"{different(name, 'the ' + what)} is {_shown(x)} in one branch and {_shown(y)} in the other"
        )
        if a is None or b is None:
            return lambda: Undefined(name, message.removeprefix(f"variable {name!r} "))
        try:
            kind = joined(a, b, message)
        except (ShapeError, TypeError) as error:
            raise _disagreeing(error) from None
        among, number = variables_of(x, y), None
        if number_of(x) is not None or number_of(y) is not None:
            number = self.placed(number_of(x), number_of(y), kind)
        left, right = self._position(x, among, True), self._position(y, among, False)
        return lambda: Either(ops.where(self.condition, left(), right()), among, number and number())

    def _position(self, x: Any, among: tuple[Variable, ...], left: bool) -> Callable[[], Tensor]:
        """Where what a name stands for on one side is among all Variables, once the branch has run."""
        if x.__class__ is not Either:
            return lambda: position(x, among)
        which = self.placed(x.which, None, INDEX) if left else self.placed(None, x.which, INDEX)
        return lambda: position(x, among, which())

    def placed(self, x: Any, y: Any, kind: Kind) -> Callable[[], Any]:
        """Add an output: one leaf per side, of one type; None for any value."""
        key = (id(x), id(y), kind)
        if key in self.known:
            return self.known[key]
        k = len(self.kinds)
        self.kinds.append(kind)
        for side, leaf, outputs in zip(self.sides, (x, y), self.outputs, strict=True):
            outputs.append(side.output(leaf, kind))

        def made() -> Any:
            merge(self.results[k], (x, y))
            return held(self.results[k], kind)

        self.known[key] = made
        return made

    def _placeholder(self, value: Any, left: bool) -> Callable[[], Any]:
        """A generated variable set on one side: on the other nobody reads it, any number will do."""
        leaves, structure = flatten(value)
        makers = [self._on_one_side(x, left) for x in leaves]
        return lambda: unflatten(structure, [m() for m in makers])

    def _on_one_side(self, x: Any, left: bool) -> Callable[[], Any]:
        """A leaf that the other side has none for, the `left` one if that holds."""

        def place(part: Any, kind: Kind) -> Callable[[], Any]:
            if mentions(kind.spec.shape, self.inside):
                raise Untraceable(
                    f"{kind.spec} leaves a branch by a jump, and how large it is, only that branch knows: give its "
                    f"variable a value before, and jump after the branch{at(user_location())}"
                )
            return self.placed(None, part, kind) if left else self.placed(part, None, kind)

        if x.__class__ is Either:
            which = place(x.which, INDEX)
            number = place(x.number, Kind(x.spec, False)) if x.number is not None else None
            return lambda: Either(which(), x.among, number and number())
        if x.__class__ is Stacked:
            rows = [place(p, number_kind(p)) for p in x.parts]
            return lambda: Stacked.of(r() for r in rows)
        return place(x, number_kind(x)) if is_number(x) else lambda: x


def _one_grows(name: str, what: str, sizes: str = "") -> str:
    return (
        f"the list {name!r} grows in one branch only of the {what}{sizes}: append in both, as with `else: "
        f"{name}.append(0.0)`, for it has to be as long after each, or begin it with all items, {name} = [0.0, …], and "
        f"set them there, {name}[0] = …{at(user_location())}"
    )


def _one_rewrites(name: str, what: str) -> str:
    return (
        f"items of the list {name!r}, which a compiled loop has built, are set in one branch only of the {what}: take "
        f"{name} = tracejit.stack({name}) before, and {name} = {name}.at[…].set(…) there{at(user_location())}"
    )


def _both_lists(a: Structure, b: Structure) -> bool:
    return all(isinstance(s, Nest) and s.kind is list for s in (a, b))


def _shown(x: Any) -> str:
    if x.__class__ is Stacked:
        return "a list that a loop has built, with other items"
    return "one of several Variables" if x.__class__ is Either else "a number" if is_number(x) else repr(x)


def _grown(model: Growing, items: list[Any]) -> Growing:
    made = model.copy()
    made.items = items
    return made


def _disagreeing(error: Exception) -> Exception:
    """The same error with what to write instead, and the line."""
    remedy = "make them agree in shape and dtype"
    if isinstance(error, DtypeError):
        remedy = (
            "cast one of them, or start with a tensor of that dtype (functions of Python numbers alone give "
            f"{default_dtype(0.0)} unless tracejit.set_default_dtype says otherwise)"
        )
    return type(error)(f"{error}; {remedy}{at(user_location())}")


__all__ = ["BOOL", "UNSET", "branch", "leaves_of", "select", "truth"]
