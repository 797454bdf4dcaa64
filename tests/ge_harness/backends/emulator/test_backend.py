"""The backend as a run uses it: outputs, evidence, effects of switches, refusals."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from dumps import graphdef
from ge_harness.backends.base import BackendFailure
from ge_harness.backends.emulator.backend import EmulatorBackend
from ge_harness.records.run import FailureKind, Mode, RunRequest, RunSuccess
from ge_harness.records.switch import Switch
from ge_harness.records.tensor import Case, Port, TensorSpec
from ge_harness.switches.ge_setting import ge_setting
from ge_harness.worker import launch
from tests.ge_harness.backends.emulator import cases
from tests.ge_harness.backends.emulator.cases import GATE, REDUCE
from tests.ge_harness.interpreter.graph_builder import const, graph, node, placeholder


def case_of(definition, folder, sets=1):
    """Return a case of a GraphDef on disk with inputs drawn from a fixed seed."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "graph.pb"
    graphdef.write(definition, path)
    built = cases.ge_graph(definition)
    random = np.random.RandomState(7)
    inputs, paths = [], []
    for name, data in built.inputs:
        desc = built.nodes[data].outputs[0]
        shape = desc.shape if sets == 1 else (sets, *desc.shape)
        array = random.uniform(-3, 3, shape).astype(
            "float32" if desc.dtype == "bfloat16" else desc.dtype)
        if desc.dtype == "bfloat16":
            array = (array.view(np.uint32) >> 16).astype(np.uint16)
        paths.append(str(folder / f"{name}.npy"))
        np.save(paths[-1], array)
        inputs.append(Port(TensorSpec(name, desc.shape, desc.dtype), f"{data}:0"))
    outputs = [Port(TensorSpec(name, built.desc(port).shape, built.desc(port).dtype),
                    f"{port.node}:{port.index}") for name, port in built.outputs]
    return Case("test", "test", 7, str(path), tuple(inputs), tuple(outputs),
                tuple(paths), sets)


def request_of(definition, folder, flags="", *, off=(), on=(), mode=Mode.WHOLE,
               options=(), **values):
    setting = ge_setting({"autofuse_flags": flags, **values}, off, on)
    return RunRequest(case_of(definition, folder), "emulator", mode, setting,
                      options=tuple(sorted(options)))


def run(definition, folder, flags="", **more):
    """Return the outputs and the evidence of one execution."""
    request = request_of(definition, folder, flags, **more)
    compiled = EmulatorBackend().compile(request, folder / "job")
    inputs = {port.spec.name: np.load(path)
              for port, path in zip(request.case.inputs, request.case.input_paths)}
    return compiled.execute(inputs), compiled.evidence()


def bits(outputs):
    return {name: array.tobytes() for name, array in outputs.items()}


def test_the_label_says_emulation_and_the_probe_needs_numpy_alone():
    backend = EmulatorBackend()
    assert backend.emulated
    assert backend.label == "emulation: a numerical model, not hardware"
    assert backend.probe().usable


def test_every_piece_of_evidence_says_that_it_is_emulated(tmp_path):
    _, found = run(cases.layer_norm(), tmp_path, REDUCE)
    assert [(each.family, each.name) for each in found.passes] == [
        ("ge", "AutoFusePass")]
    assert all(each.evidence.startswith("EMULATED: ") for each in found.passes)
    assert all(each.evidence.startswith("EMULATED: ") for each in found.effects)
    assert found.notes[0].startswith("EMULATED: ")
    assert any(note.startswith("NF1031: ") for note in found.notes)


def test_autofuse_is_not_blamed_where_it_turned_every_kernel_back(tmp_path):
    definition = graph(
        placeholder("x", "float32", (8, 64)), const("c", 3.0, "float32"),
        node("s", "Sin", "x", T="float32"), node("d", "RealDiv", "s", "c", T="float32"),
        node("y", "Cos", "d", T="float32"))
    _, found = run(definition, tmp_path, GATE)
    assert [each.name for each in found.passes] == ["RealDiv2MulsFusionPass"]
    assert any(note.startswith("turned back into operators") for note in found.notes)


