"""The pipeline: every pass in order, from a graph to something that can be called."""

from __future__ import annotations
