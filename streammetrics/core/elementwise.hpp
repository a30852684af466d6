// Functions of one value. Loops over rows call them in vectors, and each step is the same in definition/sums.py.
#pragma once

#include <cmath>
#include <cstring>

#include "arrays.hpp"

constexpr double CLIP = 1e-15;

inline u64 to_bits(double x) {
  u64 bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

inline double from_bits(u64 bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Adding this number rounds to a whole number below 2^51, which is then in the lowest bits.
constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52

inline i64 whole(double x) { return static_cast<i64>(to_bits(x + ROUNDER) - to_bits(ROUNDER)); }

// 1 or 0.
inline double indicator(bool holds) { return holds ? 1.0 : 0.0; }

inline double square(double x) { return x * x; }

inline double clipped(double p) {
  p = p < CLIP ? CLIP : p;
  return p > 1.0 - CLIP ? 1.0 - CLIP : p;
}

// Natural logarithm of a normal positive number: x = m * 2^k with m near 1, and log(m) = 2 artanh(s) as a series in s.
inline double natural_log(double x) {
  constexpr u64 SQRT_HALF = 0x3FE6A09E667F3BCD, BIAS = 1023, POWER_52 = 0x4330000000000000;
  constexpr double LN2 = 0.6931471803691238, LN2_REST = 1.9082149292705877e-10;  // k * LN2 is exact
  const u64 bits = to_bits(x), exponent = (bits - SQRT_HALF + (BIAS << 52)) >> 52;
  const double k = from_bits(exponent | POWER_52) - (4503599627370496.0 + BIAS);
  const double f = from_bits(bits - ((exponent - BIAS) << 52)) - 1.0;
  const double s = f / (f + 2.0), z = s * s, half = 0.5 * f * f;
  double series = 1.0 / 21;
  series = series * z + 1.0 / 19;
  series = series * z + 1.0 / 17;
  series = series * z + 1.0 / 15;
  series = series * z + 1.0 / 13;
  series = series * z + 1.0 / 11;
  series = series * z + 1.0 / 9;
  series = series * z + 1.0 / 7;
  series = series * z + 1.0 / 5;
  series = series * z + 1.0 / 3;
  return k * LN2 - ((half - (s * (half + 2.0 * z * series) + k * LN2_REST)) - f);
}
