"""Derivatives of recorded calls, backwards and forwards, and graphs run on many examples at once."""
