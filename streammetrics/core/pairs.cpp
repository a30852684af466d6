// Rows of two models: joint decisions, joint keys, and differences of losses. Defined in definition/pairs.py.
#include "families.hpp"

namespace {

constexpr i64 OUTCOMES = 8;  // combinations of both decisions and the label

template <class Amount>
void count_pairs(const In<u8>& label, const In<bool>& one, const In<bool>& other,
                 const std::optional<In<double>>& weight, const Runs& runs, const Out<Amount>& out) {
  runs.check(label.shape(0), out.shape(0));
  require_rows(one, runs), require_rows(other, runs), require_rows(weight, runs);
  require(out.ndim() == 2 && out.shape(1) == OUTCOMES, "a group has 8 cells");
  const Weights<Amount> amount(weight);
  for (i64 run = 0; run < runs.size(); run++) {
    Amount* cells = out.data() + runs.groups(run) * OUTCOMES;
    for (i64 row = runs.starts(run); row < runs.starts(run + 1); row++)
      cells[one(row) << 2 | other(row) << 1 | (label(row) != 0)] += amount[row];
  }
}

}  // namespace

void bind_pairs(nb::module_& module) {
  module.def("count_pairs", &count_pairs<i64>, RELEASED, FIXED("label"), FIXED("one"), FIXED("other"),
             FIXED("weight").none(), FIXED("runs"), FIXED("out"));
  module.def("count_pairs", &count_pairs<double>, RELEASED, FIXED("label"), FIXED("one"), FIXED("other"),
             FIXED("weight").none(), FIXED("runs"), FIXED("out"));
}
