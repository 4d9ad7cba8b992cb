"""Graph in, data out: simplify, partition, lower to loops, fuse, schedule, assign buffers, emit."""
