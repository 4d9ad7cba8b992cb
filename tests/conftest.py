"""What every test may rely on: an object cache of its own, golden files, property tests that repeat exactly.

Knows nothing of the compiler: tests of one piece must not fail because of another through this file.
"""

from __future__ import annotations

import difflib
import gc
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

GRAPHS = Path(__file__).parent / "graphs"

# The same examples on every machine and every run: a failure in CI is a failure here. The thorough profile
# (HYPOTHESIS_PROFILE=thorough) looks further, also without a clock: shared machines are slow at random.
settings.register_profile(
    "default", max_examples=50, derandomize=True, deadline=None, database=None, print_blob=True
)
settings.register_profile(
    "thorough",
    max_examples=2000,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# A shell's background jobs and nohup ignore Ctrl-C, and so would every program that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

CACHE = pytest.StashKey[str]()
GOLDEN_OWNERS = pytest.StashKey[dict[Path, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--update-golden`` and ``--exhaustive``."""
    parser.addoption(
        "--exhaustive",
        action="store_true",
        help="run whole the families of tests of which a sample runs otherwise: mark sampled",
    )
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the files in tests/graphs instead of comparing with them",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Give this run an empty object cache, before tracejit or a child process can look for the user's own."""
    config.stash[CACHE] = tempfile.mkdtemp(prefix="tracejit-test-cache-")
    config.stash[GOLDEN_OWNERS] = {}
    os.environ["TRACEJIT_CACHE_DIR"] = config.stash[CACHE]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the object cache of this run."""
    shutil.rmtree(config.stash[CACHE], ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Let garbage collections pass over the tests themselves: so many of them take half a second each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave a sample of each family marked ``sampled(n)``, unless ``--exhaustive``: one test in n.

    The same ones on every machine, spread over all parameters by the hash of their names. Where single tests are asked
    for (``file::test``), all of them run.
    """
    if config.getoption("--exhaustive") or any("::" in argument for argument in config.args):
        return
    families: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        if mark := item.get_closest_marker("sampled"):
            families.setdefault((item.nodeid.partition("[")[0], *mark.args), []).append(item)
    left_out: set[pytest.Item] = set()
    for (_, n), family in families.items():
        ordered = sorted(family, key=lambda item: (crc32(item.nodeid.encode()), item.nodeid))
        left_out.update(item for i, item in enumerate(ordered) if i % n)
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Let garbage collections pass over what the tests of a file leave behind: caches, modules, code.

    They grow with every file, and looking through all of them took a tenth of the run's processor time.
    """
    yield
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def no_body_is_traced_twice() -> Iterator[None]:
    """Fail a test in which a body was traced again while what the first time did still stood."""
    from tracejit.core import seams

    found: list[str] = []
    seams.traced_again.on(found.append)
    yield
    seams.traced_again.listeners.remove(found.append)
    assert not found, found[0]


@pytest.fixture(autouse=True)
def operators_change_between_tests() -> Iterator[None]:
    """Let operators become machine code after the test in which they have been called often enough, not within it.

    How often they were called before depends on what else ran in the process; a test that counts bytes, objects or
    references would count what this loads.
    """
    from tracejit.core import seams

    hot: list[bool] = []
    seam, later = seams.operators_are_hot, hot.append
    given = seam.provided
    seam.provide(later)
    yield
    if seam.provided is later:
        seam.provide(given)
    for very in hot:
        seam(very)


@pytest.fixture(autouse=True)
def draws_of_its_own(request: pytest.FixtureRequest) -> Iterator[None]:
    """Seed the generators of a test's module by the test's name: what it draws does not depend on those before it."""
    names = vars(request.module)
    before = {name: value for name, value in names.items() if isinstance(value, np.random.Generator)}
    for name in before:
        names[name] = np.random.default_rng(crc32(request.node.name.encode()))
    yield
    names.update(before)


@pytest.fixture
def no_op_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let ops that examples declare be gone afterwards."""
    from tracejit.core.op import OPS

    monkeypatch.setattr("tracejit.frontend.transforms.registering._registered", {})
    before = set(OPS)
    yield
    for name in set(OPS) - before:
        del OPS[name]


@pytest.fixture
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty object cache directory that only this test sees."""
    path = tmp_path / "cache"
    path.mkdir()
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(path))
    return path


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return ``golden(text, suffix="graph")``: compare text with ``tests/graphs/<test name>.<suffix>``.

    With ``--update-golden`` the file is written instead. A missing file fails, so that a golden test cannot
    pass by having nothing to compare with.
    """
    update = request.config.getoption("--update-golden")
    owners = request.config.stash[GOLDEN_OWNERS]

    def golden(text: str, suffix: str = "graph") -> None:
        path = GRAPHS / f"{file_name(request.node.name)}.{suffix}"
        owner = owners.setdefault(path, request.node.nodeid)
        assert owner == request.node.nodeid, f"{owner} compares with {path.name} too: rename one of the tests"
        text = text if text.endswith("\n") else text + "\n"
        if update:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        difference = golden_difference(path, text)
        if difference:
            pytest.fail(difference, pytrace=False)

    return golden


def file_name(test: str) -> str:
    """Return the name of a test as it may stand in a file name on every system."""
    return re.sub(r"[^\w.-]+", "-", test).strip("-")


def golden_difference(path: Path, text: str) -> str:
    """Return what differs between a golden file and the text produced now, or an empty string."""
    remedy = "If the new text is right, run: pytest --update-golden"
    if not path.exists():
        return f"No golden file {path}.\n{remedy}\nProduced:\n{text}"
    wanted = path.read_text(encoding="utf-8")
    if wanted == text:
        return ""
    lines = difflib.unified_diff(
        wanted.splitlines(), text.splitlines(), f"{path.name} (golden)", f"{path.name} (now)", lineterm=""
    )
    return "\n".join([*lines, remedy])
