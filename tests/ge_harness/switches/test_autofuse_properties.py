from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ge_harness.switches.autofuse_config import read_config
from ge_harness.switches.autofuse_flags import parse_flags
from ge_harness.switches.autofuse_keys import DFX_FLAGS, FLAGS, KEYS

_KEY = st.sampled_from(sorted(KEYS) + [name.lstrip("-") for name in sorted(KEYS)])
_VALUE = st.one_of(
    st.sampled_from(["true", "false", "True", "1", "reduce", "reduce,concat", "all",
                     "Add,Mul.", "reduce, concat", "0", "300", "12,", "/tmp/x", ""]),
    st.text(max_size=12))
_ENTRY = st.one_of(
    st.tuples(_KEY, st.sampled_from(["=", " = ", "==", ""]), _VALUE).map("".join),
    st.text(max_size=20))
_TEXT = st.lists(_ENTRY, max_size=6).map(";".join)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(_TEXT, st.sampled_from([FLAGS, DFX_FLAGS]), st.sampled_from(["", "910b", "950"]))
def test_the_canonical_form_means_the_same_and_is_stable(text, variable, chip):
    report = parse_flags(text, variable, chip)
    again = parse_flags(report.canonical, variable, chip)
    assert again.canonical == report.canonical
    assert _held(again.canonical, variable) == _held(text, variable)
    assert again.gate_open == report.gate_open


@settings(max_examples=100, derandomize=True, deadline=None)
@given(_TEXT)
def test_a_suggestion_always_works(text):
    report = parse_flags(text)
    assert not (report.works and report.suggestion)
    if report.suggestion:
        assert parse_flags(report.suggestion).works


@settings(max_examples=100, derandomize=True, deadline=None)
@given(_TEXT)
def test_every_entry_is_accounted_for(text):
    report = parse_flags(text)
    assert [item.text for item in report.items] == [
        part for part in text.split(";") if part]
    for item in report.items:
        assert item.status in ("acts", "inert", "lost")
        if item.status == "lost":
            assert item.issues


def _held(text, variable):
    config = read_config(*((text, "") if variable == FLAGS else ("", text)))
    plain = {name: value for name, value in config.__dict__.items() if name != "extra"}
    plain["extra"] = dict(config.extra)
    return plain
