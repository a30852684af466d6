// Sums of values of rows by group and cell. A block of rows is computed at once, whatever its groups, then added.
#pragma once

#include <type_traits>

#include "elementwise.hpp"

using i128 = __int128;

constexpr double MICRO = 1e-6;
constexpr i64 CARRY = 1'000'000'000'000;  // units of 1e-18 in a millionth
constexpr i64 MOST_MICROS = i64{1} << 62;
constexpr i64 AHEAD = 8;  // runs after which a cell is in the cache
constexpr i64 SHORT = 8;  // rows of a run that are added one by one

template <int SUMS>
struct Block {
  double values[SUMS][BLOCK];
  i64 cells[BLOCK];  // the cell of each row in its group
};

// What each row of a block adds to its cell. Of i64: the number of rows that it stands for, then millionths and units of
// 1e-18 of each value times this number, whose sums are the same in any order. Of double: the weight of the row, then
// each weighted value.
template <class Amount, int SUMS>
struct Parts;

template <int SUMS>
struct Parts<i64, SUMS> {
  static constexpr i64 COUNT = 2 * SUMS;
  i64 parts[COUNT][BLOCK];
  const i64* counts;
  bool full = false;  // whether a value times its number of rows is too large

  void prepare(const Block<SUMS>& block, i64 rows, const i64* of_rows) {
    counts = of_rows;
    for (int sum = 0; sum < SUMS; sum++)
      for (i64 row = 0; row < rows; row++) {
        const double value = block.values[sum][row], micros = value * 1e6;
        parts[2 * sum][row] = whole(micros);
        parts[2 * sum + 1][row] = whole((value - (micros + ROUNDER - ROUNDER) * MICRO) * 1e18);
      }
    for (int part = 0; counts && part < COUNT; part += 2)
      for (i64 row = 0; row < rows; row++) multiply(parts[part][row], parts[part + 1][row], counts[row]);
  }
  i64 amount(i64 row) const { return counts ? counts[row] : 1; }
  i64 part(i64 part, i64 row) const { return parts[part][row]; }

 private:
  void multiply(i64& micros, i64& rest, i64 count) {
    const i128 units = static_cast<i128>(rest) * count, product = static_cast<i128>(micros) * count + units / CARRY;
    full |= product >= MOST_MICROS || product <= -MOST_MICROS;
    micros = static_cast<i64>(product), rest = static_cast<i64>(units % CARRY);
  }
};

template <int SUMS>
struct Parts<double, SUMS> {
  static constexpr i64 COUNT = SUMS;
  const Block<SUMS>* block;
  const double* weights;
  double ones[BLOCK];

  Parts() { std::fill_n(ones, BLOCK, 1.0); }
  void prepare(const Block<SUMS>& values, i64, const double* of_rows) {
    block = &values;
    weights = of_rows ? of_rows : ones;
  }
  double amount(i64 row) const { return weights[row]; }
  double part(i64 part, i64 row) const { return weights[row] * block->values[part][row]; }
};

// Add to a sum. Sums of integers wrap around if another thread writes values that are not allowed.
inline void increase(double& sum, double amount) { sum += amount; }
inline void increase(i64& sum, i64 amount) { sum = static_cast<i64>(static_cast<u64>(sum) + static_cast<u64>(amount)); }

// Add rows one by one.
template <class Parts, class Amount>
inline void add_each(const Parts& parts, const i64* cells, i64 first, i64 last, Amount* group) {
  for (i64 row = first; row < last; row++) {
    Amount* cell = group + cells[row] * (1 + parts.COUNT);
    cell[0] += parts.amount(row);
    for (i64 part = 0; part < parts.COUNT; part++) increase(cell[1 + part], parts.part(part, row));
  }
}

// Add rows of two cells as sums of whole vectors.
template <class Parts>
inline void add_to_two(const Parts& parts, const i64* cells, i64 first, i64 last, i64* group) {
  for (i64 part = -1; part < parts.COUNT; part++) {
    u64 all = 0, upper = 0;
    for (i64 row = first; row < last; row++) {
      const i64 value = part < 0 ? 1 : parts.part(part, row);
      all += static_cast<u64>(value), upper += static_cast<u64>(value & -cells[row]);
    }
    increase(group[1 + part], static_cast<i64>(all - upper));
    increase(group[2 + parts.COUNT + part], static_cast<i64>(upper));
  }
}

// Carry from the units of each sum to its millionths. Returns whether a sum is too large.
template <int SUMS>
inline bool settle(i64* cell) {
  bool full = false;
  for (int sum = 0; sum < SUMS; sum++) {
    i64 &micros = cell[1 + 2 * sum], &rest = cell[2 + 2 * sum];
    i64 carry = rest / CARRY;
    carry -= rest < carry * CARRY;  // rounded down
    increase(micros, carry);
    rest -= carry * CARRY;
    full |= micros >= MOST_MICROS;
  }
  return full;
}

// Sum values by cell: fill(first, rows, block) computes the values and cells of some rows.
template <int SUMS, class Amount, class Fill>
void sum_by_cell(i64 cells, const Weight<Amount>& weight, const Runs& runs, const Out<Amount>& out, Fill fill) {
  constexpr bool exact = std::is_same_v<Amount, i64>;
  constexpr i64 width = 1 + Parts<Amount, SUMS>::COUNT;
  const i64 size = cells * width, rows = runs.rows();
  require(out.shape(out.ndim() - 1) == width && size_of_group(out) == size, "a group has a wrong number of cells");
  const i64 *starts = runs.starts.data(), *groups = runs.groups.data();
  Block<SUMS> block;
  Parts<Amount, SUMS> parts;
  std::vector<Amount> apart(exact ? 0 : size);
  bool full = false;
  for (i64 run = 0, start = 0; start < rows; start += BLOCK) {
    const i64 end = std::min(start + BLOCK, rows);
    fill(start, end - start, block);
    parts.prepare(block, end - start, weight ? weight->data() + start : nullptr);
    for (i64 row = start, stop; row < end; row = stop) {
      while (starts[run + 1] <= row) run++;
      stop = std::min(end, starts[run + 1]);
      const i64 next = run + AHEAD, first = row - start, last = stop - start;
      if (next < runs.size() && starts[next] < end) {  // else runs of one row would wait for memory
        const Amount* cell = out.data() + groups[next] * size + block.cells[starts[next] - start] * width;
        __builtin_prefetch(cell, 1);
        __builtin_prefetch(cell + width - 1, 1);
      }
      Amount* const group = out.data() + groups[run] * size;
      if constexpr (exact) {
        const i64 step = weight ? 1 : last - first;  // since few products of large counts overflow
        for (i64 i = first; i < last; i += step) {
          const i64 end_of_step = i + step;
          if (cells == 2 && step > SHORT)
            add_to_two(parts, block.cells, i, end_of_step, group);
          else
            add_each(parts, block.cells, i, end_of_step, group);
          if (step < cells)
            for (i64 settled = i; settled < end_of_step; settled++)
              full |= settle<SUMS>(group + block.cells[settled] * width);
          else
            for (i64 cell = 0; cell < cells; cell++) full |= settle<SUMS>(group + cell * width);
        }
      } else {  // many rows are summed apart, to lose fewer digits
        const bool many = last - first > cells;
        add_each(parts, block.cells, first, last, many ? apart.data() : group);
        for (i64 i = 0; many && i < size; i++) group[i] += apart[i], apart[i] = 0.0;
      }
    }
  }
  if constexpr (exact) full |= parts.full;
  if (full) throw std::overflow_error("A sum of losses exceeds 4e12. Split the rows into several accumulators.");
}
