"""Every op of the registry under its type name: ``tracejit.raw_ops.Add``. Names only."""

from typing import Any

from .inspect.registry import by_type_name, gradient_table, type_names


def __getattr__(name: str) -> Any:
    return by_type_name(name)


def __dir__() -> list[str]:
    return [*type_names(), "gradient_table"]
