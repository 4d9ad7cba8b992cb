"""One variable of a compiled loop: which parts of it are carried, and their types.

The types are found by trying: after each trace of the body a variable learns from the value it has there, and says
whether the body must be traced again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from ....core.errors import DtypeError, ShapeError, TracejitError, Untraceable, at, user_location
from ....core.ir.graph import mentions
from ....core.op import ops
from ....core.spec import TensorSpec
from ....core.tensor import Tensor
from ....core.tracing.dispatch import as_tensor
from ....core.tracing.transaction import Unwinding
from ....ops.arrays.shape import stack
from ...recording.merged import merge
from ...state.either import Either, is_alias
from ...state.variable import Variable
from ...structure import LEAF, Nest, Structure, alike, text, unflatten
from ...structure import flatten_values as flatten
from ..values.aliases import Alias, leaf_kind, number_of, variables_of
from ..values.contents import abandon, identities, written_into
from ..values.growing import Growing
from ..values.iteration import TensorRange
from ..values.kinds import (
    GENERATED,
    UNSET,
    DynamicListNeeded,
    Kind,
    SetInLoop,
    Undefined,
    coerced,
    different,
    held,
    is_number,
    is_undefined,
    joined,
    number_kind,
    same_object,
)
from ..values.rows import Rows
from ..values.stacked import Stacked, numbers


class LoopTypeChanged(Unwinding):
    """A variable of a loop has another type after an iteration than before, and none that fits both.

    Passes the handlers of the traced function: the loop may still be written in another way.
    """

    def __init__(self, error: TracejitError):
        super().__init__(str(error))
        self.error = error


_FLAG = Kind(TensorSpec((), np.dtype(bool)), False)


class LoopVariable:
    """One variable of a loop: its value before, and which of its leaves go round.

    A number that nothing has set before a loop that may run zero times goes round `flagged`, that is with a bool
    beside it that says whether it has been set; see :class:`SetInLoop`.
    """

    flagged: bool
    refused: bool
    leaves: list[Any]

    def __init__(self, name: str, before: Any, grows: bool, what: str):
        self.name = name
        self.what = what
        self.grows: bool = grows and before.__class__ in (list, Stacked)
        self.nested: bool = grows and before.__class__ is Growing
        self.before: Any = before
        self.unset: bool = is_undefined(before)
        self.placeholder: bool = False
        self.lost: bool = (
            False  # what it held was no number, and what it holds after an iteration is not known
        )
        self.leaves, self.structure = ([], LEAF) if self.unset else flatten(before)
        self.leaves = [x.__tensor__() if x.__class__ is TensorRange else x for x in self.leaves]
        self.kinds: list[Kind | Alias | Rows | None] = [_first_kind(x) for x in self.leaves]
        self.surely: list[Any] = []  # the leaves that it surely has after the loop
        self.kept: set[int] = (
            set() if self.grows else identities([before])
        )  # containers that the body does not replace
        self.flagged = before.__class__ is SetInLoop  # its one leaf is a number then
        self.refused = not name.isidentifier() or name.startswith(GENERATED)  # it never goes round flagged
        if self.flagged:
            self.placeholder = True
            self.leaves = [before.value]
            self.kinds = [number_kind(before.value)]
        if self.grows:
            self.leaves = []
            self.kinds = []
            self.structure = Nest(tuple, (), ())
        self.row_structures: list[Structure] = []
        self.ended: list[Any] = []  # the leaves after an iteration
        self.reads: list[bool] = []  # not empty once the last item of a list was read that grows
        self.built: dict[int, Any] = {
            k: x.copy() for k, x in enumerate(self.leaves) if x.__class__ is Stacked
        }

    # ---- in the body ------------------------------------------------------------------------------------

    def count(self) -> int:
        return len(self.given())

    def value(self, carried: Sequence[Tensor]) -> Any:
        """What the variable holds at the start of an iteration."""
        if self.grows:
            return Growing(self.before, self._last(carried), self.reads)
        if self.unset and not self.placeholder:
            return self.before
        if self.flagged:
            (kind, _), (last, is_set) = self.given(), carried
            return SetInLoop(self.name, self._reason(), held(last, kind), is_set)
        take = iter(carried)
        self.merge(carried, self.leaves)
        leaves = [x if k is None else k.value(take) for x, k in zip(self.leaves, self.kinds, strict=True)]
        if self.before.__class__ is Growing:
            return self.before
        return written_into(self.before, unflatten(self.structure, leaves), self.kept)

    def merge(self, carried: Sequence[Tensor], leaves: Sequence[Any], before: Any = None) -> None:
        """Note that the tensors that go round may be these; see `recording.merged`."""
        tensors = iter(carried)
        for k, x in zip(self.kinds, leaves, strict=True):
            own = [] if k is None else list(islice(tensors, len(k.kinds())))
            if len(own) == 1:
                merge(own[0], [x], before)

    def ends_with(self, value: Any, carried: Sequence[Tensor], now: Any) -> None:
        """Note what the next iteration, traced in `now`, begins with."""
        if not (self.grows or self.flagged or is_undefined(value)) and self.given():
            self.ended = flatten(value)[0]
            self.merge(carried, self.ended, now)

    def _last(self, carried: Sequence[Tensor]) -> Any:
        """The last item of a list at the start of an iteration; None for none that is known."""
        if self.before.__class__ is not Stacked and not self.before:
            return None
        if not self.kinds:
            return _last(self.before)
        return unflatten(flatten(_last(self.before))[1], [held(t, k) for t, k in zip(carried, self.given())])

    def given(self) -> list[Kind]:
        """The types of the leaves that go round, and of the flag."""
        kinds = chain.from_iterable(k.kinds() for k in self.kinds if k is not None)
        return [*kinds, *([_FLAG] if self.flagged else [])]

    def initial(self) -> list[Tensor]:
        """The values that go round first."""
        if self.before.__class__ is SetInLoop and self.flagged:
            return [coerced(self.before.value, self.given()[0]), self.before.is_set]
        if self.grows and self.kinds:
            self.leaves = flatten(_last(self.before))[0]  # here, and not in the body
        if self.unset:
            return [ops.fill(shape=k.spec.shape, value=0, dtype=k.spec.dtype) for k in self.given()]
        return self._spread([self.built.get(k, x) for k, x in enumerate(self.leaves)])

    def _spread(self, leaves: Sequence[Any]) -> list[Tensor]:
        """What goes round for these leaves."""
        pairs = zip(leaves, self.kinds, strict=True)
        return [t for x, k in pairs if k is not None for t in k.spread(_read(x))]

    # ---- after the body ---------------------------------------------------------------------------------

    def learn(self, value: Any, surely_runs: bool, inside: Collection[str], moved: Collection[int]) -> bool:
        """Compare with the value at the end of an iteration; True when a type has changed.

        `inside` names the sizes that are known in the loop only; `moved` are the lists and dicts that were elsewhere in
        the value at the start of the iteration, or are now, by identity.
        """
        if self.grows:
            return self._learn_list(value)
        if self.nested and (value.__class__ is not Growing or value.items):
            raise DynamicListNeeded(
                self.before.origin, f"the list {self.name!r} is assigned in an inner loop"
            )
        if value.__class__ is not SetInLoop and is_undefined(value):
            if not self.unset and not self.given():
                return self._lose(value)
            return self.flagged and self._refuse()
        if self.unset and (
            value.__class__ is SetInLoop or not (surely_runs or self.name.startswith(GENERATED))
        ):
            return not self.refused and self._learn_flagged(value, inside)
        return self._keeps(value, moved) or self._learn_value(value, surely_runs)

    def _learn_flagged(self, value: Any, inside: Collection[str]) -> bool:
        """Learn of a variable that has no value before, in a loop that may run zero times."""
        x = _read(value.value if value.__class__ is SetInLoop else value)
        if not is_number(x) or mentions(number_kind(x).spec.shape, inside):
            return self._refuse()
        if self.before.__class__ is SetInLoop and self.flagged:
            try:
                return self._learn_leaf(0, x, False)
            except LoopTypeChanged:
                return self._refuse()
        known, self.kinds = (self.flagged, self.kinds), [number_kind(x)]
        self.flagged = self.placeholder = True
        self.leaves, self.structure = [x], LEAF
        return known != (True, self.kinds)

    def _refuse(self) -> bool:
        """Leave the variable undefined after the loop; True if it was to have a value."""
        was, self.flagged, self.placeholder, self.refused = self.flagged, False, False, True
        if was:
            self.leaves, self.kinds = [], []
            self.before = Undefined(self.name, self._reason())
        return was

    def _lose(self, value: Any) -> bool:
        """Leave a variable that is no number undefined from the end of the first iteration on."""
        self.before, self.unset, self.refused, self.lost = value, True, True, True
        self.leaves, self.structure, self.kinds = [], LEAF, []
        return True

    def _keeps(self, value: Any, moved: Collection[int]) -> bool:
        """Note which containers are still the same; True when some were taken to be and are not."""
        kept = (self.kept & identities([value])).difference(moved)
        changed, self.kept = kept != self.kept, kept
        return changed

    def _learn_value(self, value: Any, surely_runs: bool) -> bool:
        leaves, structure = flatten(value)
        if self.unset and not self.placeholder:
            self.placeholder = True
            self.leaves, self.structure = leaves, structure
            self.kinds = [_first_kind(x) for x in leaves]
            return True
        if not alike(structure, self.structure):
            raise LoopTypeChanged(
                ShapeError(
                    f"{different(self.name, 'the ' + self.what)} changes from {text(self.structure)} to "
                    f"{text(structure)} in an iteration: keep its structure, with all items and keys before the loop"
                    f"{at(user_location())}"
                )
            )
        self.surely = leaves if surely_runs else []
        changes = [self._learn_leaf(k, x, surely_runs) for k, x in enumerate(leaves)]
        return any(changes)

    def _learn_leaf(self, k: int, x: Any, surely_runs: bool) -> bool:
        known = self.kinds[k]
        if k in self.built or isinstance(known, Rows):
            return self._learn_rows(k, x)
        if isinstance(known, Alias) or (is_alias(x) and not same_object(x, self.leaves[k])):
            return self._learn_alias(k, x)
        if known is None and is_alias(self.leaves[k]) and is_number(x):
            return self._learn_alias(k, x)
        if known is None:
            if not same_object(x, self.leaves[k]):
                raise LoopTypeChanged(
                    Untraceable(
                        f"{different(self.name, 'the ' + self.what)} changes from {self.leaves[k]!r} to {x!r}; "
                        f"what a compiled loop changes must be numbers and tensors{at(user_location())}"
                    )
                )
            return False
        if not is_number(x):
            x = _read(x)
        if not is_number(x):
            raise LoopTypeChanged(
                Untraceable(
                    f"{different(self.name, 'the ' + self.what)} changes from {known} to {x!r}{at(user_location())}"
                )
            )
        kind = number_kind(x)
        if kind == known:
            return False
        message = f"{different(self.name, 'the ' + self.what)} changes from {known} to {kind} in an iteration"
        try:
            new = joined(known, kind, message, broadcast=surely_runs)
        except (ShapeError, TypeError):
            error = ShapeError if known.spec.dtype == kind.spec.dtype or known.weak else DtypeError
            hint = "keep its dtype"
            if known.weak:
                hint = "start with a tensor of that shape"
            elif known.spec.shape != kind.spec.shape:
                hint = "keep its shape, or append to a list in the loop and stack or concat that after it"
            raise LoopTypeChanged(error(f"{message}: {hint}{at(user_location())}")) from None
        if new.spec.shape == known.spec.shape and not known.weak and new.spec.dtype != known.spec.dtype:
            new = known  # a Python number is assigned to a tensor
        self.kinds[k] = new
        return new != known

    def _learn_rows(self, k: int, x: Any) -> bool:
        """Learn of a list that an earlier loop has built."""
        known, first = self.kinds[k], self.built[k]
        if known is None and first.same(x):
            return False
        if x.__class__ is not Stacked or x.spec != first.spec:
            raise LoopTypeChanged(
                Untraceable(
                    f"{different(self.name, 'the ' + self.what)} changes: a list that a compiled loop has built can be "
                    f"appended to in another, and its items be set, but not their number be changed otherwise; take "
                    f"tracejit.stack of it{at(user_location())}"
                )
            )
        self.kinds[k] = new = Rows(x if x is self.leaves[k] else None, Kind(first.spec, False))
        return not new.same(known)

    def _learn_alias(self, k: int, x: Any) -> bool:
        """Learn of a leaf that stands for a Variable before the loop, or after an iteration."""
        known, message = self.kinds[k], f"{different(self.name, 'the ' + self.what)} changes in an iteration"
        before = known if isinstance(known, Alias) else self.leaves[k]
        kinds = [
            Kind(before.among[0].spec, False) if isinstance(before, Alias) else leaf_kind(before),
            leaf_kind(x),
        ]
        if kinds[0] is None or kinds[1] is None:
            raise LoopTypeChanged(
                Untraceable(f"{message} from {self.leaves[k]!r} to {x!r}{at(user_location())}")
            )
        try:
            kind = joined(kinds[0], kinds[1], message)
        except (ShapeError, DtypeError) as error:
            raise LoopTypeChanged(
                type(error)(f"{error}: keep its shape and dtype{at(user_location())}")
            ) from None
        numbered = before.kind if isinstance(before, Alias) else number_of(before)
        among = variables_of(before, x)
        new = Alias(among, kind if numbered is not None or number_of(x) is not None else None)
        self.kinds[k] = new
        return not new.same(known)

    @property
    def waits(self) -> bool:
        """Was the last item of a list read, and does it not go round yet?"""
        return self.grows and bool(self.reads) and not self.kinds

    def _learn_list(self, value: Any) -> bool:
        if value.__class__ is not Growing:
            raise Untraceable(
                f"the list {self.name!r} is assigned in a loop that appends to it: append to it alone, and give the "
                f"new list a name of its own{at(user_location())}"
            )
        self.row_structures = [flatten(item)[1] for item in value.items]
        if len({(s, *map(number_kind, flatten(x)[0])) for s, x in zip(self.row_structures, value.items)}) > 1:
            raise DynamicListNeeded(self.before, f"the items of the list {self.name!r} differ")
        if not self.waits:
            return False
        if not value.items:
            raise Untraceable(
                f"the list {self.name!r} is read but not appended to: append to it in each iteration"
                f"{at(user_location())}"
            )
        leaves, structure = flatten(value.items[-1])
        first, before = flatten(_last(self.before))
        if structure != before or not all(is_number(x) for x in (*leaves, *first)):
            raise Untraceable(
                f"the last item of the list {self.name!r} is read, and those that the {self.what} appends are not like "
                f"those before: keep what the next iteration reads in a variable of its own{at(user_location())}"
            )
        self.leaves = first
        self.kinds = [number_kind(x) for x in leaves]
        return True

    def outputs(self, value: Any) -> list[Tensor]:
        """The tensors that go round, at the end of an iteration."""
        if self.grows:
            leaves = flatten(value.items[-1])[0] if value.items and self.kinds else []
            return [coerced(x, k) for x, k in zip(leaves, self.given(), strict=False)]
        if self.flagged:
            last, is_set = (value.value, value.is_set) if value.__class__ is SetInLoop else (value, True)
            return [coerced(_read(last), self.given()[0]), as_tensor(is_set)]
        if not self.given():
            return []
        if is_undefined(value):
            raise LoopTypeChanged(value.error())
        return self._spread(flatten(value)[0])

    def appended(self, value: Any) -> list[Tensor]:
        """The rows that this iteration adds to a list."""
        if not self.grows:
            return []
        columns = list(zip(*(numbers(flatten(item)[0]) for item in value.items), strict=True))
        return [as_tensor(c[0]) if len(c) == 1 else stack(list(c)) for c in columns]

    # ---- after the loop ---------------------------------------------------------------------------------

    def result(self, final: Sequence[Tensor], rows: Sequence[Tensor]) -> Any:
        """What the variable holds after the loop."""
        if self.grows:
            return self._built(rows)
        if self.unset and not self.placeholder:
            if self.before is UNSET and self.name.startswith(GENERATED):
                return UNSET
            if self.lost:
                return self.before
            return Undefined(self.name, self._reason())
        value = self.value(final)
        if self.ended:
            self.merge(final, self.ended)
        if not any(isinstance(k, Alias) for k in self.kinds) or not self.surely:
            return value
        leaves = [
            last if isinstance(last, Variable) else x
            for x, last in zip(flatten(value)[0], self.surely, strict=True)
        ]
        return written_into(self.before, unflatten(self.structure, leaves), self.kept)

    def _reason(self) -> str:
        return (
            f"is set only inside of the {self.what}, which may run zero times{at(user_location())}\n"
            "  give it a value before"
        )

    def _built(self, rows: Sequence[Tensor]) -> Any:
        if not self.row_structures:
            return self.before
        structure, together = self.row_structures[0], len(self.row_structures)
        if together > 1:
            rows = [ops.reshape(r, shape=(r.shape[0] * together, *r.shape[2:])) for r in rows]
        if structure is LEAF:
            made: Any = Stacked(self.before, rows[0])
        else:
            before = [flatten(item)[0] for item in self.before]
            made = unflatten(structure, [Stacked([b[k] for b in before], r) for k, r in enumerate(rows)])
        if self.before.__class__ is list:
            abandon(self.before, self.name)
        return made


def _last(before: Any) -> Any:
    """The last item of a list that a loop appends to, before the loop."""
    return before.surely_last() if before.__class__ is Stacked else before[-1]


def _read(x: Any) -> Any:
    return x.__tensor__() if x.__class__ is TensorRange else x


def _first_kind(x: Any) -> Kind | Alias | Rows | None:
    """The type of a leaf before the loop, or where it is first set."""
    if x.__class__ is Either:
        return Alias(x.among, None if x.number is None else Kind(x.spec, False))
    return number_kind(x) if is_number(x) else None
