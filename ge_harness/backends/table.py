"""The table of backends. Listing it imports none of them."""

from __future__ import annotations

from ge_harness.registry import Entry, Registry

BACKENDS = Registry("backend", {
    "ge": Entry(
        "ge_harness.backends.ge:GeBackend",
        "Huawei GE with AutoFuse through npu_bridge or npu_device (on an Ascend host)",
        needs="npu_bridge"),
    "emulator": Entry("ge_harness.backends.emulator.backend:EmulatorBackend",
                      "host model of GE and AutoFuse: emulation, not hardware"),
    "xla": Entry("ge_harness.backends.xla:XlaBackend",
                 "TensorFlow's XLA compiler on this CPU: real compiler, not Ascend",
                 needs="tensorflow"),
    "grappler": Entry("ge_harness.backends.grappler:GrapplerBackend",
                      "TensorFlow's graph optimizers on this CPU: real compiler, not "
                      "Ascend", needs="tensorflow"),
    "eager": Entry("ge_harness.backends.eager:EagerBackend",
                   "TensorFlow op by op: a base line, not the truth",
                   needs="tensorflow"),
    "reference": Entry("ge_harness.backends.reference:ReferenceBackend",
                       "the graph op by op in float64 by NumPy: the truth"),
})
