// Sums of cells of integers as decimals with 18 digits after the point. Defined in definition/decimals.py.
#include "families.hpp"
#include "results.hpp"
#include "sums.hpp"

namespace {

using Cells = nb::ndarray<const i64, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Array<u64, 3> as_decimals(const Cells& cells, i64 counts) {
  const i64 rows = static_cast<i64>(cells.shape(0)), width = static_cast<i64>(cells.shape(1));
  require(counts >= 0, "the number of counts cannot be negative");
  const size_t sums = static_cast<size_t>(std::max(width - counts, i64{0})) / 2;
  Made<u64> words(sums * cells.shape(0) * 2);
  {
    nb::gil_scoped_release released;
    for (i64 row = 0; row < rows; row++)
      for (i64 sum = 0; sum < static_cast<i64>(sums); sum++) {
        const i64* parts = cells.data() + row * width + counts + 2 * sum;
        const auto units = static_cast<__int128>(parts[0]) * CARRY + parts[1];
        words[(sum * rows + row) * 2] = static_cast<u64>(units);
        words[(sum * rows + row) * 2 + 1] = static_cast<u64>(units >> 64);
      }
  }
  return returned(std::move(words), sums, cells.shape(0), size_t{2});
}

}  // namespace

void bind_decimals(nb::module_& module) { module.def("as_decimals", &as_decimals, FIXED("cells"), nb::arg("counts")); }
