"""What variables hold in branches and loops: numbers, lists, aliases, and what loops go over."""
