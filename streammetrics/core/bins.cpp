// Histogram bins by group: what Python may call. Defined in definition/bins.py, counted in bin_counter.hpp.
#include <type_traits>
#include <variant>

#include "bin_counter.hpp"
#include "families.hpp"

namespace {

Atoms atoms_of(const In<i64>& keys) { return Atoms({keys.data(), keys.data() + keys.shape(0)}); }

void require_cells(const In<i64>& starts, u64 cells) {
  require(starts.shape(0) > 0 && starts(0) == 0 && std::is_sorted(starts.data(), starts.data() + starts.shape(0)) &&
              static_cast<u64>(starts(starts.shape(0) - 1)) == cells,
          "runs must cover all cells");
}

// A counter of any kind of rows.
class Bins {
 public:
  Bins(const Bins&) = delete;
  Bins(i64 capacity, bool probability, const In<i64>& atoms, i64 sides, bool weighted)
      : probability(probability), atoms(atoms.data(), atoms.data() + atoms.shape(0)) {
    require(capacity > 0 && sides > 0 && sides <= UINT32_MAX, "a histogram needs bins and sides");
    require(std::is_sorted(this->atoms.begin(), this->atoms.end()), "atoms must ascend");
    const Shape shape{capacity, sides, weighted || sides > 2};
    if (weighted)
      counter.emplace<Counter<WeightedRow>>(shape, Atoms(this->atoms));
    else if (sides == 1)
      counter.emplace<Counter<PackedRow<0>>>(shape, Atoms(this->atoms));
    else if (sides == 2 && probability)
      counter.emplace<Counter<PackedRow<1>>>(shape, Atoms(this->atoms));
    else
      counter.emplace<Counter<LabeledRow>>(shape, Atoms(this->atoms));
  }

  template <class Amount>
  void add(const In<double>& values, const std::optional<In<u8>>& labels, const Weight<Amount>& weights,
           const Runs& runs, i64 groups) {
    add_rows({values.data(), labels ? labels->data() : nullptr}, labels, values, weights, runs, groups);
  }

  template <class Amount>
  void add_classes(const In<double>& values, const In<i64>& classes, const Weight<Amount>& weights, const Runs& runs,
                   i64 groups) {
    add_rows({values.data(), nullptr, classes.data()}, std::optional(classes), values, weights, runs, groups);
  }

  void absorb(const Bins& other, const In<i64>& numbers, i64 groups) {
    require(other.counter.index() == counter.index() && other.atoms == atoms && other.probability == probability,
            "histograms must be of the same kind");
    std::visit(
        [&](auto& own) {
          const auto& more = std::get<std::decay_t<decltype(own)>>(other.counter);
          require(more.shape.capacity == own.shape.capacity && more.shape.sides == own.shape.sides,
                  "histograms must have the same capacity and sides");
          require(static_cast<i64>(numbers.shape(0)) >= more.size(), "every group needs a number");
          bool valid = groups >= 0;
          for (i64 i = 0; i < more.size(); i++) valid &= static_cast<u64>(numbers(i)) < static_cast<u64>(groups);
          require(valid, "group numbers must be below the number of groups");
          own.grow(groups);
          own.absorb(more, numbers.data());
        },
        counter);
  }

  nb::tuple cells() const {
    return std::visit(
        [](const auto& own) {
          auto table = [&] {
            nb::gil_scoped_release release;
            return own.table();
          }();
          return table.as_tuple();
        },
        counter);
  }

 private:
  bool probability;
  std::vector<i64> atoms;
  std::variant<Counter<PackedRow<0>>, Counter<PackedRow<1>>, Counter<LabeledRow>, Counter<WeightedRow>> counter{
      std::in_place_index<0>, Shape{1, 1, false}, Atoms({})};

