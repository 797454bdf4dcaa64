"""Bisections on the emulator, without TensorFlow: base line node by node.

Most run in this process: a worker for each of their trials would take a second.
"""

from __future__ import annotations

import numpy as np
import pytest

from ge_harness.backends.emulator.backend import EmulatorBackend
from ge_harness.backends.reference import ReferenceBackend
from ge_harness.bisect import driver, oracle
from ge_harness.errors import SwitchError, UnknownNameError
from ge_harness.experiment import execute
from ge_harness.experiment.options import RunOptions
from ge_harness.experiment.store import RunFolder
from ge_harness.records.bisection import BisectVerdict
from ge_harness.records.run import Environment, RunSuccess
from ge_harness.switches.ge_setting import ge_setting
from tests.ge_harness.backends.emulator import cases
from tests.ge_harness.backends.emulator.cases import GATE, REDUCE
from tests.ge_harness.backends.emulator.test_backend import case_of


def in_process(requests, root, **_):
    """Do runs as a worker does, here."""
    return [_one(request, root) for request in requests]


def _one(request, root):
    folder = root / f"{len(list(root.iterdir())):03d}-{request.backend}"
    (folder / "dumps").mkdir(parents=True)
    kind = ReferenceBackend if request.backend == "reference" else EmulatorBackend
    compiled = kind().compile(request, folder)
    found = compiled.execute({
        port.spec.name: np.load(path)
        for port, path in zip(request.case.inputs, request.case.input_paths)})
    paths = []
    (folder / "outputs").mkdir()
    for port in request.case.outputs:
        paths.append(str(folder / "outputs" / f"{port.spec.name}.npy"))
        np.save(paths[-1], found[port.spec.name])
    seen = compiled.evidence()
    return RunSuccess(request, tuple(paths), (), True, str(folder / "dumps"),
                      seen.passes, seen.effects, seen.sent, (), 0.0,
                      Environment("", ""))


@pytest.fixture
def bisect(tmp_path, monkeypatch):
    """Return what bisects a GraphDef on the emulator."""
    def run(definition, flags=GATE, name="out", resume=False, worker=False, **more):
        if not worker:
            monkeypatch.setattr(oracle.launch, "launch", in_process)
            monkeypatch.setattr(oracle.finished, "runs", lambda *_: {})
        monkeypatch.setattr(
            execute, "make_case",
            lambda options, folder: case_of(definition, tmp_path / "case"))
        values = {"autofuse_flags": flags, "opt_level": more.pop("level", "")}
        off = more.pop("off", ())
        options = RunOptions(
            "graph", "emulator", baselines=more.pop("baselines", ("nodewise",)),
            timeout_s=60.0, setting=ge_setting(values, off))
        folder = RunFolder.resume(str(tmp_path / name)) if resume else (
            RunFolder.create(str(tmp_path / name), "bisect", "graph"))
        asked = driver.Asked(options, words=("run", "graph"), **more)
        return driver.bisect(asked, folder, lambda run: None)
    return run


def names(bisection):
    return {f"{each.kind}:{each.name}" for each in bisection.minimal}


def test_both_removers_of_a_cast_pair_must_be_off_while_autofuse_is_open(bisect):
    found = bisect(cases.cast_pair(neighbors=False))
    assert found.verdict is BisectVerdict.PROVED
    assert names(found) == {"ge:AutoFusePass", "ge:CastRemovePass"}
    assert [each.agrees_with_it_on for each in found.proof.each_needed] == [
        False, False]
    assert found.files.optimization_switch.content.strip().split(";") == [
        "AutoFusePass:off", "CastRemovePass:off"]
    assert found.backend.emulated
    assert len(found.reproduce) == 3


def test_with_the_gate_closed_one_remover_is_the_culprit(bisect):
    found = bisect(cases.cast_pair(neighbors=False), flags="")
    assert names(found) == {"ge:CastRemovePass"}
    assert {each.precision_class for each in found.minimal} == {"upcast"}
    assert found.proof.runs <= 4


def test_workers_answer_as_this_process_does(bisect):
    pair, one = cases.cast_pair(neighbors=False), ("ge:CastRemovePass",)
    worker = bisect(pair, flags="", passes=one, worker=True)
    here = bisect(pair, flags="", passes=one, name="here")
    assert worker.verdict is BisectVerdict.PROVED
    assert [(run.switches, run.agrees, run.message) for run in worker.runs] == [
        (run.switches, run.agrees, run.message) for run in here.runs]
    assert worker.minimal == here.minimal


