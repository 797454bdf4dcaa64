"""The dumps are read as any others, name the passes that ran, and parse as proto."""

from __future__ import annotations

import pytest

import dumps
from dumps import fusion_result, names, stages
from ge_harness.backends.emulator import dump_files, dump_text
from ge_harness.backends.emulator.ir import with_marks
from ge_harness.inspection.gather import gather
from tests.ge_harness.backends.emulator import cases
from tests.ge_harness.backends.emulator.cases import GATE, REDUCE
from tests.ge_harness.interpreter.graph_builder import const, graph, node, placeholder

OPTIONS = {"ge.oo.level": "O3", "ge.optimizationSwitch": "A:off"}


def division_and_fold():
    """A graph on which passes of several families act."""
    return graph(
        placeholder("x", "float32", (8, 64)), const("a", 1.5, "float32"),
        const("b", 2.0, "float32"), node("c", "Mul", "a", "b", T="float32"),
        node("d", "RealDiv", "x", "c", T="float32"),
        node("i", "Identity", "d", T="float32"),
        node("c1", "Cast", "i", SrcT="float32", DstT="float16"),
        node("c2", "Cast", "c1", SrcT="float16", DstT="float32"),
        node("e", "Exp", "c2", T="float32"), node("y", "Neg", "e", T="float32"))


def acted(compilation):
    """Return what the model's own log says acted; AutoFuse's parts count for it."""
    inner = {"AlgebraicSimplificationPass", "CascadeReshapeRemovePass", "Lowering",
             "CanFuse", "Lifting", "ImprovePrecisionToFp32"}
    return {(each.family, each.name) for each in compilation.ran
            if each.effects and each.name not in inner}


RUNS = {
    "closed": (division_and_fold, {"flags": ""}),
    "open": (division_and_fold, {"flags": GATE}),
    "level O1": (division_and_fold, {"flags": GATE, "level": "O1"}),
    "level O0": (division_and_fold, {"flags": "", "level": "O0"}),
    "cast removal off": (cases.cast_pair, {"flags": "", "off": ["ge:CastRemovePass"]}),
    "layer norm": (cases.layer_norm, {"flags": REDUCE}),
    "softmax on 950": (cases.softmax, {"flags": REDUCE, "chip": "950"}),
    "layer norm kernel": (cases.layer_norm, {"flags": "",
                                             "on": ["LayerNormFusionPass"]}),
    "nothing": (cases.mul_add_relu, {"flags": ""}),
}


@pytest.mark.parametrize(("make", "switches"), RUNS.values(), ids=RUNS)
def test_inspection_lists_exactly_the_passes_that_acted(make, switches, tmp_path):
    found = cases.compiled(make(), **switches)
    dump_files.write(found, tmp_path, OPTIONS)
    inspected = gather(tmp_path)
    active = {(each.family, each.name) for each in inspected.passes.active}
    assert active == acted(found)
    assert inspected.warnings == []
    assert not inspected.passes.unattributed or acted(found)


def test_every_file_is_read_by_the_readers_with_its_stage_known(tmp_path):
    found = cases.compiled(division_and_fold(), GATE)
    dump_files.write(found, tmp_path, OPTIONS)
    written = sorted(tmp_path.glob("ge_*"))
    assert len(written) == 3 * len(found.stages)
    for path in written:
        read = dumps.read(path)
        read.load_details()
        assert not read.warnings
        assert not read.lost_nodes
        assert stages.find(names.parse(path).suffix).stage is not None


def test_the_stages_stand_in_the_order_of_one_compilation():
    found = cases.compiled(division_and_fold(), GATE)
    ranks = [stages.find(name).order for name, _ in found.stages]
    assert ranks == sorted(ranks)


