// Numbers of distinct values, in the order of their first rows, and the range of values. Defined in
// definition/numbering.py.
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <limits>

#include "families.hpp"
#include "results.hpp"

namespace {

constexpr u32 NONE = ~0u;        // number of a value that did not occur
constexpr u64 NARROW = 1 << 16;  // range of integers that are looked up in an array, however few rows
constexpr u64 SMALL = 1 << 10;   // initial slots of a hash table
constexpr u64 AHEAD = 256;       // words by which views are fetched before they are used, which halves the time

struct Words {  // a value of 16 bytes: the view of a string, or a wide integer
  u64 low, high;
  bool operator==(const Words& other) const { return low == other.low && high == other.high; }
};

// Both halves of a product depend on all bits of a value, also if values differ in their highest bits only.
u64 mixed(u64 value, u64 other = 0) {
  const auto product = static_cast<unsigned __int128>(value ^ 0x9E3779B97F4A7C15u) * (other ^ 0xC2B2AE3D27D4EB4Fu);
  return static_cast<u64>(product >> 64) ^ static_cast<u64>(product);
}
u64 mixed(const Words& value) { return mixed(value.low, value.high); }

// Numbers by value: open addressing, at most half full. The slot is in the highest bits of the hash.
template <class Value>
class Numbers {
  std::vector<u32> slots = std::vector<u32>(SMALL, NONE);
  std::vector<Value> values;  // by number
  int shift = 64 - __builtin_ctzll(SMALL);

  u64 slot(const Value& value) const {
    u64 place = mixed(value) >> shift;
    while (slots[place] != NONE && !(values[slots[place]] == value)) place = (place + 1) & (slots.size() - 1);
    return place;
  }

  void grow() {
    slots.assign(slots.size() * 8, NONE);
    shift -= 3;
    for (u64 number = 0; number < values.size(); number++) slots[slot(values[number])] = static_cast<u32>(number);
  }

 public:
  u32 of(const Value& value) {
    u64 place = slot(value);
    if (slots[place] == NONE) {
      if (values.size() >= slots.size() / 2) grow(), place = slot(value);
      slots[place] = static_cast<u32>(values.size());
      values.push_back(value);
    }
    return slots[place];
  }
};

// Numbers by place in a range of values.
class Places {
  std::vector<u32> numbers;
  u32 found = 0;

 public:
  explicit Places(u64 range) : numbers(range, NONE) {}
  u32 of(u64 place) {
    u32& number = numbers[std::min<u64>(place, numbers.size() - 1)];  // another thread may have changed the value
    if (number == NONE) number = found++;
    return number;
  }
};

using Numbered = nb::typed<nb::tuple, Array<i64>, Array<i64>>;

// The number of each row, and the first row of each number.
class Codes {
  Made<i64> codes;
  std::vector<i64> first;
  i64 row = 0;

 public:
  explicit Codes(u64 rows) : codes(rows) { require(rows < NONE, "too many rows at once"); }

  template <class Values, class Known>
  void add(u64 rows, const Values& value_of, Known& known) {
    for (u64 i = 0; i < rows; i++, row++) {
      const i64 code = codes[row] = known.of(value_of(i));
      if (code == static_cast<i64>(first.size())) first.push_back(row);
    }
  }

  Numbered returned() {
    Made<i64> rows(first.size());
    std::copy(first.begin(), first.end(), rows.data());
    return nb::cast<Numbered>(nb::make_tuple(::returned(std::move(codes)), ::returned(std::move(rows))));
  }
};

template <class T>
Codes number_values(const T* values, u64 rows) {
  Codes found(rows);
  T low = rows ? values[0] : T(0), high = low;
  for (u64 row = 0; row < rows; row++) {
    low = std::min(low, values[row]);
    high = std::max(high, values[row]);
  }
  const u64 range = static_cast<u64>(high) - static_cast<u64>(low);
  if (range < std::max(NARROW, 2 * rows)) {
    Places known(range + 1);
    found.add(rows, [&](u64 row) { return static_cast<u64>(values[row]) - static_cast<u64>(low); }, known);
  } else {
    Numbers<u64> known;
    found.add(rows, [&](u64 row) { return static_cast<u64>(values[row]); }, known);
  }
  return found;
}

template <class T>
Numbered number_integers(const In<T>& values) {
  std::optional<Codes> found;
  {
    nb::gil_scoped_release released;
    found.emplace(number_values(values.data(), values.shape(0)));
  }
  return found->returned();
}

using Views = nb::ndarray<const i64, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

Numbered number_views(const std::vector<Views>& parts) {
  std::optional<Codes> found;
  {
    nb::gil_scoped_release released;
    u64 rows = 0;
    for (const Views& part : parts) rows += part.shape(0);
    found.emplace(rows);
    Numbers<Words> known;
    for (const Views& part : parts) {
      const i64* words = part.data();
      const auto value = [&](u64 row) {
        __builtin_prefetch(words + 2 * row + AHEAD);
        return Words{static_cast<u64>(words[2 * row]), static_cast<u64>(words[2 * row + 1])};
      };
      found->add(part.shape(0), value, known);
    }
  }
  return found->returned();
}

template <class T>
std::pair<double, double> extent(const In<T>& values) {
  constexpr u64 LANES = sizeof(T) < 8 ? 32 : 16;  // a row is not compared with the row before it
  constexpr double INFINITE = std::numeric_limits<double>::infinity();
  const u64 rows = values.shape(0);
  if (!rows) return {INFINITE, -INFINITE};
  const T* value = values.data();
  T low[LANES], high[LANES], nan[LANES];  // NaN if any value of the lane is
  std::fill_n(low, LANES, value[0]), std::fill_n(high, LANES, value[0]), std::fill_n(nan, LANES, T(0));
  const u64 whole = rows - rows % LANES;
  const auto extend = [&](u64 lane, T each) {
    low[lane] = each < low[lane] ? each : low[lane];
    high[lane] = each > high[lane] ? each : high[lane];
    nan[lane] = each == each ? nan[lane] : each;
  };
  for (u64 row = 0; row < whole; row += LANES)
    for (u64 lane = 0; lane < LANES; lane++) extend(lane, value[row + lane]);
  for (u64 row = whole; row < rows; row++) extend(0, value[row]);
  if (std::any_of(nan, nan + LANES, [](T each) { return each != each; })) {
    constexpr double UNORDERED = std::numeric_limits<double>::quiet_NaN();
    return {UNORDERED, UNORDERED};
  }
  return {static_cast<double>(*std::min_element(low, low + LANES)),
          static_cast<double>(*std::max_element(high, high + LANES))};
}

template <class... T>
void bind_integers(nb::module_& module) {
  (module.def("number_integers", &number_integers<T>, FIXED("values")), ...);
}

template <class... T>
void bind_extent(nb::module_& module) {
  (module.def("extent", &extent<T>, RELEASED, FIXED("values")), ...);
}

}  // namespace

void bind_numbering(nb::module_& module) {
  bind_integers<i64, std::int32_t, u32, u8, u64, std::int16_t, std::uint16_t, std::int8_t>(module);
  bind_extent<double, float, i64, std::int32_t, u32, u8, u64, std::int16_t, std::uint16_t, std::int8_t>(module);
  module.def("number_views", &number_views, FIXED("parts"));
}
