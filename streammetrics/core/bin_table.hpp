// The bins of all groups as columns, which Python receives.
#pragma once

#include "cells.hpp"
#include "results.hpp"

template <class Amount>
struct Table {
  explicit Table(i64 side_count) : sides(side_count) {}

  std::vector<u32> group;
  std::vector<u8> shift;
  std::vector<i64> bin;
  std::vector<std::vector<Amount>> sides;

  template <class... Further>
  nb::tuple as_tuple(Further... further) {
    nb::list columns;
    for (auto& side : sides) columns.append(to_numpy(std::move(side)));
    return nb::make_tuple(to_numpy(std::move(group)), to_numpy(std::move(shift)), to_numpy(std::move(bin)), columns,
                          further...);
  }

  void reserve(std::size_t count) {
    group.reserve(count);
    shift.reserve(count);
    bin.reserve(count);
    for (auto& side : sides) side.reserve(count);
  }

  void append(u32 of_group, const Cells<Amount>& cells, int of_shift, const Atoms& atoms) {
    const std::size_t before = group.size(), count = before + cells.size();
    group.resize(count, of_group);
    shift.resize(count);
    bin.resize(count);
    for (i64 i = 0; i < cells.size(); i++) {
      const int own = atoms.limit(cells.low[i], of_shift);
      shift[before + i] = static_cast<u8>(own);
      bin[before + i] = cells.low[i] >> own;
    }
    for (std::size_t side = 0; side < sides.size(); side++) {
      sides[side].resize(count);
      for (i64 i = 0; i < cells.size(); i++) sides[side][before + i] = cells.at(i)[side];
    }
  }
};
