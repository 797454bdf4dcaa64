"""The seam of the session route: what Session.run does once the adapter is loaded.

The real adapter acts in TensorFlow's C++ graph passes; here BaseSession.run is wrapped.
The graph runs on TensorFlow's CPU kernels, and what the dumps show is the graph that
TensorFlow really executed, rewritten or not.
"""

from __future__ import annotations

import json
import os
import time
from collections import namedtuple

import numpy as np

from standin_adapter import config, data_dump, dumps, engine, graph, kernels, state

# partition: the GraphDef that RunMetadata shows. offloaded: it holds a GeOp. name and
# nodes: the graph as GE holds it after its passes.
_Built = namedtuple("_Built", "partition offloaded name nodes")
_HELD = "_standin_held"


class Adapter:
    """Everything that one process's adapter keeps."""

    def __init__(self, tf):
        self.tf = tf
        self.graph_dumps = dumps.GraphDumps()
        self.fusion = dumps.FusionResults()
        self.kernels = kernels.Kernels()
        self.rejected = []
        self.runs = 0

    def finish(self):
        """Do what GE's end does: statistics, kernel_meta, rejected ops."""
        self.fusion.write()
        self.kernels.finish()
        if self.rejected:
            with open("check_result.tf.json", "w") as out:
                json.dump({"op": self.rejected}, out)

    def compile(self, nodes, name, graph_id, session_id, options):
        """Write what GE and its engines write while they build one graph.

        Returns the nodes as they are after the last stage.
        """
        found = dumps.stages(nodes, options)
        shown = {"GlobalOptions": altered(engine.ENGINE.options),
                 "SessionOptions": altered(options), "GraphOptions": {
                     "ge.shape_generalized_build_mode": "shape_precise"}}
        self.graph_dumps.write(graph_id, name, found, shown)
        self.kernels.compile(found[-1][1], engine.ENGINE.options, options)
        self.fusion.count(session_id, graph_id, nodes, options)
        if engine.ENGINE.options.get("ge.exportCompileStat") == "2":
            self.fusion.write()
        state.journal("build", graph_id=graph_id, stages=[pair[0] for pair in found],
                      ops=[node.type for node in graph.compute(nodes)])
        state.say("I", "The model has been compiled on the Ascend AI processor, "
                  f"current graph id is: {graph_id}")
        return found[-1][1]


def altered(options):
    """Return options as the dump shows them: as held, but for mode ignores_option."""
    taken = state.snapshot()
    shown = dict(options)
    if taken.mode == "ignores_option":
        name = taken.argument or "ge.oo.level"
        if name in shown:
            shown[name] = {"O1": "O3", "O3": "O1", "0": "1", "1": "0"}.get(
                shown[name], "")
    return shown


def graph_name(graph_id):
    """Return GE's name of a graph: it holds the time, so it is no stable key."""
    return f"ge_default_{time.strftime('%Y%m%d%H%M%S')}_{graph_id}"


