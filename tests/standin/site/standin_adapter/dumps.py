"""Where and when GE writes graph dumps and fusion results.

Reference: tf_adapter.md section 7.3, graph_dumps.md sections 1 and 6.5,
fusion_result.md sections 1 to 4.
"""

from __future__ import annotations

import json
import os

from standin_adapter import engine, graph, prototext, state

_BEFORE = ("PreRunBegin", "AfterInfershape", "PreRunAfterPrepare",
           "PreRunAfterOptimizeOriginalGraph", "AfterPrecisionRefine")
_PREPARE = ("AutofuseOptimize_Entry", "AutofuseOptimize_AfterPreprocess")
_FUSE = ("AutoFuser_BeforeAutoFuse", "AutoFuser_AfterPatternFusion",
         "AutoFuser_AfterLowering", "AutoFuser_AfterFusionStrategySolve",
         "AutoFuser_AfterLifting", "AutoFuser_AscBackendPostProcess",
         "AutoFuser_AfterAllFuse")
_AFTER = ("PreRunAfterAfterPrecisionRefine", "PreRunAfterOptimizeSubgraph",
          "PreRunAfterBuild", "Build")
_FUSED_FROM = _FUSE.index("AutoFuser_AfterLowering")
_SHORT_LIST = ("PreRunBegin", "AfterInfershape", "PreRunAfterPrepare",
               "PreRunAfterOptimizeOriginalGraph", "PreRunAfterOptimizeSubgraph",
               "PreRunAfterBuild", "Build")
_HIDDEN = ("partition", "OptimizeSubGraph", "Aicpu", "sub_graph")


def autofuse(options):
    """Return (prepares, fuses): whether AutoFuse's frame runs, and its pass.

    With the flag set and the pass off its preparation still runs.
    """
    flags = state.snapshot().get("AUTOFUSE_FLAGS").split(";")
    asked = "--enable_autofuse=true" in flags
    level = options.get("ge.oo.level", "O3")
    on = engine.switched(options).get("AutoFusePass", level == "O3")
    return asked, asked and on


def stages(nodes, options):
    """Return [(stage, nodes)] of one compilation, in order."""
    prepares, fuses = autofuse(options)
    found = [(stage, nodes) for stage in _BEFORE]
    if prepares and graph.compute(nodes):
        found += [(stage, nodes) for stage in _PREPARE]
        after = graph.fused(nodes) if fuses else nodes
        if fuses:
            found += [(stage, after if number >= _FUSED_FROM else nodes)
                      for number, stage in enumerate(_FUSE)]
        nodes = after
        found.append(("AutofuseOptimize_Exit", nodes))
    return found + [(stage, nodes) for stage in _AFTER]


def wanted(stage):
    """Return whether DUMP_GRAPH_LEVEL lets a stage be written."""
    level = state.snapshot().get("DUMP_GRAPH_LEVEL", "2")
    if level and not level.isdigit():
        return any(part and part in stage for part in level.split("|"))
    if level == "1":
        return not any(part in stage for part in _HIDDEN)
    return {"2": stage in _SHORT_LIST, "3": stage == "Build",
            "4": stage == "PreRunBegin"}.get(level, False)


