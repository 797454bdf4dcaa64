from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.port_name import of_tensor, safe, unique

_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=200), max_size=8))
def test_names_are_safe_short_and_unique_whatever_goes_in(texts):
    taken = set()
    names = [unique(text, taken) for text in texts]
    assert len({name.lower() for name in names}) == len(texts)
    for name in names:
        assert _SAFE.fullmatch(name)
        assert len(name) <= 100
        assert ".." not in (name[:2], name)


def test_good_names_stay_as_they_are():
    assert safe("serving_default_x") == "serving_default_x"
    assert unique("y", set()) == "y"


def test_hostile_names_become_harmless():
    assert safe("../../etc/passwd") == "etc_passwd"
    assert safe("\x1b[31m") == "31m"
    assert safe("") == "tensor"
    assert safe("a" * 300) != safe("a" * 301)


def test_names_that_differ_in_case_alone_are_told_apart():
    taken = {"x"}
    assert unique("X", taken) == "X_2"
    assert unique("x", taken) == "x_3"


def test_a_tensor_is_called_by_its_node():
    assert of_tensor("a/b:0") == "a/b"
    assert of_tensor("split:2") == "split_2"
