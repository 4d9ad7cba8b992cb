# %% [markdown]
# # A recurrent network
#
# A loop over time in plain Python, compiled with its gradient. The task is to decide whether a sequence of coin flips
# had more heads than tails.

# %%
import numpy as np

import tracejit as tf

rng = np.random.default_rng(0)
coins = rng.integers(0, 2, size=(512, 15))
inputs = np.eye(2, dtype=np.float32)[coins]
labels = (coins.sum(axis=1) > 7).astype(np.int32)


# %% [markdown]
# ## The network
#
# Weights in a dict; the loop runs over the second axis.

# %%
def made(rng, hidden=16):
    def normal(*shape):
        return tf.Variable((rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32))

    return {"in": normal(2, hidden), "back": normal(hidden, hidden), "out": normal(hidden, 2)}


def logits(w, sequences):
    state = tf.zeros((sequences.shape[0], w["back"].shape[0]))
    for k in tf.range(sequences.shape[1]):
        state = tf.tanh(sequences[:, k] @ w["in"] + state @ w["back"])
    return state @ w["out"]


# %% [markdown]
# ## Training
#
# The whole step is one compiled function: loop, gradient and optimizer.

# %%
w = made(rng)
optimizer = tf.optimizers.Adam(0.01)


@tf.function
def step(sequences, labels):
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits(w, sequences))
        loss = tf.reduce_mean(losses)
    gradients = tape.gradient(loss, w)
    optimizer.apply_gradients([(gradients[name], w[name]) for name in w])
    return loss


losses = [float(step(inputs, labels)) for _ in range(200)]
right = tf.equal(tf.argmax(logits(w, tf.constant(inputs)), axis=1, output_type=tf.int32), labels)
print(float(tf.reduce_mean(tf.cast(right, tf.float32))) > 0.97)
#> True

# %% [markdown]
# ## Plot

# %%
try:
    import matplotlib.pyplot as plt
except ImportError:
    plt = None
if plt:
    plt.semilogy(losses)
    plt.xlabel("step")
    plt.ylabel("loss")
    plt.show()
