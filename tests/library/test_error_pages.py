"""Each page about an error shows a program that raises it, and one that does not; both run as they stand."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import pytest

import tracejit as tf

pytestmark = pytest.mark.usefixtures("no_op_stays")
PAGES = sorted((Path(__file__).resolve().parents[2] / "docs" / "errors").glob("*.md"))
#: Whose name in messages is that of a built-in error, which programs catch.
SHOWN_AS = {"NoGradient": "LookupError"}


@pytest.fixture(autouse=True)
def numerics_unchecked():
    yield
    tf.debugging.disable_check_numerics()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_runs_as_it_stands(page: Path):
    # the end of a block would be read as the end of an output
    text = re.sub(r"^```.*$", "", page.read_text(encoding="utf-8"), flags=re.M)
    test = doctest.DocTestParser().get_doctest(text, {}, page.stem, str(page), 0)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_raises_what_it_is_about(page: Path):
    raised = re.findall(r"^    \.\.\.\n(?:\w+\.)*(\w+): ", page.read_text(encoding="utf-8"), re.M)
    assert raised or page.stem == "TracejitError"
    assert {*raised} <= {SHOWN_AS.get(page.stem, page.stem)}


def test_public_errors_have_pages():
    named = [getattr(tf, name) for name in dir(tf)]
    errors = [x for x in named if inspect.isclass(x) and issubclass(x, tf.TracejitError)]
    assert {error.__name__ for error in errors} <= {page.stem for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_programs_can_catch_it_by_its_name(page: Path):
    home = next(home for home in (tf.errors, tf.train, tf.queue) if page.stem in dir(home))
    assert issubclass(getattr(home, page.stem), tf.errors.TracejitError)
