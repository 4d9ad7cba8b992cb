"""What programs say to the conversion of control flow."""

import pytest

import tracejit as tf


def absolute(x):
    if x > 0:
        return x
    return -x


def test_the_converted_text_of_a_function_and_of_a_compiled_one():
    text = tf.autograph.to_code(absolute)
    assert text.startswith("def absolute(x):")
    assert "if x > 0" not in text
    assert tf.autograph.to_code(tf.function(absolute)) == text


def test_what_is_no_python_function_has_no_text():
    with pytest.raises(TypeError, match="shows Python functions, not int"):
        tf.autograph.to_code(3)


def test_a_function_left_as_it_is_asks_for_the_value():
    kept = tf.autograph.experimental.do_not_convert(absolute)
    assert kept.__name__ == "absolute"
    assert float(kept(tf.constant(-2.0))) == 2.0
    assert float(tf.function(lambda x: absolute(x))(tf.constant(-2.0))) == 2.0
    with pytest.raises(TypeError, match="has no value while"):
        tf.function(lambda x: kept(x))(tf.constant(-2.0))


def test_a_method_left_as_it_is():
    class Model:
        k = 3.0

        @tf.autograph.experimental.do_not_convert
        def scaled(self, x):
            return x * self.k

        @tf.function
        def __call__(self, x):
            return self.scaled(x)

    assert float(Model()(tf.constant(2.0))) == 6.0
    assert float(Model().scaled(tf.constant(2.0))) == 6.0


def test_loop_options_are_hints():
    @tf.function
    def f(n):
        total = tf.constant(0)
        for i in tf.range(n):
            tf.autograph.experimental.set_loop_options(parallel_iterations=1)
            total += i
        return total

    assert int(f(tf.constant(5))) == 10
    with pytest.raises(NotImplementedError, match="condition of the loop"):
        tf.autograph.experimental.set_loop_options(maximum_iterations=3)


def test_functions_as_graphs_are_traced():
    def halved(x):
        while x > 1.0:
            x = x / 2.0
        return x

    converted = tf.autograph.to_graph(halved)
    assert float(converted(tf.constant(5.0))) == 0.625
    assert float(tf.function(converted)(tf.constant(5.0))) == 0.625
    assert float(tf.autograph.to_graph(tf.function(halved))(tf.constant(5.0))) == 0.625
    with pytest.raises(TypeError, match="to_graph takes functions, not int"):
        tf.autograph.to_graph(3)
