"""The picture of the digits example: loss curves, and digits of the test set with what was predicted.

Knows nothing of the network; draws into a file, never on a screen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

SAMPLES = 24
WINDOW = 21


def draw(
    path: Path,
    losses: Mapping[str, Sequence[float]],
    images: np.ndarray,
    labels: np.ndarray,
    predicted: np.ndarray,
) -> None:
    """Write a PNG of the loss of every trainer by step and of test digits, the mistakes first, in red."""
    figure = Figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[1.15, 1]).flat
    draw_losses(left.subplots(), losses)
    right.suptitle(f"{np.mean(predicted == labels):.1%} of {len(labels)} test digits right", fontsize=11)
    order = np.argsort(predicted == labels, kind="stable")[:SAMPLES]
    for axes, index in zip(right.subplots(4, 6).flat, order, strict=True):
        draw_digit(axes, images[index], int(labels[index]), int(predicted[index]))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def draw_losses(axes: Axes, losses: Mapping[str, Sequence[float]]) -> None:
    """Draw one curve per trainer; they start from the same parameters, so they should lie on each other."""
    styles = [("-", 6.0, 0.35), ("--", 2.4, 1.0), ("-", 1.0, 1.0)]
    for index, (name, values) in enumerate(losses.items()):
        if index == 0:
            axes.semilogy(values, color="0.5", linewidth=0.4, alpha=0.4, label="each step")
        style, width, alpha = styles[index % len(styles)]
        smooth = np.convolve(values, np.ones(WINDOW) / WINDOW, mode="valid")
        steps = np.arange(len(smooth)) + WINDOW // 2
        axes.semilogy(steps, smooth, style, linewidth=width, alpha=alpha, label=name)
    axes.set(xlabel="step", ylabel="cross-entropy of the batch", title=f"Training, means of {WINDOW} steps")
    axes.grid(alpha=0.3)
    axes.legend()


def draw_digit(axes: Axes, image: np.ndarray, label: int, predicted: int) -> None:
    """Draw one scanned digit under what was predicted."""
    axes.imshow(image.reshape(8, 8), cmap="gray_r", interpolation="nearest")
    axes.set_axis_off()
    right = predicted == label
    text = f"{predicted}" if right else f"{predicted}, is {label}"
    axes.set_title(text, fontsize=9, color="black" if right else "crimson")
