"""Training over Dask arrays: the losses of one machine, on real processes, one of which is killed; and resumed."""

import os
import signal
import sys
import threading

import numpy as np
import pytest

import tracejit as tf

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
td = pytest.importorskip("tracejit.dask")
dask = pytest.importorskip("dask")


def problem():
    """A trainer, examples and labels, the same each time."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 6))
    y = np.tanh(x @ rng.normal(size=(6, 3)))
    w, b = tf.Variable(rng.normal(size=(6, 3)) * 0.1), tf.Variable(np.zeros(3))
    trainer = td.Trainer(
        lambda x, y: tf.reduce_mean((tf.tanh(x @ w + b) - y) ** 2), [w, b], tf.optimizers.Adam(0.05)
    )
    return trainer, da.from_array(x, chunks=(30, 6)), da.from_array(y, chunks=(30, 3))


def losses_of(epochs, **options):
    trainer, x, y = problem()
    history = trainer.fit(x, y, epochs=epochs, blocks_per_step=3, shuffle=True, verbose=0, **options)
    return np.array(history.history["loss"]), [v.numpy() for v in trainer.variables], history.epoch


@pytest.fixture
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.slow
def test_a_worker_is_killed_in_the_middle_and_losses_are_those_of_one_machine():
    epochs = 12
    with dask.config.set(scheduler="synchronous"):
        alone, weights, _ = losses_of(epochs)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        before = client.run(os.getpid)
        killer = threading.Timer(0.3, os.kill, (next(iter(before.values())), signal.SIGKILL))
        trainer, x, y = problem()
        step, killed = trainer.step, []

        def step_and_kill(*data):
            if not killed:
                killed.append(killer.start())
            return step(*data)

        trainer.step = step_and_kill
        history = trainer.fit(x, y, epochs=epochs, blocks_per_step=3, shuffle=True, verbose=0)
        killer.join()
        client.wait_for_workers(2)
        assert set(client.run(os.getpid).values()) != set(before.values())
        assert not any(client.run(lambda: "llvmlite" in sys.modules).values())
    assert np.max(np.abs(np.array(history.history["loss"]) - alone)) <= 1e-12
    for v, w in zip(trainer.variables, weights, strict=True):
        np.testing.assert_array_equal(v.numpy(), w)


def test_losses_are_those_of_a_loop_without_dask(in_this_thread):
    trainer, x, y = problem()
    history = trainer.fit(x, y, epochs=4, verbose=0)
    other, data, labels = problem()
    w, b = other.variables
    losses = []
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.tanh(data.compute() @ w + b) - labels.compute()) ** 2)
        other.optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b], strict=True))
        losses.append(float(loss))
    np.testing.assert_allclose(history.history["loss"], losses, rtol=1e-12)


def test_what_was_saved_goes_on_as_if_it_had_never_ended(in_this_thread, tmp_path):
    whole, weights, _ = losses_of(6)
    first, _, _ = losses_of(2, checkpoint=tmp_path)
    rest, again, epochs = losses_of(6, checkpoint=tmp_path)
    assert epochs == [2, 3, 4, 5]
    np.testing.assert_array_equal(np.concatenate([first, rest]), whole)
    for v, w in zip(weights, again, strict=True):
        np.testing.assert_array_equal(v, w)
    assert losses_of(6, checkpoint=tmp_path)[2] == []


def test_a_step_that_fails_leaves_everything_as_it_was(in_this_thread):
    trainer, x, y = problem()
    bad = da.map_blocks(lambda b: 1 / 0, x, dtype=x.dtype, meta=x._meta)
    before = [v.numpy() for v in trainer.variables]
    with pytest.raises(ZeroDivisionError):
        trainer.step(bad, y)
    for v, w in zip(trainer.variables, before, strict=True):
        np.testing.assert_array_equal(v.numpy(), w)


def test_networks_are_fitted_with_what_they_were_compiled_with(in_this_thread):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(64, 4)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int32)

    def made():
        tf.random.set_seed(1)
        model = tf.Sequential([tf.layers.Dense(8, activation="tanh"), tf.layers.Dense(2)])
        model.compile(tf.optimizers.SGD(0.1), tf.losses.SparseCategoricalCrossentropy(from_logits=True))
        model(x[:1])
        return model

    here, there = made(), made()
    there.set_weights(here.get_weights())
    expected = here.fit(x, y, batch_size=64, epochs=5, shuffle=False, verbose=0).history["loss"]
    got = td.fit(there, da.from_array(x, chunks=(10, 4)), da.from_array(y, chunks=10), epochs=5, verbose=0)
    np.testing.assert_allclose(got.history["loss"], expected, rtol=1e-5)
    assert there.history is got


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda t, x, y: t.fit(epochs=1), TypeError, "got nothing"),
        (lambda t, x, y: t.fit(np.ones(3)), TypeError, "ndarray"),
        (lambda t, x, y: t.fit(x, y.rechunk((20, 3))), tf.ShapeError, "rechunk"),
        (lambda t, x, y: t.fit(x, y, blocks_per_step=0), ValueError, "positive"),
        (lambda t, x, y: td.Trainer(lambda x: x, [], t.optimizer), ValueError, "no Variables"),
        (lambda t, x, y: td.fit(tf.Sequential([tf.layers.Dense(1)]), x, y), RuntimeError, "compile"),
    ],
)
def test_what_cannot_be_is_said(in_this_thread, call, error, text):
    with pytest.raises(error, match=text):
        call(*problem())


def test_layers_that_draw_or_assign_are_refused(in_this_thread):
    model = tf.Sequential([tf.layers.Dense(4), tf.layers.Dropout(0.5), tf.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = da.from_array(np.ones((4, 2), np.float32), chunks=(2, 2))
    with pytest.raises(tf.aot.NotExportable, match="random"):
        td.fit(model, x, x[:, :1], verbose=0)
