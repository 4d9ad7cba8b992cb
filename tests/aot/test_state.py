"""Functions that assign Variables leave as functions of the old values that give the new ones."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tracejit as tf
from tracejit.aot import NotExportable

TRAINING = r"""
#include <stdio.h>
#include "step.h"

int main(void) {
  static const double x[12] = {1, 2, 3, 4, -5, 6, 7, 8, 9, -1, 0, 2}, y[8] = {1, 0, 2, 1, 0, 3, 1, 1};
  double w[2][6] = {{1, 1, 1, 1, 1, 1}}, b[2][2] = {{0}}, wm[2][6] = {{0}}, wv[2][6] = {{0}}, bm[2][2] = {{0}};
  double bv[2][2] = {{0}}, rate = 0.1, loss = 0;
  int64_t done[2] = {0};
  int i, k;
  for (k = 0; k < 20; k++) {
    int old = k % 2, now = 1 - old;
    if (step(x, y, w[old], b[old], &rate, &done[old], wm[old], wv[old], bm[old], bv[old], &loss, w[now], b[now],
             &done[now], wm[now], wv[now], bm[now], bv[now], 4, WORK) != 0)
      return 1;
  }
  printf("%d %.15g", (int)done[0], loss);
  for (i = 0; i < 6; i++) printf(" %.15g", w[0][i]);
  return 0;
}
"""


def trained():
    """Variables, an optimizer's step on them, and its arguments."""
    w, b = tf.Variable(np.ones((3, 2)), name="w"), tf.Variable(np.zeros(2), name="b")
    optimizer = tf.keras.optimizers.Adam(0.1)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w + b - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b], strict=True))
        return loss

    x = np.array([[1, 2, 3], [4, -5, 6], [7, 8, 9], [-1, 0, 2]], float)
    return w, step, [x, np.array([[1, 0], [2, 1], [0, 3], [1, 1]], float)]


def exported(step):
    specs = ["f64[n,3]", "f64[n,2]"]
    return tf.export(step, specs, name="step", outputs="value", constants="argument")


def test_a_step_of_an_optimizer_takes_all_state_and_gives_it_back() -> None:
    w, step, data = trained()
    art = exported(step)
    assert art.verify().sample < 1e-12
    slots = ["w_momentum", "w_velocity", "b_momentum", "b_velocity"]
    given, made = art.signature.split(" -> ")
    assert re.findall(r"(\w+):", given) == ["x", "y", "w", "b", "learning_rate", "iterations", *slots]
    assert re.findall(r"new_(\w+):", made) == ["w", "b", "iterations", *slots]
    np.testing.assert_array_equal(w.numpy(), np.ones((3, 2)))  # nothing is trained by exporting
    state = [np.ones((3, 2)), np.zeros(2), np.array(0.1), np.array(0)]
    state += [np.zeros(s) for s in ((3, 2), (3, 2), (2,), (2,))]
    for _ in range(3):
        loss, *new = art(*data, *state)
        np.testing.assert_allclose(loss, step(*data), rtol=1e-13)
        state = [*new[:2], state[2], *new[2:]]
    np.testing.assert_allclose(state[0], w.numpy(), rtol=1e-13)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_c_program_trains(tmp_path: Path) -> None:
    """Two arrays for each part of the state take turns."""
    w, step, data = trained()
    art = exported(step)
    art.write(tmp_path / "step.o")
    art.write(tmp_path / "step.h")
    work = "malloc((size_t)step_workspace(4))" if "step_workspace" in art.header() else "0"
    text = TRAINING.replace(", WORK", f", {work}" if "void *work" in art.header() else "")
    (tmp_path / "main.c").write_text(f"#include <stdlib.h>\n{text}")
    strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    subprocess.run(["cc", *strict, "main.c", "step.o", "-o", "main"], cwd=tmp_path, check=True)
    done = subprocess.run(["./main"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.split()
    losses = [step(*data) for _ in range(20)]
    assert done[0] == "20"
    np.testing.assert_allclose([float(v) for v in done[1:]], [losses[-1], *w.numpy().ravel()], rtol=1e-10)


def test_derivatives_are_of_what_is_returned_not_of_the_new_state() -> None:
    h, u = tf.Variable(np.zeros(4), name="h"), tf.Variable(np.eye(4) * 0.5, name="u")

    def cell(x):
        new = tf.tanh(tf.linalg.matvec(u, h) + x)
        h.assign(new)
        return tf.reduce_sum(new**2)

    kinds = ["value", "grad", "jvp", "hvp"]
    art = tf.export(cell, ["f64[4]"], name="cell", outputs=kinds, constants="argument", wrt=["x", "u"])
    assert re.findall(r"(\w+):", art.signature.split(" -> ")[1]) == (
        ["value", "gx", "gu", "tvalue", "hx", "hu", "new_h"]
    )
    assert art.verify().gradient < 1e-6
    x = np.array([1.0, -2.0, 0.5, 0.0])
    value, gx, *_, new = art(x, x, u.numpy(), x, np.ones((4, 4)), x, np.ones((4, 4)))
    np.testing.assert_allclose(new, np.tanh(1.5 * x))
    np.testing.assert_allclose(gx, 2 * new * (1 - new**2))
    assert value == np.sum(new**2)


def test_state_alone_branches_and_the_state_of_random_numbers() -> None:
    total = tf.Variable(np.zeros(2), name="total")

    def add(x):
        if tf.reduce_sum(x) > 0.0:
            total.assign_add(x)

    art = tf.export(add, ["f64[2]"], name="add", outputs="value", constants="argument")
    assert art.signature == "add(x: float64[2], total: float64[2]) -> (new_total: float64[2])"
    assert art(np.ones(2), np.ones(2)).tolist() == [2.0, 2.0]
    assert art(-np.ones(2), np.ones(2)).tolist() == [1.0, 1.0]

    def noise(x):
        return x + tf.random.normal([2], dtype=tf.float64)

    art = tf.export(noise, ["f64[2]"], name="noise", outputs="value", constants="argument")
    (_, (dtype, shape)) = art._inputs
    first, state = art(np.zeros(2), np.ones(shape, dtype))
    again, same = art(np.zeros(2), np.ones(shape, dtype))
    other, _ = art(np.zeros(2), state)
    assert first.tolist() == again.tolist() and state.tolist() == same.tolist()
    assert first.tolist() != other.tolist()


def test_what_is_assigned_cannot_be_a_constant() -> None:
    _, step, _ = trained()
    message = r"step assigns w, b, iterations, .* pass constants='argument'.*(.|\n)*test_state\.py"
    with pytest.raises(NotExportable, match=message):
        tf.export(step, ["f64[n,3]", "f64[n,2]"], name="step", outputs="value")
