"""Gradients of tables of which rows were read: Tensors that keep to these rows."""

from __future__ import annotations

import copy
import tracemalloc

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.errors import ShapeError
from tracejit.frontend.state.variable import alone

LARGE = (1 << 18, 64)  # 64 MiB in float32


def table(rows=6, columns=2):
    return tf.Variable(np.random.default_rng(0).normal(size=(rows, columns)))


def loss_of(v, *reads):
    return sum(tf.reduce_sum(tf.gather(v, ids) ** 3) for ids in reads)


def gradient(v, *reads):
    with tf.GradientTape() as tape:
        loss = loss_of(v, *reads)
    return tape.gradient(loss, v)


def expected(v, *reads):
    """The dense gradient of `loss_of`."""
    g, x = np.zeros(v.shape), v.numpy()
    for ids in reads:
        np.add.at(g, ids, 3 * x[ids] ** 2)
    return g


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


READS = {
    "one": ([1],),
    "repeated": ([1, 1, 4],),
    "from the end": ([-1, 5, 0],),
    "several times": ([1, 2], [2, 3], [-6]),
    "of rank 2": ([[1, 2], [2, 5]],),
    "a single row": (3,),
    "none": (np.zeros(0, int),),
}


@pytest.mark.parametrize("reads", READS.values(), ids=READS)
def test_rows_of_a_variable(run, reads):
    v = table()

    def program():
        g = gradient(v, *reads)
        assert isinstance(g, tf.IndexedSlices) and isinstance(g, tf.Tensor)
        assert g.shape == g.dense_shape == v.shape and g.dtype == v.dtype
        return g, g.values, g.indices, g + 1.0

    g, values, indices, more = run(program)()
    np.testing.assert_array_equal(g.numpy(), expected(v, *reads))
    np.testing.assert_array_equal(more.numpy(), expected(v, *reads) + 1)
    whole = np.zeros(v.shape)
    np.add.at(whole, indices.numpy(), values.numpy())
    np.testing.assert_array_equal(whole, g.numpy())


def test_it_stays_so_when_a_small_program_comes_again():
    v = table()
    for _ in range(6):
        g = gradient(v, [0, 3])
        assert isinstance(g, tf.IndexedSlices)
        np.testing.assert_array_equal(g.numpy(), expected(v, [0, 3]))


