"""The definition of every loop over rows in numpy, to which the compiled loops are held.

Integers are equal bit for bit, also sums of losses, and sums of floats up to rounding.
"""
