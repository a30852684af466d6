// The module with all loops, built once for each form.
#include "families.hpp"

NB_MODULE(FORM, module) {
  nb::set_leak_warnings(false);  // a process may end while a thread still counts
  module.def("has_avx2", [] {    // and all else that -march=x86-64-v3 uses
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("f16c") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("lzcnt") &&
           __builtin_cpu_supports("movbe");
#else
    return false;
#endif
  });
  bind_arranging(module);
  bind_bins(module);
  bind_calibration(module);
  bind_classes(module);
  bind_decimals(module);
  bind_errors(module);
  bind_fingerprints(module);
  bind_joint_keys(module);
  bind_losses(module);
  bind_numbering(module);
  bind_outcomes(module);
  bind_pairs(module);
}
