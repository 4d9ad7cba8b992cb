"""The statements of generated programs, by feature: what each writes, and what it needs at the head of the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import functional

Write = Callable[[Any, int], None]

#: Kinds of statements by feature; a kind that stands twice is written twice as often.
FEATURES: dict[str, list[str]] = {
    "variables": ["assign_variable"] * 3,
    "aliases": ["assign_alias"] * 3,
    "rebind": ["rebind", "use_rebound"],
    "vector": ["assign_vector"] * 2,
    "counted": ["count"],
    "prints": ["print", "print", "python_print"],
    "lists": ["append", "append", "change_list", "comprehension"],
    "dicts": ["change_dict"] * 3,
    "objects": ["change_object"] * 3,
    "operators": ["change_cells"] * 3,
    "globals": ["change_global"] * 2,
    "nonlocals": ["change_nonlocal"] * 2,
    "arrays": ["write_array"] * 3,
    "helpers": ["helper"] * 2,
    "random": ["unused_draw"],
    "lazy": ["lazy"],
    "functions": ["nested_function"],
    "custom": ["call"],
    "types": ["best", "weak", "set_late"],
    "tapes": ["tape", "persistent_tape", "transform"],
    "failures": ["fail"],
    "handlers": ["bare_except", "finally_", "handled"],
    "functional": ["cond", "while_loop", "fori_loop", "scan", "map_fn", "vmap", "foldl"],
    "returns": ["early_return"],
}

#: For what changes in these ways a body may have to be traced again; and what would show if that happened twice.
RETRIED = (
    "arrays",
    "dicts",
    "globals",
    "lists",
    "nonlocals",
    "objects",
    "operators",
    "rebind",
    "types",
    "types",
)
EFFECTS = ("aliases", "counted", "helpers", "prints", "random", "variables", "variables", "vector")


def _setup(text: str, *returned: str) -> Callable[[Any], None]:
    def write(w: Any) -> None:
        w.setup += text.split("\n")
        w.returned += returned

    return write


def _setup_lists(w: Any) -> None:
    w.setup.append("items = [a, b]")
    w.returned += [w.pick("items[-1]", "tf.stack(items)", "sum(items)"), "items[0]"]


def _setup_arrays(w: Any) -> None:
    w.array = w.pick("sized", "dynamic", "fixed")
    sizes = {
        "sized": "size=n + 1",
        "dynamic": "size=0, dynamic_size=True",
        "fixed": "size=6, element_shape=()",
    }
    w.setup.append(f"ta = tf.TensorArray(tf.float32, {sizes[w.array]})")
    w.setup.append("ta = ta.write(0, a)")
    w.returned.append("ta.stack()" if w.chance(0.7) else "ta.read(0)")


def _setup_nonlocals(w: Any) -> None:
    w.setup += ["kept = a * 0.5", "def inner(z):", "    nonlocal kept", "    kept = kept * 0.5 + z"]
    if w.chance(0.3):
        w.setup += ["    if z > 0.5:", "        v.assign_add(kept)"]
    w.setup.append("    return z + kept")
    w.returned.append("kept")


SETUP: dict[str, Callable[[Any], None]] = {
    "lists": _setup_lists,
    "arrays": _setup_arrays,
    "nonlocals": _setup_nonlocals,
    "dicts": _setup('d = {"a": a, "b": b * 0.5}', "d"),
    "objects": lambda w: _setup(w.pick("o = Box(a)", "o = box\no.a = a * 1.0"), "o.a")(w),
    "operators": _setup("q = Cells(a)", "q.a"),
    "globals": _setup("setg(a * 0.5)", "G + 0.0"),
    "rebind": _setup("r = v", "r + 0.0"),
    "lazy": lambda w: _setup("b = lazy(b)" if w.chance(0.8) else "b = b * 1.0")(w),
    "types": _setup("best = None\nk = 0", "k", "(a if best is None else best)"),
}


# ---- plain statements -----------------------------------------------------------------------------------


def _assign(w: Any, depth: int) -> None:
    if w.chance(0.15):
        w.add(depth, f"a, b = {w.value()}, {w.value()}")
    elif w.chance(0.25):
        w.add(depth, f"{w.pick('a', 'b', 'c')} {w.pick('+=', '-=')} {w.value()}")
    else:
        w.add(depth, f"{w.pick('a', 'b', 'c')} = {w.value()}")


def _assign_variable(w: Any, depth: int) -> None:
    how = w.pick("assign_add", "assign_add", "assign_sub", "assign")
    w.add(depth, f"{w.pick('v', 'v', 'w')}.{how}({w.value()})")


def _assign_alias(w: Any, depth: int) -> None:
    names = ["variables[0]", "variables[1]", 'table["v"]', 'table["w"]', "box.v"]
    text = f"{w.random.choice(names)}.{w.pick('assign_add', 'assign')}({w.value()})"
    if w.chance(0.2):
        text = f"for each in variables:\n{'    ' * (depth + 1)}each.assign_add({w.value()})"
    w.add(depth, text)


def _rebind(w: Any, depth: int) -> None:
    w.add(depth, f"if {w.test()}:")
    w.add(depth + 1, f"r = {w.pick('w', 'v', 'w', 'variables[1]')}")
    if w.chance(0.4):
        w.add(depth, "else:")
        w.add(depth + 1, f"r = {w.pick('v', 'box.v', 'w', w.value())}")


def _use_rebound(w: Any, depth: int) -> None:
    w.add(
        depth,
        w.pick(f"r.assign_add({w.value()})", "a = a + r", "b = r * 0.5", "a = r", f"v.assign({w.value()})"),
    )


def _assign_vector(w: Any, depth: int) -> None:
    forms = [f"u[{w.pick('0', '1', '-1')}] = {w.value()}", f"u.assign(u * 0.5 + {w.value()})"]
    forms += [f"u.assign_add([0.25, {w.value()}, 0.5])", f"u[1:] = {w.value()}"]
    if w.indices:
        forms += [f"u[tf.minimum({w.random.choice(w.indices)}, 2)] = {w.value()}"]
    w.add(depth, w.pick(*forms))


def _count(w: Any, depth: int) -> None:
    w.add(depth, w.pick("counter.assign_add(1)", "counter.assign(counter * 2 + 1)", "counter.assign_sub(n)"))


def _print(w: Any, depth: int) -> None:
    names = ["a", "b", "n"]
    names += ["v"] if "variables" in w.features else []
    names += ["d"] if "dicts" in w.features else []
    w.add(depth, f'tf.print("{w.fresh("p")}", {w.pick(*names)})')


def _python_print(w: Any, depth: int) -> None:
    w.add(depth, f'print("{w.fresh("once")}")')


def _append(w: Any, depth: int) -> None:
    text = w.value()
    w.add(
        depth,
        w.pick(
            f"items.append({text})", f"items += [{text}]", f"push(items, {text})", f"items.append({text})"
        ),
    )


def _change_list(w: Any, depth: int) -> None:
    forms = [f"items[0] = {w.value()}", f"items[-1] = {w.value()}", f"items = items + [{w.value()}]"]
    forms += [
        "other = items",
        f"items.extend([{w.value()}, {w.value()}])",
        "a = items.pop()",
        "c = sum(items)",
    ]
    forms += [f"items.insert(0, {w.value()})", "items[0], items[-1] = items[-1], items[0]"]
    w.add(depth, w.pick(*forms))


def _comprehension(w: Any, depth: int) -> None:
    inner = w.value()
    forms = [f"c = sum([z * 0.5 + {inner} for z in s])", f"items = [z + {inner} for z in items]"]
    forms += [f"c = tf.reduce_sum(tf.stack([{inner} for _ in range(2)]))"]
    w.add(depth, w.pick(*forms))


def _change_dict(w: Any, depth: int) -> None:
    text = w.value()
    forms = [f'd["a"] = {text}', f"put(d, {text})", f"put(d, {text})", f"d.update(a={text})", "swap(d)"]
    forms += [f'd["b"] += {text}', f'd = {{"a": {text}, "b": d["a"]}}', f'd["a"] = d["b"] * 0.5 + {text}']
    w.add(depth, w.pick(*forms))


def _change_object(w: Any, depth: int) -> None:
    text = w.value()
    forms = [f"o.a = {text}", f"place(o, {text})", f"o.p = {text}", f"o.add({text})", f"o.bump({text})"]
    forms += [f"o.a += {text}", f'setattr(o, "a", {text})', f"o.v.assign_add({text})"]
    w.add(depth, w.pick(*forms))


def _change_cells(w: Any, depth: int) -> None:
    text = w.value()
    forms = [
        f"q[1] = {text}",
        f"q + {text}",
        f"b = q + {text}",
        f"q({text})",
        f"place(q, {text})",
        f"q[0] += {text}",
    ]
    w.add(depth, w.pick(*forms))


def _change_global(w: Any, depth: int) -> None:
    w.add(depth, w.pick(f"setg({w.value()})", f"addg({w.value()})", f"b = setg({w.value()})"))


def _change_nonlocal(w: Any, depth: int) -> None:
    w.add(depth, w.pick(f"inner({w.value()})", f"b = inner({w.value()})", f"kept = {w.value()}"))


def _write_array(w: Any, depth: int) -> None:
    places = [f"tf.minimum({i}, {'5' if w.array == 'fixed' else 'n'})" for i in w.indices] or ["0"]
    forms = [f"ta = ta.write({w.random.choice(places)}, {w.value()})"] * 4
    if w.array == "dynamic":
        forms += [f"ta = ta.write(ta.size(), {w.value()})"] * 4
    forms += ["a = ta.read(0)"]
    w.add(depth, w.pick(*forms))


def _helper(w: Any, depth: int) -> None:
    x = w.scalar()
    forms = [f"bump({x})", f"a = clamp({x})", f"b = repeat({x}, 2)", f"a = (lambda z: bump(z) * 0.5)({x})"]
    w.add(depth, w.pick(*forms))


def _unused_draw(w: Any, depth: int) -> None:
    forms = ["draw()", "tf.random.normal((2,))", "gen.normal(())", "a = draw()", "b = b + gen.uniform(())"]
    forms += ["c = tf.reduce_mean(tf.random.normal(tf.shape(s)))", "gen.uniform((n,))"]
    w.add(depth, w.pick(*forms))


def _lazy(w: Any, depth: int) -> None:
    w.add(depth, f"{w.pick('a', 'b')} = lazy({w.value()})")


def _nested_function(w: Any, depth: int) -> None:
    name = w.fresh("g")
    if w.chance(0.5):
        w.add(depth, f"a = traced({w.value()})")
        return
    w.add(depth, "@tf.function")
    w.add(depth, f"def {name}(z):")
    w.add(depth + 1, f"v.assign_add({w.pick('z', 'z * 0.5')})")
    w.add(depth + 1, "return z * v")
    w.add(depth, f"b = {name}({w.value()})")


def _call(w: Any, depth: int) -> None:
    w.add(depth, f"{w.pick('a', 'b')} = {w.pick(*w.calls(w.scalar()))}")


def _best(w: Any, depth: int) -> None:
    if not w.loops:
        return _weak(w, depth)
    w.add(depth, f"{w.pick('c', 'b')} = {w.value()}")
    w.add(depth, f"if best is None or {w.pick('b', 'c')} > best:")
    w.add(depth + 1, f"best = {w.pick('b', 'c')}")


def _weak(w: Any, depth: int) -> None:
    w.add(depth, w.pick("k = k + 0.5", "k += 1", "k = (k * 2 + 1) % 1000", f"k = {w.value()}"))


def _set_late(w: Any, depth: int) -> None:
    name = w.fresh("t")
    w.add(depth, f"{name} = {w.pick('0', '1.0', 'None', 'a')}")
    w.add(depth, f"if {w.test()}:")
    w.add(depth + 1, f"{name} = {w.value()}")
    w.add(depth + 1, f"a = {name} * 0.5")


# ---- control flow ---------------------------------------------------------------------------------------


def _if(w: Any, depth: int) -> None:
    w.add(depth, f"if {w.test()}:")
    w.block(depth + 1)
    if w.chance(0.25):
        w.add(depth, f"elif {w.test()}:")
        w.block(depth + 1, 2)
    if w.chance(0.45):
        w.add(depth, "else:")
        w.block(depth + 1, 2)


def _loop(w: Any, depth: int) -> None:
    i = w.fresh("i")
    heads = [f"for {i} in tf.range(n):"] * 4 + [f"for {i} in range(n):"] * 2
    heads += [f"for {i} in range(3):", f"for {i}, r{i} in enumerate(s):", f"for {i} in range(1, n + 1):"]
    heads += [f"for r{i} in s:", f"for {i} in range(len(s)):", f"for {i} in range(s.shape[0] - 1):"]
    heads += [
        f"for {i} in tf.range({w.pick('3', '1', '0')}):",
        f"while {i} < n:",
        f"while {i} < 3 and {w.test()}:",
    ]
    heads += [f"while {i} < n and {w.test()}:", f"for r{i}, {i} in zip(s, range(9)):"]
    head = w.random.choice(heads)
    counts = head.startswith("while")
    if counts:
        w.add(depth, f"{i} = {w.pick('0', 'n * 0', 'tf.constant(0)')}")
    w.add(depth, head)
    first = len(w.lines)
    if counts:
        w.add(depth + 1, f"{i} += 1")
    if f"r{i}" in head:
        w.add(depth + 1, f"{w.pick('a', 'b', 'c')} = r{i} * 0.5 + {w.scalar()}")
    if f" {i}" in head:
        w.indices.append(i)
    jumps, w.jumps = w.jumps, 1
    w.loops += 1
    w.block(depth + 1)
    w.loops -= 1
    w.jumps = jumps
    if f" {i}" in head:
        w.indices.remove(i)
    assert len(w.lines) > first
    if w.chance(0.1):
        w.add(depth, "else:")
        w.block(depth + 1, 1)


def _jump(w: Any, depth: int) -> None:
    w.add(depth, f"if {w.test()}:")
    if w.chance(0.3):
        w.statement(depth + 1)
    w.add(depth + 1, w.pick("break", "continue", "break"))


def _early_return(w: Any, depth: int) -> None:
    w.add(depth, f"if {w.test()}:")
    w.add(depth + 1, f"return {', '.join(w.returned)}")


def _fail(w: Any, depth: int) -> None:
    x = w.scalar()
    used = f"\n{'    ' * depth}tf.print('used', a, b)"  # what nobody uses need not fail
    forms = [
        f"tf.debugging.assert_less({x}, 1.5)",
        "tf.debugging.assert_less(n, 4)",
        f"b = b + tf.linalg.cholesky(tf.reshape(1.25 + {x}, (1, 1)))[0, 0]{used}",
        f"b = b + tf.linalg.cholesky([[2.0 - {x}, 0.0], [0.0, 1.0]])[0, 0]{used}",
        f"a = a + s[n]{used}",
        f"a = a + tf.gather(s, n - 1){used}",
        f"assert {w.test()}",
        "tf.Assert(n < 5, [n])",
        f"if {w.test()}:\n{'    ' * (depth + 1)}raise ValueError('stop')",
    ]
    if w.safe:
        w.add(depth, w.pick(*forms))
    else:
        _assign(w, depth)


def _guarded(w: Any, depth: int) -> None:
    w.add(depth, "try:")
    safe, w.safe = w.safe, False
    w.block(depth + 1)
    w.safe = safe


def _bare_except(w: Any, depth: int) -> None:
    _guarded(w, depth)
    w.add(
        depth,
        w.pick("except:", "except Exception:", "except BaseException:", "except (TypeError, ValueError):"),
    )
    w.add(depth + 1, w.pick("a = a + 100.0", "pass", "v.assign(9.0)"))


def _finally(w: Any, depth: int) -> None:
    _guarded(w, depth)
    w.add(depth, "finally:")
    w.statement(depth + 1)


def _handled(w: Any, depth: int) -> None:
    w.add(depth, "try:")
    w.add(depth + 1, f"a = {w.value()}")
    w.add(depth + 1, '{}["missing"]')
    w.add(depth, "except KeyError:")
    w.statement(depth + 1)


WRITERS: dict[str, Write] = {
    "assign": _assign,
    "assign_variable": _assign_variable,
    "assign_alias": _assign_alias,
    "rebind": _rebind,
    "use_rebound": _use_rebound,
    "assign_vector": _assign_vector,
    "count": _count,
    "print": _print,
    "python_print": _python_print,
    "append": _append,
    "change_list": _change_list,
    "comprehension": _comprehension,
    "change_dict": _change_dict,
    "change_object": _change_object,
    "change_cells": _change_cells,
    "change_global": _change_global,
    "change_nonlocal": _change_nonlocal,
    "write_array": _write_array,
    "helper": _helper,
    "unused_draw": _unused_draw,
    "lazy": _lazy,
    "nested_function": _nested_function,
    "call": _call,
    "best": _best,
    "weak": _weak,
    "set_late": _set_late,
    "if_": _if,
    "loop": _loop,
    "jump": _jump,
    "early_return": _early_return,
    "fail": _fail,
    "bare_except": _bare_except,
    "finally_": _finally,
    "handled": _handled,
    **functional.WRITERS,
}
