// Rows by label and by the number of thresholds that their scores reach. Defined in definition/outcomes.py.
#include <algorithm>
#include <cmath>

#include "counts.hpp"
#include "families.hpp"

namespace {

// Ascending thresholds, with a grid over them: a score is compared with the thresholds in its cell of the grid only.
class Ladder {
 public:
  explicit Ladder(const In<double>& thresholds)
      : thresholds_(thresholds.data(), thresholds.data() + thresholds.shape(0)), size_(thresholds.shape(0)) {
    const auto finite = [](double x) { return std::isfinite(x); };
    const auto first = std::find_if(thresholds_.begin(), thresholds_.end(), finite);
    const auto last = std::find_if_not(first, thresholds_.end(), finite);
    const i64 cells = last - first > FEW ? CELLS * size_ : 1;
    if (cells > 1) {
      origin_ = *first;
      scale_ = static_cast<double>(cells) / (last[-1] - *first);
    }
    last_ = static_cast<double>(cells - 1);
    below_.assign(static_cast<size_t>(cells) + 1, 0);
    for (double threshold : thresholds_) below_[static_cast<u64>(place(threshold)) + 1]++;
    most_ = *std::max_element(below_.begin(), below_.end());
    for (size_t i = 1; i < below_.size(); i++) below_[i] += below_[i - 1];
    thresholds_.push_back(NAN);  // reached by no score
  }

  // The number of thresholds that each score reaches.
  template <class Score>
  void rank(const Score* score, i64 rows, i64* ranks) const {
    const double* thresholds = thresholds_.data();
    double places[BLOCK];
    for (i64 row = 0; row < rows; row++) places[row] = place(score[row]);
    for (i64 row = 0; row < rows; row++) ranks[row] = below_[static_cast<i64>(places[row])];
    if (most_ > FEW) {
      for (i64 row = 0; row < rows; row++)
        ranks[row] = std::upper_bound(thresholds + ranks[row], thresholds + size_, score[row]) - thresholds;
    } else {
      for (i64 i = 0; i < most_; i++)
        for (i64 row = 0; row < rows; row++) ranks[row] += thresholds[ranks[row]] <= score[row];
    }
  }

 private:
  static constexpr i64 CELLS = 4, FEW = 8;  // cells per threshold, and thresholds that are compared one by one

  // Places of larger numbers are not smaller, so rounding does no harm. 0 for NaN.
  double place(double score) const { return std::max(0.0, std::min((score - origin_) * scale_, last_)); }

  std::vector<double> thresholds_;
  i64 size_, most_ = 0;  // most_: largest number of thresholds in a cell
  double origin_ = 0.0, scale_ = 0.0, last_;
  std::vector<i64> below_;  // the number of thresholds in the cells before each
};

// Rows at one threshold, as sums of whole vectors.
template <class Score>
void count_once(const u8* label, const Score* score, double threshold, const Runs& runs, i64* out) {
  constexpr i64 AHEAD = 16;  // runs after which the cells of a group are in the cache
  for (i64 run = 0; run < runs.size(); run++) {
    const i64 start = runs.starts.data()[run], end = runs.starts.data()[run + 1];
    i64 reached = 0, positive = 0, both = 0, *cells = out + runs.groups.data()[run] * 4;
    if (run + AHEAD < runs.size()) __builtin_prefetch(out + runs.groups.data()[run + AHEAD] * 4, 1);
    for (i64 row = start; row < end; row++) {
      const i64 above = score[row] >= threshold, y = label[row];
      reached += above;
      positive += y;
      both += above & y;
    }
    cells[0] += end - start - reached - positive + both;
    cells[1] += positive - both;
    cells[2] += reached - both;
    cells[3] += both;
  }
}

template <class Amount, class Score>
void count_outcomes(const In<u8>& label, const In<Score>& score, const In<double>& thresholds, const Weight<Amount>& weight,
                    const Runs& runs, const Out<Amount>& out) {
  const i64 ranks = static_cast<i64>(thresholds.shape(0)) + 1;
  runs.check(out, label, score, weight);
  require_labels(label);
  require(out.ndim() == 3 && static_cast<i64>(out.shape(1)) == ranks && out.shape(2) == 2,
          "a group has two cells per rank");
  require(std::is_sorted(thresholds.data(), thresholds.data() + ranks - 1), "thresholds must ascend");
  if constexpr (std::is_same_v<Amount, i64>) {
    if (ranks == 2 && !weight) return count_once(label.data(), score.data(), thresholds(0), runs, out.data());
  }
  const Ladder ladder(thresholds);
  count_by_cell(2 * ranks, weight, runs, out, [&](i64 start, i64 rows, i64* cells) {
    ladder.rank(score.data() + start, rows, cells);
    const u8* labels = label.data() + start;
    for (i64 row = 0; row < rows; row++) cells[row] = 2 * cells[row] + (labels[row] & 1);
  });
}

}  // namespace

void bind_outcomes(nb::module_& module) {
  bind_loop(module, "count_outcomes", count_outcomes<i64, double>, count_outcomes<double, double>, "label", "score",
            "thresholds");
  bind_loop(module, "count_outcomes", count_outcomes<i64, u8>, count_outcomes<double, u8>, "label", "score",
            "thresholds");
}
