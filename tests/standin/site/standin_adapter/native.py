"""The native route of npu_device: reference tf_adapter.md section 5."""

from __future__ import annotations

import os
import threading

from standin_adapter import engine, graph, keys, loading, session, state

_ANY = None
# name -> (Python type, default, allowed, level)
FIELDS = {
    "graph_run_mode": (int, 1, (0, 1), "both"),
    "oo_level": (str, "O3", ("O0", "O1", "O2", "O3"), "init"),
    "oo_constant_folding": (bool, True, _ANY, "init"),
    "optimization_switch": (str, None, _ANY, "init"),
    "fusion_switch_file": (str, None, _ANY, "both"),
    "precision_mode": (str, None, keys.PRECISION["precision_mode"], "init"),
    "precision_mode_v2": (str, None, keys.PRECISION["precision_mode_v2"], "init"),
    "op_precision_mode": (str, None, _ANY, "both"),
    "modify_mixlist": (str, None, _ANY, "both"),
    "customize_dtypes": (str, None, _ANY, "init"),
    "deterministic": (int, 0, (0, 1), "init"),
    "jit_compile": (str, "auto", ("true", "false", "auto"), "session"),
    "shape_generalization_mode": (
        str, "STRICT", ("STRICT", "FULL", "ADAPTIVE"), "pass"),
    "compile_dynamic_mode": (bool, False, _ANY, "session"),
    "op_compiler_cache_mode": (str, "enable", ("enable", "disable", "force"), "init"),
    "op_compiler_cache_dir": (str, None, _ANY, "init"),
    "debug_dir": (str, None, _ANY, "init"),
    "graph_compiler_cache_dir": (str, None, _ANY, "session"),
    "export_compile_stat": (int, 1, (0, 1, 2), "init"),
    "op_debug_config": (str, None, _ANY, "init"),
    "op_debug_level": (int, None, _ANY, "init"),
    "op_select_implmode": (str, None, _ANY, "both"),
    "optypelist_for_implmode": (str, None, _ANY, "both"),
    "enable_exception_dump": (int, 2, (0, 1, 2), "init"),
    "enable_small_channel": (bool, False, _ANY, "session"),
    "topo_sorting_mode": (int, None, (0, 1), "session"),
    "overflow_flag": (int, 1, (0, 1), "init"),
    "aicore_num": (str, None, _ANY, "init"),
    "external_weight": (bool, False, _ANY, "session"),
    "input_batch_cpy": (bool, False, _ANY, "init"),
    "all_tensor_not_empty": (bool, False, _ANY, "session"),
    "input_fusion_size": (int, 131072, _ANY, "session"),
    "stream_sync_timeout": (int, -1, _ANY, "init"),
    "event_sync_timeout": (int, -1, _ANY, "init"),
}
DUMP = {
    "enable_dump": (bool, False, _ANY, "session"),
    "dump_path": (str, None, _ANY, "session"),
    "dump_step": (str, None, _ANY, "session"),
    "dump_layer": (str, None, _ANY, "session"),
    "dump_mode": (str, "output", ("input", "output", "all"), "session"),
    "dump_data": (str, "tensor", ("tensor", "stats"), "init"),
    "enable_dump_debug": (bool, False, _ANY, "session"),
    "dump_debug_mode": (str, "all", ("all", "aicore_overflow", "atomic_overflow"),
                        "session"),
}
PROFILING = {"enable_profiling": (bool, False, _ANY, "init"),
             "profiling_options": (str, None, _ANY, "init")}
MEMORY = {"atomic_clean_policy": (int, 0, (0, 1), "session"),
          "static_memory_policy": (int, 0, (0, 1, 2, 3, 4), "init"),
          "variable_use_1g_huge_page": (int, 0, (0, 1, 2), "both")}


class NpuConfig:
    """Fields with a type, a default and allowed values, checked when they are set."""

    def __init__(self, fields, **parts):
        object.__setattr__(self, "_fields", fields)
        object.__setattr__(self, "_values", {
            name: row[1] for name, row in fields.items()})
        object.__setattr__(self, "_parts", parts)

    def __getattr__(self, name):
        if name in self._parts:
            return self._parts[name]
        if name not in self._fields:
            raise self._unknown(name)
        return self._values[name]

    def __setattr__(self, name, value):
        if name not in self._fields:
            raise self._unknown(name)
        kind, _, allowed, _ = self._fields[name]
        if not isinstance(value, kind):
            raise TypeError(f"Expected {kind.__name__}, got {type(value).__name__}")
        if allowed is not None and value not in allowed:
            raise ValueError(f"{value!r} not in optional list {list(allowed)}")
        self._values[name] = value

    def _unknown(self, name):
        return ValueError(f"NpuConfig has no option {name}, all options "
                          f"{sorted(self._fields) + sorted(self._parts)}")

    def level(self, levels):
        """Return {key: value} of what goes to one of the levels and is not None."""
        found = {name: self._values[name] for name, row in self._fields.items()
                 if row[3] in levels and self._values[name] is not None}
        for part in self._parts.values():
            found.update(part.level(levels))
        return found


