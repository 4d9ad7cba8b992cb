"""From objects that a compiler made to one that can be loaded, linked or shared, without a linker."""
