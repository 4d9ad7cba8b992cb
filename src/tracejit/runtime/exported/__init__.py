"""What exported code is outside of this process: its C functions, and the file that holds it."""
