"""Errors of converted control flow: what is wrong, and the user's own line."""

from __future__ import annotations

import array
import collections
import functools
import inspect
import itertools
import re
import traceback
import types
import warnings

import numpy as np
import pytest

import tracejit as tf

X = tf.constant(2.0)


def fails_at(f, *arguments, kind=Exception, says=".", line="HERE"):
    """Calling the compiled function fails, and the message names the line marked so."""
    source, first = inspect.getsourcelines(f)
    marked = next(first + k for k, text in enumerate(source) if f"# {line}" in text)
    with pytest.raises(kind, match=says) as found:
        tf.function(f)(*arguments)
    assert f"{__file__}:{marked}" in str(found.value), str(found.value)


def test_set_in_one_branch_only():
    def f(x):
        if x > 0.0:  # HERE
            y = x
        return y

    fails_at(f, X, kind=NameError, says="variable 'y' is set in one branch only")


def test_set_in_one_branch_only_names_the_use():
    def f(x):
        if x > 0.0:
            y = x
        z = x * 2.0
        return y + z  # HERE

    fails_at(f, X, kind=NameError, says="'y'")


def test_set_in_one_branch_and_not_used():
    @tf.function
    def f(x):
        if x > 0.0:
            y = x  # noqa: F841
        return x

    assert f(X).item() == 2.0


def test_undefined_after_zero_iterations():
    def f(x):
        while x < 1.0:  # HERE
            y = x
            x = x * 2.0
        return y

    fails_at(f, X, kind=NameError, says="'y' is set only inside of the `while`, which may run zero times")


def test_undefined_after_zero_iterations_names_the_use():
    def f(x, n):
        for i in range(n):  # noqa: B007
            x = x * 2.0
        return x * i  # HERE

    fails_at(f, X, tf.constant(0), kind=NameError, says="'i'")


def test_shape_changes_across_iterations():
    def f(x):
        while tf.reduce_sum(x) < 100.0:  # HERE
            x = tf.concat(x, x, axis=0)
        return x

    fails_at(f, tf.constant([1.0]), kind=ValueError, says=r"'x'.* from float32\[1\] to float32\[2\]")


def test_dtype_changes_across_iterations():
    def f(x):
        while x < 100.0:  # HERE
            x = tf.cast(x, dtype=tf.float64) * 2.0
        return x

    fails_at(f, X, kind=TypeError, says=r"'x'.* from float32\[\] to float64\[\]")


def test_weak_number_takes_a_shape():
    def f(x, n):
        s = 0
        for _ in range(n):  # HERE
            s = s + x
        return s

    fails_at(f, tf.ones([3]), tf.constant(2), kind=ValueError, says="start with a tensor of that shape")


@pytest.mark.parametrize("other", [lambda: tf.ones([3]), lambda: tf.zeros([], "float64")])
def test_branches_differ(other):
    def f(x):
        if x > 0.0:  # HERE
            y = x
        else:
            y = other()
        return y

    fails_at(f, X, kind=(ValueError, TypeError), says="'y' of the `if` differs between the branches")


def test_structures_differ():
    def f(x):
        if x > 0.0:  # HERE
            y = x
        else:
            y = (x, x)
        return y

    fails_at(f, X, kind=ValueError, says=r"\* in one branch and \(\*, \*\) in the other")


def test_result_in_one_branch_only():
    def f(x):
        if x > 0.0:  # HERE
            return x

    fails_at(f, X, kind=ValueError, says="result of the `if` is .* and None")


def test_strings_differ():
    def f(x):
        mode = "a"
        if x > 0.0:  # HERE
            mode = "b"
        return x if mode == "a" else -x

    fails_at(f, X, kind=NameError, says="'mode' is 'b' in one branch and 'a' in the other")


class Pair:
    def __init__(self, first):
        self.first = first


def test_objects_that_differ_need_a_registered_class():
    def f(x):
        pair = Pair(x)
        if x > 0.0:  # HERE
            pair = Pair(x * 2.0)
        return pair.first

    fails_at(f, X, kind=NameError, says="register_node what a Pair consists of")


def test_an_object_changes_in_a_loop():
    def f(x):
        mode = "a"
        while x < 100.0:  # HERE
            x = x * 2.0
            mode = mode + "b"
        return x if mode == "a" else -x

    fails_at(f, X, says="'mode' of the `while` changes from 'a' to 'ab'")


