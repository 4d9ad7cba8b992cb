"""Specs on the command line: what is read, where a caret stands, and whatever else anybody may type."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejit.cli.failures import WrongUsage
from tracejit.cli.spec_text import parsed


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", []),
        (" ", []),
        ("f64", ["f64"]),
        ("f64[n, 3] , float32[?],i64", ["f64[n, 3]", "float32[?]", "i64"]),
        ("f64,", ["f64"]),
        ("(f64,)", [("f64",)]),
        ("(f64[2])", ["f64[2]"]),
        ("[f64, (i32[n], bool)], {}", [["f64", ("i32[n]", "bool")], {}]),
        ("{w: f64[3], 'two words': {b: f64}}", [{"w": "f64[3]", "two words": {"b": "f64"}}]),
        ("3, -2, 0.5, 1e-3, .5, True, None", [3, -2, 0.5, 1e-3, 0.5, True, None]),
    ],
)
def test_what_is_read(text: str, wanted: list[Any]) -> None:
    assert parsed(text) == wanted


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("f64[n", 3),
        ("f64[n]]", 6),
        ("f64 f64", 4),
        ("f64,,f64", 4),
        ("(f64", 4),
        ("{w f64}", 1),
        ("{w: }", 4),
        ("[f64, f65]", 6),
        ("f64[n+1]", 0),
        ("f64[-1]", 0),
        ("3x", 0),
        ("S", 0),
        ("f64, " + "9" * 5000, 5),
        ("∂", 0),
    ],
)
def test_where_the_caret_stands(text: str, column: int) -> None:
    with pytest.raises(WrongUsage) as caught:
        parsed(text)
    message, shown, caret = str(caught.value).split("\n")
    assert message.startswith("--spec: ")
    assert shown.strip() == text[: column + 60].strip() and caret == " " * (2 + column) + "^"


def test_long_text_is_shown_around_the_caret() -> None:
    with pytest.raises(WrongUsage) as caught:
        parsed("f64," * 1000 + "f65" + ",f64" * 1000)
    shown, caret = str(caught.value).split("\n")[-2:]
    assert len(shown) < 130 and shown[caret.index("^") :].startswith("f65,f64")


@given(st.one_of(st.text(), st.text("f6432inbool[](){},:?'\"-+. \n\t0", max_size=40)))
def test_whatever_is_typed(text: str) -> None:
    try:
        assert isinstance(parsed(text), list)
    except WrongUsage as error:
        assert str(error).endswith("^")
