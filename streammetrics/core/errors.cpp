// Sums of errors, and of the terms that moments need, in regression. Defined in definition/errors.py.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "families.hpp"

namespace {

constexpr i64 LOSSES = 14, MOMENTS = 15, TERMS = LOSSES + MOMENTS, EXTREMES = 5;
#ifdef __AVX__
constexpr i64 LANES = 4;  // rows of a vector
#else
constexpr i64 LANES = 2;
#endif
constexpr i64 BLOCK = 512;  // rows that are summed apart, so that a sum of many equal terms does not drift

using Vector = double __attribute__((vector_size(LANES * sizeof(double))));

template <class Number>
Number load(const double* values) {
  Number found;
  std::memcpy(&found, values, sizeof found);
  return found;
}

double size_of(double value) { return std::fabs(value); }

Vector size_of(Vector value) {
  using Bits = i64 __attribute__((vector_size(LANES * sizeof(i64))));
  return reinterpret_cast<Vector>(reinterpret_cast<Bits>(value) & ~reinterpret_cast<Bits>(-Vector{}));
}

// Add values to their sums. Few values are added at once, so that their sums stay in registers.
template <bool weighted, class Number, std::size_t count>
void add_each(Number* sums, Number weight, const Number (&values)[count]) {
  static_assert(count <= 16);
  for (std::size_t i = 0; i < count; i++) sums[i] += weighted ? weight * values[i] : values[i];
}

// The sums of a block, one for each lane.
template <class Number>
struct Sums {
  Number terms[TERMS] = {};
  Number low_y, low_p, high_y, high_p, largest = {}, undefined = {};  // an undefined error is NaN

  Sums(double y, double p) : low_y(y - Number{}), low_p(p - Number{}), high_y(low_y), high_p(low_p) {}

  template <bool weighted>
  void add(Number y, Number p, Number weight, double y0, double p0) {
    const Number error = p - y, size = size_of(error), dy = y - y0, dp = p - p0, de = error - (p0 - y0);
    const Number over = error < 0.0 ? Number{} : error, under = error > 0.0 ? Number{} : error;
    const Number share = error / y, ratio = size_of(share), square = error * error, ratio_square = ratio * ratio;
    Number symmetric = ratio / (1.0 + size_of(1.0 + share));  // |e| / (|y| + |p|), whose sum could overflow
    symmetric = ratio > LARGEST ? Number{} + 1.0 : symmetric;
    symmetric = error == 0.0 ? Number{} : symmetric;
    add_each<weighted>(terms, weight,
                       {over, under, square, square * square, size_of(y), ratio, ratio_square, symmetric, over * over,
                        under * under, y * y, size_of(error * y), ratio_square * ratio_square, symmetric * symmetric});
    const Number yy = dy * dy, ye = dy * de, ee = de * de, one = Number{} + 1.0;
    add_each<weighted>(terms + LOSSES, weight,
                       {one, dy, dp, yy, dp * dp, dy * dp, yy * dy, yy * de, dy * ee, de * ee, yy * yy, yy * ye,
                        yy * ee, ye * ee, ee * ee});
    low_y = y < low_y ? y : low_y;
    low_p = p < low_p ? p : low_p;
    high_y = y > high_y ? y : high_y;
    high_p = p > high_p ? p : high_p;
    largest = size > largest ? size : largest;
    undefined = size == size ? undefined : size;
  }

