"""From graphs to loop programs: each node becomes a nest, a view, or a structure."""
