"""``tracejit info`` and ``tracejit cache``: what is on this machine. Loads neither NumPy nor most of the package."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from typing import Any

from ..runtime import cpu, diskcache
from .failures import Failed
from .main import Result, version

#: What is asked of other packages: what is needed, and what is used where it is there.
_NEEDED = ("numpy", "llvmlite", "networkx")
_EXTRAS = ("scipy", "ml_dtypes", "dask", "cloudpickle", "tqdm", "matplotlib", "ipython")


def info_(options: argparse.Namespace) -> Result:
    """Versions, the processor, the cache, what else is installed."""
    found = _installed()
    packages = {name: found.get(name) for name in (*_NEEDED, *_EXTRAS)}
    processor, cached = _processor(), _cached()
    data = {
        "tracejit": version(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "packages": packages,
        "cpu": processor,
        "cache": cached,
    }
    needed, extras = (
        ", ".join(f"{name} {packages[name] or '(not installed)'}" for name in names)
        for names in (_NEEDED, _EXTRAS)
    )
    return data, "\n".join(
        [
            f"tracejit   {data['tracejit']}, Python {data['python']}, {data['system']}",
            f"needs      {needed}",
            f"extras     {extras}",
            f"processor  {processor['name']}; runs {', '.join(processor['levels']) or 'no code of tracejit'}",
            f"cache      {_cache_text(cached)}",
        ]
    )


def cache_(options: argparse.Namespace) -> Result:
    """Where compiled code is kept: the place, how much is there, or nothing left of it."""
    data = _cached()
    if options.action == "path":
        return {"path": data["path"]}, data["path"]
    if options.action == "info":
        return data, _cache_text(data)
    cache = _cache()
    if not cache.is_safe():
        raise Failed(f"{cache.root} is not this user's alone: nothing was removed")
    cache.clear()
    left, _ = cache.usage()
    if left:
        raise Failed(f"{left} files could not be removed from {cache.root}")
    removed = {"path": data["path"], "removed": data["entries"], "bytes": data["bytes"]}
    return removed, f"removed {data['entries']} entries, {data['bytes']:,} bytes, from {data['path']}"


def _installed() -> dict[str, str]:
    """Package to version, by the names of the folders that installers leave; ``importlib.metadata`` loads for 20 ms."""
    found: dict[str, str] = {}
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            package, _, version = name.removesuffix(".dist-info").partition("-")
            if name.endswith(".dist-info"):
                found.setdefault(package.lower(), version)
    return found


def _processor() -> dict[str, Any]:
    try:
        machine = cpu.host()
    except RuntimeError:  # another architecture
        return {"arch": platform.machine(), "name": platform.machine(), "levels": [], "features": []}
    levels = [level for level in cpu.LEVELS if cpu.baseline(level).runs_on(machine)]
    return {
        "arch": machine.arch,
        "name": cpu.model_name() or machine.arch,
        "levels": levels,
        "features": sorted(machine.enabled),
    }


def _cache() -> diskcache.DiskCache:
    try:
        return diskcache.DiskCache(diskcache.folder())
    except RuntimeError:
        raise Failed("there is no home directory to keep code in: set TRACEJIT_CACHE_DIR") from None


def _cached() -> dict[str, Any]:
    cache = _cache()
    entries, size = cache.usage()
    return {"path": str(cache.root), "entries": entries, "bytes": size, "limit": cache.limit}


def _cache_text(data: dict[str, Any]) -> str:
    return f"{data['path']}: {data['entries']} entries, {data['bytes']:,} of at most {data['limit']:,} bytes"