@pytest.mark.parametrize(("more", "named"), [
    ({}, ["WithoutReshapeFusion", "SymmetryElimination"]),
    ({"off": ["TransOpWithoutReshapeFusionPass"]}, ["SymmetryElimination"]),
    ({"opt_level": "O1"}, []),
])
def test_passes_the_model_lacks_that_drop_casts_are_named_where_they_run(
        more, named, tmp_path):
    _, found = run(cases.cast_pair(neighbors=False), tmp_path, **more)
    assert re.findall(r"TransOp(\w+)Pass:off", " ".join(found.notes)) == named


def test_parameters_of_the_compilation_change_what_is_compiled(tmp_path):
    def kernels(definition, parameter):
        chosen = [("chip", "910b"), ("emulator_param", parameter)]
        _, found = run(definition, tmp_path, GATE, options=chosen)
        return [name for name, _ in found.artifact_hashes if name != "plan"]

    narrow = cases.mul_add_relu("bfloat16")
    assert kernels(narrow, "bf16_pointwise_fusable=auto") == []
    assert kernels(narrow, "bf16_pointwise_fusable=true") == [
        "autofuse_pointwise_0_Mul_Add_Relu"]
    pair = cases.cast_pair(neighbors=False)
    assert kernels(pair, "drop_roundtrip_cast_pairs=true") == []
    # Both casts are lowered then, and the fused kernel deletes them.
    assert kernels(pair, "drop_roundtrip_cast_pairs=false") == [
        "autofuse_pointwise_0_2Cast"]


@pytest.mark.parametrize("mode", [Mode.WHOLE, Mode.NODEWISE])
def test_forced_parameters_and_those_without_effect_are_named(mode, tmp_path):
    _, found = run(cases.mul_add_relu(), tmp_path, GATE, mode=mode, options=[
        ("chip", "950"), ("emulator_param", "r_tile=64;eager_fp16_exp=fp32")])
    assert "EMULATED: forced, as no chip is known to do: r_tile=64" in found.notes
    assert ("EMULATED: parameters without effect on 950: eager_fp16_exp=fp32"
            in found.notes)


@pytest.mark.parametrize(("dfx", "status"), [
    ("--att_ub_threshold=50;--att_enable_multicore_ub_tradeoff=true", "unproved"),
    ("--disable_lifting=true", "no_target"),
])
def test_a_key_that_the_model_does_not_follow_is_said_to_be_unproved(
        dfx, status, tmp_path):
    _, found = run(cases.mul_add_relu(), tmp_path, GATE, autofuse_dfx_flags=dfx)
    effect, = [each for each in found.effects
               if each.switch.name == "AUTOFUSE_DFX_FLAGS"]
    assert effect.status == status
    assert ("--att_ub_threshold" in effect.evidence) == (status == "unproved")


def test_a_dump_that_is_sent_to_somebody_says_that_it_is_emulated(tmp_path):
    run(cases.mul_add_relu(), tmp_path, GATE)
    protos = list((tmp_path / "job" / "dumps").glob("ge_proto_*.txt"))
    assert protos
    assert all(EmulatorBackend.label in path.read_text(encoding="utf-8")
               for path in protos)


def test_without_dumps_the_log_of_the_model_names_the_passes(tmp_path):
    request = request_of(cases.layer_norm(), tmp_path, REDUCE)
    compiled = EmulatorBackend().compile(
        dataclasses.replace(request, want_dumps=False), tmp_path / "job")
    found = compiled.evidence()
    assert ("ge", "AutoFusePass") in {(each.family, each.name)
                                      for each in found.passes}
    assert not (tmp_path / "job" / "dumps").exists()


def test_nodewise_runs_no_pass_and_writes_no_dump(tmp_path):
    definition = cases.layer_norm()
    _, found = run(definition, tmp_path, REDUCE, mode=Mode.NODEWISE)
    assert found.passes == ()
    assert not list((tmp_path / "job").rglob("ge_proto*"))
    whole, _ = run(definition, tmp_path, "")
    alone, _ = run(definition, tmp_path, REDUCE, mode=Mode.NODEWISE)
    assert bits(whole) == bits(alone)  # no pass acts on this graph with the gate closed


