"""NumPy's statistics: averages and covariances, order statistics, counts, and what passes over NaN."""
