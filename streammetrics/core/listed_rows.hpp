// Rows of a histogram as they are listed: a key, a side, and a weight. Most fit an integer.
#pragma once

#include "arrays.hpp"

constexpr u64 SIGN = u64{1} << 63;  // turned, it makes the order of signed keys that of unsigned numbers

template <int SIDE_BITS>
struct PackedRow {
  using Amount = i64;
  u64 order;

  PackedRow() = default;
  PackedRow(i64 key, u32 side, double)
      : order(SIDE_BITS ? static_cast<u64>(key) << SIDE_BITS | side : static_cast<u64>(key) ^ SIGN) {}
  i64 key() const { return static_cast<i64>(SIDE_BITS ? order >> SIDE_BITS : order ^ SIGN); }
  u32 side() const { return SIDE_BITS ? order & 1 : 0; }
  Amount amount() const { return 1; }
};

struct LabeledRow {
  using Amount = i64;
  u64 order;
  u32 of_side;

  LabeledRow() = default;
  LabeledRow(i64 key, u32 side, double) : order(static_cast<u64>(key) ^ SIGN), of_side(side) {}
  i64 key() const { return static_cast<i64>(order ^ SIGN); }
  u32 side() const { return of_side; }
  Amount amount() const { return 1; }
};

struct WeightedRow : LabeledRow {
  using Amount = double;
  double weight;

  WeightedRow() = default;
  WeightedRow(i64 key, u32 side, double weight) : LabeledRow(key, side, weight), weight(weight) {}
  Amount amount() const { return weight; }
};
