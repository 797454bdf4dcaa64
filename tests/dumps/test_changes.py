"""What changed between two dumps: every kind of change, and nothing else."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dumps
from dumps.changes import compare
from tests.dumps.series_text import graph, node
from tests.shared import SAMPLES, needs_shared


def chain(*middle):
    return [node("x", "Data"), *middle, node("out", "NetOutput", [middle[-1]["name"]])]


def both(old, new):
    return compare(graph(old), graph(new, first_id=100))


def names(refs):
    return [ref.name for ref in refs]


def test_new_ids_and_offsets_are_no_change():
    nodes = chain(node("a", "Abs", ["x"]), node("b", "Exp", ["a"]))
    assert both(nodes, nodes).total == 0


def test_a_fused_node_names_its_originals():
    old = chain(node("a", "Add", ["x", "x"]), node("r", "Relu", ["a"]))
    new = chain(node("f", "AscBackend", ["x"], originals=["a", "r"]))
    found = both(old, new)
    assert found.total == 1
    assert names(found.fused[0].originals) == ["a", "r"]
    assert found.fused[0].how == "_datadump_original_op_names"


def test_originals_of_originals_count():
    old = chain(node("a_1", "Muls", ["x"], originals=["a"]),
                node("r_1", "Relu", ["a_1"], originals=["r"]))
    new = chain(node("f", "AscBackend", ["x"], originals=["a", "r"]))
    assert names(both(old, new).fused[0].originals) == ["a_1", "r_1"]


def test_an_empty_list_of_originals_is_no_proof_of_fusion():
    old = [node("x", "Data"), node("a", "Abs", ["x"]), node("b", "Exp", ["x"]),
           node("out", "NetOutput", ["a", "b"])]
    new = [node("x", "Data"), node("k", "Neg", ["x"], originals=[]),
           node("out", "NetOutput", ["k", "x"])]
    assert both(old, new).fused == ()


def test_a_fusion_without_attributes_is_seen_by_its_place():
    old = chain(node("a", "Add", ["x", "x"]), node("r", "Relu", ["a"]))
    new = chain(node("f", "FusedOp", ["x"]))
    found = both(old, new)
    assert found.total == 1
    assert names(found.fused[0].originals) == ["a", "r"]
    assert found.fused[0].how == "structure"


def test_a_node_that_keeps_its_name_and_takes_in_another_is_a_fusion():
    old = [node("x", "Data"), node("w", "Data"), node("m", "MatMul", ["x", "w"]),
           node("b", "Data"), node("add", "BiasAdd", ["m", "b"]),
           node("out", "NetOutput", ["add"])]
    for kept in ({"originals": ["m", "add"]}, {}):
        new = [node("x", "Data"), node("w", "Data"), node("b", "Data"),
               node("m", "MatMul", ["x", "w", "b"], **kept),
               node("out", "NetOutput", ["m"])]
        found = both(old, new)
        assert found.total == 1
        assert names(found.fused[0].originals) == ["m", "add"]


def test_one_node_for_one_of_another_type_is_a_replacement():
    old = chain(node("d", "RealDiv", ["x"], originals=["d"]))
    new = chain(node("d_muls", "Muls", ["x"], originals=["d"]))
    found = both(old, new)
    assert found.total == 1
    assert names(found.replaced[0].before) == ["d"]
    assert names(found.replaced[0].after) == ["d_muls"]


def test_one_node_for_several_is_a_replacement():
    old = chain(node("n", "BatchNorm", ["x"], originals=["n"]))
    new = chain(node("n1", "Reduce", ["x"], originals=["n"]),
                node("n2", "Update", ["x", "n1"], originals=["n"]))
    found = both(old, new)
    assert found.total == 1
    assert names(found.replaced[0].after) == ["n1", "n2"]


def test_a_node_with_another_name_in_the_same_place_is_renamed():
    old = chain(node("t", "Transpose", ["x"]), node("e", "Exp", ["t"]))
    new = chain(node("t_2", "Transpose", ["x"]), node("e_2", "Exp", ["t_2"]))
    found = both(old, new)
    assert found.total == 2
    assert [(each.old_name, each.node.name) for each in found.renamed] == [
        ("t", "t_2"), ("e", "e_2")]


def test_a_removed_cast_leaves_its_name_in_front_of_the_node_that_stays():
    old = chain(node("c", "Cast", ["x"], "DT_FLOAT", in_dtype="DT_FLOAT16"),
                node("t", "TransData", ["c"], "DT_FLOAT"))
    new = chain(node("ct", "TransData", ["x"]))
    found = both(old, new)
    assert [(each.old_name, each.node.name) for each in found.renamed] == [("t", "ct")]
    assert names(found.casts_removed) == ["c"]
    assert [each.what for each in found.changed] == [("dtype",)]


def test_casts_that_come_and_go_do_not_make_their_readers_changed():
    plain = chain(node("a", "Abs", ["x"]), node("b", "Exp", ["a"]))
    cast = chain(node("a", "Abs", ["x"]), node("c", "Cast", ["a"]),
                 node("b", "Exp", ["c"]))
    found = both(plain, cast)
    assert (names(found.casts_added), found.total) == (["c"], 1)
    found = both(cast, plain)
    assert (names(found.casts_removed), found.total) == (["c"], 1)


@pytest.mark.parametrize(("before", "after", "kind"), [
    ('      dtype: DT_FLOAT16', '      dtype: DT_FLOAT', "dtype"),
    ('      layout: "ND"', '      layout: "FRACTAL_NZ"', "format"),
    ('        dim: 16', '        dim: 32', "shape"),
])
def test_descriptors_are_compared(before, after, kind):
    from dumps import ge_proto
    from tests.dumps.series_text import GRAPH, make_series

    text = make_series.model(GRAPH, chain(node("a", "Abs", ["x"])))
    head, tail = text[:text.index('name: "a"')], text[text.index('name: "a"'):]
    changed = head + tail.replace(before, after, 1)
    found = compare(ge_proto.parse(text.encode(), "a"),
                    ge_proto.parse(changed.encode(), "b"))
    assert [(each.node.name, each.what) for each in found.changed] == [("a", (kind,))]
    assert found.count(kind) == 1
    assert found.total == 1


def test_a_change_of_attributes_alone_is_told_from_others():
    old = chain(node("a", "Abs", ["x"], attrs={"k": 1}))
    new = chain(node("a", "Abs", ["x"], attrs={"k": 2}))
    found = both(old, new)
    assert found.attributes_only == 1
    assert found.changed[0].details == (("attribute k", "1", "2"),)


def test_a_list_that_says_the_same_under_another_time_stamp_is_no_change():
    old = chain(node("a", "Abs", ["x"], attrs={"k": "ge_default_20260102030405_1"}))
    new = chain(node("a", "Abs", ["x"], attrs={"k": "ge_default_20270102030405_1"}))
    assert both(old, new).total == 0


def test_the_time_in_names_is_no_difference_between_two_runs():
    from dumps import ge_proto
    from tests.dumps.series_text import GRAPH, make_series

    nodes = chain(node(f"{GRAPH}_sub_PartitionedCall", "PartitionedCall", ["x"],
                       attrs={"names": [GRAPH]}), node("e", "Exp", [
                           f"{GRAPH}_sub_PartitionedCall"]))
    text = make_series.model(GRAPH, nodes)
    later = text.replace("20260102030405", "20270908070605")
    assert later != text
    assert compare(ge_proto.parse(text.encode(), "a"),
                   ge_proto.parse(later.encode(), "b")).total == 0
    renamed = later.replace('name: "e"', 'name: "f"').replace('"e:0"', '"f:0"')
    found = compare(ge_proto.parse(text.encode(), "a"),
                    ge_proto.parse(renamed.encode(), "b"))
    assert (found.total, found.renamed[0].old_name) == (1, "e")


def test_rewired_inputs_and_controls_are_changes():
    old = [node("x", "Data"), node("y", "Data"), node("a", "Abs", ["x"]),
           node("out", "NetOutput", ["a"])]
    new = [node("x", "Data"), node("y", "Data"), node("a", "Abs", ["y", "x:-1"]),
           node("out", "NetOutput", ["a"])]
    assert both(old, new).changed[0].what == ("inputs", "controls")


def test_a_change_of_type_under_one_name_is_a_change():
    old = chain(node("a", "MatMul", ["x"]))
    new = chain(node("a", "MatMulV2", ["x"]))
    assert both(old, new).changed[0].what == ("type",)


@needs_shared
@pytest.mark.parametrize(("proto", "onnx"), [
    ("ge_proto_00000000_Build.txt", "ge_onnx_00000000_graph_1_Build.pbtxt"),
    ("ge_proto_00000001_Build.txt", "ge_onnx_00000001_graph_11_Build.pbtxt"),
])
def test_two_formats_of_one_stage_agree_node_by_node(proto, onnx):
    folder = SAMPLES / "run_20230713"
    assert compare(dumps.read(folder / proto), dumps.read(folder / onnx)).total == 0


@needs_shared
def test_a_real_dump_equals_itself():
    path = SAMPLES / "resnet50_fe" / "ge_proto_00026_afterUBMatch.txt"
    assert compare(dumps.read(path), dumps.read(path)).total == 0


TYPES = ("Abs", "Exp", "Cast", "Add", "TransData")
NODES = st.lists(st.tuples(st.sampled_from(TYPES), st.integers(0, 30),
                           st.booleans()), min_size=1, max_size=12)


def _nodes(recipe, mark):
    made = [node("x", "Data")]
    for number, (kind, source, renamed) in enumerate(recipe):
        feed = made[source % len(made)]["name"]
        name = f"{mark}{number}" if renamed else f"n{number}"
        made.append(node(name, kind, [feed]))
    return [*made, node("out", "NetOutput", [made[-1]["name"]])]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(NODES, NODES)
def test_every_node_of_both_sides_is_accounted_for_once(first, second):
    old, new = graph(_nodes(first, "a")), graph(_nodes(second, "b"))
    found = compare(old, new)
    gone = names(found.removed) + [each.old_name for each in found.renamed]
    come = names(found.added) + [each.node.name for each in found.renamed]
    for each in found.fused:
        gone += names(each.originals)
        come.append(each.node.name)
    for each in found.replaced:
        gone += names(each.before)
        come += names(each.after)
    assert len(gone) == len(set(gone))
    assert len(come) == len(set(come))
    old_names, new_names = names(old.nodes), names(new.nodes)
    kept_old = [name for name in old_names if name not in gone]
    kept_new = [name for name in new_names if name not in come]
    assert sorted(kept_old) == sorted(kept_new)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(NODES)
def test_a_graph_equals_itself_written_again(recipe):
    nodes = _nodes(recipe, "a")
    assert compare(graph(nodes), graph(nodes, first_id=77)).total == 0


def test_thousands_of_renames_take_seconds_and_not_minutes():
    def long_chain(mark):
        nodes = [node("x", "Data")]
        for number in range(3000):
            nodes.append(node(f"{mark}{number}", TYPES[number % 5],
                              [nodes[-1]["name"]]))
        return graph([*nodes, node("out", "NetOutput", [nodes[-1]["name"]])])

    old, new = long_chain("a"), long_chain("b")
    begin = time.process_time()
    found = compare(old, new)
    assert len(found.renamed) == found.total == 3000
    assert time.process_time() - begin < 10
