"""Graphs: closed SSA programs, their text, and what of them nobody needs."""
