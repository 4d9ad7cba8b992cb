"""Train a two-layer network on scanned handwritten digits, and compare the trainers: ``make demo``.

Learning rate and number of epochs are chosen on a fifth of the training digits, set aside; the test digits
are looked at once, at the end. Every trainer starts from the same parameters and sees the same batches, in
turn, so that whatever else the machine is doing slows all of them alike. Printed: the accuracies and the
time per step side by side. Written to ``out/``: ``digits.png`` with the loss curves and sample predictions,
and the compiled step as a picture, ``digits_step.html``.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

import digits_data
import digits_network
import digits_numpy
import digits_plot
import tracejit as tj
from tracejit.compiler.pipeline import optimized

HIDDEN = 256
BATCH = 128
RATES = (1e-3, 2e-3, 4e-3)
EPOCHS = (100, 200, 300)
REFERENCE = "NumPy by hand"
COMPILED, EAGER = "tracejit, compiled", "tracejit, eager"
OUT = Path(__file__).resolve().parents[1] / "out"


#: Each takes a step of training on a batch and tells digits; see `digits_numpy.Network`.
Trainer: TypeAlias = digits_numpy.Network | digits_network.Network | digits_network.EagerNetwork


class Choice(NamedTuple):
    """How long and how fast to train, and what it gave on digits not trained on."""

    loss: float
    accuracy: float
    rate: float
    epochs: int


def parameters() -> list[np.ndarray]:
    """Return the parameters that every trainer starts from."""
    return digits_numpy.initial_parameters(digits_data.PIXELS, HIDDEN, digits_data.CLASSES)


def make_trainers(rate: float) -> dict[str, Trainer]:
    """Return the trainers by name, each with its own copy of the same parameters."""
    return {
        REFERENCE: digits_numpy.Network(parameters(), BATCH, rate),
        EAGER: digits_network.EagerNetwork(parameters(), rate),
        COMPILED: digits_network.Network(parameters(), rate),
    }


def print_compilation(data: digits_data.Digits) -> None:
    """Compile the step with nothing kept from earlier runs; print how long that takes."""
    network = digits_network.Network(parameters(), RATES[0])
    with tj.settings(cache=False):
        start = time.perf_counter()
        network.step(data.train_images[:BATCH], data.train_labels[:BATCH])
        seconds = time.perf_counter() - start
    nodes = len(network.step.graph(data.train_images[:BATCH], data.train_labels[:BATCH]).nodes)
    print(f"one training step: a graph of {nodes} ops, compiled and run once in {seconds:.2f} s")


def choose(data: digits_data.Digits) -> Choice:
    """Return the rate and the epochs with the least cross-entropy on a fifth of the training digits."""
    part = digits_data.split(data.train_images, data.train_labels)
    tried = [choice for rate in tqdm(RATES, "choosing", unit="rate") for choice in try_rate(part, rate)]
    return min(tried)


def try_rate(part: digits_data.Digits, rate: float) -> list[Choice]:
    """Return what one learning rate gives after each of `EPOCHS`, trained on part of the training digits."""
    network = digits_network.Network(parameters(), rate)
    found = []
    batches = digits_data.batches(part.train_images, part.train_labels, BATCH, EPOCHS[-1])
    per_epoch = len(part.train_images) // BATCH
    for epoch in range(1, EPOCHS[-1] + 1):
        for images, labels in itertools.islice(batches, per_epoch):
            network.step(images, labels)
        if epoch in EPOCHS:
            right = accuracy(network, part.test_images, part.test_labels)
            loss = float(network.loss(part.test_images, part.test_labels))
            found.append(Choice(loss, right, rate, epoch))
    return found


def accuracy(trainer: Trainer, images: np.ndarray, labels: np.ndarray) -> float:
    """Return the part of the images whose digit is recognised."""
    return float(np.mean(np.asarray(trainer.predict(images)) == labels))


@dataclass
class Run:
    """What one trainer did: the loss and the seconds of every step."""

    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def step(self, trainer: Trainer, images: np.ndarray, labels: np.ndarray) -> None:
        """Let the trainer take one step, and note its loss and its time."""
        start = time.perf_counter()
        self.losses.append(float(trainer.step(images, labels)))
        self.seconds.append(time.perf_counter() - start)


def train(trainers: dict[str, Trainer], data: digits_data.Digits, epochs: int) -> dict[str, Run]:
    """Train everyone for some epochs, batch by batch in turn."""
    runs = {name: Run() for name in trainers}
    steps = epochs * (len(data.train_images) // BATCH)
    batches = digits_data.batches(data.train_images, data.train_labels, BATCH, epochs)
    for images, labels in tqdm(batches, "training", total=steps, unit="step"):
        for name, trainer in trainers.items():
            runs[name].step(trainer, images, labels)
    return runs


def print_row(name: str, test: float, run: Run, reference: Run) -> None:
    """Print one row of the comparison."""
    median = statistics.median(run.seconds)
    ratio = median / statistics.median(reference.seconds)
    print(f"{name:<20} {test:>9.2%} {1e6 * median:>10.1f} {ratio:>9.2f}")


def draw_step(path: Path, trainer: Trainer, data: digits_data.Digits) -> None:
    """Draw the compiled training step."""
    assert isinstance(trainer, digits_network.Network)
    traced = trainer.step.get_concrete_function(data.train_images[:BATCH], data.train_labels[:BATCH])
    names = ["images", "labels", *(v.name.removesuffix(":0") for v in traced.variables())]
    tj.draw(optimized(traced.graph), path, names)


def main() -> None:
    """Choose, train with every trainer, print the comparison, draw the pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=OUT, help="folder for the pictures")
    out = parser.parse_args().out
    data = digits_data.load()
    print(f"{len(data.train_images)} digits to learn from, {len(data.test_images)} held out; hidden {HIDDEN}")
    print_compilation(data)
    choice = choose(data)
    print(
        f"chosen on {len(data.train_images) // 5} training digits set aside: learning rate {choice.rate:g}, "
        f"{choice.epochs} epochs (accuracy there {choice.accuracy:.2%})"
    )
    trainers = make_trainers(choice.rate)
    with threadpool_limits(1):  # compiled code has one thread, so has NumPy's BLAS
        runs = train(trainers, data, choice.epochs)

    print(f"\n{'':<20} {'test':>9} {'step, µs':>10} {'to NumPy':>9}")
    for name, run in runs.items():
        print_row(name, accuracy(trainers[name], data.test_images, data.test_labels), run, runs[REFERENCE])

    picture, drawing = out / "digits.png", out / "digits_step.html"
    predicted = np.asarray(trainers[COMPILED].predict(data.test_images))
    losses = {name: run.losses for name, run in runs.items()}
    digits_plot.draw(picture, losses, data.test_images, data.test_labels, predicted)
    draw_step(drawing, trainers[COMPILED], data)
    print(f"\nwritten: {picture}\nwritten: {drawing}")


if __name__ == "__main__":
    main()
