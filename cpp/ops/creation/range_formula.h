// The numbers of linspace: for the kernels of CPU and CUDA.
#pragma once

#include <cmath>

#include "base/formula.h"
#include "ops/creation/range.h"

namespace tw::ops {

// W: the type positions are computed in.
template <class W>
struct Line {
  W start, end, step;
  int64_t steps;

  // From the nearer end, so that both are met exactly.
  template <class Round>
  TW_FORMULA W at(int64_t i, Round round) const {
    if (i < steps / 2 || steps == 1) return start + round(step * static_cast<double>(i));
    return end - round(step * static_cast<double>(steps - 1 - i));
  }
};

// Of elements of T. Half numbers are rounded at each operation, as arithmetic on them is: round(x).
template <class T, class W, class Round>
Line<W> line_of(const LinspaceAttrs& a, Round round) {
  W start = a.start.to<W>(), end = a.end.to<W>();
  if constexpr (std::is_integral_v<T>) start = std::trunc(start), end = std::trunc(end);
  int64_t steps = a.whole.value_or(a.steps);
  start = round(start), end = round(end);
  W step = steps > 1 ? round(round(end - start) / static_cast<double>(steps - 1)) : W(0);
  return {start, end, step, steps};
}

}  // namespace tw::ops
