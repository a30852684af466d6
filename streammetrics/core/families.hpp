// The families of loops, each bound in a file of its own. The interpreter lock is released while a loop runs.
#pragma once

#include "arrays.hpp"

#define RELEASED nb::call_guard<nb::gil_scoped_release>()
#define FIXED(name) nb::arg(name).noconvert()

// Bind a loop whose last arguments are weight, runs, and out, in its forms for cells of integers and of floats.
template <class Integers, class Floats, class... Names>
void bind_loop(nb::module_& module, const char* name, Integers integers, Floats floats, Names... names) {
  const auto bind = [&](auto loop) {
    module.def(name, loop, RELEASED, FIXED(names)..., FIXED("weight").none(), FIXED("runs"), FIXED("out"));
  };
  bind(integers), bind(floats);
}

void bind_arranging(nb::module_& module);
void bind_bins(nb::module_& module);
void bind_calibration(nb::module_& module);
void bind_classes(nb::module_& module);
void bind_decimals(nb::module_& module);
void bind_errors(nb::module_& module);
void bind_fingerprints(nb::module_& module);
void bind_joint_keys(nb::module_& module);
void bind_losses(nb::module_& module);
void bind_numbering(nb::module_& module);
void bind_outcomes(nb::module_& module);
void bind_pairs(nb::module_& module);
