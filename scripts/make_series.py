"""Write the small series of GE dumps that the tests read.

    python scripts/make_series.py tests/data/dumps/series

A compile as GE would write it, reduced to what the tests ask: a division that becomes a
product, a dtype chosen by the precision step, an AscBackend fusion, a pair of casts
removed with the rename that goes with it, a change of attributes alone, and stages that
change nothing although every id in them differs. With --large=N a series of N stages of
3.5 MB each, kernel blobs included, is written instead, for measuring.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path
from typing import Any, Dict

GRAPH = "ge_default_20260102030405_1"
Node = Dict[str, Any]


def main() -> int:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--large", type=int, default=0, metavar="N")
    args = parser.parse_args()
    if args.large:
        large(args.folder, args.large)
    else:
        small(args.folder)
    return 0


def small(folder: Path) -> None:
    """Write the series the tests read."""
    dumps = folder / "pid_41_deviceid_0"
    dumps.mkdir(parents=True, exist_ok=True)
    for serial, stage, nodes in stages():
        text = model(GRAPH, nodes, first_id=serial)
        name = f"ge_proto_{serial:08d}_graph_1_{stage}.txt"
        (dumps / name).write_text(text, encoding="utf-8")
    result = folder / "FE" / "41"
    result.mkdir(parents=True, exist_ok=True)
    (result / "fusion_result.json").write_text(FUSION_RESULT, encoding="utf-8")


FUSION_RESULT = """{
    "session_and_graph_id_0_1": {
        "graph_fusion": {
            "MulAddFusionPass": {
                "effect_times": "0",
                "match_times": "1"
            },
            "RealDiv2MulsFusionPass": {
                "effect_times": "1",
                "match_times": "1"
            }
        },
        "ub_fusion": {
            "TbeEltwiseFusionPass": {
                "effect_times": "1",
                "match_times": "2",
                "repository_hit_times": "0"
            }
        }
    }
}"""


def stages() -> list[Any]:
    """Return (serial, stage, nodes) of every stage."""
    begin = first()
    divided = [dict(node) for node in begin]
    place = _index(divided, "div")
    divided[place] = node(
        "div_muls", "Muls", ["square:0"], "DT_FLOAT16",
        attrs={"value": 0.25, "pass_name": ["RealDiv2MulsFusionPass"],
               "_datadump_original_op_names": ["div"]})
    divided = _reread(divided, "div", "div_muls")
    judged = [dict(each) for each in divided]
    judged[_index(judged, "scale")]["dtype"] = "DT_FLOAT16"
    judged[_index(judged, "scale")]["in_dtype"] = "DT_FLOAT16"
    fused = [each for each in judged if each["name"] not in ("add", "relu")]
    fused.insert(_index(fused, "trans_TransData_7"), node(
        "autofuse_pointwise_0_Add_Relu", "AscBackend", ["div_muls:0", "x:0"],
        "DT_FLOAT16", attrs={"_datadump_original_op_names": ["add", "relu"],
                             "_datadump_original_op_types": ["Add", "Relu"]}))
    fused = _reread(fused, "relu", "autofuse_pointwise_0_Add_Relu")
    plain = [dict(each) for each in fused
             if each["name"] not in ("up", "down", "trans_TransData_7")]
    plain.insert(len(plain) - 1, dict(
        fused[_index(fused, "trans_TransData_7")], name="downtrans_TransData_7"))
    plain = _reread(_reread(_reread(plain, "up", "x"), "down", "scale"),
                    "trans_TransData_7", "downtrans_TransData_7")
    built = [dict(each) for each in plain]
    concat = built[_index(built, "join")]
    concat["attrs"] = dict(concat["attrs"], _no_task=True)
    return [
        (3, "PreRunBegin", begin), (10, "PreRunAfterPrepare", begin),
        (11, "OptimizeOriginalGraph_FeGraphFusionAfter", divided),
        (12, "OptimizeOriginalGraph_FeOpDtypeJudgeAfter", judged),
        (13, "AutofuseOptimize_Entry", judged),
        (14, "AutoFuser_AfterLowering", fused),
        (15, "AutofuseOptimize_Exit", fused), (16, "OptimizeStage1_1", fused),
        (100, "OptimizeStage1_2", plain), (101, "VendorStage", plain),
        (102, "Build", built),
    ]


def first() -> list[Node]:
    """Return the nodes as the front end hands them over."""
    half = "DT_FLOAT16"
    return [
        node("x", "Data", [], half),
        node("square", "Square", ["x:0"], half, attrs={
            "_datadump_original_op_names": [
                "ArithmeticOptimizer/ReplaceMulWithSquare_mul"]}),
        node("div", "RealDiv", ["square:0"], half, attrs={
            "_datadump_original_op_names": ["div"]}),
        node("add", "Add", ["div:0", "x:0"], half, attrs={
            "_datadump_original_op_names": ["add"]}),
        node("relu", "Relu", ["add:0"], half, attrs={
            "_datadump_original_op_names": ["relu"]}),
        node("up", "Cast", ["x:0"], "DT_FLOAT", in_dtype=half, attrs={
            "_datadump_original_op_names": []}),
        node("scale", "Mul", ["up:0", "up:0"], "DT_FLOAT", attrs={
            "_datadump_original_op_names": ["scale"]}),
        node("down", "Cast", ["scale:0"], half, in_dtype="DT_FLOAT", attrs={
            "_datadump_original_op_names": []}),
        node("trans_TransData_7", "TransData", ["relu:0"], half, attrs={
            "_datadump_original_op_names": []}),
        node("join", "ConcatD", ["down:0", "trans_TransData_7:0"], half, attrs={
            "N": 2}),
        node("Node_Output", "NetOutput", ["join:0", "x:-1"], half),
    ]


def node(name: str, kind: str, inputs: list[str], dtype: str, **more: Any) -> Node:
    """Return one node; `in_dtype` and `attrs` may be given as well."""
    return {"name": name, "type": kind, "inputs": inputs, "dtype": dtype,
            "in_dtype": more.get("in_dtype") or dtype, "attrs": more.get("attrs") or {}}


def model(name: str, nodes: list[Node], first_id: int = 0) -> str:
    """Return the text of a ModelDef."""
    lines = [f'name: "{name}"', "version: 1", "graph {", f'  name: "{name}"']
    for number, each in enumerate(nodes):
        lines += operator(each, number + first_id)
    return "\n".join([*lines, "}", ""])


def operator(each: Node, number: int) -> list[str]:
    """Return the lines of one operator."""
    lines = ["  op {", f'    name: "{each["name"]}"', f'    type: "{each["type"]}"']
    lines += [f'    input: "{edge}"' for edge in each["inputs"]]
    for key in sorted(each["attrs"]):
        lines += ["    attr {", f'      key: "{key}"', "      value {"]
        lines += ["        " + line for line in value(each["attrs"][key])]
        lines += ["      }", "    }"]
    lines += [f"    id: {number}", f"    output_i: {512 * number}"]
    for edge in each["inputs"]:
        if not edge.endswith(":-1"):
            lines += descriptor("input_desc", each["in_dtype"])
    return [*lines, *descriptor("output_desc", each["dtype"]), "  }"]


def value(item: Any) -> list[str]:
    """Return the lines of an attribute's value."""
    if isinstance(item, list):
        inner = [f'  s: "{text}"' for text in item]
        return ["list {", *inner, "  val_type: VT_LIST_STRING", "}"]
    if isinstance(item, bool):
        return [f"b: {str(item).lower()}"]
    if isinstance(item, int):
        return [f"i: {item}"]
    if isinstance(item, float):
        return [f"f: {item}"]
    return [f'{"bt" if item.startswith(BLOB_MARK) else "s"}: "{item}"']