_OPTIONS = []
_OPENED = []
_DEFAULT = []
_INSIDE = threading.local()


def global_options():
    """Return the options of the process; they count until `open`."""
    if not _OPTIONS:
        _OPTIONS.append(NpuConfig(
            FIELDS, dump_config=NpuConfig(DUMP), profiling_config=NpuConfig(PROFILING),
            memory_config=NpuConfig(MEMORY)))
    return _OPTIONS[0]


def sent(levels):
    """Return the options of some levels by GE's names."""
    options = {}
    for key, value in global_options().level(levels).items():
        row = keys.KEYS.get(key)
        for name in (row.names if row else ()):
            options[name] = keys.text(key, value)
    user = global_options().optimization_switch or ""
    if "init" in levels:
        # Without a separator: reference tf_adapter.md section 5.3.
        options["ge.optimizationSwitch"] = user + engine.CLOSING
    else:
        options["ge.optimizationSwitch"] = engine.CLOSING
    return options


def open(device_id=None):
    """Start GE and return the device.

    Raises:
        RuntimeError: GE does not start.
    """
    import tensorflow as tf

    number = device_id if device_id is not None else int(
        state.snapshot().get("ASCEND_DEVICE_ID") or 0)
    state.journal("open", device=number, options=global_options().level(
        ("init", "both", "session", "pass")))
    precision = {key: True for key in keys.PRECISION
                 if getattr(global_options(), key) is not None}
    try:
        engine.ENGINE.begin(sent(("init", "both")), precision)
        options = sent(("session", "both"))
        session_id = engine.ENGINE.session(options)
    except engine.GeError as error:
        raise RuntimeError(f"Failed open npu device {number} : Failed start graph "
                           f"engine:{error}")
    adapter = loading.adapter(tf)
    adapter.fusion.start()
    _OPENED.append(number)
    return Device(tf, adapter, session_id, options)


class Device:
    """An open device."""

    def __init__(self, tf, adapter, session_id, options):
        self._tf = tf
        self._adapter = adapter
        self._session = session_id
        self._options = options
        self._graphs = {}

    def as_default(self):
        """Have the bodies of tf.function go to the device from now on."""
        from tensorflow.python.eager import def_function

        if _DEFAULT:
            return self
        _DEFAULT.append(self)
        original = def_function.Function.__call__

        def call(function, *args, **kwargs):
            if getattr(_INSIDE, "on", False) or not self._tf.executing_eagerly():
                return original(function, *args, **kwargs)
            _INSIDE.on = True
            try:
                self._build(function, args, kwargs)
                return original(function, *args, **kwargs)
            finally:
                _INSIDE.on = False

        def_function.Function.__call__ = call
        return self

    def _build(self, function, args, kwargs):
        concrete = function.get_concrete_function(*args, **kwargs)
        if id(concrete) in self._graphs:
            return
        graph_id = 1 + 10 * len(self._graphs)
        self._graphs[id(concrete)] = concrete
        nodes = graph.nodes_of(concrete.graph.as_graph_def(), self._tf, concrete.graph,
                               [tensor.name for tensor in concrete.outputs])
        # GE merges graph over session over global, so the session's switch hides that
        # of the user: reference tf_adapter.md section 5.3.
        if graph.compute(nodes):
            merged = dict(engine.ENGINE.options)
            merged.update(self._options)
            self._adapter.compile(nodes, session.graph_name(graph_id), graph_id,
                                  self._session, merged)


def enable_v1():
    """Load the session route into TensorFlow 2.6."""
    import tensorflow as tf

    state.journal("enable_v1", opened=bool(_OPENED))
    if _OPENED:
        os.environ["ASCEND_DEVICE_ID"] = str(_OPENED[-1])
    tf.compat.v1.disable_v2_behavior()
    loading.install(tf)
