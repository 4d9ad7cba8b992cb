"""What generated programs may use besides the language: Variables, objects, helper functions with effects.

Each piece is source text by name; a program carries those it mentions, in this order.
"""

from __future__ import annotations

import re

DEFINITIONS: dict[str, str] = {
    "v": "v = tf.Variable(0.5)",
    "w": "w = tf.Variable(-0.25)",
    "u": "u = tf.Variable([0.5, -0.5, 0.25])",
    "counter": "counter = tf.Variable(0)",
    "variables": "variables = [v, w]",
    "table": 'table = {"v": v, "w": w}',
    "G": "G = 0.0",
    "gen": "gen = tf.random.Generator.from_seed(5)",
    "Box": """\
class Box:
    def __init__(self, a):
        self.a = a
        self.v = v
        self.log = []

    @property
    def p(self):
        return self.a * 0.5

    @p.setter
    def p(self, z):
        self.a = z - 0.125

    def add(self, z):
        self.a = self.a + z
        return self.a

    def bump(self, z):
        self.v.assign_add(z)
        return self.v * 0.5

    def note(self, z):
        self.log.append(z)""",
    "Cells": """\
class Cells:
    def __init__(self, a):
        self.a = a

    def __getitem__(self, k):
        return self.a * (k + 1.0)

    def __setitem__(self, k, z):
        self.a = z + k * 0.25

    def __add__(self, z):
        self.a = self.a * 0.5 + z
        return self.a

    def __call__(self, z):
        self.a = z
        return z * 0.5""",
    "Lazy": """\
class Lazy:
    def __init__(self):
        self.v = None

    def __call__(self, z):
        if self.v is None:
            self.v = tf.Variable(0.75)
        self.v.assign_add(z * 0.25)
        return self.v + z""",
    "box": "box = Box(0.5)",
    "lazy": "lazy = Lazy()",
    "put": """\
def put(d, z):
    d["a"] = z""",
    "place": """\
def place(o, z):
    o.a = z""",
    "push": """\
def push(l, z):
    l.append(z)""",
    "swap": """\
def swap(d):
    d["a"], d["b"] = d["b"], d["a"]""",
    "bump": """\
def bump(z):
    v.assign_add(z * 0.5)
    return v * 1.0""",
    "positive": """\
def positive(z):
    w.assign_sub(0.125)
    return z > 0.0""",
    "say": """\
def say(z):
    tf.print("say", z)
    return z * 0.5""",
    "setg": """\
def setg(z):
    global G
    G = z
    return z * 0.5""",
    "addg": """\
def addg(z):
    global G
    G = G + z""",
    "draw": """\
def draw():
    return tf.random.uniform(())""",
    "clamp": """\
def clamp(z):
    if z > 1.0:
        v.assign(1.0)
        return z * 0.25
    w.assign_add(0.5)
    return z""",
    "repeat": """\
def repeat(z, n):
    for _ in tf.range(n):
        v.assign_add(0.25)
        z = z * 0.5 + v
    return z""",
    "traced": """\
@tf.function
def traced(z):
    v.assign_add(z * 0.25)
    return v + z""",
    "rule": """\
@tf.custom_gradient
def rule(z):
    def back(g, variables=None):
        return g * 2.0, [g * 0.5 for _ in variables]

    return z * v, back""",
    "loud": """\
@tf.custom_gradient
def loud(z):
    tf.print("rule", z)
    return z * 0.5, lambda g: g * 3.0""",
}

_WORD = re.compile(r"\b[A-Za-z_]\w*\b")


def mentioned(text: str) -> list[str]:
    """The pieces that a text needs, directly or through others, in the order of definition."""
    found: set[str] = set()
    todo = [text]
    while todo:
        for word in _WORD.findall(todo.pop()):
            if word in DEFINITIONS and word not in found:
                found.add(word)
                todo.append(DEFINITIONS[word])
    return [DEFINITIONS[name] for name in DEFINITIONS if name in found]