def test_everything_else_is_a_plain_tensor(run):
    v, w = table(), table()

    def program(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            targets = (
                tf.reduce_sum(tf.gather(v, [1])) + tf.reduce_sum(v),
                tf.reduce_sum(tf.gather(v, [1], axis=1)),
                tf.reduce_sum(v[1:3]),
                tf.reduce_sum(tf.gather(v * 2.0, [1])),
            )
            of_a_tensor = tf.reduce_sum(tf.gather(x, [1]))
            others = tf.reduce_sum(tf.gather(v, [1])) * tf.reduce_sum(w)
        found = [tape.gradient(y, v) for y in targets]
        found += [tape.gradient(of_a_tensor, x), tape.gradient(others, [v, w])[1]]
        assert [type(g) for g in found] == [tf.Tensor] * 6
        return found

    for g in run(program)(tf.constant(np.ones((3, 2)))):
        assert g.numpy().any()


def test_none_zeros_and_nests():
    v, w = table(), table()
    with tf.GradientTape(persistent=True) as tape:
        loss = loss_of(v, [2])
    found = tape.gradient(loss, {"v": v, "w": [w, v]})
    assert found["w"][0] is None and isinstance(found["w"][1], tf.IndexedSlices)
    assert tape.gradient(loss, w, unconnected_gradients="zero").numpy().tolist() == np.zeros((6, 2)).tolist()
    assert type(tape.gradient(loss, v, output_gradients=2.0)) is tf.IndexedSlices
    np.testing.assert_array_equal(tape.gradient(loss, v, output_gradients=2.0).numpy(), 2 * expected(v, [2]))


@pytest.mark.parametrize("compiled", [False, True])
def test_second_and_third_derivatives(compiled):
    v, ids = table(), [1, 1, 4]

    def program():
        with tf.GradientTape() as t3:
            with tf.GradientTape() as t2:
                with tf.GradientTape() as t1:
                    loss = loss_of(v, ids)
                first = t1.gradient(loss, v)
                y = tf.reduce_sum(first * first)
            second = t2.gradient(y, v)
        return first, second, t3.gradient(second, v)

    first, second, third = (tf.function(program) if compiled else program)()
    x, n = v.numpy(), np.array([0, 2, 0, 0, 1, 0])[:, None]  # first = 3 n x**2, y = 9 n**2 x**4
    np.testing.assert_allclose(first.numpy(), 3 * n * x**2, rtol=1e-14)
    np.testing.assert_allclose(second.numpy(), 36 * n**2 * x**3, rtol=1e-14)
    np.testing.assert_allclose(third.numpy(), 108 * n**2 * x**2, rtol=1e-14)


def test_derivatives_by_way_of_the_rows(run):
    v = table()

    def program():
        with tf.GradientTape() as t2:
            with tf.GradientTape() as t1:
                loss = loss_of(v, [1, 4])
            rows = t1.gradient(loss, v).values
        return t2.gradient(rows, v)

    np.testing.assert_allclose(run(program)()[4].numpy(), 6 * v.numpy()[4], rtol=1e-15)


def test_what_is_made_eagerly_and_watched_afterwards():
    g = gradient(table(), [1, 4])
    with tf.GradientTape() as tape:
        tape.watch(g)
        y = tf.reduce_sum(g * g)
    np.testing.assert_array_equal(tape.gradient(y, g).numpy(), 2 * g.numpy())
    doubled = tf.function(lambda g: g + g)(g)
    np.testing.assert_array_equal(doubled.numpy(), 2 * g.numpy())


def test_in_branches_and_loops_of_a_compiled_function():
    v, dense = table(), table()

    @tf.function
    def steps(n, ids):
        g = tf.zeros_like(v)
        for _ in range(n):
            g = gradient(v, ids)
            if tf.reduce_sum(g) > 0.0:
                v.assign_sub(0.1 * g)
            else:
                v.assign_add(g * 0.1)
        return g

    g = steps(tf.constant(3), tf.constant([1, 1, 4]))
    for _ in range(3):
        last = expected(dense, [1, 1, 4])
        dense.assign_sub(0.1 * last * (1 if last.sum() > 0 else -1))
    np.testing.assert_allclose(v.numpy(), dense.numpy(), rtol=1e-13)
    np.testing.assert_allclose(g.numpy(), last, rtol=1e-13)


def test_arithmetic_keeps_to_the_rows():
    v = table()
    g, whole = gradient(v, [1, 1]), expected(v, [1, 1])
    rate = tf.constant(0.25, tf.float64)
    for made, value in (
        (g * 2, whole * 2),
        (0.5 * g, whole * 0.5),
        (rate * g, whole * 0.25),
        (g / 4.0, whole / 4),
        (-g, -whole),
    ):
        assert type(made) is tf.IndexedSlices
        np.testing.assert_array_equal(made.numpy(), value)
    for made, value in (
        (g * g, whole**2),
        (g * whole, whole**2),
        (g - 1.0, whole - 1),
        (1.0 / (g + 1.0), 1 / (whole + 1)),
        (tf.abs(g), abs(whole)),
        (g * 1j, whole * 1j),
        (tf.square(g), whole**2),
    ):
        assert type(made) is tf.Tensor
        np.testing.assert_array_equal(made.numpy(), value)


def test_protocols_of_tensors():
    g = gradient(table(), [1, 4])
    whole = g.numpy()
    assert np.asarray(g).tolist() == whole.tolist() and g[4].numpy().tolist() == whole[4].tolist()
    assert len(g) == 6 and [r.numpy().tolist() for r in g] == whole.tolist()
    assert np.sum(g) == whole.sum() and tf.norm(g).item() == pytest.approx(np.linalg.norm(whole))
    assert copy.deepcopy(g).numpy().tolist() == whole.tolist()
    assert tf.convert_to_tensor(g).numpy().tolist() == whole.tolist()
    assert tf.clip_by_norm(g, 1e-3).shape == (6, 2)


def test_printing():
    g = tf.IndexedSlices([[1.0, 2.0]], [3], (5, 2))
    assert str(g) == "IndexedSlices(values=[[1. 2.]], indices=[3], dense_shape=(5, 2))"
    assert repr(g).startswith("<tf.IndexedSlices: values=<tf.Tensor: shape=(1, 2)")
    assert g.numpy().tolist() == [[0, 0]] * 3 + [[1, 2], [0, 0]]


@pytest.mark.parametrize(
    ("values", "indices", "shape"),
    [
        ([[1.0, 2.0]], [0], (5, 3)),
        ([[1.0, 2.0]], [0, 1], (5, 2)),
        ([[1.0, 2.0]], [[0]], (5, 2)),
        ([[1.0, 2.0]], [0.0], (5, 2)),
        ([[1.0, 2.0]], [0], (5,)),
    ],
)
def test_what_does_not_fit(values, indices, shape):
    with pytest.raises(ShapeError, match="test_indexed_slices"):
        tf.IndexedSlices(values, indices, shape)


# ---- steps ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "momentum", "clipped", "decay"]
)
def test_optimizers_step_as_with_the_whole_gradient(run, method):
    options = {"momentum": {"momentum": 0.9}, "clipped": {"clipnorm": 0.5}, "decay": {"weight_decay": 0.1}}
    kind = getattr(tf.optimizers, method, tf.optimizers.SGD)
    by_rows, as_a_whole = table(), table()
    first, second = (kind(0.1, **options.get(method, {})) for _ in range(2))

    @run
    def step(ids):
        for v, optimizer, form in ((by_rows, first, lambda g: g), (as_a_whole, second, lambda g: g + 0.0)):
            optimizer.apply_gradients([(form(gradient(v, ids)), v)])

    for ids in ([1, 1, 4], [0, 5, 5], [4, 4, 4]):
        step(tf.constant(ids))
    np.testing.assert_allclose(by_rows.numpy(), as_a_whole.numpy(), rtol=1e-14, atol=1e-16)
    assert not np.array_equal(by_rows.numpy(), table().numpy())


