"""Comparison of tensors: bits, ULPs, errors and named standards, in NumPy alone."""