def test_the_three_formats_say_the_same_nodes_and_edges(tmp_path):
    found = cases.compiled(cases.softmax(), REDUCE)
    dump_files.write(found, tmp_path, OPTIONS)
    for stage in ("PreRunBegin", "AutoFuser_AfterAllFuse"):
        proto, onnx, readable = (dumps.read(next(tmp_path.glob(
            f"ge_{kind}_*_{stage}.*"))) for kind in ("proto", "onnx", "readable"))
        assert [(each.name, each.type, each.inputs) for each in proto.nodes] == [
            (each.name, each.type, each.inputs) for each in onnx.nodes]
        listed = [(each.name, each.type, each.inputs) for each in proto.nodes
                  if each.type != "NetOutput"]
        assert listed == [(each.name, each.type, each.inputs)
                          for each in readable.nodes]
        for one, other in zip(proto.nodes, onnx.nodes):
            assert [(each.dtype, each.shape) for each in one.output_descs] == [
                (each.dtype, each.shape) for each in other.output_descs]


def test_a_fused_node_names_its_origins_and_those_of_its_outputs(tmp_path):
    found = cases.compiled(cases.softmax(), REDUCE)
    dump_files.write(found, tmp_path, OPTIONS)
    read = dumps.read(next(tmp_path.glob("ge_proto_*_Build.txt")))
    fused = read.node("autofuse_4_Sub_Exp_ReduceSum")
    assert fused.type == "AscBackend"
    assert fused.attributes["_datadump_original_op_names"] == ("sub", "exp", "sum")
    assert fused.attributes["_datadump_original_op_types"] == ("Sub", "Exp", "Sum")
    origins = [each.attributes["_datadump_origin_name"] for each in fused.output_descs]
    assert origins == ["exp", "sum"]


def test_the_options_in_force_stand_in_the_dump(tmp_path):
    found = cases.compiled(cases.softmax(), "")
    dump_files.write(found, tmp_path, OPTIONS)
    read = dumps.read(next(tmp_path.glob("ge_proto_*_PreRunBegin.txt")))
    assert dict(read.attributes["GraphOptions"]["attr"]) == OPTIONS


def test_fusion_result_counts_the_passes_of_the_engine(tmp_path):
    found = cases.compiled(division_and_fold(), "")
    dump_files.write(found, tmp_path, OPTIONS)
    read = fusion_result.read(tmp_path / "fusion_result.json")
    assert read.generations == ("D",)
    assert not read.warnings
    assert [(each.name, each.effect_times) for each in read.totals] == [
        ("RealDiv2MulsFusionPass", 1)]


