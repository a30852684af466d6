// Fingerprints of rows. Defined in definition/fingerprints.py.
#include <cstring>
#include <variant>

#include <nanobind/stl/variant.h>

#include "families.hpp"

namespace {

using Column = std::variant<In<u8>, In<u64>, In<double>>;
using Columns = std::vector<Column>;

constexpr u64 SEED = 0x243F6A8885A308D3, SECOND = 0x9FB21C651E98DF25;

u64 word(u8 value) { return value; }
u64 word(u64 value) { return value; }
u64 word(double value) {
  u64 bits;
  value += 0.0;  // turns -0.0 into 0.0
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

u64 mixed(u64 x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

u64 second(u64 hash) { return (hash ^ (hash >> 32)) * SECOND; }

void mix_in(const Columns& columns, i64 start, i64 rows, u64* hash) {
  for (const Column& column : columns)
    std::visit(
        [&](const auto& values) {
          const auto* value = values.data() + start;
          for (i64 row = 0; row < rows; row++) hash[row] = mixed(hash[row] ^ word(value[row]));
        },
        column);
}

void require_columns(const Columns& columns, u64 rows) {
  for (const Column& column : columns) std::visit([=](const auto& values) { require_rows(rows, values); }, column);
}

void add_fingerprints(const Columns& truth, const Columns& predicted, const Runs& runs, const Out<i64>& out) {
  runs.check(out);
  require(size_of_group(out) == 4, "a group has four sums");
  const i64 *starts = runs.starts.data(), *groups = runs.groups.data(), rows = runs.rows();
  for (const Columns* columns : {&truth, &predicted}) require_columns(*columns, static_cast<u64>(rows));
  u64 of_truth[BLOCK], of_row[BLOCK];
  for (i64 start = 0, run = 0; start < rows; start += BLOCK) {
    const i64 end = std::min(start + BLOCK, rows), size = end - start;
    std::fill_n(of_truth, size, SEED);
    mix_in(truth, start, size, of_truth);
    std::copy_n(of_truth, size, of_row);
    mix_in(predicted, start, size, of_row);
    for (i64 first = start; first < end;) {
      while (starts[run + 1] <= first) run++;
      const i64 last = std::min(end, starts[run + 1]);
      u64 sums[4] = {};
      for (i64 row = first - start; row < last - start; row++) {
        sums[0] += of_truth[row], sums[1] += second(of_truth[row]);
        sums[2] += of_row[row], sums[3] += second(of_row[row]);
      }
      i64* group = out.data() + groups[run] * 4;
      for (i64 i = 0; i < 4; i++) group[i] = static_cast<i64>(static_cast<u64>(group[i]) + sums[i]);
      first = last;
    }
  }
}

}  // namespace

void bind_fingerprints(nb::module_& module) {
  module.def("add_fingerprints", &add_fingerprints, RELEASED, FIXED("truth"), FIXED("predicted"), FIXED("runs"),
             FIXED("out"));
}
