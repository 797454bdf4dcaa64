"""Time the ge_proto reader beside protobuf's Python text_format, in one run.

Run it from the root of a checkout with a Python that has protobuf:

    python scripts/bench_dumps.py [DUMP ...] [--rounds=7] [--series=200]

Without files it makes two dumps, the same every time: one as GE writes them at stage
Build, with a kernel binary as one giant escaped string in every operator, and one
without kernels. It prints medians of wall and CPU time; ratios and rates are of CPU
time, so that other work on the machine does not decide them.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dumps import dtypes, ge_proto

# Source: reference graph_dumps.md section 3.2; * repeated, m map<string, AttrDef>,
# s string, y bytes, i int64, b bool, f float, u uint32.
_MESSAGES = {
    "ModelDef": "1 name s,2 version u,3 custom_version s,7 graph* GraphDef,11 attr m,"
                "12 attr_groups AttrGroups",
    "GraphDef": "1 name s,4 input* s,5 output* s,6 op* OpDef,11 attr m,"
                "12 attr_groups AttrGroups",
    "OpDef": "1 name s,2 type s,5 input* s,10 attr m,11 attr_groups AttrGroups,"
             "20 has_out_attr b,21 id i,22 stream_id i,23 input_name* s,24 src_name* s,"
             "25 src_index* i,26 dst_name* s,27 dst_index* i,28 input_i* i,"
             "29 output_i* i,30 workspace* i,31 workspace_bytes* i,"
             "32 is_input_const* b,33 input_desc* TensorDescriptor,"
             "34 output_desc* TensorDescriptor,35 subgraph_name* s",
    "ShapeDef": "1 dim* i",
    "TensorDescriptor": "1 name s,2 dtype DataType,3 shape ShapeDef,4 layout s,"
                        "5 attr m,6 attr_groups AttrGroups,9 has_out_attr b,10 size i,"
                        "11 weight_size i,12 reuse_input b,13 output_tensor b,"
                        "14 device_type s,15 input_tensor b,16 real_dim_cnt i,"
                        "17 reuse_input_index i,18 data_offset i,19 cmps_size i,"
                        "20 cmps_tab y,21 cmps_tab_offset i",
    "TensorDef": "1 desc TensorDescriptor,2 data y",
    "NamedAttrs": "1 name s,2 attr m",
    "AttrDef": "1 list ListValue,2 s y,3 i i,4 f f,5 b b,7 bt y,10 func NamedAttrs,"
               "11 td TensorDescriptor,12 t TensorDef,13 g GraphDef,"
               "14 list_list_int ListListInt,15 dt i,16 list_list_float ListListFloat,"
               "17 expression y",
    "ListValue": "2 s* y,3 i* i,4 f* f,5 b* b,7 bt* y,8 td* TensorDescriptor,"
                 "9 t* TensorDef,10 g* GraphDef,11 na* NamedAttrs,12 dt* i,"
                 "20 val_type ListValueType",
    "ListListInt": "1 list_list_i* ListInt",
    "ListInt": "1 list_i* i",
    "ListListFloat": "1 list_list_f* ListFloat",
    "ListFloat": "1 list_f* f",
    "AttrGroups": "1 other_group_def m",
}
_VALUE_TYPES = ["VT_LIST_NONE", "VT_LIST_STRING", "VT_LIST_INT", "VT_LIST_FLOAT",
                "VT_LIST_BOOL", "VT_LIST_BYTES", "VT_LIST_TENSOR_DESC",
                "VT_LIST_TENSOR", "VT_LIST_GRAPH", "VT_LIST_NAMED_ATTRS",
                "VT_LIST_DATA_TYPE"]


def model_class() -> Any:
    """Return protobuf's class of ModelDef, made from the table above."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(
        name="bench_ge_ir.proto", package="bench", syntax="proto3")
    for enum, names in (("DataType", dtypes.IR_NAMES), ("ListValueType", _VALUE_TYPES)):
        made = file.enum_type.add(name=enum)
        for number, name in enumerate(names):
            spelled = f"DT_{name}" if enum == "DataType" else name
            made.value.add(name=spelled, number=number)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields.split(","):
            _add_field(message, *field.split())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file) if hasattr(pool, "Add") else pool.AddSerializedFile(
        file.SerializeToString())
    found = pool.FindMessageTypeByName("bench.ModelDef")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(found)
    return message_factory.MessageFactory(pool).GetPrototype(found)


