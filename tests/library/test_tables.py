"""Batches of named columns of text files."""

import numpy as np
import pytest

import tracejit as tf

make = tf.data.experimental.make_csv_dataset
TEXT = "n,x,name,big\n1,0.5,ann,5000000000\n2,1e300,,2\n3,2.5,bob,3\n"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a.csv").write_text(TEXT)
    return str(tmp_path / "a.csv")


def test_columns_have_the_narrowest_dtype_that_holds_them(path):
    (batch,) = make(path, 3, num_epochs=1, shuffle=False)
    assert {name: column.dtype for name, column in batch.items()} == {
        "n": np.int32, "x": np.float64, "name": object, "big": np.int64,
    }  # fmt: skip
    assert (
        batch["name"].numpy().tolist() == [b"ann", b"", b"bob"] and batch["big"].numpy()[0] == 5_000_000_000
    )


def test_labels_parts_and_epochs(path):
    table = make(path, 2, label_name="n", select_columns=["n", "x"], num_epochs=2, shuffle=False)
    batches = list(table)
    assert [label.numpy().tolist() for _, label in batches] == [[1, 2], [3, 1], [2, 3]]
    assert [list(columns) for columns, _ in batches] == [["x"]] * 3


def test_without_end_only_full_batches_in_changing_order(path):
    seen = [batch["n"].numpy().tolist() for batch in make(path, 2, shuffle_seed=1).take(30)]
    assert (
        {len(n) for n in seen} == {2}
        and {x for n in seen for x in n} == {1, 2, 3}
        and len(set(map(tuple, seen))) > 2
    )


def test_names_and_defaults_that_are_given(path, tmp_path):
    (tmp_path / "b.csv").write_text("7;\n;x\n")
    table = make(
        [str(tmp_path / "b.csv")],
        2,
        ["k", "s"],
        [4, "none"],
        header=False,
        field_delim=";",
        num_epochs=1,
        shuffle=False,
    )
    (batch,) = table
    assert batch["k"].numpy().tolist() == [7, 4] and batch["s"].numpy().tolist() == [b"none", b"x"]


def test_several_files_by_pattern(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("n\n1\n2\n")
    batches = make(str(tmp_path / "*.csv"), 4, num_epochs=1, shuffle=False)
    assert [b["n"].numpy().tolist() for b in batches] == [[1, 2, 1, 2]]


def test_refusals(path):
    with pytest.raises(ValueError, match="no column is called 'z'"):
        make(path, 1, label_name="z")
    with pytest.raises(ValueError, match="no column is called 'z'"):
        make(path, 1, select_columns=["z"])
    with pytest.raises(ValueError, match="ignore_errors"):
        make(path, 1, ignore_errors=True)
