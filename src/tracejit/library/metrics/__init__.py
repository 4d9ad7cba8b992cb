"""Metrics: numbers gathered over many batches, such as means and rates of success."""
