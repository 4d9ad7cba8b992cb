"""What compiled functions look like: pictures of graphs, the registry of ops, progress."""
