"""The metrics of a network as one, for programs that write a training step of their own."""

from __future__ import annotations

from typing import Any


class Metrics:
    """What ``self.compiled_metrics`` is in a step: the metrics that :meth:`Model.compile` was given."""

    def __init__(self, trainer: Any):
        self._trainer = trainer

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Take a batch of labels and predictions into account."""
        self._trainer.compute_metrics(None, y_true, y_pred, sample_weight)

    @property
    def metrics(self) -> list[Any]:
        """All of them, without the mean of the loss."""
        return [metric for metric in self._trainer.metrics if metric is not self._trainer._loss_tracker]

    def reset_state(self) -> None:
        """Begin again."""
        for metric in self.metrics:
            metric.reset_state()
