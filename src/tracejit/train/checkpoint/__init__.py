"""Checkpoints: values of Variables in files that are either whole or not there."""
