"""What the stand-in packages npu_bridge and npu_device share.

For tests only: it speaks the contract of the real adapters (reference: tf_adapter.md)
and computes on the CPU. Nothing here is GE, and no figure of it is a device's.
"""
