from __future__ import annotations

import pytest

from ge_harness.backends.ge_errors import abort_reason, explain
from ge_harness.records.run import FailureKind


@pytest.mark.parametrize(("text", "kind", "words"), [
    ("[GePlugin] Initialize ge failed, ret : 1\nError Message is :\nE10001: Value O0 "
     "for parameter oo_level is invalid. The value must be O1 or O3.",
     FailureKind.INVALID_SWITCH, "must be O1 or O3"),
    ("[GePlugin] Initialize ge failed, ret : 1 no code", FailureKind.UNAVAILABLE,
     "GE does not start"),
    ("[GEOP] GE session build graph failed, Error Message is : EZ3003: no engine",
     FailureKind.COMPILE, "no engine takes an op"),
    ("[GEOP] GE session build graph failed, E99998: odd", FailureKind.COMPILE,
     "GE cannot compile"),
    ("[GEOP] call ge session RunGraphAsync Failed, EZ9999: Inner Error",
     FailureKind.RUN, "GE failed while running"),
    ("graph parse failed. ret : 7", FailureKind.COMPILE, "cannot parse the graph"),
    ("E40020: import failed", FailureKind.UNAVAILABLE, "pandas decorator"),
    ("EJ0001: HCCP start failed", FailureKind.UNAVAILABLE, "wait 10 s"),
    ("option precision_mode value 'x' is invalid, it should be one of the list:[]",
     FailureKind.INVALID_SWITCH, "precision_mode"),
    ("'precision_mode' and 'precision_mode_v2' can not be assigned at the same time.",
     FailureKind.INVALID_SWITCH, "same time"),
    ("Matrix size-incompatible", None, "Matrix"),
    ("", None, ""),
], ids=lambda value: str(value)[:30])
def test_a_text_of_ge_gives_its_kind_and_way_out(text, kind, words):
    found, said = explain(text)
    assert found is kind
    assert words in said


def test_a_code_inside_another_word_is_no_code():
    assert explain("node E10001x and XE10001 of the graph")[0] is None


def test_hostile_text_stays_on_one_short_line():
    kind, said = explain("E10001: \x1b[31m" + "x" * 100000 + "\n" * 5)
    assert kind is FailureKind.INVALID_SWITCH
    assert "\x1b" not in said
    assert "\n" not in said
    assert len(said) < 1200


@pytest.mark.parametrize(("log", "kind"), [
    ("x\nF tf_adapter ASCEND_DEVICE_ID is invalid, should be int, such as 0, 1, 2.\n",
     FailureKind.UNAVAILABLE),
    ("[GePlugin] Tdt host init failed, tdt error code : 1\n", FailureKind.UNAVAILABLE),
    ("[GePlugin] Initialize parser failed, ret : 3", FailureKind.UNAVAILABLE),
    ("F graph_run_mode value must be 0 or 1", FailureKind.INVALID_SWITCH),
    ("dump mode should be one of the list:[input, output, all]",
     FailureKind.INVALID_SWITCH),
])
def test_an_abort_is_told_from_the_log(log, kind):
    found = abort_reason(log)
    assert found is not None
    assert found[0] is kind


def test_another_abort_is_not_the_adapters():
    assert abort_reason("terminate called after throwing std::bad_alloc") is None
