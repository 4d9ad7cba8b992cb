"""Why a gradient is None, zero or NaN: for every cause its name and the user's file and line."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

import tracejit as tf


def marked(case, mark: str = "# here") -> int:
    """The line of a case's source that ends with the mark."""
    lines, first = inspect.getsourcelines(case)
    (found,) = [first + i for i, text in enumerate(lines) if text.rstrip().endswith(mark)]
    return found


def unwatched_constant():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = x * x  # here
    return tape, y, x, "not watched"


def untrainable_variable():
    x = tf.Variable(3.0, trainable=False)
    with tf.GradientTape() as tape:
        y = x * x  # here
    return tape, y, x, "not watched"


def variables_not_watched_on_access():
    x = tf.Variable(3.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        y = x * x  # here
    return tape, y, x, "not watched"


def replaced_variable():
    x = tf.Variable(2.0, name="x")
    for epoch in range(2):
        with tf.GradientTape() as tape:
            y = x + 1
        if epoch == 0:
            assert tape.gradient(y, x) is not None
            x = x + 1  # here
    return tape, y, x, "replaced"


def computed_in_numpy():
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        x2 = x**2
        y = np.mean(x2, axis=0)  # here
        y = tf.reduce_mean(y, axis=0)
    return tape, y, x, "numpy"


def python_float_in_between():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        number = float(x * 3.0)  # here
        y = tf.constant(number) * 2.0
    return tape, y, x, "numpy"


def numpy_array_of_a_variable():
    x = tf.Variable([2.0, 3.0])
    with tf.GradientTape() as tape:
        array = x.numpy()  # here
        y = tf.reduce_sum(array * 2.0)
    return tape, y, x, "numpy"


def integer_in_between():
    x = tf.Variable(2.6)
    with tf.GradientTape() as tape:
        k = tf.cast(x, tf.int32)  # here
        y = tf.cast(k, tf.float32) * 2.0
    return tape, y, x, "integer"


def comparison_in_between():
    x = tf.Variable(2.6)
    with tf.GradientTape() as tape:
        positive = x > 0.0  # here
        y = tf.cast(positive, tf.float32)
    return tape, y, x, "integer"


def assigned_state():
    x = tf.Variable(3.0)
    total = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        total.assign_add(x)  # here
        y = total**2
    return tape, y, x, "state"


def stopped():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        z = x * 2.0
        y = tf.stop_gradient(z) * 3.0  # here
    return tape, y, x, "stop_gradient"


def done_while_paused():
    x, z = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():  # here
            square = z**2
        y = y + square
    return tape, y, z, "stop_recording"


def after_a_reset():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * x
        tape.reset()  # here
        y = y * 2.0
    return tape, y, x, "reset"


def watched_before_a_reset():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        tape.reset()  # here
        y = x * 2.0
    return tape, y, x, "reset"


def flat_function():
    x = tf.Variable(2.6)
    with tf.GradientTape() as tape:
        y = tf.round(x * 2.0) + 1.0  # here
    return tape, y, x, "not differentiable"


def flat_function_inside_a_compiled_one():
    @tf.function
    def f(a, b):
        steps = tf.floor(a)  # here
        return steps * b

    x, z = tf.Variable(2.6), tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = f(x, z)
    return tape, y, x, "not differentiable"


def computed_before():
    x = tf.Variable(2.0)
    square = x.read_value() * x.read_value()
    with tf.GradientTape() as tape:
        y = square * 2.0  # here
    return tape, y, x, "before the tape"


def never_connected():
    x, z = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = z * z  # here
    return tape, y, x, "not connected"


CASES = [
    unwatched_constant,
    untrainable_variable,
    variables_not_watched_on_access,
    replaced_variable,
    computed_in_numpy,
    python_float_in_between,
    numpy_array_of_a_variable,
    integer_in_between,
    comparison_in_between,
    assigned_state,
    stopped,
    done_while_paused,
    after_a_reset,
    watched_before_a_reset,
    flat_function,
    flat_function_inside_a_compiled_one,
    computed_before,
    never_connected,
]


@pytest.mark.parametrize("asked", ["before", "after"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_causes(case, asked):
    tape, y, x, cause = case()
    if asked == "after":
        assert tape.gradient(y, x) is None
    found = tape.explain(y, x)
    assert (found.cause, found.file, found.line) == (cause, __file__, marked(case))
    text = str(found)
    assert f"{__file__}:{found.line}" in text and found.remedy in text
    if asked == "before":
        assert tape.gradient(y, x) is None


@pytest.mark.parametrize("times", range(5))
def test_a_tape_that_recurs_is_explained_too(times):
    """From its third time on, a tape is differentiated another way."""
    x, z = tf.Variable(2.0), tf.Variable(3.0)
    for _ in range(times + 1):
        with tf.GradientTape() as tape:
            y = x * tf.stop_gradient(z)
        gx, gz = tape.gradient(y, [x, z])
    assert gx is not None and gz is None
    assert tape.explain(y, z).cause == "stop_gradient"


def test_integers_at_the_ends():
    k = tf.constant(10)
    with tf.GradientTape() as tape, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tape.watch(k)
        y = k * k
    assert tape.gradient(y, k) is None
    assert tape.explain(y, k).cause == "integer"
    x = tf.Variable(1.5)
    with tf.GradientTape() as tape:
        y = tf.cast(x, tf.int32)
    found = tape.explain(y, x)
    assert found.cause == "integer" and "the target" in found.text and found.line is not None


def test_the_nearest_value_that_is_connected():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        near = tf.sin(x)
        y = tf.floor(near)
    found = tape.explain(y, x)
    assert found.nearest.startswith("the result of sin at") and found.nearest in str(found)


def test_what_is_connected():
    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
    assert tape.explain(y, x).cause == "connected"


def test_what_was_given_whole():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x) is not None
    found = tape.explain(y, x)
    assert found.cause == "connected" and "neither None nor zero" in found.text


def lost_to_numpy():
    x = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        z = tf.sin(x)
        mean = np.mean(z)  # here
        y = tf.reduce_sum(x) * mean
    return tape, y, x


def lost_to_a_number():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        z = tf.sin(x)
        number = float(z)  # here
        y = x * number
    return tape, y, x


def lost_to_a_number_known_before():
    x = tf.Variable(2.0)
    assert float(x * 2.0) == 4.0
    with tf.GradientTape() as tape:
        z = tf.identity(x)
        y = x * float(z)  # here
    return tape, y, x


def lost_to_scipy():
    norm = pytest.importorskip("scipy.linalg").norm
    x = tf.Variable([3.0, 4.0])
    with tf.GradientTape() as tape:
        z = tf.sin(x)
        y = tf.reduce_sum(x) * norm(z)  # here
    return tape, y, x


def lost_to_a_variable():
    x, v = tf.Variable(2.0), tf.Variable(0.0)
    with tf.GradientTape() as tape:
        z = tf.sin(x)
        v.assign(z)  # here
        y = x * v
    return tape, y, x


def lost_to_a_part_of_a_variable():
    x, v = tf.Variable(2.0), tf.Variable([0.0, 1.0])
    with tf.GradientTape() as tape:
        z = tf.sin(x)
        v[0] = z  # here
        y = x * tf.reduce_sum(v)
    return tape, y, x


def lost_in_a_compiled_function():
    @tf.function
    def f(x):
        z = tf.sin(x)
        return x * float(z)  # here

    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = f(x) + x
    return tape, y, x


LOST = [
    lost_to_numpy,
    lost_to_a_number,
    lost_to_a_number_known_before,
    lost_to_scipy,
    lost_to_a_variable,
    lost_to_a_part_of_a_variable,
    lost_in_a_compiled_function,
]


@pytest.mark.parametrize("asked", ["before", "after"])
@pytest.mark.parametrize("case", LOST, ids=lambda c: c.__name__)
def test_a_part_is_lost(case, asked):
    tape, y, x = case()
    if asked == "after":
        assert np.asarray(tape.gradient(y, x)).any()
    found = tape.explain(y, x)
    assert (found.cause, found.file, found.line) == ("partly lost", __file__, marked(case)), found
    assert "a part is lost" in found.text and found.remedy in str(found)
    if "compiled" not in case.__name__ and "identity" not in inspect.getsource(case):
        assert found.nearest.startswith("the result of sin at")


def test_what_was_only_looked_at_is_no_loss():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        z = tf.sin(x)
        assert float(tf.stop_gradient(z)) < 1.0 and z > 0.0 and int(z) == 0
        y = x * z
    assert tape.explain(y, x).cause == "connected"


def test_large_values_are_given_away_and_it_says_so():
    x = tf.Variable(np.full(10_000, -1.0))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.nn.relu(x))  # here
    assert not tape.gradient(y, x).numpy().any()
    found = tape.explain(y, x)
    assert found.cause == "zero" and "persistent" in found.text
    assert found.line == marked(test_large_values_are_given_away_and_it_says_so)


def test_rows_that_come_to_nothing():
    table = tf.Variable(np.ones((5, 2)))
    with tf.GradientTape() as tape:
        rows = tf.gather(table, [1, 3])
        y = tf.reduce_sum(rows * 0.0)  # here
    assert not np.asarray(tape.gradient(y, table)).any()
    found = tape.explain(y, table)
    assert (found.cause, found.line) == ("zero", marked(test_rows_that_come_to_nothing))


def test_zero():
    x = tf.Variable([-1.0, -2.0])
    with tf.GradientTape(persistent=True) as tape:
        z = tf.nn.relu(x)  # here
        y = tf.reduce_sum(z * 3.0)
    assert not tape.gradient(y, x).numpy().any()
    found = tape.explain(y, x)
    assert found.cause == "zero" and found.line == marked(test_zero) and "relu" in found.text


def test_nan():
    x = tf.Variable([4.0, -1.0])
    with tf.GradientTape(persistent=True) as tape:
        root = tf.sqrt(x)  # here
        y = tf.reduce_sum(tf.where(x > 0.0, root, 0.0))
    assert np.isnan(tape.gradient(y, x).numpy()).any()
    found = tape.explain(y, x)
    assert found.cause == "nan" and found.line == marked(test_nan) and "tracejit.where" in found.remedy


def test_a_warning_may_say_it(monkeypatch):
    monkeypatch.setattr(tf.config, "explain_none", True)
    x, z = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * 2.0
    with pytest.warns(UserWarning, match="does not depend on") as caught:
        gx, gz = tape.gradient(y, [x, z])
    assert gx is not None and gz is None
    assert len(caught) == 1 and caught[0].filename == __file__


def test_a_number_as_the_source_is_said_to_be_followed_by_no_tape(monkeypatch):
    monkeypatch.setattr(tf.config, "explain_none", True)
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * 3.0
    with pytest.warns(UserWarning, match="of the type float, which no tape follows") as caught:
        g, nothing = tape.gradient(y, [x, 3.0])
    assert g == 3.0 and nothing is None
    assert len(caught) == 1 and caught[0].filename == __file__


def test_the_same_while_tracing():
    found = []

    @tf.function
    def f(x, z):
        with tf.GradientTape() as tape:
            tape.watch([x, z])
            y = x * tf.stop_gradient(z)
        assert tape.gradient(y, z) is None
        found.append(tape.explain(y, z))
        return y

    f(tf.constant(1.0), tf.constant(2.0))
    assert [e.cause for e in found] == ["stop_gradient"] and found[0].file == __file__


def test_what_cannot_be_asked():
    with tf.GradientTape() as tape:
        y = tf.constant(1.0)
    with pytest.raises(TypeError, match="tensors and Variables, got float"):
        tape.explain(y, 1.0)


def test_nothing_is_kept_alive():
    x = tf.constant(np.ones(1000))
    with tf.GradientTape() as tape:
        y = x * 2.0
    size = [s for s in tape._history.steps if any(isinstance(v, tf.Tensor) for v in s)]
    assert size == [] and tape.gradient(y, x) is None
