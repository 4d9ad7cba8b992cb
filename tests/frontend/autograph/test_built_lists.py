"""Lists that compiled loops have built do what Python's lists do, or are refused at the line, past all handlers."""

import numpy as np
import pytest

import tracejit as tf

X, N = 0.5, 3


def both(f, *args):
    """What a function gives eagerly and compiled."""
    found = []
    for eager in (True, False):
        with tf.settings(eager=eager):
            found.append(tf.nest.flatten(tf.function(f)(*map(tf.constant, args))))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def after_a_loop(use):
    """A function that builds a list in a loop and uses it."""

    def f(x, n):
        items = [x, x * 2.0]
        for i in range(n):
            items.append(tf.cast(i, tf.float32))
        return use(items, x)

    return f


def _added_in_place(items, x):
    items += [x]
    return tf.stack(items)


def _extended(items, x):
    items.extend([x, x])
    return tf.stack(items)


def _inserted(items, x):
    items.insert(0, x)
    return tf.stack(items)


def _replaced(items, x):
    items[1] = x * 5.0
    return tf.stack(items)


def _popped(items, x):
    return items.pop(), tf.stack(items)


def _cleared(items, x):
    items.clear()
    items.append(x)
    return tf.stack(items)


def _reversed(items, x):
    items.reverse()
    return tf.stack(items)


def _grown_in_both_branches(items, x):
    if x > 0.0:
        items.append(x)
    else:
        items.append(-x)
    return items[-1], tf.stack(items)


def _repeated_in_place(items, x):
    other = items
    items *= 2
    return tf.stack(other)


def _mixed(items, x):
    items.append(2)
    items.append(0.5)
    return tf.stack(items)


def _one_branch_and_unread(items, x):
    y = items[0]
    if x > 0.0:
        y = y + 1.0
    return y


USES = [
    _repeated_in_place,
    _mixed,
    _one_branch_and_unread,
    lambda items, x: tf.stack(items[1:]),
    lambda items, x: tf.stack(items[:2] + [x]),
    lambda items, x: tf.stack(items[::-1]),
    _added_in_place,
    _extended,
    _inserted,
    _replaced,
    _popped,
    _cleared,
    _reversed,
    _grown_in_both_branches,
    lambda items, x: tf.stack(items + [x]),
    lambda items, x: tf.stack([x] + items),
    lambda items, x: tf.stack(items + items),
    lambda items, x: tf.stack(2 * items),
    lambda items, x: tf.stack(list(items)),
    lambda items, x: tf.stack(items.copy()),
    lambda items, x: tf.stack([y * 2.0 for y in items]),
    lambda items, x: x if items else -x,
    lambda items, x: sum(items),
    lambda items, x: items[-1] + items[0],
    lambda items, x: len(items),
]


@pytest.mark.parametrize("n", [0, N])
@pytest.mark.parametrize("use", USES)
def test_a_built_list_is_a_list(use, n):
    both(after_a_loop(use), X, n)


@pytest.mark.parametrize(
    "use",
    [
        lambda items, x: tf.stack(sorted(items)),
        lambda items, x: x if items == [] else -x,
        lambda items, x: x if items != [] else -x,
        lambda items, x: tf.stack([*items, x]),
        lambda items, x: items.insert(1, x),
        lambda items, x: items.remove(x),
        lambda items, x: items.append(tf.stack([x, x])),
        lambda items, x: items.__delitem__(0),
    ],
)
@pytest.mark.parametrize("handled", [False, True])
def test_what_it_cannot_do_is_refused_past_handlers(use, handled):
    def careful(items, x):
        try:
            return use(items, x)
        except Exception:
            return x + 100.0

    f = tf.function(after_a_loop(careful if handled else use))
    with pytest.raises(tf.TracejitError, match="known only when"):
        f(tf.constant(X), tf.constant(N))


def _push(items, z):
    items.append(z)


def _always(items, i, x):
    _push(items, x * 10.0)


def _sometimes(items, i, x):
    if i % 2 == 0:
        _push(items, x * 10.0)


def _once_or_twice(items, i, x):
    if i % 2 == 0:
        _push(items, tf.cast(i, tf.float32))
    _push(items, x * 10.0)


def _from_the_last(items, i, x):
    items.append(items[-1] * 0.5 + x)


@pytest.mark.parametrize("n", [0, N])
@pytest.mark.parametrize("body", [_always, _sometimes, _once_or_twice, _from_the_last])
def test_a_second_loop_goes_on_with_it(body, n):
    def f(x, n):
        items = [x, x * 2.0]
        for i in tf.range(n):
            items.append(tf.cast(i, tf.float32) * 0.5)
        i = tf.constant(0)
        while i < n:
            i += 1
            body(items, i, x)
        return items[-1], tf.stack(items)

    both(f, X, n)


def test_loops_in_a_row_read_the_last_item():
    def f(x, n):
        items = [x]
        for _ in range(2):
            for _ in tf.range(n):
                for _ in range(2):
                    items.append(items[-1] * 0.5 + x)
        return tf.stack(items)

    both(f, X, N)


