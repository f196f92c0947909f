// A plan as text, one thing a line, in the order of the plan's lists:
//
//   plan version=1 name="step" draws=1
//   device 0 "cpu"
//   segment 0 size_bytes=64
//   stream 0
//   value 0 segment=0 sizes=[4] strides=[1]
//   actor 0 name="step"
//     launch op="fill" attrs="value=1.0" outputs=[0]
//   seal 0x8c2f...
//
// The plans of a region stand behind it, each between the lines `body` and `end`.
// Fields stand in the order of fields.h; those that have their default are left out. Blank lines and lines
// that begin with # are skipped. A printed plan parses to an equal one, and prints to the same bytes again.
#pragma once

#include <string>
#include <string_view>

#include "plan/plan.h"

namespace tw::plan {

std::string print_plan(const Plan& plan);
// Throws kValue with the number of the line. What the text says is not checked: see check.h.
Plan parse_plan(std::string_view text);

// A digest of all of the plan but `seal` itself; never 0.
uint64_t seal_of(const Plan& plan);
inline void seal(Plan* plan) { plan->seal = seal_of(*plan); }

}  // namespace tw::plan
