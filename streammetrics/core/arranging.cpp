// The order of rows by group: a counting sort. Defined in definition/arranging.py.
#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include <nanobind/stl/tuple.h>

#include "families.hpp"
#include "results.hpp"

namespace {

using Place = std::int32_t;

constexpr i64 SHORT = 6;  // minimum average rows of a run; with shorter runs, sorting costs more than it saves
constexpr i64 LANES = 4;  // counts of a group, so that a row does not wait for the previous row of its group

struct Arranged {
  std::optional<Made<Place>> order;
  Made<i64> starts, groups;

  explicit Arranged(i64 runs) : starts(static_cast<u64>(runs + 1)), groups(static_cast<u64>(runs)) {}
};

// The number of runs in codes, which must be below the number of groups.
i64 count_runs(const i64* codes, i64 rows, i64 groups) {
  i64 largest = -1, bits = 0, before = rows ? codes[0] : 0, runs = rows > 0;
  for (i64 row = 0; row < rows; row++) {
    largest = codes[row] > largest ? codes[row] : largest;
    bits |= codes[row];
    runs += codes[row] != before;
    before = codes[row];
  }
  require(bits >= 0 && largest < groups, "codes must be below the number of groups");
  return runs;
}

Arranged keep_order(const i64* codes, i64 rows, i64 runs) {
  Arranged found(runs);
  i64 run = 0;
  for (i64 row = 0; row < rows; row++)
    if (!row || codes[row] != codes[row - 1]) found.starts[run] = row, found.groups[run++] = codes[row];
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
  for (i64 row = 0; row < rows; row++) counts[static_cast<u64>(codes[row])][row % LANES]++;
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
  Place* order = found.order.emplace(static_cast<u64>(rows)).data();
  Place* next = starts.data();
  for (i64 row = 0; row < rows; row++) order[next[codes[row]]++] = static_cast<Place>(row);
  return found;
}

using Arrangement = std::tuple<std::optional<Array<Place>>, Array<i64>, Array<i64>>;

Arrangement arrange(const In<i64>& codes, i64 groups) {
  std::optional<Arranged> found;
  {
    nb::gil_scoped_release released;
    require(groups >= 0, "the number of groups cannot be negative");
    const i64 *group = codes.data(), rows = static_cast<i64>(codes.shape(0)), runs = count_runs(group, rows, groups);
    if (groups <= 1 || runs * SHORT <= rows)
      found.emplace(keep_order(group, rows, runs));
    else if (groups > rows / SHORT)
      found.emplace(keep_rows(group, rows));
    else
      found.emplace(sort(group, rows, groups));
  }
  std::optional<Array<Place>> order;
  if (found->order) order = returned(std::move(*found->order));
  return {order, returned(std::move(found->starts)), returned(std::move(found->groups))};
}

template <class T>
Array<T> take(const In<T>& values, const In<Place>& order) {
  Made<T> taken(order.shape(0));
  {
    nb::gil_scoped_release released;
    u32 largest = 0;
    const u64 rows = order.shape(0);
    const Place* row = order.data();
    const T* value = values.data();
    T* out = taken.data();
    for (u64 place = 0; place < rows; place++) largest = std::max(largest, static_cast<u32>(row[place]));
    require(!rows || largest < values.shape(0), "an order must contain rows");
    for (u64 place = 0; place < rows; place++) out[place] = value[row[place]];
  }
  return returned(std::move(taken));
}

template <class... T>
void bind_take(nb::module_& module) {
  (module.def("take", &take<T>, FIXED("values"), FIXED("order")), ...);
}

}  // namespace

void bind_arranging(nb::module_& module) {
  module.def("arrange", &arrange, FIXED("codes"), nb::arg("groups"));
  bind_take<double, u8, bool, i64>(module);
}
