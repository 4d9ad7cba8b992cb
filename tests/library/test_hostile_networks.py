"""Files of networks from anywhere: reading one gives a network or an error of ours, and runs nothing that it names."""

from __future__ import annotations

import json
import random
import warnings

import numpy as np
import pytest

import tracejit as tf
from fuzz.hostile import changed_bytes, changed_json
from tracejit.models import NotDescribed, NotLoaded, load_model
from tracejit.train.checkpoint import store

L = tf.layers


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    x = tf.keras.Input((4, 6))
    whole, last = L.SimpleRNN(3, return_sequences=True, return_state=True)(x)
    y = L.Concatenate()([last * 2.0, whole[:, 0], L.LayerNormalization((1, 2))(whole)[:, -1]])
    model = tf.keras.Model(
        x, tf.Sequential([L.Dense(2, "relu", kernel_regularizer="l2"), L.Reshape((2, 1))])(y)
    )
    model.compile(tf.optimizers.Adam(tf.optimizers.schedules.ExponentialDecay(0.1, 3, 0.5)), "mse", ["mae"])
    data = np.ones((4, 4, 6), "float32")
    model.fit(data, np.ones((4, 2, 1), "float32"), verbose=0)
    path = tmp_path_factory.mktemp("good") / "m"
    model.save(path)
    return path.read_bytes()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(10))
def test_changed_files(image, tmp_path, seed):
    path, rng, refused = tmp_path / "m", random.Random(seed), 0
    for _ in range(15):
        path.write_bytes(image)
        if rng.random() < 0.2:
            path.write_bytes(changed_bytes(image, rng))
        else:  # whoever writes a file can write its checksum
            arrays, metadata = store.read(path)
            whole = json.loads(metadata["network"])
            for _ in range(rng.choice((1, 1, 3))):
                whole = changed_json(whole, rng)
            store.write(path, arrays, {**metadata, "network": json.dumps(whole)})
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = load_model(path)
            assert isinstance(model, tf.keras.Model)
        except (NotLoaded, NotDescribed, store.DamagedCheckpoint) as error:
            refused += str(path) in str(error)
    assert refused > 3


@pytest.mark.parametrize(
    "named",
    [
        {"module": "os", "class_name": "system", "config": {"command": "true"}},
        {"module": "builtins", "class_name": "function", "config": "eval"},
        {"module": "tracejit.io", "class_name": "function", "config": "write_file"},
        {"module": "tracejit.losses", "class_name": "function", "config": "get"},
        {"module": "tracejit.layers", "class_name": "np", "config": {}},
        {"module": None, "class_name": "__class__", "config": {}},
    ],
)
def test_nothing_else_is_named(image, tmp_path, named):
    (tmp_path / "m").write_bytes(image)
    arrays, metadata = store.read(tmp_path / "m")
    whole = json.loads(metadata["network"])
    whole["network"]["config"]["layers"][1] = named
    store.write(tmp_path / "m", arrays, {**metadata, "network": json.dumps(whole)})
    with pytest.raises(NotDescribed, match=r"no (class|function) is called"):
        load_model(tmp_path / "m")


def test_weights_are_no_larger_than_what_is_stored(tmp_path):
    tf.Sequential([L.Dense(3, input_shape=(2,))]).save(tmp_path / "m")
    arrays, metadata = store.read(tmp_path / "m")
    whole = json.loads(metadata["network"])
    whole["network"]["config"]["layers"][0]["config"]["units"] = 2**40
    store.write(tmp_path / "m", arrays, {**metadata, "network": json.dumps(whole)})
    with pytest.raises(NotDescribed, match="larger than all that is stored"):
        load_model(tmp_path / "m")