def test_truth_of_an_array():
    def f(x):
        if x > 0.0:  # HERE
            return x
        return -x

    fails_at(f, tf.ones([2]), kind=ValueError, says=r"truth value of bool\[2\] is ambiguous")


def test_a_list_grows_in_one_branch():
    def f(x):
        values = [x]
        if x > 0.0:  # HERE
            values.append(x)
        return tf.stack(values)

    says = r"list 'values' grows in one branch only of the `if` \(\[\*, \*\] in one and \[\*\] in the other\)"
    fails_at(f, X, kind=ValueError, says=rf"{says}: append in both, as with `else: values.append\(0.0\)`")


def test_a_growing_list_is_read():
    def f(x, n):
        values = []
        for i in range(n):
            values.append(x)
            x = x + values[i - 1]  # HERE
        return tf.stack(values)

    fails_at(f, X, tf.constant(3), says="can only be appended to")


def test_python_list_indexed_by_a_traced_number():
    def f(x, n):
        scales = [1.0, 2.0]
        for i in range(n):
            x = x * scales[i]  # HERE
        return x

    fails_at(f, X, tf.constant(2), kind=tf.SymbolicValue)


def test_an_op_inside_of_a_body():
    def f(x):
        while tf.reduce_sum(x) < 100.0:
            x = x + tf.ones([4])  # HERE
        return x

    fails_at(f, tf.ones([3]), kind=ValueError, says="do not broadcast")


def test_iterating_over_a_scalar():
    def f(x):
        for row in x:  # HERE
            x = x + row
        return x

    fails_at(f, X, kind=TypeError, says="rank 0")


def test_an_assertion_that_fails_at_run_time():
    @tf.function
    def f(x, n):
        for _ in range(n):
            assert x < 20.0, "too large"
            x = x * 2.0
        return x

    assert f(X, tf.constant(3)).item() == 16.0
    with pytest.raises(AssertionError, match="too large"):
        f(X, tf.constant(8))
    assert f(X, tf.constant(2)).item() == 8.0
    assert tf.grad(f)(X, tf.constant(3)).item() == 8.0


def test_assertions_of_python_values():
    @tf.function
    def f(x, n):
        assert n > 3, f"n is {n}"
        return x

    with pytest.raises(AssertionError, match="n is 2"):
        f(X, 2)


def test_tracebacks_show_the_users_lines():
    def inner(x):
        return {}["from inside"]

    def f(x):
        if x > 0.0:
            x = inner(x)  # the line of the call
        return x

    with pytest.raises(KeyError) as found:
        tf.function(f)(X)
    frames = traceback.extract_tb(found.value.__traceback__)
    lines = [frame.line for frame in frames if frame.filename == __file__]
    assert "x = inner(x)  # the line of the call" in lines
    assert 'return {}["from inside"]' in lines


def test_missing_source_names_the_remedy():
    names = {}
    exec("\n".join(["def f(x):", "    if x > 0:", "        return x", "    return -x"]), names)
    with pytest.warns(UserWarning, match="source of f is not"), pytest.raises(tf.SymbolicValue) as found:
        tf.function(names["f"])(X)
    assert "define it in a file" in "\n".join(found.value.__notes__)


def test_missing_source_without_control_flow():
    names = {}
    exec("def f(x, n):\n    for i in range(n):\n        x = x * 2.0\n    return x\n", names)
    assert tf.function(names["f"])(X, 3).item() == 16.0


def test_autograph_off():
    @tf.function(autograph=False)
    def f(x):
        if x > 0.0:
            return x
        return -x

    with pytest.raises(tf.SymbolicValue, match=re.escape("tracejit.cond")):
        f(X)


