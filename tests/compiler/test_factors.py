"""Literal factors under ``fastmath``: random programs before and after the pass, bounds, and what stays as it is."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from tracejit.compiler.loopir import interpreter as loopinterp
from tracejit.compiler.loopir.ir import Compute, Program, walk
from tracejit.compiler.loopir.parser import parse
from tracejit.compiler.loopir.passes.arithmetic.factors import fold_factors
from tracejit.compiler.loopir.text import to_text
from tracejit.compiler.loopir.verifier import verify
from tracejit.core.settings import settings

N = 8
POWERS = (-8.0, -2.0, -1.0, -0.5, 0.25, 0.5, 1.0, 2.0, 4.0)
ODD = (-3.7, 0.1, 1 / 3, 7.0, -0.01)
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -2.0, 1e-300, 1e300, 5e-324)


def program(seed: int, literals: tuple[float, ...], sums: bool = True, zeros: bool = True) -> str:
    """Random arithmetic of one nest: multiples, products with what was loaded and, with `sums`, what is no product."""
    random = np.random.default_rng(seed)
    lines = [f"v{k} = x[i + {N * k}]" for k in range(4)]
    names = [f"v{k}" for k in range(4)]

    def one() -> str:
        return str(random.choice(names[-8:]))

    for k in range(4, 4 + int(random.integers(4, 24))):
        x, y = one(), one()
        literal = float(random.choice(literals)).hex()
        made = [
            f"mul({x}, {literal})",
            f"mul({literal}, {x})",
            f"mul({x}, v{random.integers(4)})",
            f"mul(v{random.integers(4)}, {x})",
            f"neg({x})",
            f"add({x}, {x})",
        ]
        made += [f"sub({x}, {y})", f"add({x}, {y})", f"abs({x})"] if sums else []
        made += [f"add(0x0.0p+0, {x})"] if zeros else []
        lines.append(f"v{k}: float64 = {random.choice(made)}")
        names.append(f"v{k}")
    outs = [str(n) for n in random.choice(names[4:], 3)]
    lines += [f"y[i + {N * k}] = {n}" for k, n in enumerate(outs)]
    lines.append(f"a <- add({one() if sums else outs[0]})")
    body = "".join(f"\n    {line}" for line in lines).replace("i + 0]", "i]")
    return f"""program random() -> ({3 * N}), ()
  input x: float64[{4 * N}] slot 0
  output y: float64[{3 * N}] slot 0
  output z: float64[1] slot 1
  for i < {N} reduce with a: float64 = 0x0.0p+0{body}
  then:
    t0: float64 = neg(a)
    t1: float64 = mul(t0, -0x1.0000000000000p-1)
    z[0] = t1"""


def folded(text: str) -> Program:
    with settings(fastmath=True):
        made = fold_factors(parse(text))
    verify(made)
    return made


def results(p: Program, x: np.ndarray) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return loopinterp.run(p, [x], {})[0]


def operations(p: Program) -> int:
    return sum(isinstance(s, Compute) for s in walk(p.body))


def numbers(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.5, 2.0, 4 * N) * np.tile([1.0, -1.0], 2 * N)


@pytest.mark.parametrize("seed", range(150))
def test_powers_of_two_leave_every_bit(seed):
    text = program(seed, POWERS, zeros=False)
    before, after = parse(text), folded(text)
    assert operations(after) <= operations(before)
    for a, b in zip(results(after, numbers(seed)), results(before, numbers(seed)), strict=True):
        assert a.tobytes() == b.tobytes()


def test_random_programs_get_shorter():
    saved = [operations(parse(t)) - operations(folded(t)) for t in (program(s, POWERS) for s in range(60))]
    assert sum(n > 0 for n in saved) > 45 and min(saved) >= 0


@pytest.mark.parametrize("seed", range(60))
def test_special_values_come_out_as_ever(seed):
    text = program(seed, (-2.0, -1.0, 1.0, 2.0), sums=False, zeros=False)
    x = np.random.default_rng(seed).choice([v for v in SPECIAL if not 1e4 < abs(v) < np.inf], 4 * N)
    x[np.abs(x) < 1e-200] *= 0.0  # what overflows and underflows is not promised
    for a, b in zip(results(folded(text), x)[:1], results(parse(text), x)[:1], strict=True):
        np.testing.assert_array_equal(a, b)
        known = ~np.isnan(b)
        np.testing.assert_array_equal(np.signbit(a[known]), np.signbit(b[known]))


@pytest.mark.parametrize("seed", range(60))
def test_products_are_rounded_no_more_often_than_as_written(seed):
    text = program(seed, ODD, sums=False)
    before = parse(text)
    (found, _), (written, _) = results(folded(text), numbers(seed)), results(before, numbers(seed))
    most = operations(before) * np.finfo(np.float64).eps  # half an eps each in both
    np.testing.assert_allclose(found, written, rtol=most, atol=0)


def test_the_same_text_every_time_and_nothing_without_the_setting():
    text = program(3, POWERS)
    assert to_text(folded(text)) == to_text(folded(text)) != to_text(parse(text))
    assert to_text(fold_factors(parse(text))) == to_text(parse(text))


def test_literals_that_are_far_from_one_stay_where_they_are():
    def f(x):
        return (x * 1e-200) * 1e200 + (x * 1e200) * 1e-200

    x = np.array([1e200, 1e-200, 3.0])
    np.testing.assert_array_equal(tf.function(f, fastmath=True)(x), tf.function(f)(x))


def test_what_a_scan_adds_up_is_no_multiple_of_anything():
    text = """
