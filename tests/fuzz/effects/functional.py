"""Statements of generated programs that hand functions with effects to others: loops, branches, maps, derivatives."""

from __future__ import annotations

from typing import Any

#: Stands behind statements that change what belongs to the function around: tensors may leak, which is an error.
CAPTURED = "  # captured"


def _function(w: Any, depth: int, name: str, parameters: str, result: str) -> None:
    """A nested function with some effects."""
    w.add(depth, f"def {name}({parameters}):")
    for _ in range(w.random.randint(1, 2)):
        w.add(depth + 1, _effect(w))
    w.add(depth + 1, f"return {result}")


def _effect(w: Any) -> str:
    forms = [
        "v.assign_add(0.25)",
        "v.assign(z * 0.5)",
        "y = z * v",
        "w.assign_sub(z)",
        f'tf.print("{w.fresh("p")}", z)',
    ]
    forms += ["y = bump(z)", "y = z * 0.5"]
    if "random" in w.features:
        forms += ["z = z + tf.random.uniform(())", "y = gen.normal(())"]
    if w.chance(0.15):
        captured = {
            "dicts": ["put(d, z)", 'd["b"] = z'],
            "objects": ["o.add(z)", "place(o, z)"],
            "lists": ["items[0] = z"],
        }
        forms = [
            text + CAPTURED for f, texts in captured.items() if f in w.features for text in texts
        ] or forms
    return w.pick(*forms)


def _cond(w: Any, depth: int) -> None:
    one, other = w.fresh("f"), w.fresh("f")
    _function(w, depth, one, "z=a", "z * 0.5")
    _function(w, depth, other, "z=b", "z - v")
    w.add(depth, f"a = tf.cond({w.test()}, {one}, {other})")


def _while_loop(w: Any, depth: int) -> None:
    f = w.fresh("f")
    _function(w, depth, f, "i, z", "i + 1, z * 0.5 + v")
    w.add(depth, f"_, b = tf.while_loop(lambda i, z: i < n, {f}, (0, {w.pick('a', 'b', 'c')}))")


def _fori_loop(w: Any, depth: int) -> None:
    f = w.fresh("f")
    _function(w, depth, f, "i, z", "z * 0.5 + v")
    w.add(depth, f"b = tf.fori_loop(0, {w.pick('3', 'n')}, {f}, {w.pick('a', 'b')})")


def _scan(w: Any, depth: int) -> None:
    f = w.fresh("f")
    if w.chance(0.5):
        _function(w, depth, f, "z, r", "z * 0.5 + r")
        w.add(depth, f"c = tf.scan({f}, s, {w.pick('a', 'b')})[-1]")
    else:
        _function(w, depth, f, "z, r", "(z * 0.5 + r, z + v)")
        w.add(depth, f"a, rows = tf.scan({f}, {w.pick('a', 'b')}, s)")
        w.add(depth, "b = tf.reduce_sum(rows)")


def _map_fn(w: Any, depth: int) -> None:
    f = w.fresh("f")
    _function(w, depth, f, "z", "z * 0.5 + v")
    w.add(depth, f"c = tf.reduce_sum(tf.map_fn({f}, s))")


def _vmap(w: Any, depth: int) -> None:
    f = w.fresh("f")
    _function(w, depth, f, "z", "z * 0.5 + b")
    w.add(depth, f"c = tf.reduce_sum(tf.vmap({f})(s))")


def _foldl(w: Any, depth: int) -> None:
    f = w.fresh("f")
    _function(w, depth, f, "z, r", "z * 0.5 + r")
    w.add(depth, f"c = tf.foldl({f}, s, {w.pick('a', 'b')})")


def _tape(w: Any, depth: int) -> None:
    t, y = w.fresh("tape"), w.fresh("y")
    source = w.pick("a", "b", "v")
    if source != "v":
        w.add(depth, f"{source} = tf.convert_to_tensor({source})")  # eagerly it may be Python's 0.75
    w.add(depth, f"with tf.GradientTape() as {t}:")
    if source != "v":
        w.add(depth + 1, f"{t}.watch({source})")
    w.add(depth + 1, f"{y} = {source} * {source} * 0.5 + tf.sin({w.pick('a', 'b', 'v')})")
    if w.chance(0.6):
        w.add(depth + 1, f"{y} = {y} * {w.value()}")
    if w.chance(0.4):
        w.add(depth + 1, w.pick("v.assign_add(0.25)", f"bump({y})", f'tf.print("{w.fresh("p")}", {y})'))
    w.add(depth, f'c = {t}.gradient({y}, {source}, unconnected_gradients="zero")')
    if w.chance(0.4):
        w.add(depth, "v.assign_sub(0.1 * c)")


def _persistent_tape(w: Any, depth: int) -> None:
    t, y = w.fresh("tape"), w.fresh("y")
    w.add(depth, "a = tf.convert_to_tensor(a)")
    w.add(depth, f"with tf.GradientTape(persistent=True) as {t}:")
    w.add(depth + 1, f"{t}.watch(a)")
    w.add(depth + 1, f"{y} = a * v")
    w.add(depth + 1, f"if {w.test()}:")
    w.add(depth + 2, f"{y} = {y} * {w.value()}")
    w.add(depth, f'b = {t}.gradient({y}, a, unconnected_gradients="zero")')
    w.add(depth, f'c = {t}.gradient({y}, v, unconnected_gradients="zero")')


def _transform(w: Any, depth: int) -> None:
    f = w.fresh("f")
    _function(w, depth, f, "z", "z * z * 0.5 + v * z")
    forms = [f"c = tf.grad({f})(a)", f"b, c = tf.value_and_grad({f})(a)", f"b, c = tf.jvp({f}, (a,), (1.0,))"]
    w.add(depth, w.pick(*forms))


WRITERS = {
    "cond": _cond,
    "while_loop": _while_loop,
    "fori_loop": _fori_loop,
    "scan": _scan,
    "map_fn": _map_fn,
    "vmap": _vmap,
    "foldl": _foldl,
    "tape": _tape,
    "persistent_tape": _persistent_tape,
    "transform": _transform,
}