def _add_field(message: Any, number: str, name: str, kind: str) -> None:
    scalars = {"s": 9, "y": 12, "i": 3, "b": 8, "f": 2, "u": 13}
    repeated = name.endswith("*") or kind == "m"
    field = message.field.add(name=name.rstrip("*"), number=int(number),
                              label=3 if repeated else 1)
    if kind in scalars:
        field.type = scalars[kind]
    elif kind == "m":
        words = field.name.split("_")
        entry = "".join(word.capitalize() for word in words) + "Entry"
        nested = message.nested_type.add(name=entry)
        nested.options.map_entry = True
        nested.field.add(name="key", number=1, label=1, type=9)
        nested.field.add(name="value", number=2, label=1, type=11,
                         type_name=".bench.AttrDef")
        field.type = 11
        field.type_name = f".bench.{message.name}.{entry}"
    else:
        field.type = 14 if kind in ("DataType", "ListValueType") else 11
        field.type_name = f".bench.{kind}"


def build_dump(operators: int, kernel_bytes: int, seed: int = 1) -> bytes:
    """Return a Build dump as GE would print it.

    Args:
        operators: how many.
        kernel_bytes: size of each operator's kernel binary before escaping, 0 for none.
        seed: of the kernels.
    """
    rng = random.Random(seed)
    parts = ['graph {\n  name: "ge_default_20240101000000_1"\n']
    for number in range(operators):
        inputs = "".join(f'    input: "scope/layer_{number - back}/Conv2D:0"\n'
                         for back in (1, 2) if number >= back)
        parts.append(f'  op {{\n    name: "scope/layer_{number}/Conv2D"\n'
                     f'    type: "Conv2D"\n{inputs}')
        parts.append(_attributes(number))
        if kernel_bytes:
            kernel = _kernel(rng, kernel_bytes)
            parts.append(_attribute("_tbe_kernel_buffer", f'        bt: "{kernel}"\n'))
        parts.append(f"    has_out_attr: true\n    id: {number}\n    stream_id: 0\n")
        parts.append(_DESC.replace("@", "input_desc") * 2)
        parts.append(_DESC.replace("@", "output_desc") + "  }\n")
    parts.append("}\n")
    return "".join(parts).encode("latin-1")


def _attributes(number: int) -> str:
    text = []
    for index in range(30):
        value = (f'        s: "te_conv2d_{number}_{index}"\n', f"        i: {index}\n",
                 "        b: true\n",
                 "        list {\n          i: 1\n          i: 224\n"
                 "          val_type: VT_LIST_INT\n        }\n")[index % 4]
        text.append(_attribute(f"_attribute_{index:02d}", value))
    return "".join(text)


def _attribute(key: str, value: str) -> str:
    return (f'    attr {{\n      key: "{key}"\n      value {{\n{value}'
            "      }\n    }\n")


_DESC = """    @ {
      dtype: DT_FLOAT16
      shape {
        dim: 1
        dim: 64
        dim: 56
        dim: 56
      }
      layout: "NC1HWC0"
      attr {
        key: "origin_format"
        value {
          s: "NHWC"
        }
      }
      attr {
        key: "origin_shape"
        value {
          list {
            i: 1
            i: 56
            i: 56
            i: 64
            val_type: VT_LIST_INT
          }
        }
      }
      device_type: "NPU"
    }
"""


