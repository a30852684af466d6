// Rows in the order of their groups: a counting sort, which moves all columns at once. Defined in
// definition/arranging.py.
#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include <nanobind/stl/tuple.h>

#include "families.hpp"
#include "results.hpp"

namespace {

using Place = u32;
using Column = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;  // of any type
using Moved = nb::ndarray<nb::numpy, nb::ndim<1>>;

constexpr i64 SHORT = 6;   // minimum average rows of a run; with shorter runs, sorting costs more than it saves
constexpr i64 LANES = 4;   // counts of a group, so that a row does not wait for the previous row of its group
constexpr i64 TILE = 512;  // rows whose places are found before they move

struct Arranged {
  std::vector<Place> next;  // the place of the next row of each group; nothing if rows stay in their order
  Made<i64> starts, groups;

  explicit Arranged(i64 runs) : starts(static_cast<u64>(runs + 1)), groups(static_cast<u64>(runs)) {}
};

// The number of runs in codes, which must be below the number of groups.
i64 count_runs(const i64* codes, i64 rows, i64 groups) {
  const auto valid = [&](i64 row) { return static_cast<u64>(codes[row]) < static_cast<u64>(groups); };
  i64 known = rows && valid(0), runs = rows > 0;
  for (i64 row = 1; row < rows; row++) known += valid(row), runs += codes[row] != codes[row - 1];
  require(known == rows, "codes must be below the number of groups");
  return runs;
}

Arranged keep_order(const i64* codes, i64 rows, i64 runs) {
  Arranged found(runs);
  i64 run = 0;
  for (i64 row = 0; row < rows; row++)
    if (run < runs && (!row || codes[row] != codes[row - 1])) found.starts[run] = row, found.groups[run++] = codes[row];
  found.starts[runs] = rows;
  return found;
}

Arranged keep_rows(const i64* codes, i64 rows) {
  Arranged found(rows);
  for (i64 row = 0; row <= rows; row++) found.starts[row] = row;
  std::copy_n(codes, rows, found.groups.data());
  return found;
}

Arranged sort(const i64* codes, i64 rows, i64 groups) {
  require(rows <= std::numeric_limits<Place>::max(), "too many rows at once");
  std::vector<std::array<Place, LANES>> counts(static_cast<u64>(groups));
  const u64 last = static_cast<u64>(groups) - 1;
  for (i64 row = 0; row < rows; row++) counts[std::min(static_cast<u64>(codes[row]), last)][row % LANES]++;
  std::vector<Place> starts;  // of each group
  Place sorted = 0;
  i64 runs = 0;
  for (const auto& count : counts) {
    starts.push_back(sorted);
    for (const Place each : count) sorted += each;
    runs += sorted > starts.back();
  }
  starts.push_back(sorted);
  Arranged found(runs);
  i64 run = 0;
  for (i64 group = 0; group < groups; group++) {
    const u64 place = static_cast<u64>(group);
    if (starts[place] < starts[place + 1]) found.starts[run] = starts[place], found.groups[run++] = group;
  }
  found.starts[runs] = rows;
  found.next = std::move(starts);
  return found;
}

template <class Value>
void move_tile(const void* values, i64 first, i64 rows, const Place* places, void* out) {
  const Value* from = static_cast<const Value*>(values) + first;
  for (i64 row = 0; row < rows; row++) static_cast<Value*>(out)[places[row]] = from[row];
}

struct Move {
  const void* from;
  Made<u8> to;
  u64 size;  // bytes of a value

  explicit Move(const Column& column)
      : from(column.data()), to(column.shape(0) * column.itemsize()), size(column.itemsize()) {
    require(size == 1 || size == 8, "columns must have values of 1 or 8 bytes");
  }

  void move(i64 first, i64 rows, const Place* places) {
    if (size == 1)
      move_tile<u8>(from, first, rows, places, to.data());
    else
      move_tile<u64>(from, first, rows, places, to.data());
  }
};

void move_columns(const i64* codes, i64 rows, std::vector<Place>& next, std::vector<Move>& columns) {
  Place places[TILE];
  const u64 last = next.size() - 1;
  for (i64 first = 0; first < rows; first += TILE) {
    const i64 size = std::min(TILE, rows - first);
    for (i64 row = 0; row < size; row++) {
      const Place place = next[std::min(static_cast<u64>(codes[first + row]), last)]++;
      places[row] = std::min(place, static_cast<Place>(rows - 1));
    }
    for (Move& column : columns) column.move(first, size, places);
  }
}

Moved returned(Move&& move, const Column& column) {
  void* data = move.to.values.get();
  nb::capsule owner(data, [](void* values) noexcept { Spare::put(values); });
  move.to.values.release();
  const size_t rows = column.shape(0);
  return Moved(data, 1, &rows, owner, nullptr, column.dtype());
}

using Arrangement = std::tuple<std::optional<std::vector<Moved>>, Array<i64>, Array<i64>>;

Arrangement arrange(const In<i64>& codes, i64 groups, const std::vector<Column>& columns) {
  std::optional<Arranged> found;
  std::vector<Move> moves;
  {
    nb::gil_scoped_release released;
    require(groups >= 0, "the number of groups cannot be negative");
    for (const Column& column : columns)
      require(column.shape(0) == codes.shape(0), "columns must have the same number of rows");
    const i64 *group = codes.data(), rows = static_cast<i64>(codes.shape(0)), runs = count_runs(group, rows, groups);
    if (groups <= 1 || runs * SHORT <= rows) {
      found.emplace(keep_order(group, rows, runs));
    } else if (groups > rows / SHORT) {
      found.emplace(keep_rows(group, rows));
    } else {
      found.emplace(sort(group, rows, groups));
      for (const Column& column : columns) moves.emplace_back(column);
      move_columns(group, rows, found->next, moves);
    }
  }
  std::optional<std::vector<Moved>> moved;
  if (!found->next.empty()) {
    moved.emplace();
    for (size_t i = 0; i < columns.size(); i++) moved->push_back(returned(std::move(moves[i]), columns[i]));
  }
  return {std::move(moved), returned(std::move(found->starts)), returned(std::move(found->groups))};
}

}  // namespace

void bind_arranging(nb::module_& module) {
  module.def("arrange", &arrange, FIXED("codes"), nb::arg("groups"), FIXED("columns"));
}
