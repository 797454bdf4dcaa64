"""Stands in for CANN's collective package, which importing npu_bridge imports."""
