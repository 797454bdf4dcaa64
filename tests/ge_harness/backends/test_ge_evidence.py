from __future__ import annotations

import json

import pytest

from ge_harness.backends import ge_evidence, ge_kernels
from ge_harness.backends.base import BackendFailure
from ge_harness.records.inspection import Evidence, PassFinding, PassReport
from ge_harness.records.run import FailureKind
from ge_harness.records.switch import Switch, SwitchSetting, SwitchValue
from ge_harness.switches.ge_plan import plan_ge

OFF = Switch("ge", "CastRemovePass")
SETTING = SwitchSetting("O3", off=(OFF,), values=(
    SwitchValue(Switch("autofuse", "AUTOFUSE_FLAGS"), "--enable_autofuse=true"),))
NAME = "ge_proto_00000009_graph_1_Build.txt"


def _plan(folder):
    return plan_ge(SETTING, "tf1", str(folder))


def _attribute(block, options):
    pairs = "".join(
        f'        attr {{\n          key: "{name}"\n          value {{\n'
        f'            s: "{value}"\n          }}\n        }}\n'
        for name, value in sorted(options.items()))
    return (f'  attr {{\n    key: "{block}"\n    value {{\n      func {{\n{pairs}'
            "      }\n    }\n  }\n")


def _write(folder, options, op_type="AscBackend", name=NAME):
    folder.mkdir(parents=True, exist_ok=True)
    text = ('name: "m"\ngraph {\n  name: "g"\n  op {\n    name: "f"\n'
            f'    type: "{op_type}"\n  }}\n{_attribute("SessionOptions", options)}}}\n')
    (folder / name).write_text(text)
    return text


def _found(folder, **changed):
    plan = _plan(folder)
    _write(folder, {**dict(plan.ge_options), **changed})
    (folder / "ge_proto_00000003_graph_1_AutofuseOptimize_Entry.txt").write_text("")
    return plan, ge_evidence.GeDumps(folder, plan)


def _effects(plan, found, report=PassReport()):  # noqa: B008 - frozen
    return {effect.switch.name: effect for effect in ge_evidence.effects(
        plan, SETTING, found, report)}


def test_what_ge_holds_as_sent_is_proved_with_the_dump_that_says_so(tmp_path):
    plan, found = _found(tmp_path)
    effects = _effects(plan, found)
    assert {effect.status for effect in effects.values()} == {"proved"}
    assert NAME in effects["ge.oo.level"].evidence
    assert "not among the active passes" in effects["CastRemovePass"].evidence
    assert "1 fused operators" in effects["AUTOFUSE_FLAGS"].evidence
    found.refuse_other_options()


def test_a_pass_switched_off_and_seen_active_is_not_proved_off(tmp_path):
    plan, found = _found(tmp_path)
    seen = PassFinding(
        "ge", "CastRemovePass", True, "O3", "upcast", "certain", "", "", (
            Evidence("stage difference", "a Cast went", "x.txt"),), "seen",
        "precision-affecting", "")
    effect = _effects(plan, found, PassReport((seen,)))["CastRemovePass"]
    assert effect.status == "unproved"
    assert "a Cast went" in effect.evidence


def test_what_autofuse_was_told_is_not_proved_by_an_option_of_ge(tmp_path):
    plan, found = _found(tmp_path)
    setting = SwitchSetting("O3", off=(
        Switch("node", "f"), Switch("node", "lost"), Switch("node", "type:ReduceSum"),
        Switch("autofuse", "Lifting")))
    effects = {effect.switch.name: effect for effect in ge_evidence.effects(
        plan, setting, found, PassReport())}
    assert effects["f"].status == "proved"
    assert "operator of its own" in effects["f"].evidence
    for name in ("lost", "type:ReduceSum", "Lifting"):
        assert effects[name].status == "unproved"
        assert "no dump names" in effects[name].evidence


@pytest.mark.parametrize(("name", "value"), [
    ("ge.oo.level", "O1"), ("ge.optimizationSwitch", "forbidden_close_pass:on"),
    ("ge.exec.precision_mode_v2", "fp16"), ("ge.deterministic", "0")])
