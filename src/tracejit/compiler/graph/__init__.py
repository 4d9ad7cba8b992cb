"""Passes on graphs: rules, what to keep and what to compute again, loops made of loops, partition."""
