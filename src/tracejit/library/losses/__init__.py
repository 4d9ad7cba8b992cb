"""Losses: how far predictions are from what was wanted, by the formulas of Keras."""