class Session:
    """What the adapter keeps of one TensorFlow session."""

    def __init__(self, adapter, owner):
        self._adapter = adapter
        self._owner = owner
        self._built = {}
        self._id = None
        self._options = None
        self._graphs = 0
        self._steps = {}

    def run(self, original, call):
        """Run once; `call` holds Session.run's own arguments."""
        tf = self._adapter.tf
        key = _signature(call)
        built = self._built.get(key)
        if built is None:
            found = self._options_of(tf)
            if not found.get("use_off_line", True):
                state.say("I", "Run online process and skip the optimizer")
                return original(self._owner, *call)
            values, built = self._first(original, call, found)
            self._built[key] = built
        else:
            values = original(self._owner, call[0], call[1], None, None)
        _, _, options, metadata = call
        if metadata is not None and options is not None:
            del metadata.partition_graphs[:]
            if options.output_partition_graphs:
                metadata.partition_graphs.add().CopyFrom(built.partition)
        if not built.offloaded:
            return values
        if state.snapshot().mode == "run_fails":
            raise tf.errors.InternalError(
                None, None, "[GEOP] call ge session RunGraphAsync Failed, ret_status:"
                "FAILED, Error Message is : EZ9999: Inner Error!")
        self._adapter.runs += 1
        state.journal("run", number=self._adapter.runs)
        self._dump(original, call[1], built)
        return _perturbed(values, self._adapter.runs)

    def close(self):
        """Give the GE session back."""
        if self._id is not None:
            self._id = None
            if engine.ENGINE.leave():
                self._adapter.finish()

    def _options_of(self, tf):
        held = self._owner._config
        parameters = config.entry(held)
        rewrite = held.graph_options.rewrite_options
        state.journal(
            "config", entries=config.arms(parameters),
            optimizers=[custom.name for custom in rewrite.custom_optimizers],
            remapping=int(rewrite.remapping),
            memory_optimization=int(rewrite.memory_optimization),
            disable_meta_optimizer=bool(rewrite.disable_meta_optimizer),
            opt_level=int(held.graph_options.optimizer_options.opt_level),
            allow_soft_placement=bool(held.allow_soft_placement))
        try:
            return config.read(parameters)
        except config.RaisedError as error:
            raise tf.errors.InvalidArgumentError(None, None, str(error))

    def _first(self, original, call, found):
        """Run a new fetch and feed set: the graph passes, GE's start, the build."""
        tf = self._adapter.tf
        metadata = tf.compat.v1.RunMetadata()
        options = tf.compat.v1.RunOptions(output_partition_graphs=True)
        whole = _types_behind(self._owner.graph, call[0])
        supported = _supported()
        if any(kind in supported or supported is _ALL for kind in whole):
            self._start(tf, found)
        values = original(self._owner, call[0], call[1], options, metadata)
        executed = tf.compat.v1.GraphDef()
        for part in metadata.partition_graphs:
            executed.node.extend(part.node)
        nodes = graph.nodes_of(executed, tf, self._owner.graph)
        taken, left = _split(nodes, supported)
        self._adapter.rejected += [
            {"name": node.name, "type": node.type} for node in left]
        if not taken:
            return values, _Built(executed, False, "", [])
        self._graphs += 1
        graph_id = 1 + 10 * (self._graphs - 1)
        dumps.adapter_graph(f"GeOp{graph_id}_0", executed)
        try:
            if state.snapshot().mode == "graph_fails":
                raise engine.GeError("EZ3003", "No supported Ops kernel and engine are "
                                     "found for [op].", at_init=False)
            engine.switch_file(self._options.get("ge.fusionSwitchFile", ""))
            name = graph_name(graph_id)
            last = self._adapter.compile(
                nodes, name, graph_id, self._id, self._options)
        except engine.GeError as error:
            raise _internal(tf, error)
        return values, _Built(
            _with_geop(executed, taken, graph_id), True, name, last)

    def _dump(self, original, feed, built):
        """Write the tensors of this run where the session's options ask for it."""
        step = self._steps.get(built.name, 0)
        self._steps[built.name] = step + 1
        if not data_dump.wanted(self._options, step):
            return
        found = []
        for node in graph.compute(built.nodes):
            # A fused operator gives what the last of its origins gave.
            origin = node.origins[-1] if node.origins else node.name
            op = self._owner.graph.get_operation_by_name(origin)
            tensors = [list(op.inputs), list(op.outputs)]
            arrays = original(self._owner, tensors, feed, None, None)
            found.append((node.type, node.name, arrays[0], arrays[1],
                          origin if origin != node.name else ""))
        data_dump.write({**engine.ENGINE.options, **self._options}, built.name, step,
                        found)

    def _start(self, tf, found):
        try:
            self._adapter.fusion.start()
            engine.ENGINE.start(found)
            if self._id is None:
                self._options = engine.session_options(found)
                self._id = engine.ENGINE.session(self._options)
        except engine.GeError as error:
            raise _internal(tf, error)


def _internal(tf, error):
    if error.at_init:
        text = ("[GePlugin] Initialize ge failed, ret : 4294967295\n"
                f"Error Message is : \n{error}\n")
    else:
        text = ("[GEOP] GE session build graph failed, graph_id : 1, "
                f"Error Message is : \n{error}\n")
    return tf.errors.InternalError(None, None, text)


def _signature(call):
    flat = call[0] if isinstance(call[0], (list, tuple)) else [call[0]]
    names = tuple(str(getattr(fetch, "name", fetch)) for fetch in flat)
    feed = tuple(sorted(str(getattr(key, "name", key)) for key in (call[1] or {})))
    return names, feed