  static constexpr double LARGEST = 1.7976931348623157e308;
};

double lane(double number, i64) { return number; }
double lane(const Vector& vector, i64 place) { return vector[place]; }

template <class Number>
void put(const Sums<Number>& sums, double* out, double* extremes) {
  constexpr i64 lanes = sizeof(Number) / sizeof(double);
  for (i64 term = 0; term < TERMS; term++) {
    double sum = 0.0;
    for (i64 i = 0; i < lanes; i++) sum += lane(sums.terms[term], i);
    out[term] += sum;
  }
  for (i64 i = 0; i < lanes; i++) {
    extremes[0] = std::min(extremes[0], lane(sums.low_y, i));
    extremes[1] = std::min(extremes[1], lane(sums.low_p, i));
    extremes[2] = std::max(extremes[2], lane(sums.high_y, i));
    extremes[3] = std::max(extremes[3], lane(sums.high_p, i));
    const double undefined = lane(sums.undefined, i);
    if (undefined != undefined) extremes[4] = undefined;
    if (lane(sums.largest, i) > extremes[4]) extremes[4] = lane(sums.largest, i);  // not if it is NaN
  }
}

struct Columns {
  const double *actual, *predicted, *weight;
};

template <bool weighted>
void sum_run(const Columns& rows, i64 row, i64 last, const double* reference, double* out, double* extremes) {
  const double y0 = reference[0], p0 = reference[1];
  for (; row + LANES <= last;) {
    Sums<Vector> sums(rows.actual[row], rows.predicted[row]);
    for (const i64 end = std::min(last, row + BLOCK); row + LANES <= end; row += LANES)
      sums.add<weighted>(load<Vector>(rows.actual + row), load<Vector>(rows.predicted + row),
                         weighted ? load<Vector>(rows.weight + row) : Vector{}, y0, p0);
    put(sums, out, extremes);
  }
  if (row < last) {
    Sums<double> sums(rows.actual[row], rows.predicted[row]);
    for (; row < last; row++)
      sums.add<weighted>(rows.actual[row], rows.predicted[row], weighted ? rows.weight[row] : 0.0, y0, p0);
    put(sums, out, extremes);
  }
}

Columns checked(const In<double>& actual, const In<double>& predicted, const std::optional<In<double>>& weight,
                const Runs& runs, const Out<double>& out, u64 columns) {
  require(out.ndim() == 2 && out.shape(1) == columns, "a group has a wrong number of sums");
  runs.check(out, actual, predicted, weight);
  return {actual.data(), predicted.data(), weight ? weight->data() : nullptr};
}

void sum_values(const In<double>& actual, const In<double>& predicted, const std::optional<In<double>>& weight,
                const Runs& runs, const Out<double>& out) {
  const Columns rows = checked(actual, predicted, weight, runs, out, 3);
  const i64 *starts = runs.starts.data(), *groups = runs.groups.data();
  for (i64 run = 0; run < runs.size(); run++) {
    double* sums = out.data() + 3 * groups[run];
    for (i64 row = starts[run]; row < starts[run + 1];) {
      const i64 last = std::min(starts[run + 1], row + BLOCK);
      Vector total = {}, y = {}, p = {};
      const Vector one = Vector{} + 1.0;
      for (; row + LANES <= last; row += LANES) {
        const Vector weights = rows.weight ? load<Vector>(rows.weight + row) : one;
        total += weights;
        y += weights * load<Vector>(rows.actual + row);
        p += weights * load<Vector>(rows.predicted + row);
      }
      for (; row < last; row++) {
        const double weights = rows.weight ? rows.weight[row] : 1.0;
        total[0] += weights, y[0] += weights * rows.actual[row], p[0] += weights * rows.predicted[row];
      }
      for (i64 i = 0; i < LANES; i++) sums[0] += total[i], sums[1] += y[i], sums[2] += p[i];
    }
  }
}

void sum_errors(const In<double>& actual, const In<double>& predicted, const std::optional<In<double>>& weight,
                const Out<const double>& reference, const Runs& runs, const Out<double>& out,
                const Out<double>& extremes) {
  const Columns rows = checked(actual, predicted, weight, runs, out, TERMS);
  require(reference.ndim() == 2 && reference.shape(1) == 2 && reference.shape(0) == out.shape(0),
          "a group has two references");
  require(extremes.ndim() == 2 && extremes.shape(1) == EXTREMES && extremes.shape(0) == out.shape(0),
          "a group has 5 extremes");
  const i64 *starts = runs.starts.data(), *groups = runs.groups.data();
  for (i64 run = 0; run < runs.size(); run++) {
    const i64 group = groups[run];
    const auto sum = rows.weight ? &sum_run<true> : &sum_run<false>;
    sum(rows, starts[run], starts[run + 1], reference.data() + 2 * group, out.data() + TERMS * group,
        extremes.data() + EXTREMES * group);
  }
}

}  // namespace

void bind_errors(nb::module_& module) {
  module.def("sum_errors", &sum_errors, RELEASED, FIXED("actual"), FIXED("predicted"), FIXED("weight").none(),
             FIXED("reference"), FIXED("runs"), FIXED("out"), FIXED("extremes"));
  module.def("sum_values", &sum_values, RELEASED, FIXED("actual"), FIXED("predicted"), FIXED("weight").none(),
             FIXED("runs"), FIXED("out"));
}
