"""Loops whose gradient keeps few of the carries and computes the others again."""