def test_fusion_changes_bits_and_switching_it_off_restores_them(tmp_path):
    definition = cases.layer_norm()
    eager, _ = run(definition, tmp_path, REDUCE, mode=Mode.NODEWISE)
    fused, _ = run(definition, tmp_path, REDUCE)
    assert bits(fused) != bits(eager)
    restored, evidence = run(definition, tmp_path, REDUCE, off=["AutoFusePass"])
    assert bits(restored) == bits(eager)
    assert evidence.effects[0].status == "proved"


def test_a_cast_pair_is_restored_by_its_own_switch_while_the_gate_is_closed(tmp_path):
    definition = cases.cast_pair(neighbors=False)
    eager, _ = run(definition, tmp_path, mode=Mode.NODEWISE)
    removed, found = run(definition, tmp_path)
    assert bits(removed) != bits(eager)
    assert [each.name for each in found.passes] == ["CastRemovePass"]
    kept, evidence = run(definition, tmp_path, off=["ge:CastRemovePass"])
    assert bits(kept) == bits(eager)
    assert evidence.effects == (type(evidence.effects[0])(
        Switch("ge", "CastRemovePass"), "off", "proved",
        evidence.effects[0].evidence),)


def test_with_the_gate_open_the_run_says_which_cast_removal_acted(tmp_path):
    definition = cases.cast_pair(neighbors=False)
    eager, _ = run(definition, tmp_path, mode=Mode.NODEWISE)
    same, found = run(definition, tmp_path, GATE, off=["ge:CastRemovePass"])
    assert bits(same) != bits(eager)
    assert ("autofuse", "CastRemovePass") in {(each.family, each.name)
                                              for each in found.passes}
    statuses = {each.switch.name: each.status for each in found.effects}
    assert statuses["CastRemovePass"] == "no_target"
    assert any("AutoFusePass:off does" in note for note in found.notes)
    assert any("TransOpWithoutReshapeFusionPass:off" in note for note in found.notes)
    restored, _ = run(definition, tmp_path, GATE,
                      off=["AutoFusePass", "ge:CastRemovePass"])
    assert bits(restored) == bits(eager)


def test_bfloat16_on_910b_is_bit_equal_with_and_without_autofuse(tmp_path):
    definition = cases.mul_add_relu("bfloat16")
    on, found = run(definition, tmp_path, GATE, options=[("chip", "910b")])
    off, _ = run(definition, tmp_path, "", options=[("chip", "910b")])
    assert bits(on) == bits(off)
    assert found.passes == ()


def test_pure_movement_is_bit_exact_under_every_kind_of_fusion(tmp_path):
    definition = graph(
        placeholder("x", "float16", (6, 35)), const("perm", [1, 0], "int32"),
        const("axis", 0, "int32"), const("where", 1, "int32"),
        node("s", "Split", "axis", "x", T="float16", num_split=2),
        node("t", "Transpose", "s:0", "perm", T="float16", Tperm="int32"),
        node("u", "Transpose", "s:1", "perm", T="float16", Tperm="int32"),
        node("y", "ConcatV2", "t", "u", "where", T="float16", N=2))
    base, _ = run(definition, tmp_path, "")
    kinds = ["concat", "slice", "split", "transpose", "gather", "reduce"]
    for some in (["split", "slice"], kinds):  # all sets: test_hostile
        flags = f"{GATE};--autofuse_enable_pass={','.join(some)}"
        for chip in ("910b", "950"):
            got, _ = run(definition, tmp_path, flags, options=[("chip", chip)])
            assert bits(got) == bits(base)


def test_a_switch_of_a_pass_the_model_lacks_is_said_to_be_unproved(tmp_path):
    _, found = run(cases.mul_add_relu(), tmp_path, off=["VariableOpPass"])
    assert [each.status for each in found.effects] == ["unproved"]


