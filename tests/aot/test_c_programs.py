"""C programs with an exported gradient: compiled without a warning, right, and without a leak."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tracejit as tf
from tracejit.runtime import cpu

STRICT = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]

DESCENT = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "rosen.h"

int main(void) {
  enum { N = 4 };
  double x[N] = {-1.2, 1.0, -0.5, 0.8}, y[N], g[N], h[N], value, next;
  void *work = malloc((size_t)rosen_workspace(N));
  int32_t status = rosen(x, &value, g, N, work);
  long k;
  for (k = 0; k < 200000 && status == 0; k++) {  /* gradient descent with a backtracking step */
    double step = 1.0, norm = 0.0;
    int i;
    for (i = 0; i < N; i++) norm += g[i] * g[i];
    if (norm < 1e-20) break;
    do {
      step *= 0.5;
      for (i = 0; i < N; i++) y[i] = x[i] - step * g[i];
      status = rosen(y, &next, h, N, work);
    } while (status == 0 && !(next <= value - 0.3 * step * norm) && step > 1e-18);
    for (i = 0; i < N; i++) { x[i] = y[i]; g[i] = h[i]; }
    value = next;
  }
  printf("%d %.3e %.6f %.6f\n", (int)status, value, x[0], x[N - 1]);
  status = rosen(x, &value, g, 0, work);
  printf("%s\n", rosen_error(status));
  free(work);
  return 0;
}
"""
ROOT = r"""
#include <stdio.h>
#include "root.h"

int main(void) {
  double a = 2.0, value, slope;
  int k;
  for (k = 0; k < 100; k++)
    if (root(&a, &value, &slope) != 0) return 1;
  printf("%.12f %.12f\n", value, slope);
  return 0;
}
"""
LOGISTIC = r"""
#include <stdio.h>
#include <stdlib.h>
#include "logistic.h"

enum { N = 40 };

int main(void) {
  double x[N * 3], labels[N], w[3] = {0.0, 0.0, 0.0}, g[3], value;
  void *work = malloc((size_t)logistic_workspace(N));
  int i, k;
  if (!work) return 1;
  for (i = 0; i < N; i++) {  /* two clouds that overlap */
    x[3 * i] = 1.0;
    x[3 * i + 1] = (i * 7 % 11) / 5.0 - 1.0;
    x[3 * i + 2] = (i * 5 % 13) / 6.0 - 1.0;
    labels[i] = x[3 * i + 1] + 0.5 * x[3 * i + 2] + (i % 5 - 2) * 0.4 > 0.2;
  }
  for (k = 0; k < 2000; k++) {
    int32_t status = logistic(w, x, labels, &value, g, N, work);
    if (status != 0) {
      puts(logistic_error(status));
      return 1;
    }
    for (i = 0; i < 3; i++) w[i] -= 1.0 * g[i];
  }
  printf("%.9f %.9f %.9f %.9f\n", value, w[0], w[1], w[2]);
  free(work);
  return 0;
}
"""


def rosenbrock(x):
    return tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def root(a):
    x = a
    while tf.abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
    return x


def logistic(w, x, labels):
    z = tf.reduce_sum(x * w, axis=1)
    return tf.reduce_mean(tf.softplus(z) - labels * z) + 0.01 * tf.reduce_sum(w * w)


EXPORTED = {"rosen": (rosenbrock, ["f64[n]"]), "root": (root, ["f64"])}
EXPORTED["logistic"] = (logistic, ["f64[3]", "f64[n,3]", "f64[n]"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("c")
    for name, (f, specs) in EXPORTED.items():
        level = "x86-64-v2" if cpu.host().arch == "x86_64" else "host"  # valgrind knows no later one
        art = tf.export(f, specs, name=name, targets=[level], wrt=0)
        for path in (f"lib{name}.so", f"{name}.o", f"{name}.h"):
            art.write(made / path)
    (made / "descent.c").write_text(DESCENT)
    (made / "newton.c").write_text(ROOT)
    (made / "regression.c").write_text(LOGISTIC)
    return made


def run(*command: str, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@pytest.mark.parametrize("link", [["-L.", "-lrosen", "-Wl,-rpath,."], ["rosen.o"]])
def test_a_c_program_minimises(folder: Path, link: list[str]) -> None:
    run("cc", *STRICT, "descent.c", *link, "-lm", "-o", "descent", folder=folder)
    minimum, error = run("./descent", folder=folder).splitlines()
    status, value, first, last = minimum.split()
    assert status == "0" and float(value) < 1e-15
    assert (first, last) == ("1.000000", "1.000000")
    assert error == "the sizes must be such that 1 <= n"


def test_a_loop_of_unknown_length_without_setting_up_memory(folder: Path) -> None:
    run("cc", *STRICT, "newton.c", "-L.", "-lroot", "-Wl,-rpath,.", "-o", "newton", folder=folder)
    assert run("./newton", folder=folder) == "1.414213562373 0.353553390593\n"


def test_a_regression_is_fitted(folder: Path) -> None:
    """The same steps as the program takes, by NumPy."""
    run("cc", *STRICT, "regression.c", "logistic.o", "-o", "regression", folder=folder)
    i, w = np.arange(40), np.zeros(3)
    x = np.stack([np.ones(40), i * 7 % 11 / 5.0 - 1.0, i * 5 % 13 / 6.0 - 1.0], 1)
    labels = x[:, 1] + 0.5 * x[:, 2] + (i % 5 - 2) * 0.4 > 0.2
    for _ in range(2000):
        z = x @ w
        value = np.mean(np.logaddexp(0, z) - labels * z) + 0.01 * w @ w
        w = w - (x.T @ (1 / (1 + np.exp(-z)) - labels) / 40 + 0.02 * w)
    found = [float(number) for number in run("./regression", folder=folder).split()]
    np.testing.assert_allclose(found, [value, *w], atol=2e-9)


@pytest.mark.parametrize("name", EXPORTED)
def test_headers_are_c_and_cpp(folder: Path, name: str) -> None:
    run("cc", *STRICT, "-fsyntax-only", "-x", "c", f"{name}.h", folder=folder)
    if shutil.which("c++"):
        strict = ["-std=c++11", *STRICT[1:]]
        run("c++", *strict, "-fsyntax-only", "-x", "c++", f"{name}.h", folder=folder)


@pytest.mark.parametrize("name", EXPORTED)
def test_libraries_need_nothing_and_are_small(folder: Path, name: str) -> None:
    assert (folder / f"lib{name}.so").stat().st_size < 64 * 1024
    if shutil.which("readelf"):
        text = run("readelf", "-W", "--dyn-syms", "-d", f"lib{name}.so", folder=folder)
        assert "NEEDED" not in text
        names = [line for line in text.splitlines() if " UND " in line and line.split()[-1] != "UND"]
        assert not names, names


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind")
def test_no_error_and_no_leak(folder: Path) -> None:
    run("cc", *STRICT, "newton.c", "root.o", "-o", "static", folder=folder)
    strict = ("--error-exitcode=1", "--leak-check=full", "--errors-for-leak-kinds=all", "-q")
    assert run("valgrind", *strict, "./static", folder=folder) == "1.414213562373 0.353553390593\n"
    run("cc", *STRICT, "regression.c", "-L.", "-llogistic", "-Wl,-rpath,.", "-o", "shared", folder=folder)
    run("valgrind", *strict, "./shared", folder=folder)
