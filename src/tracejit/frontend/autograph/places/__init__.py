"""Where values are that branches and loops change: names, attributes, and all else that code can reach."""
