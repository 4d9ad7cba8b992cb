"""Programs in other languages call exported functions: compiled without a warning, run, and right."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from tracejit.aot import Artifact

X = np.arange(12.0).reshape(4, 3) / 7.0
W = np.array([0.5, -1.0, 2.0])
Y = np.array([1.0, 0.0, 2.0, -1.0])


def fit(x, w, y):
    return tf.reduce_mean((tf.reduce_sum(x * w, axis=1) - y) ** 2)


def mixed(scale, z, on, small, count):
    """Every kind of number; rows that overlap, so that a size is one of another."""
    kept = tf.where(on, tf.abs(z) * scale, -1.0)
    return {
        "total": tf.reduce_sum(kept),
        "turned": z * tf.complex(0.0 * scale, scale),
        "above": kept > 1.0,
        "pairs": small[1:] + small[:-1],
        "next": count + 1,
    }


def words(match, type, integer, value):
    """Names that languages have taken, or take for others."""
    return tf.reduce_sum(match * type) + integer * value


WORDS = ["f64[in]", "f64[in]", "f64", "f64"]


@pytest.fixture(scope="module")
def fitted() -> Artifact:
    return tf.export(fit, ["f64[n,3]", "f64[3]", "f64[n]"], name="fit", wrt=["w", "x"])


@pytest.fixture(scope="module")
def mixture() -> Artifact:
    specs = ["f64", "c128[n]", "bool[n]", "f32[m]", "i32"]
    return tf.export(mixed, specs, name="mixed", outputs=["value"])


@pytest.fixture(scope="module")
def word() -> Artifact:
    return tf.export(words, WORDS, name="type")


def built(command: list[str], folder: Path, text: str, file: str) -> None:
    """Compile a program, which must bring no warning, and whose compiler there must be."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}")
    (folder / file).write_text(text)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr.strip(), done.stderr