def _kernel(rng: random.Random, size: int) -> str:
    """Return an ELF-like binary, escaped as TextFormat does: half of it zeros."""
    names = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}
    table = [names.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
             for byte in range(256)]
    body = bytes(rng.randrange(256) if rng.random() < 0.5 else 0 for _ in range(size))
    return "\\177ELF\\002\\001\\001" + "".join(table[byte] for byte in body)


class Times(NamedTuple):
    """Medians of one action in milliseconds: of the clock, and of this process."""

    wall: float
    cpu: float


def median_ms(action: Callable[[], object], rounds: int) -> Times:
    """Return the median times of an action; the process's own hold on a busy host."""
    wall, cpu = [], []
    for _ in range(rounds):
        start, began = time.perf_counter(), time.process_time()
        action()
        cpu.append(time.process_time() - began)
        wall.append(time.perf_counter() - start)
    return Times(statistics.median(wall) * 1000, statistics.median(cpu) * 1000)


def bench(label: str, path: Path, rounds: int) -> None:
    """Print the figures of one file."""
    size = path.stat().st_size / 1e6

    def lines() -> None:
        with path.open(encoding="latin-1") as file:
            for _ in file:
                pass

    def details() -> None:
        ge_proto.read(path).load_details()

    by_line = median_ms(lines, rounds)
    index = median_ms(lambda: ge_proto.index(path), rounds)
    read = median_ms(lambda: ge_proto.read(path), rounds)
    every = median_ms(details, max(1, rounds // 3))
    graph = ge_proto.read(path)
    print(f"{label}: {size:.2f} MB, {graph.node_count} operators, "
          f"{len(graph.warnings)} warnings; medians of wall and CPU time")
    _row("for line in file", by_line, "")
    _row("index (name, type, line)", index,
         f"{index.cpu / by_line.cpu:6.1f} x the loop")
    _row("read (edges, checks)", read, f"{size / read.cpu * 1000:6.0f} MB/s")
    _row("read and all details", every, f"{size / every.cpu * 1000:6.0f} MB/s")
    try:
        from google.protobuf import text_format
        from google.protobuf.internal import api_implementation
    except ImportError:
        print("  text_format             not here: no protobuf in this Python")
        return
    model = model_class()
    text = path.read_bytes().decode("latin-1")
    theirs = median_ms(lambda: text_format.Parse(text, model()), max(1, rounds // 3))
    _row(f"text_format ({api_implementation.Type()})", theirs,
         f"{theirs.cpu / read.cpu:6.1f} x read, {theirs.cpu / every.cpu:.1f} x read "
         "and all details")


def _row(label: str, times: Times, said: str) -> None:
    print(f"  {label:26s} {times.wall:9.1f} {times.cpu:9.1f} ms  {said}")


def bench_series(stages: int) -> None:
    """Print what a long series takes, read as `inspect` reads it."""
    import resource

    from ge_harness.inspection.gather import gather
    from scripts.make_series import large

    with tempfile.TemporaryDirectory() as folder:
        large(Path(folder), stages)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*")
                   if file.is_file()) / 1e6
        times = median_ms(lambda: gather(folder), 1)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"series of {stages} stages: {size:.0f} MB, at most {most:.0f} MiB in memory")
    _row("inspect", times, f"{size / times.cpu * 1000:6.0f} MB/s")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dump", nargs="*", type=Path, help="ge_proto dumps")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--series", type=int, default=0, metavar="N",
                        help="also time a series of N stages of 3.5 MB (200 fill "
                        "0.7 GB of the temporary folder)")
    chosen = parser.parse_args()
    if chosen.series:
        bench_series(chosen.series)
    for path in chosen.dump:
        bench(path.name, path, chosen.rounds)
    if chosen.dump:
        return
    with tempfile.TemporaryDirectory() as folder:
        for label, data in (("Build dump with kernels", build_dump(48, 25000)),
                            ("blob-free dump", build_dump(350, 0))):
            path = Path(folder) / "ge_proto_00000001_graph_1_Build.txt"
            path.write_bytes(data)
            bench(label, path, chosen.rounds)


if __name__ == "__main__":
    main()
