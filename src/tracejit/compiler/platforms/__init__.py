"""What processors and systems lack, as code: routines, memory. Knows nothing of programs."""
