# %% [markdown]
# # Training, from a hand-written loop to `fit`
#
# The first loop is written by hand and learns two numbers. Then the library takes over one part after the other:
# a `Module` holds the Variables, an optimizer updates them, metrics keep running averages, `tf.function` makes the
# step fast, and finally `fit` runs the loop. At the end the result is stored, as a checkpoint for further training and
# as a saved model.

# %%
import tempfile
from pathlib import Path

import numpy as np

import tracejit as tf

tf.random.set_seed(1)

# %% [markdown]
# ## A loop by hand
#
# Points near the line `3x + 2`. The weights are Variables; the tape gives the gradient of the loss; a step goes
# against it.

# %%
x = tf.linspace(-1.0, 1.0, 101)
y = 3.0 * x + 2.0 + 0.1 * tf.sin(40.0 * x)

slope, intercept = tf.Variable(0.0), tf.Variable(0.0)
for step in range(61):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((slope * x + intercept - y) ** 2)
    by_slope, by_intercept = tape.gradient(loss, [slope, intercept])
    slope.assign_sub(0.3 * by_slope)
    intercept.assign_sub(0.3 * by_intercept)
    if step % 20 == 0:
        print(f"step {step:2}: loss {loss:.3f}, slope {slope:.2f}, intercept {intercept:.2f}")
#> step  0: loss 7.079, slope 0.61, intercept 1.20
#> step 20: loss 0.005, slope 2.98, intercept 2.00
#> step 40: loss 0.005, slope 3.01, intercept 2.00
#> step 60: loss 0.005, slope 3.01, intercept 2.00

# %% [markdown]
# ## Variables in a Module
#
# A `Module` finds the Variables in its attributes, also in lists and in other modules. So the loop need not name them,
# and an optimizer can update them all.

# %%
class Line(tf.Module):
    def __init__(self):
        super().__init__()
        self.slope = tf.Variable(0.0, name="slope")
        self.intercept = tf.Variable(0.0, name="intercept")

    def __call__(self, x):
        return self.slope * x + self.intercept


line = Line()
optimizer = tf.optimizers.SGD(learning_rate=0.3, momentum=0.5)
for _ in range(60):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((line(x) - y) ** 2)
    variables = line.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
print({v.name: round(float(v), 2) for v in line.trainable_variables})
#> {'intercept:0': 2.0, 'slope:0': 3.01}

# %% [markdown]
# ## A network
#
# Which of two arcs does a point belong to? No straight line separates them. `Sequential` chains layers; the first call
# creates their weights, when the size of the input is known.

# %%
angle = np.linspace(0.0, np.pi, 100)
wobble = 0.1 * np.sin(37.0 * angle)
upper = np.stack([np.cos(angle), np.sin(angle) + wobble], axis=1)
lower = np.stack([1.0 - np.cos(angle), 0.5 - np.sin(angle) + wobble], axis=1)
points = np.concatenate([upper, lower]).astype("float32")
labels = np.repeat([[0.0], [1.0]], 100, axis=0).astype("float32")


def network():
    return tf.Sequential([tf.layers.Dense(16, activation="tanh"), tf.layers.Dense(1)])


model = network()
print(model(points).shape, [v.shape for v in model.trainable_variables])
#> (200, 1) [TensorShape([2, 16]), TensorShape([16]), TensorShape([16, 1]), TensorShape([1])]

# %% [markdown]
# ## A compiled step, with metrics
#
# A `Dataset` shuffles and batches. Metrics keep a running mean in Variables of their own. `tf.function`
# compiles the whole step, forward, gradient, update and metrics, into one piece of machine code. It is traced
# in the first call only: once to find that the optimizer has Variables to make, and once with them.

# %%
data = tf.data.Dataset.from_tensor_slices((points, labels)).shuffle(200, seed=3).batch(20)
loss_of = tf.losses.BinaryCrossentropy(from_logits=True)
optimizer = tf.optimizers.Adam(0.03)
mean_loss = tf.metrics.Mean()
accuracy = tf.metrics.BinaryAccuracy(threshold=0.0)  # of logits: above 0 is the second arc


