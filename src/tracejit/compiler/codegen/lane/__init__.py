"""The call lane's machine code: one function for all compiled functions, which reads tables."""
