"""Switches under the names of tutorials: assigned, read, refused when unknown."""

from __future__ import annotations

import pytest

import tracejit as tf


@pytest.fixture(autouse=True)
def process_settings():
    """Put the process's settings back afterwards."""
    yield
    tf.configure(eager=False, default_dtype="float32", dtype_promotion="numpy")


def test_settings_are_assigned_and_read():
    assert tf.config.dtype_promotion == "numpy"
    tf.config.dtype_promotion = "strict"
    assert tf.config.dtype_promotion == "strict"
    with pytest.raises(TypeError, match=r"mixed dtypes int32 and float32: write tracejit\.cast"):
        tf.constant([1]) * tf.constant([0.5])
    tf.config.dtype_promotion = "numpy"
    assert (tf.constant([1]) * tf.constant([0.5])).dtype == tf.float64


def test_wrong_names_and_values_are_refused():
    with pytest.raises(
        AttributeError, match="unknown setting 'dtype_promotions'; the settings are cache, check"
    ):
        tf.config.dtype_promotions = "strict"
    with pytest.raises(ValueError, match="'dtype_promotion' is one of"):
        tf.config.dtype_promotion = "loose"
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        tf.config.nonsense  # noqa: B018


def test_functions_can_run_eagerly():
    seen = []
    f = tf.function(lambda x: seen.append(1) or x)
    tf.config.run_functions_eagerly(True)
    assert tf.config.functions_run_eagerly()
    f(1.0), f(1.0)
    assert len(seen) == 2
    tf.config.run_functions_eagerly(False)
    assert not tf.config.functions_run_eagerly()


def test_devices():
    (device,) = tf.config.list_physical_devices()
    assert repr(device) == "PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')"
    assert tf.config.list_physical_devices("CPU") == [device]
    assert tf.config.list_logical_devices("CPU")[0].name == "/device:CPU:0"
    for listed in (tf.config, tf.config.experimental):
        assert listed.list_physical_devices("GPU") == listed.list_logical_devices("GPU") == []


def test_switches_of_other_libraries_are_accepted():
    tf.config.set_visible_devices([], "GPU")
    tf.config.experimental.set_memory_growth(tf.config.list_physical_devices("CPU")[0], True)
    tf.config.optimizer.set_jit(True)
    tf.config.experimental_run_functions_eagerly(True)
    assert tf.config.functions_run_eagerly()


def test_other_attributes_stay_plain():
    assert tf.config.explain_none is False
    tf.config.explain_none = True
    assert tf.config.explain_none is True
    tf.config.explain_none = False
