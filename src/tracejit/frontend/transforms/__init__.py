"""Derivatives, batches and rules of functions, as functions."""
