"""The call lane: compiled functions called as builtins, whose arguments machine code checks by tables."""