BLOB_MARK = "\\177ELF"


def descriptor(kind: str, dtype: str) -> list[str]:
    """Return the lines of a descriptor of 8 x 16."""
    return [f"    {kind} {{", f"      dtype: {dtype}", "      shape {",
            "        dim: 8", "        dim: 16", "      }", '      layout: "ND"',
            "    }"]


def large(folder: Path, count: int) -> None:
    """Write a series of 3.5 MB a stage in which 5 % of the operators change."""
    dice = random.Random(7)
    dumps = folder / "pid_7_deviceid_0"
    dumps.mkdir(parents=True, exist_ok=True)
    nodes = [node(f"op_{i}", dice.choice(["Add", "Mul", "Relu", "MatMul"]),
                  [f"op_{max(i - 1, 0)}:0"] if i else [], "DT_FLOAT16", attrs={
                      "_datadump_original_op_names": [f"model/op_{i}"],
                      "_kernelname": f"te_op_{i}__kernel0"}) for i in range(170)]
    for place in range(0, 170, 3):
        blob = "".join(f"\\{dice.randrange(256):03o}" for _ in range(14500))
        nodes[place]["attrs"]["_tbe_kernel_buffer"] = BLOB_MARK + blob
    for serial in range(count):
        for place in dice.sample(range(170), 8):
            attrs = dict(nodes[place]["attrs"], stage_mark=serial)
            nodes[place] = dict(nodes[place], attrs=attrs)
        text = model("ge_default_20260102030405_1", nodes, first_id=serial)
        name = f"ge_proto_{serial:08d}_graph_1_Stage{serial}.txt"
        (dumps / name).write_text(text, encoding="utf-8")


def _index(nodes: list[Node], name: str) -> int:
    return next(i for i, each in enumerate(nodes) if each["name"] == name)


def _reread(nodes: list[Node], old: str, new: str) -> list[Node]:
    """Let every reader of `old` read `new`."""
    return [dict(each, inputs=[edge.replace(f"{old}:", f"{new}:", 1)
                               if edge.startswith(f"{old}:") else edge
                               for edge in each["inputs"]]) for each in nodes]


if __name__ == "__main__":
    sys.exit(main())
