"""Functions that are integrals or sums: the incomplete gamma and beta functions, exponential and error integrals."""