  template <class Side, class Amount>
  void add_rows(Columns columns, const std::optional<In<Side>>& sides, const In<double>& values,
                const Weight<Amount>& weights, const Runs& runs, i64 groups) {
    require(groups >= 0, "the number of groups must not be negative");
    runs.check(static_cast<u64>(groups), values, sides, weights);
    if constexpr (std::is_same_v<Amount, i64>)
      columns.counts = weights ? weights->data() : nullptr;
    else
      columns.weights = weights ? weights->data() : nullptr;
    std::visit(
        [&](auto& own) {
          using Row = typename std::decay_t<decltype(own)>::Row;
          require(sides.has_value() || own.shape.sides == 1, "rows need a side if there are several");
          require((columns.weights != nullptr) == std::is_same_v<Row, WeightedRow>,
                  "rows need a weight if others have one");
          bool valid = true;
          const Side* side = sides ? sides->data() : nullptr;
          for (i64 row = 0; side && row < runs.rows(); row++)
            valid &= static_cast<u64>(side[row]) < static_cast<u64>(own.shape.sides);
          require(valid, "sides must be below their number");
          own.grow(groups);
          if (probability)
            own.template add<true>(columns, runs);
          else
            own.template add<false>(columns, runs);
        },
        counter);
  }
};

// Merge the cells of each run at the finest shift at which they fit the capacity.
template <class Amount>
nb::tuple fit(const In<i64>& starts, const In<i64>& low, const In<u8>& least, const std::vector<In<Amount>>& amounts,
              const In<i64>& atoms, i64 capacity) {
  const i64 runs = static_cast<i64>(least.shape(0)), sides = static_cast<i64>(amounts.size());
  require_cells(starts, low.shape(0));
  require(starts.shape(0) == least.shape(0) + 1, "each run needs a least shift");
  require_rows(low.shape(0), amounts);
  require(std::all_of(least.data(), least.data() + runs, [](u8 shift) { return shift <= MAX_SHIFT; }),
          "shifts are at most 63");
  Table<Amount> made(sides);
  std::vector<u8> shifts(runs);
  {
    nb::gil_scoped_release release;
    const Atoms kept = atoms_of(atoms);
    Cells<Amount> cells(sides);
    for (i64 run = 0; run < runs; run++) {
      cells.clear();
      for (i64 i = starts(run); i < starts(run + 1); i++) {
        Amount* cell = cells.append(low(i));
        for (i64 side = 0; side < sides; side++) cell[side] = amounts[side](i);
      }
      cells.sort();
      const int shift = cells.fit(least(run), capacity, kept);
      made.append(static_cast<u32>(run), cells, shift, kept);
      shifts[run] = static_cast<u8>(shift);
    }
  }
  return made.as_tuple(to_numpy(std::move(shifts)));
}

// Whether cells are what fit would return: at one shift, ascending, distinct, and no more than the capacity.
bool is_fitted(const In<i64>& starts, const In<i64>& bins, const In<u8>& shifts, const In<i64>& atoms, i64 capacity) {
  require_cells(starts, bins.shape(0));
  require_rows(bins.shape(0), shifts);
  const Atoms kept = atoms_of(atoms);
  for (std::size_t run = 0; run + 1 < starts.shape(0); run++) {
    const i64 start = starts(run), end = starts(run + 1);
    if (end - start > capacity) return false;
    int shift = 0;
    for (i64 i = start; i < end; i++) shift = std::max<int>(shift, shifts(i));
    if (shift > MAX_SHIFT) return false;
    i64 before = 0;
    for (i64 i = start; i < end; i++) {
      const int own = std::min<int>(shifts(i), MAX_SHIFT);
      const i64 low = static_cast<i64>(static_cast<u64>(bins(i)) << own);
      if (own != kept.limit(low, shift) || (i > start && before >= low)) return false;
      before = low;
    }
  }
  return true;
}

}  // namespace

void bind_bins(nb::module_& module) {
  nb::class_<Bins>(module, "Bins")
      .def(nb::init<i64, bool, const In<i64>&, i64, bool>(), nb::arg("capacity"), nb::arg("probability"),
           FIXED("atoms"), nb::arg("sides"), nb::arg("weighted"))
      .def("add", &Bins::add<i64>, RELEASED, FIXED("values"), FIXED("label").none(), FIXED("weight").none(),
           FIXED("runs"), nb::arg("groups"))
      .def("add", &Bins::add<double>, RELEASED, FIXED("values"), FIXED("label").none(), FIXED("weight").none(),
           FIXED("runs"), nb::arg("groups"))
      .def("add_classes", &Bins::add_classes<i64>, RELEASED, FIXED("values"), FIXED("classes"),
           FIXED("weight").none(), FIXED("runs"), nb::arg("groups"))
      .def("add_classes", &Bins::add_classes<double>, RELEASED, FIXED("values"), FIXED("classes"),
           FIXED("weight").none(), FIXED("runs"), nb::arg("groups"))
      .def("absorb", &Bins::absorb, RELEASED, nb::arg("other"), FIXED("numbers"), nb::arg("groups"))
      .def("cells", &Bins::cells);
  module.def("is_fitted", &is_fitted, RELEASED, FIXED("starts"), FIXED("bins"), FIXED("shifts"), FIXED("atoms"),
             nb::arg("capacity"));
  module.def("fit", &fit<i64>, FIXED("starts"), FIXED("low"), FIXED("least"), FIXED("amounts"), FIXED("atoms"),
             nb::arg("capacity"));
  module.def("fit", &fit<double>, FIXED("starts"), FIXED("low"), FIXED("least"), FIXED("amounts"), FIXED("atoms"),
             nb::arg("capacity"));
}
