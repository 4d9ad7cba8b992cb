"""Whole files, text line by line, tables, checkpoints by name; Python functions as ops; logs that are not kept."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import tracejit as tf


def test_whole_files(tmp_path):
    path = tmp_path / "new" / "a.bin"
    tf.io.write_file(str(path), b"\x01\x00\x02\x00")
    assert tf.io.read_file(path).numpy() == b"\x01\x00\x02\x00"
    assert tf.io.decode_raw(tf.io.read_file(path), tf.int16).numpy().tolist() == [1, 2]
    assert tf.io.decode_raw(b"\x00\x01", "int16", little_endian=False).numpy().tolist() == [1]
    assert tf.io.matching_files(str(tmp_path / "*" / "*.bin")).numpy().tolist() == [str(path).encode()]
    assert tf.io.gfile.exists(path)
    with pytest.raises(TypeError, match="a file holds a string, got int"):
        tf.io.write_file(path, 3)
    with pytest.raises(FileNotFoundError):
        tf.io.read_file(tmp_path / "none")


def test_lines(tmp_path):
    first, second = tmp_path / "a.txt", tmp_path / "b.gz"
    first.write_bytes("eins\r\nzw\u00f6lf\n\nend".encode())
    lines = tf.data.TextLineDataset(str(first))
    expected = [b"eins", "zw\u00f6lf".encode(), b"", b"end"]
    assert [line.numpy() for line in lines] == expected == [line.numpy() for line in lines]
    with gzip.open(second, "wt") as file:
        file.write("zipped\n")
    assert [x.numpy() for x in tf.data.TextLineDataset([second], "GZIP")] == [b"zipped"]
    assert [len(batch) for batch in lines.batch(3)] == [3, 1]


def test_tables(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('x,name,n\n1.5,"a, b",3\n,c,NA\n')
    table = tf.data.experimental.CsvDataset
    rows = list(table(path, [0.0, tf.string, 7], header=True, na_value="NA"))
    assert [[part.numpy() for part in row] for row in rows] == [[1.5, b"a, b", 3], [0.0, b"c", 7]]
    assert rows[0][0].dtype == np.float32 and rows[0][2].dtype == np.int32
    chosen = table(str(path), [tf.string], header=True, select_cols=[1])
    assert [name.numpy() for (name,) in chosen] == [b"a, b", b"c"]
    for defaults, wrong in (
        ([tf.float32, "", 0], "t.csv:3, field 0 is empty, and has no default"),
        ([0.0, 0, 0], "field 1 is 'a, b', no int32"),
        ([0.0], "has 3 fields, there are defaults for 1"),
    ):
        with pytest.raises(ValueError, match=wrong):
            list(table(path, defaults, header=True, na_value="NA"))


def test_checkpoints_by_name(tmp_path):
    saved = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0]), n=tf.Variable(3)).write(str(tmp_path / "c"))
    reader = tf.train.load_checkpoint(saved)
    assert reader.get_variable_to_shape_map() == {"v": [2], "n": []}
    assert reader.get_variable_to_dtype_map()["n"] == np.int32 and reader.has_tensor("v")
    np.testing.assert_array_equal(reader.get_tensor("v/.ATTRIBUTES/VARIABLE_VALUE"), [1, 2])
    with pytest.raises(KeyError, match=r"the checkpoint holds no .*; it holds n, v"):
        reader.get_tensor("w")


def test_python_functions_as_ops():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.py_function(lambda x: x**2, [v], tf.float32)
    assert float(tape.gradient(y, v)) == 6.0
    assert tf.numpy_function(np.cumsum, [[1.0, 2.0]], tf.float64).dtype == np.float64

    @tf.py_function(Tout=[tf.int32, tf.float32])
    def both(x):
        return x, x

    assert [part.dtype for part in both(2.0)] == [np.int32, np.float32]
    with pytest.raises(ValueError, match="2 results were announced, there are 1"):
        tf.py_function(lambda: 1.0, [], [tf.int32, tf.int32])


def test_logs_are_not_kept_and_that_is_said(tmp_path):
    with pytest.warns(UserWarning, match=r"tracejit\.summary writes nothing"):
        writer = tf.summary.create_file_writer(str(tmp_path))
    with writer.as_default():
        assert tf.summary.scalar("loss", 1.0, step=1) is False
    for begin in (tf.profiler.experimental.start, tf.profiler.experimental.Profile):
        with pytest.warns(UserWarning, match=r"tracejit\.profiler writes nothing: tracejit\.profile") as told:
            begin(str(tmp_path))
        assert told[0].filename == __file__
    with tf.profiler.experimental.Trace("step", step_num=1):
        tf.profiler.experimental.stop()
    with pytest.raises(AttributeError, match=r"tracejit\.profiler\.experimental"):
        tf.profiler.experimental.client  # noqa: B018
    assert not list(tmp_path.iterdir())
