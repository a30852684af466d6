// The module with all loops, built once for each form.
#include "families.hpp"

NB_MODULE(FORM, module) {
  module.def("has_avx2", [] {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
  });
  bind_calibration(module);
  bind_classes(module);
  bind_joint_keys(module);
  bind_losses(module);
  bind_outcomes(module);
  bind_pairs(module);
}