_ALL = frozenset()


def _supported():
    """Return the op types that are offloaded; `_ALL` where no list is installed."""
    if state.snapshot().mode == "unsupported":
        return frozenset(("",))
    root = state.snapshot().get("ASCEND_OPP_PATH")
    for folder in ("built-in/framework/tensorflow", "framework/built-in/tensorflow"):
        path = os.path.join(root, folder, "npu_supported_ops.json")
        if root and os.path.isfile(path):
            with open(path) as file:
                return frozenset(json.load(file)) or frozenset(("",))
    return _ALL


def _split(nodes, supported):
    """Return (offloaded, left on the host) of the nodes that are work."""
    work = graph.compute(nodes)
    taken = [node for node in work if supported is _ALL or node.type in supported]
    return taken, [node for node in work if node not in taken]


def _types_behind(owner, fetches):
    """Return the op types that a fetch needs, feeds and constants left out."""
    flat = fetches if isinstance(fetches, (list, tuple)) else [fetches]
    waiting = [owner.as_graph_element(fetch, allow_tensor=True, allow_operation=True)
               for fetch in flat]
    waiting = [item.op if hasattr(item, "op") and hasattr(item, "dtype") else item
               for item in waiting]
    seen, types = set(), []
    while waiting:
        op = waiting.pop()
        if op.name in seen:
            continue
        seen.add(op.name)
        if op.type not in ("Placeholder", "Const"):
            types.append(op.type)
        waiting += [tensor.op for tensor in op.inputs] + list(op.control_inputs)
    return types


def _with_geop(executed, taken, graph_id):
    """Return the executed graph with the offloaded nodes replaced by one GeOp."""
    gone = {node.name for node in taken}
    held = {node.name for node in executed.node
            if node.op == "Const" or node.name in gone}
    result = type(executed)()
    name, ports, sources = f"GeOp{graph_id}_0", {}, []
    for node in executed.node:
        if node.name in held:
            for edge in node.input:
                if edge.lstrip("^").split(":")[0] not in held and edge not in sources:
                    sources.append(edge)
            continue
        copy = result.node.add()
        copy.CopyFrom(node)
        for index, edge in enumerate(copy.input):
            if edge.lstrip("^").split(":")[0] in held:
                port = ports.setdefault(edge, len(ports))
                copy.input[index] = f"{name}:{port}" if port else name
    one = result.node.add()
    one.name, one.op, one.device = name, "GeOp", "/job:localhost/replica:0/task:0/cpu:0"
    one.input.extend(sources)
    return result


def _perturbed(values, number):
    """Return outputs as computed; in mode nondeterministic the odd runs differ."""
    if state.snapshot().mode != "nondeterministic" or number % 2:
        return values
    if isinstance(values, list):
        return [_nudged(value) for value in values]
    if isinstance(values, dict):
        return {name: _nudged(value) for name, value in values.items()}
    return _nudged(values)


def _nudged(value):
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or not value.size:
        return value
    copy = value.copy()
    flat = copy.reshape(-1)
    flat[0] = np.nextafter(flat[0], value.dtype.type(np.inf))
    return copy


def patch(tf):
    """Put the adapter into TensorFlow's sessions, those that exist already too."""
    from tensorflow.python.client import session as module

    base = module.BaseSession
    adapter = Adapter(tf)
    original_run, original_close = base.run, base.close

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        call = (fetches, feed_dict, options, run_metadata)
        if config.entry(self._config) is None:
            return original_run(self, *call)
        held = getattr(self, _HELD, None)
        if held is None:
            held = Session(adapter, self)
            setattr(self, _HELD, held)
        return held.run(original_run, call)

    def close(self):
        held = getattr(self, _HELD, None)
        if held is not None:
            held.close()
        return original_close(self)

    def make_callable(self, fetches, feed_list=None, accept_options=False):
        del accept_options
        feeds = list(feed_list or ())
        return lambda *args, **given: self.run(
            fetches, dict(zip(feeds, args)), given.get("options"),
            given.get("run_metadata"))

    base.run, base.close, base.make_callable = run, close, make_callable
    return adapter
