"""Layers of attention: the formulas, masks of queries and keys, steps that see no later one, gradients, both modes."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

L = tf.layers
R = np.random.default_rng(0)
Q, V, K = (R.normal(size=(2, n, 4)).astype("float32") for n in (3, 5, 5))
KNOWN = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)
ASKED = np.array([[1, 1, 0], [1, 1, 1]], bool)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attended(scores, values, allowed=None):
    weights = softmax(scores if allowed is None else np.where(allowed, scores, -1e9))
    return weights @ values, weights


both_modes = pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "compiled"])


@both_modes
def test_products_and_sums(run):
    products = Q @ K.transpose(0, 2, 1)
    sums = np.tanh(Q[:, :, None] + K[:, None])
    cases = [
        (L.Attention(), products),
        (L.Attention(use_scale=True), products),
        (L.Attention(score_mode="concat"), sums.sum(-1)),
        (L.AdditiveAttention(use_scale=False), sums.sum(-1)),
    ]
    for layer, scores in cases:
        both = run(lambda q, v, k, layer=layer: layer([q, v, k], return_attention_scores=True))
        for found, expected in zip(both(Q, V, K), attended(scores, V), strict=True):
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)
    layer = L.AdditiveAttention()
    layer([Q, V])
    scores = (np.tanh(Q[:, :, None] + V[:, None]) * layer.scale.numpy()).sum(-1)
    np.testing.assert_allclose(run(layer)([Q, V]).numpy(), attended(scores, V)[0], rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="score_mode is 'dot' or 'concat'"):
        L.Attention(score_mode="cosine")


@both_modes
def test_masks(run):
    layer, scores = L.Attention(), Q @ V.transpose(0, 2, 1)
    masked = run(lambda q, v: layer([q, v], mask=[ASKED, KNOWN]))(Q, V).numpy()
    expected = attended(scores, V, KNOWN[:, None])[0] * ASKED[..., None]
    np.testing.assert_allclose(masked, expected, rtol=1e-5, atol=1e-6)
    causal = run(lambda q, v: layer([q, v], use_causal_mask=True))(Q, V).numpy()
    np.testing.assert_allclose(causal, attended(scores, V, np.tri(3, 5) > 0)[0], rtol=1e-5, atol=1e-6)


def reference(layer, q, v, k, allowed=None):
    """Several heads, one after the other."""
    (wq, bq, wk, bk, wv, bv, wo, bo), total = layer.get_weights(), 0.0
    for head in range(layer.num_heads):
        a, b, c = (x @ w[:, head] + bias[head] for x, w, bias in ((q, wq, bq), (k, wk, bk), (v, wv, bv)))
        scores = a @ b.transpose(0, 2, 1) / np.sqrt(layer.key_dim)
        total = total + attended(scores, c, allowed)[0] @ wo[head]
    return total + bo


@both_modes
def test_several_heads(run):
    layer = L.MultiHeadAttention(2, 3, value_dim=5)
    assert layer(Q, V).shape == (2, 3, 4)
    assert [w.shape for w in layer.get_weights()] == [
        *((4, 2, 3), (2, 3)) * 2,
        *((4, 2, 5), (2, 5)),
        *((2, 5, 4), (4,)),
    ]
    layer.set_weights([R.normal(size=w.shape).astype("float32") for w in layer.get_weights()])
    tolerance = {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(run(layer)(Q, V).numpy(), reference(layer, Q, V, V), **tolerance)
    causal = run(lambda q, v, k: layer(query=q, value=v, key=k, use_causal_mask=True))(Q, V, K)
    np.testing.assert_allclose(causal.numpy(), reference(layer, Q, V, K, np.tri(3, 5) > 0), **tolerance)
    allowed = np.broadcast_to(KNOWN[:, None], (2, 3, 5))
    seen, weights = run(lambda q, v: layer(q, v, attention_mask=allowed, return_attention_scores=True))(Q, V)
    np.testing.assert_allclose(seen.numpy(), reference(layer, Q, V, V, allowed), **tolerance)
    assert weights.shape == (2, 2, 3, 5) and (weights.numpy()[0, :, :, 3:] == 0).all()
    blind = layer(Q, V, query_mask=ASKED)
    np.testing.assert_allclose(blind.numpy()[0, 2], layer.get_weights()[-1], **tolerance)
    with pytest.raises(TypeError, match="takes a query and a value"):
        layer(Q)


def test_masks_come_from_layers_before():
    embedding, layer = L.Embedding(9, 4, mask_zero=True), L.MultiHeadAttention(2, 3)
    x = tf.constant([[1, 2, 0, 0]])
    _, weights = layer(embedding(x), embedding(x), return_attention_scores=True)
    assert (weights.numpy()[..., 2:] == 0).all()
    result = L.Attention()([embedding(x), embedding(x)])
    assert (result.numpy()[0, 2:] == 0).all()


def test_gradients_and_training():
    layer = L.MultiHeadAttention(2, 2, dropout=0.5, seed=1)
    layer(Q, V)

    def loss(q, v):
        return tf.reduce_sum(layer(q, v, use_causal_mask=True) ** 2)

    for eager, compiled in zip(
        tf.grad(loss, (0, 1))(Q, V), tf.function(tf.grad(loss, (0, 1)))(Q, V), strict=True
    ):
        np.testing.assert_allclose(eager.numpy(), compiled.numpy(), rtol=1e-4, atol=1e-5)
    assert not np.allclose(layer(Q, V, training=True).numpy(), layer(Q, V).numpy())
    x = tf.keras.Input((None, 4))
    y = L.GlobalAveragePooling1D()(L.Add()([x, L.MultiHeadAttention(2, 2)(x, x)]))
    model = tf.keras.Model(x, L.Dense(1)(y))
    model.compile("adam", "mse")
    history = model.fit(V, np.ones((2, 1)), epochs=30, verbose=0).history["loss"]
    assert history[-1] < history[0]


def test_sequences_of_rows_and_columns():
    layer = L.MultiHeadAttention(2, 3)
    image = R.normal(size=(1, 2, 3, 4)).astype("float32")
    rows = image.reshape(1, 6, 4)
    np.testing.assert_allclose(
        layer(image, image).numpy().reshape(1, 6, 4), layer(rows, rows).numpy(), rtol=1e-5
    )
