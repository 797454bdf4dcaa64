"""The options of a plan as the ConfigProto of a TensorFlow session, read back.

Source: reference: tf_adapter.md sections 4.1 and 4.7; tf_adapter_examples.md section 3.
"""

from __future__ import annotations

from typing import Any

from ge_harness.backends import tf_loader
from ge_harness.backends.base import BackendFailure
from ge_harness.records.ge import GePlan
from ge_harness.records.run import FailureKind

OPTIMIZER = "NpuOptimizer"


def session_config(tf: Any, plan: GePlan, threads: int) -> Any:
    """Return the session config of a plan.

    A bool goes through the arm `.b`, an int through `.i`, text through `.s` as bytes:
    the adapter reads an option of the wrong arm as its default, without a word. What
    was written is read back and held against the plan.

    Args:
        tf: TensorFlow.
        plan: what is to be sent.
        threads: size of the thread pools of the host.

    Raises:
        BackendFailure: the config does not say what the plan says.
    """
    from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

    config = tf_loader.session_config(tf, threads)
    config.log_device_placement = False
    options = config.graph_options
    rewrite = options.rewrite_options
    rewrite.remapping = RewriterConfig.OFF
    # The number of OFF means MANUAL in this field.
    rewrite.memory_optimization = RewriterConfig.NO_MEM_OPT
    options.optimizer_options.do_common_subexpression_elimination = False
    if not plan.literal_graph:
        rewrite.disable_meta_optimizer = False
        options.optimizer_options.opt_level = tf.compat.v1.OptimizerOptions.L1
        options.optimizer_options.do_common_subexpression_elimination = True
    optimizer = rewrite.custom_optimizers.add()
    optimizer.name = OPTIMIZER
    for name, value in plan.options:
        attribute = optimizer.parameter_map[name]
        if isinstance(value, bool):
            attribute.b = value
        elif isinstance(value, int):
            attribute.i = value
        else:
            attribute.s = value.encode("utf-8")
    found = read_back(tf, config)
    if found != dict(plan.options):
        wrong = sorted(name for name, value in {**found, **dict(plan.options)}.items()
                       if found.get(name) != value)
        raise BackendFailure(FailureKind.BUILD, "the session config does not hold the "
                             f"options as planned: {', '.join(wrong)}")
    return config


def read_back(tf: Any, config: Any) -> dict[str, bool | int | str]:
    """Return the options a config holds, after a trip through its bytes.

    Raises:
        BackendFailure: there is not exactly one NpuOptimizer in it.
    """
    again = tf.compat.v1.ConfigProto.FromString(config.SerializeToString())
    ours = [one for one in again.graph_options.rewrite_options.custom_optimizers
            if one.name == OPTIMIZER]
    if len(ours) != 1:
        raise BackendFailure(FailureKind.BUILD, f"the session config has {len(ours)} "
                             f"entries called {OPTIMIZER}, expected one")
    found: dict[str, bool | int | str] = {}
    for name, attribute in ours[0].parameter_map.items():
        arm = attribute.WhichOneof("value")
        if arm == "s":
            found[name] = attribute.s.decode("utf-8")
        elif arm == "b":
            found[name] = bool(attribute.b)
        elif arm == "i":
            found[name] = int(attribute.i)
    return found
