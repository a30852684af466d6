// Scores and positives by bin of equal width. Defined in definition/calibration.py.
#include "families.hpp"
#include "sums.hpp"

namespace {

void require_probabilities(const In<double>& score) {
  u64 valid = 0;
  for (u64 row = 0; row < score.shape(0); row++) valid += (score.data()[row] >= 0.0) & (score.data()[row] <= 1.0);
  require(valid == score.shape(0), "scores must be between 0 and 1");
}

void require_even(const In<double>& edges) {
  require(edges.shape(0) > 1, "a bin needs two edges");
  const double *edge = edges.data(), bins = static_cast<double>(edges.shape(0) - 1);
  bool even = edge[0] == 0.0 && edge[edges.shape(0) - 1] == 1.0;
  for (size_t i = 0; i < edges.shape(0); i++) even &= std::fabs(edge[i] * bins - static_cast<double>(i)) < 0.5;
  require(even, "edges must be evenly spaced from 0 to 1");
}

template <class Amount>
void sum_calibration(const In<u8>& label, const In<double>& score, const In<double>& edges, const Weight<Amount>& weight,
                     const Runs& runs, const Out<Amount>& out) {
  require_even(edges);
  const i64 bins = static_cast<i64>(edges.shape(0)) - 1;
  runs.check(out, label, score, weight);
  require_labels(label);
  require_probabilities(score);
  const double* edge = edges.data();
  sum_by_cell<2>(bins * 2, weight, runs, out, [&](i64 start, i64 rows, Block<2>& block) {
    const u8* labels = label.data() + start;
    take(score.data() + start, rows, block.values[0]);
    for (i64 row = 0; row < rows; row++) {
      const double x = std::max(0.0, std::min(block.values[0][row], 1.0));  // 0 for NaN
      block.values[0][row] = x;
      block.values[1][row] = square(x);
    }
    for (i64 row = 0; row < rows; row++) {
      const double x = block.values[0][row];
      const i64 nearest = whole(x * static_cast<double>(bins));  // edge
      const i64 bin = nearest - (x <= edge[nearest]);
      block.cells[row] = std::max(bin, i64{0}) * 2 + (labels[row] & 1);
    }
  });
}

}  // namespace

void bind_calibration(nb::module_& module) {
  bind_loop(module, "sum_calibration", sum_calibration<i64>, sum_calibration<double>, "label", "score", "edges");
}
