"""Names that a branch or loop binds to a list or dict that has others: the same object, or a refusal."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

POINTS = [np.array(v) for v in ([0.3, 0.5, 0.7], [-0.3, -0.5, -0.7], [0.3, -0.5, 0.7], [-0.3, 0.5, -0.7])]


def bound_alike(x):
    a = [x[0]]
    if x[1] > 0:
        b = a
    else:
        b = a
    b[0] = x[1] * 2.0
    return a[0] + b[0] * 3.0


def changed_in_one_branch(x):
    a = [x[0]]
    if x[1] > 0:
        b = a
        b[0] = x[2]
    else:
        b = a
    a[0] = a[0] * 2.0
    return b[0]


def bound_in_a_loop(x):
    a, s = {"k": x[0]}, x[0]
    for v in x:
        b = a
        s = s + v
    b["k"] = s
    return a["k"]


def an_item_bound_in_a_loop(x):
    held, s = {"k": [x[0]]}, x[0]
    for v in x:
        row = held["k"]
        s = s + v * row[0]
    row[0] = s
    return held["k"][0]


def read_under_both_names(x):
    a, b = [x[0]], [x[2]]
    if x[1] > 0:
        b = a
    return a[0] + b[0] * 3.0


def new_lists(x):
    if x[1] > 0:
        b = [x[0]]
    else:
        b = [x[2]]
    b[0] = b[0] * 2.0
    b.append(x[1])
    return b[0] * b[1]


def exchanged(x):
    a, b = [x[0]], [x[2]]
    if x[1] > 0:
        a, b = b, a
    a[0] = x[1] * 2.0
    return a[0] + b[0] * 3.0


def exchanged_in_a_loop(x):
    a, b = [x[0]], [x[2]]
    for v in x:
        a, b = b, a
        a[0] = a[0] + v
    b[0] = b[0] * 2.0
    return a[0] + b[0] * 3.0


def in_a_tuple(x):
    a = [x[0]]
    t = (a, x[1])
    if x[1] > 0:
        t = (a, x[2])
    t[0][0] = x[1] * 2.0
    return a[0]


def put_into_a_dict(x):
    a, b = [x[0]], [x[1]]
    held = {"k": b}
    if x[1] > 0:
        held["k"] = a
    return b[0] + held["k"][0] * 3.0


def taken_out_of_a_dict(x):
    a, b = [x[0]], [x[1]]
    held = {"k": b}
    if x[1] > 0:
        held["k"], a = a, held["k"]
    return b[0] + a[0] * 3.0


def put_by_both_branches(x):
    a, b = [x[0]], [x[1]]
    held = {"k": b}
    if x[1] > 0:
        held["k"] = a
    else:
        held["k"] = a
    a[0] = a[0] * 2.0
    return b[0] + held["k"][0] * 3.0


def of_an_unmentioned_name(x):
    held = {"p": [x[0]], "q": [x[1]]}
    other = held["p"]
    for _ in x:
        held["p"], held["q"] = held["q"], held["p"]
    return other[0] + held["p"][0] * 3.0


def changed_and_bound_to_another(x):
    b, a, s = [x[0], x[1]], [x[2], x[2]], x[0]
    held = {"k": b}
    if x[0] > 0:
        b[1] = x[2] * 2.0
        b = a
        s = s + b[0]
    b = [s]
    return held["k"][1] + b[0]


def changed_under_a_name_of_the_branch(x):
    b, s = [x[0], x[1]], x[0]
    held = {"k": b}
    if x[0] > 0:
        part = b
        part[1] = x[2] * 2.0
        b = [s]
        s = s + b[0]
    b = [s]
    return held["k"][1] + b[0]


def appended_in_both_branches_alike(x):
    a, rows = [x[0]], []
    if x[1] > 0:
        rows.append(a)
    else:
        rows.append(a)
    rows[0][0] = x[2]
    return a[0] + rows[0][0]


def in_the_next_iteration(x):
    a, b = [x[0]], [x[1]]
    for v in x:
        b[0] = b[0] + v
        b = a
    return a[0] + b[0]


def put_into_a_dict_by_a_loop(x):
    a, b = [x[0]], [x[1]]
    held = {"k": b}
    for v in x:
        held["k"] = a
        a[0] = a[0] + v
    a[0] = a[0] * 2.0
    return b[0] + held["k"][0] * 3.0


def changed_and_replaced(x):
    a = [x[0]]
    b = a
    for v in x:
        b[0] = b[0] + v
        b = [v]
    return a[0] + b[0] * 3.0


@pytest.mark.parametrize(
    "f",
    [
        *(bound_alike, changed_in_one_branch, bound_in_a_loop, an_item_bound_in_a_loop, read_under_both_names),
        *(new_lists, exchanged, exchanged_in_a_loop, in_a_tuple, put_into_a_dict, taken_out_of_a_dict),
        *(put_by_both_branches, of_an_unmentioned_name, changed_and_bound_to_another),
        *(changed_under_a_name_of_the_branch, appended_in_both_branches_alike, in_the_next_iteration),
        *(put_into_a_dict_by_a_loop, changed_and_replaced),
    ],
)
def test_what_is_one_object_stays_one(f):
    compiled, gradient = tf.function(f), tf.function(tf.grad(f))
    for x in POINTS:
        np.testing.assert_allclose(compiled(x), f(tf.constant(x)), rtol=1e-12)
        np.testing.assert_allclose(gradient(x), tf.grad(f)(tf.constant(x)), rtol=1e-12)


def changed_by_the_new_name(x):
    a, b = [x[0]], [x[2]]
    if x[1] > 0:
        b = a
    b[0] = x[1] * 2.0
    return a[0]


def changed_by_the_old_name(x):
    a, b = [x[0]], [x[2]]
    if x[1] > 0:
        b = a
    a.append(x[1])
    return sum(b)


def changed_by_a_third_name(x):
    a, b = [x[0]], [x[2]]
    c = a
    if x[1] > 0:
        a, b = b, a
    c[0] = x[1]
    return a[0]


def chosen_by_an_expression(x):
    a = {"k": x[0]}
    b = a if x[1] > 0 else {"k": x[2]}
    b["k"] = x[1] * 2.0
    return a["k"]


def of_an_attribute(x):
    class Box:
        pass

    box, b = Box(), [x[2]]
    box.a = [x[0]]
    if x[1] > 0:
        b = box.a
    b[0] = x[1] * 2.0
    return box.a[0]


def in_a_branch_of_a_loop(x):
    a, b = [x[0]], [x[1]]
    for v in x:
        if v > 0:
            b = a
        b[0] = b[0] + v
    return a[0] + b[0]


def after_two_branches(x):
    a, b, c = [x[0]], [x[1]], [x[2]]
    if x[1] > 0:
        b = a
    if x[2] > 0:
        c = b
    c[0] = x[0] * 5.0
    return a[0]


def exchanged_by_a_loop(x):
    a, b = [x[0]], [x[1]]
    held = {"k": b}
    for _ in x:
        held["k"], a = a, held["k"]
    b[0] = b[0] * 2.0
    return a[0] + held["k"][0] * 3.0


def rotated_by_a_loop(x):
    a, b, c = [x[0]], [x[1]], [x[2]]
    first = a
    for _ in x[:2]:
        a, b, c = b, c, a
    b[0] = x[0] * 7.0
    return first[0] + b[0]


def of_a_replaced_item(x):
    a = [[x[0]]]
    b = a[0]
    c = b
    if x[0] > 0:
        a[0] = [x[1]]
    a[0][0] = x[2] * 3.0
    return c[0]


def held_by_a_branch_around(x):
    b, c, s = [x[0]], [x[1]], x[2]
    if x[0] > 0:
        c = b
    if x[1] > 0:
        b = [s]
        if x[2] > 0:
            s = s * 2.0
    c[0] = x[0] * 5.0
    return b[0] + s


def both_made_by_a_branch(x):
    b, d = [x[0]], [x[1]]
    if x[0] > 0:
        b, d = [x[1]], [x[2]]
        if x[1] > 0:
            b = d
    d[0] = x[0] * 5.0
    return b[0]


def appended_in_both_branches(x):
    a, b, rows = [x[0]], [x[1]], []
    if x[0] > 0:
        rows.append(a)
    else:
        rows.append(b)
    rows[0][0] = x[1] * 3.0
    return a[0] + b[0] * 2.0


def changed_before_a_branch_of_a_loop(x):
    a, b = [x[0]], [x[1]]
    for v in x:
        b[0] = b[0] + v
        b = a if v > 0 else b
    return a[0] + b[0]


def changed_by_a_part_in_a_loop(x):
    b, c = [x[1], x[2]], [x[0], x[1]]
    held, deep = {"p": b}, {"z": [c]}
    for _ in x:
        if x[0] > 0:
            b, c = c, b
        else:
            deep["z"][0] = b
            deep["z"][0][0] = x[0] + held["p"][1]
    return b[0] + c[0] * 2.0 + held["p"][0] * 3.0 + deep["z"][0][1]


@pytest.mark.parametrize(
    "f",
    [
        *(changed_by_the_new_name, changed_by_the_old_name, changed_by_a_third_name, chosen_by_an_expression),
        *(of_an_attribute, in_a_branch_of_a_loop, after_two_branches),
        *(rotated_by_a_loop, of_a_replaced_item, held_by_a_branch_around, both_made_by_a_branch),
        *(appended_in_both_branches, changed_before_a_branch_of_a_loop),
        *(changed_by_a_part_in_a_loop, exchanged_by_a_loop),
    ],
)
@pytest.mark.parametrize("mode", [tf.function, lambda f: tf.function(tf.grad(f)), tf.vmap])
def test_a_change_of_what_may_be_one_object_is_refused(f, mode):
    x = np.stack(POINTS) if mode is tf.vmap else POINTS[0]
    with pytest.raises(tf.TracejitError, match=r"list or dict is changed(.|\n)*test_shared_lists.py"):
        mode(f)(tf.constant(x))


def test_new_items_of_a_dict_may_be_lists():
    @tf.function
    def f(x):
        held = {"k": [x[0]]}
        if x[1] > 0:
            held["k"] = [x[1] * 2.0]
        return held["k"][0]

    assert [float(f(x)) for x in POINTS[:2]] == [1.0, -0.3]


def exchanged_and_changed(x):
    a, b = [x[0]], [x[1]]
    held = {"k": b}
    for v in x:
        a, b = b, a
        b[0] = b[0] + v
    return a[0] + b[0] * 3.0 + held["k"][0] * 5.0


def test_the_message_names_both_and_says_what_to_write():
    def f(x):
        held = {"a": [x[0]], "b": [x[1]]}
        if x[0] > 0:
            held["a"] = held["b"]
        held["a"][0] = x[2]
        return held["b"][0]

    with pytest.raises(tf.TracejitError) as caught:
        tf.function(f)(POINTS[0])
    assert """whether "held['b']" and "held['a']" are one list""" in str(caught.value)
    assert "as in held['b'] = list(held['a'])" in str(caught.value)


def test_a_loop_may_change_a_list_and_replace_it_if_nothing_else_knows_it():
    def f(x):
        b, s = [x[0]], x[1]
        for v in x:
            b[0] = b[0] + v
            s = s + b[0]
            b = [v]
        return s + b[0]

    assert [float(tf.function(f)(x)) for x in POINTS] == pytest.approx([float(f(x)) for x in POINTS])


def test_a_loop_that_changes_a_list_by_a_name_that_it_exchanges_is_refused():
    with pytest.raises(tf.TracejitError, match=r"a list or dict is changed(.|\n)*test_shared_lists.py"):
        tf.function(exchanged_and_changed)(POINTS[0])


def test_a_loop_may_exchange_and_change_lists_that_have_no_other_name():
    def f(x):
        a, b = [x[0], x[1]], [x[1], x[2]]
        for v in x:
            a, b = b, a
            b[0] = b[0] * 0.5 + v
        return a[0] + b[0] * 3.0

    assert [float(tf.function(f)(x)) for x in POINTS] == pytest.approx([float(f(x)) for x in POINTS])


def rows_of_a_list_that_changes(x):
    a, rows = [x[0]], []
    for v in x:
        a[0] = a[0] + v
        rows.append(a)
    return rows[0][0] + a[0]


def rows_of_one_list(x):
    a, rows = [x[0]], []
    for _ in x:
        rows.append(a)
    rows[0][0] = x[1]
    return a[0] + rows[1][0]


@pytest.mark.parametrize("f", [rows_of_a_list_that_changes, rows_of_one_list])
def test_a_loop_must_append_copies_of_lists(f):
    with pytest.raises(tf.TracejitError, match=r"append a copy, as in rows.append(.|\n)*test_shared_lists.py"):
        tf.function(f)(POINTS[0])


def asked_after_a_branch(x):
    a, b = [x[0]], [x[1]]
    if x[0] > 0:
        b = a
    return x[1] * (2.0 if a is b else 3.0)


def asked_in_the_next_iteration(x):
    a, b, s = [x[0]], [x[1]], x[2]
    for v in x:
        s = s + v * (1.0 if a is not b else 5.0)
        b = a
    return s


@pytest.mark.parametrize("f", [asked_after_a_branch, asked_in_the_next_iteration])
def test_whether_they_are_one_object_is_asked_of_python(f):
    with pytest.raises(tf.TracejitError, match=r"are the same object is known only(.|\n)*test_shared_lists.py"):
        tf.function(f)(POINTS[0])


def test_objects_that_no_branch_has_bound_may_be_compared():
    def f(x):
        a, b = [x[0]], [x[1]]
        c, s = a, x[0]
        for v in x:
            if v > 0:
                s = s + (v if a is c else 0.0) + (v * 3.0 if a is not b else 0.0)
            a[0] = s
        return s + (a[0] if c is a is not b else b[0])

    assert [float(tf.function(f)(x)) for x in POINTS] == pytest.approx([float(f(x)) for x in POINTS])


@pytest.mark.parametrize("trips", range(4))
def test_a_list_that_has_two_names_before_a_loop_is_changed_in_its_first_iteration(trips):
    def f(x, n):
        values = [x]
        other = values
        for _ in range(n):
            other[0] = other[0] + 1.0
            other = [other[0] * 2.0]
        return values[0] + other[0]

    assert float(tf.function(f)(2.0, tf.constant(trips))) == f(2.0, trips)
    assert float(tf.function(tf.grad(f))(2.0, tf.constant(trips))) == f(3.0, trips) - f(2.0, trips)
