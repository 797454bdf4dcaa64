"""Evaluates a GraphDef op by op in NumPy under a rounding policy."""