def test_a_variable_itself_is_not_put_into_it():
    w = tf.Variable(2.0)

    @tf.function
    def f(n):
        items = [w + 0.0]
        for _ in tf.range(n):
            items.append(w)
            w.assign_add(1.0)
        return tf.stack(items)

    with pytest.raises(tf.TracejitError, match="append its value now"):
        f(tf.constant(3))


@pytest.mark.parametrize("use", [lambda l, v: l.append(v), lambda l, v: l.insert(0, v), lambda l, v: l + [v]])
def test_nor_is_it_put_there_after_the_loop(use):
    v = tf.Variable(2.0)

    @tf.function
    def f(x, n):
        items = [x]
        for _ in tf.range(n):
            items.append(x)
        use(items, v)
        v.assign_add(1.0)
        return tf.stack(items)

    with pytest.raises(tf.TracejitError, match="append its value now"):
        f(tf.constant(X), tf.constant(N))


def test_nor_before_it():
    v = tf.Variable(2.0)

    @tf.function
    def f(n):
        items = [v]
        for _ in tf.range(n):
            items.append(v + 1.0)
        v.assign_add(1.0)
        return tf.stack(items)

    with pytest.raises(tf.TracejitError, match="append its value now"):
        f(tf.constant(N))


def _set_by_a_helper(items, z):
    items[0] = z


CHANGES = [
    lambda items, x: _set_by_a_helper(items, items[0] + x),
    lambda items, x: items.reverse(),
    lambda items, x: items.append(items.pop()),
]


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("change", CHANGES)
def test_another_loop_changes_its_items(change, n):
    def f(x, n):
        items = [x, x * 2.0]
        for i in tf.range(n):
            items.append(tf.sin(x) + tf.cast(i, x.dtype))
        for _ in tf.range(n):
            change(items, x)
        return tf.stack(items)

    both(f, X, n)


def test_another_loop_sets_its_items_at_a_position_and_differentiates():
    def f(x, n):
        items = [x, x * 2.0]
        for _ in tf.range(n):
            items.append(tf.sin(x))
        for i in tf.range(n):
            items[i] = items[i] * items[i + 1] + x
        return tf.reduce_sum(tf.stack(items) ** 2)

    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, 3)
    expected = tape.gradient(y, x)
    got = tf.function(lambda x, n: tf.grad(lambda z: f(z, n))(x))(x, tf.constant(3))
    np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda items, x: items.pop(), "not their number"),
        (lambda items, x: items.append(items.pop(0)), "how long"),
    ],
)
def test_another_loop_that_takes_items_out_is_refused(change, message):
    @tf.function
    def f(x, n):
        items = [x, x * 2.0]
        for _ in tf.range(n):
            items.append(tf.sin(x))
        for _ in tf.range(n):
            change(items, x)
        return tf.stack(items)

    with pytest.raises(tf.TracejitError, match=message):
        f(tf.constant(X), tf.constant(3))


def test_one_branch_that_sets_its_items_is_refused():
    @tf.function
    def f(x, n):
        items = [x, x * 2.0]
        for _ in tf.range(n):
            items.append(tf.sin(x))
        if x > 0.0:
            _set_by_a_helper(items, x)
        return tf.stack(items)

    with pytest.raises(tf.TracejitError, match="take items = tracejit"):
        f(tf.constant(X), tf.constant(3))


def test_a_helper_in_an_inner_loop_makes_it_longer():
    def push(items, z):
        items.append(z)

    def f(x, n):
        items = [x]
        for _ in tf.range(n):
            items += [tf.sin(x)]
            k = n * 0
            while k < n:
                k += 1
                push(items, x * 2.0)
        return tf.stack(items)

    both(f, X, 3)


@pytest.mark.parametrize(
    "use",
    [lambda l, x: _set_by_a_helper(l, x), lambda l, x: l * 2, lambda l, x: l < [x], lambda l, x: l == [x]],
)
def test_what_lists_cannot_do_while_they_grow_is_no_error_of_the_program(use):
    @tf.function
    def f(x, n):
        items = [x]
        for _ in tf.range(n):
            items.append(x)
            try:
                use(items, x)
            except (TypeError, AttributeError):
                items.append(-x)
        return tf.stack(items)

    with pytest.raises(tf.TracejitError, match="can only be appended to"):
        f(tf.constant(X), tf.constant(3))


def test_the_condition_alone_reads_its_last_item():
    def f(x, n):
        items = [x * 0.5]
        k = n * 0
        while items[-1] < 3.0:
            items.append(x + tf.cast(k, x.dtype))
            k += 1
        return tf.stack(items), k

    both(f, X, N)


def test_last_items_that_differ_in_structure_are_refused():
    @tf.function
    def f(x, n):
        items = [(x,)]
        for _ in tf.range(n):
            y = x if len(items[-1]) == 1 else -x
            items.append((y, x))
        return items[0]

    with pytest.raises(tf.TracejitError, match="are not like those before"):
        f(tf.constant(X), tf.constant(N))
