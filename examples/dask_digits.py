"""Train on handwritten digits over Dask: two processes compute gradients, one of them is killed on the way.

    python examples/dask_digits.py --epochs 20 --kill

Needs ``pip install 'tracejit[dask]' scikit-learn``.
"""

import argparse
import os
import signal
import threading

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster
from sklearn.datasets import load_digits

import tracejit as tf
import tracejit.dask as td


def digits():
    """Examples and labels, in blocks of 250 rows."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    x, y = (images[order] / 16).astype(np.float32), labels[order].astype(np.int32)
    return da.from_array(x, chunks=(250, 64)), da.from_array(y, chunks=250)


def network():
    """A network with two layers, compiled for training."""
    tf.random.set_seed(0)
    model = tf.Sequential([tf.layers.Dense(64, activation="tanh"), tf.layers.Dense(10)])
    model.compile(tf.optimizers.Adam(0.01), tf.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def accuracy(model, x, y):
    """The part of the examples whose digit is read right; workers read them."""
    read = td.map_blocks(lambda rows: tf.argmax(model(rows), axis=1), x, drop_axis=1)
    return float((read == y).mean().compute())


def main():
    """Train, and say how it went."""
    arguments = argparse.ArgumentParser(description="Train on digits over Dask.")
    arguments.add_argument("--epochs", type=int, default=10)
    arguments.add_argument("--kill", action="store_true", help="kill a worker while it works")
    options = arguments.parse_args()
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        x, y = digits()
        model = network()
        if options.kill:
            victim = next(iter(client.run(os.getpid).values()))
            threading.Timer(2.0, os.kill, (victim, signal.SIGKILL)).start()
        history = td.fit(model, x, y, epochs=options.epochs, blocks_per_step=2, shuffle=True)
        print(f"loss {history.history['loss'][0]:.3f} to {history.history['loss'][-1]:.3f}")
        print(f"accuracy {accuracy(model, x, y):.3f}")


if __name__ == "__main__":
    main()