def test_equal_compilations_write_equal_bytes(tmp_path):
    for name in ("a", "b"):
        dump_files.write(cases.compiled(division_and_fold(), GATE), tmp_path / name,
                         OPTIONS)
    files = sorted(path.relative_to(tmp_path / "a")
                   for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert files
    for path in files:
        assert (tmp_path / "a" / path).read_bytes() == (
            tmp_path / "b" / path).read_bytes()


def test_strange_names_and_texts_survive_the_proto_dump(tmp_path):
    found = cases.compiled(cases.mul_add_relu(), "")
    graph_now = found.stages[0][1]
    strange = 'quote" \\ tab\t newline\n \u00e9 \x1b[31m'
    graph_now.put(with_marks(graph_now.nodes["m"], _note=strange))
    path = tmp_path / "ge_proto_00000000_graph_1_Build.txt"
    path.write_text(dump_text.ge_proto(graph_now, {}), encoding="utf-8")
    assert path.read_bytes().isascii() if hasattr(bytes, "isascii") else True
    assert dumps.read(path).node("m").attributes["_note"] == strange


@pytest.mark.tf
def test_the_proto_dumps_parse_with_protobufs_own_text_format(tmp_path):
    text_format = pytest.importorskip("google.protobuf.text_format")
    model = _model_class()
    found = cases.compiled(division_and_fold(), GATE)
    for _, each in found.stages:
        parsed = text_format.Parse(dump_text.ge_proto(each, OPTIONS), model())
        ops = parsed.graph[0].op
        assert [op.name for op in ops] == [*each.nodes, "Node_Output"]
        for op in ops[:-1]:
            node_now = each.nodes[op.name]
            assert op.type == node_now.type
            assert [tuple(desc.shape.dim) for desc in op.output_desc] == [
                desc.shape for desc in node_now.outputs]
    options = parsed.graph[0].attr["GraphOptions"].func.attr
    assert options["ge.oo.level"].s == b"O3"


# The messages of GE's dump that the model writes, by field number and type:
# s string, y bytes, i int64, f float, b bool, e the dtype enum, v the list enum, M map.
_SCHEMA = {
    "ModelDef": "1 name s, 2 version i, 7 graph *GraphDef, 11 attr MAttrDef",
    "GraphDef": "1 name s, 6 op *OpDef, 11 attr MAttrDef",
    "OpDef": "1 name s, 2 type s, 5 input *s, 10 attr MAttrDef, 21 id i, "
             "33 input_desc *TensorDescriptor, 34 output_desc *TensorDescriptor",
    "TensorDescriptor": "1 name s, 2 dtype e, 3 shape ShapeDef, 4 layout s, "
                        "5 attr MAttrDef",
    "ShapeDef": "1 dim *i",
    "NamedAttrs": "1 name s, 2 attr MAttrDef",
    "AttrDef": "1 list ListValue, 2 s y, 3 i i, 4 f f, 5 b b, 10 func NamedAttrs, "
               "15 dt i",
    "ListValue": "2 s *y, 3 i *i, 4 f *f, 5 b *b, 12 dt *i, 20 val_type v",
}


def _words(text):
    return text.split()


_DTYPES = _words("DT_UNDEFINED DT_FLOAT DT_FLOAT16 DT_INT8 DT_UINT8 DT_INT16 DT_UINT16 "
                 "DT_INT32 DT_INT64 DT_UINT32 DT_UINT64 DT_BOOL DT_DOUBLE DT_STRING")
_LISTS = _words("VT_LIST_NONE VT_LIST_STRING VT_LIST_INT VT_LIST_FLOAT VT_LIST_BOOL "
                "VT_LIST_BYTES VT_LIST_TENSOR_DESC VT_LIST_TENSOR VT_LIST_GRAPH "
                "VT_LIST_NAMED_ATTRS VT_LIST_DATA_TYPE")


def _model_class():
    """Return protobuf's class of ModelDef, made from `_SCHEMA`."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(
        name="ge_ir_test.proto", package="ge.test", syntax="proto3")
    for name, values in (("DataType", _DTYPES), ("ListKind", _LISTS)):
        enum = file.enum_type.add(name=name)
        for number, value in enumerate(values):
            enum.value.add(name=value, number=number)
    for name, fields in _SCHEMA.items():
        _add_message(file.message_type.add(name=name), name, fields)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName("ge.test.ModelDef")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)


def _add_message(message, owner, fields):
    from google.protobuf import descriptor_pb2

    kinds = descriptor_pb2.FieldDescriptorProto
    scalars = {"s": kinds.TYPE_STRING, "y": kinds.TYPE_BYTES, "i": kinds.TYPE_INT64,
               "f": kinds.TYPE_FLOAT, "b": kinds.TYPE_BOOL}
    enums = {"e": ".ge.test.DataType", "v": ".ge.test.ListKind"}
    if owner == "AttrDef":
        message.oneof_decl.add(name="value")
    for text in fields.split(", "):
        number, name, kind = text.split()
        field = message.field.add(name=name, number=int(number))
        many, is_map = kind.startswith("*"), kind.startswith("M")
        kind = kind.lstrip("*")
        field.label = kinds.LABEL_REPEATED if many or is_map else kinds.LABEL_OPTIONAL
        if is_map:
            entry = message.nested_type.add(name="AttrEntry")
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, type=kinds.TYPE_STRING,
                            label=kinds.LABEL_OPTIONAL)
            entry.field.add(name="value", number=2, type=kinds.TYPE_MESSAGE,
                            type_name=".ge.test.AttrDef", label=kinds.LABEL_OPTIONAL)
            field.type, field.type_name = (
                kinds.TYPE_MESSAGE, f".ge.test.{owner}.AttrEntry")
        elif kind in scalars:
            field.type = scalars[kind]
        elif kind in enums:
            field.type, field.type_name = kinds.TYPE_ENUM, enums[kind]
        else:
            field.type, field.type_name = kinds.TYPE_MESSAGE, f".ge.test.{kind}"
        if owner == "AttrDef":
            field.oneof_index = 0
