// Counts rows by group and bin.
//
// The rows of a group are listed until there are a few times as many as its capacity of bins. Then they are sorted,
// which tells the finest shift at which their bins fit, and further rows are counted in place (group_bins.hpp). When
// more bins are occupied than fit, the shift rises. The table depends on the rows alone, not on their order or on these
// forms.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "bin_table.hpp"
#include "group_bins.hpp"
#include "listed_rows.hpp"
#include "sorting.hpp"

constexpr i64 LISTED = 4;  // rows per bin of the capacity that are listed
constexpr i64 MOST_LISTED = 1 << 28;
constexpr i64 AT_ONCE = 512;  // rows whose bins are found at once
constexpr i64 STRIPE = 64;    // consecutive groups that share a lock
constexpr i64 STRIPES = 64;

// Columns of rows. Sides are labels or numbers of classes; those, weights, and counts are null where a histogram has none.
struct Columns {
  const double* values;
  const u8* labels = nullptr;
  const i64* classes = nullptr;
  const double* weights = nullptr;
  const i64* counts = nullptr;  // the number of rows that a row stands for

  // The side of a row, at most the last one also if another thread writes to the rows.
  u32 side(i64 row, u64 last) const {
    return static_cast<u32>(std::min<u64>(labels ? labels[row] : classes ? static_cast<u64>(classes[row]) : 0, last));
  }
  double weight(i64 row) const { return weights ? weights[row] : 1.0; }

  template <class Amount>
  Amount amount(i64 row) const {
    if constexpr (std::is_same_v<Amount, double>) return weight(row);
    return counts ? counts[row] : 1;
  }
};

template <class AnyRow>
class Counter {
 public:
  using Row = AnyRow;
  using Amount = typename Row::Amount;

  Counter(Shape shape, Atoms atoms) : shape(shape), atoms(std::move(atoms)) {}

  // Know at least so many groups.
  void grow(i64 count) {
    if (count <= size()) return;
    const std::unique_lock changing(growing);
    if (static_cast<i64>(groups.size()) < count) groups.resize(count);
  }

  template <bool PROBABILITY>
  void add(const Columns& columns, const Runs& runs) {
    const std::shared_lock reading(growing);
    std::unique_lock<std::mutex> held;
    for (i64 run = 0; run < runs.size(); run++) {
      const i64 group = runs.groups(run);
      std::mutex& stripe = stripes[group / STRIPE % stripes.size()];
      if (held.mutex() != &stripe) {
        if (held) held.unlock();
        held = std::unique_lock(stripe);
      }
      add<PROBABILITY>(groups[group], columns, runs.starts(run), runs.starts(run + 1));
    }
  }

  i64 size() const {
    const std::shared_lock reading(growing);
    return static_cast<i64>(groups.size());
  }

  void absorb(const Counter& other, const i64* numbers) {
    if (&other == this) {  // groups are read after others have changed
      std::vector<i64> same(groups.size());
      std::iota(same.begin(), same.end(), 0);
      Counter copy(shape, atoms);
      copy.grow(size());
      copy.absorb(*this, same.data());
      return absorb(copy, numbers);
    }
    const std::unique_lock changing(growing);
    Cells<Amount> cells(shape.stride()), more(shape.stride());
    for (std::size_t i = 0; i < other.groups.size(); i++) {
      Group& own = groups[numbers[i]];
      const Group& that = other.groups[i];
      if (!that.bins) {
        for (const Row& row : that.list) own.bins ? count(own, row) : list(own, row);
        continue;
      }
      const int other_shift = that.bins->shift;
      const i64 rows = that.bins->rows + (own.bins ? own.bins->rows : static_cast<i64>(own.list.size()));
      that.bins->extract(more);
      int least = std::max(other_shift, extract(own, cells));
      for (i64 cell = 0; cell < more.size(); cell++) cells.append(more.low[cell], more.at(cell));
      become(own, cells, least, rows);
    }
  }

  Table<Amount> table() const {
    const std::unique_lock reading(growing);
    Table<Amount> made(shape.sides);
    Cells<Amount> cells(shape.stride());
    std::size_t most = 0;
    for (const Group& group : groups) most += group.bins ? group.bins->occupied : group.list.size();
    made.reserve(most);
    for (std::size_t i = 0; i < groups.size(); i++) {
      const int least = extract(groups[i], cells);
      const int shift = cells.fit(least, shape.capacity, atoms);
      made.append(static_cast<u32>(i), cells, shift, atoms);
    }
    return made;
  }

  Shape shape;

 private:
  struct Group {
    std::vector<Row> list;
    std::unique_ptr<GroupBins<Amount>> bins;
  };

  Atoms atoms;
  std::vector<Group> groups;
  mutable std::shared_mutex growing;        // held alone while groups are added, merged, or read
  std::array<std::mutex, STRIPES> stripes;  // of groups, so that several threads count at once

  i64 most_listed() const { return std::min(LISTED * shape.capacity, MOST_LISTED); }

