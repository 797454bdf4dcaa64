"""Slow definitions in Python's own integers and fractions, written from the standard.

They share no code with the package, so that agreement says something.
"""

from __future__ import annotations

import math
from fractions import Fraction

LAYOUT = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23),
          "float64": (11, 52)}


def fields(bits, dtype):
    """Return sign, biased exponent and fraction field of a bit pattern."""
    exponent_bits, fraction_bits = LAYOUT[dtype]
    fraction = bits % 2**fraction_bits
    exponent = bits // 2**fraction_bits % 2**exponent_bits
    sign = -1 if bits // 2 ** (fraction_bits + exponent_bits) else 1
    return sign, exponent, fraction


def is_nan(bits, dtype):
    _, exponent, fraction = fields(bits, dtype)
    return exponent == 2 ** LAYOUT[dtype][0] - 1 and fraction != 0


def value(bits, dtype):
    """Return the value as a float64, which holds every 16- and 32-bit value exactly."""
    exponent_bits, fraction_bits = LAYOUT[dtype]
    sign, exponent, fraction = fields(bits, dtype)
    if exponent == 2**exponent_bits - 1:
        return math.nan if fraction else sign * math.inf
    unit = 2 - 2 ** (exponent_bits - 1) - fraction_bits
    return math.copysign(math.ldexp(abs(whole(bits, dtype)), unit), sign)


def whole(bits, dtype):
    """Return a value that is no NaN in units of the smallest subnormal, an integer.

    Infinity is where the next binade would begin.
    """
    sign, exponent, fraction = fields(bits, dtype)
    if exponent == 0:
        return sign * fraction
    return sign * ((2 ** LAYOUT[dtype][1] + fraction) << (exponent - 1))


def ranks(dtype):
    """Return {bits: place} of all 16-bit patterns but NaN, by sorting their values."""
    values = {bits: whole(bits, dtype) for bits in range(2**16)
              if not is_nan(bits, dtype)}
    places = {one: place for place, one in enumerate(sorted(set(values.values())))}
    return {bits: places[one] for bits, one in values.items()}


def ulp_of(reference, dtype):
    """Return the unit in the last place of an exact reference, as a Fraction."""
    exponent_bits, fraction_bits = LAYOUT[dtype]
    bias = 2 ** (exponent_bits - 1) - 1
    size = abs(Fraction(reference))
    exponent = 1 - bias
    if size:
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        if Fraction(2) ** exponent > size:
            exponent -= 1
    exponent = min(max(exponent, 1 - bias), bias)
    return Fraction(2) ** (exponent - fraction_bits)
