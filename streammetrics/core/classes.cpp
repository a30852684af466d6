// Rows with a score per class: likeliest class, losses, rank of the true class. Defined in definition/classes.py.
#include "counts.hpp"
#include "families.hpp"
#include "results.hpp"
#include "sums.hpp"

namespace {

Array<i64> likeliest(const Scores& scores) {
  require(!scores.empty(), "rows need a score per class");
  const i64 rows = static_cast<i64>(scores[0].shape(0));
  require_rows(static_cast<u64>(rows), scores);
  Made<i64> best(rows);
  {
    nb::gil_scoped_release released;
    double highest[BLOCK];
    for (i64 start = 0; start < rows; start += BLOCK) {
      const i64 size = std::min(BLOCK, rows - start);
      i64* found = best.data() + start;
      std::copy_n(scores[0].data() + start, size, highest);
      std::fill_n(found, size, i64{0});
      for (size_t number = 1; number < scores.size(); number++) {
        const double* score = scores[number].data() + start;
        for (i64 row = 0; row < size; row++) {
          const i64 higher = -static_cast<i64>(score[row] > highest[row]);  // all bits, so that no row branches
          found[row] = (found[row] & ~higher) | (static_cast<i64>(number) & higher);
          highest[row] = score[row] > highest[row] ? score[row] : highest[row];
        }
      }
    }
  }
  return returned(std::move(best));
}

template <class Amount>
void sum_class_losses(const In<i64>& truth, const Scores& scores, const Weight<Amount>& weight, const Runs& runs,
                      const Out<Amount>& out) {
  const i64 classes = static_cast<i64>(scores.size());
  runs.check(out, truth, scores, weight);
  require_classes(truth, classes);
  sum_by_cell<4>(classes, weight, runs, out, [&](i64 start, i64 rows, Block<4>& block) {
    double own[BLOCK], *brier = block.values[2];
    take_classes(truth, start, rows, classes, block.cells);
    take_own(scores, block.cells, start, rows, own);
    std::fill_n(brier, rows, 0.0);
    for (i64 number = 0; number < classes; number++) {
      const double* score = scores[number].data() + start;
      for (i64 row = 0; row < rows; row++) brier[row] += square(score[row] - indicator(block.cells[row] == number));
    }
    for (i64 row = 0; row < rows; row++) own[row] = clipped(own[row]);
    for (i64 row = 0; row < rows; row++) {
      const double log_loss = -natural_log(own[row]);
      block.values[0][row] = log_loss;
      block.values[1][row] = square(log_loss);
      block.values[3][row] = square(brier[row]);
    }
  });
}

template <class Amount>
void count_ranks(const In<i64>& truth, const Scores& scores, const Weight<Amount>& weight, const Runs& runs,
                 const Out<Amount>& out) {
  const i64 classes = static_cast<i64>(scores.size());
  runs.check(out, truth, scores, weight);
  require_classes(truth, classes);
  count_by_cell(classes, weight, runs, out, [&](i64 start, i64 rows, i64* cells) {
    double own[BLOCK];
    i64 numbers[BLOCK];
    take_classes(truth, start, rows, classes, numbers);
    take_own(scores, numbers, start, rows, own);
    std::fill_n(cells, rows, i64{0});
    for (i64 number = 0; number < classes; number++) {
      const double* score = scores[number].data() + start;
      for (i64 row = 0; row < rows; row++)
        cells[row] += (score[row] > own[row]) | ((score[row] == own[row]) & (numbers[row] > number));
    }
    for (i64 row = 0; row < rows; row++) cells[row] = std::min(cells[row], classes - 1);  // also if scores change
  });
}

}  // namespace

void bind_classes(nb::module_& module) {
  module.def("likeliest", likeliest, FIXED("scores"));
  bind_loop(module, "sum_class_losses", sum_class_losses<i64>, sum_class_losses<double>, "truth", "scores");
  bind_loop(module, "count_ranks", count_ranks<i64>, count_ranks<double>, "truth", "scores");
}
