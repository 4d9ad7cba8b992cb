"""What is checked of every op, as functions of a case; `test_every_op.py` applies them to the registry."""
