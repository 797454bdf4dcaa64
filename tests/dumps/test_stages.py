"""Suffixes of dump files are taken apart into stages."""

from __future__ import annotations

import pytest

from dumps import stages


@pytest.mark.parametrize(("suffix", "name"), [
    ("Build", "Build"),
    ("RunCustomPassBeforeInfershape", "RunCustomPassBeforeInfershape"),
    ("RunCustomPass_BeforeInfershape", "RunCustomPassBeforeInfershape"),
    ("RunCustomPassAfterInferShape", "RunCustomPass_AfterInferShape"),
    ("AIcoreEngine_OptimizeSubGraphBefore", "<engine>_OptimizeSubGraphBefore"),
    ("partition0_rank31_new_sub_graph102_SecondPartitioning",
     "partition<P>_rank<R>_new_sub_graph<N>_SecondPartitioning"),
    ("AutoFuser_AfterAllFuse_Subgraph", "AutoFuser_AfterAllFuse"),
    ("OptimizeOriginalGraph_FeOpDtypeJudgeAfter_Subgraph_Failed",
     "OptimizeOriginalGraph_FeOpDtypeJudgeAfter"),
    ("ExecuteGraphAfterSplit_sub_graph_3", "ExecuteGraphAfterSplit"),
    ("graph_cyclic_after Some Pattern", "graph_cyclic_after <pattern>"),
    ("OptimizeStage1_1", "OptimizeStage1_1"),
])
def test_a_suffix_finds_its_stage(suffix, name):
    assert stages.find(suffix).name == name


def test_a_suffix_outside_the_table_is_unknown_and_keeps_its_name():
    found = stages.find("AfterSomethingNew")
    assert (found.stage, found.name, found.order) == (None, "AfterSomethingNew", 0)


def test_the_parts_of_a_partition_name_are_given():
    found = stages.find("partition2_rank7_inputNodeGraph_AtomicEnginePartitioning")
    assert found.parts == (("P", "2"), ("R", "7"))


def test_subgraph_and_failure_marks_are_told():
    found = stages.find("AfterPrecisionRefine_Subgraph")
    assert (found.is_subgraph, found.is_failure) == (True, False)
    found = stages.find("OptimizeOriginalGraph_FeOpDtypeJudgeAfter_Failed")
    assert (found.is_subgraph, found.is_failure) == (False, True)


def test_a_hostile_suffix_is_only_unknown():
    for suffix in ("", "\n\x1b[31m", "../" * 50, "_Subgraph" * 10000, "x" * 100000,
                   "_rank" * 20000):
        assert stages.find(suffix).stage is None


def test_orders_count_from_one_without_a_gap():
    assert [stage.order for stage in stages.table()] == list(range(1, 200))


@pytest.mark.parametrize(("suffix", "name"), [
    ("fused_AfterDtypeConsistency", "AfterDtypeConsistency"),
    ("a_b_AutoFuseBeforeOptimize_Subgraph_", "AutoFuseBeforeOptimize"),
    ("AfterUnfoldAscBackend", "AfterUnfoldAscBackend"), ("fused_Other", ""),
])
def test_stages_of_a_fused_graph_stand_after_its_name(suffix, name):
    assert stages.find_asc(suffix) == name
