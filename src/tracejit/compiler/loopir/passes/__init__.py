"""Passes on loop programs, one a file."""
