// Arrays as Python passes them: contiguous, of one type, and never copied. Everything is checked here, before a loop.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
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

inline void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

// Consecutive rows of the same group: run i has the rows from starts[i] up to starts[i + 1], of group groups[i].
struct Runs {
  In<i64> starts, groups;

  i64 size() const { return static_cast<i64>(groups.shape(0)); }
  i64 rows() const { return starts.data()[size()]; }

  void check(u64 rows, u64 group_count) const {
    require(starts.shape(0) == groups.shape(0) + 1, "a run needs a start, and the last run an end");
    const i64 *start = starts.data(), *group = groups.data();
    bool valid = start[0] == 0 && static_cast<u64>(start[size()]) == rows;
    for (i64 run = 0; run < size(); run++)
      valid &= (start[run] <= start[run + 1]) & (static_cast<u64>(group[run]) < group_count);
    require(valid, "runs must cover all rows, in known groups");
  }
};

template <>
struct nb::detail::type_caster<Runs> {
  NB_TYPE_CASTER(Runs, const_name("Runs"))

  bool from_python(handle source, uint8_t flags, cleanup_list* cleanup) noexcept {
    if (!PyTuple_Check(source.ptr()) || PyTuple_Size(source.ptr()) != 2) return false;
    make_caster<In<i64>> starts, groups;
    flags &= ~static_cast<uint8_t>(cast_flags::convert);
    if (!starts.from_python(PyTuple_GetItem(source.ptr(), 0), flags, cleanup) ||
        !groups.from_python(PyTuple_GetItem(source.ptr(), 1), flags, cleanup))
      return false;
    value = Runs{starts.value, groups.value};
    return true;
  }
};

template <class T>
void require_rows(const In<T>& column, const Runs& runs) {
  require(static_cast<i64>(column.shape(0)) == runs.rows(), "columns must have the same number of rows");
}

template <class T>
void require_rows(const std::optional<In<T>>& column, const Runs& runs) {
  if (column) require_rows(*column, runs);
}

inline void require_labels(const In<u8>& label) {
  u8 all = 0;
  for (size_t row = 0; row < label.shape(0); row++) all |= label.data()[row];
  require(all <= 1, "labels must be 0 or 1");
}

// Scores of the classes of each row, one array per class.
using Scores = std::vector<In<double>>;

inline void require_rows(const Scores& scores, u64 rows) {
  for (const In<double>& score : scores) require(score.shape(0) == rows, "columns must have the same number of rows");
}

inline void require_classes(const In<i64>& truth, u64 classes) {
  u64 valid = 0;
  for (u64 row = 0; row < truth.shape(0); row++) valid += static_cast<u64>(truth.data()[row]) < classes;
  require(valid == truth.shape(0), "class numbers must be below the number of classes");
}

// The score that each row gives to its true class.
inline void take_own(const Scores& scores, const In<i64>& truth, i64 start, i64 rows, double* own) {
  const i64* numbers = truth.data() + start;
  for (i64 row = 0; row < rows; row++) own[row] = scores[numbers[row]].data()[start + row];
}

// The amounts of rows: a number of rows, or a sum of weights.
template <class Amount>
struct Weights;

template <>
struct Weights<i64> {
  explicit Weights(const std::optional<In<double>>& weight) { require(!weight, "weights need cells of floats"); }
  i64 operator[](i64) const { return 1; }
};

template <>
struct Weights<double> {
  const double* values;

  explicit Weights(const std::optional<In<double>>& weight) : values(weight ? weight->data() : nullptr) {
    require(values != nullptr, "cells of floats need weights");
  }
  double operator[](i64 row) const { return values[row]; }
};
