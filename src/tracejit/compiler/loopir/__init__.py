"""The loop IR: nests of loops over linear buffers; its statements, text, rules and meaning."""

LOCAL_ELEMENTS = 32
"""Arrays of at most so many elements, inside of loops and branches, are no buffers in memory."""
