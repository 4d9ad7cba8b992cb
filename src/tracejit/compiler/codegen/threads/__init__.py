"""The thread pool as LLVM text, and how generated code asks for it."""
