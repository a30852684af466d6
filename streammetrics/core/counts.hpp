// Counts of rows, also of rows that stand for several, or sums of their weights, by group and cell.
#pragma once

#include <type_traits>

#include "arrays.hpp"

// Count rows by cell: find(first, rows, cells) computes the cell of each of some rows in its group.
template <class Amount, class Find>
void count_by_cell(i64 cells, const Weight<Amount>& weight, const Runs& runs, const Out<Amount>& out, Find find) {
  require(size_of_group(out) == cells, "a group has a wrong number of cells");
  require(weight.has_value() || std::is_same_v<Amount, i64>, "cells of floats need weights");
  const i64 *starts = runs.starts.data(), *groups = runs.groups.data();
  const Amount* weights = weight ? weight->data() : nullptr;
  Amount* group = out.data();
  i64 cell[BLOCK];
  for (i64 run = -1, stop = 0, start = 0, rows = runs.rows(); start < rows; start += BLOCK) {
    const i64 end = std::min(start + BLOCK, rows);
    find(start, end - start, cell);
    for (i64 row = start; row < end; row++) {
      while (stop <= row) run++, stop = starts[run + 1], group = out.data() + groups[run] * cells;
      group[cell[row - start]] += weights ? weights[row] : Amount{1};
    }
  }
}
