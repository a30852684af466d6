// The bins of one group as cells in ascending order, and the finest shift at which they fit a capacity.
#pragma once

#include <numeric>

#include "lattice.hpp"

// The smallest shift, at least the given one, at which ascending keys are in no more bins than fit the capacity.
template <class KeyAt>
int find_shift(i64 count, KeyAt key_at, int least, i64 capacity, const Atoms& atoms) {
  i64 merging[NEVER + 1] = {};  // neighbors that share a bin from a shift on
  for (i64 i = 1; i < count; i++) merging[atoms.level(key_at(i - 1), key_at(i))]++;
  i64 bins = count;
  for (int shift = 0; shift <= least; shift++) bins -= merging[shift];
  int shift = least;
  while (bins > capacity && shift < MAX_SHIFT) bins -= merging[++shift];
  return shift;
}

// A sum of counts. Those of rows always fit, but others can be read from elsewhere.
inline i64 plus(i64 a, i64 b) {
  const i64 sum = static_cast<i64>(static_cast<u64>(a) + static_cast<u64>(b));
  require(((a ^ sum) & (b ^ sum)) >= 0, "counts of a bin must have a sum below 2^63");
  return sum;
}
inline double plus(double a, double b) { return a + b; }

// Cell i has the lowest key of its bin, low[i], and amounts[i * stride] and those after it.
template <class Amount>
struct Cells {
  i64 stride;
  std::vector<i64> low;
  std::vector<Amount> amounts;

  explicit Cells(i64 stride) : stride(stride) {}

  i64 size() const { return static_cast<i64>(low.size()); }

  void clear() {
    low.clear();
    amounts.clear();
  }

  Amount* at(i64 cell) { return amounts.data() + cell * stride; }
  const Amount* at(i64 cell) const { return amounts.data() + cell * stride; }

  Amount* append(i64 key) {
    low.push_back(key);
    amounts.resize(amounts.size() + stride);
    return at(size() - 1);
  }

  void append(i64 key, const Amount* values) {
    low.push_back(key);
    amounts.insert(amounts.end(), values, values + stride);
  }

  // Sort by key; equal keys stay in order.
  void sort() {
    if (std::is_sorted(low.begin(), low.end())) return;
    std::vector<i64> order(low.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [this](i64 a, i64 b) { return low[a] < low[b]; });
    Cells sorted(stride);
    sorted.low.reserve(low.size());
    sorted.amounts.reserve(amounts.size());
    for (i64 cell : order) sorted.append(low[cell], at(cell));
    low.swap(sorted.low);
    amounts.swap(sorted.amounts);
  }

  // Merge sorted cells at the smallest shift, at least the given one, at which their bins fit the capacity.
  int fit(int least, i64 capacity, const Atoms& atoms) {
    const bool distinct = std::adjacent_find(low.begin(), low.end()) == low.end();
    if (distinct && !least && size() <= capacity) return 0;
    const int shift = find_shift(size(), [this](i64 cell) { return low[cell]; }, least, capacity, atoms);
    merge(shift, atoms);
    return shift;
  }

 private:
  // Add up the cells of each bin, in their order.
  void merge(int shift, const Atoms& atoms) {
    i64 bin = -1, before = 0;
    for (i64 i = 0; i < size(); i++) {
      const Amount* more = at(i);
      const i64 key = low[i];
      if (i == 0 || atoms.level(before, key) > shift) {
        bin++;
        low[bin] = lowest_key(key, atoms.limit(key, shift));
        std::copy(more, more + stride, at(bin));
      } else {
        Amount* own = at(bin);
        for (i64 side = 0; side < stride; side++) own[side] = plus(own[side], more[side]);
      }
      before = key;
    }
    low.resize(bin + 1);
    amounts.resize((bin + 1) * stride);
  }
};
