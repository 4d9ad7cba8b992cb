"""Of a family of tests that is marked ``sampled`` a part runs: the same everywhere, and all of it when asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest


@dataclass(frozen=True)
class Named:
    """An item, as far as the choice looks at it."""

    nodeid: str
    marks: dict[str, pytest.Mark] = field(default_factory=dict, compare=False)

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.marks.get(name)


def family(name: str, count: int, n: int | None = None) -> list[Named]:
    marks = {} if n is None else {"sampled": pytest.Mark("sampled", (n,), {}, _ispytest=True)}
    return [Named(f"tests/test_x.py::{name}[{i}]", marks) for i in range(count)]


def chosen(request, items, exhaustive=False, arguments=("tests",)) -> tuple[list[Named], list[Named]]:
    plugins = request.config.pluginmanager.get_plugins()
    [choose] = [p.pytest_collection_modifyitems for p in plugins if hasattr(p, "golden_difference")]
    left, out = list(items), []
    hook = SimpleNamespace(pytest_deselected=lambda items: out.extend(items))
    config = SimpleNamespace(getoption=lambda _: exhaustive, args=list(arguments), hook=hook)
    choose(config, left)
    return left, out


def test_one_in_n_runs_and_whatever_is_not_marked(request):
    plain, marked, small = family("plain", 5), family("marked", 10, 3), family("small", 2, 3)
    left, out = chosen(request, [*plain, *marked, *small])
    assert left[:5] == plain
    assert sum(item in marked for item in left) == 4
    assert sum(item in small for item in left) == 1
    assert sorted(item.nodeid for item in [*left, *out]) == sorted(
        item.nodeid for item in [*plain, *marked, *small]
    )


def test_the_sample_does_not_depend_on_order_or_neighbours(request):
    marked = family("marked", 20, 2)
    left, _ = chosen(request, marked)
    turned, _ = chosen(request, [*family("other", 3, 2), *marked[::-1]])
    assert set(left) == set(turned) & set(marked)


def test_all_run_when_asked_for(request):
    marked = family("marked", 20, 2)
    assert chosen(request, marked, exhaustive=True) == (marked, [])
    assert chosen(request, marked, arguments=["tests/test_x.py::marked[3]"]) == (marked, [])
