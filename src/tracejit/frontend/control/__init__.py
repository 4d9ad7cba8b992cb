"""Control flow as functions: loops, folds, branches, and reductions."""
