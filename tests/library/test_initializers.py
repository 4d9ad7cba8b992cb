"""Initializers: distributions, fans, seeds, names, errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tracejit as tf

SHAPE = (200, 300)


def drawn(name, shape=SHAPE, dtype="float64", **kwargs):
    return getattr(tf.initializers, name)(**kwargs)(shape, dtype).numpy()


@pytest.mark.parametrize(
    ("name", "variance"),
    [
        ("GlorotUniform", 2 / 500),
        ("GlorotNormal", 2 / 500),
        ("HeUniform", 2 / 200),
        ("HeNormal", 2 / 200),
        ("LecunUniform", 1 / 200),
        ("LecunNormal", 1 / 200),
    ],
)
def test_variance_scaling(name, variance):
    values = drawn(name, seed=1)
    assert values.var() == pytest.approx(variance, rel=0.03)
    assert values.mean() == pytest.approx(0, abs=4 * math.sqrt(variance / values.size))
    limit = math.sqrt(3 * variance) if "Uniform" in name else 2 * math.sqrt(variance) / 0.87962566103423978
    assert 0.97 * limit < np.abs(values).max() <= limit


def test_plain_distributions():
    normal = drawn("RandomNormal", mean=1.0, stddev=2.0, seed=2)
    assert normal.mean() == pytest.approx(1.0, abs=0.05) and normal.std() == pytest.approx(2.0, rel=0.02)
    uniform = drawn("RandomUniform", minval=2.0, maxval=5.0, seed=2)
    assert uniform.min() >= 2.0 and uniform.max() < 5.0 and uniform.mean() == pytest.approx(3.5, abs=0.02)
    truncated = drawn("TruncatedNormal", mean=1.0, stddev=0.5, seed=2)
    assert np.abs(truncated - 1.0).max() <= 1.0 and truncated.std() == pytest.approx(0.44, abs=0.01)
    scaled = drawn("VarianceScaling", scale=3.0, mode="fan_out", distribution="untruncated_normal", seed=2)
    assert scaled.var() == pytest.approx(3 / 300, rel=0.03)


def test_fixed_values():
    assert drawn("Zeros", (2, 2)).tolist() == [[0, 0], [0, 0]]
    assert drawn("Ones", (2,)).tolist() == [1, 1]
    assert drawn("Constant", (2,), value=3.5).tolist() == [3.5, 3.5]
    assert drawn("Constant", (2, 2), value=[1.0, 2.0]).tolist() == [[1, 2], [1, 2]]
    assert drawn("Constant", (2, 2), value=[1.0, 2.0, 3.0, 4.0]).tolist() == [[1, 2], [3, 4]]
    assert drawn("Identity", (2, 3), gain=2.0).tolist() == [[2, 0, 0], [0, 2, 0]]


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (2, 3, 4)])
def test_orthogonal(shape):
    q = drawn("Orthogonal", shape, gain=2.0, seed=4).reshape(-1, shape[-1])
    gram = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
    np.testing.assert_allclose(gram, 4.0 * np.eye(min(q.shape)), atol=1e-12)


def test_seeds():
    assert np.array_equal(drawn("HeNormal", seed=3), drawn("HeNormal", seed=3))
    assert not np.array_equal(drawn("HeNormal", seed=3), drawn("HeNormal", seed=4))
    one = tf.initializers.GlorotUniform(seed=3)
    assert np.array_equal(one((3,)).numpy(), one((3,)).numpy())
    free = tf.initializers.GlorotUniform()
    assert not np.array_equal(free((3,)).numpy(), free((3,)).numpy())
    tf.random.set_seed(5)
    first = free((3,)).numpy()
    tf.random.set_seed(5)
    assert np.array_equal(first, free((3,)).numpy())


def test_dtypes_and_shapes():
    assert tf.initializers.HeNormal()((2,)).dtype == tf.float32
    assert tf.initializers.Ones()((2,), tf.int32).dtype == tf.int32
    assert tf.initializers.GlorotNormal()((0, 3)).shape == (0, 3)
    assert tf.initializers.TruncatedNormal()(()).shape == ()


def test_names():
    from tracejit.initializers import fans, get

    assert isinstance(get("he_normal"), tf.initializers.HeNormal)
    assert isinstance(get("HeNormal"), tf.initializers.he_normal)
    assert isinstance(get(tf.initializers.Zeros), tf.initializers.Zeros)
    own = lambda shape, dtype=None: tf.ones(shape, dtype)
    assert get(own) is own
    assert (
        fans((7,)) == (7, 7) and fans(()) == (1, 1) and fans((2, 3)) == (2, 3) and fans((5, 2, 3)) == (10, 15)
    )
    assert repr(tf.initializers.RandomNormal(seed=1)) == "RandomNormal(mean=0.0, stddev=0.05, seed=1)"


def test_errors():
    from tracejit.initializers import get

    with pytest.raises(
        ValueError, match="no initializer is called 'nonsense'; there are constant, eye, glorot_normal"
    ):
        get("nonsense")
    with pytest.raises(TypeError, match="a name or a callable, not int"):
        get(3)
    with pytest.raises(ValueError, match="scale is positive, got 0"):
        tf.initializers.VarianceScaling(0)
    with pytest.raises(ValueError, match="mode is one of"):
        tf.initializers.VarianceScaling(mode="fan")
    with pytest.raises(ValueError, match="rank 2 and more"):
        tf.initializers.Orthogonal()((3,))
    with pytest.raises(ValueError, match="makes matrices"):
        tf.initializers.Identity()((3,))


def test_inside_of_a_function():
    @tf.function
    def draw():
        return tf.initializers.GlorotUniform(seed=6)((2, 3)), tf.initializers.TruncatedNormal(seed=6)((4,))

    uniform, normal = draw()
    np.testing.assert_allclose(uniform.numpy(), drawn("GlorotUniform", (2, 3), "float32", seed=6), rtol=1e-6)
    np.testing.assert_allclose(normal.numpy(), drawn("TruncatedNormal", (4,), "float32", seed=6), rtol=1e-5)


def test_the_names_at_the_top_level():
    assert tf.zeros_initializer()((2,)).numpy().tolist() == [0.0, 0.0]
    assert tf.constant_initializer(3.0)((2,)).numpy().tolist() == [3.0, 3.0]
    assert tf.ones_initializer is tf.initializers.Ones
    assert tf.random_normal_initializer(stddev=0.1, seed=1)(shape=(2, 3)).shape == (2, 3)
    assert 0 <= float(tf.random_uniform_initializer(0, 1)(())) < 1


def test_labels_as_rows():
    rows = tf.keras.utils.to_categorical([[0], [2]])
    assert type(rows) is np.ndarray and rows.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    assert tf.keras.utils.to_categorical(tf.constant([1]), 2).numpy().tolist() == [[0.0, 1.0]]
    with pytest.raises(ValueError, match="say how many classes"):
        tf.keras.utils.to_categorical(tf.constant([1]))
    tf.keras.utils.set_random_seed(3)
    first = tf.random.normal((2,)).numpy().tolist()
    tf.keras.utils.set_random_seed(3)
    assert tf.random.normal((2,)).numpy().tolist() == first
