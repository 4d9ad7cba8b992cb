"""``function``: traces per signature, and what a call of one needs."""
