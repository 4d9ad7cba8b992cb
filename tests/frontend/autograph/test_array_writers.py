"""Answers about who fills NumPy's arrays are kept, and hold no longer than what they come from."""

import functools
import gc
import sys
import types
import weakref

import numpy as np
import pytest

import tracejit as tf
from tracejit.frontend.autograph import array_writers

PROGRAM = """
import numpy as np
import tracejit as tf

def plain(x):
    return x * x

def fills(x):
    y = np.zeros(2)
    y[0] = x[0]
    return y * x

def helper(x):
    return plain(x)

def loss(x):
    return tf.reduce_sum(helper(x))

def closed():
    inner = helper
    def loss(x):
        return tf.reduce_sum(inner(x))
    def rebind(f):
        nonlocal inner
        inner = f
    return loss, rebind

class Base:
    def part(self, x):
        return plain(x)

class Model(Base):
    @property
    def scale(self):
        return plain(2.0)
    @staticmethod
    def fixed(x):
        return plain(x)
    def loss(self, x):
        return tf.reduce_sum(self.part(x))

model = Model()
of_model = lambda x: model.loss(x)
"""


@pytest.fixture
def program(tmp_path):
    file, module = tmp_path / "filling_program.py", types.ModuleType("filling_program")
    file.write_text(PROGRAM)
    exec(compile(PROGRAM, str(file), "exec"), vars(module))
    yield module


def _is_kept(f):
    """Asked twice, so that the second answer is one that was kept."""
    first = array_writers.fills_arrays(f)
    known = array_writers._key_of(f)
    assert known is not None and array_writers._answers[known[0]].holds(known[1])
    assert array_writers.fills_arrays(f) is first
    return first


def _replaced_code(p):
    p.plain.__code__ = p.fills.__code__


def _of_a_class(name, wrap=lambda f: f, kind="Model"):
    def change(p):
        setattr(getattr(p, kind), name, wrap(p.fills))

    return change


def _bases(p):
    class Other:
        def part(self, x):
            return p.fills(x)

    Other.part = p.fills
    p.Model.__bases__ = (Other,)


CHANGES = {
    "a helper": ("loss", lambda p: setattr(p, "helper", p.fills)),
    "a helper's helper": ("loss", lambda p: setattr(p, "plain", p.fills)),
    "by a partial": ("loss", lambda p: setattr(p, "helper", functools.partial(p.fills))),
    "by a class": ("loss", lambda p: setattr(p, "plain", type("Made", (), {"__init__": p.fills}))),
    "its code": ("loss", _replaced_code),
    "a method": ("of_model", _of_a_class("part")),
    "a method of its base": ("of_model", _of_a_class("part", kind="Base")),
    "a property": ("of_model", _of_a_class("scale", property)),
    "a static method": ("of_model", _of_a_class("fixed", staticmethod)),
    "a new method": ("of_model", _of_a_class("another")),
    "the base": ("of_model", _bases),
    "the object": ("of_model", lambda p: setattr(p, "model", type("New", (), {"loss": p.fills})())),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_names_stand_for_is_looked_up_at_each_call(program, change):
    name, apply = CHANGES[change]
    f = getattr(program, name)
    assert not _is_kept(f)
    apply(program)
    assert _is_kept(f)


def test_a_method_is_known_by_its_function_and_class(program):
    assert not _is_kept(program.Model().loss)
    assert not _is_kept(program.Model().loss)
    program.Model.part = program.fills
    assert _is_kept(program.Model().loss)


def test_what_cells_hold_may_change(program):
    loss, rebind = program.closed()
    assert not _is_kept(loss)
    rebind(program.fills)
    assert _is_kept(loss)
    other, _ = program.closed()  # of the same code
    assert not array_writers.fills_arrays(other)


def test_members_of_modules_may_change(program, monkeypatch):
    helpers = types.ModuleType("filling_helpers")
    helpers.__file__ = "filling_helpers.py"
    helpers.helper = program.plain
    scope = {"helpers": helpers, "tf": tf}
    exec("def loss(x):\n    return tf.reduce_sum(helpers.helper(x))", scope)
    assert not _is_kept(scope["loss"])
    helpers.helper = program.fills
    assert _is_kept(scope["loss"])


def test_functions_of_one_code_have_names_of_their_own(program):
    scope = dict(vars(program), helper=program.fills)
    other = types.FunctionType(program.loss.__code__, scope)
    assert not _is_kept(program.loss)
    assert _is_kept(other)
    assert not array_writers.fills_arrays(program.loss)


def test_gradients_follow_a_helper_that_is_rebound(program):
    gradient, x = tf.grad(program.loss), tf.constant([3.0, 4.0])
    for _ in range(3):
        np.testing.assert_array_equal(gradient(x), [6.0, 8.0])
    program.helper = program.fills
    np.testing.assert_array_equal(gradient(x), [6.0, 0.0])
    program.helper = program.plain
    np.testing.assert_array_equal(gradient(x), [6.0, 8.0])
    np.testing.assert_array_equal(tf.grad(lambda x: tf.reduce_sum(gradient(x)))(x), [2.0, 2.0])


def test_answers_keep_nothing_alive(program):
    _is_kept(program.loss), _is_kept(program.of_model), _is_kept(program.model.loss)
    watched = [weakref.ref(x) for x in (program.loss, program.plain, program.Model, program.model)]
    before = len(array_writers._answers)
    vars(program).clear()
    gc.collect()
    assert [ref() for ref in watched] == [None] * 4
    assert len(array_writers._answers) <= before - 3


def test_functions_made_anew_each_time_do_not_pile_up(program):
    def once():
        def inner(x):
            return x * x

        def loss(x):
            return tf.reduce_sum(inner(x))

        return tf.grad(loss)(tf.constant([1.0]))

    for _ in range(100):
        once()
    gc.collect()
    blocks, answers = sys.getallocatedblocks(), len(array_writers._answers)
    for _ in range(300):
        once()
    gc.collect()
    assert len(array_writers._answers) <= answers
    assert sys.getallocatedblocks() - blocks < 200


def test_a_class_that_has_been_looked_at_is_not_kept():
    def once():
        class Body:
            def __init__(self, place):
                self.place = place

        f = tf.function(lambda x: Body(x * 2.0).place)
        assert f(tf.constant(3.0)).numpy() == 6.0
        return weakref.ref(Body)

    gone = once()
    for _ in range(3):
        gc.collect()
    assert gone() is None
