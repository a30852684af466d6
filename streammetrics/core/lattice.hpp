// The lattice: floats as ordered integers (keys), and bins as intervals of keys. Described in lattice.py.
#pragma once

#include <algorithm>
#include <vector>

#include "elementwise.hpp"

constexpr int MAX_SHIFT = 63;
constexpr int NEVER = MAX_SHIFT + 1;  // level of neighbours that never share a bin
constexpr i64 MAGNITUDE = INT64_MAX;
constexpr i64 ONE = 0x7FC0'0000'0000'0000;  // key of the probability 1

inline i64 bits_of(double value) { return static_cast<i64>(to_bits(value)); }

template <bool PROBABILITY>
inline i64 key_of(double value) {
  const i64 bits = bits_of(value + 0.0);  // turns -0.0 into 0.0
  if (PROBABILITY)
    return value > 0.5 ? static_cast<i64>(static_cast<u64>(ONE) - static_cast<u64>(bits_of(1.0 - value))) : bits;
  return bits ^ ((bits >> 63) & MAGNITUDE);
}

inline int bit_length(i64 bits) { return bits ? 64 - __builtin_clzll(static_cast<u64>(bits)) : 0; }

inline i64 lowest_key(i64 key, int shift) { return static_cast<i64>(static_cast<u64>(key >> shift) << shift); }

// Keys that never share a bin with another key, in ascending order.
class Atoms {
  static constexpr std::size_t FEW = 4;

 public:
  explicit Atoms(std::vector<i64> ascending) : keys(std::move(ascending)) {}

  // Whether the bin of a key has an atom and other keys.
  bool shares_bin(i64 key, int shift) const { return shift > 0 && level_to_atom(key) <= shift; }

  // The largest shift, up to the given one, at which the bin of a key has no atom among other keys.
  int limit(i64 key, int shift) const {
    const int level = shift > 0 ? level_to_atom(key) : NEVER;
    return level > shift ? shift : std::max(level - 1, 0);
  }

  // Lowest shift at which two neighbours share a bin.
  int level(i64 key, i64 next) const {
    const int level = bit_length(key ^ next);
    return level > 0 && level_to_atom(next) <= level ? NEVER : level;
  }

  // Whether any bin from the first to the last has an atom.
  bool are_within(i64 first, i64 last, int shift) const {
    return std::any_of(keys.begin(), keys.end(),
                       [=](i64 atom) { return first <= atom >> shift && atom >> shift <= last; });
  }

 private:
  std::vector<i64> keys;

  // Lowest shift at which a key shares a bin with an atom. Of many atoms, only the two next to it can be the nearest.
  int level_to_atom(i64 key) const {
    auto atom = keys.begin(), end = keys.end();
    if (keys.size() > FEW) {
      const auto above = std::upper_bound(atom, end, key);
      if (above != atom) atom = above - 1;
      if (above != end) end = above + 1;
    }
    u64 nearest = UINT64_MAX;
    for (; atom != end; ++atom) nearest = std::min(nearest, static_cast<u64>(key ^ *atom));
    return bit_length(static_cast<i64>(nearest));
  }
};
