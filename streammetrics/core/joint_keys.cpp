// Joint keys of the scores of two models, with interleaved bits (Morton 1966). Defined in definition/pairs.py.
#include "families.hpp"
#include "lattice.hpp"

namespace {

// The highest 31 bits of the key of a value, as an integer from 0. Keys of probabilities have no sign bit.
template <bool PROBABILITY>
u64 prefix(double value) {
  constexpr u64 SIGN = u64{1} << 63;
  const u64 key = static_cast<u64>(key_of<PROBABILITY>(value));
  return PROBABILITY ? key >> 32 : (key ^ SIGN) >> 33;
}

// Insert a 0 before each bit.
u64 spread(u64 bits) {
  bits = (bits | bits << 16) & 0x0000FFFF0000FFFF;
  bits = (bits | bits << 8) & 0x00FF00FF00FF00FF;
  bits = (bits | bits << 4) & 0x0F0F0F0F0F0F0F0F;
  bits = (bits | bits << 2) & 0x3333333333333333;
  return (bits | bits << 1) & 0x5555555555555555;
}

template <bool PROBABILITY>
void join_keys(const double* one, const double* other, i64 rows, i64* out) {
  for (i64 row = 0; row < rows; row++)
    out[row] = static_cast<i64>(spread(prefix<PROBABILITY>(one[row])) << 1 | spread(prefix<PROBABILITY>(other[row])));
}

void interleave(const In<double>& one, const In<double>& other, bool probability, const Out<i64>& out) {
  const size_t rows = one.shape(0);
  require_rows(rows, other);
  require(out.ndim() == 1 && out.shape(0) == rows, "each row needs a joint key");
  const auto loop = probability ? join_keys<true> : join_keys<false>;
  loop(one.data(), other.data(), static_cast<i64>(rows), out.data());
}

}  // namespace

void bind_joint_keys(nb::module_& module) {
  module.def("interleave", &interleave, RELEASED, FIXED("one"), FIXED("other"), nb::arg("probability"), FIXED("out"));
}