def test_many_rows_in_unconverted_code_warn():
    @tf.function(autograph=False)
    def f(x):
        return sum(1 for _ in zip(x, range(3))) * x[0]

    with pytest.warns(UserWarning, match="1001 steps"):
        f(tf.ones([1001]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(tf.ones([1000]))


def test_values_survive_a_failed_trace():
    class ClosureCell:
        h = np.float32(1.0)

    cell = ClosureCell()
    cell.h = 1.0

    @tf.function
    def f(x):
        while x < 100.0:
            cell.h = cell.h + x
            x = tf.stack([x, x])
        return x

    with pytest.raises(ValueError):
        f(X)
    assert cell.h == 1.0


def test_raise_under_a_traced_condition_passes_handlers():
    def f(x):
        try:
            if x > 0.0:
                raise ValueError("positive")
        except ValueError:
            x = x * 2.0
        return x

    with pytest.raises(ValueError, match="positive") as found:
        tf.function(f)(X)
    assert "whatever its condition" in found.value.__notes__[0]


def test_handlers_of_python_errors_run():
    @tf.function
    def f(x, names):
        try:
            scale = names["scale"]
            if x > 0.0:
                x = x * scale
        except KeyError:
            x = x * 10.0
        return x

    assert f(X, {}).item() == 20.0


def _factorial(n):
    return 1 if n <= 1 else n * _factorial(n - 1)  # HERE


def _even(n):
    if n > 0.0:
        return _odd(n - 1.0)
    return n


def _odd(n):
    if n > 0.0:
        return _even(n - 1.0)
    return -n


def _in_a_loop(x):
    while x > 1.0:
        x = _in_a_loop(x / 2.0)  # HERE
    return x


@pytest.mark.parametrize(("f", "argument"), [(_factorial, 5), (_in_a_loop, 3.0)])
def test_recursion_on_a_traced_condition(f, argument):
    says = f"'{f.__name__}' calls itself under a condition .* write a loop"
    fails_at(f, tf.constant(argument), kind=RecursionError, says=says)


def test_recursion_on_a_traced_condition_of_two_functions():
    with pytest.raises(RecursionError, match=r"'_(odd|even)' calls itself under a condition"):
        tf.function(_even)(X)


def test_recursion_that_ends_in_python():
    def nested(x, depth):
        if depth and x > 0.0:
            return nested(x * 2.0, depth - 1)
        return x

    assert tf.function(nested)(X, 12).item() == 2.0**13


@pytest.mark.parametrize(
    "wrap", [lambda f: f, tf.grad, lambda f: lambda x, n: tf.jvp(lambda y: f(y, n), (x,), (x,))]
)
def test_assertions_that_nothing_else_needs(wrap):
    def in_a_branch(x, n):
        if x > 0.0:
            assert x < 5.0, "too large"
        return x * 1.0

    def in_a_loop(x, n):
        for i in range(n):
            if x > 1.0:
                assert i < 3, "too large"
        return x * 1.0

    for f, good, bad in ((in_a_branch, (2.0, 1), (9.0, 1)), (in_a_loop, (2.0, 3), (2.0, 4))):
        compiled = tf.function(wrap(f))
        compiled(*map(tf.constant, good))
        with pytest.raises(AssertionError, match="too large"):
            compiled(*map(tf.constant, bad))


# ---- where an error is, whatever lies between -----------------------------------------------------------


def _attribute(x):
    if x > 0.0:
        return x.nothing  # ATTRIBUTE
    return x


def _shapes(x):
    return x + tf.ones([3])  # SHAPES


def _too_large(x):
    assert tf.reduce_sum(x) < 10.0, "too large"  # ASSERTED
    return x * 2.0


def _key(x):
    f = lambda v: {}["key"] if v > 0.0 else v  # KEY
    return f(x)


def _raising(x):
    while x < 10.0:
        raise OverflowError("so large")  # RAISED
    return x


def _name(x):
    for _ in range(3):
        x = x * undefined_name if x > 0.0 else x  # NAME  # noqa: F821
    return x


def _line_of(mark):
    with open(__file__, encoding="utf-8") as file:
        return next(
            k for k, text in enumerate(file, 1) if text.rstrip().endswith(mark) or f"{mark}  #" in text
        )


ORDINARY = [
    (_attribute, AttributeError, "# ATTRIBUTE"),
    (_key, KeyError, "# KEY"),
    (_raising, OverflowError, "# RAISED"),
    (_name, NameError, "# NAME"),
]


@pytest.mark.parametrize("through", ["at once", "helper", "lambda", "loop", "transform"])
@pytest.mark.parametrize(("f", "kind", "mark"), ORDINARY)
def test_pythons_errors_show_the_line_in_their_traceback(f, kind, mark, through):
    def loop(x):
        while x < 100.0:
            x = f(x)
        return x

    ways = {
        "at once": f,
        "helper": lambda x: functools.partial(f)(x) if x > 0.0 else x,
        "lambda": lambda x: (lambda v: f(v) * 2.0)(x),
        "loop": loop,
        "transform": lambda x: tf.grad(f)(x),
    }
    with pytest.raises(kind) as found:
        tf.function(ways[through])(X)
    shown = traceback.extract_tb(found.value.__traceback__)
    own = [frame for frame in shown if frame.filename == __file__ and not frame.name.startswith("test_")]
    assert own[-1].lineno == _line_of(mark)
    assert own[-1].line.endswith(mark) or f"{mark}  #" in own[-1].line


@pytest.mark.parametrize(
    ("f", "kind", "mark"),
    [(_shapes, ValueError, "# SHAPES"), (_too_large, AssertionError, "# ASSERTED")],
)
def test_messages_name_the_line_in_helpers(f, kind, mark):
    def loop(x):
        while tf.reduce_sum(x) < 100.0:
            x = (lambda v: f(v) if tf.reduce_sum(v) > 0.0 else v)(x)
        return x

    for way in (f, loop, lambda x: f(x) if tf.reduce_sum(x) > 0.0 else x):
        with pytest.raises(kind, match=f"{re.escape(__file__)}:{_line_of(mark)}"):
            tf.function(way)(tf.constant([11.0, 12.0]))


# ---- what is not converted says why ---------------------------------------------------------------------


class _Number:
    def __init__(self, v):
        self.v = v

    def __mul__(self, other):
        return _Number(self.v * other) if self.v > 0.0 else self


def _by_operator(x):
    return (_Number(x) * 2.0).v


def _by_generator(x):
    def numbers():
        y = x
        while y < 20.0:
            yield y
            y = y * 2.0

    return sum(numbers())


def _by_coroutine(x):
    async def chosen(v):
        return v if v > 0.0 else -v

    try:
        chosen(x).send(None)
    except StopIteration as stop:
        return stop.value


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (_by_operator, "_Number.__mul__ was called by Python or a library"),
        (_by_generator, "numbers is a generator, which is not converted: return a list"),
        (_by_coroutine, "chosen is asynchronous, which is not converted"),
    ],
)
def test_code_that_is_not_converted_says_why(f, says):
    with pytest.raises(tf.SymbolicValue) as found:
        tf.function(f)(X)
    assert says in "\n".join(found.value.__notes__)


