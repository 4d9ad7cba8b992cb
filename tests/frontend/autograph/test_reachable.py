"""Lists that branches and loops change by what is no name, attribute or item: by views of dicts, methods, defaults."""

from __future__ import annotations

import contextvars
import functools
import types
import typing
import weakref

import numpy as np
import pytest

import tracejit as tf

POINTS = [np.array(v) for v in ([0.3, 0.5, 0.7], [-0.3, -0.5, -0.7], [0.3, -0.5, 0.7], [-0.3, 0.5, -0.7])]


class Box:
    """An object with attributes."""

    def __init__(self, kept):
        self.kept = kept

    def put(self, value):
        """Change the list."""
        self.kept[0] = value


def the_values_of_a_dict(kept):
    values = {"k": kept}.values()

    def put(value):
        for item in values:
            item[0] = value

    return put


def a_proxy_of_a_dict(kept):
    proxy = types.MappingProxyType({"k": kept})

    def put(value):
        proxy["k"][0] = value

    return put


def a_context_variable(kept):
    variable = contextvars.ContextVar("variable")
    variable.set(kept)

    def put(value):
        variable.get()[0] = value

    return put


def a_weak_reference(kept):
    box = Box(kept)
    reference = weakref.ref(box)

    def put(value, strong=(box,)):
        reference().kept[0] = value

    return put


def a_cached_function(kept):
    cached = functools.cache(lambda: kept)

    def put(value):
        cached()[0] = value

    return put


def a_method_of_the_list(kept):
    change = kept.__setitem__
    return lambda value: change(0, value)


def a_bound_method(kept):
    return Box(kept).put


def a_default(kept):
    def put(value, found=kept):
        found[0] = value

    return put


def a_default_of_a_keyword(kept):
    def put(value, *, found=kept):
        found[0] = value

    return put


def an_argument_of_partial(kept):
    def put(found, value):
        found[0] = value

    return functools.partial(put, kept)


def an_attribute_of_a_function(kept):
    def put(value):
        put.found[0] = value

    put.found = kept
    return put


def a_set_of_objects(kept):
    boxes = {Box(kept)}

    def put(value):
        for box in boxes:
            box.kept[0] = value

    return put


WAYS = [
    *(the_values_of_a_dict, a_proxy_of_a_dict, a_context_variable, a_weak_reference, a_cached_function),
    *(a_method_of_the_list, a_bound_method, a_default, a_default_of_a_keyword, an_argument_of_partial),
    *(an_attribute_of_a_function, a_set_of_objects),
]


@pytest.mark.parametrize("way", WAYS)
def test_a_branch_changes_a_list_by(way):
    def f(x):
        kept, new = [x[0]], x[1] * 2.0
        put = way(kept)
        if x[0] > 0:
            put(new)
        return kept[0] * x[2]

    compiled, gradient = tf.function(f), tf.function(tf.grad(f))
    for x in POINTS:
        np.testing.assert_allclose(compiled(x), f(tf.constant(x)), rtol=1e-12)
        np.testing.assert_allclose(gradient(x), tf.grad(f)(tf.constant(x)), rtol=1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_a_loop_changes_a_list_by(way):
    def f(x):
        kept = [x[0]]
        put = way(kept)
        for v in x:
            put(v * kept[0])
        return kept[0]

    compiled, gradient = tf.function(f), tf.function(tf.grad(f))
    for x in POINTS:
        np.testing.assert_allclose(compiled(x), f(tf.constant(x)), rtol=1e-12)
        np.testing.assert_allclose(gradient(x), tf.grad(f)(tf.constant(x)), rtol=1e-12)


def listed(x):
    kept, new = [x[0]], x[1]
    calls = map(kept.__setitem__, [0], [new])
    if x[0] > 0:
        list(calls)
    return kept[0]


def comprehended(x):
    kept, new = [x[0]], x[1]
    pairs = zip([kept], [0], strict=True)
    if x[0] > 0:
        [item.__setitem__(k, new) for item, k in pairs]
    return kept[0]


@pytest.mark.parametrize("f", [listed, comprehended])
def test_taking_items_of_an_iterator_from_outside_is_refused(f):
    with pytest.raises(tf.TracejitError, match=r"taking an item of a (map|zip)(.|\n)*test_reachable.py"):
        tf.function(f)(POINTS[0])


class Pair(typing.NamedTuple):
    """A tuple with names."""

    kept: list


def test_a_list_in_a_named_tuple_is_refused_with_the_line():
    def f(x):
        a, b = Pair([x[0]]), Pair([x[1]])
        if x[0] > 0:
            b = a
        b.kept[0] = x[2]
        return a.kept[0]

    with pytest.raises(tf.TracejitError, match=r"a list or dict is changed(.|\n)*test_reachable.py"):
        tf.function(f)(POINTS[0])


def test_objects_of_a_class_built_on_lists_may_be_one():
    class Own(list):
        pass

    def f(x):
        a, b = Own([x[0]]), Own([x[1]])
        if x[0] > 0:
            b = a
        b[0] = x[2] * 3.0
        return a[0]

    with pytest.raises(tf.TracejitError, match=r"a list or dict is changed(.|\n)*test_reachable.py"):
        tf.function(f)(POINTS[0])
