"""Payloads: object bytes and what is known about them in one string of bytes, for caches and files."""

from __future__ import annotations

import json
from typing import Any


def pack(image: bytes, metadata: dict[str, Any]) -> bytes:
    """A payload of object bytes and JSON data."""
    text = json.dumps(metadata, sort_keys=True, separators=(",", ":")).encode()
    return len(text).to_bytes(8, "little") + text + image


def unpack(payload: bytes) -> tuple[bytes, dict[str, Any]]:
    """The inverse of `pack`; ValueError for anything else."""
    end = 8 + int.from_bytes(payload[:8], "little")
    if len(payload) < 8 or end > len(payload):
        raise ValueError("damaged payload")
    metadata = json.loads(payload[8:end])
    if not isinstance(metadata, dict):
        raise ValueError("damaged payload")
    return payload[end:], metadata
