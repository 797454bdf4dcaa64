from __future__ import annotations

from types import SimpleNamespace

import pytest

from ge_harness.backends.base import BackendFailure
from ge_harness.backends.ge_offload import OffloadProof, count_dumps
from ge_harness.records.run import FailureKind


def _metadata(*nodes):
    graph = SimpleNamespace(node=[SimpleNamespace(name=name, op=op)
                                  for name, op in nodes])
    return SimpleNamespace(partition_graphs=[graph])


def _dump(folder, name="ge_proto_00000000_graph_1_Build.txt"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("name: \"g\"\n")


EXPECTED = (("a", "Abs"), ("c", "Const"), ("i", "Identity"))


def test_a_geop_in_the_executed_graph_is_proof(tmp_path):
    proof = OffloadProof(tmp_path)
    proof.check("the graph", _metadata(("GeOp1_0", "GeOp"), ("c", "Const")), EXPECTED)
    assert proof.notes() == ("offload proved for 1 graph: a GeOp in the executed graph "
                             "of 1",)


def test_dumps_written_meanwhile_are_proof_and_said_to_be_the_only_one(tmp_path):
    proof = OffloadProof(tmp_path)
    _dump(tmp_path / "graphs" / "pid_1_deviceid_0")
    proof.check("the graph", _metadata(), EXPECTED)
    assert "showed no GeOp" in proof.notes()[0]


@pytest.mark.parametrize("nodes", [
    (), (("a", "Abs"),), (("GeOp", "Abs"),), (("a", "GeOpX"),)],
    ids=["empty", "on the host", "a node named so", "another op"])
def test_without_proof_there_is_no_result(tmp_path, nodes):
    _dump(tmp_path)  # from before the session
    proof = OffloadProof(tmp_path)
    (tmp_path / "ge_notes.txt").write_text("not a dump")
    with pytest.raises(BackendFailure) as caught:
        proof.check("the graph", _metadata(*nodes), EXPECTED)
    assert caught.value.kind is FailureKind.NOT_OFFLOADED
    assert proof.notes() == ()


def test_dumps_of_one_graph_do_not_prove_the_next(tmp_path):
    proof = OffloadProof(tmp_path)
    _dump(tmp_path)
    proof.check("op Abs", _metadata(), EXPECTED)
    with pytest.raises(BackendFailure, match="op Relu ran on the host CPU"):
        proof.check("op Relu", _metadata(("r", "Relu")), (("r", "Relu"),))


def test_a_part_left_on_the_host_is_no_result(tmp_path):
    proof = OffloadProof(tmp_path)
    nodes = [("GeOp1_0", "GeOp"), ("a", "Abs"), ("i", "Identity")]
    with pytest.raises(BackendFailure, match=r"a \(Abs\) did not go to GE") as caught:
        proof.check("the graph", _metadata(*nodes), EXPECTED)
    assert caught.value.kind is FailureKind.NOT_OFFLOADED


def test_a_missing_folder_holds_no_dumps(tmp_path):
    assert count_dumps(tmp_path / "none") == 0
