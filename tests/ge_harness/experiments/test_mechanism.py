"""What was compiled is read from dumps as they lie there, and from nothing else."""

from __future__ import annotations

import dataclasses

import pytest

from ge_harness.backends import xla_dumps
from ge_harness.experiments import mechanism
from ge_harness.records.run import Environment, RunRequest, RunSuccess
from ge_harness.records.tensor import Case

HLO = """HloModule jit_f, entry_computation_layout={{(f16[4]{{0}})->f16[4]{{0}}}}

ENTRY %main (x: f16[4]) -> f16[4] {{
  %x = f16[4]{{0}} parameter(0)
  %c = f16[] constant(0.7)
  %b = f16[4]{{0}} broadcast(%c), dimensions={{}}
  ROOT %{name} = f16[4]{{0}} {opcode}(%x, %b)
}}
"""


def _outcome(folder, backend="xla"):
    case = Case("g", "v", 0, "g.pb", (), (), ())
    found = (("graph", "00"),)
    if backend == "xla" and folder:
        found = xla_dumps.artifacts(folder)
    return RunSuccess(RunRequest(case, backend), (), (), True, str(folder), (), (), (),
                      found, 0.0, Environment("3", "1"))


@pytest.fixture
def dumped(tmp_path):
    def write(name, opcode):
        folder = tmp_path / f"{name}-{opcode}"
        folder.mkdir()
        (folder / "module_0000.f.cpu_after_optimizations.txt").write_text(
            HLO.format(name=name, opcode=opcode))
        return mechanism.read(_outcome(folder))

    return write


def test_computing_instructions_are_told_from_movement(dumped):
    found = dumped("r", "multiply")
    assert found.present
    assert found.computing == ("multiply float16",)


def test_names_of_values_are_no_difference_and_opcodes_are(dumped):
    assert dumped("r", "multiply").program == dumped("s", "multiply").program
    assert dumped("t", "multiply").program != dumped("t", "add").program


def test_a_missing_or_empty_folder_is_no_evidence(tmp_path):
    assert not mechanism.read(_outcome(tmp_path / "gone")).present
    (tmp_path / "empty").mkdir()
    found = mechanism.read(_outcome(tmp_path / "empty"))
    assert (found.present, found.problem) == (False, "there are no dumps to read")
    assert not mechanism.read(_outcome("")).present


def test_dumps_of_the_wrong_kind_are_no_evidence(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    assert not mechanism.read(_outcome(tmp_path)).present
    assert not mechanism.read(_outcome(tmp_path, "emulator")).present


def test_grappler_shows_its_graph_but_no_instruction(tmp_path):
    found = mechanism.read(_outcome("", "grappler"))
    assert found.present
    assert found.graph_only
    bare = dataclasses.replace(_outcome("", "grappler"), artifact_hashes=())
    assert not mechanism.read(bare).present


def test_a_dump_that_changed_after_the_run_is_no_evidence(dumped, tmp_path):
    assert dumped("multiply.1", "multiply").present
    folder = tmp_path / "multiply.1-multiply"
    outcome = _outcome(folder)
    file = next(folder.iterdir())
    file.write_text(file.read_text(encoding="utf-8").replace("0.7", "0.8"),
                    encoding="utf-8")
    seen = mechanism.read(outcome)
    assert not seen.present
    assert "not those that the run wrote" in seen.problem


def test_a_dump_of_the_model_that_was_cut_off_is_no_evidence(tmp_path):
    (tmp_path / "ge_proto_00000036_graph_1_Build.txt").write_text(
        'graph {\n  name: "g"\n  op {\n    name: "a"\n    type: "Add"\n  }\n  op {\n',
        encoding="utf-8")
    seen = mechanism.read(_outcome(tmp_path, "emulator"))
    assert not seen.present
    assert "not those that the run wrote" in seen.problem


def test_dumps_of_a_training_run_which_takes_no_hashes_are_read(dumped, tmp_path):
    dumped("multiply.1", "multiply")
    outcome = _outcome(tmp_path / "multiply.1-multiply")
    assert mechanism.read(dataclasses.replace(outcome, artifact_hashes=())).present
