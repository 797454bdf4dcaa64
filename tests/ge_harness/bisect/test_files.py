"""The set as files: what is written is what the compilers read."""

from __future__ import annotations

from pathlib import Path

import pytest

from ge_harness.bisect import files
from ge_harness.errors import SwitchError, UsageError
from ge_harness.records.switch import Switch, SwitchSetting, SwitchValue
from ge_harness.switches import xla_flags
from ge_harness.switches.fusion_switch import (
    parse_fusion_switch,
    parse_optimization_switch,
)
from ge_harness.switches.skip_node_names import parse_skip

GATE = "--enable_autofuse=true"
OPEN = SwitchSetting(values=(SwitchValue(Switch("autofuse", "AUTOFUSE_FLAGS"), GATE),))


def test_ge_gets_every_kind_of_file_and_a_session_that_names_them(tmp_path):
    written = files.write("ge", OPEN, (
        Switch("ge", "CastRemovePass"),
        Switch("graph_fusion", "RealDiv2MulsFusionPass"), Switch("node", "Add_1"),
        Switch("autofuse", "--max_fusion_size")), tmp_path)
    found = written.files
    names = {token.name: token.on for token in parse_optimization_switch(
        found.optimization_switch.content.strip())}
    assert names == {"CastRemovePass": False, "RealDiv2MulsFusionPass": False}
    switch = parse_fusion_switch(found.fusion_switch_cfg.content, "file")
    assert dict(switch.graph) == {"RealDiv2MulsFusionPass": False}
    skip, warnings = parse_skip(found.skip_node_names_cfg.content)
    assert (skip.names, warnings) == (("Add_1",), ())
    assert found.autofuse_flags.content == (
        f"export AUTOFUSE_FLAGS='{GATE};--max_fusion_size=0'\n")
    skip_path = found.skip_node_names_cfg.path
    assert dict(written.variables) == {
        "AUTOFUSE_FLAGS": f"{GATE};--max_fusion_size=0",
        "AUTOFUSE_DFX_FLAGS": f"--skip_node_names_cfg={skip_path}"}
    session = found.session_config.content
    assert "parameter_map['optimization_switch'].s = b'CastRemovePass:off;" in session
    compile(session, "session", "exec")
    for field in files.NAMES:
        file = getattr(found, field)
        if file is not None:
            assert Path(file.path).read_text(encoding="utf-8") == file.content


def test_xla_gets_its_variable_as_one_flag_string(tmp_path):
    written = files.write("xla", SwitchSetting(), (
        Switch("hlo_pass", "fusion"), Switch("xla_flag", "xla_cpu_enable_fast_math")),
        tmp_path)
    flags = dict(written.variables)["XLA_FLAGS"]
    assert xla_flags.parse(flags) == (
        ("xla_disable_hlo_passes", "fusion"), ("xla_cpu_enable_fast_math", "false"))
    assert written.files.fusion_switch_cfg is None
    assert repr(flags) in written.files.session_config.content


def test_grappler_gets_lines_for_both_kinds_of_session(tmp_path):
    written = files.write("grappler", SwitchSetting(), (
        Switch("grappler", "remapping"), Switch("grappler", "model_pruning")), tmp_path)
    text = written.files.session_config.content
    assert "rewrite.remapping = RewriterConfig.OFF" in text
    assert "rewrite.disable_model_pruning = True" in text
    assert "'remapping': False," in text
    assert "'disable_model_pruning': True," in text
    compile(text, "session", "exec")


@pytest.mark.parametrize("backend", ["ge", "xla", "grappler", "emulator"])
def test_nothing_off_and_nothing_asked_writes_nothing(backend, tmp_path):
    written = files.write(backend, SwitchSetting(), (), tmp_path)
    assert written == files.Written(files.BisectFiles(), ())
    assert list(tmp_path.iterdir()) == []


def test_an_operator_is_refused_while_autofuse_is_closed(tmp_path):
    with pytest.raises(SwitchError, match="AutoFuse, which is off"):
        files.write("ge", SwitchSetting(), (Switch("node", "Add"),), tmp_path)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        files.write("xla", SwitchSetting(), (Switch("hlo_pass", "cse"),),
                    tmp_path / "file" / "inner")
