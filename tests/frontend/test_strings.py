"""Strings as tensors: held, printed, compared, handed on by compiled functions; and what refuses them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tracejit as tf


def test_they_print_as_the_book_prints():
    assert str(tf.constant("abc")) == "tf.Tensor(b'abc', shape=(), dtype=string)"
    assert repr(tf.constant("é")) == "<tf.Tensor: shape=(), dtype=string, numpy=b'\\xc3\\xa9'>"
    assert str(tf.constant(["a", "b"])) == "tf.Tensor([b'a' b'b'], shape=(2,), dtype=string)"
    assert tf.constant("a").dtype == tf.string and tf.constant("abc").numpy() == b"abc"
    assert tf.constant(np.array([["x", "yz"]])).shape == (1, 2)


def test_they_compare():
    x = tf.constant(["a", "b"])
    assert (x == "a").numpy().tolist() == [True, False]
    assert (x != tf.constant(["a", "c"])).numpy().tolist() == [False, True]
    assert bool(tf.constant("a") == "a") and (x == 3) is False
    for mode in (lambda f: f, tf.function):
        equal, unequal = mode(lambda x: (tf.equal(x, "a"), tf.not_equal(x, x[0])))(x)
        assert equal.numpy().tolist() == [True, False] and unequal.numpy().tolist() == [False, True]
        assert mode(lambda x: tf.vectorized_map(lambda y: tf.equal(y, "b"), x))(x).numpy().tolist() == [
            False,
            True,
        ]
        assert mode(lambda x: tf.vectorized_map(lambda y: y + "1", x))(x).numpy().tolist() == [b"a1", b"b1"]
        with pytest.raises(tf.errors.FailedAssertion):
            mode(lambda x: tf.debugging.assert_equal(x, "a"))(x)


def test_watching_one_warns_and_its_gradient_is_none():
    x = tf.constant("abc")
    with tf.GradientTape() as tape:
        with pytest.warns(UserWarning, match="must be floating .*, got tf.string"):
            tape.watch(x)
        y = tf.strings.length(x)
    assert int(y) == 3 and tape.gradient(y, x) is None
    assert tape.explain(y, x).cause == "integer"


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + 1.0,
        lambda x: tf.constant(2.0) * x,
        lambda x: tf.sin(x),
        lambda x: tf.reduce_sum(x),
        lambda x: tf.add(1.0, "abc"),
    ],
)
def test_arithmetic_refuses_them(f):
    with pytest.raises(tf.DtypeError, match="not strings"):
        f(tf.constant("abc"))


def test_compiled_functions_hand_them_on():
    x = tf.constant("abc")
    for f, args in ((lambda z: z, (x,)), (lambda: x, ()), (lambda: tf.constant("abc"), ())):
        assert tf.function(f)(*args).numpy() == b"abc"
    assert float(tf.function(lambda a, mode: a * 2.0 if mode == "double" else a)(1.5, "double")) == 3.0


def test_mixtures_are_refused():
    with pytest.raises(tf.DtypeError, match="strings and other values"):
        tf.constant([1, "a"])
    with pytest.raises(tf.DtypeError, match="holds object"):
        tf.constant(object())
    with pytest.raises(tf.DtypeError, match="a Variable holds numbers"):
        tf.Variable("a")


def test_what_strings_can_do():
    s = tf.strings
    assert s.upper(["aé", "b"], encoding="utf-8").numpy().tolist() == ["AÉ".encode(), b"B"]
    assert s.lower("ABC").numpy() == b"abc" and s.strip(["  a "]).numpy()[0] == b"a"
    assert int(s.length("é")) == 2 and int(s.length("é", unit="UTF8_CHAR")) == 1
    assert s.join(["a", ["b", "c"]], separator="-").numpy().tolist() == [b"a-b", b"a-c"]
    assert s.join([["x", "y"]]).numpy().tolist() == [b"x", b"y"]
    assert s.as_string([1.5, 2.0], precision=1).numpy().tolist() == [b"1.5", b"2.0"]
    assert s.as_string([True, False]).numpy().tolist() == [b"true", b"false"]
    assert s.to_number(["1.5", "-2"]).numpy().tolist() == [1.5, -2.0]
    assert s.upper("aé").numpy() == "Aé".encode() and s.lower("ÀB").numpy() == "Àb".encode(), "ASCII alone"
    with pytest.raises(ValueError, match="abc"):
        s.to_number("abc")
    with pytest.raises(tf.DtypeError, match="takes strings, got float32"):
        s.lower(1.0)
    with pytest.raises(ValueError, match="UTF8_CHAR"):
        s.length("a", unit="WORD")


def test_strings_cut_up_joined_and_matched():
    s = tf.strings
    assert s.split("a b  c").numpy().tolist() == [b"a", b"b", b"c"]
    assert s.split("1,2,,3", sep=",").numpy().tolist() == [b"1", b"2", b"", b"3"]
    assert s.to_number(s.split("1 10 100", " ")).numpy().tolist() == [1.0, 10.0, 100.0]
    assert s.bytes_split("é!").numpy().tolist() == [b"\xc3", b"\xa9", b"!"]
    assert s.unicode_split("é!", "UTF-8").numpy().tolist() == ["é".encode(), b"!"]
    assert s.unicode_decode("é!", "UTF-8").numpy().tolist() == [233, 33]
    assert s.unicode_encode([[233, 33]], "UTF-8").numpy().tolist() == ["é!".encode()]
    assert s.substr(["hello", "world"], [1, -2], [3, 9]).numpy().tolist() == [b"ell", b"ld"]
    assert s.substr("éa!", 1, 1, unit="UTF8_CHAR").numpy() == b"a"
    assert s.reduce_join([["a", "b"], ["c", "d"]], separator="-").numpy() == b"a-b-c-d"
    assert s.reduce_join([["a", "b"], ["c", "d"]], axis=0, keepdims=True).numpy().tolist() == [[b"ac", b"bd"]]
    joined = [s.reduce_join([["a", "b"], ["c", "d"]], axis=axes).numpy() for axes in ([0, 1], [1, 0], None)]
    assert joined == [b"acbd", b"abcd", b"abcd"]
    assert s.regex_replace("hello", "l(.)", r"<\1>").numpy() == b"he<l>o"
    assert s.regex_replace("aaa", "a", "b", replace_global=False).numpy() == b"baa"
    assert s.regex_replace("a.b", r"\.", r"<\0\\>").numpy() == rb"a<.\>b"
    assert s.regex_full_match(["ab", "abc"], "a.").numpy().tolist() == [True, False]
    assert s.format("{} and {}", (tf.constant([1, 2]), tf.constant(0.5))).numpy() == b"[1 2] and 0.5"
    assert tf.as_string(3).numpy() == b"3"
    with pytest.raises(tf.ShapeError, match="split takes one string"):
        s.split(["a b", "c"])
    with pytest.raises(ValueError, match="b'x' is no int32"):
        s.to_number("x", tf.int32)
    with pytest.raises(ValueError, match="at least one"):
        s.join([])
    with pytest.raises(IndexError, match="position 3 is outside"):
        s.substr("ab", 3, 1)
    with pytest.raises(ValueError, match="2 places for 1 tensors"):
        s.format("{} {}", tf.constant(1))


def test_compiled_functions_compute_with_them_in_each_call(capsys):
    traces = []

    @tf.function
    def f(x, name):
        traces.append(name)
        label = tf.strings.join([tf.constant("<"), tf.strings.upper(name), ">"])
        tf.print(label, x, ["a", tf.constant("b")], [name], tf.constant(["c{}", "d"]), output_stream="stdout")
        return x * tf.cast(tf.strings.length(name), tf.float32)

    found = [float(f(x, tf.constant(name))) for name in ("ab", "abc", "ab") for x in (1.0, 2.0)]
    assert found == [2.0, 4.0, 3.0, 6.0, 2.0, 4.0]
    assert len(traces) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == '<AB> 1 [\'a\', "b"] ["ab"] ["c{}" "d"]' and lines[2].startswith("<ABC> 1")
    tf.print(tf.constant([["a"], ["é"]]), tf.constant("alone"), output_stream="stdout")
    assert capsys.readouterr().out == '[["a"]\n ["é"]] alone\n'
    with pytest.raises(tf.DtypeError, match="numbers and bools, not strings"):
        tf.function(lambda s: tf.less(s, "abc"))(tf.constant("abc"))


def longest(names, w):
    found, tag = names[0], tf.constant("")
    total, parts = w * 0.0, tf.TensorArray(tf.string, size=3)
    for i in tf.range(3):
        if tf.strings.length(names[i]) > tf.strings.length(found):
            found = names[i]
        parts = parts.write(i, "<" + names[i])
        total = total + w * w * tf.cast(tf.strings.length(names[i]), tf.float32)
    while tag != "xxx":
        tag = tag + "x"
        total = total * w
    moved = tf.where(names == "é", tf.reverse(names, [0]), tf.concat([names[1:], [found]], 0))
    texts = [found, tag, parts.stack(), moved, tf.strings.reduce_join(names, separator=","), names[::2]]
    return total, [*texts, tf.strings.substr(names, 0, 1), tf.strings.format("{} {}", (w, names))]


def test_loops_branches_and_gradients_beside_them():
    f, w = tf.function(longest), tf.Variable(2.0)
    for words in (["a", "bbb", "cc"], ["é", "", "a" * 9]):
        results = []
        for g in (f, longest):
            with tf.GradientTape() as outer:
                with tf.GradientTape() as tape:
                    total, texts = g(tf.constant(words), w)
                first = tape.gradient(total, w)
            results.append([total, first, outer.gradient(first, w), *texts])
        for compiled, eager in zip(*results, strict=True):
            assert compiled.dtype == eager.dtype and str(compiled) == str(eager)
    assert f.experimental_get_tracing_count() == 1


def test_strings_as_arrays_through_signatures_threads_and_python():
    f = tf.function(lambda s: (s, tf.strings.length(s)), input_signature=[tf.TensorSpec([None], tf.string)])
    assert [y.numpy().tolist() for y in f([])] == [[], []]
    for _ in range(40):  # also where calls are made by tables
        text, lengths = f(np.array(["x", "yé"], object))
        assert text.numpy().tolist() == [b"x", "yé".encode()] and lengths.numpy().tolist() == [1, 3]
    assert f(np.array(["q"]))[0].numpy().tolist() == [b"q"]
    with ThreadPoolExecutor(4) as pool:
        words = [[str(i), str(i * i)] for i in range(50)]
        found = list(pool.map(lambda pair: f(tf.constant(pair))[0].numpy().tolist(), words))
    assert found == [[a.encode(), b.encode()] for a, b in words]
    inner = tf.function(lambda s: "<" + s)
    nested = tf.function(lambda s: tf.py_function(lambda t: inner(t + "!"), [s], tf.string) + s)
    assert nested(tf.constant(["a", "b"])).numpy().tolist() == [b"<a!a", b"<b!b"]


def test_parts_and_different_strings_of_compiled_functions_are_as_many_as_there_are():
    def f(line):
        words = tf.strings.split(line, " ")
        y, idx, count = tf.unique_with_counts(words)
        numbers = tf.unique(tf.strings.length(words))
        return words, y, idx, count, numbers, tf.strings.unicode_decode(line, "UTF-8"), y[count > 1]

    compiled = tf.function(f)
    for line in ("b a b ü a", "x", "", "to be or not to be"):
        for got, want in zip(*(tf.nest.flatten(g(tf.constant(line))) for g in (compiled, f)), strict=True):
            assert got.dtype == want.dtype and got.numpy().tolist() == want.numpy().tolist()


def test_zero_bytes_at_the_end_of_strings_stay():
    assert tf.constant([b"a\0", "b\0\0"]).numpy().tolist() == [b"a\0", b"b\0\0"]
    assert tf.function(lambda s: tf.strings.join([s, b"\0"]))(tf.constant(b"\0")).numpy() == b"\0\0"


def test_what_compiled_functions_do_not_know_of_strings_is_refused():
    for f, error, words in (
        (tf.ones_like, ValueError, "no string is 1"),
        (tf.strings.to_number, ValueError, "b'a b' is no float32\n  at .*test_strings.py"),
        (lambda s: s + 1.0, tf.DtypeError, "arithmetic takes numbers"),
        (lambda s: tf.sort(s[None]), tf.DtypeError, "takes numbers and bools, not strings"),
        (lambda s: f"{s}", tf.DtypeError, "strings are part of the trace"),
    ):
        with pytest.raises(error, match=words):
            tf.function(lambda s, f=f: f(s))(tf.constant("a b"))