  template <bool PROBABILITY>
  void add(Group& group, const Columns& columns, i64 row, i64 end) {
    if (columns.counts && !group.bins) settle(group);  // a list has rows that stand for one
    while (row < end && !group.bins) {
      const i64 stop = std::min(end, row + most_listed() - static_cast<i64>(group.list.size()));
      const std::size_t listed = group.list.size();
      group.list.resize(listed + (stop - row));
      Row* place = group.list.data() + listed;
      for (; row < stop; row++)
        *place++ = Row(key_of<PROBABILITY>(columns.values[row]), columns.side(row, shape.last_side()),
                       columns.weight(row));
      if (static_cast<i64>(group.list.size()) >= most_listed()) settle(group);
    }
    for (; row < end; row += AT_ONCE) count<PROBABILITY>(group, columns, row, std::min(row + AT_ONCE, end));
  }

  void list(Group& group, const Row& row) {
    group.list.push_back(row);
    if (static_cast<i64>(group.list.size()) >= most_listed()) settle(group);
  }

  void settle(Group& group) {
    Cells<Amount> cells(shape.stride());
    const int least = extract(group, cells);
    become(group, cells, least, static_cast<i64>(group.list.size()));
  }

  // Count some rows of a group.
  template <bool PROBABILITY>
  void count(Group& group, const Columns& columns, i64 start, i64 end) {
    GroupBins<Amount>& bins = *group.bins;
    const double* values = columns.values + start;
    const i64 rows = end - start;
    const int shift = bins.shift;
    i64 keys[AT_ONCE], lowest = INT64_MAX, highest = INT64_MIN;  // values are read once: other threads may write them
    for (i64 i = 0; i < rows; i++) {
      keys[i] = key_of<PROBABILITY>(values[i]);
      lowest = std::min(lowest, keys[i]), highest = std::max(highest, keys[i]);
    }
    lowest >>= shift, highest >>= shift;
    bins.rows += rows;
    bins.cover(lowest, highest);
    const bool plain = !shape.marked && !columns.counts && (shape.sides == 1 || columns.labels);
    if (!plain || (shift && atoms.are_within(lowest, highest, shift))) {
      for (i64 i = 0; i < rows; i++)
        bins.at(keys[i], atoms)[columns.side(start + i, shape.last_side())] += columns.amount<Amount>(start + i);
    } else if (!bins.is_dense()) {
      const u8* labels = columns.labels ? columns.labels + start : nullptr;
      for (i64 i = 0; i < rows; i++) bins.in_table(keys[i] >> shift)[labels ? labels[i] & 1 : 0]++;
    } else {
      Amount* const bin = bins.amounts();
      const i64 base = bins.base;
      i64 occupied = bins.occupied;
      if (shape.sides == 1) {
        for (i64 i = 0; i < rows; i++) occupied += bin[(keys[i] >> shift) - base]++ == 0;
      } else {
        const u8* labels = columns.labels + start;
        for (i64 i = 0; i < rows; i++) {
          Amount* const sides = bin + 2 * ((keys[i] >> shift) - base);
          occupied += (sides[0] == 0) & (sides[1] == 0);
          sides[labels[i] & 1]++;
        }
      }
      bins.occupied = occupied;
    }
    refit(group);
  }

  void count(Group& group, const Row& row) {
    GroupBins<Amount>& bins = *group.bins;
    bins.rows++;
    bins.cover(row.key() >> bins.shift, row.key() >> bins.shift);
    bins.at(row.key(), atoms)[row.side()] += row.amount();
    refit(group);
  }

  // Raise the shift until the bins fit.
  void refit(Group& group) {
    GroupBins<Amount>& bins = *group.bins;
    if (bins.occupied <= shape.capacity || bins.shift == MAX_SHIFT) return;
    Cells<Amount> cells(shape.stride());
    bins.extract(cells);
    become(group, cells, bins.shift, bins.rows);
  }

  // Let a group have these cells, at the finest shift that fits.
  void become(Group& group, Cells<Amount>& cells, int least, i64 rows) {
    cells.sort();
    const int shift = cells.fit(least, shape.capacity, atoms);
    if (!group.bins) group.bins = std::make_unique<GroupBins<Amount>>(shape);
    group.bins->fill(cells, shift, rows, atoms);
    group.list = {};
  }

  // The cells of a group, and the least shift that they have.
  int extract(const Group& group, Cells<Amount>& cells) const {
    if (group.bins) {
      group.bins->extract(cells);
      return group.bins->shift;
    }
    static thread_local std::vector<Row> rows_of_thread, spare;
    std::vector<Row>& rows = rows_of_thread;
    rows.assign(group.list.begin(), group.list.end());
    sort_rows(rows, spare);
    const i64 count = static_cast<i64>(rows.size());
    const int shift = find_shift(count, [&](i64 row) { return rows[row].key(); }, 0, shape.capacity, atoms);
    cells.clear();
    Amount* bin = nullptr;
    for (i64 row = 0; row < count; row++) {
      const i64 key = rows[row].key();
      if (!row || atoms.level(rows[row - 1].key(), key) > shift) {
        bin = cells.append(lowest_key(key, atoms.limit(key, shift)));
        shape.mark(bin);
      }
      bin[rows[row].side()] += rows[row].amount();
    }
    return shift;
  }
};
