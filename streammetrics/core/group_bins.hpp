// The bins of one group while its rows are counted: a dense array over their span, or a hash table where that is long.
// Both take a multiple of the capacity at most, however many rows there are.
#pragma once

#include <utility>

#include "cells.hpp"

constexpr i64 EMPTY = INT64_MIN;  // a free slot of a hash table
constexpr u64 FEWEST_SLOTS = 8;
constexpr i64 LONGEST = 16;  // longest span of an array, in bins per bin of the capacity

// The amounts of a bin: one for each side, and a mark where amounts cannot tell whether the bin has rows. Squares of
// weights can underflow to zero.
struct Shape {
  i64 capacity, sides;
  bool marked;

  i64 stride() const { return sides + marked; }
  u64 last_side() const { return static_cast<u64>(sides - 1); }

  template <class Amount>
  bool is_used(const Amount* bin) const {
    return marked ? bin[sides] != 0 : bin[0] != 0 || bin[sides - 1] != 0;
  }

  template <class Amount>
  void mark(Amount* bin) const {
    if (marked) bin[sides] = 1;
  }
};

// A bin has a number, key >> shift. Bins next to an atom are narrower, and are kept in a list of their own.
template <class Amount>
class GroupBins {
 public:
  int shift = 0;
  i64 occupied = 0;  // number of bins
  i64 rows = 0;      // number of rows; few rows get no long array
  i64 base = 0;      // number of the first bin of the array

  explicit GroupBins(const Shape& shape) : shape(shape), near(shape.stride()) {}

  // Become these cells, which fit the capacity at this shift.
  void fill(const Cells<Amount>& cells, int at_shift, i64 row_count, const Atoms& atoms) {
    *this = GroupBins(shape);
    shift = at_shift, rows = row_count;
    if (cells.size()) first = cells.low.front() >> shift, last = cells.low.back() >> shift;
    if (may_be_dense())
      make_array();
    else
      make_table(cells.size());
    for (i64 i = 0; i < cells.size(); i++) {
      Amount* bin = at(cells.low[i], atoms);
      for (i64 side = 0; side < shape.sides; side++) bin[side] += cells.at(i)[side];
    }
  }

  // All bins in ascending order.
  void extract(Cells<Amount>& cells) const {
    cells.clear();
    for (i64 i = 0; i < near.size(); i++) cells.append(near.low[i], near.at(i));
    each([&](i64 bin, const Amount* amounts) {
      cells.append(static_cast<i64>(static_cast<u64>(bin) << shift), amounts);
    });
    cells.sort();
  }

  bool is_dense() const { return !array.empty(); }
  Amount* amounts() { return array.data(); }

  // Make room for the bins from one to another.
  void cover(i64 lowest, i64 highest) {
    first = std::min(first, lowest), last = std::max(last, highest);
    if (!may_be_dense()) {
      if (is_dense()) make_table(occupied);
    } else if (!is_dense() || first < base || last - base >= span()) {
      make_array();
    }
  }

  // The bin of a key that is covered.
  Amount* at(i64 key, const Atoms& atoms) {
    if (atoms.shares_bin(key, shift)) return occupy(at_atom(lowest_key(key, atoms.limit(key, shift))));
    const i64 bin = key >> shift;
    return is_dense() ? occupy(array.data() + (bin - base) * shape.stride()) : in_table(bin);
  }

  // A bin of the hash table.
  Amount* in_table(i64 bin) {
    const u64 slot = find(ids, bin);
    Amount* const found = slots.data() + slot * shape.stride();
    return ids[slot] == EMPTY ? insert(bin) : found;
  }

 private:
  Shape shape;
  i64 first = 0, last = 0;    // range of bins
  Cells<Amount> near;         // next to atoms, in any order
  std::vector<Amount> array;  // of consecutive bins, or
  std::vector<i64> ids;       // numbers of bins in a hash table with linear probing,
  std::vector<Amount> slots;  // and their amounts

  i64 span() const { return static_cast<i64>(array.size()) / shape.stride(); }

  bool may_be_dense() const {
    const i64 most = std::max(std::min(rows, LONGEST * shape.capacity), shape.capacity);
    return static_cast<u64>(last) - static_cast<u64>(first) < static_cast<u64>(most);
  }

  Amount* occupy(Amount* bin) {
    occupied += !shape.is_used(bin);
    shape.mark(bin);
    return bin;
  }

  Amount* insert(i64 bin) {
    if (2 * static_cast<u64>(occupied + 1) > ids.size()) make_table(2 * occupied);
    const u64 slot = find(ids, bin);
    ids[slot] = bin;
    return occupy(slots.data() + slot * shape.stride());
  }

  Amount* at_atom(i64 lowest) {
    const auto found = std::find(near.low.begin(), near.low.end(), lowest);
    return found == near.low.end() ? near.append(lowest) : near.at(found - near.low.begin());
  }

  static u64 find(const std::vector<i64>& ids, i64 bin) {
    const u64 last = ids.size() - 1;
    u64 slot = static_cast<u64>(bin) * 0x9E37'79B9'7F4A'7C15 >> 32 & last;
    while (ids[slot] != bin && ids[slot] != EMPTY) slot = (slot + 1) & last;
    return slot;
  }

  template <class Visit>
  void each(Visit visit) const {
    for (i64 i = 0; i < span(); i++)
      if (const Amount* bin = array.data() + i * shape.stride(); shape.is_used(bin)) visit(base + i, bin);
    for (u64 i = 0; i < ids.size(); i++)
      if (ids[i] != EMPTY) visit(ids[i], slots.data() + i * shape.stride());
  }

  void make_array() {
    const i64 room = (last - first) / 8 + 1;  // at both ends
    const i64 start = std::max(first, INT64_MIN + room) - room, end = std::min(last, INT64_MAX - room) + room;
    std::vector<Amount> made((end - start + 1) * shape.stride());
    each([&](i64 bin, const Amount* from) {
      std::copy_n(from, shape.stride(), made.data() + (bin - start) * shape.stride());
    });
    array = std::move(made), base = start, ids = {}, slots = {};
  }

  void make_table(i64 bins) {
    u64 size = FEWEST_SLOTS;
    while (size < 2 * static_cast<u64>(bins + 1)) size *= 2;
    std::vector<i64> made_ids(size, EMPTY);
    std::vector<Amount> made(size * shape.stride());
    each([&](i64 bin, const Amount* from) {
      const u64 slot = find(made_ids, bin);
      made_ids[slot] = bin;
      std::copy_n(from, shape.stride(), made.data() + slot * shape.stride());
    });
    ids = std::move(made_ids), slots = std::move(made), array = {};
  }
};
