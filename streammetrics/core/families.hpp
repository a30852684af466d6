// The families of loops, each bound in a file of its own. The interpreter lock is released while a loop runs.
#pragma once

#include "arrays.hpp"

#define RELEASED nb::call_guard<nb::gil_scoped_release>()
#define FIXED(name) nb::arg(name).noconvert()

void bind_arranging(nb::module_& module);
void bind_bins(nb::module_& module);
void bind_errors(nb::module_& module);
void bind_numbering(nb::module_& module);
void bind_pairs(nb::module_& module);
