"""The door, tracing and replaying, and attempts at tracing that can be taken back."""
