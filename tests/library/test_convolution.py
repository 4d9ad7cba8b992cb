"""Convolutions and pooling against sums written out, window by window; derivatives against differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tracejit as tf

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(2, 5, 6, 3))
W = RANDOM.normal(size=(3, 2, 3, 4))


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


def windows(x, size, stride, padding, fill, dilation=(1, 1)):
    """``(place of a window) -> (batch, height, width, channels) of what it sees``, and the shape of the result."""
    reach = [(k - 1) * d + 1 for k, d in zip(size, dilation, strict=True)]
    if padding == "SAME":
        count = [-(-n // s) for n, s in zip(x.shape[1:3], stride, strict=True)]
        missing = [
            max((c - 1) * s + r - n, 0) for c, s, r, n in zip(count, stride, reach, x.shape[1:3], strict=True)
        ]
        x = np.pad(x, [(0, 0), *((m // 2, m - m // 2) for m in missing), (0, 0)], constant_values=fill)
    count = [(n - r) // s + 1 for n, r, s in zip(x.shape[1:3], reach, stride, strict=True)]
    for i, j in itertools.product(*map(range, count)):
        top, left = i * stride[0], j * stride[1]
        yield (i, j), x[:, top : top + reach[0] : dilation[0], left : left + reach[1] : dilation[1]], count


def by_window(f, *args, outputs):
    found = None
    for (i, j), part, count in windows(*args):
        found = np.zeros((X.shape[0], *count, outputs)) if found is None else found
        found[:, i, j] = f(part)
    return found


SETTINGS = [(stride, padding) for stride in ((1, 1), (2, 2), (1, 3)) for padding in ("SAME", "VALID")]


@pytest.mark.parametrize(("stride", "padding"), SETTINGS)
def test_convolution(stride, padding, run):
    found = run(lambda x, w: tf.nn.conv2d(x, w, strides=stride, padding=padding))(
        tf.constant(X), tf.constant(W)
    )
    wanted = by_window(lambda p: np.einsum("bhwc,hwco->bo", p, W), X, (3, 2), stride, padding, 0, outputs=4)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)


def test_windows_that_see_places_apart(run):
    found = run(lambda x, w: tf.nn.conv2d(x, w, 1, "VALID", dilations=[1, 2, 3, 1]))(
        tf.constant(X), tf.constant(W)
    )
    wanted = by_window(
        lambda p: np.einsum("bhwc,hwco->bo", p, W), X, (3, 2), (1, 1), "VALID", 0, (2, 3), outputs=4
    )
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize(("stride", "padding"), SETTINGS)
def test_pooling(stride, padding, run):
    x = tf.constant(X)
    largest = run(lambda x: tf.nn.max_pool2d(x, [3, 2], stride, padding))(x)
    wanted = by_window(lambda p: p.max((1, 2)), X, (3, 2), stride, padding, -np.inf, outputs=3)
    np.testing.assert_array_equal(largest.numpy(), wanted)
    mean = run(lambda x: tf.nn.avg_pool2d(x, [3, 2], stride, padding))(x)
    wanted = by_window(lambda p: np.nanmean(p, (1, 2)), X, (3, 2), stride, padding, np.nan, outputs=3)
    np.testing.assert_allclose(mean.numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize(("stride", "padding"), SETTINGS)
def test_pooling_of_bodies_is_that_of_images_along_two_axes(stride, padding, run):
    x = tf.constant(np.stack([X, X + 1.0], 3))  # of which a window takes both
    whole = ([3, 2, 2], [*stride, 2], padding)
    largest = run(lambda x: tf.nn.max_pool3d(x, *whole))(x)
    np.testing.assert_array_equal(largest.numpy()[:, :, :, 0], tf.nn.max_pool2d(X + 1.0, [3, 2], stride, padding))
    mean = run(lambda x: tf.nn.avg_pool(x, *whole))(x)
    np.testing.assert_allclose(
        mean.numpy()[:, :, :, 0], tf.nn.avg_pool2d(X + 0.5, [3, 2], stride, padding).numpy(), rtol=1e-12
    )


def test_pooling_of_places_apart(run):
    found = run(lambda x: tf.nn.pool(x, [2, 3], "MAX", strides=[2, 1], dilations=[3, 2]))(tf.constant(X))
    wanted = by_window(lambda p: p.max((1, 2)), X, (2, 3), (2, 1), "VALID", -np.inf, (3, 2), outputs=3)
    np.testing.assert_array_equal(found.numpy(), wanted)
    found = run(lambda x: tf.nn.pool(x, [2, 3], "AVG", padding="SAME", dilations=[1, 2]))(tf.constant(X))
    wanted = by_window(lambda p: np.nanmean(p, (1, 2)), X, (2, 3), (1, 1), "SAME", np.nan, (1, 2), outputs=3)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)


def test_filters_of_each_channel(run):
    w = RANDOM.normal(size=(3, 2, 3, 2))
    found = run(lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "SAME"))(
        tf.constant(X), tf.constant(w)
    )
    wanted = by_window(
        lambda p: np.einsum("bhwc,hwco->bco", p, w).reshape(2, -1), X, (3, 2), (2, 2), "SAME", 0, outputs=6
    )
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)


def test_one_axis_and_channels_in_front(run):
    x, w = tf.constant(X[:, 0]), tf.constant(W[:, 0])
    found = run(lambda x, w: tf.nn.conv1d(x, w, 2, "SAME"))(x, w)
    wide = tf.nn.conv2d(x[:, :, None], w[:, None], [2, 1], "SAME")
    np.testing.assert_allclose(found.numpy(), wide.numpy()[:, :, 0], rtol=1e-12)
    np.testing.assert_array_equal(
        run(lambda x: tf.nn.max_pool1d(x, 2, 2, "VALID"))(x).numpy(), tf.nn.max_pool(x, 2, 2, "VALID").numpy()
    )
    turned = tf.constant(np.moveaxis(X, 3, 1))
    first = run(lambda x, w: tf.nn.conv2d(x, w, [1, 1, 2, 1], "VALID", data_format="NCHW"))(
        turned, tf.constant(W)
    )
    last = tf.nn.conv2d(X, W, [1, 2, 1, 1], "VALID")
    np.testing.assert_allclose(np.moveaxis(first.numpy(), 1, 3), last.numpy(), rtol=1e-12)
    pooled = tf.nn.avg_pool(turned, [1, 1, 2, 3], [1, 1, 2, 1], "SAME", data_format="NCHW")
    np.testing.assert_allclose(
        np.moveaxis(pooled.numpy(), 1, 3), tf.nn.avg_pool2d(X, (2, 3), (2, 1), "SAME").numpy(), rtol=1e-12
    )


NETS = {
    "convolution": lambda x, w: tf.nn.conv2d(x, w, 2, "SAME"),
    "explicit padding": lambda x, w: tf.nn.conv2d(x, w, 1, [[0, 0], [2, 0], [0, 1], [0, 0]]),
    "mean": lambda x, w: tf.nn.avg_pool2d(x, 2, 1, "SAME") * w[0, 0, :, 0],
    "maximum": lambda x, w: tf.nn.max_pool2d(x, 3, 2, "SAME") * w[0, 0, :, 0],
    "each channel": lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "VALID"),
    "spread maximum": lambda x, w: tf.nn.pool(x, [2, 3], "MAX", dilations=[2, 1]) * w[0, 0, :, 0],
    "spread mean": lambda x, w: tf.nn.pool(x, [2, 2], "AVG", dilations=2, strides=[1, 2]) * w[0, 0, :, 0],
    "bodies": lambda x, w: tf.nn.avg_pool3d(tf.nn.max_pool(x[..., None], 2, 1, "VALID"), 2, 2, "SAME") * w[0, 0, 0, 0],
    "enlarged bodies": lambda x, w: tf.nn.conv3d_transpose(
        x[:, :, :2, None], w[None, :, :, :2, :3], [2, 5, 4, 1, 2], [1, 2, 1]
    ),
}


@pytest.mark.parametrize("name", NETS)
def test_first_and_second_derivatives(name, run):
    def value(x, w):
        return tf.reduce_sum(tf.sin(NETS[name](x, w)))

    def both(x, w):
        with tf.GradientTape() as outer:
            outer.watch([x, w])
            with tf.GradientTape() as inner:
                inner.watch([x, w])
                total = value(x, w)
            first = inner.gradient(total, [x, w])
            size = tf.reduce_sum(tf.square(first[0])) + tf.reduce_sum(tf.square(first[1]))
        return first, size, outer.gradient(size, [x, w])

    x, w = tf.constant(X), tf.constant(W)
    first, _, second = run(both)(x, w)
    dx, dw = RANDOM.normal(size=X.shape), RANDOM.normal(size=W.shape)
    step = 1e-5
    ahead, behind = (both(tf.constant(X + s * dx), tf.constant(W + s * dw)) for s in (step, -step))
    slope = (value(X + step * dx, W + step * dw) - value(X - step * dx, W - step * dw)).numpy() / (2 * step)
    np.testing.assert_allclose(
        (first[0].numpy() * dx).sum() + (first[1].numpy() * dw).sum(), slope, rtol=1e-6
    )
    slope = (ahead[1] - behind[1]).numpy() / (2 * step)
    np.testing.assert_allclose(
        (second[0].numpy() * dx).sum() + (second[1].numpy() * dw).sum(), slope, rtol=1e-5
    )


def test_of_equal_elements_the_first_gets_the_gradient(run):
    gradient = run(tf.grad(lambda x: tf.reduce_sum(tf.nn.max_pool2d(x, 2, 2, "VALID"))))
    for image, first in (
        ([[1, 1], [1, 1]], 0),
        ([[0, 1], [1, 0]], 1),
        ([[0, 1], [1, 1]], 1),
        ([[0, 0], [1, 1]], 2),
    ):
        found = gradient(tf.constant(image, tf.float32)[None, :, :, None])
        assert found.numpy().ravel().tolist() == [float(i == first) for i in range(4)]


def test_batches_of_unknown_size_and_integers():
    f = tf.function(
        lambda x: tf.nn.max_pool2d(tf.nn.conv2d(x, W.astype(np.float32), 1, "SAME"), 2, 2, "VALID"),
        input_signature=[tf.TensorSpec([None, 5, 6, 3], tf.float32)],
    )
    for n in (1, 2):
        assert f(tf.ones((n, 5, 6, 3))).shape == (n, 2, 3, 4)
    assert f.experimental_get_tracing_count() == 1
    assert tf.nn.max_pool2d([[[[-3], [-2]], [[-7], [-9]]]], 2, 1, "SAME").numpy().ravel().tolist() == [
        -2,
        -2,
        -7,
        -9,
    ]


def test_filters_of_groups_of_channels():
    x = np.sin(np.arange(2 * 5 * 4 * 6.0)).reshape(2, 5, 4, 6)
    w = np.cos(np.arange(3 * 2 * 2 * 9.0)).reshape(3, 2, 2, 9)
    expected = np.concatenate(
        [tf.nn.conv2d(x[..., 2 * g : 2 * g + 2], w[..., 3 * g : 3 * g + 3], 1, "SAME") for g in range(3)], -1
    )
    np.testing.assert_array_equal(tf.nn.conv2d(x, w, 1, "SAME"), expected)
    first = tf.nn.conv2d(x.transpose(0, 3, 1, 2), w, 1, "SAME", data_format="NCHW")
    np.testing.assert_array_equal(first, expected.transpose(0, 3, 1, 2))


@pytest.mark.parametrize(
    "options", [{"input_signature": [tf.TensorSpec([None] * 4)]}, {"reduce_retracing": True}]
)
def test_images_of_unknown_size(options):
    """A trace is for one size of the axes that windows move along, and others are traced again."""
    w = tf.constant(W.astype(np.float32))

    def loss(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.avg_pool2d(tf.nn.conv2d(x, w, 2, "SAME"), 2, 1, "SAME")
            y = tf.nn.max_pool2d(y, 2, 1, "VALID") + tf.reduce_sum(x)
        return y, tape.gradient(y, x)

    f = tf.function(loss, **options)
    for shape in ((1, 5, 6, 3), (2, 5, 6, 3), (2, 7, 9, 3), (3, 7, 9, 3)):
        x = tf.constant(np.sin(np.arange(np.prod(shape))).reshape(shape).astype(np.float32))
        for found, expected in zip(f(x), loss(x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert f.experimental_get_tracing_count() <= 3


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"has 3 channels, the filters .* are for 2"):
        tf.nn.conv2d(X, W[:, :, :2], 1, "SAME")
    with pytest.raises(ValueError, match=r"has 3 channels, the filters .* are for 1"):
        tf.nn.conv2d(X, W[:, :, :1], 1, "SAME")  # 4 outputs are not for 3 groups
    with pytest.raises(ValueError, match=r"has 3 channels, the filters .* are for 1"):
        tf.nn.depthwise_conv2d(X, W[:, :, :1], 1, "SAME")
    with pytest.raises(ValueError, match="filters are"):
        tf.nn.depthwise_conv2d(X, W[0], 1, "SAME")
    with pytest.raises(ValueError, match=r"needs a batch, 2 axes and channels, got float64\[5,6,3\]"):
        tf.nn.conv2d(X[0], W, 1, "SAME")
    with pytest.raises(ValueError, match="padding is 'SAME', 'VALID'"):
        tf.nn.max_pool2d(X, 2, 1, "FULL")
    for strides in (0, [1, 2, 3], [2, 1, 1, 1]):
        with pytest.raises(ValueError, match=r"strides are positive, one for all 2 axes .* got"):
            tf.nn.max_pool2d(X, 2, strides, "SAME")
    for padding in ([[1, 1]], [[0, 0], [1, 1], [1, 1], [1, 0]], [[-1, 0], [0, 0]]):
        with pytest.raises(ValueError, match=r"a pair \(before, after\) for each of 2 axes"):
            tf.nn.conv2d(X, W, 1, padding)
    with pytest.raises(ValueError, match="one to three axes"):
        tf.nn.max_pool(X[0, 0], 2, 1, "SAME")
