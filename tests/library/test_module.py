"""Module: which Variables are found, in what order, once each."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tracejit as tf


class Leafy(tf.Module):
    def __init__(self, name=None):
        super().__init__(name)
        self.z = tf.Variable(1.0, name="z")
        self.a = tf.Variable(2.0, name="a", trainable=False)
        self.parts = {
            "second": [tf.Variable(3.0, name="in_list")],
            "first": (tf.Variable(4.0, name="in_tuple"),),
        }
        self.text, self.number, self.nothing, self.array = "text", 3, None, np.ones(2)


class Tree(tf.Module):
    def __init__(self):
        super().__init__()
        self.own = tf.Variable(0.0, name="own")
        self.inner = Leafy("inner")
        self.more = [Leafy("more"), self.inner]
        self.again = self.own


def names(variables):
    return [v.name.removesuffix(":0") for v in variables]


def test_order_is_by_attribute_name_and_then_parts():
    assert names(Leafy().variables) == ["a", "in_tuple", "in_list", "z"]
    assert names(Leafy().trainable_variables) == ["in_tuple", "in_list", "z"]
    assert names(Leafy().non_trainable_variables) == ["a"]
    tree = Tree()
    leafy = ["a", "in_tuple", "in_list", "z"]
    assert names(tree.variables) == ["own", *leafy, *leafy]
    assert isinstance(tree.trainable_variables, tuple)


def test_each_variable_and_module_is_found_once():
    tree = Tree()
    assert len({id(v) for v in tree.variables}) == len(tree.variables) == 9
    assert [m.name for m in tree.submodules] == ["inner", "more"]


def test_a_module_may_contain_itself():
    leafy = Leafy()
    leafy.me = [leafy]
    assert len(leafy.variables) == 4 and leafy.submodules == ()


def test_names():
    class BigNetwork(tf.Module):
        pass

    assert BigNetwork().name == "big_network" and BigNetwork("other").name == "other"
    with BigNetwork().name_scope as scope:
        assert scope == "big_network"
    with BigNetwork().name_scope() as scope:
        assert str(scope) == "big_network"
    with pytest.raises(ValueError, match="no name for a Module"):
        BigNetwork("1 2")


def test_what_a_module_makes_may_be_named():
    class Scaled(tf.Module):
        def __init__(self):
            super().__init__()
            with self.name_scope:
                self.v = tf.Variable(2.0)

        @tf.Module.with_name_scope
        def __call__(self, x):
            return self.v * x

    assert float(Scaled()(3.0)) == float(tf.function(Scaled())(3.0)) == 6.0


def test_a_subclass_need_not_call_the_constructor_of_its_base():
    class Bare(tf.Module):
        def __init__(self):
            self.v = tf.Variable(1.0)

    assert Bare().name == "bare" and len(Bare().variables) == 1


def test_modules_are_freed_by_reference_count():
    gc.disable()
    try:
        tree = Leafy()
        gone = weakref.ref(tree)
        assert tree.variables
        del tree
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_of_a_module(compiled):
    class Line(tf.Module):
        def __init__(self):
            super().__init__()
            self.slope, self.intercept = tf.Variable(2.0), tf.Variable(1.0)

        def __call__(self, x):
            return self.slope * x + self.intercept

    line = Line()

    def program(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(line(x) ** 2)
        return tape.gradient(loss, line.trainable_variables)

    run = tf.function(program) if compiled else program
    x = tf.constant([1.0, 2.0])  # 3 and 5; intercept first
    assert [float(g) for g in run(x)] == [16.0, 26.0]


def test_a_compiled_method_of_a_module():
    class Counter(tf.Module):
        def __init__(self):
            super().__init__()
            self.count = tf.Variable(0)

        @tf.function
        def step(self, by):
            self.count.assign_add(by)
            return self.count * 2

    counter = Counter()
    assert [int(counter.step(tf.constant(3))) for _ in range(2)] == [6, 12]
    assert len(counter.variables) == 1
