"""Automatic differentiation by recording: forward and reverse mode."""

from .frontend.tape.forward_accumulator import ForwardAccumulator
from .frontend.tape.gradient_tape import GradientTape

__all__ = ["ForwardAccumulator", "GradientTape"]
