"""Variables: their values, first values, parts and sparse updates."""
