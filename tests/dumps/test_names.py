from __future__ import annotations

import pytest

from dumps import names
from dumps.names import DumpName


@pytest.mark.parametrize(("path", "expected"), [
    ("ge_proto_00012_Build.txt", DumpName("ge_proto", 12, "Build")),
    ("ge_proto_00000007_graph_3_Build.txt", DumpName("ge_proto", 7, "Build", 3)),
    ("ge_proto_0000007_Build.txt.gz", DumpName("ge_proto", 7, "Build")),
    ("ge_onnx_00000001_graph_11_PreRunAfterOptimize1.pbtxt",
     DumpName("ge_onnx", 1, "PreRunAfterOptimize1", 11)),
    ("ge_onnx_00000001_aclop_graph_2_Build.pbtxt",
     DumpName("ge_onnx", 1, "Build", 2, is_aclop=True)),
    ("ge_proto_00000001_aclop_graph_2_Build.txt",
     DumpName("ge_proto", 1, "Build", 2, is_aclop=True)),
    ("ge_readable_00000000_graph_0_PreRunBegin.txt",
     DumpName("readable", 0, "PreRunBegin", 0)),
    ("pid_77_deviceid_3/ge_proto_00001_OptimizeStage1_1.txt",
     DumpName("ge_proto", 1, "OptimizeStage1_1", pid=77, device=3)),
    ("dfx/graph/370_0/ge_proto_00001_Build.txt",
     DumpName("ge_proto", 1, "Build", pid=370, device=0)),
    ("ge_proto_00000009_graph_1_partition0_rank1_new_sub_graph12_SecondPartitioning.txt",
     DumpName("ge_proto", 9,
              "partition0_rank1_new_sub_graph12_SecondPartitioning", 1,
              "partition0_rank1_new_sub_graph12")),
    ("ge_proto_00003_graph_cyclic_after X.txt",
     DumpName("ge_proto", 3, "graph_cyclic_after X")),
    ("ascgen_dump_pid_5/f/ascgraph_00003_fused_AfterDtypeConsistency_7.txt",
     DumpName("ascgraph", 3, "fused_AfterDtypeConsistency", 7, pid=5)),
    ("TF_GeOp1_0.pbtxt", DumpName("tf_pbtxt", 0, "TF_GeOp1_0")),
    ("BeforeSubGraph_4.pbtxt", DumpName("tf_pbtxt", 4, "BeforeSubGraph")),
    ("TF_AfterFrozenVariable_2.pbtxt",
     DumpName("tf_pbtxt", 2, "TF_AfterFrozenVariable")),
    ("main.3.before_optimize.pbtxt",
     DumpName("tf_pbtxt", 3, "before_optimize", owner="main")),
    ("dp_init_x.pbtxt", DumpName("tf_pbtxt", 0, "dp_init_x")),
])
def test_a_name_is_taken_apart(path: str, expected: DumpName) -> None:
    assert names.parse(path) == expected


@pytest.mark.parametrize("path", [
    "ge_proto_Build.txt", "notes.txt", "ge_proto_00012_.txt", "ge_proto_00012_A.json",
    "fusion_result.json", "", "ge_proto_" + "9" * 30 + "_A.txt"])
def test_other_names_are_refused(path: str) -> None:
    assert names.parse(path) is None


def test_old_and_new_spelling_of_a_user_pass_slot_are_one_stage() -> None:
    stages = {parsed.stage for parsed in map(names.parse, (
        "ge_proto_00001_RunCustomPass_AfterInferShape.txt",
        "ge_proto_00001_RunCustomPassAfterInferShape.txt",
        "ge_proto_00001_RunCustomPassAfterInfershape.txt")) if parsed}
    assert len(stages) == 1


def test_a_subgraph_suffix_does_not_change_the_stage() -> None:
    parsed = names.parse("ge_proto_00001_graph_1_OptimizeOriginalGraph_"
                         "FeGraphFusionAfter_Subgraph.txt")
    assert parsed is not None
    assert parsed.is_subgraph
    assert parsed.stage.startswith("OptimizeOriginalGraph_FeGraphFusionAfter")


def test_files_are_ordered_by_number_and_processes_stay_apart() -> None:
    paths = ["pid_9_deviceid_0/ge_proto_00100_A.txt",
             "pid_9_deviceid_0/ge_proto_99_A.txt",
             "pid_10_deviceid_0/ge_proto_00001_A.txt"]
    parsed = sorted((each for each in map(names.parse, paths) if each),
                    key=lambda each: each.order)
    assert [(each.pid, each.serial) for each in parsed] == [(9, 99), (9, 100), (10, 1)]
