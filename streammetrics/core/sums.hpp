// Sums of values of rows by group and cell. A block of rows is computed at once, whatever its groups, then added.
#pragma once

#include <algorithm>

#include "elementwise.hpp"

constexpr double MICRO = 1e-6;
constexpr i64 CARRY = 1'000'000'000'000;  // units of 1e-18 in a millionth
constexpr i64 AHEAD = 8;                  // runs after which a cell is in the cache
constexpr i64 MOST_MICROS = i64{1} << 62;

template <int SUMS>
struct Block {
  double values[SUMS][BLOCK];
  i64 cells[BLOCK];  // the cell of each row in its group
};

// Amount i64: the number of rows of a cell, then millionths and units of 1e-18 of each sum, the same in any order.
// Amount double: the weight of the rows of a cell, then each sum of weighted values.
template <class Amount, int SUMS>
class Sums;

template <int SUMS>
class Sums<i64, SUMS> {
 public:
  static constexpr i64 WIDTH = 1 + 2 * SUMS;

  Sums(i64 cells, const std::optional<In<double>>& weight) : cells_(cells) {
    require(!weight, "weights need cells of floats");
  }

  void prepare(const Block<SUMS>& block, i64 rows) {
    for (int sum = 0; sum < SUMS; sum++)
      for (i64 row = 0; row < rows; row++) {
        const double value = block.values[sum][row], micros = value * 1e6;
        micros_[sum][row] = whole(micros);
        rests_[sum][row] = whole((value - (micros + ROUNDER - ROUNDER) * MICRO) * 1e18);
      }
  }

  // Add the rows of a block from first up to last, of one group.
  void add(const Block<SUMS>& block, i64, i64 first, i64 last, i64* group) {
    if (cells_ == 2 && last - first > 8) {
      add_two(block, first, last, group);
    } else {
      for (i64 row = first; row < last; row++) {
        i64* cell = group + block.cells[row] * WIDTH;
        cell[0] += 1;
        for (int sum = 0; sum < SUMS; sum++) {
          cell[1 + 2 * sum] += micros_[sum][row];
          cell[2 + 2 * sum] += rests_[sum][row];
        }
      }
    }
    if (last - first < cells_) {
      for (i64 row = first; row < last; row++) settle(group + block.cells[row] * WIDTH);
    } else {
      for (i64 cell = 0; cell < cells_; cell++) settle(group + cell * WIDTH);
    }
  }

  void finish() const {
    if (full_) throw std::overflow_error("A sum of losses exceeds 4e12. Split the rows into several accumulators.");
  }

 private:
  // All rows, and those of cell 1, as sums of whole vectors.
  void add_two(const Block<SUMS>& block, i64 first, i64 last, i64* group) {
    add_masked(block.cells, nullptr, first, last, group);
    for (int sum = 0; sum < SUMS; sum++) {
      add_masked(block.cells, micros_[sum], first, last, group + 1 + 2 * sum);
      add_masked(block.cells, rests_[sum], first, last, group + 2 + 2 * sum);
    }
  }

  static void add_masked(const i64* cells, const i64* values, i64 first, i64 last, i64* group) {
    i64 all = 0, upper = 0;
    if (values) {
      for (i64 row = first; row < last; row++) all += values[row], upper += values[row] & -cells[row];
    } else {
      all = last - first;
      for (i64 row = first; row < last; row++) upper += cells[row];
    }
    group[0] += all - upper;
    group[WIDTH] += upper;
  }

  void settle(i64* cell) {
    for (int sum = 0; sum < SUMS; sum++) {
      i64 &micros = cell[1 + 2 * sum], &rest = cell[2 + 2 * sum];
      i64 carry = rest / CARRY;
      carry -= rest < carry * CARRY;  // rounded down
      micros += carry;
      rest -= carry * CARRY;
      full_ |= micros >= MOST_MICROS;
    }
  }

  i64 cells_;
  bool full_ = false;
  i64 micros_[SUMS][BLOCK], rests_[SUMS][BLOCK];
};

template <int SUMS>
class Sums<double, SUMS> {
 public:
  static constexpr i64 WIDTH = 1 + SUMS;

  Sums(i64 cells, const std::optional<In<double>>& weight)
      : cells_(cells), weight_(weight ? weight->data() : nullptr), own_(cells * WIDTH) {}

  void prepare(const Block<SUMS>&, i64) {}

  // Add the rows of a block from first up to last, of one group. Many rows are summed apart, to lose fewer digits.
  void add(const Block<SUMS>& block, i64 start, i64 first, i64 last, double* group) {
    const bool many = last - first > cells_;
    double* sums = many ? own_.data() : group;
    for (i64 row = first; row < last; row++) {
      const double weight = weight_ ? weight_[start + row] : 1.0;
      double* cell = sums + block.cells[row] * WIDTH;
      cell[0] += weight;
      for (int sum = 0; sum < SUMS; sum++) cell[1 + sum] += weight * block.values[sum][row];
    }
    for (i64 i = 0; many && i < cells_ * WIDTH; i++) group[i] += own_[i], own_[i] = 0.0;
  }

  void finish() const {}

 private:
  i64 cells_;
  const double* weight_;
  std::vector<double> own_;
};

// Sum values by cell: fill(first, rows, block) computes the values and cells of some rows.
template <class Amount, int SUMS, class Fill>
void sum_values(i64 cells, const std::optional<In<double>>& weight, const Runs& runs, const Out<Amount>& out,
                Fill fill) {
  Sums<Amount, SUMS> sums(cells, weight);
  Block<SUMS> block;
  const i64 *starts = runs.starts.data(), *groups = runs.groups.data(), width = cells * sums.WIDTH;
  for (i64 run = 0, start = 0, rows = runs.rows(); start < rows; start += BLOCK) {
    const i64 end = std::min(start + BLOCK, rows);
    fill(start, end - start, block);
    sums.prepare(block, end - start);
    for (i64 first = start; first < end;) {
      while (starts[run + 1] <= first) run++;
      const i64 last = std::min(end, starts[run + 1]);
      const i64 next = run + AHEAD;
      if (next < runs.size() && starts[next] < end) {  // else runs of one row would wait for memory
        const Amount* cell = out.data() + groups[next] * width + block.cells[starts[next] - start] * sums.WIDTH;
        __builtin_prefetch(cell, 1);
        __builtin_prefetch(cell + sums.WIDTH - 1, 1);
      }
      sums.add(block, start, first - start, last - start, out.data() + groups[run] * width);
      first = last;
    }
  }
  sums.finish();
}

// Check the arrays of a loop whose groups have a number of cells: out is (groups, ..., size of a cell).
template <class Amount, int SUMS>
void check_sums(const Runs& runs, u64 rows, const std::optional<In<double>>& weight, const Out<Amount>& out,
                i64 cells) {
  require(out.ndim() > 1, "cells must have a group");
  runs.check(rows, out.shape(0));
  require_rows(weight, runs);
  i64 size = 1;
  for (size_t axis = 1; axis < out.ndim(); axis++) size *= static_cast<i64>(out.shape(axis));
  require(static_cast<i64>(out.shape(out.ndim() - 1)) == Sums<Amount, SUMS>::WIDTH, "cells have a wrong size");
  require(size == cells * Sums<Amount, SUMS>::WIDTH, "a group has a wrong number of cells");
}