@tf.function
def train_step(batch, wanted):
    with tf.GradientTape() as tape:
        logits = model(batch, training=True)
        loss = loss_of(wanted, logits)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    mean_loss.update_state(loss)
    accuracy.update_state(wanted, logits)


curve = []
for epoch in range(40):
    mean_loss.reset_state()
    accuracy.reset_state()
    for batch, wanted in data:
        train_step(batch, wanted)
    curve.append(float(mean_loss.result()))
print(f"{int(optimizer.iterations)} steps, traced {train_step.experimental_get_tracing_count()} times")
#> 400 steps, traced 2 times
print(f"accuracy {accuracy.result():.1f}; is the loss a tenth of the first? {curve[-1] < curve[0] / 10}")
#> accuracy 1.0; is the loss a tenth of the first? True

# %%
try:
    import matplotlib.pyplot as plt
except ImportError:
    plt = None
if plt:
    plt.semilogy(curve)
    plt.xlabel("epoch")
    plt.ylabel("loss")
    plt.show()

# %% [markdown]
# ## `fit`
#
# `compile` sets optimizer, loss and metrics; `fit` does the same as the loop above; `evaluate` and `predict` use the
# result. `fit` compiles the method `train_step`, which a subclass of `keras.Model` may override.

# %%
fitted = network()
fitted.compile(tf.optimizers.Adam(0.03), loss=loss_of, metrics=[tf.metrics.BinaryAccuracy(threshold=0.0)])
history = fitted.fit(points, labels, batch_size=20, epochs=40, verbose=0)
print(sorted(history.history), len(history.history["loss"]))
#> ['binary_accuracy', 'loss'] 40
_, found = fitted.evaluate(points, labels, verbose=0)
print(f"accuracy {found:.1f}")
#> accuracy 1.0
print((fitted.predict(points[[0, 1, 198, 199]], verbose=0) > 0).ravel())
#> [False False  True  True]

# %% [markdown]
# ## Checkpoints
#
# A checkpoint stores the values of Variables, including those of the optimizer, under the paths of attributes that lead
# to them. A restored run continues exactly where it stopped.

# %%
folder = tempfile.TemporaryDirectory()
checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
path = checkpoint.save(Path(folder.name) / "run")
before = loss_of(labels, model(points)).numpy()
train_step(points[:20], labels[:20])
print("trained on:", loss_of(labels, model(points)).numpy() != before)
#> trained on: True
checkpoint.restore(path)
print("restored:  ", loss_of(labels, model(points)).numpy() == before, int(optimizer.iterations))
#> restored:   True 400

# %% [markdown]
# In a new process, create the objects first and then restore their values. Weights that do not exist yet, as before the
# first call of a network, get their values when they are created.

# %%
again, its_optimizer = network(), tf.optimizers.Adam(0.03)
restored = tf.train.Checkpoint(model=again, optimizer=its_optimizer).restore(path)
print(tf.reduce_all(again(points) == model(points)).numpy())
#> True

# %% [markdown]
# ## Saved models
#
# `saved_model.save` stores the graphs of compiled functions together with the Variables. A loaded model needs none of the
# classes above, and can be differentiated and trained further.

# %%
class Classifier(tf.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def probability(self, points):
        return tf.sigmoid(self.net(points))


tf.saved_model.save(Classifier(model), Path(folder.name) / "classifier")
loaded = tf.saved_model.load(Path(folder.name) / "classifier")
print((loaded.probability(points[[50, 150]]) > 0.5).numpy().ravel())
#> [False  True]
with tf.GradientTape() as tape:
    total = tf.reduce_sum(loaded.probability(points))
print(len(tape.gradient(total, loaded.trainable_variables)), "gradients")
#> 4 gradients
folder.cleanup()
