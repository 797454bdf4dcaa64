"""Readers of what graph compilers write. No TensorFlow, no protobuf."""
