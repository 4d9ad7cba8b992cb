# %% [markdown]
# # Train a classifier
#
# Points of two interleaved spirals, a small network of layers, and one compiled step that trains it.

# %%
import numpy as np

import tracejit as tf

# %% [markdown]
# ## Data
#
# `data.Dataset` shuffles and cuts it into batches; with a seed it does so in the same order each time.

# %%
rng = np.random.default_rng(0)
turn = np.sqrt(rng.uniform(0.02, 1.0, 600)) * 3.0 * np.pi / 2.0
label = np.arange(600) % 2
angle = turn + np.pi * label
points = (0.2 * turn[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)).astype(np.float32)
train = tf.data.Dataset.from_tensor_slices((points[:500], label[:500])).shuffle(500, seed=1).batch(50)

# %% [markdown]
# ## The network and its step
#
# The last layer returns logits, one number per class, which the loss turns into probabilities without overflow.

# %%
tf.keras.set_seed(0)
model = tf.Sequential([tf.layers.Dense(32, "tanh"), tf.layers.Dense(32, "tanh"), tf.layers.Dense(2)])
loss_of = tf.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.optimizers.Adam(0.01)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for _ in range(40):
    for x, y in train:
        loss = step(x, y)

# %% [markdown]
# ## Accuracy
#
# This is the accuracy on a hundred points that were not used for training.

# %%
guessed = tf.argmax(model(points[500:]), axis=1).numpy()
print("better than 95 %:", np.mean(guessed == label[500:]) > 0.95)
#> better than 95 %: True

# %% [markdown]
# ## Plot

# %%
try:
    import matplotlib.pyplot as plt
except ImportError:
    plt = None
if plt:
    across = np.linspace(-1.05, 1.05, 200, dtype=np.float32)
    grid = np.stack(np.meshgrid(across, across), axis=-1)
    second = tf.nn.softmax(model(grid.reshape(-1, 2)))[:, 1]
    plt.contourf(across, across, tf.reshape(second, (200, 200)), 20, cmap="coolwarm", alpha=0.6)
    plt.scatter(points[:, 0], points[:, 1], c=label, cmap="coolwarm", s=8)
    plt.axis("equal")
    plt.show()

# %% [markdown]
# The same with `fit`, which is this loop with callbacks, metrics and a bar of progress:
#
# `model.compile(optimizer, loss_of, metrics=["accuracy"])`, then `model.fit(points, label, epochs=40)`.
