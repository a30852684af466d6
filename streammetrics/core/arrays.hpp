// Arrays as Python passes them: contiguous, of one type, and never copied. Everything is checked here, before a loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

using i64 = std::int64_t;
using u64 = std::uint64_t;
using u32 = std::uint32_t;
using u8 = std::uint8_t;

constexpr i64 BLOCK = 256;  // rows whose values fit into the fastest cache

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;  // one value per row
template <class T>
using Out = nb::ndarray<T, nb::c_contig, nb::device::cpu>;  // cells of all groups: shape (groups, ...)

// What each row adds to cells of floats, its weight, or of integers, the number of rows that it stands for.
template <class Amount>
using Weight = std::optional<In<Amount>>;

inline void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

template <class T>
bool has_rows(const In<T>& column, u64 rows) {
  return column.shape(0) == rows;
}

template <class T>
bool has_rows(const std::optional<In<T>>& column, u64 rows) {
  return !column || has_rows(*column, rows);
}

template <class T>
bool has_rows(const std::vector<In<T>>& columns, u64 rows) {
  return std::all_of(columns.begin(), columns.end(), [=](const In<T>& column) { return has_rows(column, rows); });
}

// The number of values in the cells of a group.
template <class Amount>
i64 size_of_group(const Out<Amount>& out) {
  i64 size = 1;
  for (size_t axis = 1; axis < out.ndim(); axis++) size *= static_cast<i64>(out.shape(axis));
  return size;
}

// Columns, optional columns, and lists of columns, all of them with the same number of rows.
template <class... Columns>
void require_rows(u64 rows, const Columns&... columns) {
  require((has_rows(columns, rows) && ...), "columns must have the same number of rows");
}

// Consecutive rows of the same group: run i has the rows from starts[i] up to starts[i + 1], of group groups[i].
struct Runs {
  In<i64> starts, groups;

  i64 size() const { return static_cast<i64>(groups.shape(0)); }
  i64 rows() const { return starts.data()[size()]; }

  // Check runs and columns of the same rows.
  template <class... Columns>
  void check(u64 group_count, const Columns&... columns) const {
    require(starts.shape(0) == groups.shape(0) + 1, "a run needs a start, and the last run an end");
    const i64 *start = starts.data(), *group = groups.data();
    bool valid = start[0] == 0;
    for (i64 run = 0; run < size(); run++)
      valid &= (start[run] <= start[run + 1]) & (static_cast<u64>(group[run]) < group_count);
    require(valid, "runs must ascend from the first row, in known groups");
    require_rows(static_cast<u64>(rows()), columns...);
  }

  template <class Amount, class... Columns>
  void check(const Out<Amount>& out, const Columns&... columns) const {
    require(out.ndim() > 1, "cells must have a group");
    check(out.shape(0), columns...);
  }
};

template <>
struct nb::detail::type_caster<Runs> {
  NB_TYPE_CASTER(Runs, const_name("Runs"))

  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<std::pair<In<i64>, In<i64>>> pair;
    if (!pair.from_python(source, flags, cleanup)) return false;
    std::tie(value.starts, value.groups) = static_cast<std::pair<In<i64>, In<i64>>>(pair);
    return true;
  }
};

// Other threads can write to columns while a loop runs. A value that chooses a cell is therefore read once, or limited
// again where it is used.

inline void require_labels(const In<u8>& label) {
  u8 all = 0;
  for (size_t row = 0; row < label.shape(0); row++) all |= label.data()[row];
  require(all <= 1, "labels must be 0 or 1");
}

// Scores of the classes of each row, one array per class.
using Scores = std::vector<In<double>>;

inline void require_classes(const In<i64>& truth, u64 classes) {
  u64 valid = 0;
  for (u64 row = 0; row < truth.shape(0); row++) valid += static_cast<u64>(truth.data()[row]) < classes;
  require(valid == truth.shape(0), "class numbers must be below the number of classes");
}

// A copy of values that another thread may write. What is checked in it stays: without the barrier, a compiler may read
// a value again where it is used.
template <class Value>
inline void take(const Value* values, i64 count, Value* copy) {
  std::copy_n(values, count, copy);
  asm volatile("" : : "r"(copy) : "memory");
}

// The true classes of some rows.
inline void take_classes(const In<i64>& truth, i64 start, i64 rows, i64 classes, i64* numbers) {
  const u64 last = static_cast<u64>(classes - 1);
  take(truth.data() + start, rows, numbers);
  for (i64 row = 0; row < rows; row++)
    numbers[row] = static_cast<i64>(std::min(static_cast<u64>(numbers[row]), last));
}

// The score that each row gives to its true class.
inline void take_own(const Scores& scores, const i64* numbers, i64 start, i64 rows, double* own) {
  for (i64 row = 0; row < rows; row++) own[row] = scores[numbers[row]].data()[start + row];
}
