"""Python functions traced into the graphs that ops hold, and loops made of them."""