program running() -> (8)
  input x: float64[8] slot 0
  output y: float64[8] slot 0
  for i < 8 scan with a: float64 = 0x0.0p+0
    v0 = x[i]
    v1: float64 = neg(a)
    v2: float64 = mul(v1, 0x1.8p+1)
    a <- add(v0)
    v3: float64 = neg(a)
    v4: float64 = mul(v3, 0x1.8p+1)
    v5: float64 = sub(v2, v4)
    y[i] = v5
""".strip()
    x = np.arange(1.0, 9.0)
    np.testing.assert_array_equal(results(folded(text), x)[0], results(parse(text), x)[0])


def test_forces_between_bodies_take_one_multiplication_by_a_literal():
    def energy(x, m):
        d = x[:, None, :] - x[None, :, :]
        return -0.5 * tf.reduce_sum(m[:, None] * m[None, :] / tf.sqrt(tf.reduce_sum(d * d, -1) + 1e-2))

    x, m = np.random.default_rng(0).standard_normal((100, 3)), np.ones(100)
    f = tf.function(tf.value_and_grad(energy), fastmath=True)
    (pairs,) = (n for n in f.loops(x, m).split("  for ") if "rsqrt" in n and "< 49 " in n)
    assert pairs.count("0x1.0000000000000p-1") == 1 and "neg(" not in pairs
    for found, exact in zip(f(x, m), tf.value_and_grad(energy)(x, m), strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_second_derivatives_agree_with_exact_ones(dtype):
    def f(x, y):
        return tf.reduce_sum(-0.5 * x * x / tf.sqrt(y + 1.0) + 3.0 * tf.exp(-2.0 * x) * (y + y))

    def second(f):
        return tf.grad(lambda x, y: tf.reduce_sum(tf.grad(f)(x, y) ** 2), (0, 1))

    x, y = (np.random.default_rng(k).uniform(1, 2, 200).astype(dtype) for k in range(2))
    found = tf.function(second(f), fastmath=True)(x, y)
    exact = second(f)(x.astype(np.float64), y.astype(np.float64))
    for g, e in zip(found, exact, strict=True):
        np.testing.assert_allclose(g, e, rtol=60 * np.finfo(dtype).eps, atol=60 * np.finfo(dtype).eps)