def test_an_operator_that_is_compiled_is_converted():
    class Number(_Number):
        __mul__ = tf.function(lambda self, other: self.v * other if self.v > 0.0 else self.v)

    assert tf.function(lambda x: Number(x) * 2.0)(X).item() == 4.0


# ---- loops that may run zero times ----------------------------------------------------------------------


def _least(x, n):
    best = None
    for i in range(n):  # LEAST
        if best is None or x * i < best:
            best = x * i
    return best


def test_none_after_zero_iterations():
    f = tf.function(_least)
    assert f(X, tf.constant(3)).item() == 0.0
    with pytest.raises(AssertionError, match="sets 'best' ran zero times") as found:
        f(X, tf.constant(0))
    assert f"{__file__}:{_line_of('# LEAST')}" in str(found.value)


def test_none_that_only_the_next_iteration_reads():
    @tf.function
    def f(x, n):
        before = None
        for i in range(n):
            x = x if before is None else x + before
            before = x * i
        return x

    assert [f(X, tf.constant(n)).item() for n in (0, 1, 2, 4)] == [2.0, 2.0, 2.0, 12.0]


def test_growing_shapes_say_what_to_write():
    def f(x, n):
        for _ in range(n):  # HERE
            x = tf.concat([x, x[:1]], axis=0)
        return x

    says = r"'x' of the `for` changes from float32\[1\] to float32\[2\].* append to a list"
    fails_at(f, tf.ones([1]), tf.constant(3), kind=ValueError, says=says)


def test_a_range_with_a_traced_step_of_zero():
    @tf.function
    def f(x, step):
        for i in range(0, 6, step):
            x = x + i
        return x

    assert f(X, tf.constant(2)).item() == 8.0
    with pytest.raises(ValueError, match="must not be zero"):
        f(X, tf.constant(0))


def test_zip_strict_of_unequal_lengths():
    @tf.function
    def f(x, n):
        total = 0.0
        for a, i in zip(x, range(n), strict=True):
            total = total + a * i
        return total

    assert f(tf.ones([3]), tf.constant(3)).item() == 3.0
    with pytest.raises(ValueError, match="different lengths"):
        f(tf.ones([3]), tf.constant(2))
    with pytest.raises(ValueError, match="3 and 2 items"):
        tf.function(lambda x: [a * b for a, b in zip(x, x[:2], strict=True)])(tf.ones([3]))


