"""Functions that programs for tapes call, against NumPy or what they undo: eagerly, compiled, differentiated."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

R = np.random.default_rng(3)
A = R.random((4, 4))
SPD = A @ A.T + 2.0 * np.eye(4)
V = R.random(6)
IMAGES = R.random((2, 4, 6, 3))
COUNTS = np.arange(6, dtype=np.int32).reshape(2, 3)


def _moved(x, block):
    n, h, w, c = x.shape
    x = x.reshape(n, h // block, block, w // block, block, c).transpose(0, 1, 3, 2, 4, 5)
    return x.reshape(n, h // block, w // block, block * block * c)


def _near(x, radius):
    squares = np.pad(x * x, [(0, 0)] * 3 + [(radius, radius)])
    return sum(squares[..., k : k + x.shape[-1]] for k in range(2 * radius + 1))


#: What it is called: the function, what it is given, and what must come out.
CASES = {
    "sqrtm": (lambda x: tf.matmul(tf.linalg.sqrtm(x), tf.linalg.sqrtm(x)), SPD, SPD),
    "logm": (lambda x: tf.linalg.expm(tf.linalg.logm(x)), SPD, SPD),
    "logm of many": (lambda x: tf.linalg.expm(tf.linalg.logm(x)), np.stack([SPD, 3.0 * SPD]), [SPD, 3.0 * SPD]),
    "matrix_rank": (tf.linalg.matrix_rank, np.ones((3, 2)), 1),
    "betainc": (lambda x: tf.math.betainc(np.float64(2.0), np.float64(1.0), x), V, V**2),
    "igamma": (lambda x: tf.math.igamma(np.float64(1.0), x), V, 1.0 - np.exp(-V)),
    "igammac": (lambda x: tf.math.igammac(np.float64(1.0), x), V, np.exp(-V)),
    "zeta": (lambda x: tf.math.zeta(np.float64(2.0), x), np.array([1.0]), [np.pi**2 / 6]),
    "erfcinv": (lambda x: tf.math.erfc(tf.math.erfcinv(x)), V, V),
    "lbeta": (tf.math.lbeta, np.array([2.0, 3.0]), np.log(1.0 / 12.0)),
    "bessel": (lambda x: tf.math.special.bessel_j0(x) * x, np.zeros(2), [0.0, 0.0]),
    "unsorted_segment_prod": (
        lambda x: tf.math.unsorted_segment_prod(x, [0, 2, 0], 3), V[:3], [V[0] * V[2], 1.0, V[1]],
    ),
    "crelu": (tf.nn.crelu, np.array([-1.0, 2.0]), [0.0, 2.0, 1.0, 0.0]),
    "weighted_moments": (lambda x: tf.nn.weighted_moments(x, [0], [1.0, 1, 1, 1, 1, 1])[1], V, V.var()),
    "normalize_moments": (
        lambda x: tf.nn.normalize_moments(6.0, tf.reduce_sum(x), tf.reduce_sum(x * x), None)[1], V, V.var(),
    ),
    "log_poisson_loss": (lambda x: tf.nn.log_poisson_loss(x, x), V, np.exp(V) - V * V),
    "log_poisson_loss, full": (
        lambda x: tf.nn.log_poisson_loss([0.5, 3.0], x, True), np.zeros(2),
        [1.0, 1.0 + 3 * np.log(3) - 3 + 0.5 * np.log(6 * np.pi)],
    ),
    "compute_average_loss": (lambda x: tf.nn.compute_average_loss(x, global_batch_size=3), V, V.sum() / 3),
    "scale_regularization_loss": (tf.nn.scale_regularization_loss, V, V.sum()),
    "local_response_normalization": (
        lambda x: tf.nn.local_response_normalization(x, 1, 2.0, 0.5, 0.75), IMAGES,
        IMAGES / (2.0 + 0.5 * _near(IMAGES, 1)) ** 0.75,
    ),
    "space_to_depth": (lambda x: tf.nn.space_to_depth(x, 2), IMAGES, _moved(IMAGES, 2)),
    "depth_to_space": (lambda x: tf.nn.depth_to_space(tf.nn.space_to_depth(x, 2), 2), IMAGES, IMAGES),
    "space_to_depth, channels first": (
        lambda x: tf.nn.depth_to_space(tf.nn.space_to_depth(x, 2, "NCHW"), 2, "NCHW"),
        IMAGES.transpose(0, 3, 1, 2), IMAGES.transpose(0, 3, 1, 2),
    ),
    "space_to_batch": (lambda x: tf.space_to_batch(x, [2, 2], [[0, 0], [0, 0]])[2:4], IMAGES, IMAGES[:, 0::2, 1::2]),
    "batch_to_space": (
        lambda x: tf.batch_to_space(tf.space_to_batch(x, [2, 3], [[1, 1], [0, 3]]), [2, 3], [[1, 1], [0, 3]]),
        IMAGES, IMAGES,
    ),
    "separable_conv2d": (
        lambda x: tf.nn.separable_conv2d(x, np.ones((1, 1, 3, 1)), np.ones((1, 1, 3, 1)), [1, 1, 1, 1], "SAME"),
        IMAGES, IMAGES.sum(-1, keepdims=True),
    ),
    "conv3d": (
        lambda x: tf.nn.conv3d(x, np.ones((2, 1, 1, 3, 1)), [1, 1, 1, 1, 1], "VALID"),
        IMAGES[None], IMAGES.sum((0, -1))[None, None, ..., None],
    ),
    "pool": (lambda x: tf.nn.pool(x, [4, 6], "AVG"), IMAGES, IMAGES.mean((1, 2), keepdims=True)),
    "adjust_gamma": (lambda x: tf.image.adjust_gamma(x, 2.0, 3.0), IMAGES, 3.0 * IMAGES**2),
    "yiq": (lambda x: tf.image.yiq_to_rgb(tf.image.rgb_to_yiq(x)), IMAGES, IMAGES),
    "yuv": (lambda x: tf.image.yuv_to_rgb(tf.image.rgb_to_yuv(x)), IMAGES, IMAGES),
    "transpose": (tf.image.transpose, IMAGES, IMAGES.transpose(0, 2, 1, 3)),
    "total_variation": (
        tf.image.total_variation, IMAGES,
        np.abs(np.diff(IMAGES, axis=1)).sum((1, 2, 3)) + np.abs(np.diff(IMAGES, axis=2)).sum((1, 2, 3)),
    ),
    "image_gradients": (
        lambda x: tf.image.image_gradients(x)[0], IMAGES, np.diff(IMAGES, axis=1, append=IMAGES[:, -1:]),
    ),
    "sobel_edges": (
        lambda x: tf.image.sobel_edges(x)[..., 1], np.broadcast_to(np.arange(6.0)[:, None], (1, 4, 6, 1)),
        np.broadcast_to(np.array([0.0, 8, 8, 8, 8, 0])[:, None], (1, 4, 6, 1)),
    ),
    "extract_patches": (
        lambda x: tf.image.extract_patches(x, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"),
        IMAGES, _moved(IMAGES, 2),
    ),
    "psnr": (lambda x: tf.image.psnr(x, 0.0 * x, 1.0), np.full((1, 2, 2, 1), 0.1), [20.0]),
    "ssim of the same": (lambda x: tf.image.ssim(x, x, 1.0), R.random((1, 12, 12, 1)), [1.0]),
    "unravel_index": (lambda x: tf.unravel_index(tf.cast(x, tf.int32), [2, 3]), np.array([5.0, 0.0]), [[1, 0], [2, 0]]),
    "reverse_sequence": (
        lambda x: tf.reverse_sequence(x, [2, 4], seq_axis=1), A[:2], [A[0, [1, 0, 2, 3]], A[1, ::-1]],
    ),
    "reverse_sequence, batch second": (
        lambda x: tf.reverse_sequence(x, [2, 4, 1], seq_axis=0, batch_axis=1), A[:, :3],
        np.stack([A[[1, 0, 2, 3], 0], A[::-1, 1], A[:, 2]], axis=1),
    ),
    "dynamic_stitch": (lambda x: tf.dynamic_stitch([[3, 1], [0, 2]], [x[:2], x[2:]]), A, A[[2, 1, 3, 0]]),
    "histogram_fixed_width": (
        lambda x: tf.histogram_fixed_width(x, [0.0, 1.0], nbins=4), np.array([-1.0, 0.1, 0.3, 0.9, 7.0]), [2, 1, 0, 2],
    ),
    "identity_n": (lambda x: tf.identity_n([x, x])[1], V, V),
    "tuple": (lambda x: tf.tuple([x, x])[1], V, V),
    "shape_n": (lambda x: tf.shape_n([x, x])[1], A, [4, 4]),
    "broadcast_dynamic_shape": (lambda x: tf.broadcast_dynamic_shape(tf.shape(x), [4, 1, 4]), A, [4, 4, 4]),
}  # fmt: skip
#: Those whose derivatives are not compared with differences: they have none, or are not smooth here.
NOT_SMOOTH = {
    "matrix_rank", "unravel_index", "histogram_fixed_width", "shape_n", "broadcast_dynamic_shape", "crelu", "psnr",
    "total_variation", "ssim of the same",
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    f, given, expected = CASES[name]
    x = tf.constant(given)
    for g in (f, tf.function(f)):
        np.testing.assert_allclose(g(x), np.asarray(expected), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", sorted(set(CASES) - NOT_SMOOTH))
def test_derivatives(name):
    f, given, _ = CASES[name]
    x, u = tf.constant(np.asarray(given)), np.cos(np.arange(np.size(given))).reshape(np.shape(given))

    def loss(x):
        y = f(x)
        return tf.reduce_sum(y * np.sin(1.0 + np.arange(y.spec.size)).reshape(y.shape))

    step = 1e-5
    difference = (loss(x + step * u) - loss(x - step * u)) / (2 * step)
    for gradient in (tf.grad(loss), tf.function(tf.grad(loss))):
        np.testing.assert_allclose(np.sum(gradient(x).numpy() * u), difference, rtol=1e-5, atol=1e-6)


def test_rows_in_parts():
    parts = tf.dynamic_partition(A, [1, 0, 1, 0], 3)
    np.testing.assert_array_equal(parts[0], A[[1, 3]])
    np.testing.assert_array_equal(parts[1], A[[0, 2]])
    assert parts[2].shape == [0, 4]
    np.testing.assert_array_equal(tf.dynamic_stitch([[1, 3], [0, 2]], parts[:2]), A)


def test_what_is_known_while_tracing():
    seen = []
    tf.function(lambda x: seen.append((tf.get_static_value(x), tf.get_static_value(3))) or x)(
        tf.constant(1.0)
    )
    assert seen == [(None, 3)] and tf.get_static_value(tf.constant(2)) == 2 and tf.no_op() is None


def test_mirrored_by_chance():
    tf.random.set_seed(1)
    flipped = [tf.image.random_flip_left_right(IMAGES).numpy() for _ in range(8)]
    which = [[np.array_equal(image, x[:, ::-1]) for image, x in zip(f, IMAGES, strict=True)] for f in flipped]
    kept = [[np.array_equal(image, x) for image, x in zip(f, IMAGES, strict=True)] for f in flipped]
    assert np.array_equal(np.asarray(which) ^ np.asarray(kept), np.ones((8, 2), bool))
    assert 0 < np.sum(which) < 16
    assert tf.image.random_flip_up_down(IMAGES[0], seed=3).shape == IMAGES[0].shape


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tf.linalg.sqrtm(np.ones((2, 3))), "square matrices"),
        (lambda: tf.linalg.logm([[1, 2], [3, 4]]), "floats or complex"),
        (lambda: tf.nn.space_to_depth(IMAGES, 5), "do not fill"),
        (lambda: tf.nn.depth_to_space(IMAGES, 2), "do not fill"),
        (lambda: tf.space_to_batch(IMAGES, [3, 3], [[0, 0], [0, 0]]), "do not fill"),
        (lambda: tf.batch_to_space(IMAGES, [3, 1], [[0, 0], [0, 0]]), "not one of blocks"),
        (lambda: tf.nn.pool(IMAGES, [2, 2], "SUM"), "'MAX' or 'AVG'"),
        (lambda: tf.image.ssim(IMAGES, IMAGES, 1.0), "smaller than a window"),
        (lambda: tf.image.psnr(IMAGES, IMAGES[0], 1.0), "one shape"),
        (lambda: tf.image.sobel_edges(IMAGES[0]), "a batch of images"),
        (lambda: tf.image.adjust_gamma(IMAGES, -1.0), "not negative"),
        (lambda: tf.unravel_index([6], [2, 3]), "no element 6"),
        (lambda: tf.reverse_sequence(A, [1, 2], seq_axis=1), "one length per example"),
        (lambda: tf.math.lbeta(1.0), "takes vectors"),
    ],
)
def test_refusals(call, message):
    with pytest.raises((ValueError, TypeError, IndexError), match=message):
        call()


def test_matrices_of_complex_numbers():
    z = (A + 1j * A.T).astype("complex128") + 2 * np.eye(4)
    root = tf.linalg.sqrtm(z)
    np.testing.assert_allclose(tf.matmul(root, root), z, atol=1e-12)
    np.testing.assert_allclose(tf.linalg.expm(tf.linalg.logm(z)), z, atol=1e-12)


def test_roots_where_eigenvalues_are_equal():
    gradient = tf.grad(lambda x: tf.reduce_sum(tf.linalg.sqrtm(x)))(tf.constant(4.0 * np.eye(3)))
    np.testing.assert_allclose(gradient, np.full((3, 3), 0.25), rtol=1e-12)


def test_text_with_separators():
    columns = tf.io.decode_csv(["1,2.5,a", '3,,"b,c"'], [0, 0.5, "none"])
    assert [c.dtype for c in columns] == [np.int32, np.float32, object]
    assert [c.numpy().tolist() for c in columns] == [[1, 3], [2.5, 0.5], [b"a", b"b,c"]]
    assert tf.io.decode_csv("7;x", [[""]], field_delim=";", select_cols=[1])[0].numpy() == b"x"
    assert tf.io.decode_csv(["-,1"], [4, 4], na_value="-")[0].numpy().tolist() == [4]
    for records, defaults in ((["1,2"], [0]), ([","], [tf.int32, tf.int32]), (["x"], [0])):
        with pytest.raises(ValueError):
            tf.io.decode_csv(records, defaults)


def test_tensors_as_text():
    for x in (COUNTS, V, np.array(True)):
        text = tf.io.serialize_tensor(x)
        back = tf.io.parse_tensor(text, x.dtype)
        assert text.dtype == object and back.dtype == x.dtype
        np.testing.assert_array_equal(back, x)
    with pytest.raises(ValueError, match="not of float32"):
        tf.io.parse_tensor(tf.io.serialize_tensor(COUNTS), tf.float32)
    with pytest.raises(TypeError, match="not of strings"):
        tf.io.serialize_tensor(["text"])