class GraphDumps:
    """The graph dumps of this process: one folder, one counter a format."""

    def __init__(self):
        self._folder = None
        self._count = {"ge_proto": 0, "ge_onnx": 0}

    def write(self, graph_id, name, found, options):
        """Write the stages of one compilation as the variables ask.

        Args:
            graph_id: GE's.
            name: of the graph.
            found: [(stage, nodes)].
            options: {"GlobalOptions": {...}, "SessionOptions": {...}, ...}.
        """
        if state.snapshot().mode == "no_dumps":
            return
        kind = state.snapshot().get("DUMP_GE_GRAPH", "0")
        on = kind in ("1", "2", "3")
        forced = options["SessionOptions"].get("ge.exec.enableDump") == "1"
        formats = state.snapshot().get("DUMP_GRAPH_FORMAT").lower() or "ge_proto|onnx"
        shown = options if kind in ("1", "2") else {}
        for stage, nodes in found:
            ask = on and wanted(stage)
            if (ask and "ge_proto" in formats) or (forced and stage == "Build"):
                self._put("ge_proto", "txt", graph_id, stage, prototext.ge_proto(
                    name, nodes, shown, kind == "1" or forced))
            if ask and "onnx" in formats:
                self._put("ge_onnx", "pbtxt", graph_id, stage,
                          prototext.ge_onnx(name, nodes))

    def _put(self, start, end, graph_id, stage, text):
        folder = self._place()
        name = f"{start}_{self._count[start]:08d}_graph_{graph_id}_{stage}.{end}"
        self._count[start] += 1
        if state.snapshot().mode == "half_dumps":
            text = text[:len(text) // 2]
        path = os.path.join(folder, name)
        with open(path, "w") as out:
            out.write(text)
        os.chmod(path, 0o600)

    def _place(self):
        """Return the folder, chosen at the first dump and kept for the process."""
        if self._folder is None:
            taken = state.snapshot()
            pid, device = os.getpid(), taken.get("ASCEND_DEVICE_ID") or "0"
            if taken.get("NPU_COLLECT_PATH"):
                folder = os.path.join(taken.get("NPU_COLLECT_PATH"), "extra-info",
                                      "graph", f"{pid}_{device}")
            elif "DUMP_GRAPH_PATH" in taken.environment:
                folder = os.path.join(taken.get("DUMP_GRAPH_PATH"),
                                      f"pid_{pid}_deviceid_{device}")
            else:
                folder = taken.get("ASCEND_WORK_PATH") or "."
            os.makedirs(folder, exist_ok=True)
            self._folder = folder
        return self._folder


def adapter_graph(name, graph_def):
    """Write the adapter's own GraphDef text where PRINT_MODEL asks for it."""
    taken = state.snapshot()
    if taken.get("PRINT_MODEL") not in ("1", "true"):
        return
    if taken.get("NPU_COLLECT_PATH"):
        folder = os.path.join(
            taken.get("NPU_COLLECT_PATH"), "extra-info", "graph",
            f"{os.getpid()}_{taken.get('ASCEND_DEVICE_ID') or '0'}")
    else:
        folder = taken.get("DUMP_GRAPH_PATH") or "."
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"TF_{name}.pbtxt"), "w") as out:
        out.write(str(graph_def))


class FusionResults:
    """Counts of graph-fusion passes and the file they go to."""

    def __init__(self):
        self._counts = {}
        self._path = None

    def start(self):
        """Fix the path and delete what lies there, as FE does when it starts."""
        if self._path is None:
            work = state.snapshot().get("ASCEND_WORK_PATH")
            folder = os.path.join(work, "FE", str(os.getpid())) if work else os.getcwd()
            self._path = os.path.join(folder, "fusion_result.json")
            if os.path.exists(self._path):
                os.remove(self._path)

    def count(self, session, graph_id, nodes, options):
        """Count what would have matched in a graph."""
        passes = matched(nodes, options)
        if passes:
            key = f"session_and_graph_id_{session}_{graph_id}"
            self._counts[key] = {"graph_fusion": passes}

    def write(self):
        """Append what was counted; nothing counted, nothing written."""
        if not self._counts:
            return
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        text = json.dumps(self._counts, indent=4, sort_keys=True)
        self._counts = {}
        if os.path.exists(self._path):
            with open(self._path) as file:
                before = file.read()
            text = before[:-2] + "," + text[1:]
        with open(self._path, "w") as out:
            out.write(text)


def matched(nodes, options):
    """Return {pass: counts} of graph-fusion passes that are on and find a pattern."""
    types = [node.type for node in nodes]
    seen = {
        "ConstToAttrPass": (types.count("Const"), 0),
        "RealDiv2MulsFusionPass": (types.count("RealDiv"), types.count("RealDiv")),
        "MatMulBiasAddFusionPass": (min(types.count("MatMul"), types.count("BiasAdd")),
                                    min(types.count("MatMul"), types.count("BiasAdd"))),
    }
    return {name: {"match_times": str(match), "effect_times": str(effect)}
            for name, (match, effect) in seen.items() if match and _on(name, options)}


def _on(name, options):
    """Return whether FE runs a graph-fusion pass: switch over file over level."""
    switches = engine.switched(options)
    if name in switches:
        return switches[name]
    group = engine.switch_file(
        options.get("ge.fusionSwitchFile", "")).get("GraphFusion", {})
    for key in (name, "ALL"):
        if key in group:
            return group[key] == "on"
    return options.get("ge.oo.level", "O3") == "O3"
