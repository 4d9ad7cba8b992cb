"""The loop IR: nests of loops over linear buffers; its statements, text, rules and meaning."""
