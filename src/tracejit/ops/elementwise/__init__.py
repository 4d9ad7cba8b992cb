"""Ops that treat each element by itself, with broadcasting."""
