// Rows of two models: joint decisions and differences of losses. Defined in definition/pairs.py.
#include "counts.hpp"
#include "families.hpp"
#include "sums.hpp"

namespace {

using Decisions = std::vector<In<bool>>;  // one array per threshold

constexpr i64 OUTCOMES = 8;  // combinations of both decisions and the label
constexpr i64 POWERS = 3;  // of a difference that are summed
constexpr double SIXTEENTH = 1.0 / 16.0;

// The square of a difference, and the cube and the fourth power of a share of it, as values of a row.
inline void set_powers(double (*values)[BLOCK], i64 row, double difference, double share) {
  const double part = difference * share, squared = square(part);
  values[0][row] = square(difference);
  values[1][row] = squared * part;
  values[2][row] = square(squared);
}

template <class Amount>
void count_pairs(const In<u8>& label, const Decisions& one, const Decisions& other, const Weight<Amount>& weight,
                 const Runs& runs, const Out<Amount>& out) {
  const size_t thresholds = one.size();
  runs.check(out, label, one, other, weight);
  require_labels(label);
  require(other.size() == thresholds, "both models need a decision at each threshold");
  for (size_t i = 0; i < thresholds; i++)
    count_by_cell(static_cast<i64>(thresholds) * OUTCOMES, weight, runs, out, [&](i64 start, i64 rows, i64* cells) {
      const u8* a = reinterpret_cast<const u8*>(one[i].data()) + start;
      const u8* b = reinterpret_cast<const u8*>(other[i].data()) + start;
      const u8* labels = label.data() + start;
      const i64 cell = static_cast<i64>(i) * OUTCOMES;
      for (i64 row = 0; row < rows; row++)
        cells[row] = cell + ((a[row] & 1) << 2 | (b[row] & 1) << 1 | (labels[row] & 1));
    });
}

template <class Amount>
void sum_loss_differences(const In<u8>& label, const In<double>& one, const In<double>& other, const Weight<Amount>& weight,
                          const Runs& runs, const Out<Amount>& out) {
  runs.check(out, label, one, other, weight);
  require_labels(label);
  sum_by_cell<2 * POWERS>(2, weight, runs, out, [&](i64 start, i64 rows, Block<2 * POWERS>& block) {
    const u8* labels = label.data() + start;
    const double *a = one.data() + start, *b = other.data() + start;
    for (i64 row = 0; row < rows; row++) block.cells[row] = labels[row] & 1;
    for (i64 row = 0; row < rows; row++) {
      const double y = labels[row], rest = 1.0 - y;
      const double ratio = std::fabs((clipped(a[row]) - rest) / (clipped(b[row]) - rest));
      set_powers(block.values, row, natural_log(ratio), SIXTEENTH);
      set_powers(block.values + POWERS, row, (b[row] - a[row]) * (a[row] + b[row] - 2.0 * y), 1.0);
    }
  });
}

template <class Amount>
void sum_class_loss_differences(const In<i64>& truth, const Scores& one, const Scores& other, const Weight<Amount>& weight,
                                const Runs& runs, const Out<Amount>& out) {
  const i64 classes = static_cast<i64>(one.size());
  runs.check(out, truth, one, other, weight);
  require(other.size() == one.size(), "both models need a score per class");
  require_classes(truth, classes);
  sum_by_cell<2 * POWERS>(classes, weight, runs, out, [&](i64 start, i64 rows, Block<2 * POWERS>& block) {
    double a[BLOCK], b[BLOCK], brier[BLOCK];
    take_classes(truth, start, rows, classes, block.cells);
    take_own(one, block.cells, start, rows, a);
    take_own(other, block.cells, start, rows, b);
    std::fill_n(brier, rows, 0.0);
    for (i64 number = 0; number < classes; number++) {
      const double *p = one[number].data() + start, *q = other[number].data() + start;
      for (i64 row = 0; row < rows; row++) {
        const double twice = block.cells[row] == number ? 2.0 : 0.0;
        brier[row] += (q[row] - p[row]) * (p[row] + q[row] - twice);
      }
    }
    for (i64 row = 0; row < rows; row++) {
      set_powers(block.values, row, natural_log(clipped(a[row]) / clipped(b[row])), SIXTEENTH);
      set_powers(block.values + POWERS, row, brier[row], 1.0);
    }
  });
}

void sum_error_differences(const In<double>& actual, const In<double>& one, const In<double>& other,
                           const Weight<double>& weight, const Runs& runs, const Out<double>& out) {
  runs.check(out, actual, one, other, weight);
  sum_by_cell<4 * POWERS>(1, weight, runs, out, [&](i64 start, i64 rows, Block<4 * POWERS>& block) {
    std::fill_n(block.cells, rows, i64{0});
    for (i64 row = 0; row < rows; row++) {
      const double y = actual.data()[start + row], a = one.data()[start + row] - y, b = other.data()[start + row] - y;
      const double absolute = std::fabs(b) - std::fabs(a);
      set_powers(block.values, row, b - a, 1.0);
      set_powers(block.values + POWERS, row, absolute, 1.0);
      set_powers(block.values + 2 * POWERS, row, (b - a) * (a + b), 1.0);
      set_powers(block.values + 3 * POWERS, row, absolute / std::fabs(y), 1.0);
    }
  });
}

}  // namespace

void bind_pairs(nb::module_& module) {
  bind_loop(module, "count_pairs", count_pairs<i64>, count_pairs<double>, "label", "one", "other");
  bind_loop(module, "sum_loss_differences", sum_loss_differences<i64>, sum_loss_differences<double>, "label", "one",
            "other");
  bind_loop(module, "sum_class_loss_differences", sum_class_loss_differences<i64>, sum_class_loss_differences<double>,
            "truth", "one", "other");
  module.def("sum_error_differences", sum_error_differences, RELEASED, FIXED("actual"), FIXED("one"), FIXED("other"),
             FIXED("weight").none(), FIXED("runs"), FIXED("out"));
}
