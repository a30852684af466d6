// Log loss and Brier loss by label. Defined in definition/losses.py.
#include "families.hpp"
#include "sums.hpp"

namespace {

template <class Amount>
void sum_losses(const In<u8>& label, const In<double>& score, const Weight<Amount>& weight, const Runs& runs,
                const Out<Amount>& out) {
  runs.check(out, label, score, weight);
  require_labels(label);
  sum_by_cell<4>(2, weight, runs, out, [&](i64 start, i64 rows, Block<4>& block) {
    const u8* labels = label.data() + start;
    const double* scores = score.data() + start;
    for (i64 row = 0; row < rows; row++) block.cells[row] = labels[row] & 1;
    for (i64 row = 0; row < rows; row++) {
      const double y = labels[row], of_truth = std::fabs(clipped(scores[row]) - (1.0 - y));
      const double log_loss = -natural_log(of_truth), brier = square(scores[row] - y);
      block.values[0][row] = log_loss;
      block.values[1][row] = square(log_loss);
      block.values[2][row] = brier;
      block.values[3][row] = square(brier);
    }
  });
}

}  // namespace

void bind_losses(nb::module_& module) {
  bind_loop(module, "sum_losses", sum_losses<i64>, sum_losses<double>, "label", "score");
}
