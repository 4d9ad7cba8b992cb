"""Batches that a program's class makes, windows of series, and pictures as arrays."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

U = tf.keras.utils


class Rows(U.PyDataset):
    def __init__(self, count=4, weighted=False):
        super().__init__(workers=2)
        self.count, self.weighted, self.told = count, weighted, []

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        self.told.append(index)
        x = np.full((2, 1), index, np.float32)
        return (x, 3.0 * x, np.ones(2, np.float32)) if self.weighted else (x, 3.0 * x)

    def on_epoch_begin(self):
        self.told.append("begin")

    def on_epoch_end(self):
        self.told.append("end")


@pytest.mark.parametrize("weighted", [False, True])
def test_a_network_learns_from_batches_by_number(weighted):
    data = Rows(weighted=weighted)
    model = tf.Sequential([tf.layers.Dense(1)])
    model.compile(tf.optimizers.SGD(0.05), "mse")
    history = model.fit(data, epochs=3, verbose=0, shuffle=False, validation_data=Rows()).history
    assert data.told == ["begin", 0, 1, 2, 3, "end"] * 3
    assert history["loss"][-1] < history["loss"][0] and len(history["val_loss"]) == 3
    assert model.predict(Rows(), verbose=0).shape == (8, 1)
    assert U.Sequence is U.PyDataset and data.num_batches == 4


def test_batches_come_in_another_order():
    tf.random.set_seed(1)
    data = Rows(20)
    model = tf.Sequential([tf.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(data, verbose=0)
    order = data.told[1:-1]
    assert sorted(order) == list(range(20)) and order != list(range(20))
    with pytest.raises(NotImplementedError, match="__len__"):
        len(U.PyDataset())
    with pytest.raises(ValueError, match="leave y and sample_weight out"):
        model.fit(data, np.ones(2))


def lists(dataset):
    return [[part.tolist() for part in batch] for batch in dataset.as_numpy_iterator()]


def test_windows_with_their_targets():
    series = np.arange(10)
    windows = U.timeseries_dataset_from_array(series[:-3], series[3:], sequence_length=3, batch_size=3)
    assert lists(windows) == [
        [[[0, 1, 2], [1, 2, 3], [2, 3, 4]], [3, 4, 5]],
        [[[3, 4, 5], [4, 5, 6]], [6, 7]],
    ]
    spread = U.timeseries_dataset_from_array(
        series, None, 3, sequence_stride=2, sampling_rate=3, start_index=1, batch_size=None
    )
    assert [x.numpy().tolist() for x in spread] == [[1, 4, 7], [3, 6, 9]]


def test_windows_in_another_order():
    series = np.arange(40)
    first, second = (
        U.timeseries_dataset_from_array(series, series, 2, shuffle=True, seed=4, batch_size=39)
        for _ in range(2)
    )
    ((x, y),) = first
    assert y.numpy().tolist() != list(range(39)) and sorted(y.numpy().tolist()) == list(range(39))
    np.testing.assert_array_equal(x[:, 0], y)
    np.testing.assert_array_equal(next(iter(second))[1], y)
    with pytest.raises(ValueError, match="of 2 steps no window of 3"):
        U.timeseries_dataset_from_array([1, 2], None, 3)


def test_pictures_become_arrays():
    grey = np.arange(6, dtype=np.uint8).reshape(2, 3)
    assert U.img_to_array(grey).shape == (2, 3, 1) and U.img_to_array(grey).dtype == np.float32
    assert U.img_to_array(grey, "channels_first").shape == (1, 2, 3)
    assert U.img_to_array(np.ones((2, 3, 4)), dtype="uint8").dtype == np.uint8
    with pytest.raises(tf.ShapeError, match="2 or 3 axes"):
        U.img_to_array(np.ones(3))
