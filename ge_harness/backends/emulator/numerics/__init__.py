"""How kernels compute: rounding, instructions, functions, sums, by chip and side."""
