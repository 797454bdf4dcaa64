"""Stand-in: patches every later session, as the real one does. Not for the harness."""

import tensorflow as tf

from standin_adapter import state as _state

_state.journal("npu_init")


def npu_config_proto(config_proto=None):
    """Write what the real patch writes into a user's config."""
    from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

    config = config_proto or tf.compat.v1.ConfigProto()
    config.allow_soft_placement = True
    config.log_device_placement = False
    rewrite = config.graph_options.rewrite_options
    rewrite.remapping = RewriterConfig.OFF
    if not any(custom.name == "NpuOptimizer" for custom in rewrite.custom_optimizers):
        rewrite.custom_optimizers.add().name = "NpuOptimizer"
        rewrite.memory_optimization = RewriterConfig.OFF
    return config


def _patch():
    from tensorflow.python.client import session

    for kind in (session.Session, session.InteractiveSession):
        _wrap(kind)


def _wrap(kind):
    original = kind.__init__

    def init(self, target="", graph=None, config=None):
        original(self, target, graph, npu_config_proto(config))

    kind.__init__ = init


_patch()