def test_a_list_that_a_loop_built_is_read_under_another_name():
    def f(x, n):
        values = []
        other = values
        for _ in range(n):
            values.append(x)
        return other[0] * 2.0  # HERE

    fails_at(f, X, tf.constant(3), kind=NameError, says="'values' was built in compiled code: read that list")


def test_a_list_is_appended_to_under_two_names():
    def f(x, n):
        values = []
        other = values
        for _ in range(n):  # HERE
            values.append(x)
            other.append(x * 2.0)
        return tf.stack(values)

    fails_at(f, X, tf.constant(3), kind=NameError, says="under this name only")


def test_a_list_is_changed_under_a_name_that_is_exchanged():
    def f(x, n):
        values, other = [x], [x * 2.0]
        kept = values
        for _ in range(n):  # HERE
            values, other = other, values
            other[0] = other[0] + 1.0
        return kept[0] + other[0]

    fails_at(f, X, tf.constant(3), says="are one list, only the running program knows")


def test_a_list_that_a_loop_built_grows_in_a_branch():
    def f(x, n):
        values = []
        for _ in range(n):
            values.append(x)
        if x > 0.0:  # HERE
            values.append(x)
        return tf.stack(values)

    fails_at(f, X, tf.constant(3), kind=ValueError, says="the list 'values' grows in one branch only")


def _sorting(x):
    return sorted([x, 2.0])  # HERE


def _filtering(x):
    return list(filter(lambda v: v > 0.0, [x, -x]))  # HERE


def _set_in_a_branch(x):
    seen = set()
    if x > 0.0:
        seen.add("positive")  # HERE
    return x * len(seen)


def _deque_in_a_loop(x):
    last = collections.deque(maxlen=2)
    while x < 10.0:
        last.append(x)  # HERE
        x = x * 2.0
    return last[0]


def _shape_in_a_branch(x):
    whole = np.zeros(4)

    def fold():
        whole.shape = (2, 2)

    if x > 0.0:
        fold()  # HERE
    return x * whole.shape[0]


def _counter_in_a_branch(x):
    seen = collections.Counter()
    if x > 0.0:
        seen["steps"] += 1  # HERE
    return x * seen["steps"]


def _ordered_dict_in_a_branch(x):
    values = collections.OrderedDict(a=x, b=x)
    values.move_to_end("a")
    if x > 0.0:
        values["b"] = x * 2.0  # HERE
    return values["b"]


def _array_in_a_branch(x):
    numbers = array.array("d", [1.0, 2.0])
    if x > 0.0:
        numbers[0] = 5.0  # HERE
    return x * numbers[0]


def _dict_that_a_helper_fills(x):
    def count(into):
        into["k"] = into.get("k", 0) + 1

    counts = {}
    if x > 0.0:  # HERE
        count(counts)
    return x * counts.get("k", 0)


def _attribute_asked_for(x):
    owner = types.SimpleNamespace()
    if x > 0.0:
        owner.k = x
    return x * 2.0 if hasattr(owner, "k") else x  # HERE


def _attribute_of_one_of_two(x):
    owner = types.SimpleNamespace(k=x)
    if x > 0.0:
        owner = types.SimpleNamespace(k=-x)
    owner.k = 1.0  # HERE
    return owner.k * x


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (_counter_in_a_branch, "a branch changes a Counter .* use a plain dict of numbers"),
        (_ordered_dict_in_a_branch, "a branch changes an OrderedDict"),
        (_array_in_a_branch, "a branch changes an array .* use a list of numbers"),
        (_dict_that_a_helper_fills, "must agree in structure"),
        (_attribute_asked_for, "is set in one branch only"),
        (_attribute_of_one_of_two, "variable 'owner' is .* in one branch"),
        (_sorting, r"sorted\(\) asks for numbers .* .* tracejit.sort and"),
        (_filtering, r"filter\(\) asks for numbers .* list comprehension"),
        (_set_in_a_branch, "a branch changes a set"),
        (_deque_in_a_loop, "the body of a `while` changes a deque"),
        (_shape_in_a_branch, "a branch changes a ndarray in place"),
    ],
)
def test_what_only_python_values_can_do(f, says):
    with pytest.raises(tf.TracejitError, match=says) as found:
        tf.function(f)(X)
    assert __file__ in str(found.value)


def test_sorting_and_filtering_python_values():
    @tf.function
    def f(x):
        first = next(filter(lambda k: k > 4, itertools.count()))
        return x * sorted([3, 1, 2], reverse=True)[0] + first

    assert f(X).item() == 11.0