def lines(program: str, folder: Path) -> list[str]:
    done = subprocess.run(
        [f"./{program}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"LD_LIBRARY_PATH": "."},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def numbers(line: str) -> list[float]:
    return [float(n) for n in re.findall(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?", line)]


def write(artifact: Artifact, folder: Path, *ends: str) -> None:
    for end in ends:
        name = f"lib{artifact.name}.so" if end == ".so" else f"{artifact.name}{end}"
        artifact.write(folder / name)


# ---- Rust -----------------------------------------------------------------------------------------------

RUSTC = ["rustc", "--edition=2021", "-D", "warnings", "-L", "."]
RUST_FIT = """
mod fit;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let x: Vec<f64> = (0..12).map(|k| k as f64 / 7.0).collect();
    let (w, y) = ([0.5, -1.0, 2.0], [1.0, 0.0, 2.0, -1.0]);
    let found = fit::fit(&x, &w, &y, 4)?;
    println!("{}", found.value);
    println!("{:?}", found.gw);
    println!("{:?}", found.gx);
    let (mut value, mut gw, mut gx) = (0.0, [0.0; 3], [0.0; 12]);
    WORK
    println!("{}", value == found.value && gw[..] == found.gw[..] && gx[..] == found.gx[..]);
    println!("{}", fit::fit(&x, &w, &y, 3).unwrap_err());
    println!("{:?}", fit::fit(&x, &w[..2], &y, 4));
    println!("{}", fit::fit(&[], &w, &[], 0).is_ok());
    println!("{}", fit::Error::Status(1 << 20));
    Ok(())
}
"""
RUST_MIXED = """
mod mixed;

fn main() {
    let z = [[3.0, 4.0], [0.0, 0.5], [1.0, 0.0]];
    let found = mixed::mixed(2.0, &z, &[true, true, false], &[1.0, 2.0, 4.0, 8.0], 41, 3, 4).unwrap();
    println!("{} {} {:?}", found.value_total, found.value_next, found.value_pairs);
    println!("{:?} {:?}", found.value_above, found.value_turned);
    println!("{}", mixed::mixed(2.0, &z, &[true, true, false], &[], 41, 3, 0).unwrap_err());
}
"""
RUST_WORDS = """
mod type_;

fn main() {
    let found = type_::type_(&[1.0, 2.0], &[3.0, 4.0], 5.0, 6.0, 2).unwrap();
    println!("{:?}", found);
}
"""


def check_fit(found: list[str], artifact: Artifact) -> None:
    value, gw, gx = artifact(X, W, Y)
    np.testing.assert_allclose(numbers(found[0]), [value], rtol=1e-14)
    np.testing.assert_allclose(numbers(found[1]), gw, rtol=1e-12)
    np.testing.assert_allclose(numbers(found[2]), gx.ravel(), rtol=1e-12)


@pytest.mark.parametrize("edition", ["2015", "2021", "2024"])
def test_rust_calls_and_is_safe(fitted: Artifact, tmp_path: Path, edition: str) -> None:
    write(fitted, tmp_path, ".so", ".rs")
    text = RUST_FIT.replace(
        "WORK",
        "let mut work = vec![0; fit::workspace(4)];\n"
        "    fit::fit_into(&x, &w, &y, &mut value, &mut gw, &mut gx, 4, &mut work)?;"
        if "fit_workspace" in fitted.header()
        else "fit::fit_into(&x, &w, &y, &mut value, &mut gw, &mut gx, 4)?;",
    )
    built([RUSTC[0], f"--edition={edition}", *RUSTC[2:], "main.rs", "-l", "fit"], tmp_path, text, "main.rs")
    found = lines("main", tmp_path)
    check_fit(found, fitted)
    assert found[3:5] == ["true", "x has 12 elements where 9 are needed"]
    assert found[5] == 'Err(Length("w", 2, 3))'
    assert found[7] == "unknown status"


def test_rust_has_all_kinds_of_numbers(mixture: Artifact, tmp_path: Path) -> None:
    write(mixture, tmp_path, ".so", ".rs")
    built([*RUSTC, "main.rs", "-l", "mixed"], tmp_path, RUST_MIXED, "main.rs")
    assert lines("main", tmp_path) == [
        "10 42 [3.0, 6.0, 12.0]",
        "[true, false, false] [[-8.0, 6.0], [-1.0, 0.0], [0.0, 2.0]]",
        "the sizes must be such that 1 <= m",
    ]


def test_rust_of_numbers_alone_and_of_nothing(tmp_path: Path) -> None:
    """Without arrays, without arguments, with an array that is not a result: no warning, in any edition."""
    made = {
        "number": tf.export(lambda x: x * 2.0, ["f64"], name="number", outputs="value"),
        "fixed": tf.export(lambda: tf.constant([1.0, 2.0]), [], name="fixed", outputs="value"),
        "first": tf.export(lambda x: x[0], ["f64[n]"], name="first", outputs="value"),
    }
    for art in made.values():
        write(art, tmp_path, ".so", ".rs")
    text = (
        "mod number;\nmod fixed;\nmod first;\n\nfn main() {\n"
        '    println!("{:?}", number::number(1.5).unwrap());\n'
        '    println!("{:?}", fixed::fixed().unwrap());\n'
        '    println!("{:?}", first::first(&[3.0, 4.0], 2).unwrap());\n}\n'
    )
    for edition in ("2015", "2021"):
        command = [RUSTC[0], f"--edition={edition}", *RUSTC[2:], "main.rs"]
        built([*command, *(part for name in made for part in ("-l", name))], tmp_path, text, "main.rs")
    assert lines("main", tmp_path) == [
        "Results { value: 3.0 }",
        "Results { value: [1.0, 2.0] }",
        "Results { value: 3.0 }",
    ]


def test_words_of_rust_are_no_names(word: Artifact, tmp_path: Path) -> None:
    write(word, tmp_path, ".so")
    (tmp_path / "type_.rs").write_text(word.bindings("rust"))
    built([*RUSTC, "main.rs", "-l", "type"], tmp_path, RUST_WORDS, "main.rs")
    (found,) = lines("main", tmp_path)
    wanted = word(np.array([1.0, 2.0]), np.array([3.0, 4.0]), 5.0, 6.0)
    np.testing.assert_array_equal(numbers(found), np.concatenate([np.ravel(y) for y in wanted]))


# ---- Fortran --------------------------------------------------------------------------------------------

GFORTRAN = ["gfortran", "-std=f2003", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fcheck=all", "-g"]
FORTRAN_FIT = """
program main
  use, intrinsic :: iso_c_binding
  use fit_module
  implicit none
  real(c_double) :: x(3, 4), w(3), y(4), value, gw(3), gx(3, 4), other(3, 2, 4)
  integer :: status, k
  x = reshape([(k / 7.0_c_double, k = 0, 11)], [3, 4])
  w = [0.5_c_double, -1.0_c_double, 2.0_c_double]
  y = [1.0_c_double, 0.0_c_double, 2.0_c_double, -1.0_c_double]
  call fit(x, w, y, value, gw, gx, status)
  if (status /= 0) stop 1
  print *, value
  print *, gw
  print *, gx
  other = 0
  other(:, 2, :) = x
  gw = 0
  call fit(other(:, 2, :), w, y, value, gw, other(:, 1, :), status)
  print *, status, maxval(abs(other(:, 1, :) - gx))
  call fit(x, w(1:2), y, value, gw, gx, status)
  print "(a)", fit_error(status)
  call fit(x, w, y(1:3), value, gw, gx, status)
  print "(a)", fit_error(status)
  print "(a)", fit_error(12345)
end program
"""
FORTRAN_MIXED = """
program main
  use, intrinsic :: iso_c_binding
  use mixed_module
  implicit none
  complex(c_double_complex) :: z(3), turned(3)
  integer(c_int8_t) :: on(3), above(3)
  real(c_float) :: pairs(3)
  real(c_double) :: total
  integer(c_int32_t) :: next
  integer :: status
  z = [(3.0_c_double, 4.0_c_double), (0.0_c_double, 0.5_c_double), (1.0_c_double, 0.0_c_double)]
  on = [1_c_int8_t, 1_c_int8_t, 0_c_int8_t]
  call mixed(2.0_c_double, z, on, [1.0, 2.0, 4.0, 8.0], 41_c_int32_t, above, next, pairs, total, turned, status)
  print "(i2,f6.1,i4,3f6.1,3i2)", status, total, next, pairs, above
  print "(6f6.1)", turned
end program
"""
FORTRAN_WORDS = """
program main
  use, intrinsic :: iso_c_binding
  use type_module
  implicit none
  real(c_double) :: found, one(2), two(2), three, four
  integer :: status
  call type([1.0_c_double, 2.0_c_double], [3.0_c_double, 4.0_c_double], 5.0_c_double, 6.0_c_double, &
      found, one, two, three, four, status)
  print *, found, one, two, three, four
end program
"""


def test_fortran_calls_with_its_order_of_axes(fitted: Artifact, tmp_path: Path) -> None:
    write(fitted, tmp_path, ".so", ".f90")
    built([*GFORTRAN, "fit.f90", "main.f90", "-L.", "-lfit", "-o", "main"], tmp_path, FORTRAN_FIT, "main.f90")
    text = "\n".join(lines("main", tmp_path))
    value, gw, gx = fitted(X, W, Y)
    found = numbers(text.split("the shape")[0])
    np.testing.assert_allclose(found[:16], [value, *gw, *gx.ravel()], rtol=1e-12)
    assert found[16:] == [0.0, 0.0]
    assert text.endswith("the shape is not that of w(3)\nthe shape is not that of y(n)\nunknown status")
    assert "x[n, 3] in C is x(3, n) here" in fitted.bindings("fortran")


def test_fortran_has_all_kinds_of_numbers(mixture: Artifact, tmp_path: Path) -> None:
    write(mixture, tmp_path, ".so", ".f90")
    command = [*GFORTRAN, "mixed.f90", "main.f90", "-L.", "-lmixed", "-o", "main"]
    built(command, tmp_path, FORTRAN_MIXED, "main.f90")
    found = [numbers(line) for line in lines("main", tmp_path)]
    assert found == [[0, 10, 42, 3, 6, 12, 1, 0, 0], [-8, 6, -1, 0, 0, 2]]


def test_words_of_fortran_are_names_as_any(word: Artifact, tmp_path: Path) -> None:
    write(word, tmp_path, ".so", ".f90")
    command = [*GFORTRAN, "type.f90", "main.f90", "-L.", "-ltype", "-o", "main"]
    built(command, tmp_path, FORTRAN_WORDS, "main.f90")
    wanted = word(np.array([1.0, 2.0]), np.array([3.0, 4.0]), 5.0, 6.0)
    found = numbers(" ".join(lines("main", tmp_path)))
    np.testing.assert_array_equal(found, np.concatenate([np.ravel(y) for y in wanted]))


# ---- C++ ------------------------------------------------------------------------------------------------

CPP_FIT = r"""
#include <iostream>
#include <vector>
#include "fit.h"

int main() {
  std::vector<double> x, w{0.5, -1.0, 2.0}, y{1.0, 0.0, 2.0, -1.0}, gw(3), gx(12);
  for (int k = 0; k < 12; ++k) x.push_back(k / 7.0);
  double value = 0.0;
  WORK
  if (status != 0) return 1;
  std::cout.precision(17);
  std::cout << value << "\n";
  for (double g : gw) std::cout << g << " ";
  std::cout << "\n";
  for (double g : gx) std::cout << g << " ";
  std::cout << "\n";
}
"""


def test_cpp_calls(fitted: Artifact, tmp_path: Path) -> None:
    write(fitted, tmp_path, ".so", ".h")
    call = "int32_t status = fit(x.data(), w.data(), y.data(), &value, gw.data(), gx.data(), 4"
    work = "std::vector<char> work(static_cast<std::size_t>(fit_workspace(4)));\n  "
    text = f"{work}{call}, work.data());" if "fit_workspace" in fitted.header() else f"{call});"
    strict = ["g++", "-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    command = [*strict, "main.cpp", "-L.", "-lfit", "-o", "main"]
    built(command, tmp_path, CPP_FIT.replace("WORK", text), "main.cpp")
    check_fit(lines("main", tmp_path), fitted)


# ---- ctypes ---------------------------------------------------------------------------------------------


def test_ctypes_calls(fitted: Artifact, tmp_path: Path) -> None:
    write(fitted, tmp_path, ".so")
    found = ctypes.CDLL(str(tmp_path / "libfit.so"))
    outputs = [np.empty(()), np.empty(3), np.empty((4, 3))]
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (X, W, Y, *outputs)]
    work = np.empty(1 << 16, np.uint8)
    assert found.fit(*pointers, ctypes.c_int64(4), ctypes.c_void_p(work.ctypes.data)) == 0
    for a, b in zip(outputs, fitted(X, W, Y), strict=True):
        np.testing.assert_array_equal(a, b)


# ---- Julia, which is read, not run ----------------------------------------------------------------------


def test_julia_text(fitted: Artifact, mixture: Artifact, word: Artifact, tmp_path: Path) -> None:
    write(fitted, tmp_path, ".jl")
    text = (tmp_path / "fit.jl").read_text()
    assert text == fitted.bindings("julia")
    assert "function fit(\n    x::Array{Float64,2},\n    w::Array{Float64,1},\n" in text
    assert "    n = size(x, 2)\n" in text and "size(x) == (3, n) ||" in text
    types = re.search(r"Int32,\n\s+\((.*),\),\n", text)
    given = re.search(r"\n\s+(x, w, .*),\n    \)", text)
    assert types and given and types[1].count(",") == given[1].count(",")
    assert "value_pairs = Array{Float32}(undef, (m-1,))" in mixture.bindings("julia")
    assert "function type_(\n    match::Array{Float64,1},\n    type__::Array{Float64,1}" in word.bindings(
        "julia"
    )


@pytest.mark.parametrize("other", ["cobol", ""])
def test_languages_that_there_are_not(fitted: Artifact, other: Any) -> None:
    with pytest.raises(ValueError, match=r"there are bindings for .*'rust'"):
        fitted.bindings(other)
