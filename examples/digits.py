"""Train a two-layer network on scanned handwritten digits, and compare the trainers: ``make demo``.

Every trainer starts from the same parameters and sees the same batches, in turn, so that whatever else the
machine is doing slows all of them alike. Printed: the accuracy on digits held out, and the time per step side
by side. Written: ``out/digits.png`` with the loss curves and sample predictions.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from tqdm import tqdm

import digits_data
import digits_numpy
import digits_plot

HIDDEN = 256
BATCH = 128
EPOCHS = 100
REFERENCE = "NumPy by hand"
OUT = Path(__file__).resolve().parents[1] / "out"


class Trainer(Protocol):
    """What the comparison needs of a trainer."""

    def step(self, images: np.ndarray, labels: np.ndarray) -> float:
        """Train on one batch, images float32 ``[BATCH, 64]``, labels int64 ``[BATCH]``; return the loss."""

    def predict(self, images: np.ndarray) -> np.ndarray:
        """Return the most likely digit of each image, images float32 ``[n, 64]``."""


def make_trainers() -> dict[str, Trainer]:
    """Return the trainers by name, each with its own copy of the same parameters."""
    parameters = digits_numpy.initial_parameters(digits_data.PIXELS, HIDDEN, digits_data.CLASSES)
    return {REFERENCE: digits_numpy.Network(parameters, BATCH)}


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


def train(trainers: dict[str, Trainer], data: digits_data.Digits) -> dict[str, Run]:
    """Train everyone for `EPOCHS`, batch by batch in turn."""
    runs = {name: Run() for name in trainers}
    steps = EPOCHS * (len(data.train_images) // BATCH)
    batches = digits_data.batches(data.train_images, data.train_labels, BATCH, EPOCHS)
    for images, labels in tqdm(batches, "training", total=steps, unit="step"):
        for name, trainer in trainers.items():
            runs[name].step(trainer, images, labels)
    return runs


def print_row(name: str, accuracy: float, run: Run, reference: Run) -> None:
    """Print one row of the comparison; the median leaves the first step, which compiles, out of account."""
    median = statistics.median(run.seconds)
    ratio = median / statistics.median(reference.seconds)
    print(f"{name:<20} {accuracy:>9.2%} {1e3 * run.seconds[0]:>10.2f} {1e6 * median:>10.1f} {ratio:>9.2f}")


def main() -> None:
    """Train with every trainer, print the comparison, draw the picture."""
    data = digits_data.load()
    print(f"{len(data.train_images)} digits to learn from, {len(data.test_images)} held out; hidden {HIDDEN}")
    trainers = make_trainers()
    runs = train(trainers, data)
    predicted = {name: trainer.predict(data.test_images) for name, trainer in trainers.items()}

    print(f"\n{'':<20} {'accuracy':>9} {'first, ms':>10} {'step, µs':>10} {'to NumPy':>9}")
    for name, run in runs.items():
        accuracy = float(np.mean(predicted[name] == data.test_labels))
        print_row(name, accuracy, run, runs[REFERENCE])

    picture = OUT / "digits.png"
    losses = {name: run.losses for name, run in runs.items()}
    digits_plot.draw(picture, losses, data.test_images, data.test_labels, list(predicted.values())[-1])
    print(f"\nwritten: {picture}")


if __name__ == "__main__":
    main()
