"""Arrays in order, and as sets."""