def test_another_value_of_a_deciding_option_is_a_clear_no(tmp_path, name, value):
    plan, found = _found(tmp_path, **{name: value})
    with pytest.raises(BackendFailure) as caught:
        found.refuse_other_options()
    assert caught.value.kind is FailureKind.INVALID_SWITCH
    assert name in str(caught.value)
    assert any(note.startswith("NOT AS SENT") for note in found.notes)
    assert _effects(plan, found)[name].status == "unproved"


def test_another_value_of_a_lesser_option_is_a_note_only(tmp_path):
    _, found = _found(tmp_path, **{"ge.exportCompileStat": "1"})
    found.refuse_other_options()
    assert "ge.exportCompileStat" in found.notes[0]


def test_half_a_dump_never_refuses_a_run(tmp_path):
    plan = _plan(tmp_path)
    whole = _write(tmp_path, {**dict(plan.ge_options), "ge.oo.level": "O1"})
    for cut in range(0, len(whole), 97):
        (tmp_path / NAME).write_text(whole[:cut])
        ge_evidence.GeDumps(tmp_path, plan).refuse_other_options()


def test_without_a_dump_nothing_is_proved_and_that_is_said(tmp_path):
    plan = _plan(tmp_path)
    found = ge_evidence.GeDumps(tmp_path, plan)
    effects = _effects(plan, found)
    assert {effect.status for effect in effects.values()} == {"unproved"}
    assert effects["ge.oo.level"].evidence == "no graph dump was written"
    assert "gate was closed" not in effects["AUTOFUSE_FLAGS"].evidence


def test_dumps_without_a_stage_of_autofuse_show_a_closed_gate(tmp_path):
    plan = _plan(tmp_path)
    _write(tmp_path, dict(plan.ge_options), op_type="Abs")
    found = ge_evidence.GeDumps(tmp_path, plan)
    assert "gate was closed" in _effects(plan, found)["AUTOFUSE_FLAGS"].evidence


def test_a_folder_without_anything_readable_is_a_note(tmp_path):
    report, notes = ge_evidence.inspect(tmp_path)
    assert report == PassReport()
    assert notes[0].startswith("no dump can be read")


def _kernel(folder, name, digest, **fields):
    folder.mkdir(parents=True, exist_ok=True)
    body = {"binFileName": name, "kernelName": f"{name}__kernel0", "sha256": digest}
    (folder / f"{name}.json").write_text(json.dumps({**body, **fields}))


def test_kernels_come_from_the_cache_first(tmp_path):
    chip = tmp_path / "cache" / "kernel_cache" / "Ascend910B3"
    _kernel(chip, "te_abs_1", "A" * 64)
    _kernel(chip, "libautofuse_0", "b" * 64, binFileSuffix=".so")
    beside = tmp_path / "work" / "kernel_meta" / "kernel_meta_7" / "kernel_meta"
    _kernel(beside, "te_abs_1", "c" * 64)
    _kernel(beside, "te_exp_2", "d" * 64)
    assert ge_kernels.kernel_hashes(tmp_path) == (
        ("kernel/libautofuse_0", "b" * 64), ("kernel/te_abs_1", "a" * 64),
        ("kernel/te_exp_2", "d" * 64))
    assert ge_kernels.chip_of(tmp_path) == "Ascend910B3"


def test_what_is_no_kernel_description_is_passed_over(tmp_path):
    cache = tmp_path / "cache"
    _kernel(cache, "short", "12")
    _kernel(cache, "te_pre", "a" * 64)
    (cache / "te_pre.json").rename(cache / "te_abs_pre.json")
    (cache / "broken.json").write_text("{" * 5000)
    (cache / "list.json").write_text("[1]")
    (cache / "bytes.json").write_bytes(b"\xff\xfe\x00")
    assert ge_kernels.kernel_hashes(tmp_path) == ()
    assert ge_kernels.chip_of(tmp_path) == ""