def test_a_fused_chain_is_restored_by_the_finest_switch_and_others_are_told(bisect):
    found = bisect(cases.mul_add_relu())
    assert names(found) == {"autofuse:--max_fusion_size"}
    assert [[each.name for each in one] for one in found.alternatives] == [
        ["AutoFusePass"]]
    assert found.files.autofuse_flags.content == (
        f"export AUTOFUSE_FLAGS='{GATE};--max_fusion_size=0'\n")


def test_operators_to_leave_alone_are_found_and_written(bisect):
    found = bisect(cases.mul_add_relu(), granularity="op")
    assert found.verdict is BisectVerdict.PROVED
    assert {each.kind for each in found.minimal} == {"node"}
    assert {each.name for each in found.minimal} <= {"m", "s", "z"}
    skip = found.files.skip_node_names_cfg.content.splitlines()
    assert skip[0] == "[ByNodeName]"
    assert set(skip[1:]) == {each.name for each in found.minimal}
    assert found.files.skip_node_names_cfg.path in (
        found.files.autofuse_dfx_flags.content)


def test_operators_need_an_open_gate(bisect):
    with pytest.raises(SwitchError, match="AutoFuse, which is off"):
        bisect(cases.cast_pair(neighbors=False), flags="", granularity="op")


def test_an_agreement_is_told_after_one_run(bisect):
    found = bisect(cases.mul_add_relu(), flags="")
    assert found.verdict is BisectVerdict.AGREES_ALREADY
    assert len(found.runs) == 1


def test_a_fused_chain_is_no_worse_than_its_base_line(bisect):
    found = bisect(cases.mul_add_relu(), goal="no-worse")
    assert found.verdict is BisectVerdict.AGREES_ALREADY
    assert "against float64" in found.why
    wide = bisect(cases.mul_add_relu(), goal="ulp:60000", name="wide")
    assert wide.verdict is BisectVerdict.AGREES_ALREADY


def test_named_switches_that_do_not_help_leave_the_difference(bisect):
    found = bisect(cases.mul_add_relu(), passes=("ge:AddNPass", "ge:PrunePass"))
    assert found.verdict is BisectVerdict.NOTHING_RESTORES
    assert len(found.runs) == 4  # every combination
    assert "every combination" in found.why


def test_an_operator_that_the_graph_lacks_is_refused(bisect):
    with pytest.raises(UnknownNameError, match="operator of this graph named 'zz'"):
        bisect(cases.mul_add_relu(), passes=("node:z", "node:zz"))


def test_what_keeps_autofuse_from_fusing_is_said(bisect):
    found = bisect(cases.mul_add_relu(), level="O1")
    assert found.verdict is BisectVerdict.AGREES_ALREADY
    assert [note for note in found.notes if "AutoFuse will fuse nothing" in note]


def test_a_finished_bisection_is_read_and_not_run_again(bisect, monkeypatch):
    first = bisect(cases.mul_add_relu(), flags=REDUCE)
    assert first.verdict is BisectVerdict.PROVED
    monkeypatch.setattr(driver.BackendOracle, "run", None)
    again = bisect(cases.mul_add_relu(), flags=REDUCE, resume=True)
    assert again.runs == first.runs
    assert again.minimal == first.minimal
    assert again.backend == first.backend


def test_what_no_switch_changes_is_neither_searched_on_nor_on_resuming(
        bisect, monkeypatch):
    """The first base line is shifted; with the pass off the bits are nodewise's."""
    nodewise = oracle.BackendOracle._run_sides

    def sides(self):
        found = nodewise(self)
        other = _one(found["nodewise"].request, self._folder.jobs_dir)
        path = other.output_paths[0]
        np.save(path, np.load(path) + np.float32(1))
        return {"eager": other, **found}

    monkeypatch.setattr(oracle.BackendOracle, "_run_sides", sides)
    monkeypatch.setattr(oracle.BackendOracle, "baseline", "eager")
    first = bisect(cases.cast_pair(neighbors=False), flags="")
    assert first.verdict is BisectVerdict.NOTHING_RESTORES
    assert "kernels for single operators" in first.notes[-1]
    assert len(first.runs) <= 6
    again = bisect(cases.cast_pair(neighbors=False), flags="", resume=True)
    assert (again.runs, again.notes) == (first.runs, first.notes)
