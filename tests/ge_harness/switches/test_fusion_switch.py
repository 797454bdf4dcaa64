from __future__ import annotations

import json

import pytest

from ge_harness.errors import SwitchError
from ge_harness.switches.fusion_switch import (
    fresh_file_name,
    parse_fusion_switch,
    parse_optimization_switch,
    write_fusion_switch,
    write_optimization_switch,
)


def test_a_switch_file_is_json_with_all_first():
    text = write_fusion_switch({"B": True, "ALL": False, "A": False}, {"ALL": False})
    data = json.loads(text)
    assert data == {"Switch": {
        "GraphFusion": {"ALL": "off", "A": "off", "B": "on"},
        "UBFusion": {"ALL": "off"}}}
    assert list(data["Switch"]["GraphFusion"]) == ["ALL", "A", "B"]
    parsed = parse_fusion_switch(text, "x")
    assert parsed.graph == (("A", False), ("ALL", False), ("B", True))


def test_a_file_name_belongs_to_one_content():
    first = fresh_file_name(write_fusion_switch({"A": False}, {}))
    second = fresh_file_name(write_fusion_switch({"A": True}, {}))
    assert first != second
    assert first == fresh_file_name(write_fusion_switch({"A": False}, {}))


@pytest.mark.parametrize("states", [{"ALL": True}, {"a b": False}, {"": False},
                                    {"a:b": False}, {"a;b": True}, {"a\n": True}])
def test_a_switch_file_takes_no_wrong_name_or_state(states):
    with pytest.raises(SwitchError):
        write_fusion_switch(states, {})


@pytest.mark.parametrize("text", [
    "", "  \n", '{"Switsh": {}}', '{"Switch": {"GraphFusion": {"A": "yes"}}}',
    '{"Switch": {"Graph": {}}}', '{"Switch": []}', "{", "[" * 5000,
    '{"Switch": {"GraphFusion": {"A": "on", "A": "off"}}}', "A:on\nA:off\n", "A\n",
    "A:maybe\n", '{"ExceptionalPassOfO1Level": "A"}', "{" * 100000,
])
def test_what_fails_the_start_of_ge_is_refused(text):
    with pytest.raises(SwitchError):
        parse_fusion_switch(text, "switch.cfg")


def test_the_flat_form_counts_for_both_kinds():
    parsed = parse_fusion_switch("ALL:off\nMyPass:on\n", "x")
    assert parsed.graph == parsed.ub == (("ALL", False), ("MyPass", True))


@pytest.mark.parametrize(("end", "text"), [
    (False, "A:off;B:on"), (True, "A:off;B:on;")])
def test_a_switch_string_is_one_line_without_blanks(end, text):
    assert write_optimization_switch([("A", False), ("B", True)], end=end) == text
    assert write_optimization_switch([], end=end) == ""


def test_one_pass_cannot_be_on_and_off():
    with pytest.raises(SwitchError):
        write_optimization_switch([("A", False), ("A", True)])


@pytest.mark.parametrize(("text", "acting"), [
    ("A:off;B:on", [("A", False), ("B", True)]),
    ("A:off;", [("A", False)]),
    ("A:off; B:on", [("A", False)]),
    ("A: off", []),
    ("A:Off", []),
    ("A", []),
    (":on", []),
    ("ge.oo.level:on", []),
    ("A:on;A:off", [("A", False)]),
    ("A:offforbidden_close_pass:on", []),
    ("A:off;forbidden_close_pass:on", [("A", False), ("forbidden_close_pass", True)]),
])
def test_a_switch_string_is_read_as_ge_reads_it(text, acting):
    tokens = parse_optimization_switch(text)
    assert [(one.name, one.on) for one in tokens if not one.lost] == acting
    assert "".join(text.split(";")) == "".join(one.text for one in tokens)
