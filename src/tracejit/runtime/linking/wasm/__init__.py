"""WebAssembly: objects are read and linked to modules that import nothing."""