def peak(f):
    tracemalloc.start()
    try:
        f()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_step_on_a_large_table_makes_nothing_of_its_size(by_hand):
    v = tf.Variable(np.zeros(LARGE, np.float32))
    optimizer = tf.optimizers.SGD(0.5)
    ids = tf.constant([3, 70_000, 3])

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.embedding_lookup(v, ids))
        g = tape.gradient(loss, v)
        if by_hand:
            v.assign_sub(0.5 * g)
        else:
            optimizer.apply_gradients([(g, v)])

    step()
    assert peak(step) < 1 << 20
    assert v.numpy()[[3, 70_000, 5], 0].tolist() == [-2.0, -1.0, 0.0]


def test_values_taken_before_a_step_stay_as_they_were():
    v = tf.Variable(np.zeros((4, 2)))
    g = tf.IndexedSlices([[1.0, 1.0]], [2], (4, 2))
    g = tf.IndexedSlices(tf.cast(g.values, tf.float64), g.indices, (4, 2))
    v.assign_sub(g)
    assert alone(v)
    held = (v.read_value(), v.numpy(), np.asarray(v), tf.identity(v), copy.copy(v), tf.transpose(v))
    before = [np.array(h) for h in held]
    v.assign_sub(g)
    assert all(np.array_equal(a, b) for a, b in zip(map(np.asarray, held), before, strict=True))
    assert v.numpy()[2, 0] == -2.0
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v * v)
        v.assign_sub(g)
    assert tape.gradient(y, v).numpy()[2].tolist() == [-4.0, -4.0]
    assert v.numpy()[2, 0] == -3.0


def test_an_array_given_is_never_written_to():
    mine = np.zeros((4, 2))
    v = tf.Variable(tf.asarray(mine, copy=False))
    v.assign_sub(tf.IndexedSlices(np.ones((1, 2)), [2], (4, 2)))
    assert not mine.any() and v.numpy()[2].tolist() == [-1.0, -1.0]


def test_parts_of_it_assigned_in_a_compiled_function():
    v = table()

    @tf.function
    def program():
        g = gradient(v, [1, 4])
        g[0] = 1.0
        g[1] += 1.0
        return g

    whole = expected(v, [1, 4])
    whole[0] = 1.0
    whole[1] += 1.0
    np.testing.assert_array_equal(program().numpy(), whole)
    assert isinstance(gradient(v, [1]), tf.IndexedSlices)


def test_as_argument_of_a_custom_gradient_and_a_checkpoint():
    g = gradient(table(), [1, 4])

    @tf.custom_gradient
    def twice(x):
        return 2.0 * x, lambda dy: 2.0 * dy

    for f in (twice, tf.checkpoint(lambda x: 2.0 * x)):
        with tf.GradientTape() as tape:
            tape.watch(g)
            y = f(g)
        np.testing.assert_array_equal(y.numpy(), 2 * g.numpy())
        np.testing.assert_array_equal(tape.gradient(y, g).numpy(), np.full((6, 2), 2.0))


def test_a_number_of_reads_known_only_at_run_time():
    v = table()

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int64)])
    def step(ids):
        g = gradient(v, ids)
        v.assign_sub(0.5 * g)
        return g

    for ids in (np.array([[1, 2], [1, 1]]), np.zeros((0, 3), np.int64)):
        before = tf.Variable(v.numpy())
        whole = expected(before, ids)
        np.testing.assert_array_equal(step(ids).numpy(), whole)
        np.testing.assert_allclose(v.numpy(), before.numpy() - 0.5 * whole, rtol=1e-14)
    assert step.experimental_get_tracing_count() == 1


def test_the_shape_of_the_whole_may_be_a_tensor():
    rows = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1]), tf.constant([3, 2]))
    assert rows.shape == (3, 2) and rows.numpy().tolist() == [[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]


def test_a_table_in_parts():
    parts = [tf.Variable([[1.0, 2.0], [3.0, 4.0]]), tf.Variable([[5.0, 6.0]])]
    ids = [2, 0, 2]

    def loss():
        return tf.reduce_sum(tf.nn.embedding_lookup(parts, ids) ** 2)

    for f in (loss, tf.function(loss)):
        with tf.GradientTape() as tape:
            y = f()
        first, second = tape.gradient(y, parts)
        assert first.numpy().tolist() == [[2.0, 4.0], [0.0, 0.0]] and second.numpy().tolist() == [[20.0, 24.0]]
    assert tf.nn.embedding_lookup(parts[:1], [1]).numpy().tolist() == [[3.0, 4.0]]
    short = tf.nn.embedding_lookup([parts[0].read_value()], [1, 0], max_norm=1.0)
    assert short.shape == (2, 2) and tf.norm(short, axis=1).numpy().tolist() == pytest.approx([1.0, 1.0])
