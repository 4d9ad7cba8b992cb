"""Threads that compiled code shares its work with."""
