"""Untrusted text reaches a terminal harmlessly; tables line up."""

from __future__ import annotations

import pytest

from ge_harness.report import plain


@pytest.mark.parametrize("text", ["a\nb", "\x1b[31mred", "a\rb", "\u202egpj.exe",
                                  "\x00", "\x9b1m", "\ud800"])
def test_no_control_character_survives(text):
    shown = plain.printable(text)
    assert shown.isprintable()
    assert "\\" in shown


def test_long_text_is_shortened_in_its_middle():
    shown = plain.printable("a" * 100000 + "z", 100)
    assert len(shown) < 140
    assert shown.startswith("aaa")
    assert shown.endswith("z")


def test_numbers_go_right_and_none_is_a_dash():
    text = plain.table(("name", "n"), [("a", 1), ("bb", None), ("c", 1000)])
    assert text == ("name     n\n----  ----\na        1\nbb       -\nc     1000\n")


def test_a_table_without_rows_keeps_its_headings():
    assert plain.table(("a", "b"), []).startswith("a  b\n")


def test_a_renderer_draws_inside_its_context_only():
    with plain.rendering(lambda columns, rows, right: f"{columns}{rows}{right}"):
        assert plain.table(("a",), [(1,)]) == "('a',)[['1']][True]"
    assert plain.table(("a",), [(1,)]) == "a\n-\n1\n"
