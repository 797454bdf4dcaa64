from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_harness.errors import SwitchError, UsageError
from ge_harness.switches.skip_node_names import (
    SkipNodeNames,
    parse_skip,
    read_skip_file,
    write_skip,
)


def test_lines_are_read_as_ge_reads_them():
    text = ("before\r\n# comment\n[ByNodeType]\n  ReduceSum\t\r\n\n[ ByNodeName ]\n"
            "layer/add\nlayer/add\na=b\n[bynodename]\nlost\n[x\n")
    skip, warnings = parse_skip(text)
    assert skip == SkipNodeNames(("ReduceSum",), ("layer/add", "a=b"))
    assert len(warnings) == 2
    assert "line 1" in warnings[0]
    assert "did you mean [ByNodeName]" in warnings[1]


def test_the_types_of_tensorflow_are_told_from_those_of_ge():
    _, warnings = parse_skip("[ByNodeType]\nSum\n")
    assert "GE's is ReduceSum" in warnings[0]


def test_a_file_that_skips_nothing_says_so():
    assert parse_skip("")[1] == ("nothing is skipped",)
    assert "nothing is skipped" in parse_skip("\ufeff[ByNodeType]\nAdd\n")[1][-1]


@pytest.mark.parametrize("name", ["", " a", "a\nb", "#a", "[a]", "a\r"])
def test_a_name_no_line_can_hold_is_refused(name):
    with pytest.raises(SwitchError):
        write_skip(SkipNodeNames(names=(name,)))


def test_a_file_is_read_and_a_missing_one_is_an_error(tmp_path):
    path = tmp_path / "skip.ini"
    path.write_bytes(b"[ByNodeName]\nn\xff\n")
    assert read_skip_file(path)[0].names == ("n\udcff",)
    with pytest.raises(UsageError, match="skip nothing"):
        read_skip_file(tmp_path / "none.ini")


_NAMES = st.lists(st.text(min_size=1, max_size=10), max_size=4, unique=True)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(_NAMES, _NAMES)
def test_what_is_written_is_read_back(types, names):
    skip = SkipNodeNames(tuple(types), tuple(names))
    try:
        text = write_skip(skip)
    except SwitchError:
        return
    assert parse_skip(text)[0] == skip