def test_hashes_name_every_kernel_and_hold_over_repeats(tmp_path):
    _, one = run(cases.layer_norm(), tmp_path / "a", REDUCE)
    _, two = run(cases.layer_norm(), tmp_path / "b", REDUCE)
    assert one.artifact_hashes == two.artifact_hashes
    assert [name for name, _ in one.artifact_hashes][-1] == "plan"
    assert all(re.fullmatch(r"[0-9a-f]{64}", text) for _, text in one.artifact_hashes)
    _, other = run(cases.layer_norm(), tmp_path / "c", REDUCE,
                   options=[("emulator_param", "r_tile=64")])
    assert other.artifact_hashes != one.artifact_hashes


@pytest.mark.parametrize(("options", "words"), [
    ([("grappler", "on")], "no TensorFlow in its process"),
    ([("chip", "310p")], "chip"),
    ([("emulator_param", "r_tiles=64")], "r_tile"),
])
def test_what_the_model_cannot_do_is_refused_by_name(options, words, tmp_path):
    request = request_of(cases.mul_add_relu(), tmp_path, options=options)
    with pytest.raises(BackendFailure, match=words) as caught:
        EmulatorBackend().compile(request, tmp_path / "job")
    assert caught.value.kind is FailureKind.INVALID_SWITCH


def test_a_graph_with_an_unknown_op_fails_as_a_build(tmp_path):
    definition = graph(placeholder("x", "float32", (2, 3)),
                       node("y", "NoSuchOp", "x", T="float32"))
    path = tmp_path / "graph.pb"
    graphdef.write(definition, path)
    case = Case("test", "test", 0, str(path),
                (Port(TensorSpec("x", (2, 3), "float32"), "x:0"),),
                (Port(TensorSpec("y", (2, 3), "float32"), "y:0"),), ())
    with pytest.raises(BackendFailure, match="NoSuchOp") as caught:
        EmulatorBackend().compile(RunRequest(case, "emulator"), tmp_path / "job")
    assert caught.value.kind is FailureKind.BUILD


def test_a_blacklist_the_chip_cannot_follow_fails_the_compilation(tmp_path):
    definition = graph(
        placeholder("x", "float16", (8, 64)), const("axis", [-1], "int32"),
        node("a", "Abs", "x", T="float16"), node("s", "Exp", "a", T="float16"),
        node("y", "Sum", "s", "axis", T="float16"))
    flags = REDUCE + ";--autofuse_enhance_precision_blacklist=Abs,Exp,Sum"
    with pytest.raises(BackendFailure, match="Sum") as caught:
        run(definition, tmp_path, flags, options=[("chip", "910b")])
    assert caught.value.kind in (FailureKind.COMPILE, FailureKind.INVALID_SWITCH)


def test_the_ensemble_says_how_far_uncertain_parameters_move_the_result(tmp_path):
    definition = graph(placeholder("x", "float32", (4, 9000)),
                       const("axis", [-1], "int32"),
                       node("a", "Abs", "x", T="float32"),
                       node("y", "Sum", "a", "axis", T="float32"))
    _, found = run(definition, tmp_path, REDUCE, options=[("ensemble", "on")])
    band = [note for note in found.notes if note.startswith("EMULATED band: ")]
    assert any("r_tile=64" in note and "ULP" in note for note in band)
    _, plain = run(definition, tmp_path, REDUCE)
    assert not any(note.startswith("EMULATED band") for note in plain.notes)


def test_a_run_through_the_worker_repeats_itself_over_sets(tmp_path):
    case = case_of(cases.softmax(), tmp_path, sets=3)
    request = RunRequest(case, "emulator", setting=ge_setting(
        {"autofuse_flags": REDUCE}), repeat=2, timeout_s=120)
    outcome, = launch.launch([request], tmp_path / "jobs")
    assert isinstance(outcome, RunSuccess)
    assert outcome.repeatable
    assert len(outcome.output_hashes) == 6
    assert outcome.environment.tensorflow == ""
    assert outcome.dump_dir
